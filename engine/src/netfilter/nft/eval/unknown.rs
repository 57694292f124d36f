//! Which statements a packet may meet that are not emulated: those that evaluation stops at as unknown.

use crate::netfilter::nft::expr::{CtKey, Expr, ExthdrField, MetaKey, Payload, PayloadBase};
use crate::netfilter::nft::object::ObjectKind;
use crate::netfilter::nft::stmt::Statement;

impl Statement {
    /// Whether evaluation may come to something here that is not emulated.
    pub fn may_be_unknown(&self) -> bool {
        let mut unknown = self.not_emulated().is_some();
        self.visit(&mut |expr| unknown |= is_unknown(expr));
        unknown
            || match self {
                Self::MetaSet { key, value } => match key {
                    MetaKey::Mark | MetaKey::Priority | MetaKey::Nftrace => false,
                    // Other hosts' frames are not modelled.
                    MetaKey::PktType => !matches!(value, Expr::Value { value: 0..=2, .. }),
                    _ => true,
                },
                Self::CtSet { key, direction, .. } => match key {
                    CtKey::Mark | CtKey::Label | CtKey::Secmark | CtKey::Event => false,
                    CtKey::Zone => direction.is_some(),
                    _ => true,
                },
                Self::PayloadSet { field, .. } => match field {
                    Payload::Field { proto, .. } => proto.is_link(),
                    Payload::Raw { base, .. } => matches!(base, PayloadBase::Link | PayloadBase::Inner),
                },
                Self::ExthdrSet { field, .. } => {
                    matches!(field, ExthdrField::Ipv6 { .. } | ExthdrField::IpOption { .. })
                }
                Self::Object { kind, .. } => match kind {
                    ObjectKind::Counter | ObjectKind::Quota | ObjectKind::Limit | ObjectKind::CtHelper => {
                        false
                    }
                    ObjectKind::CtTimeout
                    | ObjectKind::Secmark
                    | ObjectKind::CtExpectation
                    | ObjectKind::Synproxy => true,
                },
                _ => false,
            }
    }
}

const fn is_unknown(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::Foreign { .. }
            | Expr::Meta(MetaKey::Cgroup | MetaKey::IifKind | MetaKey::OifKind)
            | Expr::Ct { key: CtKey::Event | CtKey::Id, .. }
    )
}
