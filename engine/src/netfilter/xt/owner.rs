//! `-m owner`: who owns the socket a local packet comes from (`xt_owner.c`).

use super::prelude::*;
use crate::netfilter::rule::Not;

/// Largest id: the one above means "none".
const ID_MAX: u64 = u32::MAX as u64 - 1;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner(Box<Fields>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Fields {
    /// Both ends included.
    uid: Option<Not<(u32, u32)>>,
    gid: Option<Not<(u32, u32)>>,
    supplementary: bool,
    /// Inverted.
    socket: Option<bool>,
}

fn ids(args: &Parsed<'_>, option: &str) -> Result<Option<Not<(u32, u32)>>, ArgError> {
    let Some((at, opt)) = args.get(option) else { return Ok(None) };
    let text = opt.values[0];
    let id = |text: &str| {
        // Of the names in /etc/passwd and /etc/group only this one is certain.
        if text == "root" { Some(0) } else { parse_number(text, ID_MAX).map(|n| n as u32) }
    };
    let range = match text.split_once('-') {
        None => id(text).map(|n| (n, n)),
        Some((low, high)) => id(low).zip(id(high)),
    };
    let value = range
        .ok_or_else(|| ArgError::at(at, format!("owner: Bad value for \"{option}\" option: \"{text}\"")))?;
    Ok(Some(Not { value, inverted: opt.inverted }))
}

fn id_text((low, high): (u32, u32)) -> String {
    if low == high { low.to_string() } else { format!("{low}-{high}") }
}

impl MatchExt for Owner {
    const SPEC: ExtSpec = ExtSpec::new("owner", BOTH, "net/netfilter/xt_owner.c")
        .hooks(&[Hook::Output, Hook::Postrouting])
        .options(&[
            OptSpec::new("--uid-owner", Values::One).negatable(),
            OptSpec::new("--gid-owner", Values::One).negatable(),
            OptSpec::new("--socket-exists", Values::None).negatable(),
            OptSpec::new("--suppl-groups", Values::None),
        ])
        .simplified(
            "a socket has one group: --suppl-groups looks at no others; of user names only root is known",
        );

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let fields = Fields {
            uid: ids(args, "--uid-owner")?,
            gid: ids(args, "--gid-owner")?,
            supplementary: args.has("--suppl-groups"),
            socket: args.get("--socket-exists").map(|(_, opt)| opt.inverted),
        };
        if fields.uid.is_none() && fields.gid.is_none() && fields.socket.is_none() {
            return Err(ArgError::whole(
                "owner: At least one of --uid-owner, --gid-owner or --socket-exists is required",
            ));
        }
        if [fields.uid, fields.gid].iter().flatten().any(|ids| ids.value.0 > ids.value.1) {
            return Err(ArgError::kernel(Errno::Inval, "owner: the range is reversed"));
        }
        Ok(Self(Box::new(fields)))
    }

    fn save(&self, out: &mut String) {
        let f = &*self.0;
        if let Some(inverted) = f.socket {
            let _ = write!(out, "{} --socket-exists", bang(inverted));
        }
        for (option, ids) in [("--uid-owner", f.uid), ("--gid-owner", f.gid)] {
            if let Some(ids) = ids {
                let _ = write!(out, "{} {option} {}", bang(ids.inverted), id_text(ids.value));
            }
        }
        if f.supplementary {
            out.push_str(" --suppl-groups");
        }
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        let f = &*self.0;
        if let Some(inverted) = f.socket {
            let _ = write!(out, "{} owner socket exists", bang(inverted));
        }
        for (name, ids) in [("UID", f.uid), ("GID", f.gid)] {
            if let Some(ids) = ids {
                let _ = write!(out, "{} owner {name} match {}", bang(ids.inverted), id_text(ids.value));
            }
        }
        if f.supplementary {
            out.push_str(" incl. suppl. groups");
        }
    }

    fn eval(&self, _: &mut Cx<'_>, skb: &Skb, _: Option<&mut RuleState>, why: &mut Why) -> MatchResult {
        let f = &*self.0;
        let Some(owner) = skb.owner else {
            // Only what is inverted holds for a packet without a socket, or without a process that holds it.
            let exists = skb.control_socket;
            let pass = f.socket.is_none_or(|inverted| inverted != exists)
                && [f.uid, f.gid].iter().flatten().all(|ids| ids.inverted);
            let have = || if exists { "a socket of the kernel" } else { "no socket" }.to_owned();
            return why.check(pass, "-m owner", have, || "a socket".to_owned()).into();
        };
        if let Some(inverted) = f.socket {
            let want = || if inverted { "none" } else { "a socket" }.to_owned();
            if !why.check(!inverted, "--socket-exists", || "a socket".to_owned(), want) {
                return MatchResult::No;
            }
        }
        let holds = |ids: Option<Not<(u32, u32)>>, option, have: u32, why: &mut Why| {
            ids.is_none_or(|ids| {
                let (low, high) = ids.value;
                why.check(
                    (low <= have && have <= high) != ids.inverted,
                    option,
                    || have.to_string(),
                    || format!("{}{}", not(ids.inverted), id_text(ids.value)),
                )
            })
        };
        (holds(f.uid, "--uid-owner", owner.uid, why) && holds(f.gid, "--gid-owner", owner.gid, why)).into()
    }
}
