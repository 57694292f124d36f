//! Which statements of a rule the tool lists, and as what: it leaves out a match of a protocol that a field of that
//! protocol repeats (`payload_dependency_kill`), and takes two bounds side by side for a range (`expr_postprocess_range`).
//!
//! What the kernel evaluates is what was read (`read::lower`); nothing here changes it, even where the tool says less
//! than the rule does: `meta l4proto udp tcp option maxseg missing` is listed without its protocol.

use std::borrow::Cow;

use crate::netfilter::nft::{
    CtKey, Expr, ExthdrField, MatchOp, MetaKey, Payload, PayloadBase, Proto, RejectWith, Statement,
    TableFamily,
};
use crate::text::nft::read::lower::{Protocol, stated};

/// The statements as they are listed.
pub(super) fn listed(family: TableFamily, statements: &[Statement]) -> Vec<Cow<'_, Statement>> {
    let hidden = repeated_protocols(family, statements);
    let mut out = Vec::with_capacity(statements.len());
    let mut at = 0;
    while let Some(statement) = statements.get(at) {
        let range = statements.get(at + 1).and_then(|next| as_range(family, statement, next));
        at += 1 + usize::from(range.is_some());
        match range {
            Some(range) => out.push(Cow::Owned(range)),
            None if !hidden[at - 1] => out.push(Cow::Borrowed(statement)),
            None => {}
        }
    }
    out
}

/// `>= a` and `<= b` of the same are `a-b`; `< a` and `> b`, which nothing is, come out as `!= a-b`.
fn as_range(family: TableFamily, first: &Statement, second: &Statement) -> Option<Statement> {
    let (
        Statement::Match { left: one, op: lower, right: Expr::Value { value: low, .. } },
        Statement::Match { left, op: upper, right: Expr::Value { ty, value: high } },
    ) = (first, second)
    else {
        return None;
    };
    let op = match (lower, upper) {
        (MatchOp::Ge, MatchOp::Le) => MatchOp::Eq,
        (MatchOp::Lt, MatchOp::Gt) => MatchOp::Ne,
        _ => return None,
    };
    // The tool looks only at the kind of the two sides, and names the second.
    let alike = match (one, left) {
        (Expr::Payload(one), Expr::Payload(other)) => neighbours(family, one, other),
        (one, other) => std::mem::discriminant(one) == std::mem::discriminant(other),
    };
    alike.then(|| Statement::Match {
        left: left.clone(),
        op,
        right: Expr::Range { ty: *ty, low: *low, high: *high },
    })
}

/// Whether no match of a protocol stands between the two.
fn neighbours(family: TableFamily, one: &Payload, other: &Payload) -> bool {
    match (one, other) {
        (Payload::Field { proto: a, .. }, Payload::Field { proto: b, .. }) => {
            a == b || (b.is_network() && matches!(family, TableFamily::Ip | TableFamily::Ip6))
        }
        (Payload::Raw { base: a, .. }, Payload::Raw { base: b, .. }) => a == b,
        (Payload::Field { .. }, Payload::Raw { .. }) | (Payload::Raw { .. }, Payload::Field { .. }) => false,
    }
}

/// Which statements match a protocol that a later field implies.
fn repeated_protocols(family: TableFamily, statements: &[Statement]) -> Vec<bool> {
    let one_family = matches!(family, TableFamily::Ip | TableFamily::Ip6);
    let mut hidden = vec![false; statements.len()];
    let (mut network, mut transport, mut message): (Option<usize>, Option<usize>, Option<usize>) =
        (None, None, None);
    for (at, statement) in statements.iter().enumerate() {
        let mut uses = uses(statement);
        uses.network |= is_ct_protocol(statement);
        if (uses.network || uses.transport)
            && let Some(before) = network
            && reaches(family, uses, &statements[before])
        {
            let other = &statements[before];
            hidden[before] |= !is_meta_protocol(other)
                || is_protocol_of(other, family)
                || (!one_family && is_ct_protocol(statement));
            network = None;
        }
        if uses.transport
            && let Some(before) = transport.take()
        {
            // A field of TCP has a match of its own before it where the family leaves that of the connection open.
            hidden[before] = !is_ct_protocol(&statements[before]) || one_family != uses.ports;
        }
        // A type of message counts as a protocol of its own there.
        if uses.option
            && let Some(before) = message.take()
        {
            hidden[before] = true;
        }
        if let Statement::Reject(with) = statement {
            match with {
                RejectWith::TcpReset if one_family => {
                    if let Some(before) = transport.take() {
                        hidden[before] = true;
                    }
                }
                RejectWith::Icmp(_) | RejectWith::Icmpv6(_) => {
                    if let Some(before) = network.take() {
                        hidden[before] |= !is_meta_protocol(&statements[before]);
                    }
                }
                RejectWith::TcpReset | RejectWith::Icmpx(_) => {}
            }
        }
        match stated(statement) {
            Some(Protocol::Network) => network = Some(at),
            Some(Protocol::Transport(_)) => transport = Some(at),
            Some(Protocol::TransportByHeader(_)) => {
                // `ip protocol` says IPv4 too; in a table of several families it has to stay.
                transport = one_family.then_some(at);
            }
            None if !matches!(statement, Statement::Match { .. } | Statement::VerdictMap { .. }) => {
                (network, transport, message) = (None, None, None);
            }
            None if is_ct_protocol(statement) => transport = Some(at),
            None if is_message(statement) => message = Some(at),
            None => {}
        }
    }
    hidden
}

/// Whether a use of headers makes a match of the network protocol before it superfluous.
fn reaches(family: TableFamily, uses: Uses, protocol: &Statement) -> bool {
    let one_family = matches!(family, TableFamily::Ip | TableFamily::Ip6);
    let own = is_protocol_of(protocol, family);
    if one_family && !own && is_frame_type(protocol) {
        // Without it the listing would not read back: `ip6 saddr` in a table of family ip.
        return false;
    }
    uses.network || uses.icmp || (one_family && (own || is_meta_protocol(protocol)))
}

fn is_frame_type(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::Match { left: Expr::Payload(Payload::Field { proto: Proto::Ether, field }), .. }
            if field.name == "type"
    )
}

/// `ct protocol tcp`.
fn is_ct_protocol(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::Match {
            left: Expr::Ct { key: CtKey::Protocol, .. },
            op: MatchOp::Eq,
            right: Expr::Value { .. }
        }
    )
}

fn is_meta_protocol(statement: &Statement) -> bool {
    matches!(statement, Statement::Match { left: Expr::Meta(MetaKey::Protocol), .. })
}

/// Whether it states the protocol that all packets of the family have.
fn is_protocol_of(statement: &Statement, family: TableFamily) -> bool {
    let Statement::Match { right: Expr::Value { value, .. }, .. } = statement else { return false };
    matches!((family, value), (TableFamily::Ip, 0x800) | (TableFamily::Ip6, 0x86dd))
}

/// `icmp type redirect`: a type of message other than an echo.
fn is_message(statement: &Statement) -> bool {
    let Statement::Match { left: Expr::Payload(field), op: MatchOp::Eq, right: Expr::Value { value, .. } } =
        statement
    else {
        return false;
    };
    match field {
        Payload::Field { proto: Proto::Icmp, field } => field.name == "type" && !matches!(value, 0 | 8),
        Payload::Field { proto: Proto::Icmpv6, field } => field.name == "type" && !matches!(value, 128 | 129),
        Payload::Field { .. } | Payload::Raw { .. } => false,
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Uses {
    network: bool,
    transport: bool,
    /// ICMP of one family implies the family.
    icmp: bool,
    /// Ports of no protocol in particular.
    ports: bool,
    /// An option of TCP.
    option: bool,
}

/// Which headers a statement reads.
fn uses(statement: &Statement) -> Uses {
    let mut uses = Uses::default();
    let mut field = |payload: &Payload| match payload {
        Payload::Field { proto: Proto::Ip | Proto::Ip6, .. }
        | Payload::Raw { base: PayloadBase::Network, .. } => {
            uses.network = true;
        }
        // Behind a protocol with a header of its own they have its names.
        Payload::Field { proto: Proto::Th, .. } => (uses.transport, uses.ports) = (true, true),
        Payload::Field { proto, .. } if proto.l4proto().is_some() => {
            uses.transport = true;
            uses.icmp |= matches!(proto, Proto::Icmp | Proto::Icmpv6);
        }
        Payload::Field { .. } | Payload::Raw { .. } => {}
    };
    if let Statement::PayloadSet { field: payload, .. } = statement {
        field(payload);
    }
    let (mut option, mut ip6) = (false, false);
    statement.visit(&mut |expr| match expr {
        Expr::Payload(payload) => field(payload),
        Expr::Exthdr(ExthdrField::TcpOption { .. } | ExthdrField::TcpRaw { .. }) => option = true,
        Expr::Exthdr(_) | Expr::Rt { family: Some(_), .. } => ip6 = true,
        _ => {}
    });
    uses.option = option;
    uses.transport |= option;
    uses.network |= ip6;
    uses
}
