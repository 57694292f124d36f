//! The compiled dispatch against the linear walk: same verdict, same counters, same count of rules evaluated, on
//! random rulesets and packets.

use std::net::{IpAddr, Ipv4Addr};

use chainwalk_engine::base::{Hook, Instant, KernelVersion, Rng};
use chainwalk_engine::conntrack::Conntrack;
use chainwalk_engine::netfilter::{AddrType, Assume, Cx, Fib, Shared, TableName, eval};
use chainwalk_engine::packet::{DevId, Family, Ip, L4, Packet, Skb, Tcp, TcpFlags, Udp, proto};
use chainwalk_engine::text::xt::{ParseOptions, parse};
use chainwalk_engine::trace::{Level, Trace};

/// A node without addresses or routes: the rules below ask for none.
struct NoRoutes;

impl Fib for NoRoutes {
    fn addr_type(&self, _: IpAddr, _: Option<DevId>) -> AddrType {
        AddrType::Unicast
    }
    fn masquerade_source(&self, _: DevId, _: IpAddr) -> Option<IpAddr> {
        None
    }
    fn redirect_address(&self, _: DevId, _: IpAddr) -> Option<IpAddr> {
        None
    }
    fn reverse_route(&self, _: &Skb, _: u32) -> Option<DevId> {
        None
    }
    fn path_mtu(&self, _: IpAddr) -> u32 {
        1500
    }
    fn device_name(&self, _: DevId) -> &str {
        "eth0"
    }
    fn unicast_device(&self, _: IpAddr, _: Option<DevId>) -> Option<DevId> {
        None
    }
    fn device_mac(&self, _: DevId) -> Option<[u8; 6]> {
        None
    }
    fn is_loopback(&self, _: DevId) -> bool {
        false
    }
}

/// A number below `bound`.
fn pick(rng: &mut Rng, bound: u32) -> u32 {
    rng.below(bound)
}

/// Few values, so that rules and packets meet often.
fn address(rng: &mut Rng) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, pick(rng, 6) as u8)
}

fn rule(rng: &mut Rng) -> String {
    let mut words = Vec::new();
    let not = |rng: &mut Rng| if pick(rng, 4) == 0 { "! " } else { "" };
    for option in ["-s", "-d"] {
        match pick(rng, 4) {
            0 => words.push(format!("{}{option} {}", not(rng), address(rng))),
            1 => words.push(format!("{}{option} {}/30", not(rng), address(rng))),
            _ => {}
        }
    }
    if pick(rng, 3) > 0 {
        let name = if pick(rng, 2) == 0 { "tcp" } else { "udp" };
        words.push(format!("-p {name}"));
        if pick(rng, 4) == 0 {
            words.push("-m comment --comment c".to_owned());
        }
        if pick(rng, 5) == 0 {
            words.push("-m statistic --mode nth --every 3 --packet 0".to_owned());
        }
        match pick(rng, 4) {
            0 => words.push(format!("-m {name} {}--dport {}", not(rng), pick(rng, 4))),
            1 => words.push(format!("-m {name} --dport {}:{}", pick(rng, 2), 2 + pick(rng, 2))),
            2 => words.push(format!("-m {name} --sport {}", pick(rng, 4))),
            _ => {}
        }
    }
    words.push(
        ["", "", "-j ACCEPT", "-j DROP", "-j RETURN", "-j USER", "-g USER", "-j MARK --set-mark 1"]
            [pick(rng, 8) as usize]
            .to_owned(),
    );
    words.join(" ")
}

fn ruleset(rng: &mut Rng) -> String {
    let mut text = String::from("*filter\n:INPUT ACCEPT [0:0]\n:FORWARD DROP [0:0]\n:USER - [0:0]\n");
    for _ in 0..20 + pick(rng, 40) {
        text += &format!("-A FORWARD {}\n", rule(rng));
    }
    for _ in 0..20 + pick(rng, 20) {
        text += &format!("-A USER {}\n", rule(rng).replace("-j USER", "").replace("-g USER", ""));
    }
    text + "COMMIT\n"
}

fn packet(rng: &mut Rng) -> Packet {
    let port = |rng: &mut Rng| pick(rng, 4) as u16;
    let is_tcp = pick(rng, 2) == 0;
    let (sport, dport) = (port(rng), port(rng));
    let l4 = match (pick(rng, 12), is_tcp) {
        (0, _) => L4::Truncated(vec![0; 3]),
        (_, true) => L4::Tcp(Tcp {
            sport,
            dport,
            seq: 0,
            ack: 0,
            flags: TcpFlags::SYN,
            window: 1000,
            urgent: 0,
            options: Vec::new(),
            payload: Vec::new(),
            checksum_ok: true,
        }),
        (_, false) => L4::Udp(Udp::new(sport, dport, Vec::new())),
    };
    Packet {
        ip: Ip {
            src: address(rng).into(),
            dst: address(rng).into(),
            proto: if is_tcp { proto::TCP } else { proto::UDP },
            ttl: 64,
            tos: 0,
            id: 0,
            dont_fragment: true,
            more_fragments: false,
            frag_offset: if pick(rng, 20) == 0 { 64 } else { 0 },
            flow_label: 0,
            options: Vec::new(),
        },
        l4,
    }
}

#[test]
fn the_index_and_the_linear_walk_agree() {
    let mut rng = Rng::new(0x1dec5);
    let (mut indexed_chains, mut skipped) = (0, 0_u64);
    for round in 0..400 {
        let text = ruleset(&mut rng);
        let options = ParseOptions { family: Some(Family::V4), ..Default::default() };
        let (mut read, diags) = parse(&text, &options);
        assert!(diags.is_empty(), "round {round}: {diags:?}\n{text}");
        let mut indexed = read.seal(1).remove(0);
        indexed_chains += indexed.indexes.iter().flatten().count();
        let mut linear = indexed.clone();
        linear.indexes = vec![None; indexed.indexes.len()].into();
        let table = read.table(TableName::Filter).expect("the text has one");
        for _ in 0..60 {
            let packet = packet(&mut rng);
            let run = |state| {
                let mut trace = Trace::new(Level::Off);
                let mut skb = Skb::new(packet.clone());
                let mut cx = Cx {
                    hook: Hook::Forward,
                    family: Family::V4,
                    indev: None,
                    outdev: None,
                    now: Instant::ZERO,
                    epoch_secs: 0,
                    kernel: KernelVersion::default(),
                    fib: &NoRoutes,
                    ct: &mut Conntrack::default(),
                    shared: &mut Shared::default(),
                    assume: &mut Assume::default(),
                    trace: &mut trace,
                };
                let verdict = eval::run(table, 0, state, &mut cx, &mut skb);
                (verdict, skb.mark, trace.rules_evaluated)
            };
            let (ours, theirs) = (run(&mut indexed), run(&mut linear));
            assert_eq!(ours, theirs, "round {round}: {packet:?}\n{text}");
            skipped += theirs.2;
        }
        assert_eq!(indexed.rules, linear.rules, "rule counters, round {round}\n{text}");
        assert_eq!(indexed.chains, linear.chains, "policy counters, round {round}");
    }
    assert!(indexed_chains > 100, "only {indexed_chains} chains were indexed");
    assert!(skipped > 100_000, "only {skipped} rules were walked");
}
