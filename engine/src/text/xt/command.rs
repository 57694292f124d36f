//! The iptables command: words in, tables changed or listed, and the tool's answer.

use std::borrow::Cow;

use super::apply::{self, Refusal};
use super::build::{Ruleset, Workbench};
use super::check::{self, By, Objection};
use super::fault::{Class, Fault};
use super::list::{self, Columns};
use super::reader::errno_text;
use super::restore::CliError;
use super::spec::{self, Command, Op, SpecCx};
use super::words::{Word, span};
use crate::netfilter::table::{ChainId, Flavour, TableName};
use crate::packet::Family;

/// Runs `iptables WORDS` (`ip6tables` for IPv6 tables) on the tables of `ruleset`, which stay as they are when it
/// fails. Returns what it prints.
pub fn command<W: AsRef<str>>(words: &[W], ruleset: &mut Ruleset) -> Result<String, CliError> {
    let cx = Cli { family: ruleset.family, flavour: ruleset.flavour };
    let mut line = String::new();
    let mut spans = Vec::with_capacity(words.len());
    for word in words {
        if !line.is_empty() {
            line.push(' ');
        }
        let start = line.len();
        line.push_str(word.as_ref());
        spans.push(span(start, line.len()));
    }
    let words: Vec<Word<'_>> = words
        .iter()
        .zip(spans)
        .map(|(word, span)| Word { text: Cow::Borrowed(word.as_ref()), span, quoted: false })
        .collect();
    cx.run(&line, &words, ruleset)
}

/// Which tool answers.
#[derive(Clone, Copy)]
struct Cli {
    family: Family,
    flavour: Flavour,
}

impl Cli {
    fn run(self, line: &str, words: &[Word<'_>], ruleset: &mut Ruleset) -> Result<String, CliError> {
        let named = words.windows(2).find(|w| matches!(&*w[0].text, "-t" | "--table"));
        let name = named.map_or("filter", |w| &*w[1].text);
        let table = TableName::parse(name);
        let at = table.and_then(|table| ruleset.tables.iter().position(|t| t.name == table));
        let mut bench = match at {
            Some(at) => Workbench::of(ruleset.tables[at].clone(), ruleset.counters[at].clone()),
            None => Workbench::empty(self.flavour, self.family, table.unwrap_or(TableName::Filter)),
        };
        let spec_cx = SpecCx {
            flavour: self.flavour,
            family: self.family,
            table: name,
            restore: false,
            lenient: false,
            chains: &|chain| bench.find(chain),
        };
        let command = spec::read(&spec_cx, line, words).map_err(|fault| self.fault(&fault))?;
        let (op, zeroes) = (command.op, command.zero);
        match op {
            Some(Op::Version) => return Ok(format!("{}\n", self.version())),
            Some(Op::Help) => return Ok(format!("{}\n\nUsage: see iptables(8)\n", self.version())),
            _ => {}
        }
        if table.is_none() {
            return Err(self.no_table(name));
        }
        let out = self.change(&mut bench, command, table == Some(TableName::Nat))?;
        // The legacy tool makes a table by looking at it.
        let looks = matches!(op, Some(Op::List | Op::ListRules)) && !zeroes;
        let keeps = self.flavour == Flavour::Legacy || !looks;
        if keeps {
            let (table, counters) = bench.finish();
            match at {
                Some(at) => {
                    ruleset.tables[at] = table;
                    ruleset.counters[at] = counters;
                }
                None => {
                    ruleset.tables.push(table);
                    ruleset.counters.push(counters);
                }
            }
        }
        Ok(out)
    }

    /// Lists, applies, and asks the kernel's checks.
    fn change(self, bench: &mut Workbench, mut command: Box<Command>, nat: bool) -> Result<String, CliError> {
        if nat && command.op == Some(Op::Policy) && command.argument.as_deref() == Some("DROP") {
            let why = "\nThe \"nat\" table is not intended for filtering, the use of DROP is therefore inhibited.\n\n";
            return Err(self.parameter(why));
        }
        let mut out = self.listing(bench, &command)?;
        let (op, chain) = (command.op, command.chain.clone().unwrap_or_default());
        let mut objections: Vec<Objection> = Vec::new();
        if let Some((errno, why, _)) = command.objection.take() {
            objections.push(Objection {
                line: 0,
                chain: chain.clone(),
                by: By::Kernel(errno_text(errno)),
                why,
            });
        }
        let verbose = command.verbose > 0;
        out.push_str(&self.narrated(bench, &command, verbose));
        if let Err(refusal) = apply::apply(bench, command, 0) {
            // -X alone stops at the first chain in use.
            let in_use = |id: &ChainId| {
                !bench.is_builtin(*id)
                    && (bench.references(*id) > 0 || !bench.table.chain(*id).rules.is_empty())
            };
            let first = bench.ids().find(in_use).map(|id| bench.table.chain(id).name.clone());
            let name = if chain.is_empty() { first.unwrap_or_default() } else { chain };
            return Err(self.refused(op, &name, &refusal));
        }
        objections.extend(check::table(&bench.table, self.flavour));
        match objections.into_iter().next() {
            None => Ok(out),
            // The rule that closed the loop or made it too deep is the one just added.
            Some(first) => Err(self.objected(&Objection { chain, ..first })),
        }
    }

    fn listing(self, bench: &Workbench, command: &Command) -> Result<String, CliError> {
        let columns = Columns {
            numeric: command.numeric,
            verbose: command.verbose > 0,
            exact: command.exact,
            line_numbers: command.line_numbers,
        };
        if !matches!(command.op, Some(Op::List | Op::ListRules)) {
            return Ok(String::new());
        }
        let name = command.chain.as_deref();
        let chains = match apply::find_or_all(bench, name) {
            Ok(chains) => chains,
            Err(_) if self.flavour == Flavour::Nft => {
                let (chain, table) = (name.unwrap_or_default(), bench.table.name.name());
                let what = format!("chain `{chain}' in table `{table}' is incompatible, use 'nft' tool.");
                return Err(CliError { message: format!("{}: {what}\n", self.version()), exit_code: 1 });
            }
            Err(refusal) => return Err(self.library(&refusal)),
        };
        Ok(match command.op {
            Some(Op::List) => list::list(bench, &chains, command.number, columns),
            _ => list::list_rules(bench, &chains, command.number, command.verbose > 0),
        })
    }

    /// What `-v` adds to a command that changes something.
    fn narrated(self, bench: &Workbench, command: &Command, verbose: bool) -> String {
        let chain = command.chain.as_deref();
        let zeroing = command.zero || command.op == Some(Op::Zero);
        if !verbose {
            return String::new();
        }
        let each = |what: &str| {
            let chains = apply::find_or_all(bench, chain).unwrap_or_default();
            chains.iter().map(|&id| format!("{what} chain `{}'\n", bench.table.chain(id).name)).collect()
        };
        match command.op {
            _ if zeroing && command.number.is_none() => each("Zeroing"),
            Some(Op::Flush) => each("Flushing"),
            Some(Op::DeleteChain) if chain.is_some() => each("Deleting"),
            Some(Op::Append | Op::Insert | Op::Delete | Op::Replace | Op::Check) => {
                command.rule.clone().rules(0).map(|rule| list::sentence(bench, &rule)).collect()
            }
            Some(_) | None => String::new(),
        }
    }

    /// A refusal, in the flavour's words.
    fn refused(self, op: Option<Op>, chain: &str, refusal: &Refusal) -> CliError {
        match (self.flavour, op, refusal) {
            (_, _, Refusal::Parameter(message)) => self.parameter(message),
            (Flavour::Nft, Some(Op::Zero), Refusal::CounterTooFar) => self.library(&Refusal::BadRule),
            (
                Flavour::Nft,
                Some(Op::DeleteChain),
                Refusal::Referenced | Refusal::NotEmpty | Refusal::BuiltIn,
            ) => self.kernel(&format!("CHAIN_DEL failed (Device or resource busy): chain {chain}")),
            _ => self.library(refusal),
        }
    }

    fn objected(self, objection: &Objection) -> CliError {
        match (objection.by, self.flavour) {
            (By::Kernel(errno), Flavour::Legacy) => {
                CliError { message: format!("{}: {errno}.{}\n", self.name(), dmesg(errno)), exit_code: 1 }
            }
            (By::Kernel(errno), Flavour::Nft) => {
                self.kernel(&format!("RULE_APPEND failed ({errno}): rule in chain {}", objection.chain))
            }
            (By::Tool | By::Busy, _) => self.parameter(&objection.why),
        }
    }

    fn fault(self, fault: &Fault) -> CliError {
        match fault.class {
            Class::Bare => CliError { message: format!("{}\n{}", fault.message, self.usage()), exit_code: 2 },
            Class::Parameter | Class::Other | Class::Failed | Class::Kernel => self.parameter(&fault.message),
        }
    }

    fn parameter(self, message: &str) -> CliError {
        CliError { message: format!("{}: {message}\n{}", self.version(), self.usage()), exit_code: 2 }
    }

    /// `iptables: WORDS.`
    fn library(self, refusal: &Refusal) -> CliError {
        let words = refusal.message(self.flavour);
        CliError { message: format!("{}: {words}.{}\n", self.name(), dmesg(words)), exit_code: 1 }
    }

    fn kernel(self, message: &str) -> CliError {
        CliError { message: format!("{}:  {message}\n", self.version()), exit_code: 4 }
    }

    fn no_table(self, name: &str) -> CliError {
        let what = match self.flavour {
            Flavour::Legacy => format!(
                "can't initialize {} table `{name}': Table does not exist (do you need to insmod?)",
                self.name()
            ),
            Flavour::Nft => format!("table '{name}' does not exist"),
        };
        let tool = self.name();
        CliError {
            message: format!(
                "{}: {what}\nPerhaps {tool} or your kernel needs to be upgraded.\n",
                self.version()
            ),
            exit_code: 3,
        }
    }

    const fn name(self) -> &'static str {
        match self.family {
            Family::V4 => "iptables",
            Family::V6 => "ip6tables",
        }
    }

    fn version(self) -> String {
        let flavour = match self.flavour {
            Flavour::Legacy => "legacy",
            Flavour::Nft => "nf_tables",
        };
        format!("{} v1.8.9 ({flavour})", self.name())
    }

    fn usage(self) -> String {
        let name = self.name();
        format!("Try `{name} -h' or '{name} --help' for more information.\n")
    }
}

/// What the tool adds where the error number is EINVAL.
fn dmesg(words: &str) -> &'static str {
    if matches!(words, "Invalid argument" | "Bad policy name") {
        " Run `dmesg' for more information."
    } else {
        ""
    }
}
