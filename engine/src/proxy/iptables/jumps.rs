//! The jumps from the built-in chains, which a full sync makes one by one before it restores the rest.
//!
//! Each is checked and, when missing, inserted at position 1; on an empty machine the result is the order below.

/// Table, chain, and the rule as it stands in the end.
pub(super) const JUMPS: [(&str, &str, &str); 14] = [
    ("filter", "INPUT", "-j KUBE-FIREWALL"),
    (
        "filter",
        "INPUT",
        "-m conntrack --ctstate NEW -m comment --comment \"kubernetes load balancer firewall\" -j KUBE-PROXY-FIREWALL",
    ),
    ("filter", "INPUT", "-m comment --comment \"kubernetes health check service ports\" -j KUBE-NODEPORTS"),
    (
        "filter",
        "INPUT",
        "-m conntrack --ctstate NEW -m comment --comment \"kubernetes externally-visible service portals\" -j \
         KUBE-EXTERNAL-SERVICES",
    ),
    (
        "filter",
        "FORWARD",
        "-m conntrack --ctstate NEW -m comment --comment \"kubernetes load balancer firewall\" -j KUBE-PROXY-FIREWALL",
    ),
    ("filter", "FORWARD", "-m comment --comment \"kubernetes forwarding rules\" -j KUBE-FORWARD"),
    (
        "filter",
        "FORWARD",
        "-m conntrack --ctstate NEW -m comment --comment \"kubernetes service portals\" -j KUBE-SERVICES",
    ),
    (
        "filter",
        "FORWARD",
        "-m conntrack --ctstate NEW -m comment --comment \"kubernetes externally-visible service portals\" -j \
         KUBE-EXTERNAL-SERVICES",
    ),
    ("filter", "OUTPUT", "-j KUBE-FIREWALL"),
    (
        "filter",
        "OUTPUT",
        "-m conntrack --ctstate NEW -m comment --comment \"kubernetes load balancer firewall\" -j KUBE-PROXY-FIREWALL",
    ),
    (
        "filter",
        "OUTPUT",
        "-m conntrack --ctstate NEW -m comment --comment \"kubernetes service portals\" -j KUBE-SERVICES",
    ),
    ("nat", "PREROUTING", "-m comment --comment \"kubernetes service portals\" -j KUBE-SERVICES"),
    ("nat", "OUTPUT", "-m comment --comment \"kubernetes service portals\" -j KUBE-SERVICES"),
    ("nat", "POSTROUTING", "-m comment --comment \"kubernetes postrouting rules\" -j KUBE-POSTROUTING"),
];

/// Table, chain and rule of each.
pub fn jumps() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    JUMPS.into_iter()
}

/// The jumps and the chains they lead to, as one restore input.
pub fn text() -> String {
    text_of(&JUMPS)
}

/// The same for the jumps of another mode.
pub(in crate::proxy) fn text_of(jumps: &[(&str, &str, &str)]) -> String {
    let mut out = String::new();
    for table in ["filter", "nat"] {
        let rules: Vec<_> = jumps.iter().filter(|(t, ..)| *t == table).collect();
        let mut chains: Vec<&str> = rules.iter().filter_map(|(_, _, rule)| rule.rsplit(' ').next()).collect();
        chains.sort_unstable();
        chains.dedup();
        out.push_str(&format!("*{table}\n"));
        for chain in chains {
            out.push_str(&format!(":{chain} - [0:0]\n"));
        }
        for (_, chain, rule) in rules {
            out.push_str(&format!("-A {chain} {rule}\n"));
        }
        out.push_str("COMMIT\n");
    }
    out
}
