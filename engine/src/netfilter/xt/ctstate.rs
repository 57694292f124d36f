//! [`States`]: the connection states that `-m conntrack` and `-m state` name (`XT_CONNTRACK_STATE_*`).

use std::borrow::Cow;

use super::prelude::*;
use crate::conntrack::{Entry, Status};
use crate::packet::CtInfo;

/// A set of connection states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct States(u16);

impl States {
    pub const INVALID: Self = Self(1);
    pub const NEW: Self = Self(1 << 3);
    pub const RELATED: Self = Self(1 << 2);
    pub const ESTABLISHED: Self = Self(1 << 1);
    pub const SNAT: Self = Self(64);
    pub const DNAT: Self = Self(128);
    pub const UNTRACKED: Self = Self(256);

    /// In the order they are printed.
    const NAMES: [(&str, Self); 7] = [
        ("INVALID", Self::INVALID),
        ("NEW", Self::NEW),
        ("RELATED", Self::RELATED),
        ("ESTABLISHED", Self::ESTABLISHED),
        ("UNTRACKED", Self::UNTRACKED),
        ("SNAT", Self::SNAT),
        ("DNAT", Self::DNAT),
    ];

    /// Those of a comma-separated list. `nat`: SNAT and DNAT count as states. `what` is used in the error.
    pub(super) fn parse(at: usize, text: &str, nat: bool, what: &str) -> Result<Self, ArgError> {
        let mut states = Self(0);
        for word in text.split(',') {
            let names = &Self::NAMES[..if nat { 7 } else { 5 }];
            match names.iter().find(|(name, _)| !word.is_empty() && abbreviates(word, name)) {
                Some((_, state)) => states.0 |= state.0,
                None => return Err(ArgError::at(at, format!("Bad {what} \"{word}\""))),
            }
        }
        Ok(states)
    }

    /// What holds for a packet: one base state, and whether its connection is translated.
    pub fn of(skb: &Skb, entry: Option<&Entry>) -> Self {
        let base = match skb.ct_info {
            // The template of a `CT` rule.
            CtInfo::None if entry.is_some() => Self::NEW,
            CtInfo::None => Self::INVALID,
            // The node's answer to an untracked packet, before it is tracked: a state without a connection.
            _ if entry.is_none() && skb.ct_info != CtInfo::Untracked => Self::INVALID,
            CtInfo::Untracked => Self::UNTRACKED,
            CtInfo::New => Self::NEW,
            CtInfo::Related | CtInfo::RelatedReply => Self::RELATED,
            CtInfo::Established | CtInfo::EstablishedReply => Self::ESTABLISHED,
        };
        let Some(entry) = entry else { return base };
        let nat = |bit, state: Self| if entry.status.has(bit) { state.0 } else { 0 };
        Self(base.0 | nat(Status::SRC_NAT, Self::SNAT) | nat(Status::DST_NAT, Self::DNAT))
    }

    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub fn text(self) -> String {
        let names: Vec<_> =
            Self::NAMES.iter().filter(|(_, s)| self.meets(*s)).map(|(name, _)| *name).collect();
        names.join(",")
    }
}

/// What `nf_ct_get` gives: the packet's connection, or the template that a `CT` rule gave it.
pub(super) fn connection<'a>(cx: &'a Cx<'_>, skb: &Skb) -> Option<Cow<'a, Entry>> {
    match skb.ct {
        Some(at) => cx.ct.entry(at).map(Cow::Borrowed),
        None => skb.ct_template.then(|| Cow::Owned(Entry::template(skb.packet.ip.src, skb.ct_zone))),
    }
}

/// `-m state`: the old spelling of `-m conntrack --ctstate` (`xt_conntrack.c`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    states: States,
    inverted: bool,
}

impl MatchExt for State {
    const SPEC: ExtSpec = ExtSpec::new("state", BOTH, "net/netfilter/xt_conntrack.c")
        .options(&[OptSpec::new("--state", Values::One).negatable().mandatory()]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let (at, opt) = args.require("--state")?;
        let states = States::parse(at, opt.values[0], false, "state")?;
        Ok(Self { states, inverted: opt.inverted })
    }

    fn save(&self, out: &mut String) {
        let _ = write!(out, "{} --state {}", bang(self.inverted), self.states.text());
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        let _ = write!(out, "{} state {}", bang(self.inverted), self.states.text());
    }

    fn eval(&self, cx: &mut Cx<'_>, skb: &Skb, _: Option<&mut RuleState>, why: &mut Why) -> MatchResult {
        let have = States::of(skb, connection(cx, skb).as_deref());
        why.check(
            have.meets(self.states) != self.inverted,
            "--state",
            || have.text(),
            || format!("{}{}", not(self.inverted), self.states.text()),
        )
        .into()
    }
}
