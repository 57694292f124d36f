//! Statements: matches, changes, NAT, limits, logs. What they compare is `expr`.

use super::expr::{json_ct, json_exthdr, json_payload, spans, value};
use super::{array, fields, object, one_or_array, set_ones, text, wrap};
use crate::netfilter::nft::set::ElementStmt;
use crate::netfilter::nft::stmt::ObjectRef;
use crate::netfilter::nft::{
    Expr, Limit, Log, MatchOp, Nat, ObjectKind, Quota, RejectWith, SetRef, Span, Statement, StmtState, Type,
};
use crate::text::nft::print::{Printer, expr, stmt};

impl Printer<'_> {
    pub(super) fn json_statement(&self, statement: &Statement) -> String {
        match statement {
            Statement::Match { left, op, right } => self.json_match(left, *op, right),
            Statement::Counter { slot } => {
                let state = self.state.get(*slot);
                self.json_element_stmt(ElementStmt::Counter, Some(state))
            }
            Statement::Limit { limit, .. } => json_limit(limit),
            Statement::Quota { quota, slot } => json_quota(quota, self.state.get(*slot)),
            Statement::CtCount { over, count, .. } => json_ct_count(*over, *count),
            Statement::Last { .. } => wrap("last", "null"),
            Statement::Object { kind, name } => {
                let key = match kind {
                    ObjectKind::CtExpectation => "ct expectation",
                    kind => kind.name(),
                };
                let value = match name {
                    ObjectRef::Named(name) => text(name),
                    ObjectRef::Map { key, map } => self.json_map("map", key, map),
                };
                wrap(key, &value)
            }
            Statement::Log(log) => json_log(log),
            Statement::Reject(with) => {
                let (kind, ty, code) = match with {
                    RejectWith::TcpReset => return object("reject", &[("type", text("tcp reset"))]),
                    RejectWith::Icmp(code) => ("icmp", Type::IcmpCode, *code),
                    RejectWith::Icmpv6(code) => ("icmpv6", Type::Icmpv6Code, *code),
                    RejectWith::Icmpx(code) => ("icmpx", Type::IcmpxCode, *code),
                };
                object("reject", &[("type", text(kind)), ("expr", value(ty, code.into()))])
            }
            Statement::Nat(nat) => self.json_nat(nat),
            Statement::Notrack => wrap("notrack", "null"),
            Statement::Queue(queue) => {
                let to = queue.to.as_ref().map_or("0".to_owned(), |to| self.json_expr(to));
                let mut inside = vec![("num", to)];
                let flags = set_ones(&[(queue.bypass, "bypass"), (queue.fanout, "fanout")]);
                if !flags.is_empty() {
                    inside.push(("flags", one_or_array(&flags)));
                }
                object("queue", &inside)
            }
            Statement::SetElement { data: Some(_), .. } => {
                let mut out = String::new();
                self.statement(&mut out, statement, 2);
                text(&out)
            }
            Statement::SetElement { op, set, key, timeout, with, data: None } => {
                let mut element = self.json_expr(key);
                if let Some(ms) = timeout {
                    element = object("elem", &[("val", element), ("timeout", (ms / 1000).to_string())]);
                }
                let mut inside =
                    vec![("op", text(op.name())), ("elem", element), ("set", text(&format!("@{set}")))];
                let with: Vec<String> = with
                    .iter()
                    .filter_map(ElementStmt::of)
                    .map(|k| self.json_element_stmt(k, None))
                    .collect();
                if !with.is_empty() {
                    inside.push(("stmt", array(&with)));
                }
                object("set", &inside)
            }
            Statement::MetaSet { key, value } => {
                let key = object("meta", &[("key", text(expr::meta_name(*key)))]);
                object("mangle", &[("key", key), ("value", self.json_expr(value))])
            }
            Statement::CtSet { key, direction, value } => {
                let key = json_ct(key.name(), *direction);
                object("mangle", &[("key", key), ("value", self.json_expr(value))])
            }
            Statement::PayloadSet { field, value } => {
                object("mangle", &[("key", json_payload(field)), ("value", self.json_expr(value))])
            }
            Statement::ExthdrSet { field, value: Some(value) } => {
                object("mangle", &[("key", json_exthdr(field)), ("value", self.json_expr(value))])
            }
            Statement::ExthdrSet { field, value: None } => wrap("reset", &json_exthdr(field)),
            Statement::Verdict(verdict) => self.json_verdict(verdict),
            Statement::VerdictMap { key, map } => wrap("vmap", &self.json_map_inside(key, map)),
            Statement::Foreign { text: foreign, .. } => text(foreign),
        }
    }

    pub(super) fn json_match(&self, left: &Expr, op: MatchOp, right: &Expr) -> String {
        let sign = match op {
            MatchOp::Eq => "==",
            MatchOp::Ne => "!=",
            MatchOp::Lt => "<",
            MatchOp::Gt => ">",
            MatchOp::Le => "<=",
            MatchOp::Ge => ">=",
            MatchOp::AnyBit => "in",
            MatchOp::NoBit => "!",
        };
        let right = match right {
            Expr::Value { ty: Type::TcpFlag, value }
                if value.count_ones() != 1
                    && matches!(op, MatchOp::Eq | MatchOp::Ne)
                    && !matches!(left, Expr::Binary { .. }) =>
            {
                value.to_string()
            }
            right => self.json_expr(right),
        };
        object("match", &[("op", text(sign)), ("left", self.json_expr(left)), ("right", right)])
    }

    pub(super) fn json_map(&self, word: &str, key: &Expr, map: &SetRef) -> String {
        wrap(word, &self.json_map_inside(key, map))
    }

    pub(super) fn json_map_inside(&self, key: &Expr, map: &SetRef) -> String {
        fields(&[("key", self.json_expr(key)), ("data", self.json_set_ref(map))])
    }

    pub(super) fn json_set_ref(&self, set: &SetRef) -> String {
        match set {
            SetRef::Named(name) => text(&format!("@{name}")),
            SetRef::Anonymous(set) => {
                wrap("set", &array(&self.json_elements(&set.elements, &set.key, &set.data, set.interval)))
            }
        }
    }

    pub(super) fn json_nat(&self, nat: &Nat) -> String {
        let mut inside = Vec::new();
        if let Some(family) = nat.family {
            inside.push(("family", text(family.name())));
        }
        match &nat.addr {
            // A range that is a prefix is printed as one.
            Some(Expr::Range { ty, low, high }) => {
                inside.push(("addr", spans(&[Span { low: *low, high: *high }], &[*ty])));
            }
            Some(addr) => inside.push(("addr", self.json_expr(addr))),
            None => {}
        }
        if let Some(port) = &nat.port {
            inside.push(("port", self.json_expr(port)));
        }
        let flags = set_ones(&[
            (nat.random, "random"),
            (nat.fully_random, "fully-random"),
            (nat.persistent, "persistent"),
            (nat.prefix, "netmap"),
        ]);
        if !flags.is_empty() {
            inside.push(("flags", one_or_array(&flags)));
        }
        if nat.prefix {
            inside.push(("type_flags", text("prefix")));
        }
        if inside.is_empty() { wrap(nat.kind.name(), "null") } else { object(nat.kind.name(), &inside) }
    }
}

pub(super) fn json_limit(limit: &Limit) -> String {
    let (rate, rate_unit) = if limit.bytes { stmt::volume(limit.rate) } else { (limit.rate, "packets") };
    let (burst, burst_unit) =
        if limit.bytes { stmt::volume(limit.burst.into()) } else { (limit.burst.into(), "packets") };
    let mut inside =
        vec![("rate", rate.to_string()), ("burst", burst.to_string()), ("per", text(limit.unit.name()))];
    if limit.over {
        inside.push(("inv", "true".to_owned()));
    }
    if limit.bytes {
        inside.push(("rate_unit", text(rate_unit)));
        inside.push(("burst_unit", text(burst_unit)));
    }
    object("limit", &inside)
}

pub(super) fn json_quota(quota: &Quota, state: &StmtState) -> String {
    let (bytes, unit) = stmt::volume(quota.bytes);
    let mut inside = vec![("val", bytes.to_string()), ("val_unit", text(unit))];
    if quota.over {
        inside.push(("inv", "true".to_owned()));
    }
    if let StmtState::Quota { used_bytes } = state
        && *used_bytes > 0
    {
        let (used, unit) = stmt::volume(*used_bytes);
        inside.push(("used", used.to_string()));
        inside.push(("used_unit", text(unit)));
    }
    object("quota", &inside)
}

pub(super) fn json_ct_count(over: bool, count: u32) -> String {
    let mut inside = vec![("val", count.to_string())];
    if over {
        inside.push(("inv", "true".to_owned()));
    }
    object("ct count", &inside)
}

pub(super) fn json_log(log: &Log) -> String {
    let mut inside = Vec::new();
    if let Some(prefix) = &log.prefix {
        inside.push(("prefix", text(prefix)));
    }
    if let Some(group) = log.group {
        inside.push(("group", group.to_string()));
    }
    if let Some(snaplen) = log.snaplen {
        inside.push(("snaplen", snaplen.to_string()));
    }
    if let Some(threshold) = log.queue_threshold {
        inside.push(("queue-threshold", threshold.to_string()));
    }
    if let Some(level) = log.level {
        inside.push(("level", text(level.name())));
    }
    let flags: Vec<String> = if log.flags == 47 {
        vec![text("all")]
    } else {
        [(1, "tcp sequence"), (2, "tcp options"), (4, "ip options"), (8, "skuid"), (32, "ether")]
            .into_iter()
            .filter(|(bit, _)| log.flags & bit != 0)
            .map(|(_, name)| text(name))
            .collect()
    };
    if !flags.is_empty() {
        inside.push(("flags", one_or_array(&flags)));
    }
    if inside.is_empty() { wrap("log", "null") } else { object("log", &inside) }
}
