//! Translation at devices and sockets, by packets that go there and back.

use std::net::IpAddr;

use super::tc::TcCx;
use super::*;
use crate::base::{Duration, Instant};
use crate::packet::{Ip, L4, Packet, Tcp, TcpFlags, Udp, proto};
use crate::trace::{Level, Trace};

const NODE: &str = "192.168.0.1";
const CLIENT: &str = "203.0.113.7";

fn addr(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn packet(protocol: u8, (src, sport): (&str, u16), (dst, dport): (&str, u16), flags: TcpFlags) -> Packet {
    let l4 = match protocol {
        proto::TCP => L4::Tcp(Tcp {
            sport,
            dport,
            seq: 1,
            ack: 0,
            flags,
            window: 1000,
            urgent: 0,
            options: Vec::new(),
            payload: Vec::new(),
            checksum_ok: true,
        }),
        _ => L4::Udp(Udp::new(sport, dport, vec![0; 10])),
    };
    let ip = Ip {
        src: addr(src),
        dst: addr(dst),
        proto: protocol,
        ttl: 64,
        tos: 0,
        id: 0,
        dont_fragment: true,
        more_fragments: false,
        frag_offset: 0,
        flow_label: 0,
        options: Vec::new(),
    };
    Packet { ip, l4 }
}

fn syn(src: (&str, u16), dst: (&str, u16)) -> Packet {
    packet(proto::TCP, src, dst, TcpFlags::SYN)
}

fn backend(text: &str) -> Backend {
    Backend { addr: addr(text), port: 8080, proto: proto::TCP, state: BackendState::Active, weight: 1 }
}

fn spec(kind: Kind) -> Spec {
    Spec { kind, affinity: None, external_local: false, internal_local: false, source_ranges: Vec::new() }
}

fn frontend(text: &str, port: u16) -> Frontend {
    Frontend { addr: addr(text), port, proto: proto::TCP, scope: Scope::External }
}

/// A node whose pods are in 10.244.1.0/24; everything else is on other nodes.
struct Lab {
    ebpf: Ebpf,
    now: Instant,
}

impl Lab {
    fn new(config: Config, backends: &[Backend]) -> Self {
        let config = Config { node_addresses: vec![addr(NODE)], ..config };
        let mut ebpf = Ebpf::new(config, 1);
        ebpf.set(frontend("10.96.0.10", 80), spec(Kind::ClusterIp), backends);
        ebpf.set(frontend("0.0.0.0", 30080), spec(Kind::NodePort), backends);
        Self { ebpf, now: Instant::ZERO }
    }

    fn tc(&mut self, packet: &mut Packet, from: From) -> Verdict {
        let way_out = |to: IpAddr| (!to.to_string().starts_with("10.244.1.")).then(|| addr(NODE));
        let mut trace = Trace::new(Level::Off);
        let mut cx = TcCx { now: self.now, from, trace: &mut trace, way_out: &way_out };
        self.ebpf.tc(packet, &mut cx)
    }

    fn connect(&mut self, packet: &mut Packet) -> Result<(), Errno> {
        self.ebpf.connect(packet, self.now, &mut Trace::new(Level::Off))
    }
}

fn ends(packet: &Packet) -> String {
    let flow = Flow::of(packet).expect("ports");
    format!("{}:{} > {}:{}", flow.src.0, flow.src.1, flow.dst.0, flow.dst.1)
}

#[test]
fn a_node_port_with_a_local_backend_keeps_the_client() {
    let mut lab = Lab::new(Config::default(), &[backend("10.244.1.5")]);
    let mut request = syn((CLIENT, 40000), (NODE, 30080));
    assert_eq!(lab.tc(&mut request, From::Outside), Verdict::Redirect);
    assert_eq!(ends(&request), "203.0.113.7:40000 > 10.244.1.5:8080");
    let mut answer =
        packet(proto::TCP, ("10.244.1.5", 8080), (CLIENT, 40000), TcpFlags::SYN.with(TcpFlags::ACK));
    assert_eq!(lab.tc(&mut answer, From::Pod), Verdict::Redirect);
    assert_eq!(ends(&answer), "192.168.0.1:30080 > 203.0.113.7:40000");
}

#[test]
fn snat_brings_the_answer_of_another_node_back_here() {
    let mut lab = Lab::new(Config::default(), &[backend("10.244.2.5")]);
    let mut request = syn((CLIENT, 40000), (NODE, 30080));
    assert_eq!(lab.tc(&mut request, From::Outside), Verdict::Redirect);
    assert_eq!(ends(&request), "192.168.0.1:40000 > 10.244.2.5:8080", "the port is in the range and free");
    let mut other = syn(("203.0.113.8", 40000), (NODE, 30080));
    assert_eq!(lab.tc(&mut other, From::Outside), Verdict::Redirect);
    let port = other.ports().expect("ports").0;
    assert!(port != 40000 && port >= 32768, "{port}: the same one is taken");
    let mut low = syn((CLIENT, 1024), (NODE, 30080));
    assert_eq!(lab.tc(&mut low, From::Outside), Verdict::Redirect);
    assert!(low.ports().expect("ports").0 >= 32768, "below the range: another");
    let mut answer =
        packet(proto::TCP, ("10.244.2.5", 8080), (NODE, port), TcpFlags::SYN.with(TcpFlags::ACK));
    assert_eq!(lab.tc(&mut answer, From::Outside), Verdict::Redirect);
    assert_eq!(ends(&answer), "192.168.0.1:30080 > 203.0.113.8:40000");
}

#[test]
fn dsr_tells_the_other_node_and_it_answers_by_itself() {
    let config = Config { mode: Mode::Dsr, ..Config::default() };
    let mut first = Lab::new(config.clone(), &[backend("10.244.2.5")]);
    let mut request = syn((CLIENT, 40000), (NODE, 30080));
    assert_eq!(first.tc(&mut request, From::Outside), Verdict::Redirect);
    assert_eq!(ends(&request), "203.0.113.7:40000 > 10.244.2.5:8080");
    // 30080 is 0x7580.
    assert_eq!(request.ip.options, [0x9a, 8, 0x75, 0x80, 192, 168, 0, 1]);
    let mut more = packet(proto::TCP, (CLIENT, 40000), (NODE, 30080), TcpFlags::ACK);
    assert_eq!(first.tc(&mut more, From::Outside), Verdict::Redirect);
    assert!(more.ip.options.is_empty(), "of TCP only the SYN carries it");

    let mut second = Lab { ebpf: Ebpf::new(config, 1), now: Instant::ZERO };
    assert_eq!(second.tc(&mut request, From::Outside), Verdict::Redirect);
    let mut answer =
        packet(proto::TCP, ("10.244.2.5", 8080), (CLIENT, 40000), TcpFlags::SYN.with(TcpFlags::ACK));
    assert_eq!(second.tc(&mut answer, From::Pod), Verdict::Redirect);
    assert_eq!(ends(&answer), "192.168.0.1:30080 > 203.0.113.7:40000");
}

#[test]
fn hybrid_is_dsr_for_tcp_alone() {
    assert!(Mode::Hybrid.is_dsr(proto::TCP) && !Mode::Hybrid.is_dsr(proto::UDP));
    assert!(Mode::Dsr.is_dsr(proto::UDP) && !Mode::Snat.is_dsr(proto::TCP));
}

#[test]
fn outside_has_no_way_to_a_cluster_ip_nor_past_source_ranges() {
    let mut lab = Lab::new(Config::default(), &[backend("10.244.1.5")]);
    let mut dialled = syn((CLIENT, 1), ("10.96.0.10", 80));
    let Verdict::Drop(why) = lab.tc(&mut dialled, From::Outside) else { panic!("dropped") };
    assert!(why.contains("DROP_IS_CLUSTER_IP"), "{why}");
    assert_eq!(lab.tc(&mut dialled, From::Pod), Verdict::Redirect);

    let ranges = vec![Range { addr: addr("198.51.100.0"), len: 24 }];
    let restricted = Spec { source_ranges: ranges, ..spec(Kind::LoadBalancer) };
    lab.ebpf.set(frontend("192.0.2.9", 80), restricted, &[backend("10.244.1.5")]);
    let mut refused = syn((CLIENT, 2), ("192.0.2.9", 80));
    let Verdict::Drop(why) = lab.tc(&mut refused, From::Outside) else { panic!("dropped") };
    assert!(why.contains("DROP_NOT_IN_SRC_RANGE"), "{why}");
    let mut admitted = syn(("198.51.100.3", 2), ("192.0.2.9", 80));
    assert_eq!(lab.tc(&mut admitted, From::Outside), Verdict::Redirect);
}

#[test]
fn a_local_policy_has_two_scopes() {
    let mut lab = Lab::new(Config::default(), &[]);
    let local = Spec { external_local: true, ..spec(Kind::NodePort) };
    let outside = frontend("0.0.0.0", 31000);
    lab.ebpf.set(outside, local.clone(), &[]);
    let inside = Frontend { scope: Scope::Internal, ..outside };
    lab.ebpf.set(inside, local, &[backend("10.244.2.5")]);
    let Verdict::Drop(why) = lab.tc(&mut syn((CLIENT, 1), (NODE, 31000)), From::Outside) else {
        panic!("no backend on this node")
    };
    assert!(why.contains("DROP_NO_SERVICE"), "{why}");
    assert_eq!(lab.tc(&mut syn(("10.244.1.9", 1), (NODE, 31000)), From::Pod), Verdict::Redirect);
}

#[test]
fn a_removed_backend_is_replaced_at_the_devices_but_not_at_a_socket() {
    let (one, two) = (backend("10.244.1.5"), backend("10.244.1.6"));
    let mut lab = Lab::new(Config::default(), &[one]);
    assert_eq!(lab.tc(&mut syn((CLIENT, 1), (NODE, 30080)), From::Outside), Verdict::Redirect);
    let mut dialled = syn(("10.0.0.1", 5), ("10.96.0.10", 80));
    lab.connect(&mut dialled).expect("a backend");
    for port in [(frontend("0.0.0.0", 30080), Kind::NodePort), (frontend("10.96.0.10", 80), Kind::ClusterIp)]
    {
        lab.ebpf.set(port.0, spec(port.1), &[two]);
    }
    let mut more = packet(proto::TCP, (CLIENT, 1), (NODE, 30080), TcpFlags::ACK);
    assert_eq!(lab.tc(&mut more, From::Outside), Verdict::Redirect);
    assert_eq!(more.ip.dst, two.addr);
    let mut more = packet(proto::TCP, ("10.0.0.1", 5), ("10.96.0.10", 80), TcpFlags::ACK);
    lab.connect(&mut more).expect("connected for life");
    assert_eq!(more.ip.dst, one.addr);
}

#[test]
fn affinity_holds_until_it_was_not_used_for_its_time() {
    let backends: Vec<Backend> = (1..=50).map(|n| backend(&format!("10.244.1.{n}"))).collect();
    let mut lab = Lab::new(Config::default(), &[]);
    let sticky = Spec { affinity: Some(Duration::from_secs(10)), ..spec(Kind::NodePort) };
    lab.ebpf.set(frontend("0.0.0.0", 30080), sticky, &backends);
    let got = |lab: &mut Lab, sport| {
        let mut request = syn((CLIENT, sport), (NODE, 30080));
        assert_eq!(lab.tc(&mut request, From::Outside), Verdict::Redirect);
        request.ip.dst
    };
    let first = got(&mut lab, 1);
    for sport in 2..20 {
        lab.now += Duration::from_secs(9);
        assert_eq!(got(&mut lab, sport), first);
    }
    lab.now += Duration::from_secs(10);
    let later: Vec<IpAddr> = (20..23)
        .map(|sport| {
            lab.now += Duration::from_secs(10);
            got(&mut lab, sport)
        })
        .collect();
    assert!(later.iter().any(|backend| *backend != first), "three draws of fifty");
}

#[test]
fn maglev_sends_a_client_port_to_the_same_backend_on_every_node() {
    let backends: Vec<Backend> = (1..=5).map(|n| backend(&format!("10.244.1.{n}"))).collect();
    let mut reversed = backends.clone();
    reversed.reverse();
    let config = Config { algorithm: Algorithm::Maglev, table_size: 251, ..Config::default() };
    let mut one = Lab::new(config.clone(), &backends);
    let mut two = Lab::new(config, &reversed);
    two.ebpf.draws = Rng::new(99);
    let mut met = std::collections::BTreeSet::new();
    for sport in 1..200 {
        let mut here = syn((CLIENT, sport), (NODE, 30080));
        let mut there = here.clone();
        assert_eq!(one.tc(&mut here, From::Outside), Verdict::Redirect);
        assert_eq!(two.tc(&mut there, From::Outside), Verdict::Redirect);
        assert_eq!(here.ip.dst, there.ip.dst);
        met.insert(here.ip.dst);
    }
    assert_eq!(met.len(), 5);
}

#[test]
fn a_socket_is_told_the_service_it_dialled() {
    let mut lab = Lab::new(Config::default(), &[backend("10.244.2.5")]);
    let mut dialled = syn(("0.0.0.0", 5), ("10.96.0.10", 80));
    lab.connect(&mut dialled).expect("a backend");
    assert_eq!(ends(&dialled), "0.0.0.0:5 > 10.244.2.5:8080");
    let seen = (addr("10.244.2.5"), 8080);
    assert_eq!(lab.ebpf.peer(proto::TCP, 5, seen), (addr("10.96.0.10"), 80));
    assert_eq!(lab.ebpf.peer(proto::TCP, 6, seen), seen, "another socket");
    lab.ebpf.maps.remove(&frontend("10.96.0.10", 80));
    assert_eq!(lab.ebpf.peer(proto::TCP, 5, seen), seen, "the service is gone");
    // The node's own address stands for the node port.
    let mut dialled = syn(("0.0.0.0", 7), ("127.0.0.1", 30080));
    lab.connect(&mut dialled).expect("a backend");
    assert_eq!(dialled.ip.dst, addr("10.244.2.5"));
    assert!(lab.ebpf.flows().is_empty(), "nothing is tracked");
}

#[test]
fn what_calls_fail_with() {
    let mut lab = Lab::new(Config::default(), &[]);
    assert_eq!(lab.connect(&mut syn(("0.0.0.0", 5), ("10.96.0.10", 80))), Err(Errno::HostUnreachable));
    assert_eq!(lab.connect(&mut syn(("0.0.0.0", 5), ("10.96.0.11", 80))), Ok(()));
    assert_eq!(lab.ebpf.bind(proto::TCP, addr("0.0.0.0"), 30080), Err(Errno::AddressInUse));
    assert_eq!(lab.ebpf.bind(proto::UDP, addr("0.0.0.0"), 30080), Ok(()));
    assert_eq!(lab.ebpf.bind(proto::TCP, addr("0.0.0.0"), 80), Ok(()), "a ClusterIP is not of the node");
}

#[test]
fn timers_follow_the_connection() {
    let mut lab = Lab::new(Config::default(), &[backend("10.244.1.5")]);
    let lifetime =
        |lab: &Lab| lab.ebpf.flows().iter().next().expect("a flow").1.expires.since(lab.now).as_secs();
    let mut request = syn((CLIENT, 1), (NODE, 30080));
    assert_eq!(lab.tc(&mut request, From::Outside), Verdict::Redirect);
    assert_eq!(lifetime(&lab), 60);
    let mut answer = packet(proto::TCP, ("10.244.1.5", 8080), (CLIENT, 1), TcpFlags::SYN.with(TcpFlags::ACK));
    assert_eq!(lab.tc(&mut answer, From::Pod), Verdict::Redirect);
    assert_eq!(lifetime(&lab), 8000);
    let mut end = packet(proto::TCP, (CLIENT, 1), (NODE, 30080), TcpFlags::FIN.with(TcpFlags::ACK));
    assert_eq!(lab.tc(&mut end, From::Outside), Verdict::Redirect);
    assert_eq!(lifetime(&lab), 10);
    lab.now += Duration::from_secs(10);
    let mut late = packet(proto::TCP, ("10.244.1.5", 8080), (CLIENT, 1), TcpFlags::ACK);
    assert_eq!(lab.tc(&mut late, From::Pod), Verdict::Pass, "nobody remembers");
}
