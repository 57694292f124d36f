//! `jhash` and `symhash` (`nft_hash.c`, `include/linux/jhash.h`).

use crate::base::Rng;
use crate::netfilter::nft::expr::Expr;
use crate::packet::Skb;

/// Bob Jenkins' lookup3 over bytes, as a little-endian machine reads them.
pub(super) fn jhash(bytes: &[u8], seed: u32) -> u32 {
    let start = 0xdead_beef_u32.wrapping_add(bytes.len() as u32).wrapping_add(seed);
    let (mut a, mut b, mut c) = (start, start, start);
    let word = |bytes: &[u8], at: usize| {
        (0..4).fold(0_u32, |w, i| w | u32::from(bytes.get(at + i).copied().unwrap_or(0)) << (8 * i))
    };
    let mut rest = bytes;
    while rest.len() > 12 {
        a = a.wrapping_add(word(rest, 0));
        b = b.wrapping_add(word(rest, 4));
        c = c.wrapping_add(word(rest, 8));
        // The mixing rounds: (subtract, xor with rotation, add) over the three registers in turn.
        for rotation in [[4, 6, 8], [16, 19, 4]] {
            a = a.wrapping_sub(c) ^ c.rotate_left(rotation[0]);
            c = c.wrapping_add(b);
            b = b.wrapping_sub(a) ^ a.rotate_left(rotation[1]);
            a = a.wrapping_add(c);
            c = c.wrapping_sub(b) ^ b.rotate_left(rotation[2]);
            b = b.wrapping_add(a);
        }
        rest = &rest[12..];
    }
    if rest.is_empty() {
        return c;
    }
    a = a.wrapping_add(word(rest, 0));
    b = b.wrapping_add(word(rest, 4));
    c = c.wrapping_add(word(rest, 8));
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    (c ^ b).wrapping_sub(b.rotate_left(24))
}

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

#[cfg(test)]
mod tests {
    use super::jhash;

    #[test]
    fn lookup3_of_four_bytes_is_the_kernels() {
        // `jhash ip saddr mod 2^32`-like values are compared with the kernel by cases; here only that the tail of a key
        // matters and an empty key is the seed's.
        assert_eq!(jhash(&[], 0), 0xdead_beef);
        assert_ne!(jhash(&[1, 2, 3, 4], 0), jhash(&[1, 2, 3, 5], 0));
        assert_ne!(jhash(&[0; 16], 0), jhash(&[0; 12], 0));
    }
}
