//! Hashes of the kernel that schedulers use (`linux/hash.h`, `lib/siphash.c`).

use std::net::IpAddr;

/// `GOLDEN_RATIO_32`.
const GOLDEN_RATIO: u32 = 0x61c8_8647;

/// An address as one word: IPv6 is folded by XOR of its four words.
pub fn fold(addr: IpAddr) -> u32 {
    match addr {
        IpAddr::V4(addr) => addr.to_bits(),
        IpAddr::V6(addr) => {
            let bits = addr.to_bits();
            (bits >> 96) as u32 ^ (bits >> 64) as u32 ^ (bits >> 32) as u32 ^ bits as u32
        }
    }
}

/// `hash_32`: the top `bits` bits of the product with the golden ratio.
pub const fn hash_32(value: u32, bits: u32) -> u32 {
    value.wrapping_mul(GOLDEN_RATIO) >> (32 - bits)
}

/// `hsiphash` of one 32-bit word, on a 64-bit machine: SipHash-1-3, cut to 32 bits.
pub const fn hsiphash_1u32(word: u32, key: [u64; 2]) -> u32 {
    let mut v = [
        0x736f_6d65_7073_6575 ^ key[0],
        0x646f_7261_6e64_6f6d ^ key[1],
        0x6c79_6765_6e65_7261 ^ key[0],
        0x7465_6462_7974_6573 ^ key[1],
    ];
    // The length in the top byte, the word below.
    let block = 4 << 56 | word as u64;
    v[3] ^= block;
    v = sip_round(v);
    v[0] ^= block;
    v[2] ^= 0xff;
    v = sip_round(sip_round(sip_round(v)));
    ((v[0] ^ v[1]) ^ (v[2] ^ v[3])) as u32
}

const fn sip_round([mut a, mut b, mut c, mut d]: [u64; 4]) -> [u64; 4] {
    a = a.wrapping_add(b);
    b = b.rotate_left(13) ^ a;
    a = a.rotate_left(32);
    c = c.wrapping_add(d);
    d = d.rotate_left(16) ^ c;
    a = a.wrapping_add(d);
    d = d.rotate_left(21) ^ a;
    c = c.wrapping_add(b);
    b = b.rotate_left(17) ^ c;
    c = c.rotate_left(32);
    [a, b, c, d]
}

/// Greatest common divisor; of zero and `b`, `b`.
pub const fn gcd(a: u32, b: u32) -> u32 {
    if a == 0 { b } else { gcd(b % a, a) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 times the ratio starts with 0x61, twice it with 0xc3.
    #[test]
    fn the_golden_ratio_hash_keeps_the_top_bits() {
        let product = (0x0a00_0001_u64 * 0x61c8_8647) & 0xffff_ffff;
        assert_eq!(u64::from(hash_32(0x0a00_0001, 8)), product >> 24);
        assert_eq!(hash_32(0, 8), 0);
        assert_eq!(hash_32(1, 8), 0x61);
        assert_eq!(hash_32(2, 8), 0xc3);
    }

    #[test]
    fn ipv6_is_folded_by_words() {
        let addr: IpAddr = "fd00:1:2:3:4:5:6:7".parse().expect("an address");
        assert_eq!(fold(addr), 0xfd00_0001 ^ 0x0002_0003 ^ 0x0004_0005 ^ 0x0006_0007);
        assert_eq!(fold("1.2.3.4".parse().expect("an address")), 0x0102_0304);
    }

    #[test]
    fn divisors() {
        assert_eq!([gcd(0, 5), gcd(12, 18), gcd(7, 3)], [5, 6, 1]);
    }
}
