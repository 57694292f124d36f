//! Rules: statements one after the other, in the context of their table.

use std::sync::Arc;

use super::cursor::{Cursor, Stretch};
use super::elements::{self, span_of};
use super::lower;
use crate::netfilter::nft::expr::{Payload, PayloadBase};
use crate::netfilter::nft::{
    AnonymousSet, Elements, Expr, L3, MatchOp, NatKind, NftState, Proto, SetData, SetRef, Span, Statement,
    StmtState, Table, TableFamily, Type, Verdict,
};
use crate::text::diag::Place;
use crate::text::nft::fault::Fault;
use crate::text::nft::lex::{Kind, Token};
use crate::text::nft::symbols;

/// Deepest nesting of chains written in place.
const NESTING_MAX: u32 = 16;

/// A rule as read: its statements in the form that listings print.
#[derive(Clone, Debug)]
pub(in crate::text::nft) struct ReadRule {
    pub(in crate::text::nft) statements: Vec<Statement>,
    pub(in crate::text::nft) comment: Option<Box<str>>,
    pub(in crate::text::nft) line: u32,
    /// Chains written in place, by the name they get, before the rule that jumps to them.
    pub(in crate::text::nft) inline: Vec<(Arc<str>, Vec<ReadRule>)>,
    /// Sets written in place: each takes a handle.
    pub(in crate::text::nft) sets_in_place: u32,
    /// Named chains it jumps to and where they stand in the text.
    pub(in crate::text::nft) targets: Vec<(Arc<str>, Place)>,
}

/// What the statements before tell of the packet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known {
    pub(super) l3: Option<L3>,
    /// Protocol number.
    pub(super) l4: Option<u8>,
    /// Some transport protocol was asked for, perhaps several.
    pub(super) any_l4: bool,
    pub(super) icmp_type: bool,
    /// One of several protocols that a set lists: none of them alone is known.
    pub(super) one_of: Option<u8>,
}

pub(in crate::text::nft) struct RuleReader<'c, 't, 'a> {
    pub(super) cur: Cursor<'t, 'a>,
    pub(super) table: &'c Table,
    pub(super) state: &'c mut NftState,
    pub(super) known: Known,
    pub(super) statements: Vec<Statement>,
    pub(super) inline: Vec<(Arc<str>, Vec<ReadRule>)>,
    /// Names of chains in place given so far in this transaction.
    pub(super) inline_names: &'c mut u32,
    pub(super) sets_in_place: u32,
    pub(super) targets: Vec<(Arc<str>, Place)>,
    pub(super) depth: u32,
    pub(super) resetting: bool,
    /// Elements of the last list in place, as written.
    pub(super) listed: usize,
}

/// Reads a rule.
pub(in crate::text::nft) fn rule<'a>(
    cur: Cursor<'_, 'a>,
    table: &Table,
    state: &mut NftState,
    inline_names: &mut u32,
    depth: u32,
) -> Result<ReadRule, Fault> {
    let line = cur.peek().place.line;
    let l3 = match table.family {
        TableFamily::Ip => Some(L3::Ip),
        TableFamily::Ip6 => Some(L3::Ip6),
        _ => None,
    };
    let mut reader = RuleReader {
        cur,
        table,
        state,
        known: Known { l3, ..Known::default() },
        statements: Vec::new(),
        inline: Vec::new(),
        inline_names,
        sets_in_place: 0,
        targets: Vec::new(),
        depth,
        resetting: false,
        listed: 0,
    };
    let comment = reader.all()?;
    let statements = lower::rule(reader.statements);
    Ok(ReadRule {
        statements,
        comment,
        line,
        inline: reader.inline,
        sets_in_place: reader.sets_in_place,
        targets: reader.targets,
    })
}

/// The expression of a `typeof` clause.
pub(in crate::text::nft) fn typeof_expr(
    cur: Cursor<'_, '_>,
    table: &Table,
    state: &mut NftState,
) -> Result<(Expr, usize), Fault> {
    let mut names = 0;
    let mut reader = RuleReader {
        cur,
        table,
        state,
        known: Known { any_l4: true, ..Known::default() },
        statements: Vec::new(),
        inline: Vec::new(),
        inline_names: &mut names,
        sets_in_place: 0,
        targets: Vec::new(),
        depth: 0,
        resetting: false,
        listed: 0,
    };
    let mut parts = Vec::new();
    loop {
        // Its parts are of different packets: `typeof ip saddr . ip6 saddr` is none's business here.
        reader.known = Known { any_l4: true, ..Known::default() };
        parts.push(reader.operators(None, 0)?);
        if !reader.cur.eat(".") {
            break;
        }
    }
    let at = reader.cur.index();
    let expr = if parts.len() == 1 { parts.swap_remove(0) } else { Expr::Concat(parts) };
    Ok((expr, at))
}

impl<'a> RuleReader<'_, '_, 'a> {
    pub(super) const fn family(&self) -> TableFamily {
        self.table.family
    }

    pub(super) const fn l3(&self) -> Option<L3> {
        self.known.l3
    }

    pub(super) const fn knows_l4(&self) -> bool {
        self.known.any_l4 || self.known.l4.is_some()
    }

    /// Whether the transport header is one with named fields, or perhaps one of several.
    pub(super) fn knows_header(&self) -> bool {
        match self.known.l4 {
            Some(number) => Proto::ALL.into_iter().any(|p| p.l4proto() == Some(number)),
            None => self.known.any_l4,
        }
    }

    pub(super) const fn resets(&self) -> bool {
        self.resetting
    }

    /// A field of `proto` is read: the packet is of that protocol, or the rule breaks off there.
    pub(super) fn needs(&mut self, proto: Proto, place: Place) -> Result<(), Fault> {
        let conflict =
            |a: &str, b: &str| Fault::at(place, format!("conflicting protocols specified: {a} vs. {b}"));
        let family = self.family();
        match proto {
            Proto::Ip | Proto::Ip6 => {
                let wanted = if proto == Proto::Ip { L3::Ip } else { L3::Ip6 };
                if self.known.l3.is_some_and(|known| known != wanted) {
                    let known = if wanted == L3::Ip { "ip6" } else { "ip" };
                    return Err(conflict(known, proto.name()));
                }
                if family == TableFamily::Arp {
                    return Err(conflict("arp", proto.name()));
                }
                self.known.l3 = Some(wanted);
            }
            Proto::Arp if !matches!(family, TableFamily::Arp | TableFamily::Bridge | TableFamily::Netdev) => {
                return Err(conflict(family.name(), "arp"));
            }
            Proto::Ether | Proto::Vlan | Proto::Arp | Proto::Th => {}
            _ => {
                let number = proto.l4proto();
                if let Some(known) = self.known.l4.or(self.known.one_of)
                    && (Some(known) != number || self.known.l4.is_none())
                {
                    let mut name = String::new();
                    symbols::print(&mut name, Type::InetProto, known.into(), symbols::Radix::Decimal);
                    return Err(conflict(&name, proto.name()));
                }
                self.known.l4 = number;
                self.known.any_l4 = true;
            }
        }
        Ok(())
    }

    pub(super) fn needs_ip6(&mut self, place: Place) -> Result<(), Fault> {
        if self.known.l3 == Some(L3::Ip) {
            return Err(Fault::at(place, "cannot use exthdr with ip"));
        }
        self.known.l3 = Some(L3::Ip6);
        Ok(())
    }

    /// Fields that only some messages of a protocol have bring a test with them.
    pub(super) fn needs_type(&mut self, proto: Proto, field: &str) {
        let test = |proto: Proto, ty: Type, types: [u128; 2]| {
            let field = proto.field("type")?;
            let mut elements = Elements::default();
            for value in types {
                let item = elements::Item {
                    key: Some([Span::one(value)].into()),
                    element: crate::netfilter::nft::Element {
                        data: None,
                        timeout: None,
                        expires: None,
                        comment: None,
                        state: Vec::new(),
                        sequence: 0,
                    },
                    expires: None,
                    place: Place::default(),
                };
                let never = elements::Overlap::Never;
                elements::add(&mut elements, item, crate::base::Instant::ZERO, never, None).ok()?;
            }
            let set = AnonymousSet { key: vec![ty], data: SetData::None, elements, interval: false };
            Some(Statement::Match {
                left: Expr::Payload(Payload::Field { proto, field }),
                op: MatchOp::Eq,
                right: Expr::Set(SetRef::Anonymous(Arc::new(set))),
            })
        };
        match (proto, field) {
            (Proto::Icmp | Proto::Icmpv6, "type") => self.known.icmp_type = true,
            (Proto::Icmp, "id" | "sequence") if !self.known.icmp_type => {
                self.statements.extend(test(Proto::Icmp, Type::IcmpType, [0, 8]));
                self.sets_in_place += 1;
                self.known.icmp_type = true;
            }
            (Proto::Icmpv6, "id" | "sequence") if !self.known.icmp_type => {
                self.statements.extend(test(Proto::Icmpv6, Type::Icmpv6Type, [128, 129]));
                self.sets_in_place += 1;
                self.known.icmp_type = true;
            }
            (Proto::Igmp, _) if self.known.l3.is_none() && self.family() == TableFamily::Inet => {
                self.statements.push(lower::nfproto(L3::Ip));
                self.known.l3 = Some(L3::Ip);
            }
            _ => {}
        }
    }

    /// Raw bytes that a known header has a name for are that field.
    pub(super) fn named(&self, base: PayloadBase, offset_bits: u16, bits: u16) -> Payload {
        let proto = match base {
            PayloadBase::Transport => match self.known.l4 {
                Some(number) => {
                    Proto::ALL.into_iter().find(|p| p.l4proto() == Some(number)).or(Some(Proto::Th))
                }
                None => Some(Proto::Th),
            },
            PayloadBase::Network => self.known.l3.map(|l3| match l3 {
                L3::Ip => Proto::Ip,
                L3::Ip6 => Proto::Ip6,
            }),
            PayloadBase::Link | PayloadBase::Inner => None,
        };
        let field = proto.and_then(|p| {
            p.fields().iter().find(|f| f.offset_bits == offset_bits && f.bits == bits).map(|f| (p, f))
        });
        match field {
            Some((proto, field)) => Payload::Field { proto, field },
            None => Payload::Raw { base, offset_bits, bits },
        }
    }

    /// Statements up to the end, and the comment.
    pub(super) fn all(&mut self) -> Result<Option<Box<str>>, Fault> {
        if self.cur.done() || self.cur.sees("comment") {
            return Err(self.cur.unexpected());
        }
        let mut terminal: Option<Place> = None;
        while !self.cur.done() {
            if self.cur.sees("comment") {
                self.cur.next();
                let comment = elements::comment(&mut self.cur)?;
                if !self.cur.done() {
                    return Err(self.cur.unexpected());
                }
                return Ok(Some(comment));
            }
            let start = self.cur.peek().place;
            let before = self.statements.len();
            self.statement()?;
            let place = span_of(start, self.cur.last_place());
            if terminal.is_some() {
                return Err(Fault::at(place, "Statement after terminal statement has no effect"));
            }
            if self.statements.len() > before && self.statements.last().is_some_and(is_terminal) {
                terminal = Some(place);
            }
        }
        Ok(None)
    }

    pub(super) fn statement(&mut self) -> Result<(), Fault> {
        let token = self.cur.peek();
        let statement = match token.text {
            _ if token.kind == Kind::Quoted => return Err(self.cur.unexpected()),
            "accept" | "drop" | "continue" | "return" | "jump" | "goto" => return self.verdict(),
            "counter" => self.counter()?,
            "limit" | "quota" => self.limited(token)?,
            "last" => {
                self.cur.next();
                if self.cur.eat("used") {
                    self.cur.string()?;
                }
                Statement::Last { slot: self.state.allocate(StmtState::Last(None)) }
            }
            "ct" if self.cur.peek_at(1).text == "count" => {
                self.cur.next();
                self.cur.next();
                let over = self.cur.eat("over");
                let count = self.cur.number(u32::MAX.into())? as u32;
                Statement::CtCount { over, count, slot: self.state.allocate(StmtState::CtCount(Vec::new())) }
            }
            "ct" if matches!(self.cur.peek_at(1).text, "helper" | "timeout" | "expectation")
                && self.cur.peek_at(2).text == "set" =>
            {
                self.ct_object()?
            }
            "log" => self.log()?,
            "reject" => self.reject()?,
            "dnat" => self.nat(NatKind::Dnat)?,
            "snat" => self.nat(NatKind::Snat)?,
            "masquerade" => self.nat(NatKind::Masquerade)?,
            "redirect" => self.nat(NatKind::Redirect)?,
            "notrack" => {
                self.cur.next();
                Statement::Notrack
            }
            "queue" => self.queue()?,
            "add" | "update" | "delete" => self.set_element()?,
            "set" => self.old_set_element()?,
            "reset" => {
                self.cur.next();
                if !(self.cur.sees("tcp") && self.cur.peek_at(1).text == "option") {
                    return Err(self.cur.unexpected());
                }
                self.resetting = true;
                let left = self.left();
                self.resetting = false;
                match left? {
                    Expr::Exthdr(field) => Statement::ExthdrSet { field, value: None },
                    _ => return Err(self.cur.unexpected()),
                }
            }
            "fwd" if self.family() != TableFamily::Netdev => return self.not_here("unsupported family"),
            "dup" if !matches!(self.family(), TableFamily::Ip | TableFamily::Ip6 | TableFamily::Netdev) => {
                return self.not_here("unsupported family");
            }
            "tproxy" if !self.knows_l4() => {
                return self.not_here("Transparent proxy support requires transport protocol match");
            }
            "dup" | "fwd" | "tproxy" | "synproxy" | "flow" | "xt" => self.foreign_statement(token)?,
            _ if self.sees_selector() || token.text == "(" => return self.selected(),
            _ if token.kind == Kind::Word && !token.text.is_empty() && !token.title().eq(token.text) => {
                let next = self.cur.peek_at(1);
                // A word alone is taken for a symbol with nothing to compare it with.
                return Err(if next.kind == Kind::Break || next.kind == Kind::End {
                    Fault::syntax(next.place, &format!("unexpected {}", next.title()))
                } else {
                    Fault::at(token.place, "No symbol type information")
                });
            }
            _ => return Err(self.cur.unexpected()),
        };
        self.statements.push(statement);
        Ok(())
    }

    pub(super) fn verdict(&mut self) -> Result<(), Fault> {
        let word = self.cur.peek().text;
        if matches!(word, "jump" | "goto")
            && self.cur.peek_at(1).text == "{"
            && self.cur.peek_at(1).kind == Kind::Mark
        {
            self.cur.next();
            let place = self.cur.next().place;
            if self.depth >= NESTING_MAX {
                return Err(Fault::at(place, "chains are nested too deeply"));
            }
            let name = self.inline_name();
            let mut rules = Vec::new();
            loop {
                self.cur.skip_breaks();
                if self.cur.eat("}") {
                    break;
                }
                if self.cur.done() {
                    return Err(self.cur.unexpected());
                }
                let stretch = self.cur.stretch();
                let inner = self.cur.within(stretch);
                let rule = rule(inner, self.table, self.state, self.inline_names, self.depth + 1)?;
                self.targets.extend(rule.targets.iter().cloned());
                rules.push(rule);
            }
            self.inline.push((Arc::clone(&name), rules));
            let verdict = if word == "jump" { Verdict::Jump(name) } else { Verdict::Goto(name) };
            self.statements.push(Statement::Verdict(verdict));
            return Ok(());
        }
        let start = self.cur.index();
        let Some(verdict) = elements::verdict(&mut self.cur)? else { return Err(self.cur.unexpected()) };
        if let Verdict::Jump(chain) | Verdict::Goto(chain) = &verdict {
            self.targets.push((Arc::clone(chain), self.cur.last_place()));
        }
        debug_assert!(self.cur.index() > start, "a verdict is at least a word");
        self.statements.push(Statement::Verdict(verdict));
        Ok(())
    }

    pub(super) fn inline_name(&mut self) -> Arc<str> {
        loop {
            let name: Arc<str> = format!("__chain{}", *self.inline_names).into();
            *self.inline_names += 1;
            if !self.table.chains.contains_key(&name) {
                return name;
            }
        }
    }
}

/// Whether nothing behind the statement is reached.
fn is_terminal(statement: &Statement) -> bool {
    match statement {
        Statement::Verdict(verdict) => !matches!(verdict, Verdict::Continue),
        Statement::Reject(_) | Statement::Nat(_) | Statement::Queue(_) => true,
        _ => false,
    }
}

/// A rule is what stands in a stretch.
pub(in crate::text::nft) fn rule_in(
    tokens: &[Token<'_>],
    stretch: Stretch,
    table: &Table,
    state: &mut NftState,
    inline_names: &mut u32,
) -> Result<ReadRule, Fault> {
    rule(Cursor::new(tokens, stretch), table, state, inline_names, 0)
}
