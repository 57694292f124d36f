//! What of the language of nftables a kernel's listing shows as exercised: the words of rules whose counter moved.

use std::collections::BTreeSet;

use super::{Area, Item};

/// Expressions, statements and kinds of sets, as they stand in a listed rule.
pub(super) const WORDS: &[&str] = &[
    "ip saddr",
    "ip daddr",
    "ip6 saddr",
    "ip6 daddr",
    "ip ttl",
    "ip6 hoplimit",
    "ip dscp",
    "ip6 dscp",
    "tcp dport",
    "tcp sport",
    "tcp flags",
    "tcp option",
    "udp dport",
    "th dport",
    "icmp type",
    "icmpv6 type",
    "meta l4proto",
    "meta length",
    "meta mark",
    "iifname",
    "oifname",
    "ct state",
    "ct mark",
    "ct direction",
    "ct status",
    "ct original",
    "ct reply",
    "fib",
    "jhash",
    "numgen",
    "@hosts",
    "@nets",
    "@pairs",
    "@ranges",
    "@counted",
    "@seen",
    "{",
    "vmap @ports",
    "vmap {",
    "map @marks",
    "limit rate",
    "quota",
    "limit name",
    "quota name",
    "counter name",
    "log prefix",
    "meta mark set",
    "ct mark set",
    "ct zone set",
    "ip ttl set",
    "ip6 hoplimit set",
    "ip dscp set",
    "ip6 dscp set",
    "tcp option maxseg size set",
    "notrack",
    "add @seen",
    "update @limited",
    "delete @seen",
    "accept",
    "drop",
    "return",
    "jump",
    "goto",
    "reject",
    "reject with tcp reset",
    "dnat",
    "snat",
    "masquerade",
    "masquerade to",
    "redirect",
];

pub(super) fn collect(listing: &str, found: &mut BTreeSet<Item>) {
    for line in listing.lines().map(str::trim) {
        let Some((before, behind)) = line.split_once("counter packets ") else { continue };
        // Elements of sets count as well.
        if behind.starts_with("0 ") || before.contains("elements") {
            continue;
        }
        let line = format!(" {line} ");
        let words = WORDS.iter().filter(|words| line.contains(&format!(" {words} ")));
        found.extend(words.map(|words| (Area::Nftables, (*words).to_owned())));
    }
}
