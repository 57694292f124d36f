//! Reads a whole text: tables, chains, commands, commits. Strictly as iptables-restore, or leniently.

mod lenient;

use super::apply::{self, Refusal};
use super::build::{Ruleset, Workbench};
use super::check::{self, Objection};
use super::fault::{Class, Fault, Span};
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
        }
    }

    /// iptables-restore's main loop.
    pub(super) fn run_strict(&mut self, text: &str, progress: &mut dyn FnMut(usize, usize) -> bool) {
        let mut last = 0;
        for (number, physical) in Physical::new(text, progress) {
            last = number;
            let line = Line::exact(physical, number);
            if let Err(fault) = self.strict_line(&line) {
                self.diags.error(line.place(fault.span), fault.message.trim_end());
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

    fn strict_line(&mut self, line: &Line<'_>) -> Result<(), Fault> {
        let text = &*line.text;
        match (text.as_bytes().first(), self.current) {
            (None | Some(b'#'), _) => Ok(()),
            (Some(b'*'), None) => self.open_table(line),
            (Some(b':'), Some(_)) => self.chain_line(line),
            (Some(_), None) => Err(Fault::failed(line.whole(), format!("line {} failed", line.number))),
            (Some(_), Some(current)) if text == "COMMIT" => {
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
        let name = line.text[1..].split_ascii_whitespace().next().unwrap_or_default();
        let Some(table) = TableName::parse(name) else {
            let tool = self.tool();
            return Err(Fault::parameter(
                line.whole(),
                match self.flavour {
                    Flavour::Legacy => format!("{tool}: unable to initialize table '{name}'\n"),
                    Flavour::Nft => format!("{tool}: line {} table name '{name}' invalid\n", line.number),
                },
            ));
        };
        let at = self.bench_for(table);
        if !self.options.noflush {
            self.open[at].bench.flush_all();
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
        let mut words = line.text[1..].split_ascii_whitespace();
        let Some(name) = words.next() else {
            return Err(Fault::parameter(span, format!("{tool}: line {number} chain name invalid\n")));
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
            return Err(Fault::parameter(span, format!("{tool}: line {number} policy invalid\n")));
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
        let bad = |what: &str| match self.flavour {
            Flavour::Legacy => Fault::parameter(
                span,
                format!("Can't set policy `{policy}' on `{name}' line {number}: {what}\n"),
            ),
            Flavour::Nft => Fault::failed(span, format!("line {number} failed: {what}.")),
        };
        let verdict = match policy {
            "ACCEPT" => Verdict::Accept,
            "DROP" => Verdict::Drop(DropReason::Policy),
            _ => return Err(bad("Bad policy name")),
        };
        if !bench.is_builtin(id) {
            return Err(bad("Bad built-in chain name"));
        }
        bench.set_policy(id, verdict, counters);
        Ok(())
    }

    /// Reads a rule line without changing anything. The flag tells of a quote that is not closed.
    fn read_command(&self, line: &Line<'_>, bench: &Workbench) -> Result<(Box<Command>, bool), Fault> {
        let (counters, from) = leading_counters(line)?;
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
        if command.counters.is_none() {
            command.counters = counters;
        }
        if self.options.ignore_counters {
            command.counters = None;
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
                return Err(Fault { class: Class::Kernel, message: why, span });
            }
            let chain = command.chain.clone().unwrap_or_default();
            self.open[current].objections.push(Objection {
                line: number,
                chain,
                errno: errno_text(errno),
                why,
            });
        }
        let bench = &mut self.open[current].bench;
        apply::apply(bench, command, number).map_err(|refusal| match (&refusal, self.flavour) {
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
            let Objection { line, chain, errno, .. } = first;
            let message = match self.flavour {
                Flavour::Legacy => format!("line {at_line} failed"),
                Flavour::Nft => format!("line {line}: RULE_APPEND failed ({errno}): rule in chain {chain}"),
            };
            return Err(Fault { class: Class::Kernel, message, span: Span::default() });
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

/// The counters before a rule (`tokenize_rule_counters`), and where the rule begins.
fn leading_counters(line: &Line<'_>) -> Result<(Option<Counters>, usize), Fault> {
    let text = &*line.text;
    if !text.starts_with('[') {
        return Ok((None, 0));
    }
    let fault =
        |what| Err(Fault::parameter(line.whole(), format!("Bad line {}: need {what}\n", line.number)));
    if !text.contains(':') {
        return fault(":");
    }
    let Some(end) = text.find(']') else { return fault("]") };
    Ok((parse_counters(&text[..=end]), end + 1))
}
