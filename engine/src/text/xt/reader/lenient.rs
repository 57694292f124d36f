//! Reading what people paste: every line is looked at, repaired where it can only mean one thing, and reported
//! where it cannot be read.

use std::collections::BTreeMap;

use super::{Open, Physical, Reader, Undefined};
use crate::netfilter::Target;
use crate::netfilter::table::TableName;
use crate::netfilter::xt::{NotEmulated, TargetExt};
use crate::packet::Family;
use crate::text::diag::{Place, Severity};
use crate::text::xt::build::jumps_to;
use crate::text::xt::fault::{Fault, Span};
use crate::text::xt::lines::{Line, Shape, shape};
use crate::text::xt::spec::{self, Command, Op, SpecCx};
use crate::text::xt::{guess, known, listing, repair, shell, words};

/// Physical lines that one rule may be spread over.
const JOINED_LINES_MAX: u32 = 8;

/// Lines of a listing between two calls of the progress function.
const LISTING_PROGRESS_LINES: u64 = 1024;

/// A line that is read, waiting for the lines that may go on with it.
struct Pending<'t> {
    line: Line<'t>,
    joined: u32,
}

impl Reader<'_> {
    pub(in crate::text::xt) fn run_lenient(
        &mut self,
        text: &str,
        progress: &mut dyn FnMut(usize, usize) -> bool,
    ) {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if listing::is_listing(text) {
            return self.run_listing(text, progress);
        }
        let mut pending: Option<Pending<'_>> = None;
        let mut last = 1;
        for (number, physical) in Physical::new(text, progress) {
            last = number;
            let Some(line) = self.prepared(physical, number) else { continue };
            if let Some(before) = &mut pending
                && shape(&line.text) == Shape::Other
                && self.joins(before, &line)
            {
                continue;
            }
            if let Some(before) = pending.take() {
                self.lenient_line(text, &before.line);
            }
            match shape(&line.text) {
                Shape::Other if !line.text.ends_with('\\') => self.other_line(&line),
                Shape::Ruleset | Shape::Other => pending = Some(Pending { line, joined: 0 }),
                Shape::Blank | Shape::Comment => {}
            }
        }
        if let Some(before) = pending.take() {
            self.lenient_line(text, &before.line);
        }
        let end = Place { line: last, column: 1, len: 0 };
        if self.current.is_some_and(|at| !self.open[at].excerpt) {
            self.diags.note(end, "the text ends without COMMIT; read as if it were there");
        }
        if self.open.is_empty() && !self.diags.has_errors() {
            let what = if text.trim().is_empty() { "the text is empty" } else { "there is no rule in it" };
            let place = Place { line: 1, column: 1, len: 0 };
            self.diags.error(place, format!("{what}; expected the output of iptables-save"));
        }
        self.commit_all(last);
    }

    fn commit_all(&mut self, last: u32) {
        for mut open in std::mem::take(&mut self.open) {
            self.resolve_undefined(&mut open);
            // A lenient commit reports and takes the table all the same.
            let _ = self.commit(open, last);
        }
    }

    /// What `iptables -L` prints.
    fn run_listing(&mut self, text: &str, progress: &mut dyn FnMut(usize, usize) -> bool) {
        let listing = listing::translate(text);
        let start = Place { line: 1, column: 1, len: 0 };
        self.diags
            .note(start, "the output of iptables -L, read as the rules it shows; iptables-save tells more");
        if let Some(line) = listing.without_devices {
            let what = "this listing has no columns in and out: a rule that tests a device looks as if it did not; use iptables -L -n -v";
            self.diags.warning(Place { line, column: 1, len: 0 }, what);
        }
        let (bytes, lines) = (text.len() as u64, listing.lines.len() as u64);
        for (at, made) in (0_u64..).zip(listing.lines) {
            let done = (bytes * at / lines) as usize;
            if at % LISTING_PROGRESS_LINES == LISTING_PROGRESS_LINES - 1 && !progress(done, text.len()) {
                break;
            }
            match made.line {
                Ok(line) => self.lenient_line(text, &Line::made(line, made.number)),
                Err(words) => {
                    let place = Place { line: made.number, column: 1, len: 0 };
                    self.diags.error(place, format!("cannot read this part of the listing: {words}"));
                }
            }
        }
        self.commit_all(text.lines().count() as u32);
    }

    /// The line without what surrounds it: blanks, a log prefix, typography. None for a line that says nothing.
    fn prepared<'t>(&mut self, physical: &'t str, number: u32) -> Option<Line<'t>> {
        let mut line = Line::trimmed(physical, number);
        let place = Place { line: number, column: 1, len: 0 };
        if physical.ends_with('\r') {
            self.diags.repeated(Severity::Note, place, "crlf", || "the lines end in CR LF".to_owned());
        }
        if matches!(shape(&line.text), Shape::Blank | Shape::Comment) {
            return None;
        }
        if line.is_indented() {
            self.diags.repeated(Severity::Note, place, "indent", || "indentation left out".to_owned());
        }
        if shape(&line.text) == Shape::Other
            && let Some(prefix) = repair::log_prefix(&line.text)
        {
            self.diags.repeated(Severity::Note, place, "log prefix", || {
                format!("left out what a log put before the line: \"{}\"", line.text[..prefix].trim_end())
            });
            line = line.without_start(prefix);
            if shape(&line.text) == Shape::Comment {
                return None;
            }
        }
        if let Some(plain) = repair::typography(&line) {
            self.diags.repeated(Severity::Note, place, "typography", || {
                "typographic quotes, dashes or blanks read as plain ones".to_owned()
            });
            line = plain;
        }
        Some(line)
    }

    /// Tries to read `next` as the rest of the line before. True when it was taken.
    fn joins<'t>(&mut self, before: &mut Pending<'t>, next: &Line<'t>) -> bool {
        if before.joined >= JOINED_LINES_MAX {
            return false;
        }
        let place = next.place(next.whole());
        if let Some(cut) = before.line.text.strip_suffix('\\') {
            let cut = cut.trim_end().len()..before.line.text.len();
            before.line = before.line.edited(&[(cut, "")]).joined(next, " ");
            before.joined += 1;
            return true;
        }
        if !before.line.text.starts_with(['-', '[']) || shell::find(next).is_some() {
            return false;
        }
        let ways = repair::ways_to_join(&before.line, next);
        let reads = |line: &Line<'_>| self.read_repaired(line).is_ok();
        let way = match ways.iter().position(reads) {
            Some(way) => way,
            // Neither reads yet. If the line did not read alone, more lines may complete it.
            None if before.joined == 0 && !reads(&before.line) => 0,
            None => return false,
        };
        let [first, second] = ways;
        before.line = if way == 0 { first } else { second };
        before.joined += 1;
        self.diags.repeated(Severity::Note, place, "wrapped", || {
            "joined with the line before, which was wrapped".to_owned()
        });
        true
    }

    /// Reads a line of the ruleset and reports what is wrong with it.
    fn lenient_line(&mut self, text: &str, line: &Line<'_>) {
        if shape(&line.text) == Shape::Other {
            return self.other_line(line);
        }
        // A table line of several words: everything may stand on it.
        if line.text.starts_with('*')
            && let Some(lines) = repair::lost_breaks(line)
        {
            let place = line.place(line.whole());
            self.diags.repeated(Severity::Note, place, "line breaks", || {
                "line breaks were lost; put back before chains, rules and COMMIT".to_owned()
            });
            return lines.iter().for_each(|line| self.lenient_line(text, line));
        }
        let result = match line.text.as_bytes().first() {
            Some(b'*') => {
                if line.text[1..].starts_with([' ', '\t']) {
                    let place = line.place(Span { start: 1, end: 2 });
                    self.diags.repeated(Severity::Note, place, "star", || {
                        "a blank between * and the table's name".to_owned()
                    });
                }
                self.open_table(line)
            }
            _ if &*line.text == "COMMIT" => {
                self.current = None;
                Ok(())
            }
            Some(b':') => {
                self.default_table(text, line);
                self.chain_line(line)
            }
            _ => {
                let current = self.default_table(text, line);
                self.lenient_command(line, current)
            }
        };
        if let Err(fault) = result {
            self.report(line, &fault);
        }
    }

    fn report(&mut self, line: &Line<'_>, fault: &Fault) {
        self.diags.error(line.place(fault.span), fault.explained());
    }

    /// The table that lines go to; the one that the text shows when none is named.
    fn default_table(&mut self, text: &str, line: &Line<'_>) -> usize {
        if let Some(current) = self.current {
            return current;
        }
        let (table, tell) = self.guessed.get_or_insert_with(|| {
            let (table, tell) = guess::table(text);
            (table, tell.map(Box::from))
        });
        let because = tell.as_ref().map_or(String::new(), |word| format!(", because of {word}"));
        let table = *table;
        let place = Place { line: line.number, column: 1, len: 0 };
        self.diags
            .note(place, format!("no *table line before this; read as table {}{because}", table.name()));
        let at = self.bench_for(table);
        self.current = Some(at);
        at
    }

    /// Reads and applies a rule line, with the repairs it needs.
    fn lenient_command(&mut self, line: &Line<'_>, current: usize) -> Result<(), Fault> {
        let bench = &self.open[current].bench;
        let parts = match self.read_command(line, bench) {
            // What is kept verbatim would hide a word torn apart.
            Ok((command, _)) if !command.verbatim.is_empty() && repair::gap(line).is_some() => {
                let Some(whole) = repair::gap(line) else { return Ok(()) };
                return self.lenient_command(&whole, current);
            }
            Ok(parts) => parts,
            Err(fault) => match self.read_repaired(line) {
                Ok(Repaired { parts, line: repaired, made }) => {
                    for name in made {
                        let place = line.place(line.whole());
                        self.diags.repeated(Severity::Note, place, name, || name.to_owned());
                    }
                    return self.lenient_apply(&repaired, current, parts);
                }
                Err(_) => return Err(fault),
            },
        };
        self.lenient_apply(line, current, parts)
    }

    /// Reads a line with as few repairs as make it readable.
    fn read_repaired<'t>(&self, line: &Line<'t>) -> Result<Repaired<'t>, Fault> {
        type Repair = for<'t> fn(&Line<'t>) -> Option<Line<'t>>;
        const REPAIRS: &[(&str, Repair)] = &[
            ("read -s ! ADDRESS as ! -s ADDRESS", repair::negation),
            ("single quotes read as double ones", repair::single_quotes),
            ("a remark at the end of the line left out", repair::remark),
            ("a word that was wrapped put together again", repair::gap),
        ];
        let empty;
        let bench = match self.current {
            Some(current) => &self.open[current].bench,
            None => {
                empty =
                    crate::text::xt::build::Workbench::empty(self.flavour, self.family, TableName::Filter);
                &empty
            }
        };
        let mut best = line.clone();
        let mut made = Vec::new();
        let fault = match self.read_command(&best, bench) {
            Ok(parts) => return Ok(Repaired { parts, line: best, made }),
            Err(fault) => fault,
        };
        for &(name, repair) in REPAIRS {
            if let Some(repaired) = repair(&best) {
                best = repaired;
                made.push(name);
                if let Ok(parts) = self.read_command(&best, bench) {
                    return Ok(Repaired { parts, line: best, made });
                }
            }
        }
        Err(fault)
    }

    /// Applies a command; makes the chains it needs where the text is only an excerpt.
    fn lenient_apply(
        &mut self,
        line: &Line<'_>,
        current: usize,
        (mut command, open_quote): (Box<Command>, bool),
    ) -> Result<(), Fault> {
        let place = line.place(command.chain_span);
        if matches!(command.op, Some(Op::Append | Op::Insert))
            && let Some(name) = command.chain.as_deref()
            && !command.other_family
        {
            self.define(current, name, command.chain_span, place)?;
        }
        if let Some((name, span, goto)) = command.rule.missing.take() {
            spec::check_chain_name(&name, span)?;
            let id = self.placeholder(current, &name, line.place(span));
            command.rule.target = if goto { Target::Goto(id) } else { Target::Jump(id) };
        }
        if let Target::Ext(target) = &command.rule.target
            && known::does_nothing_alone(target.name())
        {
            let mut said = String::new();
            target.save(&mut said);
            if said.is_empty() {
                let name = target.name();
                let message = format!("-j {name} without an option does nothing; was the line cut?");
                self.diags.warning(place, message);
            }
        }
        self.take_command(line, current, (command, open_quote))
    }

    /// Makes sure that a chain which gets a rule exists.
    fn define(&mut self, current: usize, name: &str, span: Span, place: Place) -> Result<(), Fault> {
        let Open { bench, excerpt, undefined, .. } = &mut self.open[current];
        match bench.find(name) {
            // Only its first rule can find it undefined.
            Some(id) if bench.table.chain(id).rules.is_empty() => {
                undefined.retain(|u| u.chain != id || u.reported);
            }
            Some(_) => {}
            None => {
                spec::check_chain_name(name, span)?;
                bench.add_chain(name);
                let table = bench.table.name.name();
                if *excerpt {
                    self.diags.repeated(Severity::Note, place, "chain made", || {
                        format!("chain {name} made, because a rule is added to it")
                    });
                } else {
                    self.diags.error(
                        place,
                        format!(
                            "No chain {name} in table {table}: expected a line \":{name} - [0:0]\" before"
                        ),
                    );
                }
            }
        }
        Ok(())
    }

    /// A chain that a jump names and nothing defines yet.
    fn placeholder(&mut self, current: usize, name: &str, place: Place) -> crate::netfilter::ChainId {
        let Open { bench, excerpt, undefined, .. } = &mut self.open[current];
        // The very rule that jumps there may have made it.
        if let Some(id) = bench.find(name) {
            return id;
        }
        let chain = bench.add_chain(name);
        if !*excerpt {
            self.diags.error(
                place,
                format!("Couldn't load target `{name}': no such chain in table {}", bench.table.name.name()),
            );
        }
        undefined.push(Undefined { chain, place, reported: !*excerpt });
        chain
    }

    /// Turns jumps to chains that never appeared into targets whose effect is unknown.
    fn resolve_undefined(&mut self, open: &mut Open) {
        let Open { bench, undefined, .. } = open;
        let mut names = BTreeMap::new();
        for Undefined { chain, place, reported } in undefined.drain(..) {
            let name = bench.table.chain(chain).name.clone();
            // Deleted since.
            if bench.find(&name) != Some(chain) {
                continue;
            }
            if !reported {
                self.diags.repeated(Severity::Warning, place, &format!("undefined {name}"), || {
                    format!("chain {name} is not in the text: what happens in it is unknown")
                });
            }
            names.insert(chain, name);
        }
        if names.is_empty() {
            return;
        }
        for rule in bench.table.chains.iter_mut().flat_map(|c| &mut c.rules) {
            if let Some(name) = jumps_to(rule).and_then(|chain| names.get(&chain)) {
                rule.target = Target::Ext(TargetExt::NotEmulated(NotEmulated {
                    name: name.clone(),
                    text: Box::default(),
                    goto: matches!(rule.target, Target::Goto(_)),
                }));
            }
        }
        for chain in names.into_keys() {
            if bench.table.chain(chain).rules.is_empty() {
                bench.delete_chain(chain);
            }
        }
    }

    /// A line that no ruleset holds: a command line, a prompt, prose.
    fn other_line(&mut self, line: &Line<'_>) {
        let place = line.place(line.whole());
        match shell::find(line) {
            Some(shell::Found::Command { family, arguments }) => {
                return self.shell_command(family, &arguments);
            }
            Some(shell::Found::Echo) => return self.left_out(place),
            None => {}
        }
        if let Some(what) = other_format(&line.text) {
            return self.diags.repeated(Severity::Error, place, "format", || what.to_owned());
        }
        if self.current.is_none() || is_prompt(&line.text) {
            return self.left_out(place);
        }
        self.diags.repeated(Severity::Error, place, "stray", || {
            "expected a rule (-A CHAIN ...), a chain (:NAME ...), *TABLE or COMMIT".to_owned()
        });
    }

    fn left_out(&mut self, place: Place) {
        self.diags
            .repeated(Severity::Note, place, "left out", || "left out: no part of a ruleset".to_owned());
    }

    /// `iptables ARGUMENTS`, in the table that `-t` names.
    fn shell_command(&mut self, family: Family, line: &Line<'_>) {
        let place = line.place(line.whole());
        if family != self.family {
            self.diags.repeated(Severity::Warning, place, "family", || {
                "left out: a command for the other address family".to_owned()
            });
            return;
        }
        if let Err(fault) = self.try_shell_command(line) {
            self.report(line, &fault);
        }
    }

    fn try_shell_command(&mut self, line: &Line<'_>) -> Result<(), Fault> {
        let (words, open_quote) = words::split(&line.text, 0)?;
        let named = words.windows(2).find(|w| matches!(&*w[0].text, "-t" | "--table"));
        let (name, span) = named.map_or(("filter", Span::default()), |w| (&*w[1].text, w[1].span));
        let Some(table) = TableName::parse(name) else {
            return Err(Fault::parameter(span, format!("can't initialize iptables table `{name}'")));
        };
        let at = self.bench_for(table);
        let bench = &self.open[at].bench;
        let cx = SpecCx {
            flavour: self.flavour,
            family: self.family,
            table: table.name(),
            restore: false,
            lenient: true,
            chains: &|name| bench.find(name),
        };
        let command = spec::read(&cx, &line.text, &words)?;
        self.lenient_apply(line, at, (command, open_quote))
    }
}

/// A line that could be read once repaired.
struct Repaired<'t> {
    parts: (Box<Command>, bool),
    line: Line<'t>,
    /// Names of the repairs.
    made: Vec<&'static str>,
}

/// Whether a line looks like a shell's prompt.
fn is_prompt(text: &str) -> bool {
    let first = text.split_ascii_whitespace().next().unwrap_or_default();
    matches!(first, "$" | "%" | ">")
        || (first.contains('@') && text.contains(['$', '#', '%', '>']))
        || (first.starts_with('[') && text.contains("]$"))
}

/// Names the format of a text that is not iptables-save's.
fn other_format(text: &str) -> Option<&'static str> {
    if text.starts_with("Chain ") && text.contains('(') {
        return Some(
            "a line of iptables -L among others; paste a listing alone, or the output of iptables-save",
        );
    }
    if text.starts_with("table ") && text.ends_with('{') {
        return Some("this is nftables text; expected the output of iptables-save");
    }
    if text.starts_with('{') || text.starts_with("apiVersion:") {
        return Some("this is JSON or YAML; expected the output of iptables-save");
    }
    None
}
