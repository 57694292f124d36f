//! Matches, verdict maps and changes of fields: what begins with a selector.

use std::sync::Arc;

use super::elements::{self, span_of};
use super::lower;
use super::rule::RuleReader;
use crate::netfilter::nft::expr::{ExthdrField, Payload};
use crate::netfilter::nft::{
    BinaryOp, CtKey, Expr, L3, MatchOp, MetaKey, Proto, SetData, SetRef, Span, Statement, Type,
};
use crate::text::diag::Place;
use crate::text::nft::fault::{Errno, Fault};
use crate::text::nft::lex::Kind;
use crate::text::nft::symbols;

impl RuleReader<'_, '_, '_> {
    /// A statement that begins with a selector: a match, a verdict map, a change of a field.
    pub(super) fn selected(&mut self) -> Result<(), Fault> {
        let start = self.cur.peek().place;
        let left = self.left()?;
        let place = span_of(start, self.cur.last_place());
        if matches!(left, Expr::Meta(MetaKey::Nftrace)) && !self.cur.sees("set") {
            self.cur.next();
            return Err(Fault::kernel(span_of(start, self.cur.last_place()), Errno::NotSupported));
        }
        if let Expr::Foreign { name, text } = left {
            self.statements.push(Statement::Foreign { name, text });
            return Ok(());
        }
        if self.cur.eat("vmap") {
            let left = lower::fold(left);
            let map = self.reference(&left, &SetData::Verdict)?;
            self.statements.push(Statement::VerdictMap { key: left, map });
            return Ok(());
        }
        if self.cur.sees("set") {
            self.cur.next();
            return self.change(left, place);
        }
        // A field that 1.0.6 has a name for, but no sentence.
        let kind = matches!(
            left,
            Expr::Exthdr(ExthdrField::TcpOption { field: Some(field), .. }) if field.name == "kind"
        );
        let undirected =
            matches!(left, Expr::Ct { key: CtKey::ProtoSrc | CtKey::ProtoDst, direction: None, .. });
        let statement = self.comparison(left, place)?;
        if kind {
            return Err(self.cur.unexpected());
        }
        if undirected {
            return Err(Fault::kernel(place, Errno::Invalid));
        }
        self.learn(&statement);
        self.statements.push(statement);
        Ok(())
    }

    /// What a match tells of the packet.
    pub(super) fn learn(&mut self, statement: &Statement) {
        let Statement::Match { left, op: MatchOp::Eq, right } = statement else { return };
        let value = match right {
            Expr::Value { value, .. } => Some(*value),
            _ => None,
        };
        let l3 = |value: Option<u128>, ip: u128, ip6: u128| match value {
            Some(v) if v == ip => Some(L3::Ip),
            Some(v) if v == ip6 => Some(L3::Ip6),
            _ => None,
        };
        match left {
            // That of the connection counts where one knows of which family it is.
            Expr::Ct { key: CtKey::Protocol, .. } if self.known.l3.is_none() => {}
            Expr::Meta(MetaKey::L4proto) | Expr::Ct { key: CtKey::Protocol, .. } => {
                self.known.any_l4 = true;
                self.known.l4 = value.map(|v| v as u8).or(self.known.l4);
                self.known.one_of = one_of(right);
            }
            Expr::Meta(MetaKey::Nfproto) => self.known.l3 = self.known.l3.or(l3(value, 2, 10)),
            Expr::Meta(MetaKey::Protocol) => self.known.l3 = self.known.l3.or(l3(value, 0x800, 0x86dd)),
            Expr::Payload(Payload::Field { proto: Proto::Ether, field }) if field.name == "type" => {
                // The frame is heard before the table's family.
                self.known.l3 = l3(value, 0x800, 0x86dd).or(self.known.l3);
            }
            Expr::Payload(Payload::Field { proto: Proto::Ip | Proto::Ip6, field })
                if matches!(field.name, "protocol" | "nexthdr") =>
            {
                self.known.any_l4 = true;
                self.known.l4 = value.map(|v| v as u8).or(self.known.l4);
                self.known.one_of = one_of(right);
            }
            _ => {}
        }
    }

    pub(super) fn comparison(&mut self, left: Expr, place: Place) -> Result<Statement, Fault> {
        const OPS: [(&str, MatchOp); 12] = [
            ("==", MatchOp::Eq),
            ("eq", MatchOp::Eq),
            ("!=", MatchOp::Ne),
            ("ne", MatchOp::Ne),
            ("<=", MatchOp::Le),
            ("le", MatchOp::Le),
            (">=", MatchOp::Ge),
            ("ge", MatchOp::Ge),
            ("<", MatchOp::Lt),
            ("lt", MatchOp::Lt),
            (">", MatchOp::Gt),
            ("gt", MatchOp::Gt),
        ];
        let stated = OPS.into_iter().find(|(text, _)| self.cur.sees(text)).map(|(_, op)| op);
        if stated.is_some() {
            self.cur.next();
        }
        // What is shifted is a number to the tool, and a number no mark.
        let mismatch = left.ty().filter(|ty| is_shifted(&left) && !matches!(ty, Type::Integer(_)));
        let start = self.cur.peek().place;
        let statement = self.right_side(left, place, stated)?;
        match (mismatch, &statement) {
            (Some(ty), Statement::Match { right, .. }) if !matches!(right, Expr::Set(SetRef::Named(_))) => {
                let title = symbols::title(ty);
                let message = format!("datatype mismatch, expected {title}, expression has type integer");
                Err(Fault::at(span_of(start, self.cur.last_place()), message))
            }
            _ => Ok(statement),
        }
    }

    /// What `left` is compared with; `stated` is the operator, if one stood there.
    fn right_side(&mut self, left: Expr, place: Place, stated: Option<MatchOp>) -> Result<Statement, Fault> {
        let not = stated.is_none() && self.cur.eat("!");
        let op = stated.unwrap_or(MatchOp::Eq);
        if self.cur.done() {
            return Err(self.cur.unexpected());
        }
        if self.cur.sees("@") && self.cur.peek_at(2).text != "," {
            let at = self.cur.next().place;
            let set = self.set_name()?;
            self.same_types(&set, &left, span_of(at, self.cur.last_place()))?;
            let right = Expr::Set(SetRef::Named(Arc::clone(&set.name)));
            return Ok(self.compared(left, op, right));
        }
        let types = left.types();
        if self.cur.sees("{") {
            let right = self.reference(&left, &SetData::None)?;
            let right = self.single(right, &types);
            // One flag in braces is that flag alone.
            let op = match &right {
                Expr::Value { ty, .. }
                    if ty.is_bitmask()
                        && op == MatchOp::Eq
                        && stated.is_none()
                        && !matches!(left, Expr::Binary { .. }) =>
                {
                    MatchOp::AnyBit
                }
                _ => op,
            };
            return Ok(self.compared(left, op, right));
        }
        let [ty] = *types else {
            let message = "Use concatenations with sets and maps, not singleton values";
            return Err(Fault::at(place, message));
        };
        if ty.is_bitmask() {
            return self.flags(left, ty, stated, not);
        }
        if not {
            return Err(self.cur.unexpected());
        }
        if ty == Type::Hour {
            return self.hours(left, op);
        }
        let start = self.cur.peek().place;
        let span = elements::span(&mut self.cur, ty)?;
        if self.cur.sees(",") {
            let message = format!("Basetype of type {} is not bitmask", symbols::title(ty));
            return Err(Fault::at(start, message));
        }
        // `23:00`-`01:00` was refused above: the tool reads it as what lies outside.
        let right = match (ty, span) {
            (Type::IfName, span) if !span.is_one() => lower::wildcard_expr(span),
            (_, span) => lower::span_expr(ty, span),
        };
        // `5-5` stays a range, `1.1.1.1/32` is an address.
        let right = if span.is_one() && self.was_range() {
            Expr::Range { ty, low: span.low, high: span.high }
        } else {
            right
        };
        let right = self.prefix_as_written(right, span, ty);
        Ok(self.compared(left, op, right))
    }

    /// A comparison as it is listed; raw bytes get the name of the field they are.
    pub(super) fn compared(&self, left: Expr, op: MatchOp, right: Expr) -> Statement {
        let Expr::Payload(Payload::Raw { base, offset_bits, bits }) = left else {
            return lower::comparison(left, op, right);
        };
        let named = self.named(base, offset_bits, bits);
        let Payload::Field { field, .. } = named else { return lower::comparison(left, op, right) };
        lower::comparison(Expr::Payload(named), op, lower::typed(right, field.ty))
    }

    /// `"23:00"-"01:00"` is what lies outside of the other way round.
    pub(super) fn hours(&mut self, left: Expr, op: MatchOp) -> Result<Statement, Fault> {
        let ty = Type::Hour;
        let low = self.constant(ty)?;
        if !self.cur.eat("-") {
            return Ok(lower::comparison(left, op, Expr::Value { ty, value: low }));
        }
        let high = self.constant(ty)?;
        let (op, low, high) = match (op, low > high) {
            (MatchOp::Eq, true) => (MatchOp::Ne, high, low),
            (MatchOp::Ne, true) => (MatchOp::Eq, high, low),
            (op, _) => (op, low, high),
        };
        Ok(lower::comparison(left, op, Expr::Range { ty, low, high }))
    }

    /// Whether the constant just read was written with a dash.
    pub(super) fn was_range(&self) -> bool {
        let at = self.cur.index();
        at >= 2 && self.cur.token_before(2).text == "-" && self.cur.token_before(2).kind == Kind::Mark
    }

    /// A span written with a slash is a prefix, one written with a dash a range, whatever it covers.
    pub(super) fn prefix_as_written(&self, right: Expr, span: Span, ty: Type) -> Expr {
        let slash = self.cur.token_before(2);
        if slash.text == "/" && slash.kind == Kind::Mark && !span.is_one() {
            let len = ty.bits() - (128 - (span.high - span.low).leading_zeros() as u16);
            return Expr::Prefix { ty, value: span.low, len };
        }
        right
    }

    /// A set of one element that was written in place is that element.
    pub(super) fn single(&mut self, set: SetRef, types: &[Type]) -> Expr {
        let SetRef::Anonymous(anonymous) = &set else { return Expr::Set(set) };
        let [ty] = *types else { return Expr::Set(set) };
        let elements = &anonymous.elements;
        let only = elements
            .by_key
            .first_key_value()
            .filter(|_| elements.len() == 1 && elements.catch_all.is_none() && elements.next_sequence == 1);
        let Some((key, element)) = only.filter(|(_, e)| e.comment.is_none()) else { return Expr::Set(set) };
        let span = key[0];
        if self.listed != 1 {
            return Expr::Set(set);
        }
        let _ = element;
        self.sets_in_place -= 1;
        let comma = self.cur.token_before(2).text == ",";
        let dash = self.cur.token_before(3 + usize::from(comma));
        if ty == Type::IfName && !span.is_one() {
            lower::wildcard_expr(span)
        } else if span.is_one() && dash.text == "-" && dash.kind == Kind::Mark {
            // `{ 5-5 }` stays a range too.
            Expr::Range { ty, low: span.low, high: span.high }
        } else {
            lower::set_span_expr(ty, span)
        }
    }

    /// Bits: `a,b`, `a | b`, `a / mask`, a number.
    pub(super) fn flags(
        &mut self,
        left: Expr,
        ty: Type,
        stated: Option<MatchOp>,
        not: bool,
    ) -> Result<Statement, Fault> {
        let value = self.bits(ty)?;
        let masked = matches!(&left, Expr::Binary { op: BinaryOp::And, .. });
        if self.cur.eat("/") {
            let mask = self.bits(ty)?;
            let mask = Expr::Value { ty, value: mask };
            let left = Expr::Binary { op: BinaryOp::And, left: Box::new(left), right: Box::new(mask) };
            let op = stated.unwrap_or(MatchOp::Eq);
            return Ok(lower::comparison(left, op, Expr::Value { ty, value }));
        }
        let op = match (stated, not) {
            (_, true) => MatchOp::NoBit,
            (Some(op), _) => op,
            (None, _) if masked || value == 0 => MatchOp::Eq,
            (None, _) => MatchOp::AnyBit,
        };
        let implicit_zero = stated.is_none() && value == 0 && !masked;
        let right = Expr::Value { ty, value };
        if implicit_zero {
            return Ok(Statement::Match { left, op: MatchOp::AnyBit, right });
        }
        Ok(lower::comparison(left, op, right))
    }

    pub(super) fn bits(&mut self, ty: Type) -> Result<u128, Fault> {
        let parens = self.cur.eat("(");
        let mut value = self.constant(ty)?;
        while self.cur.sees("|") || self.cur.sees("or") || self.cur.sees(",") {
            self.cur.next();
            value |= self.constant(ty)?;
        }
        if parens {
            self.cur.expect(")")?;
        }
        Ok(value)
    }

    /// `... set VALUE`.
    pub(super) fn change(&mut self, left: Expr, place: Place) -> Result<(), Fault> {
        let ty = left.ty();
        let start = self.cur.peek().place;
        let statement = match left {
            Expr::Meta(key) => {
                let settable = matches!(
                    key,
                    MetaKey::Mark
                        | MetaKey::Priority
                        | MetaKey::Nftrace
                        | MetaKey::PktType
                        | MetaKey::RtClassid
                );
                let value = self.set_value(key.ty())?;
                if !settable {
                    let place = span_of(place, self.cur.last_place());
                    return Err(Fault::kernel(place, Errno::NotSupported));
                }
                Statement::MetaSet { key, value }
            }
            Expr::Ct { key, direction, .. } => {
                let value = if key.ty().is_bitmask() && key != CtKey::Label {
                    Expr::Value { ty: key.ty(), value: self.bits(key.ty())? }
                } else {
                    self.set_value(key.ty())?
                };
                if !matches!(key, CtKey::Mark | CtKey::Zone | CtKey::Label | CtKey::Event | CtKey::Secmark) {
                    return Err(Fault::syntax(place, "unexpected set"));
                }
                Statement::CtSet { key, direction, value }
            }
            Expr::Payload(field) => {
                let field = match field {
                    Payload::Raw { base, offset_bits, bits } => self.named(base, offset_bits, bits),
                    field => field,
                };
                let value = match ty {
                    Some(ty) if ty.is_bitmask() => Expr::Value { ty, value: self.bits(ty)? },
                    Some(ty) => self.set_value(ty)?,
                    None => return Err(self.cur.unexpected()),
                };
                Statement::PayloadSet { field, value }
            }
            Expr::Exthdr(field @ ExthdrField::TcpOption { .. } | field @ ExthdrField::TcpRaw { .. }) => {
                let value = self.set_value(field.ty())?;
                Statement::ExthdrSet { field, value: Some(value) }
            }
            _ => return Err(Fault::syntax(start, "unexpected set")),
        };
        self.statements.push(statement);
        Ok(())
    }

    pub(super) fn set_value(&mut self, ty: Type) -> Result<Expr, Fault> {
        let start = self.cur.peek().place;
        let value = lower::fold(self.value_of(ty)?);
        // `rt mtu` for `maxseg size`, numbers for marks: only types with a meaning of their own can clash.
        if let Some(have) = value.ty()
            && have != ty
            && !matches!(have, Type::Integer(_))
            && !matches!(value, Expr::Map { .. })
        {
            let message = format!(
                "datatype mismatch: expected {}, expression has type {}",
                symbols::title(ty),
                symbols::title(have)
            );
            return Err(Fault::at(span_of(start, self.cur.last_place()), message));
        }
        Ok(value)
    }
}

fn is_shifted(expr: &Expr) -> bool {
    match expr {
        Expr::Binary { op: BinaryOp::Lshift | BinaryOp::Rshift, .. } => true,
        Expr::Binary { left, .. } => is_shifted(left),
        _ => false,
    }
}

/// The last of the protocols in a set.
fn one_of(right: &Expr) -> Option<u8> {
    let Expr::Set(SetRef::Anonymous(set)) = right else { return None };
    set.elements.by_key.keys().next_back().map(|key| key[0].low as u8)
}
