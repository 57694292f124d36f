//! The contract between an extension, the text layer and the evaluator.

use crate::base::{Hook, Rng};
use crate::netfilter::rule::{Not, Verdict};
use crate::netfilter::{Cx, RuleState, Shared};
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
    /// Other spellings: `--destination-port`. The tool's messages use the first of them, if there is one.
    pub aliases: &'static [&'static str],
    pub values: Values,
    /// Whether `!` may precede it.
    pub negate: bool,
    /// Whether the rule must have it (`XTOPT_MAND`).
    pub mandatory: bool,
    /// Whether it may be given twice (`XTOPT_MULTI`).
    pub multi: bool,
    /// Options that cannot stand beside it, by canonical spelling; its own name among them is ignored, so that a
    /// group can share one list.
    pub excludes: &'static [&'static str],
    /// Options it needs beside it.
    pub requires: &'static [&'static str],
    /// Why it is read and printed but not emulated: a rule with it is kept verbatim and its answer unknown.
    pub absent: Option<&'static str>,
}

impl OptSpec {
    pub const fn new(name: &'static str, values: Values) -> Self {
        Self {
            name,
            aliases: &[],
            values,
            negate: false,
            mandatory: false,
            multi: false,
            excludes: &[],
            requires: &[],
            absent: None,
        }
    }

    pub const fn absent(self, why: &'static str) -> Self {
        Self { absent: Some(why), ..self }
    }

    pub const fn mandatory(self) -> Self {
        Self { mandatory: true, ..self }
    }

    pub const fn multi(self) -> Self {
        Self { multi: true, ..self }
    }

    pub const fn excludes(self, excludes: &'static [&'static str]) -> Self {
        Self { excludes, ..self }
    }

    pub const fn requires(self, requires: &'static [&'static str]) -> Self {
        Self { requires, ..self }
    }

    /// As the tool's messages call it.
    fn said(&self) -> &'static str {
        self.aliases.first().copied().unwrap_or(self.name)
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
    /// Protocols the kernel demands of `-p`, not inverted; empty when any will do.
    pub protos: &'static [u8],
    /// Tables the kernel allows it in; empty when any will do.
    pub tables: &'static [&'static str],
    /// Hooks the kernel allows it at; empty when any will do.
    pub hooks: &'static [Hook],
    /// Whether the tool reads its options with the guided parser, whose general checks and words apply.
    pub guided: bool,
}

impl ExtSpec {
    /// An extension without options, exact, allowed everywhere.
    pub const fn new(name: &'static str, families: &'static [Family], kernel: &'static str) -> Self {
        Self {
            name,
            families,
            options: &[],
            kernel,
            fidelity: Fidelity::Exact,
            protos: &[],
            tables: &[],
            hooks: &[],
            guided: true,
        }
    }

    pub const fn options(self, options: &'static [OptSpec]) -> Self {
        Self { options, ..self }
    }

    pub const fn simplified(self, how: &'static str) -> Self {
        Self { fidelity: Fidelity::Simplified(how), ..self }
    }

    pub const fn protos(self, protos: &'static [u8]) -> Self {
        Self { protos, ..self }
    }

    pub const fn tables(self, tables: &'static [&'static str]) -> Self {
        Self { tables, ..self }
    }

    pub const fn hooks(self, hooks: &'static [Hook]) -> Self {
        Self { hooks, ..self }
    }

    /// The tool reads its options by hand: its own checks and words, in `parse`.
    pub const fn unguided(self) -> Self {
        Self { guided: false, ..self }
    }

    /// What the guided option parser checks of each option before it looks at its value
    /// (`xtables_option_parse`).
    pub fn check_each(&self, args: &Parsed<'_>) -> Result<(), ArgError> {
        if !self.guided {
            return Ok(());
        }
        let name = self.name;
        let spec = |opt: &Opt<'_>| self.options.iter().find(|s| s.name == opt.name);
        for (at, opt) in args.opts.iter().enumerate() {
            let Some(spec) = spec(opt) else { continue };
            let said = spec.said();
            if !spec.multi && args.opts[..at].iter().any(|o| o.name == opt.name) {
                return Err(ArgError::at(at, format!("{name}: option \"{said}\" can only be used once.")));
            }
            if opt.inverted && !spec.negate {
                return Err(ArgError::at(at, format!("{name}: option \"{said}\" cannot be inverted.")));
            }
        }
        Ok(())
    }

    /// What it checks when all options are read (`xtables_options_fcheck`).
    pub fn check_together(&self, args: &Parsed<'_>) -> Result<(), ArgError> {
        if !self.guided {
            return Ok(());
        }
        let name = self.name;
        for spec in self.options {
            let Some((at, _)) = args.get(spec.name) else {
                if spec.mandatory {
                    let said = spec.said();
                    return Err(ArgError::whole(format!("{name}: option \"{said}\" must be specified")));
                }
                continue;
            };
            let said_of =
                |other: &str| self.options.iter().find(|s| s.name == other).map_or("", OptSpec::said);
            let said = spec.said();
            if let Some(other) = spec.requires.iter().find(|o| !args.has(o)) {
                let other = said_of(other);
                return Err(ArgError::at(
                    at,
                    format!("{name}: option \"{said}\" also requires \"{other}\"."),
                ));
            }
            if let Some(other) = spec.excludes.iter().find(|o| **o != spec.name && args.has(o)) {
                let other = said_of(other);
                return Err(ArgError::at(
                    at,
                    format!("{name}: option \"{said}\" cannot be used together with \"{other}\"."),
                ));
            }
        }
        Ok(())
    }

    /// What `xt_check_match` and `xt_check_target` check when the rule is loaded: table and protocol.
    pub fn check_rule(&self, args: &Parsed<'_>) -> Result<(), ArgError> {
        let name = self.name;
        if !self.tables.is_empty() && !self.tables.contains(&args.table) {
            let (only, table) = (self.tables.join("\" or \""), args.table);
            return Err(ArgError::kernel(
                Errno::Inval,
                format!("{name} works in table \"{only}\" only, not in \"{table}\""),
            ));
        }
        if !self.protos.is_empty() && !args.proto_exact().is_some_and(|p| self.protos.contains(&p)) {
            return Err(ArgError::kernel(
                Errno::Inval,
                format!("{name} needs -p with its own protocol, not inverted"),
            ));
        }
        Ok(())
    }

    /// Whether the extension may stand where packets come from these hooks.
    pub fn check_hooks(&self, from: &[Hook]) -> Result<(), ArgError> {
        let wrong = from.iter().find(|h| !self.hooks.is_empty() && !self.hooks.contains(h));
        match wrong {
            None => Ok(()),
            Some(hook) => Err(ArgError::kernel(
                Errno::Inval,
                format!(
                    "{} works in {} only, not in {}",
                    self.name,
                    self.hooks.iter().map(|h| h.chain()).collect::<Vec<_>>().join(", "),
                    hook.chain()
                ),
            )),
        }
    }
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
    /// `-p`, as in [`crate::netfilter::IpMatch::proto`].
    pub proto: Option<Not<u8>>,
    pub opts: Vec<Opt<'a>>,
}

impl<'a> Parsed<'a> {
    /// The last use of `name`, with its position for [`ArgError::at`].
    pub fn get(&self, name: &str) -> Option<(usize, &Opt<'a>)> {
        self.opts.iter().enumerate().rev().find(|(_, o)| o.name == name)
    }

    /// The protocol that `-p` demands, when it is given and not inverted.
    pub fn proto_exact(&self) -> Option<u8> {
        self.proto.filter(|p| !p.inverted).map(|p| p.value)
    }

    /// The use of a mandatory option. Without it [`ExtSpec::check_together`] finds the words.
    pub fn require(&self, name: &str) -> Result<(usize, &Opt<'a>), ArgError> {
        self.get(name).ok_or_else(|| ArgError::whole(String::new()))
    }

    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }
}

/// Error numbers with which the kernel refuses a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errno {
    /// `Invalid argument. Run `dmesg' for more information.`
    Inval,
    /// `Numerical result out of range.`
    Range,
    /// `No chain/target/match by that name.`
    NoEnt,
}

/// Who refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// iptables itself: it prints the message and exits with 2.
    Tool,
    /// The kernel, when the table is committed: the tool prints the words of the errno and exits with 1 (nft: 4).
    /// The message says why, as `dmesg` would.
    Kernel(Errno),
    /// Nobody: it is valid, but this option is not emulated. The rule is kept verbatim.
    NotEmulated,
}

/// Why the options of an extension do not make sense, in the words of the real tool where it has some.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgError {
    /// Which of [`Parsed::opts`]; none when the extension as a whole is at fault.
    pub opt: Option<usize>,
    pub message: String,
    pub by: Refusal,
}

impl ArgError {
    pub fn at(opt: usize, message: impl Into<String>) -> Self {
        Self { opt: Some(opt), message: message.into(), by: Refusal::Tool }
    }

    pub fn whole(message: impl Into<String>) -> Self {
        Self { opt: None, message: message.into(), by: Refusal::Tool }
    }

    pub fn kernel(errno: Errno, message: impl Into<String>) -> Self {
        Self { opt: None, message: message.into(), by: Refusal::Kernel(errno) }
    }

    /// The option is valid and not emulated.
    pub fn not_emulated(opt: usize) -> Self {
        Self { opt: Some(opt), message: String::new(), by: Refusal::NotEmulated }
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
    /// Depends on something that is not there to ask: a set that nobody loaded.
    Unknown,
}

impl From<bool> for MatchResult {
    fn from(matched: bool) -> Self {
        if matched { Self::Yes } else { Self::No }
    }
}

/// A match: its text and its decision.
pub trait MatchExt: Clone + PartialEq + std::fmt::Debug + Sized {
    const SPEC: ExtSpec;

    /// Builds the match from its options, checking what the tool and the kernel check. The general checks of
    /// [`ExtSpec`] are made around it.
    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError>;

    /// What `iptables-save` prints after `-m NAME`, each option with a leading space.
    fn save(&self, out: &mut String);

    /// What `iptables -L` prints in the last column, with a leading space.
    fn list(&self, out: &mut String, flags: ListFlags);

    /// Whether it may stand where packets come from these hooks (`xt_check_match` and `checkentry`).
    fn check_hooks(&self, from: &[Hook]) -> Result<(), ArgError> {
        Self::SPEC.check_hooks(from)
    }

    /// State the match keeps for its rule. `label` names the rule's place, for [`Rng::named`].
    fn initial_state(&self, _seed: u64, _label: &dyn Fn() -> String) -> Option<RuleState> {
        None
    }

    /// Makes what the match shares with other rules by name, when its rule is loaded (`checkentry`).
    fn prepare(&self, _family: Family, _shared: &mut Shared) {}

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

    /// Whether it may stand where packets come from these hooks.
    fn check_hooks(&self, from: &[Hook]) -> Result<(), ArgError> {
        Self::SPEC.check_hooks(from)
    }

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
    let harmless = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
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
