//! Base chains at their hooks, with rulesets made by hand. What statements do is tested through text and by the
//! kernel's recorded answers.

use std::sync::Arc;

use super::*;
use crate::base::hook::Priority;
use crate::base::{Hook, Instant, KernelVersion};
use crate::netfilter::nft::stmt::address_value;
use crate::netfilter::nft::types::name_value;
use crate::netfilter::nft::{
    AnonymousSet, Base, Chain, Data, Element, Elements, MatchOp, MetaKey, Nat, NatKind, Payload, Policy,
    Proto, Rule, SetData, SetRef, Span, StmtState, Type, Verdict,
};
use crate::netns::{Address, DeviceKind, Ran, Route};
use crate::packet::{Ip, L4, Packet, Skb, Tcp, TcpFlags, Udp, proto};
use crate::trace::{Disposition, DropReason, Level};

fn node() -> Netns {
    let mut netns = Netns::new(KernelVersion::default(), 1);
    let c0 = netns.inet.add_device("c0", DeviceKind::Wire);
    let s0 = netns.inet.add_device("s0", DeviceKind::Wire);
    netns.inet.add_address(c0, Address::new("10.1.0.1".parse().unwrap(), 24));
    netns.inet.add_address(s0, Address::new("10.2.0.1".parse().unwrap(), 24));
    netns.inet.main.add(Route::new("10.9.0.0".parse().unwrap(), 16, s0).unwrap());
    netns.set_sysctl("net.ipv4.ip_forward", "1").unwrap();
    netns
}

fn packet(proto_number: u8, dport: u16) -> Skb {
    let l4 = match proto_number {
        proto::TCP => L4::Tcp(Tcp {
            sport: 4000,
            dport,
            seq: 1,
            ack: 0,
            flags: TcpFlags::SYN,
            window: 1000,
            urgent: 0,
            options: Vec::new(),
            payload: Vec::new(),
            checksum_ok: true,
        }),
        _ => L4::Udp(Udp::new(4000, dport, Vec::new())),
    };
    let ip = Ip {
        src: "10.1.0.2".parse().unwrap(),
        dst: "10.2.0.2".parse().unwrap(),
        proto: proto_number,
        ttl: 64,
        tos: 0,
        id: 1,
        dont_fragment: false,
        more_fragments: false,
        frag_offset: 0,
        flow_label: 0,
        options: Vec::new(),
    };
    Skb::new(Packet { ip, l4 })
}

fn field(proto: Proto, name: &str) -> Expr {
    Expr::Payload(Payload::Field { proto, field: proto.field(name).unwrap() })
}

fn port(proto: Proto, value: u128) -> Statement {
    let right = Expr::Value { ty: Type::InetService, value };
    Statement::Match { left: field(proto, "dport"), op: MatchOp::Eq, right }
}

fn base(kind: ChainKind, hook: Hook, priority: i32, policy: Policy) -> Option<Base> {
    let hook = NftHook::Inet(hook);
    Some(Base { kind, hook, priority: Priority(priority), policy, devices: Vec::new(), offload: false })
}

/// A chain's name, what makes it a base chain, its rules.
type ChainSpec<'a> = (&'a str, Option<Base>, Vec<Vec<Statement>>);

/// A table `ip t` with these chains.
fn ruleset(chains: Vec<ChainSpec<'_>>) -> Ruleset {
    let mut ruleset = Ruleset::default();
    let mut table = Table::new(crate::netfilter::nft::TableFamily::Ip, "t".into(), 1);
    for (name, base, rules) in chains {
        let handle = table.take_handle();
        let rules =
            rules.into_iter().map(|statements| Rule { handle: 0, statements, comment: None, line: 0 });
        let chain = Chain {
            name: name.into(),
            handle,
            base,
            rules: rules.collect(),
            comment: None,
            anonymous: false,
            line: 0,
        };
        table.chains.insert(name.into(), chain);
    }
    ruleset.tables.push(Arc::new(table));
    ruleset
}

fn send(netns: &mut Netns, skb: Skb) -> Ran {
    let c0 = netns.inet.find_device("c0").unwrap();
    netns.run_received(skb, c0, Level::Full)
}

fn counted(netns: &Netns, slot: crate::netfilter::nft::Slot) -> u64 {
    match netns.nft().state.get(slot) {
        StmtState::Counter(counters) => counters.packets,
        _ => 0,
    }
}

#[test]
fn accept_ends_its_base_chain_and_drop_the_packet() {
    let mut netns = node();
    let mut rules = ruleset(Vec::new());
    let slots = [(); 2].map(|()| rules.state.allocate(StmtState::Counter(Default::default())));
    let rule = |at: usize, verdict| {
        vec![vec![port(Proto::Tcp, 81), Statement::Counter { slot: slots[at] }, Statement::Verdict(verdict)]]
    };
    let chain = |priority| base(ChainKind::Filter, Hook::Forward, priority, Policy::Accept);
    rules.tables =
        ruleset(vec![("a", chain(-10), rule(0, Verdict::Accept)), ("b", chain(10), rule(1, Verdict::Drop))])
            .tables;
    netns.set_nft(rules);
    let ran = send(&mut netns, packet(proto::TCP, 81));
    assert_eq!(ran.end.disposition, Disposition::Dropped(DropReason::Rule));
    assert_eq!(ran.end.because, "dropped by a rule of ip t b");
    assert_eq!(slots.map(|slot| counted(&netns, slot)), [1, 1]);
    assert_eq!(send(&mut netns, packet(proto::UDP, 81)).end.disposition, Disposition::Forwarded);
}

#[test]
fn of_equal_priorities_the_newest_chain_runs_first_and_one_that_stays_keeps_its_place() {
    let chain = || base(ChainKind::Filter, Hook::Forward, 0, Policy::Accept);
    let rule = |verdict| vec![vec![Statement::Verdict(verdict)]];
    let mut netns = node();
    let old = ruleset(vec![("old", chain(), rule(Verdict::Accept))]);
    netns.set_nft(old.clone());
    let mut both =
        ruleset(vec![("old", chain(), rule(Verdict::Drop)), ("new", chain(), rule(Verdict::Drop))]);
    netns.set_nft(both.clone());
    assert_eq!(send(&mut netns, packet(proto::TCP, 1)).end.because, "dropped by a rule of ip t new");
    // Made anew: another handle.
    if let Some(old) = Arc::make_mut(&mut both.tables[0]).chains.get_mut("old") {
        old.handle = 77;
    }
    netns.set_nft(both);
    assert_eq!(send(&mut netns, packet(proto::TCP, 1)).end.because, "dropped by a rule of ip t old");
}

#[test]
fn a_verdict_map_jumps_and_a_regular_chain_returns_to_the_policy() {
    let verdict = |verdict| {
        let element = Element {
            data: Some(Data::Verdict(verdict)),
            timeout: None,
            expires: None,
            comment: None,
            state: Vec::new(),
            sequence: 0,
        };
        let mut elements = Elements::default();
        elements.by_key.insert([Span::one(name_value("c0"))].into(), element);
        SetRef::Anonymous(Arc::new(AnonymousSet {
            key: vec![Type::IfName],
            data: SetData::Verdict,
            elements,
            interval: false,
        }))
    };
    let map = Statement::VerdictMap {
        key: Expr::Meta(MetaKey::IifName),
        map: verdict(Verdict::Jump("sub".into())),
    };
    let mut netns = node();
    netns.set_nft(ruleset(vec![
        ("f", base(ChainKind::Filter, Hook::Forward, 0, Policy::Drop), vec![vec![map]]),
        ("sub", None, vec![vec![port(Proto::Udp, 53), Statement::Verdict(Verdict::Accept)]]),
    ]));
    assert_eq!(send(&mut netns, packet(proto::UDP, 53)).end.disposition, Disposition::Forwarded);
    let ran = send(&mut netns, packet(proto::UDP, 54));
    assert_eq!(ran.end.disposition, Disposition::Dropped(DropReason::Policy));
    assert_eq!(ran.trace.rules_evaluated, 2);
}

#[test]
fn nat_chains_are_asked_once_a_connection_and_switch_tracking_on() {
    let to = |addr: &str| Expr::Value { ty: Type::Ipv4Addr, value: address_value(addr.parse().unwrap()) };
    let mut rules = ruleset(Vec::new());
    let slot = rules.state.allocate(StmtState::Counter(Default::default()));
    let nat = Nat {
        kind: NatKind::Dnat,
        family: None,
        addr: Some(to("10.9.0.7")),
        port: Some(Expr::Value { ty: Type::InetService, value: 8080 }),
        random: false,
        fully_random: false,
        persistent: false,
        prefix: false,
        concat: false,
        interval: false,
    };
    rules.tables = ruleset(vec![(
        "n",
        base(ChainKind::Nat, Hook::Prerouting, -100, Policy::Accept),
        vec![vec![port(Proto::Tcp, 80), Statement::Counter { slot }, Statement::Nat(nat)]],
    )])
    .tables;
    let mut netns = node();
    netns.set_nft(rules);
    for at in 0..2 {
        netns.now = Instant::from_millis(at);
        let ran = send(&mut netns, packet(proto::TCP, 80));
        let out = &ran.emitted[0].packet;
        assert_eq!((out.ip.dst.to_string(), out.ports()), ("10.9.0.7".to_owned(), Some((4000, 8080))));
    }
    assert_eq!(counted(&netns, slot), 1);
}
