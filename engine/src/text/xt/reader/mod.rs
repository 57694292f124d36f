//! Reads a whole text: tables, chains, commands, commits. Strictly as iptables-restore, or leniently.

mod lenient;

use super::apply::{self, Refusal};
use super::build::{Ruleset, Workbench};
use super::check::{self, By, Objection};
use super::fault::{Fault, Span};
use super::guess;
use super::lines::Line;
use super::parse::{ParseOptions, Read};
use super::spec::{self, Command, SpecCx};
use super::words;
use crate::base::limits::CHAIN_NAME_LEN_MAX;
use crate::netfilter::Counters;
use crate::netfilter::rule::Verdict;
use crate::netfilter::table::{ChainId, Flavour, TableName};
use crate::netfilter::xt::Errno;
use crate::packet::Family;
use crate::text::diag::{Diags, Place};
use crate::trace::DropReason;

/// Bytes between two calls of the progress function.
const PROGRESS_STEP_BYTES: usize = 256 << 10;

pub(super) struct Reader<'o> {
    options: &'o ParseOptions<'o>,
    family: Family,
    flavour: Flavour,
    /// Finished tables.
    done: Ruleset,
    /// Tables being changed.
    open: Vec<Open>,
    /// The one that lines go to.
    current: Option<usize>,
    pub(super) diags: Diags,
    fault: Option<(u32, Fault)>,
    /// The table that the text shows where it names none, and the word that shows it.
    guessed: Option<(TableName, Option<Box<str>>)>,
}

/// A table being changed.
struct Open {
    bench: Workbench,
    /// No chain line was read for it: chains come into being as rules name them.
    excerpt: bool,
    /// Chains that only jumps name so far.
    undefined: Vec<Undefined>,
    /// What the kernel will say when the table is committed.
    objections: Vec<Objection>,
}

struct Undefined {
    chain: ChainId,
    place: Place,
    /// Said already, as an error.
    reported: bool,
}

/// Walks over the physical lines of a text, reporting progress.
struct Physical<'t, 'p> {
    text: &'t str,
    at: usize,
    report_at: usize,
    number: u32,
    progress: &'p mut dyn FnMut(usize, usize) -> bool,
}

impl<'t, 'p> Physical<'t, 'p> {
    fn new(text: &'t str, progress: &'p mut dyn FnMut(usize, usize) -> bool) -> Self {
        Self { text, at: 0, report_at: PROGRESS_STEP_BYTES, number: 0, progress }
    }
}

impl<'t> Iterator for Physical<'t, '_> {
    type Item = (u32, &'t str);

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.text.len() {
            return None;
        }
        if self.at >= self.report_at {
            self.report_at = self.at + PROGRESS_STEP_BYTES;
            if !(self.progress)(self.at, self.text.len()) {
                return None;
            }
        }
        let rest = &self.text[self.at..];
        let end = rest.find('\n').unwrap_or(rest.len());
        self.at += end + 1;
        self.number += 1;
        Some((self.number, &rest[..end]))
    }
}

impl<'o> Reader<'o> {
    pub(super) fn new(text: &str, options: &'o ParseOptions<'o>) -> Self {
        let base = options.base;
        let family = options.family.or(base.map(|b| b.family)).unwrap_or_else(|| guess::family(text));
        let flavour = options.flavour.or(base.map(|b| b.flavour)).unwrap_or_else(|| guess::flavour(text));
        Self {
            options,
            family,
            flavour,
            done: base.cloned().unwrap_or_else(|| Ruleset::new(family, flavour)),
            open: Vec::new(),
            current: None,
            diags: Diags::default(),
            fault: None,
            guessed: None,
        }
    }

    /// iptables-restore's main loop.
    pub(super) fn run_strict(&mut self, text: &str, progress: &mut dyn FnMut(usize, usize) -> bool) {
        let mut last = 0;
        let mut lines = Physical::new(text, progress);
        while let Some((number, physical)) = lines.next() {
            last = number;
            let line = Line::exact(physical, number);
            if let Err(fault) = self.strict_line(&line, lines.at > text.len()) {
                self.diags.error(line.place(fault.span), fault.explained());
                self.fault = Some((number, fault));
                return;
            }
        }
        if self.current.is_some() {
            let fault = Fault::failed(Span::default(), format!("COMMIT expected at line {}", last + 1));
            self.diags.error(Place { line: last, column: 1, len: 0 }, fault.message.clone());
            self.fault = Some((last + 1, fault));
        }
    }

    fn strict_line(&mut self, line: &Line<'_>, at_end: bool) -> Result<(), Fault> {
        let text = &*line.text;
        match (text.as_bytes().first(), self.current) {
            (None | Some(b'#'), _) => Ok(()),
            (Some(b'*'), None) => self.open_table(line),
            (Some(b':'), Some(_)) => self.chain_line(line),
            (Some(_), None) => Err(Fault::failed(line.whole(), format!("line {} failed", line.number))),
            // The legacy tool compares the line with its newline.
            (Some(_), Some(current)) if text == "COMMIT" && (!at_end || self.flavour == Flavour::Nft) => {
                self.current = None;
                let open = self.open.remove(current);
                self.commit(open, line.number)
            }
            (Some(_), Some(current)) => {
                let parts = self.read_command(line, &self.open[current].bench)?;
                self.take_command(line, current, parts)
            }
        }
    }

    /// `*NAME`
    fn open_table(&mut self, line: &Line<'_>) -> Result<(), Fault> {
        let Some(name) = blank_separated(&line.text[1..]).next() else {
            let message = format!("{}: line {} table name invalid", self.tool(), line.number);
            return Err(Fault::parameter(line.whole(), message));
        };
        let Some(table) = TableName::parse(name) else {
            let tool = self.tool();
            return Err(Fault::parameter(
                line.whole(),
                match self.flavour {
                    Flavour::Legacy => format!("{tool}: unable to initialize table '{name}'"),
                    Flavour::Nft => format!("{tool}: line {} table name '{name}' invalid", line.number),
                },
            ));
        };
        let at = self.bench_for(table);
        if !self.options.noflush {
            let open = &mut self.open[at];
            open.bench.flush_all();
            open.undefined.clear();
            open.objections.clear();
        }
        self.current = Some(at);
        Ok(())
    }

    /// The workbench of a table, made from what exists already.
    fn bench_for(&mut self, table: TableName) -> usize {
        if let Some(at) = self.open.iter().position(|o| o.bench.table.name == table) {
            return at;
        }
        let bench = match self.done.tables.iter().position(|t| t.name == table) {
            Some(at) => Workbench::of(self.done.tables[at].clone(), self.done.counters[at].clone()),
            None => Workbench::empty(self.flavour, self.family, table),
        };
        self.open.push(Open { bench, excerpt: true, undefined: Vec::new(), objections: Vec::new() });
        self.open.len() - 1
    }

    const fn tool(&self) -> &'static str {
        spec::restore_name(self.flavour, self.family)
    }

    /// `:NAME POLICY [packets:bytes]`
    fn chain_line(&mut self, line: &Line<'_>) -> Result<(), Fault> {
        let (span, number, tool) = (line.whole(), line.number, self.tool());
        let Some(open) = self.current.map(|at| &mut self.open[at]) else { return Ok(()) };
        open.excerpt = false;
        let bench = &mut open.bench;
        let mut words = blank_separated(&line.text[1..]);
        let Some(name) = words.next() else {
            return Err(Fault::parameter(span, format!("{tool}: line {number} chain name invalid")));
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
        let undefined = |id| open.undefined.iter().position(|u| u.chain == id);
        let id = match bench.find(name) {
            None => bench.add_chain(name),
            Some(id) if bench.is_builtin(id) => id,
            Some(id) if self.options.noflush || self.flavour == Flavour::Nft => {
                bench.flush(id);
                open.undefined.retain(|u| u.chain != id);
                id
            }
            Some(id) => match undefined(id) {
                // A jump came before the chain's own line.
                Some(at) => open.undefined.swap_remove(at).chain,
                None => {
                    return Err(Fault::parameter(span, format!("error creating chain '{name}':File exists")));
                }
            },
        };
        let Some(policy) = words.next() else {
            return Err(Fault::parameter(span, format!("{tool}: line {number} policy invalid")));
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
                    Fault::parameter(span, format!("invalid policy counters for chain '{name}'"))
                })?,
            }
        };
        let bad = |what: &str| match self.flavour {
            Flavour::Legacy => {
                Fault::other(span, format!("Can't set policy `{policy}' on `{name}' line {number}: {what}"))
            }
            Flavour::Nft => Fault::failed(span, format!("line {number} failed: {what}.")),
        };
        let verdict = match policy {
            "ACCEPT" => Verdict::Accept,
            "DROP" => Verdict::Drop(DropReason::Policy),
            _ => return Err(bad("Bad policy name")),
        };
        if !bench.is_builtin(id) {
            // nft takes it for a user chain and forgets the policy.
            let ignored = self.options.strict && self.flavour == Flavour::Nft;
            return if ignored { Ok(()) } else { Err(bad("Bad built-in chain name")) };
        }
        bench.set_policy(id, verdict, counters);
        Ok(())
    }

    /// Reads a rule line without changing anything. The flag tells of a quote that is not closed.
    fn read_command(&self, line: &Line<'_>, bench: &Workbench) -> Result<(Box<Command>, bool), Fault> {
        let (counters, from) = leading_counters(line, !self.options.ignore_counters)?;
        let (words, open_quote) = words::split(&line.text, from)?;
        let cx = SpecCx {
            flavour: self.flavour,
            family: self.family,
            table: bench.table.name.name(),
            restore: true,
            lenient: !self.options.strict,
            chains: &|name| bench.find(name),
        };
        let mut command = spec::read(&cx, &line.text, &words)?;
        if command.counters.is_none() && !self.options.ignore_counters {
            command.counters = counters;
        }
        Ok((command, open_quote))
    }

    /// Applies a command that was read.
    fn take_command(
        &mut self,
        line: &Line<'_>,
        current: usize,
        (mut command, open_quote): (Box<Command>, bool),
    ) -> Result<(), Fault> {
        if command.other_family {
            return Ok(());
        }
        if open_quote {
            let place = line.place(line.whole());
            self.diags.warning(place, "the quote is not closed; read to the end of the line");
        }
        for (name, span) in &command.verbatim {
            self.diags.repeated(crate::text::diag::Severity::Warning, line.place(*span), name, || {
                format!("not emulated: {name}; kept as it is, its answer unknown")
            });
        }
        let (span, number) = (command.chain_span, line.number);
        if let Some((errno, why, span)) = command.objection.take() {
            if !self.options.strict {
                return Err(Fault::kernel(span, why));
            }
            let chain = command.chain.clone().unwrap_or_default();
            let by = By::Kernel(errno_text(errno));
            self.open[current].objections.push(Objection { line: number, chain, by, why });
        }
        // Only nft comes here with a chain that is not there: it will look when the table is committed.
        if let Some((name, _, _)) = command.rule.missing.take() {
            let why = format!("Chain '{name}' does not exist");
            let chain = command.chain.clone().unwrap_or_default();
            self.open[current].objections.push(Objection { line: number, chain, by: By::Tool, why });
        }
        let deferred = self.options.strict && self.flavour == Flavour::Nft;
        let chain = if deferred { command.chain.clone().unwrap_or_default() } else { Box::default() };
        let result = apply::apply(&mut self.open[current].bench, command, number);
        let busy = matches!(result, Err(Refusal::Referenced | Refusal::NotEmpty));
        if busy && deferred {
            let objection = Objection { line: number, chain, by: By::Busy, why: String::new() };
            self.open[current].objections.push(objection);
            return Ok(());
        }
        result.map_err(|refusal| match (&refusal, self.flavour) {
            (Refusal::Parameter(message), _) => Fault::parameter(span, message.clone()),
            (_, Flavour::Legacy) if self.options.strict => {
                Fault::failed(span, format!("line {number} failed"))
            }
            (_, flavour) => {
                Fault::failed(span, format!("line {number} failed: {}.", refusal.message(flavour)))
            }
        })
    }

    /// Hands a table to the kernel's checks and takes it over. A lenient reading keeps one with objections.
    fn commit(&mut self, open: Open, at_line: u32) -> Result<(), Fault> {
        let (table, counters) = open.bench.finish();
        let mut objections = open.objections;
        objections.extend(check::table(&table, self.flavour));
        if self.options.strict
            && let Some(first) = objections.first()
        {
            return Err(match (first.by, self.flavour) {
                (By::Tool, _) => Fault::parameter(Span::default(), first.why.clone()),
                (By::Busy, _) => {
                    let Objection { line, chain, .. } = first;
                    let why = "CHAIN_DEL failed (Device or resource busy)";
                    Fault::kernel(Span::default(), format!("line {line}: {why}: chain {chain}"))
                }
                (By::Kernel(_), Flavour::Legacy) => {
                    Fault::kernel(Span::default(), format!("line {at_line} failed"))
                }
                (By::Kernel(errno), Flavour::Nft) => {
                    let Objection { line, chain, .. } = first;
                    let message = format!("line {line}: RULE_APPEND failed ({errno}): rule in chain {chain}");
                    Fault::kernel(Span::default(), message)
                }
            });
        }
        for Objection { line, why, .. } in objections {
            self.diags.error(Place { line, column: 1, len: 0 }, why);
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

    pub(super) fn finish(self) -> Read {
        Read { ruleset: self.done, diags: self.diags.finish(), fault: self.fault }
    }
}

/// The words of an error number (`strerror`).
pub(super) const fn errno_text(errno: Errno) -> &'static str {
    match errno {
        Errno::Inval => "Invalid argument",
        Errno::Range => "Numerical result out of range",
        Errno::NoEnt => "No such file or directory",
    }
}

/// `[packets:bytes]`
fn parse_counters(text: &str) -> Option<Counters> {
    let (packets, bytes) = text.strip_prefix('[')?.split_once(':')?;
    let bytes = bytes.split(']').next()?;
    Some(Counters { packets: packets.parse().ok()?, bytes: bytes.parse().ok()? })
}

/// The words of a table or chain line (`strtok`).
fn blank_separated(text: &str) -> impl Iterator<Item = &str> {
    text.split([' ', '\t']).filter(|word| !word.is_empty())
}

/// The counters before a rule (`tokenize_rule_counters`), and where the rule begins.
fn leading_counters(line: &Line<'_>, wanted: bool) -> Result<(Option<Counters>, usize), Fault> {
    let text = &*line.text;
    if !text.starts_with('[') {
        return Ok((None, 0));
    }
    let fault = |message: String| Err(Fault::parameter(line.whole(), message));
    let need = |what| fault(format!("Bad line {}: need {what}", line.number));
    let Some(end) = text.find(']') else { return need("]") };
    let Some((packets, bytes)) = text[1..end].split_once(':') else { return need("]") };
    let odd = |number: &str| number.is_empty() || number.bytes().any(|b| !b.is_ascii_digit());
    if wanted && odd(packets) {
        return fault("-c packet counter not numeric".to_owned());
    }
    if wanted && odd(bytes) {
        return fault("-c byte counter not numeric".to_owned());
    }
    Ok((parse_counters(&text[..=end]), end + 1))
}
