//! What expressions yield.

use super::{Stop, Walk, hash};
use crate::base::jhash::jhash;
use crate::base::{Hook, Rng};
use crate::netfilter::nft::expr::{BinaryOp, Expr, FibKeys, FibResult, Numgen, NumgenMode, RtKey};
use crate::netfilter::nft::set::Data;
use crate::netfilter::nft::state::StmtState;
use crate::netfilter::nft::stmt::address_value;
use crate::netfilter::nft::types::name_value;
use crate::packet::{DevId, Family, Skb};

/// Most values side by side: one a 32-bit register (`NFT_REG32_COUNT`).
const FIELDS_MAX: usize = 16;

/// The values of a key: one a field.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields {
    values: [u128; FIELDS_MAX],
    len: usize,
}

impl Fields {
    const fn one(value: u128) -> Self {
        let mut values = [0; FIELDS_MAX];
        values[0] = value;
        Self { values, len: 1 }
    }

    fn push(&mut self, value: u128) {
        if let Some(to) = self.values.get_mut(self.len) {
            *to = value;
            self.len += 1;
        }
    }

    pub(super) fn as_slice(&self) -> &[u128] {
        &self.values[..self.len]
    }
}

impl<'a> Walk<'a, '_, '_> {
    /// The values of an expression, one a field of a concatenation.
    pub(super) fn fields(&mut self, expr: &'a Expr, skb: &Skb) -> Result<Fields, Stop> {
        let Expr::Concat(parts) = expr else { return self.value(expr, skb).map(Fields::one) };
        let mut fields = Fields { values: [0; FIELDS_MAX], len: 0 };
        for part in parts {
            fields.push(self.value(part, skb)?);
        }
        Ok(fields)
    }

    /// The value of an expression that has one.
    pub(super) fn value(&mut self, expr: &'a Expr, skb: &Skb) -> Result<u128, Stop> {
        match expr {
            Expr::Value { value, .. } | Expr::Prefix { value, .. } => Ok(*value),
            Expr::Range { low, .. } => Ok(*low),
            Expr::Meta(key) => self.meta(*key, skb),
            Expr::Ct { key, direction, family } => self.ct(*key, *direction, *family, skb),
            Expr::Payload(field) => self.payload(field, skb),
            Expr::Exthdr(field) => self.exthdr(field, skb),
            Expr::Fib { keys, result } => self.fib(*keys, *result, skb),
            Expr::Rt { key, family } => {
                let family = family.map(|f| f.family());
                self.rt(*key, family, skb)
            }
            Expr::Numgen(numgen) => self.numgen(numgen),
            Expr::Hash(hash) => {
                let number = match &hash.key {
                    None => hash::symmetric(skb, self.cx.shared.seed),
                    Some(key) => {
                        let seed = hash.seed.unwrap_or_else(|| {
                            // The kernel draws one when the rule is made.
                            Rng::named(self.cx.shared.seed, "nft jhash seed").next_u32()
                        });
                        let fields = self.fields(key, skb)?;
                        jhash(&hash::key_bytes(key, fields.as_slice()), seed)
                    }
                };
                Ok(u128::from(scale(number, hash.modulus).wrapping_add(hash.offset)))
            }
            Expr::Concat(parts) => match parts.first() {
                Some(first) => self.value(first, skb),
                None => Err(Stop::Break),
            },
            Expr::Binary { op, left, right } => {
                let max = left.ty().map_or(u128::MAX, |ty| ty.max());
                let (a, b) = (self.value(left, skb)?, self.value(right, skb)?);
                let bits = u32::try_from(b).unwrap_or(u32::MAX);
                Ok(match op {
                    BinaryOp::And => a & b,
                    BinaryOp::Or => a | b,
                    BinaryOp::Xor => a ^ b,
                    BinaryOp::Lshift => a.checked_shl(bits).unwrap_or(0),
                    BinaryOp::Rshift => a.checked_shr(bits).unwrap_or(0),
                } & max)
            }
            Expr::Map { key, map } => {
                let fields = self.fields(key, skb)?;
                let found = self.find(map, &fields, skb)?;
                self.looked_up(key, &fields, map, found.as_ref());
                match found.and_then(|found| found.data) {
                    Some(Data::Values(spans)) => spans.first().map(|s| s.low).ok_or(Stop::Break),
                    Some(Data::Verdict(_) | Data::Object(_)) | None => Err(Stop::Break),
                }
            }
            Expr::Set(_) => Err(Stop::Break),
            Expr::Foreign { name, .. } => Err(Stop::Unknown(name)),
        }
    }

    /// `fib` (`nft_fib_ipv4.c`, `nft_fib_ipv6.c`).
    fn fib(&self, keys: FibKeys, result: FibResult, skb: &Skb) -> Result<u128, Stop> {
        let ip = &skb.packet.ip;
        let addr = if keys.saddr { ip.src } else { ip.dst };
        let dev = if keys.iif {
            self.cx.indev.map(|d| d.id)
        } else if keys.oif {
            self.cx.outdev.map(|d| d.id)
        } else {
            None
        };
        if result == FibResult::Type {
            return Ok(self.cx.fib.addr_type(addr, dev) as u128);
        }
        let found = self.fib_device(skb, addr, dev);
        Ok(match result {
            FibResult::Oif | FibResult::OifName => {
                found.map_or(0, |dev| name_value(self.cx.fib.device_name(dev)))
            }
            FibResult::Present | FibResult::Type => u128::from(found.is_some()),
        })
    }

    fn fib_device(&self, skb: &Skb, addr: std::net::IpAddr, dev: Option<DevId>) -> Option<DevId> {
        // `nft_fib_is_loopback`: what comes round through lo has its way.
        if self.cx.hook == Hook::Prerouting
            && let Some(indev) = self.cx.indev
            && self.cx.fib.is_loopback(indev.id)
        {
            return Some(indev.id);
        }
        let ip = &skb.packet.ip;
        if let (std::net::IpAddr::V4(src), std::net::IpAddr::V4(dst)) = (ip.src, ip.dst)
            && src.octets()[0] == 0
            && (dst.is_broadcast() || dst.octets()[..3] == [224, 0, 0])
        {
            return skb.indev.or(skb.outdev);
        }
        self.cx.fib.unicast_device(addr, dev)
    }

    /// `rt`: of the route that the packet carries (`nft_rt.c`).
    fn rt(&self, key: RtKey, family: Option<Family>, skb: &Skb) -> Result<u128, Stop> {
        let dst = skb.dst.ok_or(Stop::Break)?;
        if family.is_some_and(|f| f != skb.family()) {
            return Err(Stop::Break);
        }
        Ok(match key {
            RtKey::Classid | RtKey::Ipsec => 0,
            RtKey::Nexthop => address_value(dst.via.unwrap_or(skb.packet.ip.dst)),
            RtKey::Mtu => {
                // `get_tcpmss`: the smaller MTU of both ways, less the headers.
                let back = self.cx.fib.path_mtu(skb.packet.ip.src);
                let mtu = dst.mtu.min(back);
                let headers = match skb.family() {
                    Family::V4 => 40,
                    Family::V6 => 60,
                };
                u128::from(if mtu <= headers || mtu > 0xffff { 536 } else { mtu - headers })
            }
        })
    }

    /// `numgen` (`nft_numgen.c`).
    fn numgen(&mut self, numgen: &Numgen) -> Result<u128, Stop> {
        let number = match numgen.mode {
            NumgenMode::Inc => match self.state.get_mut(numgen.slot) {
                Some(StmtState::Inc { count }) => {
                    let now = if *count < numgen.modulus { *count } else { 0 };
                    *count = now + 1;
                    now
                }
                _ => 0,
            },
            NumgenMode::Random => {
                let (seed, slot) = (self.cx.shared.seed, numgen.slot);
                match self.state.get_mut(slot) {
                    Some(StmtState::Random(own)) => {
                        let own = own.get_or_insert_with(|| Rng::named(seed, &format!("numgen:{}", slot.0)));
                        scale(self.cx.shared.draws.next_u32(own), numgen.modulus)
                    }
                    _ => 0,
                }
            }
        };
        let value = number.wrapping_add(numgen.offset);
        self.check(true, || {
            let mode = match numgen.mode {
                NumgenMode::Inc => "numgen inc",
                NumgenMode::Random => "numgen random",
            };
            (mode.to_owned(), value.to_string(), format!("mod {}", numgen.modulus))
        });
        Ok(value.into())
    }
}

/// `reciprocal_scale`: a 32-bit number to `0..modulus`.
fn scale(number: u32, modulus: u32) -> u32 {
    ((u64::from(number) * u64::from(modulus)) >> 32) as u32
}
