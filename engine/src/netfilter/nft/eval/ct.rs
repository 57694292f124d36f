//! `ct`: the packet's connection (`nft_ct.c`).

use super::{Stop, Walk};
use crate::conntrack::{self, Entry, Tuple};
use crate::netfilter::nft::expr::{CtKey, Direction, L3};
use crate::netfilter::nft::stmt::address_value;
use crate::packet::{CtInfo, Family, Skb};

/// `NF_CT_STATE_*_BIT`.
mod bit {
    pub(super) const INVALID: u128 = 1;
    pub(super) const ESTABLISHED: u128 = 2;
    pub(super) const RELATED: u128 = 4;
    pub(super) const NEW: u128 = 8;
    pub(super) const UNTRACKED: u128 = 64;
}

impl Walk<'_, '_, '_> {
    pub(super) fn ct(
        &self,
        key: CtKey,
        direction: Option<Direction>,
        family: Option<L3>,
        skb: &Skb,
    ) -> Result<u128, Stop> {
        let entry = skb.ct.and_then(|at| self.cx.ct.entry(at));
        if key == CtKey::State {
            // Between `ct zone set` and the tracker a packet has a template for a connection: that counts as a NEW
            // one, and has nothing else.
            let template = entry.is_none() && skb.ct_template;
            return Ok(if template { bit::NEW } else { state_bits(skb.ct_info, entry.is_some()) });
        }
        let entry = entry.ok_or(Stop::Break)?;
        let tuple: &Tuple = match direction {
            Some(Direction::Reply) => &entry.reply,
            Some(Direction::Original) | None => &entry.original,
        };
        let of_family = match (family, entry.original.family()) {
            (None, _) | (Some(L3::Ip), Family::V4) | (Some(L3::Ip6), Family::V6) => true,
            (Some(L3::Ip), Family::V6) | (Some(L3::Ip6), Family::V4) => false,
        };
        match key {
            CtKey::State => Ok(0),
            CtKey::Direction => Ok(skb.ct_info.is_reply().into()),
            CtKey::Status => Ok(entry.status.0.into()),
            CtKey::Mark => Ok(entry.mark.into()),
            // An unconfirmed entry's timer does not run.
            CtKey::Expiration if !entry.is_confirmed() => Ok(0),
            CtKey::Expiration => Ok(entry.remaining(self.cx.now).as_millis().into()),
            // No connection has a helper or was expected by one.
            CtKey::Helper => Err(Stop::Break),
            CtKey::L3proto => Ok(if entry.original.family() == Family::V4 { 2 } else { 10 }),
            CtKey::Saddr if of_family => Ok(address_value(tuple.src)),
            CtKey::Daddr if of_family => Ok(address_value(tuple.dst)),
            CtKey::Saddr | CtKey::Daddr => Err(Stop::Break),
            CtKey::Protocol => Ok(tuple.proto.into()),
            CtKey::ProtoSrc => Ok(tuple.l4.src().into()),
            CtKey::ProtoDst => Ok(tuple.l4.dst().into()),
            CtKey::Label => Ok(entry.labels),
            CtKey::Packets => Ok(counted(entry, direction).0.into()),
            CtKey::Bytes => Ok(counted(entry, direction).1.into()),
            CtKey::AvgPkt => {
                let (packets, bytes) = counted(entry, direction);
                Ok(bytes.checked_div(packets).unwrap_or(0).into())
            }
            CtKey::Zone => Ok(entry.zone.into()),
            CtKey::Secmark => Ok(0),
            CtKey::Event => Err(Stop::Unknown("ct event")),
            CtKey::Id => Err(Stop::Unknown("ct id")),
        }
    }
}

/// State of a packet as a bit; without a connection it is invalid or untracked.
const fn state_bits(info: CtInfo, has_entry: bool) -> u128 {
    match info {
        CtInfo::Untracked => bit::UNTRACKED,
        _ if !has_entry => bit::INVALID,
        CtInfo::None => bit::INVALID,
        CtInfo::New => bit::NEW,
        CtInfo::Related | CtInfo::RelatedReply => bit::RELATED,
        CtInfo::Established | CtInfo::EstablishedReply => bit::ESTABLISHED,
    }
}

/// Packets and bytes of one direction, or of both.
fn counted(entry: &Entry, direction: Option<Direction>) -> (u64, u64) {
    let Some([original, reply]) = entry.acct else { return (0, 0) };
    let both = |a: conntrack::Acct| (a.packets, a.bytes);
    match direction {
        Some(Direction::Original) => both(original),
        Some(Direction::Reply) => both(reply),
        None => (original.packets + reply.packets, original.bytes + reply.bytes),
    }
}
