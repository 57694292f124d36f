//! The same Services in nftables: a rule each, or one rule and a verdict map as kube-proxy writes them (1.36).

use std::sync::Arc;

use chainwalk_engine::base::Hook;
use chainwalk_engine::base::hook::Priority;
use chainwalk_engine::netfilter::nft::{
    AnonymousSet, Base, Chain, ChainKind, Data, Element, Elements, Expr, L3, MatchOp, MetaKey, Nat, NatKind,
    NftHook, Numgen, NumgenMode, Payload, Policy, Proto, Rule, Ruleset, Set, SetData, SetFlags, SetId,
    SetRef, Slot, Span, Statement, StmtState, Table, TableFamily, Type, Verdict,
};
use chainwalk_engine::packet::proto;

use super::{Form, address};

const TCP: u128 = proto::TCP as u128;
const MAP: &str = "service-ips";

/// A table `ip kube-proxy` with `services`, and `endpoints` pods behind each.
pub(super) fn ruleset(form: Form, services: u32, endpoints: u32) -> Result<Ruleset, String> {
    let mut rules = Ruleset::default();
    let mut table = Table::new(TableFamily::Ip, "kube-proxy".into(), 1);
    let key = vec![field(Proto::Ip, "daddr")?, Expr::Meta(MetaKey::L4proto), field(Proto::Th, "dport")?];
    let service = |number: u32| Arc::<str>::from(format!("service-{number:05}"));
    let find = if form == Form::NftMap {
        let id = rules.state.allocate_set();
        let found =
            (1..=services).map(|number| (element_key(number), Data::Verdict(Verdict::Goto(service(number)))));
        if let Some(elements) = rules.state.elements_mut(id) {
            *elements = filled(found);
        }
        let set = map(id, table.take_handle());
        table.sets.insert(set.name.clone(), set);
        vec![vec![Statement::VerdictMap { key: Expr::Concat(key), map: SetRef::Named(MAP.into()) }]]
    } else {
        let daddr = field(Proto::Ip, "daddr")?;
        let dport = equals(field(Proto::Tcp, "dport")?, Type::InetService, 80);
        let rule = |number: u32| {
            let to = equals(daddr.clone(), Type::Ipv4Addr, u128::from(address(number).to_bits()));
            vec![to, dport.clone(), Statement::Verdict(Verdict::Goto(service(number)))]
        };
        (1..=services).map(rule).collect()
    };
    for number in 1..=services {
        let slot = rules.state.allocate(StmtState::Random(None));
        add(&mut table, service(number), None, vec![choice(endpoints, slot)]);
    }
    add(&mut table, "services".into(), None, find);
    let base = Base {
        kind: ChainKind::Nat,
        hook: NftHook::Inet(Hook::Prerouting),
        priority: Priority::NAT_DST,
        policy: Policy::Accept,
        devices: Vec::new(),
        offload: false,
    };
    let jump = vec![vec![Statement::Verdict(Verdict::Jump("services".into()))]];
    add(&mut table, "nat-prerouting".into(), Some(base), jump);
    rules.tables.push(Arc::new(table));
    rules.last_table_handle = 1;
    Ok(rules)
}

fn add(table: &mut Table, name: Arc<str>, base: Option<Base>, rules: Vec<Vec<Statement>>) {
    let handle = table.take_handle();
    let mut made = Vec::with_capacity(rules.len());
    for statements in rules {
        made.push(Rule { handle: table.take_handle(), statements, comment: None, line: 0 });
    }
    let chain =
        Chain { name: name.clone(), handle, base, rules: made, comment: None, anonymous: false, line: 0 };
    table.chains.insert(name, chain);
}

fn field(proto: Proto, name: &str) -> Result<Expr, String> {
    let field = proto.field(name).ok_or_else(|| format!("no field `{name}`"))?;
    Ok(Expr::Payload(Payload::Field { proto, field }))
}

const fn equals(left: Expr, ty: Type, value: u128) -> Statement {
    Statement::Match { left, op: MatchOp::Eq, right: Expr::Value { ty, value } }
}

/// `10.96.0.1 . tcp . 80`
fn element_key(number: u32) -> Box<[Span]> {
    [u128::from(address(number).to_bits()), TCP, 80].map(Span::one).into()
}

/// `type ipv4_addr . inet_proto . inet_service : verdict`
fn map(id: SetId, handle: u64) -> Set {
    Set {
        name: MAP.into(),
        handle,
        key: vec![Type::Ipv4Addr, Type::InetProto, Type::InetService],
        key_typeof: None,
        data: SetData::Verdict,
        data_typeof: None,
        data_interval: false,
        flags: SetFlags::default(),
        timeout: None,
        gc_interval: None,
        size: None,
        memory: false,
        auto_merge: false,
        comment: None,
        with: Vec::new(),
        id,
        line: 0,
    }
}

fn filled(all: impl Iterator<Item = (Box<[Span]>, Data)>) -> Elements {
    let mut elements = Elements::default();
    for (key, data) in all {
        let sequence = elements.next_sequence;
        elements.next_sequence += 1;
        let element = Element {
            data: Some(data),
            timeout: None,
            expires: None,
            comment: None,
            state: Vec::new(),
            sequence,
        };
        elements.by_key.insert(key, element);
    }
    elements
}

/// `meta l4proto tcp dnat ip to numgen random mod 3 map { 0 : 10.244.2.10 . 8080, ... }`
fn choice(endpoints: u32, slot: Slot) -> Vec<Statement> {
    let pod = |number: u32| {
        let to = [u128::from(0x0af4_0200 + 10 + number), 8080].map(Span::one);
        (Box::from([Span::one(u128::from(number))]), Data::Values(to.into()))
    };
    let pods = AnonymousSet {
        key: vec![Type::Integer(32)],
        data: SetData::Values(vec![Type::Ipv4Addr, Type::InetService]),
        elements: filled((0..endpoints).map(pod)),
        interval: false,
    };
    let draw = Numgen { mode: NumgenMode::Random, modulus: endpoints, offset: 0, slot };
    let addr = Expr::Map { key: Box::new(Expr::Numgen(draw)), map: SetRef::Anonymous(Arc::new(pods)) };
    let dnat = Nat {
        kind: NatKind::Dnat,
        family: Some(L3::Ip),
        addr: Some(addr),
        port: None,
        random: false,
        fully_random: false,
        persistent: false,
        prefix: false,
        concat: true,
        interval: false,
    };
    vec![equals(Expr::Meta(MetaKey::L4proto), Type::InetProto, TCP), Statement::Nat(dnat)]
}
