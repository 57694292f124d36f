//! Statements with words of their own: counters, limits, logs, refusals, queues, elements of sets.

use std::sync::Arc;

use super::elements::{self, span_of};
use super::limits;
use super::lower;
use super::rule::RuleReader;
use crate::netfilter::nft::set::ElementStmt;
use crate::netfilter::nft::stmt::ObjectRef;
use crate::netfilter::nft::{
    Expr, L3, Log, LogLevel, ObjectKind, Queue, RejectWith, SetData, SetOp, Slot, Statement, StmtState,
    TableFamily, Type,
};
use crate::text::diag::Place;
use crate::text::nft::fault::{Errno, Fault};
use crate::text::nft::lex::{Kind, Token};
use crate::text::nft::symbols;

impl RuleReader<'_, '_, '_> {
    /// Whether a statement begins here that is no match: where text of foreign things ends.
    pub(super) fn statement_begins(&self) -> bool {
        let token = self.cur.peek();
        token.kind == Kind::Word
            && matches!(
                token.text,
                "accept" | "drop" | "return" | "continue" | "jump" | "goto" | "counter" | "log" | "limit" | "reject"
                    | "meta" | "comment" | "tproxy" | "quota" | "notrack" | "queue" | "dnat" | "snat" | "ip" | "ip6" | "tcp"
                    | "udp" | "mark" if token.text != "mark" || self.cur.peek_at(1).text == "set"
            )
    }

    pub(super) fn foreign_statement(&mut self, token: Token<'_>) -> Result<Statement, Fault> {
        let name: &'static str = match token.text {
            "dup" => "dup",
            "fwd" => "fwd",
            "tproxy" => "tproxy",
            "synproxy" => "synproxy",
            "flow" => "flow",
            _ => "xt",
        };
        let from = self.cur.index();
        self.cur.next();
        while !self.cur.done() && !self.cur.sees("comment") && !self.statement_begins() {
            self.cur.next();
        }
        Ok(Statement::Foreign { name, text: self.cur.text_since(from) })
    }

    /// A statement that the tool refuses in this context; the message is about all of it.
    pub(super) fn not_here(&mut self, message: &str) -> Result<(), Fault> {
        let start = self.cur.next().place;
        while !self.cur.done() && !self.cur.sees("comment") && !self.statement_begins() {
            self.cur.next();
        }
        Err(Fault::at(span_of(start, self.cur.last_place()), message))
    }

    pub(super) fn counter(&mut self) -> Result<Statement, Fault> {
        self.cur.next();
        if self.cur.eat("name") {
            return self.object(ObjectKind::Counter);
        }
        let counters = limits::counter(&mut self.cur)?;
        Ok(Statement::Counter { slot: self.state.allocate(StmtState::Counter(counters)) })
    }

    pub(super) fn limited(&mut self, token: Token<'_>) -> Result<Statement, Fault> {
        self.cur.next();
        let is_limit = token.text == "limit";
        if self.cur.eat("name") {
            return self.object(if is_limit { ObjectKind::Limit } else { ObjectKind::Quota });
        }
        if is_limit {
            let limit = limits::limit(&mut self.cur)?;
            return Ok(Statement::Limit { limit, slot: self.state.allocate(StmtState::Limit(None)) });
        }
        let (quota, used_bytes) = limits::quota(&mut self.cur)?;
        Ok(Statement::Quota { quota, slot: self.state.allocate(StmtState::Quota { used_bytes }) })
    }

    /// Behind `counter name` and the like: a name, or a map to names.
    pub(super) fn object(&mut self, kind: ObjectKind) -> Result<Statement, Fault> {
        if self.sees_selector() {
            let key = self.left()?;
            self.cur.expect("map")?;
            let map = self.reference(&key, &SetData::Objects(kind))?;
            return Ok(Statement::Object { kind, name: ObjectRef::Map { key: Box::new(key), map } });
        }
        let token = self.cur.string()?;
        let name: Arc<str> = token.text.into();
        self.object_exists(kind, &name, token.place)?;
        Ok(Statement::Object { kind, name: ObjectRef::Named(name) })
    }

    pub(super) fn object_exists(&self, kind: ObjectKind, name: &Arc<str>, place: Place) -> Result<(), Fault> {
        if self.table.objects.contains_key(&(kind, Arc::clone(name))) {
            return Ok(());
        }
        Err(Fault::at(place, Errno::NoEntry.text()))
    }

    pub(super) fn ct_object(&mut self) -> Result<Statement, Fault> {
        self.cur.next();
        let kind = match self.cur.next().text {
            "helper" => ObjectKind::CtHelper,
            "timeout" => ObjectKind::CtTimeout,
            _ => ObjectKind::CtExpectation,
        };
        self.cur.next();
        self.object(kind)
    }

    pub(super) fn log(&mut self) -> Result<Statement, Fault> {
        self.cur.next();
        let mut log = Log::default();
        loop {
            let token = self.cur.peek();
            match token.text {
                _ if token.kind != Kind::Word || self.cur.done() => break,
                "prefix" => {
                    self.cur.next();
                    let prefix = self.cur.string().map_err(|fault| Fault {
                        message: format!(
                            "{}, expecting string or quoted string or string with a trailing asterisk",
                            fault.message
                        ),
                        ..fault
                    })?;
                    if prefix.text.len() > 127 {
                        return Err(Fault::at(
                            prefix.place,
                            "log prefix is too long, 127 characters maximum allowed",
                        ));
                    }
                    log.prefix = Some(prefix.text.into());
                }
                "level" => {
                    self.cur.next();
                    let level = self.cur.take(Kind::Word)?;
                    let found = LogLevel::ALL.into_iter().find(|l| l.name() == level.text);
                    log.level = Some(found.ok_or_else(|| Fault::at(level.place, "invalid log level"))?);
                }
                "group" => {
                    self.cur.next();
                    log.group = Some(self.cur.number(u16::MAX.into())? as u16);
                }
                "snaplen" => {
                    self.cur.next();
                    log.snaplen = Some(self.cur.number(u32::MAX.into())? as u32);
                }
                "queue-threshold" => {
                    self.cur.next();
                    log.queue_threshold = Some(self.cur.number(u16::MAX.into())? as u16);
                }
                "flags" => {
                    self.cur.next();
                    self.log_flags(&mut log)?;
                }
                _ => break,
            }
        }
        if log.level == Some(LogLevel::Warn) {
            log.level = None;
        }
        Ok(Statement::Log(log))
    }

    pub(super) fn log_flags(&mut self, log: &mut Log) -> Result<(), Fault> {
        let token = self.cur.take(Kind::Word)?;
        log.flags |= match token.text {
            "tcp" => {
                let mut flags = 0;
                loop {
                    flags |= match self.cur.take(Kind::Word)?.text {
                        "sequence" => 1,
                        "options" => 2,
                        _ => return Err(Fault::syntax(self.cur.last_place(), "unexpected string")),
                    };
                    if !self.cur.eat(",") {
                        break;
                    }
                }
                flags
            }
            "ip" => {
                self.cur.expect("options")?;
                4
            }
            "skuid" => 8,
            "ether" => 32,
            // `NF_LOG_MASK`.
            "all" => 47,
            _ => return Err(Fault::syntax(token.place, &format!("unexpected {}", token.title()))),
        };
        Ok(())
    }

    pub(super) fn reject(&mut self) -> Result<Statement, Fault> {
        let start = self.cur.next().place;
        let family = self.family();
        let default = match (family, self.known.l3) {
            (_, Some(L3::Ip)) => RejectWith::Icmp(3),
            (_, Some(L3::Ip6)) => RejectWith::Icmpv6(4),
            (_, None) => RejectWith::Icmpx(1),
        };
        if !self.cur.eat("with") {
            return Ok(Statement::Reject(default));
        }
        let token = self.cur.peek();
        let with = match token.text {
            "tcp" => {
                self.cur.next();
                self.cur.expect("reset")?;
                if self.known.l4.is_some_and(|l4| l4 != 6) {
                    return Err(Fault::at(start, "you cannot use tcp reset with this protocol"));
                }
                RejectWith::TcpReset
            }
            "icmp" | "icmpv6" | "icmpx" => {
                self.cur.next();
                self.cur.eat("type");
                let ty = match token.text {
                    "icmp" => Type::IcmpCode,
                    "icmpv6" => Type::Icmpv6Code,
                    _ => Type::IcmpxCode,
                };
                let place = self.cur.peek().place;
                let code = self.constant(ty)? as u8;
                match ty {
                    Type::IcmpCode if self.known.l3 == Some(L3::Ip6) => {
                        return Err(Fault::at(place, "conflicting protocols specified: ip6 vs ip"));
                    }
                    Type::Icmpv6Code if self.known.l3 == Some(L3::Ip) => {
                        return Err(Fault::at(place, "conflicting protocols specified: ip vs ip6"));
                    }
                    Type::IcmpxCode if matches!(family, TableFamily::Ip | TableFamily::Ip6) => {
                        return Err(Fault::at(place, "abstracted ICMP unreachable not supported"));
                    }
                    Type::IcmpCode => RejectWith::Icmp(code),
                    Type::Icmpv6Code => RejectWith::Icmpv6(code),
                    _ => RejectWith::Icmpx(code),
                }
            }
            _ => {
                let fault = self.cur.unexpected();
                let message = format!("{}, expecting icmp or icmpv6 or tcp or icmpx", fault.message);
                return Err(Fault { message, ..fault });
            }
        };
        // What the answer presupposes is tested first in the rule, unless it is known.
        match with {
            RejectWith::TcpReset if self.known.l4.is_none() => self.statements.insert(0, lower::l4proto(6)),
            RejectWith::Icmp(_) if self.known.l3.is_none() => {
                self.statements.insert(0, lower::nfproto(L3::Ip))
            }
            RejectWith::Icmpv6(_) if self.known.l3.is_none() => {
                self.statements.insert(0, lower::nfproto(L3::Ip6));
            }
            _ => {}
        }
        Ok(Statement::Reject(with))
    }

    pub(super) fn queue(&mut self) -> Result<Statement, Fault> {
        self.cur.next();
        let mut queue = Queue { to: None, bypass: false, fanout: false };
        if self.cur.eat("flags") {
            self.queue_flags(&mut queue)?;
        }
        let old = self.cur.eat("num");
        if old || self.cur.eat("to") {
            let ty = Type::Integer(16);
            if self.sees_selector() {
                let expr = self.left()?;
                queue.to = Some(if self.cur.eat("map") {
                    let map = self.map_ref(&expr, &[ty])?;
                    Expr::Map { key: Box::new(expr), map }
                } else {
                    expr
                });
            } else {
                let span = elements::span(&mut self.cur, ty)?;
                queue.to = Some(lower::span_expr(ty, span));
            }
        }
        if !self.cur.done() && (self.cur.sees("bypass") || self.cur.sees("fanout")) {
            self.queue_flags(&mut queue)?;
        }
        Ok(Statement::Queue(queue))
    }

    pub(super) fn queue_flags(&mut self, queue: &mut Queue) -> Result<(), Fault> {
        loop {
            match self.cur.take(Kind::Word)?.text {
                "bypass" => queue.bypass = true,
                "fanout" => queue.fanout = true,
                _ => return Err(Fault::syntax(self.cur.last_place(), "unexpected string")),
            }
            if !self.cur.eat(",") {
                return Ok(());
            }
        }
    }

    /// `add @set { key timeout 1m counter : data }`.
    pub(super) fn set_element(&mut self) -> Result<Statement, Fault> {
        let op = match self.cur.next().text {
            "add" => SetOp::Add,
            "update" => SetOp::Update,
            _ => SetOp::Delete,
        };
        self.cur.expect("@")?;
        let set = self.set_name()?;
        self.cur.expect("{")?;
        let start = self.cur.peek().place;
        let key = self.element_key(&set.key)?;
        let place = span_of(start, self.cur.last_place());
        self.same_types(&set, &key, place)?;
        let (timeout, with) = self.element_options()?;
        let data = if self.cur.eat(":") {
            let types = match &set.data {
                SetData::Values(types) => types.clone(),
                SetData::None | SetData::Verdict | SetData::Objects(_) => {
                    return Err(Fault::at(place, "set is not a map"));
                }
            };
            let Some(ty) = types.first() else { return Err(self.cur.unexpected()) };
            Some(self.value_of(*ty)?)
        } else {
            None
        };
        self.cur.expect("}")?;
        let name = Arc::clone(&set.name);
        Ok(Statement::SetElement { op, set: name, key, timeout, with, data })
    }

    /// The key of an element a packet makes: selectors, and constants of the set's types.
    pub(super) fn element_key(&mut self, types: &[Type]) -> Result<Expr, Fault> {
        let mut parts = Vec::new();
        loop {
            parts.push(self.operators(types.get(parts.len()).copied(), 0)?);
            if !self.cur.eat(".") {
                break;
            }
        }
        Ok(if parts.len() == 1 { parts.swap_remove(0) } else { Expr::Concat(parts) })
    }

    pub(super) fn element_options(&mut self) -> Result<(Option<u64>, Vec<Statement>), Fault> {
        let mut timeout = None;
        let mut with = Vec::new();
        loop {
            let token = self.cur.peek();
            match token.text {
                "timeout" => {
                    self.cur.next();
                    let token = self.cur.string()?;
                    let ms = symbols::parse_span(token.text);
                    timeout = Some(ms.ok_or_else(|| Fault::at(token.place, "Could not parse time"))?);
                }
                "comment" => return Err(Fault::at(token.place, "Key expression comments are not supported")),
                _ => match elements::stateful(&mut self.cur)? {
                    // A counter of new elements begins at zero.
                    Some(element) => with.push(element_statement(element.kind)),
                    None => return Ok((timeout, with)),
                },
            }
        }
    }

    /// `set add key @set`, the old form.
    pub(super) fn old_set_element(&mut self) -> Result<Statement, Fault> {
        self.cur.next();
        let op = match self.cur.take(Kind::Word)?.text {
            "add" => SetOp::Add,
            "update" => SetOp::Update,
            "delete" => SetOp::Delete,
            _ => return Err(Fault::syntax(self.cur.last_place(), "unexpected string")),
        };
        let start = self.cur.peek().place;
        let key = self.left()?;
        let place = span_of(start, self.cur.last_place());
        let (timeout, with) = self.element_options()?;
        self.cur.expect("@")?;
        let set = self.set_name()?;
        self.same_types(&set, &key, place)?;
        Ok(Statement::SetElement { op, set: Arc::clone(&set.name), key, timeout, with, data: None })
    }
}

/// The statement form of what elements carry, for listings: it has no state of its own.
fn element_statement(kind: ElementStmt) -> Statement {
    let slot = Slot(u32::MAX);
    match kind {
        ElementStmt::Counter => Statement::Counter { slot },
        ElementStmt::Limit(limit) => Statement::Limit { limit, slot },
        ElementStmt::Quota(quota) => Statement::Quota { quota, slot },
        ElementStmt::CtCount { over, count } => Statement::CtCount { over, count, slot },
        ElementStmt::Last => Statement::Last { slot },
    }
}
