//! `FIDELITY.md`: what is exact, what is simplified, what is not emulated, and how many kernel cases stand behind
//! it. Rows of matches and targets come from the registries; the rest from [`SUBJECTS`].

use std::collections::BTreeMap;
use std::fmt::Write as _;

use chainwalk_engine::conntrack::Config;
use chainwalk_engine::netfilter::Target;
use chainwalk_engine::netfilter::ledger::{Kind, Row, Standing, rows};
use chainwalk_engine::netfilter::set::Kind as SetKind;
use chainwalk_engine::packet::Family;
use chainwalk_engine::text::xt::{ParseOptions, parse};

use crate::case::{self, Case};

/// A part of the emulator that no registry lists.
struct Subject {
    area: &'static str,
    what: &'static str,
    standing: Standing,
    /// Folder of `tests/cases` whose cases exercise it; empty when another test does.
    cases: &'static str,
}

const fn exact(area: &'static str, what: &'static str, cases: &'static str) -> Subject {
    Subject { area, what, standing: Standing::Exact, cases }
}

const fn simplified(
    area: &'static str,
    what: &'static str,
    how: &'static str,
    cases: &'static str,
) -> Subject {
    Subject { area, what, standing: Standing::Simplified(how), cases }
}

const fn absent(area: &'static str, what: &'static str, why: &'static str) -> Subject {
    Subject { area, what, standing: Standing::NotEmulated(why), cases: "" }
}

const SUBJECTS: &[Subject] = &[
    exact(
        "packet path",
        "routing, forwarding, TTL, local delivery, loopback, re-route after OUTPUT",
        "route",
    ),
    exact("packet path", "order of hooks, tables, chains; goto, return, policies, counters", "eval"),
    exact("packet path", "errors the node sends: REJECT of every kind, TTL exceeded, unreachable", "reject"),
    simplified("packet path", "neighbours", "always resolved: no ARP or neighbour discovery on the wire", ""),
    simplified(
        "packet path",
        "TCP sockets of the node",
        "a listener answers a SYN and acknowledges data at once; it never sends, closes or sends again, and no ICMP \
         error ends its handshakes",
        "",
    ),
    absent("packet path", "several routing tables and rules (`ip rule`)", "marks do not choose a table"),
    absent("packet path", "traffic control, XDP, ingress hooks", "frames meet no qdisc and no program"),
    absent("packet path", "IPsec", "no policies and no transformations"),
    exact("conntrack", "TCP: states, window, RST rules, timeouts", "tcp-"),
    exact("conntrack", "UDP, UDP-Lite: stream timing, ASSURED", "udp"),
    exact("conntrack", "ICMP and ICMPv6: queries, related errors", "icmp"),
    simplified(
        "conntrack",
        "SCTP: chunks, tags, heartbeats",
        "the table of 6.18 for every kernel version; every chunk in every state was asked of 6.18, both ways",
        "",
    ),
    simplified(
        "conntrack",
        "full table: limit, early drop",
        "the buckets are those of the engine's own hash. No recorded case, because the limit is the machine's; set to \
         400 by hand on Linux 6.18 with 400 entries, every packet of a new connection counted one `drop` when all \
         were ASSURED, else one `early_drop` while the eight buckets held a victim, and never `insert_failed`, \
         as here",
        "",
    ),
    simplified(
        "conntrack",
        "clash resolution",
        "two packets of one flow have to be on their way at once, which only tests of the engine can arrange",
        "",
    ),
    exact("conntrack", "other protocols: the generic tracker", "udp"),
    absent("conntrack", "helpers (FTP, SIP, ...) and expectations", "payloads are not read"),
    absent("conntrack", "flow offload", "every packet takes the slow path"),
    exact("NAT", "choice of address and port, null binding, replies, quoted packets", "nat"),
    exact("sets", "the types below, with timeouts, counters, comments, nomatch", "set"),
    exact(
        "nftables",
        "base chains beside iptables, verdicts, jumps, sets, maps, dynamic elements, NAT, reject, notrack",
        "nft",
    ),
    exact(
        "nftables",
        "meta, ct, payload, exthdr, fib, rt, numgen inc, jhash; limit, quota, ct count; set statements",
        "nft",
    ),
    simplified(
        "nftables",
        "numgen random, symhash, jhash without a seed",
        "draws and keys of the scenario's seed",
        "",
    ),
    simplified("nftables", "meta cpu", "one processor, the first", ""),
    simplified("nftables", "log", "a note in the trace", "nft"),
    simplified("nftables", "queue", "nobody listens: bypassed or dropped", ""),
    simplified("nftables", "ct helper, ct event", "helpers are absent, so nothing is expected", "nft"),
    absent("nftables", "families arp, bridge, netdev; ingress and egress; flowtables", "kept and printed"),
    absent(
        "nftables",
        "socket, osf, ipsec, xfrm, synproxy, tproxy, dup, fwd",
        "the verdict says what it depends on",
    ),
    absent(
        "nftables",
        "meta cgroup, iifkind, oifkind; ct id; ct zone of one direction",
        "nothing to read it from",
    ),
    absent(
        "nftables",
        "secmark, ct timeout and ct expectation objects",
        "the verdict says what it depends on",
    ),
    simplified(
        "nftables",
        "`nft monitor trace`, as if it had listened from the beginning",
        "counters in rules stand as they did at the first event",
        "",
    ),
    absent("nftables", "`nft monitor` of anything else", "only packets change the node behind its set-up"),
    absent("data planes", "eBPF", "no programs and no maps"),
    exact(
        "kube-proxy",
        "text of the iptables, nftables (1.34 to 1.36) and IPVS modes, endpoint categories, metrics",
        "",
    ),
    absent("kube-proxy", "releases before 1.34 and from 1.37, Windows", "refused by name"),
];

/// The file.
pub fn page() -> Result<String, String> {
    let evidence = Evidence::collect()?;
    let mut out = String::from(
        "# Fidelity\n\nThe Linux kernel is the judge. *exact*: the same decision and the same text as Linux 6.18 with \
         iptables 1.8.9, on everything it can look at. *simplified*: differs as described. *not emulated*: kept \
         verbatim, printed back, and named wherever a packet's fate depends on it.\n\nThe last column counts the \
         recorded kernel cases in `tests/cases` that use it; random conformance runs come on top, and \
         `cargo xtask conformance` prints what they exercised. This file is written by a test: `CHAINWALK_UPDATE=1 cargo test -p chainwalk-tests --test fidelity`.\n",
    );
    for (kind, title) in [(Kind::Match, "Matches"), (Kind::Target, "Targets")] {
        let _ = writeln!(
            out,
            "\n## {title}\n\n| name | families | standing | mirrors | cases |\n|---|---|---|---|---|"
        );
        for row in rows().iter().filter(|row| row.kind == kind && row.option.is_none()) {
            let cases = evidence.count(kind, row.name);
            let _ = writeln!(
                out,
                "| `{}` | {} | {} | {} | {cases} |",
                row.name,
                families(row),
                standing(row.standing),
                if row.kernel.is_empty() { String::new() } else { format!("`{}`", row.kernel) }
            );
        }
    }
    out.push_str("\n### Options that are not emulated\n\n| of | option | why |\n|---|---|---|\n");
    for row in rows() {
        if let (Some(option), Standing::NotEmulated(why)) = (row.option, row.standing) {
            let _ = writeln!(out, "| `{}` | `{option}` | {why} |", row.name);
        }
    }
    out.push_str("\n## Everything else\n\n| area | what | standing | cases |\n|---|---|---|---|\n");
    for subject in SUBJECTS {
        let cases = match subject.cases {
            "" => String::new(),
            folder => evidence.folder(folder).to_string(),
        };
        let (what, standing) = (subject.what, standing(subject.standing));
        let _ = writeln!(out, "| {} | {what} | {standing} | {cases} |", subject.area);
    }
    let sets: Vec<_> = SetKind::ALL.iter().map(|kind| format!("`{}`", kind.name())).collect();
    let _ = writeln!(out, "\nSet types: {}.", sets.join(", "));
    let timers: Vec<_> = Config::default().iter().map(|(name, value)| format!("`{name}` {value}")).collect();
    let _ = writeln!(out, "\nConntrack sysctls and their defaults: {}.", timers.join(", "));
    out.push_str(&ipvs(&evidence));
    Ok(out)
}

/// Schedulers and the other parts of IPVS, which another kernel judges.
fn ipvs(evidence: &Evidence) -> String {
    use chainwalk_engine::ipvs::ledger::{Standing as Judged, rows};
    let mut out = format!(
        "\n## IPVS\n\nLinux 6.18 as we have it knows no IPVS. The judge is Linux 6.12.117 of Debian with ipvsadm 1.31, asked in a \
         virtual machine: {} cases in `tests/cases/ipvs`, 1,000 choices of 25 services in `engine/src/ipvs/sched/tests`, and the \
         commands in `engine/src/text/ipvs/tests`.\n\n| what | standing |\n|---|---|\n",
        evidence.folder("ipvs")
    );
    for row in rows() {
        let standing = match row.standing {
            Judged::Asked => "exact".to_owned(),
            Judged::HandDerived => {
                "exact as far as sequences derived by hand tell: no kernel was asked".to_owned()
            }
            Judged::Simplified(how) => format!("simplified: {how}"),
            Judged::NotEmulated(why) => format!("not emulated: {why}"),
        };
        let _ = writeln!(out, "| {} | {standing} |", row.what);
    }
    out
}

fn families(row: &Row) -> &'static str {
    match row.families {
        [Family::V4] => "IPv4",
        [Family::V6] => "IPv6",
        [] => "",
        _ => "both",
    }
}

fn standing(standing: Standing) -> String {
    match standing {
        Standing::Exact => "exact".to_owned(),
        Standing::Simplified(how) => format!("simplified: {how}"),
        Standing::NotEmulated(why) => format!("not emulated: {why}"),
    }
}

/// Recorded cases by what their rules use, and by folder.
struct Evidence {
    uses: BTreeMap<(Kind, String), usize>,
    folders: BTreeMap<String, usize>,
}

impl Evidence {
    fn collect() -> Result<Self, String> {
        let folder = case::folder();
        let mut evidence = Self { uses: BTreeMap::new(), folders: BTreeMap::new() };
        for path in case::list(&folder).map_err(|error| error.to_string())? {
            let file = case::load(&path)?;
            if file.recorded.is_none() {
                continue;
            }
            let place = path.strip_prefix(&folder).map_err(|error| error.to_string())?;
            let area = place.iter().next().map(|part| part.to_string_lossy().into_owned());
            *evidence.folders.entry(area.unwrap_or_default()).or_default() += 1;
            let mut uses = used(&file.case);
            uses.sort();
            uses.dedup();
            for used in uses {
                *evidence.uses.entry(used).or_default() += 1;
            }
        }
        Ok(evidence)
    }

    fn count(&self, kind: Kind, name: &str) -> usize {
        self.uses.get(&(kind, name.to_owned())).copied().unwrap_or_default()
    }

    /// Cases below the folders whose names begin so.
    fn folder(&self, prefix: &str) -> usize {
        self.folders.iter().filter(|(name, _)| name.starts_with(prefix)).map(|(_, count)| count).sum()
    }
}

/// Matches and targets in the rulesets of a case, those implied by `-p` included.
fn used(case: &Case) -> Vec<(Kind, String)> {
    let mut found = Vec::new();
    for setup in &case.node.setup {
        let Some(text) = Some(&setup.stdin).filter(|text| text.contains("COMMIT")) else { continue };
        let family = if setup.run.starts_with("ip6") { Family::V6 } else { Family::V4 };
        let (ruleset, _) = parse(text, &ParseOptions { family: Some(family), ..Default::default() });
        for rule in ruleset.tables.iter().flat_map(|t| &t.chains).flat_map(|c| &c.rules) {
            found.extend(rule.matches.iter().map(|bound| (Kind::Match, bound.m.name().to_owned())));
            if let Target::Ext(target) = &rule.target {
                found.push((Kind::Target, target.name().to_owned()));
            }
        }
    }
    found
}
