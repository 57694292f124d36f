//! The contract between an extension, the text layer and the evaluator.

use crate::base::Rng;
use crate::netfilter::rule::Verdict;
use crate::netfilter::{Cx, RuleState};
use crate::packet::{Family, Skb};
use crate::trace::Why;

/// How faithful an extension is, for the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fidelity {
    /// The same decision as the kernel, on everything it can look at.
    Exact,
    /// Differs as described.
    Simplified(&'static str),
}

/// How many words follow an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    None,
    One,
    /// One word, unless the next one is an option or the line ends.
    Optional,
    Two,
}

/// One option of an extension.
#[derive(Clone, Copy, Debug)]
pub struct OptSpec {
    /// Canonical spelling, with its dashes: `--dport`.
    pub name: &'static str,
    /// Other spellings: `--destination-port`.
    pub aliases: &'static [&'static str],
    pub values: Values,
    /// Whether `!` may precede it.
    pub negate: bool,
}

impl OptSpec {
    pub const fn new(name: &'static str, values: Values) -> Self {
        Self { name, aliases: &[], values, negate: false }
    }

    pub const fn negatable(self) -> Self {
        Self { negate: true, ..self }
    }

    pub const fn alias(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }
}

/// What the text layer and the ledger know of an extension.
#[derive(Clone, Copy, Debug)]
pub struct ExtSpec {
    /// As after `-m` or `-j`.
    pub name: &'static str,
    pub families: &'static [Family],
    pub options: &'static [OptSpec],
    /// Kernel file it mirrors.
    pub kernel: &'static str,
    pub fidelity: Fidelity,
}

pub const BOTH: &[Family] = &[Family::V4, Family::V6];
pub const ONLY_V4: &[Family] = &[Family::V4];
pub const ONLY_V6: &[Family] = &[Family::V6];

/// One use of an option in a rule, spelled canonically.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opt<'a> {
    pub name: &'static str,
    pub inverted: bool,
    /// Quotes removed, escapes resolved.
    pub values: Vec<&'a str>,
}

/// The options of one extension in one rule, in the order written, and the rule around it.
#[derive(Clone, Debug)]
pub struct Parsed<'a> {
    pub family: Family,
    /// Table and chain of the rule: some targets live only in some.
    pub table: &'a str,
    pub chain: &'a str,
    /// Protocol of `-p`, when given and not inverted.
    pub proto: Option<u8>,
    pub opts: Vec<Opt<'a>>,
}

impl<'a> Parsed<'a> {
    /// The last use of `name`, with its position for [`ArgError::at`].
    pub fn get(&self, name: &str) -> Option<(usize, &Opt<'a>)> {
        self.opts.iter().enumerate().rev().find(|(_, o)| o.name == name)
    }

    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }
}

/// Why the options of an extension do not make sense, in the words of the real tool where it has some.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgError {
    /// Which of [`Parsed::opts`]; none when the extension as a whole is at fault.
    pub opt: Option<usize>,
    pub message: String,
}

impl ArgError {
    pub fn at(opt: usize, message: impl Into<String>) -> Self {
        Self { opt: Some(opt), message: message.into() }
    }

    pub fn whole(message: impl Into<String>) -> Self {
        Self { opt: None, message: message.into() }
    }
}

/// How `iptables -L` is asked to print.
#[derive(Clone, Copy, Debug, Default)]
pub struct ListFlags {
    /// `-n`: numbers instead of names.
    pub numeric: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchResult {
    Yes,
    No,
    /// The packet is dropped at once (`par->hotdrop`).
    Hotdrop,
}

impl From<bool> for MatchResult {
    fn from(matched: bool) -> Self {
        if matched { Self::Yes } else { Self::No }
    }
}

/// A match: its text and its decision.
pub trait MatchExt: Clone + PartialEq + std::fmt::Debug + Sized {
    const SPEC: ExtSpec;

    /// Builds the match from its options, checking what the tool and the kernel check.
    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError>;

    /// What `iptables-save` prints after `-m NAME`, each option with a leading space.
    fn save(&self, out: &mut String);

    /// What `iptables -L` prints in the last column, with a leading space.
    fn list(&self, out: &mut String, flags: ListFlags);

    /// State the match keeps for its rule. `label` names the rule's place, for [`Rng::named`].
    fn initial_state(&self, _seed: u64, _label: &dyn Fn() -> String) -> Option<RuleState> {
        None
    }

    /// Decides. Every test goes through [`Why::check`], so that the explanation is the evaluation.
    fn eval(&self, cx: &mut Cx<'_>, skb: &Skb, state: Option<&mut RuleState>, why: &mut Why) -> MatchResult;
}

/// What follows after a target ran.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// The next rule (`XT_CONTINUE`).
    Continue,
    Return,
    Verdict(Verdict),
}

/// A target: its text and its effect.
pub trait TargetExt: Clone + PartialEq + std::fmt::Debug + Sized {
    const SPEC: ExtSpec;

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError>;

    /// What `iptables-save` prints after `-j NAME`, each option with a leading space.
    fn save(&self, out: &mut String);

    /// What `iptables -L` prints in the last column, with a leading space.
    fn list(&self, out: &mut String, flags: ListFlags);

    /// Acts on the packet. Changes are recorded through [`Cx::rewrote`].
    fn apply(&self, cx: &mut Cx<'_>, skb: &mut Skb) -> Next;
}

/// A stream of draws for the rule at `label`.
pub fn rule_rng(seed: u64, kind: &str, label: &dyn Fn() -> String) -> Rng {
    Rng::named(seed, &format!("{kind}:{}", label()))
}

/// Writes `text` as iptables-save does (`xtables_save_string`): bare when every character is harmless, otherwise
/// in double quotes with `"`, `\` and `'` escaped.
pub fn save_string(out: &mut String, text: &str) {
    let harmless = |c: char| c.is_ascii_alphanumeric() || "_-@%=+:,./".contains(c);
    if !text.is_empty() && text.chars().all(harmless) {
        out.push_str(text);
        return;
    }
    out.push('"');
    for c in text.chars() {
        if matches!(c, '"' | '\\' | '\'') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
}

/// A number as the tools read it: decimal, `0x` hexadecimal or `0` octal; none if malformed or above `max`.
pub fn parse_number(text: &str, max: u64) -> Option<u64> {
    let value = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok()?,
        None if text.len() > 1 && text.starts_with('0') => u64::from_str_radix(text, 8).ok()?,
        None => text.parse().ok()?,
    };
    (value <= max).then_some(value)
}
