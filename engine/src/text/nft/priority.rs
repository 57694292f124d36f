//! Priorities by name: `filter - 10`.

use crate::base::Hook;
use crate::netfilter::nft::{NftHook, TableFamily};

const INET: [(&str, i32); 6] =
    [("raw", -300), ("mangle", -150), ("dstnat", -100), ("filter", 0), ("security", 50), ("srcnat", 100)];
const BRIDGE: [(&str, i32); 4] = [("dstnat", -300), ("filter", -200), ("out", 100), ("srcnat", 300)];
const LINK: [(&str, i32); 1] = [("filter", 0)];

/// How far from a name a priority may be to be printed by it.
const REACH: u32 = 10;

const fn names(family: TableFamily) -> &'static [(&'static str, i32)] {
    match family {
        TableFamily::Ip | TableFamily::Ip6 | TableFamily::Inet => &INET,
        TableFamily::Bridge => &BRIDGE,
        TableFamily::Arp | TableFamily::Netdev => &LINK,
    }
}

/// Whether a name may stand at a hook (`std_prio_lookup`).
fn fits(name: &str, hook: NftHook) -> bool {
    match name {
        "dstnat" => hook == NftHook::Inet(Hook::Prerouting),
        "srcnat" => hook == NftHook::Inet(Hook::Postrouting),
        "out" => hook == NftHook::Inet(Hook::Output),
        _ => true,
    }
}

/// The number of a name at a hook.
pub(super) fn by_name(name: &str, family: TableFamily, hook: NftHook) -> Option<i32> {
    names(family).iter().find(|(n, _)| *n == name && fits(n, hook)).map(|(_, value)| *value)
}

/// As listings print it: a name, a name and a small difference, or a number.
pub(super) fn print(value: i32, family: TableFamily, hook: NftHook) -> String {
    for (name, at) in names(family) {
        let by = value.wrapping_sub(*at);
        if !fits(name, hook) || by.unsigned_abs() > REACH {
            continue;
        }
        return match by {
            0 => (*name).to_owned(),
            by if by > 0 => format!("{name} + {by}"),
            by => format!("{name} - {}", -by),
        };
    }
    value.to_string()
}
