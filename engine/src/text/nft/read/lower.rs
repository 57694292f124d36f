//! From what is written to what is listed: the tool's way through the kernel's bytecode and back.
//!
//! Operators with constants fold into one mask and one exclusive or and come out again as the tool prints them. Matches
//! of neighbouring fields merge. What the kernel keeps and the tool does not list is left to `print::listed`.

use std::sync::Arc;

use crate::netfilter::nft::{
    AnonymousSet, BinaryOp, Expr, L3, MatchOp, MetaKey, Payload, PayloadBase, Proto, SetRef, Span, Statement,
    Type,
};

/// `meta nfproto ipv4`.
pub(super) fn nfproto(l3: L3) -> Statement {
    let value = if l3 == L3::Ip { 2 } else { 10 };
    Statement::Match {
        left: Expr::Meta(MetaKey::Nfproto),
        op: MatchOp::Eq,
        right: Expr::Value { ty: Type::NfProto, value },
    }
}

/// `meta l4proto tcp`.
pub(super) fn l4proto(number: u8) -> Statement {
    Statement::Match {
        left: Expr::Meta(MetaKey::L4proto),
        op: MatchOp::Eq,
        right: Expr::Value { ty: Type::InetProto, value: number.into() },
    }
}

/// A single value, or a range.
pub(super) fn span_expr(ty: Type, span: Span) -> Expr {
    if span.is_one() {
        Expr::Value { ty, value: span.low }
    } else {
        Expr::Range { ty, low: span.low, high: span.high }
    }
}

/// As [`span_expr`], for what stood in a set: what can be a prefix of an address is one.
pub(super) fn set_span_expr(ty: Type, span: Span) -> Expr {
    match prefix_len(ty, span) {
        Some(len) if !span.is_one() => Expr::Prefix { ty, value: span.low, len },
        _ => span_expr(ty, span),
    }
}

/// A name with a star.
pub(super) fn wildcard_expr(span: Span) -> Expr {
    let free = 128 - (span.high - span.low).leading_zeros() as u16;
    Expr::Prefix { ty: Type::IfName, value: span.low, len: 128 - free }
}

/// Length of the prefix that covers exactly this span, for types whose intervals print as prefixes.
pub(in crate::text::nft) fn prefix_len(ty: Type, span: Span) -> Option<u16> {
    if !matches!(ty, Type::Ipv4Addr | Type::Ipv6Addr | Type::Mark) {
        return None;
    }
    let size = span.high - span.low;
    if ty == Type::Mark && size == ty.max() {
        return None;
    }
    let aligned = size & size.wrapping_add(1) == 0 && span.low & size == 0;
    aligned.then(|| ty.bits() - (128 - size.leading_zeros() as u16))
}

/// A comparison in the form it is listed.
pub(super) fn comparison(left: Expr, op: MatchOp, right: Expr) -> Statement {
    let left = fold(left);
    let (left, right) = aligned(left, right);
    match (left, right) {
        // Bits: a comparison with zero asks for any or none of the mask.
        (Expr::Binary { op: BinaryOp::And, left, right: mask }, Expr::Value { ty, value: 0 })
            if ty.is_bitmask() && matches!(op, MatchOp::Eq | MatchOp::Ne) =>
        {
            let op = if op == MatchOp::Eq { MatchOp::NoBit } else { MatchOp::AnyBit };
            Statement::Match { left: *left, op, right: *mask }
        }
        // A mask that is a prefix.
        (Expr::Binary { op: BinaryOp::And, left, right: mask }, Expr::Value { ty, value })
            if matches!(op, MatchOp::Eq | MatchOp::Ne) && mask_len(ty, &mask).is_some() =>
        {
            let len = mask_len(ty, &mask).unwrap_or(0);
            Statement::Match { left: *left, op, right: Expr::Prefix { ty, value, len } }
        }
        // An exclusive or moves over to the constant.
        (Expr::Binary { op: BinaryOp::Xor, left, right: mask }, Expr::Value { ty, value })
            if matches!(
                (&*left, &*mask),
                (Expr::Meta(_) | Expr::Ct { .. } | Expr::Payload(_), Expr::Value { .. })
            ) =>
        {
            let Expr::Value { value: xor, .. } = *mask else {
                return Statement::Match { left: *left, op, right: Expr::Value { ty, value } };
            };
            Statement::Match { left: *left, op, right: Expr::Value { ty, value: value ^ xor } }
        }
        (left, right) => Statement::Match { left, op, right },
    }
}

fn mask_len(ty: Type, mask: &Expr) -> Option<u16> {
    let Expr::Value { value, .. } = mask else { return None };
    if !matches!(ty, Type::Ipv4Addr | Type::Ipv6Addr | Type::Mark) || *value == 0 {
        return None;
    }
    let host = ty.max() & !value;
    (host & host.wrapping_add(1) == 0).then(|| ty.bits() - (128 - host.leading_zeros() as u16))
}

/// Raw bits that do not begin and end at bytes are read as bytes and masked.
fn aligned(left: Expr, right: Expr) -> (Expr, Expr) {
    let Expr::Payload(Payload::Raw { base, offset_bits, bits }) = left else { return (left, right) };
    let begin = offset_bits - offset_bits % 8;
    let end = offset_bits.saturating_add(bits).next_multiple_of(8);
    let wide = end - begin;
    let Expr::Value { value, .. } = right else { return (left, right) };
    if (begin == offset_bits && wide == bits) || wide > 128 {
        return (left, right);
    }
    let shift = end - (offset_bits + bits);
    let ty = Type::Integer(wide);
    let mask = (Type::Integer(bits).max()) << shift;
    let payload = Expr::Payload(Payload::Raw { base, offset_bits: begin, bits: wide });
    let left = Expr::Binary {
        op: BinaryOp::And,
        left: Box::new(payload),
        right: Box::new(Expr::Value { ty, value: mask }),
    };
    (left, Expr::Value { ty, value: value << shift })
}

/// Operators with constants, as the kernel keeps them: `(base & mask) ^ xor`; and as the tool prints that.
pub(super) fn fold(expr: Expr) -> Expr {
    let Some(ty) = expr.ty() else { return expr };
    let full = ty.max();
    let (mut mask, mut xor) = (full, 0);
    let Some(base) = unwrap(&expr, full, &mut mask, &mut xor) else {
        return match expr {
            Expr::Binary { op, left, right } => {
                Expr::Binary { op, left: Box::new(fold(*left)), right: Box::new(fold(*right)) }
            }
            other => other,
        };
    };
    let base = match base {
        Expr::Binary { op, left, right } => {
            Expr::Binary { op: *op, left: Box::new(fold((**left).clone())), right: right.clone() }
        }
        other => other.clone(),
    };
    let or = (mask & xor) ^ xor;
    let xor = xor & mask;
    let mask = mask | or;
    let with = |op, left: Expr, value| Expr::Binary {
        op,
        left: Box::new(left),
        right: Box::new(Expr::Value { ty, value }),
    };
    let mut out = base;
    if mask != full {
        out = with(BinaryOp::And, out, mask);
    }
    if xor != 0 {
        out = with(BinaryOp::Xor, out, xor);
    }
    if or != 0 {
        out = with(BinaryOp::Or, out, or);
    }
    out
}

/// Takes and, or, xor with constants off; none where there is none of them.
fn unwrap<'e>(expr: &'e Expr, full: u128, mask: &mut u128, xor: &mut u128) -> Option<&'e Expr> {
    let Expr::Binary { op, left, right } = expr else { return None };
    let Expr::Value { value, .. } = **right else { return None };
    if matches!(op, BinaryOp::Lshift | BinaryOp::Rshift) {
        return None;
    }
    let base = unwrap(left, full, mask, xor).unwrap_or(left);
    match op {
        BinaryOp::And => {
            *mask &= value;
            *xor &= value;
        }
        BinaryOp::Or => {
            *mask &= !value & full;
            *xor = (*xor & !value) | value;
        }
        BinaryOp::Xor => *xor ^= value,
        BinaryOp::Lshift | BinaryOp::Rshift => {}
    }
    Some(base)
}

/// The statements of a rule in the order and number they are listed.
pub(super) fn rule(statements: Vec<Statement>) -> Vec<Statement> {
    merged(without_implied_types(with_named_ports(statements)))
}

/// A match of a whole header field with a constant, by base and bit: what the tool may merge with a neighbour.
fn mergeable(statement: &Statement) -> Option<(u8, u16, u16, bool)> {
    let Statement::Match { left: Expr::Payload(Payload::Field { proto, field }), op: MatchOp::Eq, right } =
        statement
    else {
        return None;
    };
    if !matches!(right, Expr::Value { .. }) || field.offset_bits % 8 != 0 || field.bits % 8 != 0 {
        return None;
    }
    let base = if *proto == Proto::Th {
        3
    } else if proto.is_link() {
        0
    } else if proto.is_network() {
        1
    } else {
        2
    };
    let names_protocol = matches!(field.name, "protocol" | "nexthdr" | "type")
        && !matches!(proto, Proto::Icmp | Proto::Icmpv6 | Proto::Igmp | Proto::Dccp);
    Some((base, field.offset_bits, field.bits, names_protocol))
}

/// Matches of fields that touch become one load of at most four bytes; listed again, they stand in the order of the
/// header (`stmt_reduce`, `payload_do_merge`).
fn merged(statements: Vec<Statement>) -> Vec<Statement> {
    let mut fields: Vec<(usize, (u8, u16, u16, bool))> = statements
        .iter()
        .enumerate()
        .filter_map(|(index, statement)| Some((index, mergeable(statement)?)))
        .collect();
    if fields.len() < 2 {
        return statements;
    }
    fields.sort_by_key(|(index, (base, offset, ..))| (*base, *offset, *index));
    // Groups: members in header order, and the index of the statement whose place they take.
    let mut groups: Vec<(Vec<usize>, usize, u8, u16, u16)> = Vec::new();
    for (index, (base, offset, bits, protocol)) in fields {
        if let Some((members, at, group_base, end, total)) = groups.last_mut()
            && *group_base == base
            && *end == offset
            && *total + bits <= 32
        {
            members.push(index);
            *end = offset + bits;
            *total += bits;
            if protocol {
                *at = index;
            }
            continue;
        }
        groups.push((vec![index], index, base, offset + bits, bits));
    }
    groups.retain(|(members, ..)| members.len() > 1);
    let mut slots: Vec<Option<Statement>> = statements.into_iter().map(Some).collect();
    let mut out = Vec::with_capacity(slots.len());
    for index in 0..slots.len() {
        if let Some((members, ..)) = groups.iter().find(|(_, at, ..)| *at == index) {
            let members: Vec<Statement> = members.iter().filter_map(|member| slots[*member].take()).collect();
            match one_load(&members) {
                Some(load) => out.push(load),
                None => out.extend(members),
            }
        } else if !groups.iter().any(|(members, ..)| members.contains(&index)) {
            out.extend(slots[index].take());
        }
    }
    out
}

/// Ports of no protocol in particular stay the one load: there is no header to find their names in.
fn one_load(members: &[Statement]) -> Option<Statement> {
    let (mut begin, mut bits, mut all) = (None, 0_u16, 0_u128);
    for member in members {
        let Statement::Match {
            left: Expr::Payload(Payload::Field { proto: Proto::Th, field }),
            op: MatchOp::Eq,
            right: Expr::Value { value, .. },
        } = member
        else {
            return None;
        };
        begin.get_or_insert(field.offset_bits);
        bits += field.bits;
        all = all << field.bits | value;
    }
    Some(Statement::Match {
        left: Expr::Payload(Payload::Raw { base: PayloadBase::Transport, offset_bits: begin?, bits }),
        op: MatchOp::Eq,
        right: Expr::Value { ty: Type::Integer(bits), value: all },
    })
}

/// What a match states about protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::text::nft) enum Protocol {
    /// Network, by `meta nfproto`, `meta protocol` or `ether type`.
    Network,
    /// Transport, by `meta l4proto`.
    Transport(u8),
    /// Transport, by `ip protocol` or `ip6 nexthdr`.
    TransportByHeader(u8),
}

pub(in crate::text::nft) fn stated(statement: &Statement) -> Option<Protocol> {
    let Statement::Match { left, op: MatchOp::Eq, right: Expr::Value { value, .. } } = statement else {
        return None;
    };
    match left {
        Expr::Meta(MetaKey::Nfproto | MetaKey::Protocol) => Some(Protocol::Network),
        Expr::Meta(MetaKey::L4proto) => Some(Protocol::Transport(*value as u8)),
        Expr::Payload(Payload::Field { proto: Proto::Ether, field }) if field.name == "type" => {
            Some(Protocol::Network)
        }
        Expr::Payload(Payload::Field { proto: Proto::Ip | Proto::Ip6, field })
            if matches!(field.name, "protocol" | "nexthdr") =>
        {
            Some(Protocol::TransportByHeader(*value as u8))
        }
        _ => None,
    }
}

/// Ports behind a match that tells the transport protocol are that protocol's.
fn with_named_ports(mut statements: Vec<Statement>) -> Vec<Statement> {
    let mut l4 = None;
    for statement in &mut statements {
        // A field of a protocol has the match of that protocol before its statement.
        l4 = protocol_read(statement).or(l4);
        if let Some(number) = l4 {
            rename_ports(statement, number);
        }
        if let Some(Protocol::Transport(number) | Protocol::TransportByHeader(number)) = stated(statement) {
            l4 = Some(number);
        }
    }
    statements
}

/// The transport protocol of which a statement reads or writes a field.
fn protocol_read(statement: &Statement) -> Option<u8> {
    let number = |payload: &Payload| match payload {
        Payload::Field { proto, .. } => proto.l4proto(),
        Payload::Raw { .. } => None,
    };
    let mut found = match statement {
        Statement::PayloadSet { field, .. } => number(field),
        _ => None,
    };
    statement.visit(&mut |expr| {
        if let Expr::Payload(payload) = expr {
            found = number(payload).or(found);
        }
    });
    found
}

/// `icmpv6 type packet-too-big` before `icmpv6 mtu` says nothing new.
fn without_implied_types(statements: Vec<Statement>) -> Vec<Statement> {
    const IMPLIED: [(Proto, &str, u128); 4] = [
        (Proto::Icmp, "mtu", 3),
        (Proto::Icmp, "gateway", 5),
        (Proto::Icmpv6, "mtu", 2),
        (Proto::Icmpv6, "param-problem", 4),
    ];
    let mut out: Vec<Statement> = Vec::with_capacity(statements.len());
    for statement in statements {
        if let Statement::Match { left: Expr::Payload(Payload::Field { proto, field }), .. } = &statement
            && let Some((_, _, implied)) =
                IMPLIED.iter().find(|(p, name, _)| p == proto && *name == field.name)
            && let Some(Statement::Match {
                left: Expr::Payload(Payload::Field { proto: before, field }),
                op: MatchOp::Eq,
                right: Expr::Value { value, .. },
            }) = out.last()
            && before == proto
            && field.name == "type"
            && value == implied
        {
            out.pop();
        }
        out.push(statement);
    }
    out
}

/// A constant, range or set in place, as one of type `ty`.
pub(super) fn typed(right: Expr, ty: Type) -> Expr {
    match right {
        Expr::Value { value, .. } => Expr::Value { ty, value },
        Expr::Range { low, high, .. } => Expr::Range { ty, low, high },
        Expr::Set(SetRef::Anonymous(set)) => {
            let set = AnonymousSet { key: vec![ty], ..(*set).clone() };
            Expr::Set(SetRef::Anonymous(Arc::new(set)))
        }
        other => other,
    }
}

/// `th dport` behind `meta l4proto tcp` is `tcp dport`, and behind `meta l4proto icmp` what lies there:
/// `icmp checksum`.
fn rename_ports(statement: &mut Statement, number: u8) {
    let Some(proto) = Proto::ALL.into_iter().find(|p| p.l4proto() == Some(number)) else { return };
    let rename = |payload: &mut Payload| {
        if let Payload::Field { proto: Proto::Th, field } = payload
            && let Some(named) =
                proto.fields().iter().find(|f| f.offset_bits == field.offset_bits && f.bits == field.bits)
        {
            *payload = Payload::Field { proto, field: named };
        }
    };
    fn inside(expr: &mut Expr, rename: &impl Fn(&mut Payload)) {
        match expr {
            Expr::Payload(payload) => rename(payload),
            Expr::Concat(parts) => parts.iter_mut().for_each(|e| inside(e, rename)),
            Expr::Binary { left, .. } => inside(left, rename),
            Expr::Map { key, .. } => inside(key, rename),
            Expr::Hash(hash) => hash.key.iter_mut().for_each(|e| inside(e, rename)),
            _ => {}
        }
    }
    match statement {
        Statement::Match { left, right, .. } => {
            let before = left.ty();
            inside(left, &rename);
            if let Some(ty) = left.ty().filter(|ty| Some(*ty) != before) {
                *right = typed(right.clone(), ty);
            }
        }
        Statement::VerdictMap { key, .. } => inside(key, &rename),
        Statement::PayloadSet { field, value } => {
            rename(field);
            inside(value, &rename);
        }
        Statement::MetaSet { value, .. } | Statement::CtSet { value, .. } => inside(value, &rename),
        Statement::SetElement { key, data, .. } => {
            inside(key, &rename);
            data.iter_mut().for_each(|data| inside(data, &rename));
        }
        Statement::Nat(nat) => nat.addr.iter_mut().chain(&mut nat.port).for_each(|e| inside(e, &rename)),
        _ => {}
    }
}
