//! NAT statements: what they ask of the connection (`nft_nat.c`, `nft_masq.c`, `nft_redir.c`).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::compare::prefix_mask;
use super::{Flow, Stop, Walk};
use crate::base::Hook;
use crate::conntrack::{CtCx, CtVerdict, Manip, NatFlags, NatRange};
use crate::netfilter::Verdict;
use crate::netfilter::nft::expr::Expr;
use crate::netfilter::nft::set::{Data, Span};
use crate::netfilter::nft::stmt::{Nat, NatKind};
use crate::netfilter::nft::types::Type;
use crate::packet::{Family, Skb};
use crate::trace::DropReason;

/// What the address and port of a statement come to.
#[derive(Clone, Copy, Debug, Default)]
struct Wanted {
    addr: Option<Span>,
    port: Option<Span>,
}

impl<'a> Walk<'a, '_, '_> {
    pub(super) fn nat(&mut self, nat: &'a Nat, skb: &Skb) -> Result<Flow, Stop> {
        // In a table of both families a mapping of the other one does nothing.
        if nat.family.is_some_and(|f| f.family() != skb.family()) {
            return Ok(Flow::Next);
        }
        let wanted = self.wanted(nat, skb)?;
        let mut range = NatRange {
            addrs: wanted.addr.map(|s| (address(s.low, skb.family()), address(s.high, skb.family()))),
            ports: wanted.port.map(|s| (s.low as u16, s.high as u16)),
            flags: NatFlags {
                random: nat.random,
                random_fully: nat.fully_random,
                persistent: nat.persistent,
                port_base: None,
                netmap: false,
            },
        };
        let manip = match nat.kind {
            NatKind::Snat | NatKind::Masquerade => Manip::Src,
            NatKind::Dnat | NatKind::Redirect => Manip::Dst,
        };
        match nat.kind {
            NatKind::Snat | NatKind::Dnat => {
                if nat.prefix
                    && let Some(span) = wanted.addr
                {
                    let own = mapped(span, manip, skb);
                    range.addrs = Some((own, own));
                }
            }
            NatKind::Masquerade => match self.masquerade_source(skb) {
                Ok(addr) => range.addrs = Some((addr, addr)),
                Err(verdict) => return Ok(Flow::Verdict(verdict)),
            },
            NatKind::Redirect => match self.own_address(skb) {
                Some(addr) => range.addrs = Some((addr, addr)),
                None => return Ok(Flow::Verdict(Verdict::Drop(DropReason::NoAddress))),
            },
        }
        let mut cx = CtCx { hook: self.cx.hook, now: self.cx.now, trace: &mut *self.cx.trace };
        Ok(Flow::Verdict(match self.cx.ct.nat_setup(&mut cx, skb, &range, manip) {
            CtVerdict::Accept => Verdict::Accept,
            CtVerdict::Drop(reason) => Verdict::Drop(reason),
        }))
    }

    fn wanted(&mut self, nat: &'a Nat, skb: &Skb) -> Result<Wanted, Stop> {
        let mut wanted = Wanted::default();
        if let Some(expr) = &nat.addr {
            let spans = self.spans(expr, skb)?;
            wanted.addr = spans.first().copied();
            wanted.port = spans.get(1).copied();
        }
        if let Some(expr) = &nat.port {
            wanted.port = self.spans(expr, skb)?.first().copied();
        }
        Ok(wanted)
    }

    /// The values an expression stands for, as ranges: one a field.
    fn spans(&mut self, expr: &'a Expr, skb: &Skb) -> Result<Vec<Span>, Stop> {
        match expr {
            Expr::Range { low, high, .. } => Ok(vec![Span { low: *low, high: *high }]),
            Expr::Prefix { ty, value, len } => {
                let mask = prefix_mask(ty.bits(), *len);
                Ok(vec![Span { low: value & mask, high: value & mask | Type::max(*ty) & !mask }])
            }
            Expr::Map { key, map } => {
                let fields = self.fields(key, skb)?;
                let found = self.find(map, &fields, skb)?;
                self.looked_up(key, &fields, map, found.as_ref());
                match found.and_then(|found| found.data) {
                    Some(Data::Values(spans)) => Ok(spans.to_vec()),
                    Some(Data::Verdict(_) | Data::Object(_)) | None => Err(Stop::Break),
                }
            }
            Expr::Concat(parts) => {
                let mut all = Vec::new();
                for part in parts {
                    all.extend(self.spans(part, skb)?.first());
                }
                Ok(all)
            }
            other => self.value(other, skb).map(|value| vec![Span::one(value)]),
        }
    }

    /// `nf_nat_masquerade_ipv4`, `..._ipv6`.
    fn masquerade_source(&mut self, skb: &Skb) -> Result<IpAddr, Verdict> {
        let ip = &skb.packet.ip;
        // A DHCP client asks from 0.0.0.0; it keeps that source.
        if ip.src.is_ipv4() && ip.src.is_unspecified() {
            return Err(Verdict::Accept);
        }
        let Some(out) = self.cx.outdev else { return Err(Verdict::Accept) };
        let addr = self.cx.fib.masquerade_source(out.id, ip.dst);
        let addr = addr.ok_or(Verdict::Drop(DropReason::NoAddress))?;
        self.cx.ct.set_masq_device(skb, out.id);
        Ok(addr)
    }

    /// `nf_nat_redirect_ipv4`, `..._ipv6`: this node, as the packet reached it.
    fn own_address(&self, skb: &Skb) -> Option<IpAddr> {
        if self.cx.hook == Hook::Output {
            return Some(match skb.family() {
                Family::V4 => IpAddr::V4(Ipv4Addr::LOCALHOST),
                Family::V6 => IpAddr::V6(Ipv6Addr::LOCALHOST),
            });
        }
        self.cx.indev.and_then(|dev| self.cx.fib.redirect_address(dev.id, skb.packet.ip.dst))
    }
}

fn address(value: u128, family: Family) -> IpAddr {
    match family {
        Family::V4 => Ipv4Addr::from_bits(value as u32).into(),
        Family::V6 => Ipv6Addr::from_bits(value).into(),
    }
}

/// `nft_nat_setup_netmap`: the network of the span, the host bits of the packet.
fn mapped(span: Span, manip: Manip, skb: &Skb) -> IpAddr {
    let ip = &skb.packet.ip;
    let own = match manip {
        Manip::Dst => ip.dst,
        Manip::Src => ip.src,
    };
    let host = span.low ^ span.high;
    let own = crate::netfilter::nft::stmt::address_value(own);
    address(own & host | span.low & !host, skb.family())
}
