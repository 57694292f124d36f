//! Keys of `jhash`, and `symhash` (`nft_hash.c`).

use crate::base::Rng;
use crate::netfilter::nft::expr::Expr;
use crate::packet::Skb;

/// A key as it lies in the registers: each field in its own byte order, filled up to four bytes where others follow.
pub(super) fn key_bytes(key: &Expr, values: &[u128]) -> Vec<u8> {
    let parts = match key {
        Expr::Concat(parts) => &parts[..],
        one => std::slice::from_ref(one),
    };
    let mut bytes = Vec::new();
    for (part, value) in parts.iter().zip(values) {
        let len = usize::from(part.ty().map_or(32, |ty| ty.bits())).div_ceil(8);
        let big = &value.to_be_bytes()[16 - len.min(16)..];
        if is_network_order(part) {
            bytes.extend_from_slice(big);
        } else {
            bytes.extend(big.iter().rev());
        }
        if parts.len() > 1 {
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
    }
    bytes
}

/// Whether an expression's value lies in memory with its highest byte first.
fn is_network_order(expr: &Expr) -> bool {
    match expr {
        Expr::Payload(_) | Expr::Exthdr(_) => true,
        Expr::Binary { left, .. } => is_network_order(left),
        other => other.ty().is_some_and(|ty| {
            use crate::netfilter::nft::Type;
            ty.is_network_order() || matches!(ty, Type::IfName | Type::Str)
        }),
    }
}

/// `__skb_get_hash_symmetric`: alike for both directions. The kernel's key is random, so only the distribution is its.
pub(super) fn symmetric(skb: &Skb, seed: u64) -> u32 {
    let ip = &skb.packet.ip;
    let (sport, dport) = skb.packet.ports().unwrap_or((0, 0));
    let mut ends = [(ip.src, sport), (ip.dst, dport)];
    ends.sort_unstable();
    Rng::named(seed, &format!("symhash {ends:?} {}", ip.proto)).next_u32()
}
