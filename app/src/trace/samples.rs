//! Rulesets to try: written for the lab, as the real tools print them.

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
    pub(super) sysctls: &'static [&'static str],
}

/// A pod of the node calls a Service of the cluster.
const POD_CALLS: &str = "tcp 10.244.1.7:41822 > 10.96.18.40:80 in veth7";
const NODE_ADDRESSES: [&str; 2] = ["eth0=192.168.10.11/24", "veth7=10.244.1.1/32"];
const NODE_ROUTES: [&str; 5] = [
    "default=192.168.10.1@eth0",
    "10.244.2.0/24=192.168.10.12@eth0",
    "10.244.1.7/32=@veth7",
    "10.244.1.10/32=@veth10",
    "10.244.1.3/32=@veth3",
];

/// The samples, in the order they are offered.
pub(super) const SAMPLES: [Sample; 7] = [
    Sample {
        name: "kube-proxy node",
        question: "A pod calls a ClusterIP: which endpoint answers, and why?",
        family: FamilyChoice::V4,
        rules: include_str!("../../samples/kube-proxy.rules"),
        packet: POD_CALLS,
        addresses: &NODE_ADDRESSES,
        routes: &NODE_ROUTES,
        sysctls: &["net.ipv4.ip_forward=1"],
    },
    Sample {
        name: "Docker host",
        question: "A visitor opens a published port: what does the container see?",
        family: FamilyChoice::V4,
        rules: include_str!("../../samples/docker.rules"),
        packet: "tcp 198.51.100.24:50112 > 203.0.113.20:8080 in eth0",
        addresses: &["eth0=203.0.113.20/24", "docker0=172.17.0.1/16"],
        routes: &["default=203.0.113.1@eth0"],
        sysctls: &["net.ipv4.ip_forward=1"],
    },
    Sample {
        name: "plain server",
        question: "Someone tries the database port: dropped, or refused?",
        family: FamilyChoice::V4,
        rules: include_str!("../../samples/server.rules"),
        packet: "tcp 198.51.100.24:44210 > 203.0.113.20:5432 in eth0",
        addresses: &["eth0=203.0.113.20/24"],
        routes: &["default=203.0.113.1@eth0"],
        sysctls: &[],
    },
    Sample {
        name: "IPv6 firewall",
        question: "A host outside opens a connection into the LAN: does it get in?",
        family: FamilyChoice::V6,
        rules: include_str!("../../samples/firewall6.rules"),
        packet: "tcp [2001:db8:ffff::9]:39000 > [2001:db8:1:2::80]:22 in wan0",
        addresses: &["wan0=2001:db8:0:1::2/64", "lan0=2001:db8:1:2::1/64"],
        routes: &["default=2001:db8:0:1::1@wan0"],
        sysctls: &["net.ipv6.conf.all.forwarding=1"],
    },
    Sample {
        name: "kube-proxy, nftables",
        question: "The same call, with one map in place of a list: what is looked up?",
        family: FamilyChoice::Auto,
        rules: include_str!("../../samples/kube-proxy.nft"),
        packet: POD_CALLS,
        addresses: &NODE_ADDRESSES,
        routes: &NODE_ROUTES,
        sysctls: &["net.ipv4.ip_forward=1"],
    },
    Sample {
        name: "nft firewall",
        question: "Someone from the office opens SSH: which element lets it in?",
        family: FamilyChoice::Auto,
        rules: include_str!("../../samples/firewall.nft"),
        packet: "tcp 198.51.100.24:44210 > 203.0.113.20:22 in eth0",
        addresses: &["eth0=203.0.113.20/24", "lan0=10.0.0.1/24"],
        routes: &["default=203.0.113.1@eth0"],
        sysctls: &["net.ipv4.ip_forward=1"],
    },
    Sample {
        name: "kube-proxy, IPVS",
        question: "The same call once more: which server does the scheduler choose, and why?",
        family: FamilyChoice::V4,
        rules: include_str!("../../samples/kube-proxy.ipvs"),
        packet: POD_CALLS,
        addresses: &[
            "eth0=192.168.10.11/24",
            "veth7=10.244.1.1/32",
            "kube-ipvs0=10.96.0.10/32",
            "kube-ipvs0=10.96.18.40/32",
            "kube-ipvs0=10.96.77.5/32",
        ],
        routes: &NODE_ROUTES,
        sysctls: &["net.ipv4.ip_forward=1", "net.ipv4.vs.conntrack=1"],
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
                sysctls: owned(self.sysctls),
                ..NodeFacts::default()
            },
            rules: self.rules.to_owned(),
            ..SharedState::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use chainwalk_engine::base::Instant;
    use chainwalk_engine::text::nft;

    use super::SAMPLES;
    use crate::host::Session;
    use crate::protocol::{Follow, Request, Response};

    /// Loads and traces a sample as the page does; the outcome words of the packet, its reply and one more.
    fn outcomes(at: usize) -> Vec<&'static str> {
        let state = SAMPLES[at].state();
        let mut session = Session::default();
        let mut ask = |request, text: Option<String>| {
            let mut answers = Vec::new();
            session.handle(request, text, &mut |answer| answers.push(answer));
            answers.pop().expect("every request is answered")
        };
        match ask(Request::Load { family: state.family }, Some(state.rules)) {
            Response::Loaded(view) => {
                assert_eq!(view.problems, [], "{}", SAMPLES[at].name);
                assert_eq!(view.not_emulated, [], "{}", SAMPLES[at].name);
            }
            other => panic!("{}: {other:?}", SAMPLES[at].name),
        }
        let mut words = Vec::new();
        let requests = [
            Request::Trace { packet: state.packet, facts: state.facts },
            Request::Follow(Follow::Reply),
            Request::Follow(Follow::Again),
        ];
        for request in requests {
            match ask(request, None) {
                Response::Traced { trace, notes, .. } => {
                    assert_eq!(notes, []);
                    words.push(trace.verdict.outcome.word());
                }
                Response::Refused(_) => words.push("refused"),
                other => panic!("{}: {other:?}", SAMPLES[at].name),
            }
        }
        words
    }

    #[test]
    fn samples_of_nft_are_what_nft_lists() {
        for at in [4, 5] {
            let ruleset = nft::parse(SAMPLES[at].rules).unwrap_or_else(|refusal| panic!("{}", refusal.diag));
            let listed = nft::list_ruleset(&ruleset, Instant::ZERO, nft::ListOptions::default());
            assert_eq!(listed, SAMPLES[at].rules, "{}", SAMPLES[at].name);
        }
    }

    #[test]
    fn samples_answer_their_question() {
        assert_eq!(outcomes(0), ["forwarded", "forwarded", "forwarded"], "kube-proxy node");
        assert_eq!(outcomes(1), ["forwarded", "forwarded", "forwarded"], "Docker host");
        assert_eq!(outcomes(2), ["rejected", "refused", "rejected"], "plain server");
        assert_eq!(outcomes(3), ["rejected", "refused", "rejected"], "IPv6 firewall");
        assert_eq!(outcomes(4), ["forwarded", "forwarded", "forwarded"], "kube-proxy, nftables");
        assert_eq!(outcomes(5), ["delivered", "sent", "delivered"], "nft firewall");
        assert_eq!(outcomes(6), ["forwarded", "forwarded", "forwarded"], "kube-proxy, IPVS");
    }
}
