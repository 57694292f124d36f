//! Owns the hand-written cases: tables of rulesets and packet scripts, one file an area. `conformance write`
//! stores them under `tests/cases/`; the answers beside them come from a kernel (`conformance record`).

mod eval;
mod facts;
mod icmp;
mod matches;
mod nat;
mod nft;
mod reject;
mod route;
mod targets;
mod tcp_states;
mod tcp_window;
mod transcripts;
mod udp;

use crate::case::CaseFile;
use crate::replay::{Case, Interface, Node, Route, Setup, Text, address, sysctls};
use crate::script;

/// A case with the place where it is stored.
#[derive(Debug, Clone)]
pub struct Named {
    /// `area/name`, without `.json`.
    pub path: String,
    pub file: CaseFile,
}

/// Every hand-written case.
pub fn all() -> Vec<Named> {
    let areas = [
        tcp_states::cases,
        tcp_window::cases,
        udp::cases,
        icmp::cases,
        nat::cases,
        reject::cases,
        route::cases,
        eval::cases,
        facts::cases,
        matches::cases,
        targets::cases,
        transcripts::cases,
        nft::cases,
    ];
    areas.iter().flat_map(|cases| cases()).collect()
}

/// Builds one case step by step.
#[derive(Debug, Clone)]
pub(crate) struct Builder {
    path: String,
    file: CaseFile,
}

/// A case on the usual router: clients behind `c0`, servers behind `s0`, the default route leads to a server.
pub(crate) fn case(path: &str, purpose: &str) -> Builder {
    let interface = |name: &str, mac: &str, addresses: [&str; 2]| Interface {
        name: name.into(),
        mac: Some(mac.into()),
        addresses: addresses.map(String::from).to_vec(),
        ..Interface::default()
    };
    let node = Node {
        interfaces: vec![
            interface("c0", "02:00:00:00:01:01", ["10.1.0.1/24", "fd00:1::1/64"]),
            interface("s0", "02:00:00:00:02:01", ["10.2.0.1/24", "fd00:2::1/64"]),
        ],
        routes: vec![Route {
            to: "0.0.0.0/0".into(),
            via: Some(address("10.2.0.2")),
            dev: Some("s0".into()),
            ..Route::default()
        }],
        sysctls: sysctls(&[("net.ipv4.ip_forward", "1"), ("net.ipv6.conf.all.forwarding", "1")]),
        ..Node::default()
    };
    let case = Case {
        format: "chainwalk.replay/1".into(),
        seed: 1,
        node,
        packets: Vec::new(),
        draws: Vec::new(),
        show: Vec::new(),
    };
    Builder {
        path: path.into(),
        file: CaseFile { purpose: purpose.into(), case, links: Vec::new(), recorded: None },
    }
}

impl Named {
    /// One more command whose output is compared.
    pub(crate) fn also_show(mut self, command: &str) -> Named {
        self.file.case.show.push(command.into());
        self
    }
}

impl Builder {
    /// Rules in the words of `iptables-restore`, without `COMMIT`; loaded with the legacy tool, IPv4.
    pub(crate) fn rules(self, rules: &str) -> Self {
        self.restore("iptables-legacy", rules)
    }

    /// The same for IPv6.
    pub(crate) fn rules6(self, rules: &str) -> Self {
        self.restore("ip6tables-legacy", rules)
    }

    /// The same with another flavour of the tool.
    pub(crate) fn restore(mut self, tool: &str, rules: &str) -> Self {
        let mut stdin = String::new();
        for line in rules.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if line.starts_with('*') && !stdin.is_empty() {
                stdin += "COMMIT\n";
            }
            stdin += line;
            stdin.push('\n');
        }
        stdin += "COMMIT\n";
        self.file.case.node.setup.push(Setup { run: format!("{tool}-restore"), stdin });
        self.show(&format!("{tool}-save -c"))
    }

    /// Another set-up command.
    pub(crate) fn run(mut self, command: &str, stdin: &str) -> Self {
        self.file.case.node.setup.push(Setup { run: command.into(), stdin: stdin.into() });
        self
    }

    /// A command whose output is compared.
    pub(crate) fn show(mut self, command: &str) -> Self {
        let show = &mut self.file.case.show;
        if !show.iter().any(|known| known == command) {
            show.push(command.into());
        }
        self
    }

    pub(crate) fn sysctl(mut self, name: &str, value: &str) -> Self {
        self.file.case.node.sysctls.insert(name.into(), Text::Word(value.into()));
        self
    }

    pub(crate) fn listen(mut self, sockets: &[&str]) -> Self {
        self.file.case.node.listen.extend(sockets.iter().map(|socket| socket.to_string()));
        self
    }

    pub(crate) fn interface(mut self, name: &str, kind: Option<&str>, addresses: &[&str]) -> Self {
        let index = self.file.case.node.interfaces.len() + 1;
        self.file.case.node.interfaces.push(Interface {
            name: name.into(),
            mac: Some(format!("02:00:00:00:{index:02}:01")),
            addresses: addresses.iter().map(|address| address.to_string()).collect(),
            kind: kind.map(String::from),
            ..Interface::default()
        });
        self
    }

    pub(crate) fn route(mut self, to: &str, via: Option<&str>, dev: Option<&str>) -> Self {
        self.file.case.node.routes.push(Route {
            to: to.into(),
            via: via.map(address),
            dev: dev.map(String::from),
            ..Route::default()
        });
        self
    }

    /// Only the routes of the devices' own subnets.
    pub(crate) fn without_routes(mut self) -> Self {
        self.file.case.node.routes.clear();
        self
    }

    /// The packets; ends the case. IPv6 packets add the IPv6 conntrack list.
    pub(crate) fn packets(mut self, text: &str) -> Named {
        let (packets, links) = script::packets(text);
        let six = packets.iter().any(|packet| packet.src.is_some_and(|src| src.is_ipv6()));
        let four = packets.iter().any(|packet| !packet.src.is_some_and(|src| src.is_ipv6()));
        self.file.case.packets = packets;
        self.file.links = links;
        let mut done = self;
        let node = &mut done.file.case.node;
        if !six {
            node.sysctls.retain(|name, _| !name.starts_with("net.ipv6"));
            for interface in &mut node.interfaces {
                interface.addresses.retain(|address| !address.contains(':'));
            }
        }
        if four {
            done = done.show("conntrack -L");
        }
        if six {
            done = done.show("conntrack -L -f ipv6");
        }
        Named { path: done.path, file: done.file }
    }
}
