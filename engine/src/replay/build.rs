//! From the words of a case to a namespace and to packets.

use std::net::IpAddr;

use super::case::{InterfaceSpec, NodeSpec, PacketSpec, RouteSpec};
use super::{ReplayError, setup};
use crate::netns::device::link_local;
use crate::netns::inet::default_prefix;
use crate::netns::{Address, DeviceKind, Inet, Listen, Netns, Route, RouteKind, SysctlError};
use crate::packet::wire::WireError;
use crate::packet::{
    DevId, Family, Icmp, Ip, L4, Owner, Packet, PacketType, Sctp, Skb, Tcp, TcpFlags, Udp, proto,
};

/// Builds the node: devices, addresses, routes, sysctls, listeners, then the set-up commands in order.
pub fn node(spec: &NodeSpec, seed: u64) -> Result<Netns, ReplayError> {
    let kernel = match &spec.kernel {
        None => crate::base::KernelVersion::default(),
        Some(name) => name.parse().map_err(|message: String| ReplayError::new("node.kernel", message))?,
    };
    let mut netns = Netns::new(kernel, seed);
    netns.epoch_secs = spec.epoch_secs;
    for (at, interface) in spec.interfaces.iter().enumerate() {
        add_interface(&mut netns.inet, interface)
            .map_err(|message| ReplayError::new(format!("node.interfaces[{at}]"), message))?;
    }
    for (at, route) in spec.routes.iter().enumerate() {
        let route = read_route(&netns.inet, route)
            .map_err(|message| ReplayError::new(format!("node.routes[{at}]"), message))?;
        netns.inet.main.add(route);
    }
    for (name, value) in &spec.sysctls {
        set_sysctl(&mut netns, name, &value.to_string())
            .map_err(|message| ReplayError::new("node.sysctls", message))?;
    }
    for (at, port) in spec.listen.iter().enumerate() {
        let listen =
            read_listen(port).map_err(|message| ReplayError::new(format!("node.listen[{at}]"), message))?;
        netns.listen.push(listen);
    }
    for (at, step) in spec.setup.iter().enumerate() {
        setup(&mut netns, &step.run, &step.stdin)
            .map_err(|error| ReplayError { part: format!("node.setup[{at}] ({})", step.run), ..error })?;
    }
    Ok(netns)
}

/// Writes a sysctl, or says why not.
pub(super) fn set_sysctl(netns: &mut Netns, name: &str, value: &str) -> Result<(), String> {
    netns.set_sysctl(name, value).map_err(|error| match error {
        SysctlError::Unknown => format!("sysctl {name} is not emulated, or names no device of the node"),
        SysctlError::Invalid => format!("{value:?} is not a value for {name}"),
    })
}

fn add_interface(inet: &mut Inet, spec: &InterfaceSpec) -> Result<(), String> {
    let kind = match spec.kind.as_deref() {
        None | Some("veth" | "ether") => DeviceKind::Wire,
        Some("dummy") => DeviceKind::Dummy,
        Some("bridge") => DeviceKind::Bridge,
        Some("loopback") => DeviceKind::Loopback,
        Some(other) => return Err(format!("kind {other:?} is not one of dummy, bridge")),
    };
    if spec.name.is_empty() || spec.name.len() > 15 || spec.name.contains(['/', ' ']) {
        return Err(format!("{:?} is no name for a device (1 to 15 characters)", spec.name));
    }
    let dev = match inet.find_device(&spec.name) {
        Some(dev) if spec.name == "lo" => dev,
        Some(_) => return Err(format!("there are two devices {}", spec.name)),
        None => inet.add_device(&spec.name, kind),
    };
    if let Some(mtu) = spec.mtu {
        inet.device_mut(dev).mtu = mtu;
    }
    for text in &spec.addresses {
        inet.add_address(dev, read_address(text)?);
    }
    if let Some(text) = &spec.mac {
        let mac = read_mac(text)?;
        inet.device_mut(dev).mac = Some(mac);
        inet.add_address(dev, Address::new(link_local(mac).into(), 64));
    }
    Ok(())
}

/// `10.1.0.1/24`.
pub(super) fn read_address(text: &str) -> Result<Address, String> {
    let (addr, len) = read_prefix(text)?;
    Ok(Address::new(addr, len))
}

/// An address with or without a prefix length.
fn read_prefix(text: &str) -> Result<(IpAddr, u8), String> {
    let (addr, len) = text.split_once('/').map_or((text, None), |(a, l)| (a, Some(l)));
    let addr: IpAddr = addr.parse().map_err(|_| format!("{text:?} is not an address"))?;
    let max = if addr.is_ipv4() { 32 } else { 128 };
    let len = match len {
        None => max,
        Some(len) => len
            .parse()
            .ok()
            .filter(|&l| l <= max)
            .ok_or_else(|| format!("the prefix length of {text:?} is not between 0 and {max}"))?,
    };
    Ok((addr, len))
}

/// The address that stands for any.
pub(super) const fn any_of(family: Family) -> IpAddr {
    default_prefix(family).addr
}

/// `02:00:00:00:01:01`.
pub(super) fn read_mac(text: &str) -> Result<[u8; 6], String> {
    let bad = || format!("{text:?} is not a MAC address");
    let parts: Vec<u8> = text
        .split(':')
        .map(|part| u8::from_str_radix(part, 16).map_err(|_| bad()))
        .collect::<Result<_, _>>()?;
    parts.try_into().map_err(|_| bad())
}

/// A route as the contract states it.
pub(super) fn read_route(inet: &Inet, spec: &RouteSpec) -> Result<Route, String> {
    let family = spec.via.or(spec.src).map_or(Family::V4, |a| Family::of(&a));
    let (to, len) = match spec.to.as_str() {
        "default" => (default_prefix(family).addr, 0),
        text => read_prefix(text)?,
    };
    let kind = match spec.kind.as_deref() {
        None => RouteKind::Unicast,
        Some(name) => RouteKind::ALL
            .into_iter()
            .find(|k| k.name() == name)
            .ok_or_else(|| format!("{name:?} is not a type of route"))?,
    };
    let dev = match (&spec.dev, spec.via) {
        (Some(name), _) => Some(inet.find_device(name).ok_or_else(|| format!("there is no device {name}"))?),
        (None, Some(via)) => Some(
            device_towards(inet, via)
                .ok_or_else(|| format!("Nexthop has invalid gateway: {via} is on no device's subnet"))?,
        ),
        (None, None) if kind == RouteKind::Unicast => {
            return Err("a route needs `dev` or `via`".to_owned());
        }
        (None, None) => None,
    };
    let route = Route::new(to, len, dev.unwrap_or(crate::netns::LOOPBACK))
        .ok_or_else(|| format!("{:?} is not a prefix", spec.to))?;
    let metric = spec.metric.unwrap_or(if to.is_ipv4() { 0 } else { 1024 });
    Ok(Route { kind, via: spec.via, dev, src: spec.src, metric, mtu: spec.mtu, ..route })
}

/// The device whose subnet holds `addr`.
pub(super) fn device_towards(inet: &Inet, addr: IpAddr) -> Option<DevId> {
    let at = inet.devices.iter().position(|d| d.addresses.iter().any(|a| a.covers(addr)))?;
    Some(DevId(at as u16))
}

fn read_listen(text: &str) -> Result<Listen, String> {
    let expected = || format!("expected tcp/PORT or udp/PORT, found {text:?}");
    let (name, port) = text.split_once('/').ok_or_else(expected)?;
    let proto = match name {
        "tcp" => proto::TCP,
        "udp" => proto::UDP,
        _ => return Err(expected()),
    };
    Ok(Listen { proto, port: port.parse().map_err(|_| expected())? })
}

/// A packet ready to enter the node.
#[derive(Debug)]
pub enum Built {
    Received(Box<Skb>, DevId),
    Local(Box<Skb>),
    /// `raw_hex` that the IP layer does not take for a packet.
    Malformed(WireError),
}

/// Builds a packet of a case.
pub fn skb(netns: &Netns, spec: &PacketSpec) -> Result<Built, String> {
    let local = spec.input == "local";
    let dev = match spec.input.as_str() {
        "" => return Err("`in` is missing: a device, or \"local\"".to_owned()),
        "local" => None,
        name => Some(netns.inet.find_device(name).ok_or_else(|| format!("there is no device {name}"))?),
    };
    let packet = match &spec.raw_hex {
        Some(hex) => match Packet::parse(&read_hex(hex)?) {
            Ok(packet) => packet,
            Err(why) => return Ok(Built::Malformed(why)),
        },
        None => from_fields(spec, local)?,
    };
    let mut skb = Skb::new(packet);
    skb.mark = spec.mark.unwrap_or(0);
    skb.mac_src = spec.mac.as_deref().map(read_mac).transpose()?;
    if local {
        skb.owner = Some(Owner { uid: spec.uid.unwrap_or(0), gid: spec.gid.unwrap_or(0) });
    }
    match dev {
        None => Ok(Built::Local(Box::new(skb))),
        Some(dev) => {
            // Every frame has a sender; unless named, a neighbour that is not otherwise seen.
            if !netns.inet.device(dev).is_loopback() {
                skb.mac_src.get_or_insert([0x02, 0, 0, 0, dev.0 as u8, 0xfe]);
            }
            // A frame to a group address is how such a packet arrives.
            skb.packet_type = match skb.packet.ip.dst {
                IpAddr::V4(dst) if dst.is_broadcast() => PacketType::Broadcast,
                dst if dst.is_multicast() => PacketType::Multicast,
                _ => PacketType::Host,
            };
            Ok(Built::Received(Box::new(skb), dev))
        }
    }
}

/// Window of a segment that names none.
const WINDOW_DEFAULT: u16 = 65535;

fn from_fields(spec: &PacketSpec, local: bool) -> Result<Packet, String> {
    let dst = spec.dst.ok_or("`dst` is missing")?;
    let src = match spec.src {
        Some(src) => src,
        // The route chooses.
        None if local => default_prefix(Family::of(&dst)).addr,
        None => return Err("`src` is missing".to_owned()),
    };
    if src.is_ipv4() != dst.is_ipv4() {
        return Err(format!("{src} and {dst} are of different families"));
    }
    let number = read_proto(spec)?;
    let payload = match &spec.payload_hex {
        Some(hex) => read_hex(hex)?,
        None => vec![0; usize::from(spec.len.unwrap_or(0))],
    };
    let l4 = match number {
        proto::TCP => L4::Tcp(tcp(spec, payload)?),
        proto::UDP => {
            let (sport, dport) = ports(spec)?;
            L4::Udp(Udp::new(sport, dport, payload))
        }
        proto::SCTP => {
            let (sport, dport) = ports(spec)?;
            // One INIT chunk (RFC 9260 3.3.2) in front of the payload: without a chunk it would be no packet.
            let init = [1, 0, 0, 20, 0, 0, 0, 1, 0, 0, 255, 255, 0, 1, 0, 1, 0, 0, 0, 1];
            let payload = [&init[..], &payload].concat();
            L4::Sctp(Sctp { sport, dport, vtag: 0, payload, checksum_ok: true })
        }
        proto::ICMP if dst.is_ipv4() => L4::Icmp(icmp(spec, 8, payload)),
        proto::ICMPV6 if dst.is_ipv6() => L4::Icmp(icmp(spec, 128, payload)),
        _ => L4::Raw(payload),
    };
    let ip = Ip {
        src,
        dst,
        proto: number,
        ttl: spec.ttl.unwrap_or(64),
        tos: spec.tos.unwrap_or(0),
        id: if dst.is_ipv4() { spec.id.unwrap_or(1).into() } else { 0 },
        dont_fragment: dst.is_ipv4() && spec.df.unwrap_or(false),
        more_fragments: false,
        frag_offset: 0,
        flow_label: 0,
        options: Vec::new(),
    };
    let packet = Packet { ip, l4 };
    if packet.len_bytes() > 65_535 {
        return Err("longer than 65535 bytes".to_owned());
    }
    Ok(packet)
}

fn read_proto(spec: &PacketSpec) -> Result<u8, String> {
    let text = spec.proto.as_ref().ok_or("`proto` is missing")?.to_string();
    Ok(match text.as_str() {
        "tcp" => proto::TCP,
        "udp" => proto::UDP,
        "icmp" => proto::ICMP,
        "icmpv6" => proto::ICMPV6,
        "sctp" => proto::SCTP,
        number => number.parse().map_err(|_| {
            format!("proto {number:?} is not one of tcp, udp, icmp, icmpv6, sctp, nor a number up to 255")
        })?,
    })
}

/// One port without the other is a slip; none at all is a header of zeros.
fn ports(spec: &PacketSpec) -> Result<(u16, u16), String> {
    match (spec.sport, spec.dport) {
        (Some(sport), Some(dport)) => Ok((sport, dport)),
        (None, None) => Ok((0, 0)),
        (None, Some(_)) => Err("`sport` is missing".to_owned()),
        (Some(_), None) => Err("`dport` is missing".to_owned()),
    }
}

fn tcp(spec: &PacketSpec, payload: Vec<u8>) -> Result<Tcp, String> {
    let (sport, dport) = ports(spec)?;
    let mut options = Vec::new();
    if let Some(mss) = spec.mss {
        options.extend_from_slice(&[2, 4]);
        options.extend_from_slice(&mss.to_be_bytes());
    }
    if spec.sack_ok == Some(true) {
        options.extend_from_slice(&[4, 2]);
    }
    if let Some(scale) = spec.wscale {
        options.extend_from_slice(&[3, 3, scale]);
    }
    options.resize(options.len().next_multiple_of(4), 1);
    Ok(Tcp {
        sport,
        dport,
        seq: spec.seq.unwrap_or(0),
        ack: spec.ack.unwrap_or(0),
        flags: read_flags(spec.flags.as_deref().unwrap_or(if spec.sport.is_some() { "S" } else { "" }))?,
        window: spec.win.unwrap_or(WINDOW_DEFAULT),
        urgent: 0,
        options,
        payload,
        checksum_ok: true,
    })
}

/// Letters of `FSRPAUEC`, in any order.
pub(super) fn read_flags(letters: &str) -> Result<TcpFlags, String> {
    letters.chars().try_fold(TcpFlags::default(), |flags, letter| {
        let known = TcpFlags::LETTERS.iter().find(|(l, _)| *l == letter);
        known
            .map(|(_, bit)| flags.with(*bit))
            .ok_or_else(|| format!("{letter:?} is not a TCP flag of FSRPAUEC"))
    })
}

fn icmp(spec: &PacketSpec, kind: u8, payload: Vec<u8>) -> Icmp {
    let (id, seq) = (spec.icmp_id.unwrap_or(0).to_be_bytes(), spec.icmp_seq.unwrap_or(0).to_be_bytes());
    Icmp {
        kind: spec.icmp_type.unwrap_or(kind),
        code: spec.icmp_code.unwrap_or(0),
        rest: [id[0], id[1], seq[0], seq[1]],
        payload,
        checksum_ok: true,
    }
}

/// Hexadecimal digits, blanks between bytes allowed.
fn read_hex(text: &str) -> Result<Vec<u8>, String> {
    let digits: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    if !digits.len().is_multiple_of(2) {
        return Err("an odd number of hexadecimal digits".to_owned());
    }
    digits
        .chunks(2)
        .map(|pair| {
            let text = std::str::from_utf8(pair).unwrap_or("?");
            u8::from_str_radix(text, 16).map_err(|_| format!("{text:?} is not a hexadecimal byte"))
        })
        .collect()
}
