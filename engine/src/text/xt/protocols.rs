//! Protocol names of `-p` and `iptables-save` (`/etc/protocols` of Debian 12, then `xtables_chain_protos`).

/// Number and name, as iptables-save prints it; sorted by number.
const NAMES: &[(u8, &str)] = &[
    (1, "icmp"),
    (2, "igmp"),
    (3, "ggp"),
    (4, "ipencap"),
    (5, "st"),
    (6, "tcp"),
    (8, "egp"),
    (9, "igp"),
    (12, "pup"),
    (17, "udp"),
    (20, "hmp"),
    (22, "xns-idp"),
    (27, "rdp"),
    (29, "iso-tp4"),
    (33, "dccp"),
    (36, "xtp"),
    (37, "ddp"),
    (38, "idpr-cmtp"),
    (41, "ipv6"),
    (43, "ipv6-route"),
    (44, "ipv6-frag"),
    (45, "idrp"),
    (46, "rsvp"),
    (47, "gre"),
    (50, "esp"),
    (51, "ah"),
    (57, "skip"),
    (58, "ipv6-icmp"),
    (59, "ipv6-nonxt"),
    (60, "ipv6-opts"),
    (73, "rspf"),
    (81, "vmtp"),
    (88, "eigrp"),
    (89, "ospf"),
    (93, "ax.25"),
    (94, "ipip"),
    (97, "etherip"),
    (98, "encap"),
    (103, "pim"),
    (108, "ipcomp"),
    (112, "vrrp"),
    (115, "l2tp"),
    (124, "isis"),
    (132, "sctp"),
    (133, "fc"),
    (135, "mobility-header"),
    (136, "udplite"),
    (137, "mpls-in-ip"),
    (138, "manet"),
    (139, "hip"),
    (140, "shim6"),
    (141, "wesp"),
    (142, "rohc"),
    (143, "ethernet"),
];

/// Names that are read but not printed: the tool's own table and the aliases of `/etc/protocols` people use.
const ALIASES: &[(&str, u8)] =
    &[("icmpv6", 58), ("ipv6-mh", 135), ("mh", 135), ("all", 0), ("ip", 0), ("hopopt", 0)];

/// Number of a protocol as `-p` takes it (`xtables_parse_protocol`): a number, or a name in any case. Zero is
/// "all".
pub(super) fn parse(text: &str) -> Option<u8> {
    match text {
        "tcp" => return Some(6),
        "udp" => return Some(17),
        _ => {}
    }
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        return crate::netfilter::xt::parse_number(text, 255).map(|n| n as u8);
    }
    let by_name = NAMES.iter().find(|(_, name)| name.eq_ignore_ascii_case(text)).map(|&(number, _)| number);
    by_name.or_else(|| ALIASES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|&(_, n)| n))
}

/// The name that iptables-save prints, if it has one.
pub(super) fn name(number: u8) -> Option<&'static str> {
    NAMES.binary_search_by_key(&number, |&(n, _)| n).ok().map(|at| NAMES[at].1)
}
