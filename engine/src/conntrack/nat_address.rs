//! Which address of a range a mapping takes: the kernel's unseeded hash, so the choice is the kernel's own.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Manip, NatRange, Tuple};

/// Sets the address (`nf_nat_find_best_ips_proto`): of several, by a hash of the source and, unless
/// persistent, of the destination.
pub(super) fn pick_address(tuple: &mut Tuple, range: &NatRange, manip: Manip, zone: u16) {
    let Some((min, max)) = range.addrs else { return };
    let picked = if min == max { min } else { hashed_address(tuple, range.flags.persistent, zone, min, max) };
    match manip {
        Manip::Src => tuple.src = picked,
        Manip::Dst => tuple.dst = picked,
    }
}

fn hashed_address(tuple: &Tuple, persistent: bool, zone: u16, min: IpAddr, max: IpAddr) -> IpAddr {
    let (words, last) = match tuple.src {
        IpAddr::V4(_) => (1, 0),
        IpAddr::V6(_) => (4, 3),
    };
    let [src, dst] = [tuple.src, tuple.dst].map(memory_words);
    let (min, max) = (address_words(min), address_words(max));
    let mut j = jhash2(&src, if persistent { 0 } else { dst[last] ^ u32::from(zone) });
    let mut full_range = false;
    let mut picked = [0_u32; 4];
    for i in 0..words {
        // Once a higher word is below its maximum, lower ones may take any value.
        let (low, distance) =
            if full_range { (0, u32::MAX) } else { (min[i], max[i].wrapping_sub(min[i]).wrapping_add(1)) };
        let scaled = ((u64::from(j) * u64::from(distance)) >> 32) as u32;
        picked[i] = low.wrapping_add(scaled);
        if picked[i] != max[i] {
            full_range = true;
        }
        if !persistent {
            j ^= dst[i];
        }
    }
    match tuple.src {
        IpAddr::V4(_) => Ipv4Addr::from_bits(picked[0]).into(),
        IpAddr::V6(_) => {
            let bits = picked.iter().fold(0_u128, |bits, word| bits << 32 | u128::from(*word));
            Ipv6Addr::from_bits(bits).into()
        }
    }
}

/// An address as four 32-bit words in the order of its bits; IPv4 fills the first.
fn address_words(addr: IpAddr) -> [u32; 4] {
    match addr {
        IpAddr::V4(a) => [a.to_bits(), 0, 0, 0],
        IpAddr::V6(a) => [96, 64, 32, 0].map(|shift| (a.to_bits() >> shift) as u32),
    }
}

/// The words as a little-endian machine reads them from the packet: what the kernel hashes.
fn memory_words(addr: IpAddr) -> [u32; 4] {
    address_words(addr).map(u32::swap_bytes)
}

/// Bob Jenkins' lookup3 over 32-bit words, with the kernel's seed (`include/linux/jhash.h`).
fn jhash2(words: &[u32; 4], seed: u32) -> u32 {
    let start = 0xdead_beef_u32.wrapping_add((words.len() as u32) << 2).wrapping_add(seed);
    let (mut a, mut b, mut c) = (start, start, start);
    a = a.wrapping_add(words[0]);
    b = b.wrapping_add(words[1]);
    c = c.wrapping_add(words[2]);
    // The mixing rounds: (subtract, xor with rotation, add) over the three registers in turn.
    for rotation in [[4, 6, 8], [16, 19, 4]] {
        a = a.wrapping_sub(c) ^ c.rotate_left(rotation[0]);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(rotation[1]);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(rotation[2]);
        b = b.wrapping_add(a);
    }
    a = a.wrapping_add(words[3]);
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    (c ^ b).wrapping_sub(b.rotate_left(24))
}
