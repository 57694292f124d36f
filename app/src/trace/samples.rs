//! Rulesets to try: written for the lab, loaded by the real iptables-restore in the tests.

use crate::protocol::{FamilyChoice, NodeFacts, SharedState};

/// A ruleset, a packet worth asking about, and the node around them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sample {
    pub(super) name: &'static str,
    /// What the packet asks, in a few words.
    pub(super) question: &'static str,
    pub(super) family: FamilyChoice,
    pub(super) rules: &'static str,
    pub(super) packet: &'static str,
    pub(super) addresses: &'static [&'static str],
    pub(super) routes: &'static [&'static str],
}

/// The samples, in the order they are offered.
pub(super) const SAMPLES: [Sample; 4] = [
    Sample {
        name: "kube-proxy node",
        question: "A pod calls a ClusterIP: which endpoint answers, and why?",
        family: FamilyChoice::V4,
        rules: include_str!("../../samples/kube-proxy.rules"),
        packet: "tcp 10.244.1.7:41822 > 10.96.18.40:80 in veth7",
        addresses: &["eth0=192.168.10.11/24", "veth7=10.244.1.1/32"],
        routes: &[
            "default=192.168.10.1@eth0",
            "10.244.2.0/24=192.168.10.12@eth0",
            "10.244.1.7/32=@veth7",
            "10.244.1.10/32=@veth10",
            "10.244.1.3/32=@veth3",
        ],
    },
    Sample {
        name: "Docker host",
        question: "A visitor opens a published port: what does the container see?",
        family: FamilyChoice::V4,
        rules: include_str!("../../samples/docker.rules"),
        packet: "tcp 198.51.100.24:50112 > 203.0.113.20:8080 in eth0",
        addresses: &["eth0=203.0.113.20/24", "docker0=172.17.0.1/16"],
        routes: &["default=203.0.113.1@eth0"],
    },
    Sample {
        name: "plain server",
        question: "Someone tries the database port: dropped, or refused?",
        family: FamilyChoice::V4,
        rules: include_str!("../../samples/server.rules"),
        packet: "tcp 198.51.100.24:44210 > 203.0.113.20:5432 in eth0",
        addresses: &["eth0=203.0.113.20/24"],
        routes: &["default=203.0.113.1@eth0"],
    },
    Sample {
        name: "IPv6 firewall",
        question: "A host outside opens a connection into the LAN: does it get in?",
        family: FamilyChoice::V6,
        rules: include_str!("../../samples/firewall6.rules"),
        packet: "tcp [2001:db8:ffff::9]:39000 > [2001:db8:1:2::80]:22 in wan0",
        addresses: &["wan0=2001:db8:0:1::2/64", "lan0=2001:db8:1:2::1/64"],
        routes: &["default=2001:db8:0:1::1@wan0"],
    },
];

impl Sample {
    /// The page as the sample fills it.
    pub(super) fn state(&self) -> SharedState {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        SharedState {
            packet: self.packet.to_owned(),
            family: self.family,
            facts: NodeFacts {
                addresses: owned(self.addresses),
                routes: owned(self.routes),
                ..NodeFacts::default()
            },
            rules: self.rules.to_owned(),
            ..SharedState::default()
        }
    }
}
