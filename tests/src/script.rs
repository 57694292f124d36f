//! A short notation for packets, so that a case reads as what happens on the wire.
//!
//! One packet a line: `[@ms] DEVICE [PROTO] SRC[:PORT] > DST[:PORT] WORD...`. Without a protocol it is TCP and
//! a word of flag letters gives its flags (`-` for none). Words: `seq= ack= win= len= mss= ws= ttl= tos= id=`,
//! `sack`, `TYPE/CODE` for ICMP, `about=PROTO,SRC,DST,WORD,...` for the packet that an ICMP error quotes,
//! `mac=` for the frame's source, `hex=` for the whole packet by its bytes. A value `$N.field+ADD` is linked to the first packet that N emitted.
//! Lines that start with `#` are remarks.

use crate::case::Link;
use crate::frame::{build, flag_bits, hex, icmp_error};
use std::net::IpAddr;

use crate::replay::{Packet, text};

/// Reads a script.
///
/// # Panics
/// On a line that cannot be read: scripts are part of the source.
pub fn packets(text: &str) -> (Vec<Packet>, Vec<Link>) {
    let mut packets: Vec<Packet> = Vec::new();
    let mut links = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let packet =
            read(line, &packets, &mut links).unwrap_or_else(|error| panic!("script line {line:?}: {error}"));
        packets.push(packet);
    }
    (packets, links)
}

fn read(line: &str, earlier: &[Packet], links: &mut Vec<Link>) -> Result<Packet, String> {
    let mut words = line.split_whitespace().peekable();
    let mut packet = Packet { at_ms: earlier.last().map_or(0, |packet| packet.at_ms), ..Packet::default() };
    if let Some(at) = words.next_if(|word| word.starts_with('@')) {
        packet.at_ms = at[1..].parse().map_err(|_| "a time is @MILLISECONDS")?;
    }
    packet.input = words.next().ok_or("no device")?.to_string();
    let mut source = words.next().ok_or("no source")?;
    let proto = if source.contains(['.', ':']) {
        "tcp"
    } else {
        let name = source;
        source = words.next().ok_or("no source")?;
        name
    };
    packet.proto = Some(text(proto));
    if words.next() != Some(">") {
        return Err("expected >".into());
    }
    let destination = words.next().ok_or("no destination")?;
    (packet.src, packet.sport) = endpoint(source)?;
    (packet.dst, packet.dport) = endpoint(destination)?;
    let mut about = None;
    for word in words {
        if word == "sack" {
            packet.sack_ok = Some(true);
        } else if let Some((name, value)) = word.split_once('=') {
            if name == "mac" {
                packet.mac = Some(value.into());
            } else if name == "hex" {
                packet = Packet {
                    at_ms: packet.at_ms,
                    input: packet.input,
                    raw_hex: Some(value.into()),
                    ..Packet::default()
                };
            } else if name == "about" {
                about = Some(value);
            } else {
                let value = linked(value, name, earlier.len(), links)?;
                set(&mut packet, name, value)?;
            }
        } else if let Some((kind, code)) = word.split_once('/') {
            packet.icmp_type = Some(kind.parse().map_err(|_| "bad ICMP type")?);
            packet.icmp_code = Some(code.parse().map_err(|_| "bad ICMP code")?);
        } else if word == "-" || flag_bits(word).is_ok() {
            packet.flags = Some(word.trim_matches('-').to_string());
        } else {
            return Err(format!("unknown word {word:?}"));
        }
    }
    match about {
        Some(inner) => quoting(packet, inner),
        None => Ok(packet),
    }
}

/// `10.0.0.1:80`, `10.0.0.1`, `[fd00::1]:80` or `fd00::1`.
fn endpoint(text: &str) -> Result<(Option<IpAddr>, Option<u16>), String> {
    let (address, port) = halves(text)?;
    let address = address.parse().map_err(|_| format!("{address:?} is not an address"))?;
    Ok((Some(address), port))
}

fn halves(text: &str) -> Result<(String, Option<u16>), String> {
    let port = |text: &str| text.parse().map(Some).map_err(|_| format!("bad port {text:?}"));
    if let Some((address, rest)) = text.strip_prefix('[').and_then(|text| text.split_once(']')) {
        let number = rest.strip_prefix(':').map_or(Ok(None), port)?;
        return Ok((address.to_string(), number));
    }
    match text.split_once(':') {
        Some((address, number)) if !number.contains(':') && address.contains('.') => {
            Ok((address.into(), port(number)?))
        }
        _ => Ok((text.to_string(), None)),
    }
}

/// Turns `$N.field+ADD` into a link; its placeholder value is zero.
fn linked(value: &str, set: &str, packet: usize, links: &mut Vec<Link>) -> Result<u32, String> {
    let Some(reference) = value.strip_prefix('$') else {
        return value.parse().map_err(|_| format!("bad number {value:?}"));
    };
    let (reference, add) = reference.split_once('+').unwrap_or((reference, "0"));
    let (from, field) = reference.split_once('.').ok_or("a link is $N.field")?;
    links.push(Link {
        packet,
        set: set.into(),
        from: from.parse().map_err(|_| "a link is $N.field")?,
        field: field.into(),
        add: add.parse().map_err(|_| "bad number after +")?,
    });
    Ok(0)
}

fn set(packet: &mut Packet, name: &str, value: u32) -> Result<(), String> {
    let short = value as u16;
    let byte = value as u8;
    match name {
        "sport" => packet.sport = Some(short),
        "dport" => packet.dport = Some(short),
        "seq" if packet.proto == Some(text("icmp")) => packet.icmp_seq = Some(short),
        "seq" if packet.proto == Some(text("icmpv6")) => packet.icmp_seq = Some(short),
        "seq" => packet.seq = Some(value),
        "ack" => packet.ack = Some(value),
        "win" => packet.win = Some(short),
        "len" => packet.len = Some(short),
        "mss" => packet.mss = Some(short),
        "ws" => packet.wscale = Some(byte),
        "ttl" => packet.ttl = Some(byte),
        "tos" => packet.tos = Some(byte),
        "id" | "icmp_id" => packet.icmp_id = Some(short),
        _ => return Err(format!("unknown word {name}=")),
    }
    Ok(())
}

/// Makes `packet` an ICMP error about the packet that `inner` describes.
fn quoting(packet: Packet, inner: &str) -> Result<Packet, String> {
    let words: Vec<&str> = inner.split(',').collect();
    let [proto, src, dst, rest @ ..] = words.as_slice() else { return Err("about=PROTO,SRC,DST,...".into()) };
    let line = format!("about {proto} {src} > {dst} {}", rest.join(" "));
    quoting_bytes(packet, &build(&read(&line, &[], &mut Vec::new())?)?)
}

/// Makes `packet` an ICMP error about `inner`, as raw bytes.
pub fn quoting_bytes(packet: Packet, inner: &[u8]) -> Result<Packet, String> {
    let (source, destination) = (packet.src.ok_or("no source")?, packet.dst.ok_or("no destination")?);
    let (kind, code) = (packet.icmp_type.unwrap_or(3), packet.icmp_code.unwrap_or(3));
    let bytes = icmp_error(source, destination, kind, code, inner);
    let raw_hex = hex(&bytes);
    Ok(Packet { at_ms: packet.at_ms, input: packet.input, raw_hex: Some(raw_hex), ..Packet::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handshake_reads() {
        let (packets, links) = super::packets(
            "c0 10.1.0.2:40000 > 10.96.0.1:80 S seq=1000 mss=1460 ws=7 sack
             @5 s0 10.2.0.2:8080 > 10.2.0.1 SA dport=$0.sport seq=9000 ack=1001
             c0 icmp 10.1.0.2 > 10.2.0.2 8/0 id=7 seq=1
             c0 udp [fd00::2]:53 > [fd00::1]:53 len=4",
        );
        assert_eq!(
            (packets[0].flags.as_deref(), packets[0].wscale, packets[1].at_ms),
            (Some("S"), Some(7), 5)
        );
        assert_eq!(links, [Link { packet: 1, set: "dport".into(), from: 0, field: "sport".into(), add: 0 }]);
        assert_eq!((packets[2].icmp_id, packets[2].icmp_seq, packets[3].sport), (Some(7), Some(1), Some(53)));
    }
}
