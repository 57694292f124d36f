//! What rules of nftables give away about the node, as those of iptables do.
//!
//! A rule's tests are read wherever they may stand: compared with a value, looked up in a set, or as the key of a
//! verdict map or of a mapping. Chains without a hook count as part of those that lead to them.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::{Hints, is_usable};
use crate::base::Hook;
use crate::netfilter::Net;
use crate::netfilter::nft::set::Data;
use crate::netfilter::nft::types::value_name;
use crate::netfilter::nft::{
    Chain, ChainKind, Elements, Expr, FibResult, Key, MatchOp, MetaKey, Nat, NatKind, NftHook, NftState,
    Payload, Proto, Rule, Ruleset, SetRef, Span, Statement, Table, Type, Verdict,
};
use crate::packet::Family;

/// `RTN_LOCAL`, as `fib daddr type` compares it.
const LOCAL: u128 = 2;

/// Names of devices stand above all indexes, which are 32-bit numbers.
const NAMES_FROM: u128 = 1 << 32;

/// The set in which kube-proxy keeps the node's addresses that take NodePorts.
const NODE_PORT_ADDRESSES: &str = "nodeport-ips";

/// Reads the rules that see packets of `family`.
pub(super) fn read(hints: &mut Hints, ruleset: &Ruleset, family: Family) {
    for table in ruleset.tables.iter().filter(|table| table.family.sees(family) && !table.dormant) {
        let nat = translating(table, &ruleset.state);
        for (at, chain) in table.chains.values().enumerate() {
            let hook = chain.base.as_ref().and_then(|base| match (base.kind, base.hook) {
                (ChainKind::Filter, NftHook::Inet(hook)) => Some(hook),
                _ => None,
            });
            for rule in &chain.rules {
                let tests = tests(table, &ruleset.state, rule);
                Reader { hints, family, tests }.rule(rule, hook, nat.contains(&at));
            }
        }
    }
}

/// Names of the devices that rules test, in order of first mention.
pub(super) fn devices(ruleset: &Ruleset) -> Vec<String> {
    let mut hints = Hints::default();
    for table in &ruleset.tables {
        for rule in table.chains.values().flat_map(|chain| &chain.rules) {
            let tests = tests(table, &ruleset.state, rule);
            Reader { hints: &mut hints, family: Family::V4, tests }.devices();
        }
    }
    hints.devices.into_iter().map(|(name, _)| name).collect()
}

/// One field that a rule tests, and the values it wants, or wants not.
struct Test<'a> {
    of: &'a Expr,
    spans: Vec<Span>,
    inverted: bool,
    /// The named set that holds the values.
    set: Option<&'a str>,
}

/// The tests of a rule.
fn tests<'a>(table: &'a Table, state: &'a NftState, rule: &'a Rule) -> Vec<Test<'a>> {
    let mut tests = Vec::new();
    for statement in &rule.statements {
        match statement {
            Statement::Match { left, op: op @ (MatchOp::Eq | MatchOp::Ne), right } => {
                push(&mut tests, table, state, left, right, *op == MatchOp::Ne);
            }
            Statement::VerdictMap { key, map } => look_up(&mut tests, table, state, key, map, false),
            Statement::Nat(Nat { addr: Some(Expr::Map { key, map }), .. }) => {
                look_up(&mut tests, table, state, key, map, false);
            }
            _ => {}
        }
    }
    tests
}

fn parts(expr: &Expr) -> &[Expr] {
    match expr {
        Expr::Concat(parts) => parts,
        one => std::slice::from_ref(one),
    }
}

fn push<'a>(
    tests: &mut Vec<Test<'a>>,
    table: &'a Table,
    state: &'a NftState,
    left: &'a Expr,
    right: &'a Expr,
    inverted: bool,
) {
    if let Expr::Set(set) = right {
        return look_up(tests, table, state, left, set, inverted);
    }
    for (of, value) in parts(left).iter().zip(parts(right)) {
        let span = match value {
            Expr::Value { value, .. } => Span::one(*value),
            Expr::Range { low, high, .. } => Span { low: *low, high: *high },
            Expr::Prefix { ty, value, len } => {
                let free = u32::from(ty.bits().saturating_sub(*len));
                Span { low: *value, high: value | 1_u128.checked_shl(free).map_or(u128::MAX, |end| end - 1) }
            }
            _ => continue,
        };
        tests.push(Test { of, spans: vec![span], inverted, set: None });
    }
}

fn look_up<'a>(
    tests: &mut Vec<Test<'a>>,
    table: &'a Table,
    state: &'a NftState,
    key: &'a Expr,
    set: &'a SetRef,
    inverted: bool,
) {
    let Some(elements) = elements(table, state, set) else { return };
    let name = match set {
        SetRef::Named(name) => Some(&**name),
        SetRef::Anonymous(_) => None,
    };
    for (at, of) in parts(key).iter().enumerate() {
        let spans = elements.by_key.keys().filter_map(|key: &Key| key.get(at).copied()).collect();
        tests.push(Test { of, spans, inverted, set: name });
    }
}

fn elements<'a>(table: &Table, state: &'a NftState, set: &'a SetRef) -> Option<&'a Elements> {
    match set {
        SetRef::Named(name) => state.elements(table.sets.get(name)?.id),
        SetRef::Anonymous(set) => Some(&set.elements),
    }
}

/// Positions of the chains that NAT is asked of: those of type nat, and what they lead to.
fn translating(table: &Table, state: &NftState) -> BTreeSet<usize> {
    let is_nat = |chain: &Chain| chain.base.as_ref().is_some_and(|base| base.kind == ChainKind::Nat);
    let mut open: Vec<usize> =
        table.chains.values().enumerate().filter(|(_, chain)| is_nat(chain)).map(|(at, _)| at).collect();
    let mut seen: BTreeSet<usize> = open.iter().copied().collect();
    while let Some((_, chain)) = open.pop().and_then(|at| table.chains.get_index(at)) {
        for statement in chain.rules.iter().flat_map(|rule| &rule.statements) {
            let to: Vec<&Verdict> = match statement {
                Statement::Verdict(verdict) => vec![verdict],
                Statement::VerdictMap { map, .. } => elements(table, state, map)
                    .into_iter()
                    .flat_map(|elements| elements.by_key.values().chain(&elements.catch_all))
                    .filter_map(|element| match &element.data {
                        Some(Data::Verdict(verdict)) => Some(verdict),
                        _ => None,
                    })
                    .collect(),
                _ => Vec::new(),
            };
            for verdict in to {
                let (Verdict::Jump(name) | Verdict::Goto(name)) = verdict else { continue };
                if let Some(at) = table.chains.get_index_of(name)
                    && seen.insert(at)
                {
                    open.push(at);
                }
            }
        }
    }
    seen
}

struct Reader<'h, 'a> {
    hints: &'h mut Hints,
    family: Family,
    tests: Vec<Test<'a>>,
}

impl Reader<'_, '_> {
    /// `hook`: of a base chain of type filter.
    fn rule(&mut self, rule: &Rule, hook: Option<Hook>, nat: bool) {
        self.devices();
        match hook {
            Some(Hook::Input) => {
                let hosts = self.hosts("daddr");
                self.hints.own.extend(
                    hosts.into_iter().map(|addr| (addr, "a rule of the input hook has it as destination")),
                );
            }
            Some(Hook::Output) => {
                let hosts = self.hosts("saddr");
                self.hints.own.extend(
                    hosts.into_iter().map(|addr| (addr, "a rule of the output hook has it as source")),
                );
            }
            Some(Hook::Forward) => self.hints.forwards = true,
            Some(Hook::Prerouting | Hook::Postrouting) | None => {}
        }
        if nat {
            self.destinations();
            for statement in &rule.statements {
                if let Statement::Nat(nat) = statement {
                    self.mapping(nat);
                }
            }
        }
    }

    fn devices(&mut self) {
        for test in &self.tests {
            let out = match test.of {
                Expr::Meta(MetaKey::Iif | MetaKey::IifName) => 0,
                Expr::Meta(MetaKey::Oif | MetaKey::OifName) => u32::from(!test.inverted),
                _ => continue,
            };
            for span in test.spans.iter().filter(|span| span.is_one() && span.low >= NAMES_FROM) {
                self.hints.device(&value_name(span.low), out);
            }
        }
    }

    /// Where nat rules take packets from: addresses that are virtual, or the node's own.
    fn destinations(&mut self) {
        let of_node = self.tests.iter().any(|test| test.set == Some(NODE_PORT_ADDRESSES));
        let hosts = self.hosts("daddr");
        if of_node {
            self.hints.own.extend(hosts.into_iter().map(|addr| (addr, "kube-proxy takes NodePorts of it")));
        } else {
            self.hints.virtual_hosts.extend(hosts);
        }
        let is_local = |test: &Test<'_>| {
            matches!(test.of, Expr::Fib { keys, result: FibResult::Type } if keys.daddr)
                && !test.inverted
                && test.spans.iter().any(|span| span.contains(LOCAL))
        };
        if self.tests.iter().any(is_local) {
            let ports = self.tests.iter().filter(|test| !test.inverted && is_dport(test.of));
            let spans = ports.flat_map(|test| &test.spans);
            self.hints.local_ports.extend(spans.map(|span| (span.low as u16, span.high as u16)));
        }
    }

    fn mapping(&mut self, nat: &Nat) {
        let out =
            self.tests.iter().find(|test| matches!(test.of, Expr::Meta(MetaKey::Oif | MetaKey::OifName)));
        let name = out.and_then(|test| match test.spans.as_slice() {
            [span] if span.is_one() && span.low >= NAMES_FROM => Some((value_name(span.low), test.inverted)),
            _ => None,
        });
        match nat.kind {
            NatKind::Masquerade | NatKind::Snat => {
                self.hints.forwards = true;
                match name {
                    Some((name, true)) if nat.kind == NatKind::Masquerade => {
                        if let Some(net) = self.source_net() {
                            self.hints.behind.push((net, name.clone()));
                            self.hints.inner.push(name);
                        }
                    }
                    Some((name, false)) => _ = self.hints.uplink.get_or_insert(name),
                    _ => {}
                }
                if let Some(Expr::Value { ty, value }) = &nat.addr
                    && let Some(addr) = address(*ty, *value)
                {
                    self.hints.own.push((addr, "snat writes it as the source"));
                }
            }
            NatKind::Dnat => self.hints.forwards = true,
            NatKind::Redirect => {}
        }
    }

    /// Single addresses that `ip daddr`, `ip6 saddr`, ... are wanted to be.
    fn hosts(&self, field: &str) -> Vec<IpAddr> {
        let tests = self.tests.iter().filter(|test| !test.inverted && self.is_address(test.of, field));
        tests
            .flat_map(|test| {
                let ty = test.of.ty();
                test.spans.iter().filter(|span| span.is_one()).filter_map(move |span| address(ty?, span.low))
            })
            .filter(|addr| is_usable(*addr))
            .collect()
    }

    /// The network that the source is wanted to be of.
    fn source_net(&self) -> Option<Net> {
        let test = self.tests.iter().find(|test| !test.inverted && self.is_address(test.of, "saddr"))?;
        let [span] = test.spans.as_slice() else { return None };
        let ty = test.of.ty()?;
        let free = (span.high - span.low).checked_add(1)?;
        let len = u32::from(ty.bits()).checked_sub(free.is_power_of_two().then(|| free.trailing_zeros())?)?;
        Net::prefix(address(ty, span.low)?, len as u8)
    }

    fn is_address(&self, expr: &Expr, name: &str) -> bool {
        let own = match self.family {
            Family::V4 => Proto::Ip,
            Family::V6 => Proto::Ip6,
        };
        matches!(expr, Expr::Payload(Payload::Field { proto, field }) if *proto == own && field.name == name)
    }
}

fn is_dport(expr: &Expr) -> bool {
    matches!(expr, Expr::Payload(Payload::Field { field, .. }) if field.name == "dport")
}

fn address(ty: Type, value: u128) -> Option<IpAddr> {
    match ty {
        Type::Ipv4Addr => Some(std::net::Ipv4Addr::from_bits(value as u32).into()),
        Type::Ipv6Addr => Some(std::net::Ipv6Addr::from_bits(value).into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
