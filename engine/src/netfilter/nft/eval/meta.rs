//! `meta`: what the kernel knows of a packet besides its bytes (`nft_meta.c`).

use super::{Stop, Walk};
use crate::base::Rng;
use crate::netfilter::DevRef;
use crate::netfilter::nft::expr::MetaKey;
use crate::netfilter::nft::types::name_value;
use crate::packet::{Family, PacketType, Skb};

/// `ARPHRD_ETHER` and `ARPHRD_LOOPBACK`.
const ETHER: u128 = 1;
const LOOPBACK: u128 = 772;

const SECS_PER_DAY: u64 = 86_400;

impl Walk<'_, '_, '_> {
    pub(super) fn meta(&mut self, key: MetaKey, skb: &Skb) -> Result<u128, Stop> {
        let (indev, outdev) = (self.cx.indev, self.cx.outdev);
        // Without a device the name is empty and the index zero; type and group are not there.
        let name = |dev: Option<DevRef<'_>>| Ok(dev.map_or(0, |d| name_value(d.name)));
        let v4 = skb.family() == Family::V4;
        match key {
            MetaKey::Length => Ok(skb.packet.len_bytes() as u128),
            MetaKey::Protocol => Ok(if v4 { 0x0800 } else { 0x86dd }),
            MetaKey::Nfproto => Ok(if v4 { 2 } else { 10 }),
            MetaKey::L4proto => Ok(skb.packet.ip.proto.into()),
            MetaKey::Priority => Ok(skb.priority.into()),
            MetaKey::Mark => Ok(skb.mark.into()),
            MetaKey::Iif | MetaKey::IifName => name(indev),
            MetaKey::Oif | MetaKey::OifName => name(outdev),
            MetaKey::IifType => self.device_type(indev),
            MetaKey::OifType => self.device_type(outdev),
            MetaKey::IifGroup => indev.map(|_| 0).ok_or(Stop::Break),
            MetaKey::OifGroup => outdev.map(|_| 0).ok_or(Stop::Break),
            MetaKey::SkUid => skb.owner.map(|o| o.uid.into()).ok_or(Stop::Break),
            MetaKey::SkGid => skb.owner.map(|o| o.gid.into()).ok_or(Stop::Break),
            MetaKey::Nftrace => Ok(skb.nf_trace.into()),
            MetaKey::PktType => Ok(match skb.packet_type {
                PacketType::Host => 0,
                PacketType::Broadcast => 1,
                PacketType::Multicast => 2,
            }),
            // One processor, the first.
            MetaKey::Cpu => Ok(0),
            MetaKey::Random => {
                let seed = self.cx.shared.seed ^ self.cx.now.0;
                let mut own = Rng::named(seed, "nft meta random");
                Ok(self.cx.shared.draws.next_u32(&mut own).into())
            }
            MetaKey::Secpath => Ok(0),
            MetaKey::RtClassid => skb.dst.map(|_| 0).ok_or(Stop::Break),
            MetaKey::Time => {
                let start = u128::from(self.cx.epoch_secs) * 1_000_000_000;
                Ok(start + u128::from(self.cx.now.0))
            }
            // The first of January 1970 was a Thursday.
            MetaKey::Day => Ok(((self.seconds() / SECS_PER_DAY + 4) % 7).into()),
            MetaKey::Hour => Ok((self.seconds() % SECS_PER_DAY).into()),
            MetaKey::Sdif | MetaKey::SdifName => Ok(0),
            MetaKey::Cgroup => Err(Stop::Unknown("meta cgroup")),
            MetaKey::IifKind => Err(Stop::Unknown("meta iifkind")),
            MetaKey::OifKind => Err(Stop::Unknown("meta oifkind")),
            // Keys of the bridge family.
            MetaKey::Ibrpvid | MetaKey::Ibrvproto | MetaKey::IbrName | MetaKey::ObrName => Err(Stop::Break),
        }
    }

    /// Seconds since 1970.
    const fn seconds(&self) -> u64 {
        self.cx.epoch_secs.saturating_add(self.cx.now.0 / 1_000_000_000)
    }

    fn device_type(&self, dev: Option<DevRef<'_>>) -> Result<u128, Stop> {
        let dev = dev.ok_or(Stop::Break)?;
        Ok(if self.cx.fib.is_loopback(dev.id) { LOOPBACK } else { ETHER })
    }
}
