//! `-m addrtype`: what the routing tables say of an address (`xt_addrtype.c`).

use std::net::IpAddr;

use super::prelude::*;
use crate::netfilter::AddrType;

/// Names in the order of the kernel's bits (`XT_ADDRTYPE_*`).
const TYPES: [(&str, AddrType); 12] = [
    ("UNSPEC", AddrType::Unspec),
    ("UNICAST", AddrType::Unicast),
    ("LOCAL", AddrType::Local),
    ("BROADCAST", AddrType::Broadcast),
    ("ANYCAST", AddrType::Anycast),
    ("MULTICAST", AddrType::Multicast),
    ("BLACKHOLE", AddrType::Blackhole),
    ("UNREACHABLE", AddrType::Unreachable),
    ("PROHIBIT", AddrType::Prohibit),
    ("THROW", AddrType::Throw),
    ("NAT", AddrType::Nat),
    ("XRESOLVE", AddrType::Xresolve),
];

const fn bit(kind: AddrType) -> u16 {
    1 << kind as u16
}

/// A set of types and whether it is inverted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Types {
    mask: u16,
    inverted: bool,
}

impl Types {
    fn parse(at: usize, opt: &Opt<'_>) -> Result<Self, ArgError> {
        let mut mask = 0;
        for word in opt.values[0].split(',') {
            let found = TYPES.iter().find(|(name, _)| !word.is_empty() && abbreviates(word, name));
            mask |= bit(found.ok_or_else(|| ArgError::at(at, format!("addrtype: bad type \"{word}\"")))?.1);
        }
        Ok(Self { mask, inverted: opt.inverted })
    }

    fn text(self) -> String {
        let names: Vec<_> = TYPES.iter().filter(|t| self.mask & bit(t.1) != 0).map(|t| t.0).collect();
        names.join(",")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    In,
    Out,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addrtype {
    src: Option<Types>,
    dst: Option<Types>,
    limit: Option<Limit>,
}

impl Addrtype {
    fn check(&self, cx: &Cx<'_>, types: Types, addr: IpAddr, option: &'static str, why: &mut Why) -> bool {
        let device = match self.limit {
            None => None,
            Some(Limit::In) => cx.indev.map(|d| d.id),
            Some(Limit::Out) => cx.outdev.map(|d| d.id),
        };
        let found = match addr {
            IpAddr::V4(_) => bit(cx.fib.addr_type(addr, device)),
            IpAddr::V6(a) => {
                // match_type6: these three are read off the address, and each one named must hold.
                let unicast = !a.is_multicast() && !a.is_unspecified();
                let fixed = [
                    (AddrType::Multicast, a.is_multicast()),
                    (AddrType::Unicast, unicast),
                    (AddrType::Unspec, a.is_unspecified()),
                ];
                let mut held = 0;
                for (kind, holds) in fixed {
                    if types.mask & bit(kind) != 0 {
                        if !holds {
                            held = 0;
                            break;
                        }
                        held |= bit(kind);
                    }
                }
                let asked = bit(AddrType::Local) | bit(AddrType::Anycast) | bit(AddrType::Unreachable);
                let of_address = types.mask & !asked;
                if of_address != 0 && held != of_address {
                    0
                } else if types.mask & asked != 0 {
                    bit(cx.fib.addr_type(addr, device))
                } else {
                    held
                }
            }
        };
        why.check(
            (types.mask & found != 0) != types.inverted,
            option,
            || {
                let name = Types { mask: bit(cx.fib.addr_type(addr, device)), inverted: false }.text();
                format!("{addr} is {name}")
            },
            || format!("{}{}", not(types.inverted), types.text()),
        )
    }
}

impl MatchExt for Addrtype {
    const SPEC: ExtSpec = ExtSpec::new("addrtype", BOTH, "net/netfilter/xt_addrtype.c").options(&[
        OptSpec::new("--src-type", Values::One).negatable(),
        OptSpec::new("--dst-type", Values::One).negatable(),
        OptSpec::new("--limit-iface-in", Values::None).excludes(&["--limit-iface-out"]),
        OptSpec::new("--limit-iface-out", Values::None).excludes(&["--limit-iface-in"]),
    ]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let types = |name| args.get(name).map(|(at, opt)| Types::parse(at, opt)).transpose();
        let (src, dst) = (types("--src-type")?, types("--dst-type")?);
        if src.is_none() && dst.is_none() {
            return Err(ArgError::whole("addrtype: you must specify --src-type or --dst-type"));
        }
        let limit = match (args.has("--limit-iface-in"), args.has("--limit-iface-out")) {
            (true, _) => Some(Limit::In),
            (false, true) => Some(Limit::Out),
            (false, false) => None,
        };
        if args.family == Family::V6 {
            let mask = src.map_or(0, |t| t.mask) | dst.map_or(0, |t| t.mask);
            let refused =
                bit(AddrType::Broadcast) | bit(AddrType::Blackhole) | !(bit(AddrType::Prohibit) - 1);
            if mask & refused != 0 {
                let names = Types { mask: mask & refused, inverted: false }.text();
                let why = format!("addrtype: IPv6 has no {names}");
                return Err(ArgError::kernel(Errno::Inval, why));
            }
        }
        Ok(Self { src, dst, limit })
    }

    fn save(&self, out: &mut String) {
        for (types, option) in [(self.src, "--src-type"), (self.dst, "--dst-type")] {
            if let Some(types) = types {
                let _ = write!(out, "{} {option} {}", bang(types.inverted), types.text());
            }
        }
        out.push_str(match self.limit {
            None => "",
            Some(Limit::In) => " --limit-iface-in",
            Some(Limit::Out) => " --limit-iface-out",
        });
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        out.push_str(" ADDRTYPE match");
        for (types, name) in [(self.src, "src-type"), (self.dst, "dst-type")] {
            if let Some(types) = types {
                let _ = write!(out, " {name} {}{}", if types.inverted { "!" } else { "" }, types.text());
            }
        }
        out.push_str(match self.limit {
            None => "",
            Some(Limit::In) => " limit-in",
            Some(Limit::Out) => " limit-out",
        });
    }

    fn check_hooks(&self, from: &[Hook]) -> Result<(), ArgError> {
        let refused: &[Hook] = match self.limit {
            None => &[],
            Some(Limit::In) => &[Hook::Output, Hook::Postrouting],
            Some(Limit::Out) => &[Hook::Prerouting, Hook::Input],
        };
        match from.iter().find(|h| refused.contains(h)) {
            None => Ok(()),
            Some(hook) => {
                let why = format!("addrtype: {} has no such device to limit to", hook.chain());
                Err(ArgError::kernel(Errno::Inval, why))
            }
        }
    }

    fn eval(&self, cx: &mut Cx<'_>, skb: &Skb, _: Option<&mut RuleState>, why: &mut Why) -> MatchResult {
        let ip = &skb.packet.ip;
        let pass = self.src.is_none_or(|t| self.check(cx, t, ip.src, "--src-type", why))
            && self.dst.is_none_or(|t| self.check(cx, t, ip.dst, "--dst-type", why));
        pass.into()
    }
}
