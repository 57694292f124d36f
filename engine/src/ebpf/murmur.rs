//! MurmurHash3, x64, 128 bits (Austin Appleby, public domain), with one 32-bit seed for both halves.

const C1: u64 = 0x87c3_7b91_1142_53d5;
const C2: u64 = 0x4cf5_ad43_2745_937f;

/// The two 64-bit halves of the hash.
pub fn murmur3_128(bytes: &[u8], seed: u32) -> (u64, u64) {
    let (mut h1, mut h2) = (u64::from(seed), u64::from(seed));
    let mut blocks = bytes.chunks_exact(16);
    for block in &mut blocks {
        h1 ^= scramble(word(block, 0), C1, 31, C2);
        h1 = h1.rotate_left(27).wrapping_add(h2).wrapping_mul(5).wrapping_add(0x52dc_e729);
        h2 ^= scramble(word(block, 8), C2, 33, C1);
        h2 = h2.rotate_left(31).wrapping_add(h1).wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    // What is missing of the last block counts as zero, and a zero word leaves the state alone.
    let tail = blocks.remainder();
    h2 ^= scramble(word(tail, 8), C2, 33, C1);
    h1 ^= scramble(word(tail, 0), C1, 31, C2);
    let len = bytes.len() as u64;
    (h1, h2) = (h1 ^ len, h2 ^ len);
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    (h1, h2) = (finish(h1), finish(h2));
    h1 = h1.wrapping_add(h2);
    (h1, h2.wrapping_add(h1))
}

/// The eight bytes at `at`, lowest first; bytes behind the end are zero.
fn word(bytes: &[u8], at: usize) -> u64 {
    bytes.iter().skip(at).take(8).rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

const fn scramble(word: u64, first: u64, rotation: u32, second: u64) -> u64 {
    word.wrapping_mul(first).rotate_left(rotation).wrapping_mul(second)
}

const fn finish(mut k: u64) -> u64 {
    k = (k ^ k >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    k = (k ^ k >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    k ^ k >> 33
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_reference_implementation() {
        assert_eq!(murmur3_128(b"", 0), (0, 0));
        assert_eq!(murmur3_128(b"hello", 0), (0xcbd8_a7b3_41bd_9b02, 0x5b1e_906a_48ae_1d19));
    }
}
