//! What to do where a rule depends on something that is not emulated.
//!
//! A run that meets such a rule follows a script of answers. The caller runs the packet again under the other
//! answers: if all worlds end alike, the packet's fate does not depend on it; otherwise the verdict is
//! uncertain and says on what.

use crate::trace::RuleRef;

/// A part that left a decision open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    pub rule: RuleRef,
    /// The match or target, as written: `-m bpf`, `-j NFQUEUE`.
    pub name: String,
    /// The answer this run went on with.
    pub assumed: bool,
}

/// The answers of one world.
#[derive(Clone, Debug, Default)]
pub struct Assume {
    script: Vec<bool>,
    pub unknowns: Vec<Unknown>,
}

impl Assume {
    /// A world with these answers; past their end every answer is "does not match".
    pub const fn with_script(script: Vec<bool>) -> Self {
        Self { script, unknowns: Vec::new() }
    }

    /// Whether the rule shall count as matching, in this world.
    pub fn decide(&mut self, rule: RuleRef, name: &str) -> bool {
        let assumed = self.script.get(self.unknowns.len()).copied().unwrap_or(false);
        self.unknowns.push(Unknown { rule, name: name.to_owned(), assumed });
        assumed
    }

    /// The answers given, in order.
    pub fn answers(&self) -> Vec<bool> {
        self.unknowns.iter().map(|u| u.assumed).collect()
    }
}
