//! Reads the words of one command: what to do, to which chain, with which rule (`do_parse` of `xshared.c`).

mod extension;
mod find;
mod finish;
mod general;
mod options;
mod rule;

use super::fault::{Fault, Span};
use super::words::Word;
use super::{known, registry};
use crate::base::limits::CHAIN_NAME_LEN_MAX;
use crate::netfilter::rule::{BoundMatch, IpMatch, Net, Not};
use crate::netfilter::table::{ChainId, Flavour};
use crate::netfilter::xt::Errno;
use crate::netfilter::{Counters, Rule, Target};
use crate::packet::Family;

pub(super) use rule::{read, restore_name};

/// What the words are read against.
pub(super) struct SpecCx<'c> {
    pub flavour: Flavour,
    pub family: Family,
    /// Name of the table the command works on, unless it says `-t`.
    pub table: &'c str,
    /// In a restore, `-t` is refused.
    pub restore: bool,
    /// Keep an unknown match or target verbatim where the tool would refuse it.
    pub lenient: bool,
    pub chains: &'c dyn Fn(&str) -> Option<ChainId>,
}

/// The command letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Append,
    Delete,
    Check,
    Insert,
    Replace,
    List,
    ListRules,
    Flush,
    Zero,
    NewChain,
    DeleteChain,
    RenameChain,
    Policy,
    Version,
    Help,
}

impl Op {
    pub(super) const fn letter(self) -> char {
        match self {
            Self::Append => 'A',
            Self::Delete => 'D',
            Self::Check => 'C',
            Self::Insert => 'I',
            Self::Replace => 'R',
            Self::List => 'L',
            Self::ListRules => 'S',
            Self::Flush => 'F',
            Self::Zero => 'Z',
            Self::NewChain => 'N',
            Self::DeleteChain => 'X',
            Self::RenameChain => 'E',
            Self::Policy => 'P',
            Self::Version => 'V',
            Self::Help => 'h',
        }
    }
}

/// One command, read.
#[derive(Debug, Default)]
pub(super) struct Command {
    pub op: Option<Op>,
    /// `-Z` beside `-L` or `-S`.
    pub zero: bool,
    pub table: Option<String>,
    pub chain: Option<Box<str>>,
    pub chain_span: Span,
    pub number: Option<u32>,
    /// New name of `-E`, policy of `-P`.
    pub argument: Option<Box<str>>,
    pub counters: Option<Counters>,
    pub numeric: bool,
    pub exact: bool,
    pub verbose: u8,
    pub line_numbers: bool,
    /// `-4` in ip6tables, `-6` in iptables: in a restore the line is for the other tool.
    pub other_family: bool,
    pub rule: RuleSpec,
    /// The kernel's objection to a match or target, and why: it shows when the table is committed.
    pub objection: Option<(Errno, String, Span)>,
    /// What the reader kept verbatim: name as `-m NAME` or `-j NAME`, and where.
    pub verbatim: Vec<(String, Span)>,
}

/// A rule as written: several sources and destinations make several rules.
#[derive(Clone, Debug)]
pub(super) struct RuleSpec {
    /// Several addresses in `-s`, else empty.
    pub sources: Vec<Net>,
    pub destinations: Vec<Net>,
    /// The tests of the header; lists of addresses stand in `sources` and `destinations`.
    pub head: IpMatch,
    pub matches: Vec<BoundMatch>,
    pub target: Target,
    pub missing: Option<Missing>,
}

/// A chain that is not there: name, place, and whether `-g` asks for it.
pub(super) type Missing = (Box<str>, Span, bool);

impl Default for RuleSpec {
    fn default() -> Self {
        Self {
            sources: Vec::new(),
            destinations: Vec::new(),
            head: IpMatch::default(),
            matches: Vec::new(),
            target: Target::None,
            missing: None,
        }
    }
}

impl RuleSpec {
    /// The rules it stands for, sources outermost.
    pub(super) fn rules(self, line: u32) -> impl Iterator<Item = Rule> {
        let Self { sources, destinations, head, matches, target, .. } = self;
        let (width, count) = (destinations.len().max(1), sources.len().max(1) * destinations.len().max(1));
        let mut last = Some((head, matches, target));
        (0..count).filter_map(move |at| {
            let parts = if at + 1 == count { last.take() } else { last.clone() };
            let (mut head, matches, target) = parts?;
            if let Some(&net) = sources.get(at / width) {
                head.src = address_test(net, false);
            }
            if let Some(&net) = destinations.get(at % width) {
                head.dst = address_test(net, false);
            }
            Some(Rule { head, matches, target, line })
        })
    }
}

/// The test of one address; "any" is no test at all, unless inverted.
fn address_test(value: Net, inverted: bool) -> Option<Not<Net>> {
    (inverted || value.prefix_len() != Some(0)).then_some(Not { value, inverted })
}

/// `parse_rulenumber`.
fn rule_number(word: &Word<'_>) -> Result<u32, Fault> {
    crate::netfilter::xt::parse_number(&word.text, u64::from(u32::MAX))
        .filter(|&n| n > 0)
        .map(|n| n as u32)
        .ok_or_else(|| Fault::parameter(word.span, format!("Invalid rule number `{}'", word.text)))
}

/// `parse_chain` of `xshared.c`: what a chain may be called.
pub(super) fn check_chain_name(name: &str, span: Span) -> Result<(), Fault> {
    let fault = |message: String| Err(Fault::parameter(span, message));
    if name.len() > CHAIN_NAME_LEN_MAX {
        return fault(format!(
            "chain name `{name}' too long (must be under {} chars)",
            CHAIN_NAME_LEN_MAX + 1
        ));
    }
    if name.starts_with(['-', '!']) {
        return fault("chain name not allowed to start with `".to_owned() + &name[..1] + "'");
    }
    let verdict = matches!(name, "" | "ACCEPT" | "DROP" | "QUEUE" | "RETURN");
    if verdict || known::is_target(name) || registry::is_target(name) {
        return fault("chain name may not clash with target name".to_owned());
    }
    if name.chars().any(|c| c.is_ascii_whitespace()) {
        return fault("Invalid chain name `".to_owned() + name + "'");
    }
    Ok(())
}
