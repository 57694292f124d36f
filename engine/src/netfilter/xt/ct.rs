//! `-j CT` and `-j NOTRACK`: what the tracker shall do with a packet it has not seen yet (`xt_CT.c`).

use super::prelude::*;
use crate::packet::CtInfo;

/// Events the tracker announces (`IPCT_*`), in the order they are printed; all of them unless a rule limits them.
const EVENTS: [&str; 10] =
    ["new", "related", "destroy", "reply", "assured", "protoinfo", "helper", "mark", "natseqinfo", "secmark"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Zone {
    Id(u16),
    /// The packet's mark, its lower 16 bits.
    Mark,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ct {
    notrack: bool,
    /// Bits of [`EVENTS`].
    events: Option<u16>,
    zone: Option<Zone>,
}

impl Ct {
    fn text(&self, out: &mut String, dashes: &str) {
        if self.notrack {
            let _ = write!(out, " {dashes}notrack");
        }
        if let Some(bits) = self.events {
            let names = EVENTS.iter().enumerate().filter(|(bit, _)| bits & (1 << bit) != 0);
            let names: Vec<_> = names.map(|(_, name)| *name).collect();
            let _ = write!(out, " {dashes}ctevents {}", names.join(","));
        }
        let _ = match self.zone {
            None | Some(Zone::Id(0)) => Ok(()),
            Some(Zone::Id(id)) => write!(out, " {dashes}zone {id}"),
            Some(Zone::Mark) => write!(out, " {dashes}zone mark"),
        };
    }
}

/// Whether the packet has been given a connection, a template or a refusal already.
const fn taken(skb: &Skb) -> bool {
    skb.ct.is_some() || !matches!(skb.ct_info, CtInfo::None) || skb.ct_template
}

fn untrack(cx: &mut Cx<'_>, skb: &mut Skb, by: &str) -> Next {
    if !taken(skb) {
        skb.ct_info = CtInfo::Untracked;
        cx.rewrote(by, "ctstate", CtInfo::None.state_name(), CtInfo::Untracked.state_name());
    }
    Next::Continue
}

impl TargetExt for Ct {
    const SPEC: ExtSpec = ExtSpec::new("CT", BOTH, "net/netfilter/xt_CT.c").tables(&["raw"]).options(&[
        OptSpec::new("--notrack", Values::None),
        OptSpec::new("--helper", Values::One).absent("no helper is emulated"),
        OptSpec::new("--timeout", Values::One)
            .absent("timeout policies are objects of nfct, which is not emulated"),
        OptSpec::new("--ctevents", Values::One),
        OptSpec::new("--expevents", Values::One).absent("expectations are not emulated"),
        OptSpec::new("--zone", Values::One),
        OptSpec::new("--zone-orig", Values::One).absent("a zone holds for both directions"),
        OptSpec::new("--zone-reply", Values::One).absent("a zone holds for both directions"),
    ]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let mut ct = Self { notrack: args.has("--notrack"), events: None, zone: None };
        let mut beyond = None;
        for (at, opt) in args.opts.iter().enumerate() {
            match opt.name {
                "--notrack" => {}
                "--zone" | "--zone-orig" | "--zone-reply" => {
                    let text = opt.values[0];
                    let id = parse_number(text, 65535).map(|n| Zone::Id(n as u16));
                    let zone = if text == "mark" { Some(Zone::Mark) } else { id };
                    ct.zone = Some(
                        zone.ok_or_else(|| ArgError::at(at, format!("Cannot parse {text} as a zone ID")))?,
                    );
                    if opt.name != "--zone" {
                        beyond = Some(at);
                    }
                }
                "--ctevents" => {
                    let mut bits = 0;
                    for word in opt.values[0].split(',') {
                        match EVENTS.iter().position(|name| *name == word) {
                            Some(bit) => bits |= 1 << bit,
                            None => return Err(ArgError::at(at, format!("Unknown event type \"{word}\""))),
                        }
                    }
                    ct.events = Some(bits);
                }
                "--expevents" => {
                    for word in opt.values[0].split(',') {
                        if word != "new" {
                            return Err(ArgError::at(at, format!("Unknown event type \"{word}\"")));
                        }
                    }
                    beyond = Some(at);
                }
                // Helpers and timeout policies are objects the node does not have.
                _ => beyond = Some(at),
            }
        }
        match beyond {
            Some(at) => Err(ArgError::not_emulated(at)),
            None => Ok(ct),
        }
    }

    fn save(&self, out: &mut String) {
        self.text(out, "--");
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        out.push_str(" CT");
        self.text(out, "");
    }

    fn apply(&self, cx: &mut Cx<'_>, skb: &mut Skb) -> Next {
        if self.notrack {
            return untrack(cx, skb, "CT");
        }
        if !taken(skb) {
            let zone = match self.zone {
                None | Some(Zone::Mark) => 0,
                Some(Zone::Id(id)) => id,
            };
            // `nf_ct_zone_tmpl` reads the mark when the packet is tracked, not here.
            skb.ct_zone_by_mark = self.zone == Some(Zone::Mark);
            (skb.ct_zone, skb.ct_template, skb.ct_events) = (zone, true, self.events);
            cx.rewrote("CT", "zone", 0, zone);
        }
        Next::Continue
    }
}

/// `-j NOTRACK`, the old spelling of `-j CT --notrack`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notrack;

impl TargetExt for Notrack {
    const SPEC: ExtSpec = ExtSpec::new("NOTRACK", BOTH, "net/netfilter/xt_CT.c").tables(&["raw"]);

    fn parse(_: &Parsed<'_>) -> Result<Self, ArgError> {
        Ok(Self)
    }

    fn save(&self, _: &mut String) {}

    fn list(&self, out: &mut String, _: ListFlags) {
        out.push_str(" NOTRACK");
    }

    fn apply(&self, cx: &mut Cx<'_>, skb: &mut Skb) -> Next {
        untrack(cx, skb, "NOTRACK")
    }
}
