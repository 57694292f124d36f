//! The engine's rows of the budget table. A row prepares its work once and then does it again and again; whoever
//! runs it holds the clock.

use std::any::Any;
use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};

use chainwalk_engine::base::KernelVersion;
use chainwalk_engine::netns::{Address, DeviceKind, Netns};
use chainwalk_engine::packet::{DevId, Family, Ip, L4, Packet, Skb, Tcp, TcpFlags, proto};
use chainwalk_engine::text::xt::{ParseOptions, parse};
use chainwalk_engine::trace::Level;

use crate::dump::Dump;

mod connections;

pub use connections::million;

/// One budget of the design's section 7.
pub struct Row {
    /// Unique, in words.
    pub what: &'static str,
    /// Native limit for one operation; WebAssembly has twice as long. None: a figure without a budget.
    pub limit_ns: Option<u64>,
    /// Operations in one run of the work.
    pub operations: u32,
    /// How many runs to take the median of.
    pub samples: usize,
    /// Sets the work up.
    pub prepare: fn() -> Work,
}

/// Something to time. What it hands back is dropped off the clock.
pub type Work = Box<dyn FnMut() -> Box<dyn Any>>;

impl Row {
    /// Nanoseconds an operation takes: the median of the samples. `clock` gives nanoseconds.
    pub fn measure(&self, clock: impl Fn() -> u64) -> u64 {
        let mut work = (self.prepare)();
        // Once unmeasured: page faults and table growth belong to nobody's budget. A single sample starts from
        // nothing by design.
        if self.samples > 1 {
            drop(work());
        }
        let mut times: Vec<u64> = (0..self.samples.max(1))
            .map(|_| {
                let start = clock();
                let value = work();
                let took = clock() - start;
                drop(value);
                took
            })
            .collect();
        times.sort_unstable();
        times[times.len() / 2] / u64::from(self.operations)
    }
}

impl std::fmt::Debug for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Row").field("what", &self.what).finish_non_exhaustive()
    }
}

/// Operations between two looks at the clock, for work of less than a microsecond.
const BATCH: u32 = 2_000;

/// Every row, in the order of the design.
pub fn rows() -> Vec<Row> {
    vec![
        Row {
            what: "parse and index a kube-proxy dump of 210,000 rules",
            limit_ns: Some(400_000_000),
            operations: 1,
            samples: 5,
            prepare: || parse_dump(Dump::BUDGET),
        },
        Row {
            what: "parse and index 5,000 Services x 20 endpoints (310,000 rules)",
            limit_ns: None,
            operations: 1,
            samples: 3,
            prepare: || parse_dump(Dump::FULL),
        },
        Row {
            what: "first packet through 20,000 KUBE-SERVICES rules, no trace",
            limit_ns: Some(2_000),
            operations: BATCH,
            samples: 15,
            prepare: first_packets,
        },
        Row {
            what: "the same, every rule explained (full trace)",
            limit_ns: Some(100_000_000),
            operations: 1,
            samples: 7,
            prepare: explained_packet,
        },
        Row {
            what: "packet of an established connection",
            limit_ns: Some(300),
            operations: BATCH,
            samples: 15,
            prepare: established_packets,
        },
        Row {
            what: "100,000 connections through a three-way chain",
            limit_ns: Some(500_000_000),
            operations: 1,
            samples: 3,
            prepare: three_way_chain,
        },
        Row {
            what: "conntrack: a new connection, from none to a million",
            limit_ns: None,
            operations: connections::MILLION,
            samples: 1,
            prepare: connections::insert,
        },
        Row {
            what: "conntrack: a packet of one among a million connections",
            limit_ns: None,
            operations: BATCH,
            samples: 15,
            prepare: connections::look_up,
        },
    ]
    .into_iter()
    .chain(crate::proxy_rows::rows())
    .collect()
}

fn parse_dump(dump: Dump) -> Work {
    let text = dump.text();
    Box::new(move || {
        let options = ParseOptions { family: Some(Family::V4), ..Default::default() };
        let (mut ruleset, diags) = parse(&text, &options);
        assert!(diags.is_empty(), "the dump is canonical: {:?}", diags.first());
        assert_eq!(ruleset.rule_count() as u32, dump.rules());
        let states = ruleset.seal(1);
        Box::new((ruleset, states))
    })
}

/// A node between two networks, with the dump's rules loaded.
struct Node {
    netns: Netns,
    clients: DevId,
    pods: DevId,
}

impl Node {
    fn new(dump: Dump) -> Self {
        let mut netns = Netns::new(KernelVersion::default(), 1);
        let clients = netns.inet.add_device("c0", DeviceKind::Wire);
        let pods = netns.inet.add_device("p0", DeviceKind::Wire);
        // Clients are pods, too: their connections are not masqueraded.
        netns.inet.add_address(clients, Address::new([10, 200, 0, 1].into(), 16));
        netns.inet.add_address(pods, Address::new([10, 128, 0, 1].into(), 9));
        netns.set_sysctl("net.ipv4.ip_forward", "1").expect("a known name");
        let options = ParseOptions { family: Some(Family::V4), ..Default::default() };
        let (mut ruleset, _) = parse(&dump.text(), &options);
        let states = ruleset.seal(1);
        for (table, state) in ruleset.tables.into_iter().zip(states) {
            netns.load(table, state);
        }
        Self { netns, clients, pods }
    }

    fn receive(&mut self, packet: Packet, dev: DevId, level: Level) {
        let ran = self.netns.run_received(Skb::new(packet), dev, level);
        assert_eq!(ran.emitted.len(), 1, "{:?}", ran.end);
        black_box(ran);
    }
}

/// A client address and port that no earlier connection used.
fn client(number: u32) -> (IpAddr, u16) {
    let host = Ipv4Addr::from_bits(u32::from_be_bytes([10, 200, 0, 2]) + number / 50_000);
    (host.into(), 1_024 + (number % 50_000) as u16)
}

fn ip(src: IpAddr, dst: IpAddr, proto: u8) -> Ip {
    Ip {
        src,
        dst,
        proto,
        ttl: 64,
        tos: 0,
        id: 0,
        dont_fragment: true,
        more_fragments: false,
        frag_offset: 0,
        flow_label: 0,
        options: Vec::new(),
    }
}

fn tcp(src: (IpAddr, u16), dst: (IpAddr, u16), flags: TcpFlags, seq: u32, ack: u32) -> Packet {
    let l4 = L4::Tcp(Tcp {
        sport: src.1,
        dport: dst.1,
        seq,
        ack,
        flags,
        window: 64_240,
        urgent: 0,
        options: Vec::new(),
        payload: Vec::new(),
        checksum_ok: true,
    });
    Packet { ip: ip(src.0, dst.0, proto::TCP), l4 }
}

/// One endpoint, so that nothing but the long chain is walked.
const LONG_CHAIN: Dump = Dump { services: 20_000, endpoints: 1 };

fn syn_to_last_service(number: u32) -> Packet {
    let last = Dump::cluster_ip(LONG_CHAIN.services - 1);
    tcp(client(number), (last.into(), 80), TcpFlags::SYN, 1_000, 0)
}

fn first_packets() -> Work {
    let mut node = Node::new(LONG_CHAIN);
    let mut number = 0;
    Box::new(move || {
        for _ in 0..BATCH {
            node.receive(syn_to_last_service(number), node.clients, Level::Off);
            number += 1;
        }
        // For every run to measure the same: a table of connections that grew would cost more each time.
        node.netns.ct.flush(node.netns.now);
        Box::new(())
    })
}

fn explained_packet() -> Work {
    let mut node = Node::new(LONG_CHAIN);
    let mut number = 0;
    Box::new(move || {
        node.receive(syn_to_last_service(number), node.clients, Level::Full);
        number += 1;
        Box::new(())
    })
}

fn established_packets() -> Work {
    let mut node = Node::new(Dump { services: 1, endpoints: 1 });
    let (from, to) = (client(0), (IpAddr::from(Dump::cluster_ip(0)), 80));
    let pod = (IpAddr::from([10, 128, 0, 0]), 8080);
    node.receive(tcp(from, to, TcpFlags::SYN, 1_000, 0), node.clients, Level::Off);
    node.receive(tcp(pod, from, TcpFlags::SYN.with(TcpFlags::ACK), 5_000, 1_001), node.pods, Level::Off);
    let ack = tcp(from, to, TcpFlags::ACK, 1_001, 5_001);
    node.receive(ack.clone(), node.clients, Level::Off);
    Box::new(move || {
        for _ in 0..BATCH {
            node.receive(ack.clone(), node.clients, Level::Off);
        }
        Box::new(())
    })
}

fn three_way_chain() -> Work {
    Box::new(|| {
        let mut node = Node::new(Dump { services: 1, endpoints: 3 });
        let service = (IpAddr::from(Dump::cluster_ip(0)), 80);
        for number in 0..100_000 {
            let (src, sport) = client(number);
            node.receive(tcp((src, sport), service, TcpFlags::SYN, 1, 0), node.clients, Level::Off);
        }
        Box::new(node)
    })
}
