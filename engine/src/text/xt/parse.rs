//! Reads a whole text: tables, chains, commands, commits.

use super::apply::{self, Refusal};
use super::build::{Ruleset, Workbench};
use super::check;
use super::fault::{Class, Fault, Span};
use super::spec::{self, Command, SpecCx};
use super::words;
use crate::base::limits::{CHAIN_NAME_LEN_MAX, RULESET_BYTES_MAX};
use crate::netfilter::Counters;
use crate::netfilter::rule::Verdict;
use crate::netfilter::table::{Flavour, TableName};
use crate::packet::Family;
use crate::text::diag::{Diag, Diags, Place, Severity};

/// How to read.
#[derive(Clone, Copy, Debug, Default)]
pub struct ParseOptions<'b> {
    /// Guessed from the text when none.
    pub family: Option<Family>,
    /// Guessed from the text's first comment when none; legacy if that says nothing.
    pub flavour: Option<Flavour>,
    /// Drop the counters of the text (iptables-restore without `-c`).
    pub ignore_counters: bool,
    /// Behave as iptables-restore does: no repairs, stop at the first error.
    pub strict: bool,
    /// Tables that exist already.
    pub base: Option<&'b Ruleset>,
    /// `--noflush`: keep what the text does not name.
    pub noflush: bool,
}

/// Bytes between two calls of the progress function.
const PROGRESS_STEP_BYTES: usize = 256 << 10;

/// Reads iptables-save or iptables-restore text.
pub fn parse(text: &str, options: &ParseOptions<'_>) -> (Ruleset, Vec<Diag>) {
    parse_with(text, options, &mut |_, _| true)
}

/// The same, telling how far it is: `progress(done_bytes, total_bytes)` answers whether to go on. What was read
/// before it said no is returned.
pub fn parse_with(
    text: &str,
    options: &ParseOptions<'_>,
    progress: &mut dyn FnMut(usize, usize) -> bool,
) -> (Ruleset, Vec<Diag>) {
    let read = read(text, options, progress);
    (read.ruleset, read.diags)
}

/// What came of a text.
pub(super) struct Read {
    pub ruleset: Ruleset,
    pub diags: Vec<Diag>,
    /// Strict reading: what stopped it, and at which line.
    pub fault: Option<(u32, Fault)>,
}

pub(super) fn read(
    text: &str,
    options: &ParseOptions<'_>,
    progress: &mut dyn FnMut(usize, usize) -> bool,
) -> Read {
    let mut reader = Reader::new(text, options);
    if reader.admissible(text) {
        reader.run(text, progress);
    }
    reader.finish()
}

struct Reader<'o> {
    options: &'o ParseOptions<'o>,
    family: Family,
    flavour: Flavour,
    /// Finished tables.
    done: Ruleset,
    /// The table being read.
    open: Option<Workbench>,
    /// Line of the `*table` that is open.
    open_line: u32,
    diags: Diags,
    fault: Option<(u32, Fault)>,
    line: u32,
}

impl<'o> Reader<'o> {
    fn new(text: &str, options: &'o ParseOptions<'o>) -> Self {
        let base = options.base;
        let family = options.family.or(base.map(|b| b.family)).unwrap_or_else(|| guess_family(text));
        let flavour = options.flavour.or(base.map(|b| b.flavour)).unwrap_or_else(|| guess_flavour(text));
        Self {
            options,
            family,
            flavour,
            done: base.cloned().unwrap_or_else(|| Ruleset::new(family, flavour)),
            open: None,
            open_line: 0,
            diags: Diags::default(),
            fault: None,
            line: 0,
        }
    }

    /// Refuses what cannot be a ruleset at all.
    fn admissible(&mut self, text: &str) -> bool {
        let start = Place { line: 1, column: 1, len: 0 };
        if text.len() > RULESET_BYTES_MAX {
            self.diags.error(
                start,
                format!(
                    "the text is {} MB long; at most {} MB are read",
                    text.len() >> 20,
                    RULESET_BYTES_MAX >> 20
                ),
            );
            return false;
        }
        if let Some(at) = text.bytes().position(|b| b == 0) {
            let before = &text[..at];
            let line = before.bytes().filter(|&b| b == b'\n').count() as u32 + 1;
            self.diags.error(
                Place { line, column: 1, len: 0 },
                "this looks like a binary file: it holds a zero byte. Expected the output of iptables-save",
            );
            return false;
        }
        true
    }

    fn run(&mut self, text: &str, progress: &mut dyn FnMut(usize, usize) -> bool) {
        let (mut at, mut report_at) = (0, PROGRESS_STEP_BYTES);
        while at < text.len() {
            let end = text[at..].find('\n').map_or(text.len(), |n| at + n);
            self.line += 1;
            let line = &text[at..end];
            if let Err(fault) = self.read_line(line) {
                self.refuse(line, fault);
                if self.options.strict {
                    return;
                }
            }
            at = end + 1;
            if at >= report_at {
                report_at = at + PROGRESS_STEP_BYTES;
                if !progress(at.min(text.len()), text.len()) {
                    return;
                }
            }
        }
        if self.open.is_some() {
            let next = self.line + 1;
            if self.options.strict {
                let fault = Fault::failed(Span::default(), format!("COMMIT expected at line {next}"));
                self.fault = Some((next, fault));
                return;
            }
            let place = Place { line: self.line, column: 1, len: 0 };
            self.diags.note(place, "the text ends without COMMIT; read as if it were there");
            if let Err(fault) = self.commit() {
                self.refuse("", fault);
            }
        }
    }

    fn read_line(&mut self, line: &str) -> Result<(), Fault> {
        let line = if self.options.strict { line } else { line.trim_end() };
        match line.as_bytes().first() {
            None | Some(b'#') => Ok(()),
            Some(b'*') if self.open.is_none() => self.open_table(line),
            Some(b':') if self.open.is_some() => self.chain_line(line),
            Some(_) if self.open.is_none() => {
                Err(Fault::failed(whole(line), "expected a table, such as *filter"))
            }
            Some(_) if line == "COMMIT" => self.commit(),
            Some(_) => self.command_line(line),
        }
    }

    fn open_table(&mut self, line: &str) -> Result<(), Fault> {
        let name = line[1..].split_ascii_whitespace().next().unwrap_or_default();
        let Some(table) = TableName::parse(name) else {
            return Err(Fault::parameter(
                whole(line),
                match self.flavour {
                    Flavour::Legacy => {
                        let tool = self.tool();
                        format!("{tool}: unable to initialize table '{name}'\n")
                    }
                    Flavour::Nft => {
                        format!("{}: line {} table name '{name}' invalid\n", self.tool(), self.line)
                    }
                },
            ));
        };
        let mut bench = match self.done.tables.iter().position(|t| t.name == table) {
            Some(at) => Workbench::of(self.done.tables[at].clone(), self.done.counters[at].clone()),
            None => Workbench::empty(self.flavour, self.family, table),
        };
        if !self.options.noflush {
            bench.flush_all();
        }
        self.open = Some(bench);
        self.open_line = self.line;
        Ok(())
    }

    const fn tool(&self) -> &'static str {
        spec::restore_name(self.flavour, self.family)
    }

    /// `:NAME POLICY [packets:bytes]`
    fn chain_line(&mut self, line: &str) -> Result<(), Fault> {
        let span = whole(line);
        let (line_number, tool) = (self.line, self.tool());
        let Some(bench) = &mut self.open else { return Ok(()) };
        let mut words = line[1..].split_ascii_whitespace();
        let Some(name) = words.next() else {
            return Err(Fault::parameter(span, format!("{tool}: line {line_number} chain name invalid\n")));
        };
        if name.len() > CHAIN_NAME_LEN_MAX {
            return Err(Fault::parameter(
                span,
                match self.flavour {
                    Flavour::Legacy => {
                        format!("Invalid chain name `{name}' ({CHAIN_NAME_LEN_MAX} chars max)")
                    }
                    Flavour::Nft => {
                        format!(
                            "chain name `{name}' too long (must be under {} chars)",
                            CHAIN_NAME_LEN_MAX + 1
                        )
                    }
                },
            ));
        }
        let id = match bench.find(name) {
            Some(id) if bench.is_builtin(id) => id,
            Some(id) if self.options.noflush || self.flavour == Flavour::Nft => {
                bench.flush(id);
                id
            }
            Some(_) => {
                return Err(Fault::parameter(span, format!("error creating chain '{name}':File exists")));
            }
            None => bench.add_chain(name),
        };
        let Some(policy) = words.next() else {
            return Err(Fault::parameter(span, format!("{tool}: line {line_number} policy invalid\n")));
        };
        if policy == "-" {
            return Ok(());
        }
        let counters = if self.options.ignore_counters {
            Counters::default()
        } else {
            match words.next() {
                None if !self.options.strict => Counters::default(),
                word => word.and_then(parse_counters).ok_or_else(|| {
                    Fault::parameter(span, format!("invalid policy counters for chain '{name}'\n"))
                })?,
            }
        };
        let verdict = match policy {
            "ACCEPT" => Verdict::Accept,
            "DROP" => Verdict::Drop(crate::trace::DropReason::Policy),
            _ => {
                return Err(Fault::parameter(
                    span,
                    match self.flavour {
                        Flavour::Legacy => format!(
                            "Can't set policy `{policy}' on `{name}' line {line_number}: Bad policy name\n"
                        ),
                        Flavour::Nft => format!("line {line_number} failed: Bad policy name."),
                    },
                ));
            }
        };
        if !bench.is_builtin(id) {
            return Err(Fault::parameter(
                span,
                format!(
                    "Can't set policy `{policy}' on `{name}' line {line_number}: Bad built-in chain name\n"
                ),
            ));
        }
        bench.set_policy(id, verdict, counters);
        Ok(())
    }

    fn command_line(&mut self, line: &str) -> Result<(), Fault> {
        let (counters, from) = leading_counters(line, self.line)?;
        let (words, open_quote) = words::split(line, from)?;
        if open_quote {
            let place = self.place(line, words.last().map_or(whole(line), |w| w.span));
            self.diags.warning(place, "the quote is not closed; read to the end of the line");
        }
        let Some(bench) = &self.open else { return Ok(()) };
        let cx = SpecCx {
            flavour: self.flavour,
            family: self.family,
            table: bench.table.name.name(),
            restore: true,
            lenient: !self.options.strict,
            chains: &|name| bench.find(name),
        };
        let mut command = spec::read(&cx, line, &words)?;
        if command.other_family {
            return Ok(());
        }
        if !self.options.ignore_counters && command.counters.is_none() {
            command.counters = counters;
        }
        for (name, span) in std::mem::take(&mut command.verbatim) {
            let place = self.place(line, span);
            self.diags.repeated(Severity::Warning, place, &name, || {
                format!("not emulated: {name}; kept as it is, its answer unknown")
            });
        }
        self.apply(command)
    }

    fn apply(&mut self, command: Command) -> Result<(), Fault> {
        let Some(bench) = &mut self.open else { return Ok(()) };
        let span = command.chain_span;
        apply::apply(bench, command, self.line).map_err(|refusal| match (&refusal, self.flavour) {
            (Refusal::Parameter(message), _) => Fault::parameter(span, message.clone()),
            (refusal, Flavour::Legacy) if self.options.strict => {
                let _ = refusal;
                Fault::failed(span, format!("line {} failed", self.line))
            }
            (refusal, flavour) => {
                Fault::failed(span, format!("line {} failed: {}.", self.line, refusal.message(flavour)))
            }
        })
    }

    /// Hands the open table to the kernel's checks and takes it over. One with objections is kept by a lenient
    /// reading.
    fn commit(&mut self) -> Result<(), Fault> {
        let Some(bench) = self.open.take() else { return Ok(()) };
        let (table, counters) = bench.finish();
        let objection = check::find_loop(&table);
        if let Some(objection) = &objection {
            let chain = table.chain(objection.chain);
            let line = chain.rules[objection.rule].line;
            if self.options.strict {
                let message = match self.flavour {
                    Flavour::Legacy => format!("line {} failed", self.line),
                    Flavour::Nft => format!(
                        "line {line}: RULE_APPEND failed (Too many links): rule in chain {}",
                        chain.name
                    ),
                };
                return Err(Fault { class: Class::Kernel, message, span: Span::default() });
            }
            self.diags.error(Place { line, column: 1, len: 0 }, objection.reason.clone());
        }
        match self.done.tables.iter().position(|t| t.name == table.name) {
            Some(at) => {
                self.done.tables[at] = table;
                self.done.counters[at] = counters;
            }
            None => {
                self.done.tables.push(table);
                self.done.counters.push(counters);
            }
        }
        Ok(())
    }

    fn refuse(&mut self, line: &str, fault: Fault) {
        let place = self.place(line, fault.span);
        self.diags.error(place, fault.message.trim_end());
        if self.options.strict {
            self.fault = Some((self.line, fault));
        }
    }

    fn place(&self, line: &str, span: Span) -> Place {
        let chars = |upto: u32| line.get(..upto as usize).unwrap_or(line).chars().count() as u32;
        let (start, end) = (chars(span.start), chars(span.end));
        Place { line: self.line, column: start + 1, len: end.saturating_sub(start) }
    }

    fn finish(self) -> Read {
        Read { ruleset: self.done, diags: self.diags.finish(), fault: self.fault }
    }
}

const fn whole(line: &str) -> Span {
    Span { start: 0, end: line.len() as u32 }
}

/// `[packets:bytes]`
fn parse_counters(text: &str) -> Option<Counters> {
    let (packets, bytes) = text.strip_prefix('[')?.split_once(':')?;
    let bytes = bytes.split(']').next()?;
    Some(Counters { packets: packets.parse().ok()?, bytes: bytes.parse().ok()? })
}

/// The counters before a rule (`tokenize_rule_counters`), and where the rule begins.
fn leading_counters(line: &str, number: u32) -> Result<(Option<Counters>, usize), Fault> {
    if !line.starts_with('[') {
        return Ok((None, 0));
    }
    let fault = |what| Err(Fault::parameter(whole(line), format!("Bad line {number}: need {what}\n")));
    if !line.contains(':') {
        return fault(":");
    }
    let Some(end) = line.find(']') else { return fault("]") };
    Ok((parse_counters(&line[..=end]), end + 1))
}

/// IPv6 when the text names ip6tables or has an IPv6 address before any IPv4 address.
fn guess_family(text: &str) -> Family {
    for line in text.lines() {
        if line.contains("ip6tables") {
            return Family::V6;
        }
        if !line.contains("-A ") && !line.contains("-I ") {
            continue;
        }
        for word in line.split_ascii_whitespace() {
            if matches!(word, "ipv6-icmp" | "icmp6" | "icmpv6") {
                return Family::V6;
            }
            let addr = word.split('/').next().unwrap_or_default();
            if addr.parse::<std::net::Ipv6Addr>().is_ok() {
                return Family::V6;
            }
            if addr.parse::<std::net::Ipv4Addr>().is_ok() {
                return Family::V4;
            }
        }
    }
    Family::V4
}

/// nft when the header says so.
fn guess_flavour(text: &str) -> Flavour {
    let header = text.lines().take(3).any(|l| l.contains("nf_tables"));
    if header { Flavour::Nft } else { Flavour::Legacy }
}
