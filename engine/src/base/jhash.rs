//! [`jhash`]: Bob Jenkins' lookup3, as the kernel and eBPF programs use it (`include/linux/jhash.h`).

/// The hash of bytes, read as a little-endian machine reads them. `jhash2` and `jhash_nwords` of the kernel are the
/// same over whole words.
pub fn jhash(bytes: &[u8], seed: u32) -> u32 {
    let start = 0xdead_beef_u32.wrapping_add(bytes.len() as u32).wrapping_add(seed);
    let mut state = [start; 3];
    let mut rest = bytes;
    while rest.len() > 12 {
        state = mix(add(state, rest));
        rest = &rest[12..];
    }
    if rest.is_empty() { state[2] } else { last(add(state, rest)) }
}

/// Adds the next three words; bytes behind the end are zero.
fn add(state: [u32; 3], bytes: &[u8]) -> [u32; 3] {
    let word = |at: usize| {
        bytes.iter().skip(4 * at).take(4).rev().fold(0, |word, byte| word << 8 | u32::from(*byte))
    };
    [0, 1, 2].map(|at: usize| state[at].wrapping_add(word(at)))
}

/// `__jhash_mix`.
pub fn mix([mut a, mut b, mut c]: [u32; 3]) -> [u32; 3] {
    // The rounds: (subtract, xor with rotation, add) over the three registers in turn.
    for rotation in [[4, 6, 8], [16, 19, 4]] {
        a = a.wrapping_sub(c) ^ c.rotate_left(rotation[0]);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(rotation[1]);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(rotation[2]);
        b = b.wrapping_add(a);
    }
    [a, b, c]
}

/// `__jhash_final`, and the register that is the hash.
pub fn last([mut a, mut b, mut c]: [u32; 3]) -> u32 {
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    (c ^ b).wrapping_sub(b.rotate_left(24))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Published with lookup3.c: `hashlittle` of these 30 letters with seeds 0 and 1, and of nothing.
    #[test]
    fn agrees_with_the_published_vectors() {
        let text = b"Four score and seven years ago";
        assert_eq!(jhash(text, 0), 0x1777_0551);
        assert_eq!(jhash(text, 1), 0xcd62_8161);
        assert_eq!(jhash(b"", 0), 0xdead_beef);
    }
}
