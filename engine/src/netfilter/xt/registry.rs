//! The macros that turn the lists of `xt/mod.rs` into closed enums and lookup tables.

use super::ext::{ArgError, ExtSpec, Parsed, Refusal};
use super::not_emulated::NotEmulated;

/// Reads the options of one extension: the general checks, its own, then the kernel's. A valid option that is
/// not emulated makes the whole extension one that is not.
pub(super) fn read<Ext, Any>(
    spec: &ExtSpec,
    args: &Parsed<'_>,
    parse: fn(&Parsed<'_>) -> Result<Ext, ArgError>,
    wrap: fn(Ext) -> Any,
    verbatim: fn(NotEmulated) -> Any,
) -> Result<Any, ArgError> {
    spec.check_each(args)?;
    let any = match parse(args) {
        Ok(ext) => wrap(ext),
        // A mandatory option is missing.
        Err(e) if e.message.is_empty() && e.by == Refusal::Tool => {
            spec.check_together(args)?;
            return Err(ArgError::whole(format!("{}: an option is missing", spec.name)));
        }
        Err(e) if e.by == Refusal::NotEmulated => verbatim(NotEmulated::of(spec.name, args)),
        Err(e) => return Err(e),
    };
    spec.check_together(args)?;
    spec.check_rule(args)?;
    Ok(any)
}

/// Builds `enum Match` with one variant a registered match, and the table the text layer looks names up in.
macro_rules! match_registry {
    ($($variant:ident: $ty:ty,)+) => {
        /// A match of a rule.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Match {
            $($variant($ty),)+
            /// Known or unknown, but not emulated: kept verbatim, its answer unknown.
            NotEmulated(NotEmulated),
        }

        /// A registered match: what it accepts, and how to build it.
        #[derive(Clone, Copy, Debug)]
        pub struct MatchEntry {
            pub spec: ExtSpec,
            pub parse: fn(&Parsed<'_>) -> Result<Match, ArgError>,
        }

        /// Every match the engine emulates.
        pub static MATCHES: &[MatchEntry] = &[
            $(MatchEntry {
                spec: <$ty as MatchExt>::SPEC,
                parse: |args| {
                    let spec = <$ty as MatchExt>::SPEC;
                    read(&spec, args, <$ty as MatchExt>::parse, Match::$variant, Match::NotEmulated)
                },
            },)+
        ];

        impl Match {
            /// Name after `-m`.
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$variant(_) => <$ty as MatchExt>::SPEC.name,)+
                    Self::NotEmulated(m) => &m.name,
                }
            }

            pub fn save(&self, out: &mut String) {
                match self {
                    $(Self::$variant(m) => m.save(out),)+
                    Self::NotEmulated(m) => m.save(out),
                }
            }

            pub fn list(&self, out: &mut String, flags: ListFlags) {
                match self {
                    $(Self::$variant(m) => m.list(out, flags),)+
                    Self::NotEmulated(m) => m.save(out),
                }
            }

            /// Whether it may stand where packets come from these hooks.
            pub fn check_hooks(&self, from: &[crate::base::Hook]) -> Result<(), ArgError> {
                match self {
                    $(Self::$variant(m) => m.check_hooks(from),)+
                    Self::NotEmulated(_) => Ok(()),
                }
            }

            pub fn initial_state(
                &self,
                seed: u64,
                label: &dyn Fn() -> String,
            ) -> Option<crate::netfilter::RuleState> {
                match self {
                    $(Self::$variant(m) => m.initial_state(seed, label),)+
                    Self::NotEmulated(_) => None,
                }
            }

            /// Makes what the match shares with other rules by name.
            pub fn prepare(
                &self,
                family: crate::packet::Family,
                shared: &mut crate::netfilter::Shared,
            ) {
                match self {
                    $(Self::$variant(m) => m.prepare(family, shared),)+
                    Self::NotEmulated(_) => {}
                }
            }

            /// Whether loading the rule switches accounting of connections on.
            pub const fn needs_accounting(&self) -> bool {
                matches!(self, Self::Connbytes(_))
            }

            /// The IP set it asks about. Where no such set is loaded, its answer is unknown.
            pub fn set_name(&self) -> Option<&str> {
                if let Self::Set(m) = self { Some(m.set_name()) } else { None }
            }

            /// Decides; none for a match that is not emulated, or that asks about a set nobody loaded.
            pub fn eval(
                &self,
                cx: &mut crate::netfilter::Cx<'_>,
                skb: &crate::packet::Skb,
                state: Option<&mut crate::netfilter::RuleState>,
                why: &mut crate::trace::Why,
            ) -> Option<MatchResult> {
                let result = match self {
                    $(Self::$variant(m) => m.eval(cx, skb, state, why),)+
                    Self::NotEmulated(_) => MatchResult::Unknown,
                };
                if result == MatchResult::Unknown { None } else { Some(result) }
            }
        }
    };
}

/// The same for targets: `enum TargetExt` and `TARGETS`.
macro_rules! target_registry {
    ($($variant:ident: $ty:ty,)+) => {
        /// A target with an implementation of its own (everything but verdicts and chains).
        #[derive(Clone, Debug, PartialEq)]
        pub enum TargetExt {
            $($variant($ty),)+
            /// Known or unknown, but not emulated: kept verbatim, its effect unknown.
            NotEmulated(NotEmulated),
        }

        /// A registered target.
        #[derive(Clone, Copy, Debug)]
        pub struct TargetEntry {
            pub spec: ExtSpec,
            pub parse: fn(&Parsed<'_>) -> Result<TargetExt, ArgError>,
        }

        /// Every target the engine emulates.
        pub static TARGETS: &[TargetEntry] = &[
            $(TargetEntry {
                spec: <$ty as TargetRules>::SPEC,
                parse: |args| {
                    let spec = <$ty as TargetRules>::SPEC;
                    read(&spec, args, <$ty as TargetRules>::parse, TargetExt::$variant, TargetExt::NotEmulated)
                },
            },)+
        ];

        impl TargetExt {
            /// Name after `-j`.
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$variant(_) => <$ty as TargetRules>::SPEC.name,)+
                    Self::NotEmulated(t) => &t.name,
                }
            }

            pub fn save(&self, out: &mut String) {
                match self {
                    $(Self::$variant(t) => t.save(out),)+
                    Self::NotEmulated(t) => t.save(out),
                }
            }

            pub fn list(&self, out: &mut String, flags: ListFlags) {
                match self {
                    $(Self::$variant(t) => t.list(out, flags),)+
                    Self::NotEmulated(t) => t.save(out),
                }
            }

            /// Whether it may stand where packets come from these hooks.
            pub fn check_hooks(&self, from: &[crate::base::Hook]) -> Result<(), ArgError> {
                match self {
                    $(Self::$variant(t) => t.check_hooks(from),)+
                    Self::NotEmulated(_) => Ok(()),
                }
            }

            /// Whether it may stand in a rule with these matches.
            pub fn check_matches(
                &self,
                matches: &[crate::netfilter::rule::BoundMatch],
            ) -> Result<(), ArgError> {
                if let Self::Tcpmss(t) = self { t.check_matches(matches) } else { Ok(()) }
            }

            /// The IP sets it changes.
            pub fn set_names(&self) -> [Option<&str>; 2] {
                if let Self::Set(t) = self { t.set_names() } else { [None, None] }
            }

            /// Acts; none for a target that is not emulated.
            pub fn apply(
                &self,
                cx: &mut crate::netfilter::Cx<'_>,
                skb: &mut crate::packet::Skb,
            ) -> Option<Next> {
                match self {
                    $(Self::$variant(t) => Some(t.apply(cx, skb)),)+
                    Self::NotEmulated(_) => None,
                }
            }
        }
    };
}
