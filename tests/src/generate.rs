//! Owns random cases: rulesets over everything that is emulated, and traffic that answers itself. A case is made
//! together with the kernel: the next packet may reply to what the node emitted. Seeded; the same seed gives the
//! same rules and the same choices (ports that the kernel draws may differ and travel as links).

mod fragments;
mod listener;
mod matches;
mod nft;
mod rare;
mod rng;
mod rules;
mod sctp;
mod targets;
mod traffic;

pub use matches::DRAWN_PORTS;
pub use rng::Rng;

use crate::case::{CaseFile, Run};
use crate::kernel::{Lab, Session};
use crate::replay::{Case, Interface, Node, Packet, Route, Setup, Text, address, sysctls};

/// The tool that loads the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flavour {
    Legacy,
    Nft,
    /// `nft` with the language's own text.
    Language,
}

/// IP version of a case: one ruleset, one kind of traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    V4,
    V6,
}

/// Everything about a case but its packets.
#[derive(Debug, Clone)]
pub struct Plan {
    pub family: Family,
    pub flavour: Flavour,
    pub node: Node,
    pub show: Vec<String>,
    index: u64,
    rng: Rng,
}

/// One case in this many is IPv6.
const V6_EVERY: u64 = 5;
/// Packets of a case.
const PACKETS: std::ops::RangeInclusive<u64> = 8..=24;

impl Plan {
    /// The plan of case `index` of a run.
    pub fn new(seed: u64, index: u64, flavour: Flavour) -> Plan {
        // Mixed, so that neighbours are no shifted copies of each other: the generator itself counts.
        let mut rng = Rng::new(Rng::new(seed).bits() ^ Rng::new(!index).bits());
        let family = if rng.below(V6_EVERY) == 0 { Family::V6 } else { Family::V4 };
        let mut node = node(family);
        let listing = if flavour == Flavour::Language {
            node.setup.push(Setup { run: "nft -f -".into(), stdin: nft::ruleset(family, &mut rng) });
            "nft list ruleset".to_string()
        } else {
            let mut ruleset = rules::Ruleset::new(family, index);
            let mut text = ruleset.write(&mut rng);
            if rare::is_due(index) {
                text = rare::with_rules(&text);
            }
            if !ruleset.sets.is_empty() {
                node.setup.push(Setup { run: "ipset restore".into(), stdin: ruleset.sets.clone() });
            }
            for name in &ruleset.accounting {
                node.setup.push(Setup { run: format!("nfacct add {name}"), stdin: String::new() });
            }
            let tool = tool(family, flavour);
            node.setup.push(Setup { run: format!("{tool}-restore"), stdin: text });
            format!("{tool}-save -c")
        };
        for (name, one_in) in [("tcp_be_liberal", 12), ("tcp_ignore_invalid_rst", 16), ("acct", 10)] {
            if rng.below(one_in) == 0 {
                node.sysctls.insert(format!("net.netfilter.nf_conntrack_{name}"), Text::Word("1".into()));
            }
        }
        if rng.below(12) == 0 {
            node.sysctls.insert("net.netfilter.nf_conntrack_tcp_loose".into(), Text::Word("0".into()));
        }
        let list = if family == Family::V4 { "conntrack -L" } else { "conntrack -L -f ipv6" };
        Plan { family, flavour, node, show: vec![listing, list.into()], index, rng }
    }

    /// Sends traffic through a lab that fits the node; returns the case and the kernel's answers.
    pub fn perform(mut self, lab: &mut Lab) -> Result<(CaseFile, Run), String> {
        let mut traffic = traffic::Traffic::new(self.family, self.index);
        let mut session = Session::start(lab, &self.node.setup)?;
        let mut packets = Vec::new();
        let mut links = Vec::new();
        let count = PACKETS.start() + self.rng.below(PACKETS.end() - PACKETS.start() + 1);
        for index in 0..count as usize {
            let (packet, mut wanted) = traffic.next(&mut self.rng, index);
            let mut complete = packet.clone();
            for link in &wanted {
                link.apply(&mut complete, session.answers());
            }
            let answer = session.send(&complete)?;
            traffic.learn(&packet, answer, index);
            packets.push(packet);
            links.append(&mut wanted);
        }
        if rare::is_due(self.index) && self.flavour != Flavour::Language {
            let at_ms = packets.last().map_or(0, |packet: &Packet| packet.at_ms);
            for packet in rare::packets(self.family, at_ms) {
                session.send(&packet)?;
                packets.push(packet);
            }
        }
        let run = session.finish(&self.show)?;
        let case = Case {
            format: "chainwalk.replay/1".into(),
            seed: 1,
            node: self.node,
            packets,
            draws: Vec::new(),
            show: self.show,
        };
        let file = CaseFile { purpose: "found by the generator".into(), case, links, recorded: None };
        Ok((file, run))
    }
}

/// `iptables-legacy` and its siblings.
fn tool(family: Family, flavour: Flavour) -> &'static str {
    match (family, flavour) {
        (Family::V4, Flavour::Legacy) => "iptables-legacy",
        (Family::V4, Flavour::Nft | Flavour::Language) => "iptables-nft",
        (Family::V6, Flavour::Legacy) => "ip6tables-legacy",
        (Family::V6, Flavour::Nft | Flavour::Language) => "ip6tables-nft",
    }
}

/// A router with three sides.
fn node(family: Family) -> Node {
    let four = family == Family::V4;
    let interface = |name: &str, index: u8| Interface {
        name: name.into(),
        // Without one, an IPv6 device has no link-local address, as in the lab.
        mac: four.then(|| format!("02:00:00:00:0{index}:01")),
        addresses: vec![if four { format!("10.{index}.0.1/24") } else { format!("fd00:{index}::1/64") }],
        ..Interface::default()
    };
    let mut node = Node {
        interfaces: vec![interface("c0", 1), interface("s0", 2), interface("w0", 3)],
        listen: vec!["udp/53".into(), format!("tcp/{}", listener::PORT)],
        ..Node::default()
    };
    let (default, via) = if four { ("0.0.0.0/0", "10.3.0.2") } else { ("::/0", "fd00:3::2") };
    node.routes.push(Route {
        to: default.into(),
        via: Some(address(via)),
        dev: Some("w0".into()),
        ..Route::default()
    });
    let settings: &[(&str, &str)] = if four {
        &[
            ("net.ipv4.ip_forward", "1"),
            ("net.ipv4.icmp_ratelimit", "0"),
            ("net.ipv4.conf.all.send_redirects", "0"),
            ("net.ipv4.conf.c0.send_redirects", "0"),
            ("net.ipv4.conf.s0.send_redirects", "0"),
            ("net.ipv4.conf.w0.send_redirects", "0"),
        ]
    } else {
        &[("net.ipv6.conf.all.forwarding", "1"), ("net.ipv6.icmp.ratelimit", "0")]
    };
    node.sysctls.extend(sysctls(settings));
    node
}
