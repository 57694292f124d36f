//! Which address of a range a mapping takes: the kernel's unseeded hash, so the choice is the kernel's own.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Manip, NatRange, Tuple};
use crate::base::jhash::jhash;

/// Sets the address (`nf_nat_find_best_ips_proto`): of several, by a hash of the source and, unless
/// persistent, of the destination.
pub(super) fn pick_address(tuple: &mut Tuple, range: &NatRange, manip: Manip, zone: u16) {
    let Some((min, max)) = range.addrs else { return };
    let picked =
        if min == max { min } else { hashed_address(tuple, range.flags.persistent, zone, (min, max), manip) };
    match manip {
        Manip::Src => tuple.src = picked,
        Manip::Dst => tuple.dst = picked,
    }
}

fn hashed_address(
    tuple: &Tuple,
    persistent: bool,
    zone: u16,
    (min, max): (IpAddr, IpAddr),
    manip: Manip,
) -> IpAddr {
    let (words, last) = match tuple.src {
        IpAddr::V4(_) => (1, 0),
        IpAddr::V6(_) => (4, 3),
    };
    let [src, dst] = [tuple.src, tuple.dst].map(memory_words);
    let (min, max) = (address_words(min), address_words(max));
    let bytes: Vec<u8> = src.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut j = jhash(&bytes, if persistent { 0 } else { dst[last] ^ u32::from(zone) });
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
            // The kernel writes the chosen words into the tuple that it goes on hashing.
            j ^= if manip == Manip::Dst { picked[i].swap_bytes() } else { dst[i] };
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
