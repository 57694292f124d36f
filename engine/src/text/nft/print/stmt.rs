//! How statements print.

use std::fmt::Write as _;
use std::sync::Arc;

use super::{Printer, expr};
use crate::netfilter::nft::set::ElementStmt;
use crate::netfilter::nft::stmt::ObjectRef;
use crate::netfilter::nft::{
    BinaryOp, Expr, Limit, Log, MatchOp, Nat, ObjectKind, Queue, Quota, RejectWith, Span, Statement,
    StmtState, TableFamily, Type, Verdict,
};
use crate::text::nft::read::lower::prefix_len;
use crate::text::nft::symbols::{self, Radix};

/// Burst of a limit by packets when none is stated.
const BURST_DEFAULT: u32 = 5;

impl Printer<'_> {
    pub(super) fn statement(&self, out: &mut String, statement: &Statement, depth: usize) {
        let stateless = self.options.stateless;
        match statement {
            Statement::Match { left, op, right } => self.comparison(out, left, *op, right),
            Statement::Counter { slot } => match self.state.get(*slot) {
                StmtState::Counter(counters) if !stateless => {
                    let _ = write!(out, "counter packets {} bytes {}", counters.packets, counters.bytes);
                }
                _ => out.push_str("counter"),
            },
            Statement::Limit { limit: l, .. } => {
                out.push_str("limit ");
                limit(out, l);
            }
            Statement::Quota { quota: q, slot } => {
                out.push_str("quota ");
                quota(out, q, self.state.get(*slot), stateless);
            }
            Statement::CtCount { over, count, .. } => {
                let _ = write!(out, "ct count {}{count}", if *over { "over " } else { "" });
            }
            Statement::Last { .. } => out.push_str("last"),
            Statement::Object { kind, name } => self.object_ref(out, *kind, name),
            Statement::Log(log) => self::log(out, log),
            Statement::Reject(with) => self.reject(out, *with),
            Statement::Nat(nat) => self.nat(out, nat),
            Statement::Notrack => out.push_str("notrack"),
            Statement::Queue(queue) => self.queue(out, queue),
            Statement::SetElement { op, set, key, timeout, with, data } => {
                let _ = write!(out, "{} @{set} {{ ", op.name());
                self.expr(out, key);
                if let Some(ms) = timeout {
                    out.push_str(" timeout ");
                    symbols::print_span(out, *ms);
                }
                for kind in with.iter().filter_map(ElementStmt::of) {
                    out.push(' ');
                    self.element_stmt(out, kind, None);
                }
                if let Some(data) = data {
                    out.push_str(" : ");
                    self.expr(out, data);
                }
                out.push_str(" }");
            }
            Statement::MetaSet { key, value } => {
                let _ = write!(out, "meta {} set ", expr::meta_name(*key));
                self.expr(out, value);
            }
            Statement::CtSet { key, direction, value } => {
                out.push_str("ct ");
                if let Some(direction) = direction {
                    let _ = write!(out, "{} ", direction.name());
                }
                let _ = write!(out, "{} set ", key.name());
                match value {
                    Expr::Value { ty, value } if ty.is_bitmask() => symbols::bits(out, *ty, *value, ","),
                    value => self.expr(out, value),
                }
            }
            Statement::PayloadSet { field, value } => {
                expr::payload(out, field);
                out.push_str(" set ");
                let raw = matches!(field, crate::netfilter::nft::Payload::Raw { .. });
                self.expr_in(out, value, if raw { Radix::Hex } else { Radix::Decimal });
            }
            Statement::ExthdrSet { field, value } => {
                if value.is_none() {
                    out.push_str("reset ");
                }
                expr::exthdr(out, field);
                if let Some(value) = value {
                    out.push_str(" set ");
                    self.expr(out, value);
                }
            }
            Statement::Verdict(verdict) => self.verdict(out, verdict, depth),
            Statement::VerdictMap { key, map } => {
                self.expr(out, key);
                out.push_str(" vmap ");
                self.set_ref(out, map, key);
            }
            Statement::Foreign { text, .. } => out.push_str(text),
        }
    }

    /// A verdict; a chain written in place follows in braces.
    pub(super) fn verdict(&self, out: &mut String, verdict: &Verdict, depth: usize) {
        match verdict {
            Verdict::Accept => out.push_str("accept"),
            Verdict::Drop => out.push_str("drop"),
            Verdict::Continue => out.push_str("continue"),
            Verdict::Return => out.push_str("return"),
            Verdict::Jump(chain) => self.target(out, "jump", chain, depth),
            Verdict::Goto(chain) => self.target(out, "goto", chain, depth),
        }
    }

    fn target(&self, out: &mut String, word: &str, name: &Arc<str>, depth: usize) {
        match self.table.chains.get(name).filter(|c| c.anonymous) {
            Some(chain) => {
                let _ = writeln!(out, "{word} {{");
                for rule in &chain.rules {
                    out.push_str(&"\t".repeat(depth + 1));
                    self.rule(out, rule, depth + 1);
                    out.push('\n');
                }
                out.push_str(&"\t".repeat(depth));
                out.push('}');
            }
            None => {
                let _ = write!(out, "{word} {name}");
            }
        }
    }

    fn comparison(&self, out: &mut String, left: &Expr, op: MatchOp, right: &Expr) {
        let radix = if expr::reads_raw(left) { Radix::Hex } else { Radix::Decimal };
        if let (Expr::Binary { op: BinaryOp::And, left: field, right: mask }, MatchOp::Eq | MatchOp::Ne) =
            (left, op)
            && let (Expr::Value { ty, value: mask }, Expr::Value { value, .. }) = (&**mask, right)
            && ty.is_bitmask()
            && mask.count_ones() > 1
        {
            // `tcp flags syn / fin,syn,rst,ack`.
            self.expr(out, field);
            out.push_str(if op == MatchOp::Ne { " != " } else { " " });
            symbols::bits(out, *ty, *value, ",");
            out.push_str(" / ");
            symbols::bits(out, *ty, *mask, ",");
            return;
        }
        self.expr_in(out, left, radix);
        if let (MatchOp::AnyBit | MatchOp::NoBit, Expr::Value { ty, value }) = (op, right) {
            out.push_str(if op == MatchOp::NoBit { " ! " } else { " " });
            symbols::bits(out, *ty, *value, ",");
            return;
        }
        let bitmask = matches!(right, Expr::Value { ty, .. } if ty.is_bitmask());
        let sign = match op {
            MatchOp::Eq if bitmask || matches!(left, Expr::Binary { .. }) => "== ",
            MatchOp::Eq | MatchOp::AnyBit => "",
            MatchOp::Ne => "!= ",
            MatchOp::Lt => "< ",
            MatchOp::Gt => "> ",
            MatchOp::Le => "<= ",
            MatchOp::Ge => ">= ",
            MatchOp::NoBit => "! ",
        };
        let _ = write!(out, " {sign}");
        match right {
            // Several bits of a header field print as a number, those of a connection by name.
            Expr::Value { ty: Type::TcpFlag, value } if value.count_ones() != 1 => {
                let _ = write!(out, "0x{value:x}");
            }
            right => self.expr_in(out, right, radix),
        }
    }

    fn object_ref(&self, out: &mut String, kind: ObjectKind, name: &ObjectRef) {
        out.push_str(match kind {
            ObjectKind::Counter => "counter name ",
            ObjectKind::Quota => "quota name ",
            ObjectKind::Limit => "limit name ",
            ObjectKind::Secmark => "meta secmark set ",
            ObjectKind::Synproxy => "synproxy name ",
            ObjectKind::CtHelper => "ct helper set ",
            ObjectKind::CtTimeout => "ct timeout set ",
            ObjectKind::CtExpectation => "ct expectation set ",
        });
        match name {
            ObjectRef::Named(name) => {
                let _ = write!(out, "\"{name}\"");
            }
            ObjectRef::Map { key, map } => {
                self.expr(out, key);
                out.push_str(" map ");
                self.set_ref(out, map, key);
            }
        }
    }

    fn reject(&self, out: &mut String, with: RejectWith) {
        out.push_str("reject");
        let default = match self.table.family {
            TableFamily::Ip => RejectWith::Icmp(3),
            TableFamily::Ip6 => RejectWith::Icmpv6(4),
            _ => RejectWith::Icmpx(1),
        };
        if with == default {
            return;
        }
        let mut code = |name: &str, ty: Type, code: u8| {
            let _ = write!(out, " with {name} ");
            symbols::print(out, ty, code.into(), Radix::Decimal);
        };
        match with {
            RejectWith::TcpReset => out.push_str(" with tcp reset"),
            RejectWith::Icmp(c) => code("icmp", Type::IcmpCode, c),
            RejectWith::Icmpv6(c) => code("icmpv6", Type::Icmpv6Code, c),
            RejectWith::Icmpx(c) => code("icmpx", Type::IcmpxCode, c),
        }
    }

    fn nat(&self, out: &mut String, nat: &Nat) {
        out.push_str(nat.kind.name());
        if let Some(family) = nat.family {
            let _ = write!(out, " {}", family.name());
        }
        if nat.prefix {
            out.push_str(" prefix");
        }
        if nat.addr.is_some() || nat.port.is_some() {
            out.push_str(" to");
        }
        if let Some(addr) = &nat.addr {
            out.push(' ');
            let bracket = nat.port.is_some();
            match addr {
                Expr::Range { ty, low, high } => {
                    let span = Span { low: *low, high: *high };
                    match prefix_len(*ty, span) {
                        Some(len) => {
                            symbols::print(out, *ty, *low, Radix::Decimal);
                            let _ = write!(out, "/{len}");
                        }
                        None => {
                            address(out, *ty, *low, bracket);
                            out.push('-');
                            address(out, *ty, *high, bracket);
                        }
                    }
                }
                Expr::Value { ty, value } => address(out, *ty, *value, bracket),
                other => self.expr(out, other),
            }
        }
        if let Some(port) = &nat.port {
            out.push_str(if nat.addr.is_some() { ":" } else { " :" });
            self.expr(out, port);
        }
        let flags =
            [(nat.random, "random"), (nat.fully_random, "fully-random"), (nat.persistent, "persistent")];
        let flags: Vec<&str> = flags.into_iter().filter(|(on, _)| *on).map(|(_, name)| name).collect();
        if !flags.is_empty() {
            let _ = write!(out, " {}", flags.join(","));
        }
    }

    fn queue(&self, out: &mut String, queue: &Queue) {
        out.push_str("queue");
        match (queue.bypass, queue.fanout) {
            (true, true) => out.push_str(" flags bypass,fanout"),
            (true, false) => out.push_str(" flags bypass"),
            (false, true) => out.push_str(" flags fanout"),
            (false, false) => {}
        }
        out.push_str(" to ");
        match &queue.to {
            Some(to) => self.expr(out, to),
            None => out.push('0'),
        }
    }
}

/// An address, of IPv6 in brackets where a port follows.
fn address(out: &mut String, ty: Type, value: u128, bracket: bool) {
    let bracket = bracket && ty == Type::Ipv6Addr;
    if bracket {
        out.push('[');
    }
    symbols::print(out, ty, value, Radix::Decimal);
    if bracket {
        out.push(']');
    }
}

fn log(out: &mut String, log: &Log) {
    out.push_str("log");
    if let Some(prefix) = &log.prefix {
        let _ = write!(out, " prefix \"{prefix}\"");
    }
    if let Some(group) = log.group {
        let _ = write!(out, " group {group}");
    }
    if let Some(snaplen) = log.snaplen {
        let _ = write!(out, " snaplen {snaplen}");
    }
    if let Some(threshold) = log.queue_threshold {
        let _ = write!(out, " queue-threshold {threshold}");
    }
    if let Some(level) = log.level {
        let _ = write!(out, " level {}", level.name());
    }
    /// `NF_LOG_MASK`.
    const ALL: u8 = 47;
    if log.flags == ALL {
        out.push_str(" flags all");
        return;
    }
    match log.flags & 3 {
        1 => out.push_str(" flags tcp sequence"),
        2 => out.push_str(" flags tcp options"),
        3 => out.push_str(" flags tcp sequence,options"),
        _ => {}
    }
    for (bit, name) in [(4, "ip options"), (8, "skuid"), (32, "ether")] {
        if log.flags & bit != 0 {
            let _ = write!(out, " flags {name}");
        }
    }
}

/// `rate over 10/second burst 3 packets`.
pub(super) fn limit(out: &mut String, limit: &Limit) {
    let over = if limit.over { "over " } else { "" };
    if limit.bytes {
        let (rate, unit) = volume(limit.rate);
        let _ = write!(out, "rate {over}{rate} {unit}/{}", limit.unit.name());
        if limit.burst > 0 {
            let (burst, unit) = volume(limit.burst.into());
            let _ = write!(out, " burst {burst} {unit}");
        }
        return;
    }
    let _ = write!(out, "rate {over}{}/{}", limit.rate, limit.unit.name());
    if limit.burst > 0 && limit.burst != BURST_DEFAULT {
        let _ = write!(out, " burst {} packets", limit.burst);
    }
}

/// `over 10 mbytes used 5 bytes`.
pub(super) fn quota(out: &mut String, quota: &Quota, state: &StmtState, stateless: bool) {
    let (bytes, unit) = volume(quota.bytes);
    let _ = write!(out, "{}{bytes} {unit}", if quota.over { "over " } else { "" });
    if let StmtState::Quota { used_bytes } = state
        && *used_bytes > 0
        && !stateless
    {
        let (used, unit) = volume(*used_bytes);
        let _ = write!(out, " used {used} {unit}");
    }
}

/// The largest unit that divides it.
pub(super) const fn volume(bytes: u64) -> (u64, &'static str) {
    if bytes > 0 && bytes.is_multiple_of(1 << 20) {
        (bytes >> 20, "mbytes")
    } else if bytes > 0 && bytes.is_multiple_of(1 << 10) {
        (bytes >> 10, "kbytes")
    } else {
        (bytes, "bytes")
    }
}
