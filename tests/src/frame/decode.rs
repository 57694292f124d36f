//! Reading the bytes of an emitted packet.

use super::{Seen, flag_letters, v4, v6};

/// IPv6 next header of the fragment header (RFC 8200 4.5).
const FRAGMENT_HEADER: u8 = 44;

/// Reads an IP packet; `None` when it is neither IPv4 nor IPv6 or is shorter than its header.
pub fn decode(bytes: &[u8]) -> Option<Seen> {
    decode_at(bytes, 0)
}

/// `depth` is 1 inside an ICMP error: quoted packets do not quote.
fn decode_at(bytes: &[u8], depth: u8) -> Option<Seen> {
    match bytes.first()? >> 4 {
        4 => decode_v4(bytes, depth),
        6 => decode_v6(bytes, depth),
        _ => None,
    }
}

fn decode_v4(bytes: &[u8], depth: u8) -> Option<Seen> {
    let header = usize::from(bytes[0] & 15) * 4;
    if bytes.len() < header || header < 20 {
        return None;
    }
    let mut seen = Seen {
        src: v4(&bytes[12..16]),
        dst: v4(&bytes[16..20]),
        ttl: bytes[8],
        tos: bytes[1],
        ..Seen::default()
    };
    let fragment = u16::from_be_bytes([bytes[6], bytes[7]]);
    let (offset, more) = ((fragment & 0x1fff) * 8, fragment & 0x2000 != 0);
    seen.fragment = (offset != 0 || more).then_some(offset);
    let total = usize::from(u16::from_be_bytes([bytes[2], bytes[3]])).max(header);
    transport(&mut seen, bytes[9], bytes.get(header..)?, total - header, depth);
    Some(seen)
}

fn decode_v6(bytes: &[u8], depth: u8) -> Option<Seen> {
    if bytes.len() < 40 {
        return None;
    }
    let tos = bytes[0] << 4 | bytes[1] >> 4;
    let mut seen =
        Seen { src: v6(&bytes[8..24]), dst: v6(&bytes[24..40]), ttl: bytes[7], tos, ..Seen::default() };
    let length = usize::from(u16::from_be_bytes([bytes[4], bytes[5]]));
    let (mut next, mut header) = (bytes[6], 40);
    if next == FRAGMENT_HEADER && bytes.len() >= 48 {
        let field = u16::from_be_bytes([bytes[42], bytes[43]]);
        seen.fragment = Some(field & !7);
        (next, header) = (bytes[40], 48);
    }
    transport(&mut seen, next, &bytes[header..], length.saturating_sub(header - 40), depth);
    Some(seen)
}

/// `length` is what the IP header says follows it; `bytes` may be cut short in a quoted packet.
fn transport(seen: &mut Seen, protocol: u8, bytes: &[u8], length: usize, depth: u8) {
    let word = |at: usize| bytes.get(at..at + 2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
    let long = |at: usize| Some(u32::from(word(at)?) << 16 | u32::from(word(at + 2)?));
    let name = match protocol {
        1 => "icmp",
        6 => "tcp",
        17 => "udp",
        58 => "icmpv6",
        132 => "sctp",
        _ => "",
    };
    seen.proto = if name.is_empty() { protocol.to_string() } else { name.into() };
    seen.len = length as u16;
    if seen.fragment.is_some_and(|offset| offset != 0) {
        return;
    }
    // A header cut short has no fields; that the packet was longer than what is quoted of it is no matter.
    if protocol == 6 && length < 20 || protocol == 17 && length < 8 {
        return;
    }
    match protocol {
        6 => {
            seen.sport = word(0);
            seen.dport = word(2);
            seen.seq = long(4);
            seen.ack = long(8);
            seen.flags = bytes.get(13).map(|bits| flag_letters(*bits));
            seen.win = word(14);
            let header = bytes.get(12).map_or(20, |offset| usize::from(offset >> 4) * 4);
            seen.mss = bytes.get(20..header).and_then(mss);
            seen.len = length.saturating_sub(header) as u16;
        }
        17 => {
            seen.sport = word(0);
            seen.dport = word(2);
            seen.len = length.saturating_sub(8) as u16;
        }
        132 => {
            seen.sport = word(0);
            seen.dport = word(2);
        }
        1 | 58 => {
            seen.icmp_type = bytes.first().copied();
            seen.icmp_code = bytes.get(1).copied();
            let kind = bytes.first().copied().unwrap_or(0);
            let error = if protocol == 1 { matches!(kind, 3 | 4 | 5 | 11 | 12) } else { kind < 128 };
            if error && depth == 0 {
                seen.quoted = bytes.get(8..).and_then(|inner| decode_at(inner, 1)).map(Box::new);
            } else {
                seen.icmp_id = word(4);
                seen.icmp_seq = word(6);
            }
            seen.len = length.saturating_sub(8) as u16;
        }
        _ => {}
    }
}

fn mss(mut options: &[u8]) -> Option<u16> {
    loop {
        match *options.first()? {
            0 => return None,
            1 => options = &options[1..],
            2 if options.len() >= 4 => return Some(u16::from_be_bytes([options[2], options[3]])),
            _ => options = options.get(usize::from(*options.get(1)?).max(2)..)?,
        }
    }
}
