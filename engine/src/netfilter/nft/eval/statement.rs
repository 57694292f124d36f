//! What each statement does.

use super::{Flow, Stop, Walk};
use crate::netfilter::Verdict;
use crate::netfilter::nft::expr::L3;
use crate::netfilter::nft::object::{ObjectBody, ObjectKind};
use crate::netfilter::nft::set::ElementStmt;
use crate::netfilter::nft::stmt::{Log, LogLevel, RejectWith, Statement};
use crate::netfilter::xt;
use crate::packet::{Family, Skb, proto};
use crate::trace::TraceKind;

impl Statement {
    /// Whether it only asks: what breaks off or goes on, and changes nothing.
    pub(super) const fn is_test(&self) -> bool {
        matches!(self, Self::Match { .. })
    }
}

impl<'a> Walk<'a, '_, '_> {
    pub(super) fn statement(&mut self, statement: &'a Statement, skb: &mut Skb) -> Result<Flow, Stop> {
        match statement {
            Statement::Match { left, op, right } => self.compare(left, *op, right, skb),
            Statement::Counter { slot } => self.rated(&ElementStmt::Counter, *slot, skb),
            Statement::Limit { limit, slot } => self.rated(&ElementStmt::Limit(*limit), *slot, skb),
            Statement::Quota { quota, slot } => self.rated(&ElementStmt::Quota(*quota), *slot, skb),
            Statement::CtCount { over, count, slot } => {
                self.rated(&ElementStmt::CtCount { over: *over, count: *count }, *slot, skb)
            }
            Statement::Last { slot } => self.rated(&ElementStmt::Last, *slot, skb),
            Statement::Object { kind, name } => {
                let name = self.object_name(name, skb)?;
                self.named_object(*kind, &name, skb)
            }
            Statement::Log(log) => {
                self.log(log, skb);
                Ok(Flow::Next)
            }
            Statement::Reject(with) => reject(*with, skb),
            Statement::Nat(nat) => self.nat(nat, skb),
            Statement::Notrack => Ok(self.notrack(skb)),
            Statement::Queue(queue) => {
                if let Some(to) = &queue.to {
                    self.value(to, skb)?;
                }
                // Nobody listens.
                Ok(Flow::Verdict(if queue.bypass { Verdict::Accept } else { Verdict::Queue }))
            }
            Statement::SetElement { .. } => self.set_element(statement, skb),
            Statement::MetaSet { key, value } => self.meta_set(*key, value, skb),
            Statement::CtSet { key, direction, value } => self.ct_set(*key, *direction, value, skb),
            Statement::PayloadSet { field, value } => self.payload_set(field, value, skb),
            Statement::ExthdrSet { field, value } => self.exthdr_set(field, value.as_ref(), skb),
            Statement::Verdict(verdict) => Ok(Flow::from(verdict)),
            Statement::VerdictMap { key, map } => self.verdict_map(key, map, skb),
            Statement::Foreign { name, .. } => Err(Stop::Unknown(name)),
        }
    }

    fn rated(
        &mut self,
        kind: &ElementStmt,
        slot: crate::netfilter::nft::Slot,
        skb: &Skb,
    ) -> Result<Flow, Stop> {
        self.rate(kind, slot, skb).map(|()| Flow::Next)
    }

    fn named_object(
        &mut self,
        kind: ObjectKind,
        name: &std::sync::Arc<str>,
        skb: &Skb,
    ) -> Result<Flow, Stop> {
        let Some(object) = self.object(kind, name) else { return Err(Stop::Break) };
        let slot = object.slot;
        match &object.body {
            ObjectBody::Counter => self.rated(&ElementStmt::Counter, slot, skb),
            ObjectBody::Quota(quota) => self.rated(&ElementStmt::Quota(*quota), slot, skb),
            ObjectBody::Limit(limit) => self.rated(&ElementStmt::Limit(*limit), slot, skb),
            ObjectBody::CtHelper { .. } => {
                self.note("ct helper: helpers are not emulated, so nothing is expected".to_owned());
                Ok(Flow::Next)
            }
            ObjectBody::Foreign { kind, .. } => Err(Stop::Unknown(kind.name())),
        }
    }

    fn note(&mut self, text: String) {
        self.cx.trace.record(self.cx.now, || TraceKind::Note { text });
    }

    fn log(&mut self, log: &Log, skb: &Skb) {
        if !self.cx.trace.on() {
            return;
        }
        let prefix = log.prefix.as_deref().unwrap_or("");
        let text = match (log.group, log.level) {
            (Some(group), _) => {
                let line = xt::packet_line(self.cx, skb, prefix, log.flags);
                format!("to netlink group {group}: {line}")
            }
            (None, Some(LogLevel::Audit)) => format!("audit log: {prefix}"),
            (None, _) => format!("kernel log: {}", xt::packet_line(self.cx, skb, prefix, log.flags)),
        };
        self.note(text);
    }
}

/// `nft_reject_inet_eval`. `nft` puts the test for the family, or for TCP, in front.
fn reject(with: RejectWith, skb: &Skb) -> Result<Flow, Stop> {
    let v4 = skb.family() == Family::V4;
    let icmp = |code| xt::RejectWith::Icmp { kind: if v4 { 3 } else { 1 }, code };
    let answer = match with {
        RejectWith::TcpReset if skb.packet.ip.proto == proto::TCP => xt::RejectWith::TcpReset,
        RejectWith::Icmp(code) if v4 => icmp(code),
        RejectWith::Icmpv6(code) if !v4 => icmp(code),
        // no-route, port-unreachable, host-unreachable, admin-prohibited.
        RejectWith::Icmpx(code) => {
            let codes = if v4 { [0, 3, 1, 13] } else { [0, 4, 3, 1] };
            icmp(codes.get(usize::from(code)).copied().unwrap_or(0))
        }
        RejectWith::TcpReset | RejectWith::Icmp(_) | RejectWith::Icmpv6(_) => return Err(Stop::Break),
    };
    Ok(Flow::Verdict(Verdict::Reject(answer)))
}

impl L3 {
    pub(super) const fn family(self) -> Family {
        match self {
            Self::Ip => Family::V4,
            Self::Ip6 => Family::V6,
        }
    }
}
