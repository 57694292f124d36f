//! The command line of the tool: commands, filters, and the words it refuses them with.

use std::net::IpAddr;

use super::Failure;
use crate::conntrack::tcp::State;
use crate::conntrack::{Entry, L4Part, Proto, Status, Tuple};
use crate::packet::{Family, proto};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    List,
    Get,
    Delete,
    Create,
    Add,
    Update,
    Events,
    Flush,
    Count,
    Statistics,
    Version,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Table {
    #[default]
    Conntrack,
    Expect,
    Dying,
    Unconfirmed,
}

/// `-o`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Output {
    pub(super) extended: bool,
    pub(super) id: bool,
    pub(super) xml: bool,
    pub(super) save: bool,
}

/// `-u`: bits that must be set, bits that must not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WantedStatus {
    pub(super) set: Status,
    unset: Status,
}

/// An address with a prefix length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Prefix {
    pub(super) addr: IpAddr,
    len: u8,
}

impl Prefix {
    fn contains(&self, addr: IpAddr) -> bool {
        let high = |bits: u128, width: u8| bits.checked_shr(u32::from(width - self.len)).unwrap_or(0);
        match (self.addr, addr) {
            (IpAddr::V4(a), IpAddr::V4(b)) => high(a.to_bits().into(), 32) == high(b.to_bits().into(), 32),
            (IpAddr::V6(a), IpAddr::V6(b)) => high(a.to_bits(), 128) == high(b.to_bits(), 128),
            _ => false,
        }
    }
}

/// `-n`, `-g`, `-j`: any mapping, or one to this address and port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct NatFilter {
    pub(super) to: Option<(IpAddr, Option<u16>)>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Filter {
    family: Option<Family>,
    pub(super) proto: Option<u8>,
    pub(super) orig_src: Option<Prefix>,
    pub(super) orig_dst: Option<Prefix>,
    pub(super) reply_src: Option<Prefix>,
    pub(super) reply_dst: Option<Prefix>,
    /// Original source and destination, reply source and destination.
    pub(super) ports: [Option<u16>; 4],
    /// Type, code, identifier.
    pub(super) icmp: [Option<u16>; 3],
    pub(super) state: Option<State>,
    pub(super) status: Option<WantedStatus>,
    /// Value and mask.
    pub(super) mark: Option<(u32, u32)>,
    pub(super) zone: Option<u16>,
    pub(super) src_nat: Option<NatFilter>,
    pub(super) dst_nat: Option<NatFilter>,
    any_nat: Option<NatFilter>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parsed {
    pub(super) command: Command,
    pub(super) table: Table,
    pub(super) filter: Filter,
    pub(super) output: Output,
    pub(super) timeout: Option<u32>,
}

impl Filter {
    pub(super) fn without_mark(&self) -> Self {
        Self { mark: None, ..self.clone() }
    }

    pub(super) fn matches(&self, e: &Entry) -> bool {
        let inside = |wanted: &Option<Prefix>, addr| wanted.is_none_or(|p| p.contains(addr));
        let port = |wanted: Option<u16>, have: u16| wanted.is_none_or(|w| w == have);
        let (o, r) = (&e.original, &e.reply);
        let ports = [o.l4.src(), o.l4.dst(), r.l4.src(), r.l4.dst()];
        self.family.is_none_or(|f| f == o.family())
            && self.proto.is_none_or(|p| p == o.proto)
            && inside(&self.orig_src, o.src)
            && inside(&self.orig_dst, o.dst)
            && inside(&self.reply_src, r.src)
            && inside(&self.reply_dst, r.dst)
            && self.ports.iter().zip(ports).all(|(wanted, have)| port(*wanted, have))
            && match o.l4 {
                L4Part::Icmp { id, kind, code } => {
                    let have = [u16::from(kind), u16::from(code), id];
                    self.icmp.iter().zip(have).all(|(wanted, have)| port(*wanted, have))
                }
                L4Part::Ports { .. } | L4Part::Gre { .. } | L4Part::None => self.icmp == [None; 3],
            }
            && self.state.is_none_or(|s| matches!(&e.proto, Proto::Tcp(tcp) if tcp.state == s))
            && self.status.is_none_or(|w| e.status.0 & w.set.0 == w.set.0 && !e.status.has(w.unset))
            && self.mark.is_none_or(|(value, mask)| e.mark & mask == value)
            && self.zone.is_none_or(|zone| zone == e.zone)
            && self.nat_matches(e)
    }

    fn nat_matches(&self, e: &Entry) -> bool {
        let mapped = |filter: &NatFilter, on: bool, addr: IpAddr, port: u16| {
            on && filter.to.is_none_or(|(a, p)| a == addr && p.is_none_or(|p| p == port))
        };
        let src = |f: &NatFilter| mapped(f, e.status.has(Status::SRC_NAT), e.reply.dst, e.reply.l4.dst());
        let dst = |f: &NatFilter| mapped(f, e.status.has(Status::DST_NAT), e.reply.src, e.reply.l4.src());
        self.src_nat.as_ref().is_none_or(src)
            && self.dst_nat.as_ref().is_none_or(dst)
            && self.any_nat.as_ref().is_none_or(|f| src(f) || dst(f))
    }

    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Parsed {
    /// The two tuples of an entry to be made.
    pub(super) fn tuples(&self) -> Result<(Tuple, Tuple), Failure> {
        let usage = |text: &str| Failure::Usage(text.to_owned());
        let f = &self.filter;
        let number = f.proto.ok_or_else(|| usage("you have to specify the protocol with `-p'"))?;
        let (Some(src), Some(dst)) = (f.orig_src.or(f.reply_dst), f.orig_dst.or(f.reply_src)) else {
            return Err(usage("you have to specify `--src' and `--dst'"));
        };
        let l4 = match number {
            proto::TCP | proto::UDP | proto::UDPLITE | proto::SCTP | proto::DCCP => {
                let (Some(src), Some(dst)) = (f.ports[0], f.ports[1]) else {
                    return Err(usage("you have to specify `--sport' and `--dport'"));
                };
                L4Part::Ports { src, dst }
            }
            proto::ICMP | proto::ICMPV6 => {
                let [Some(kind), Some(code), id] = f.icmp else {
                    return Err(usage("you have to specify `--icmp-type' and `--icmp-code'"));
                };
                L4Part::Icmp { id: id.unwrap_or(0), kind: kind as u8, code: code as u8 }
            }
            proto::GRE => L4Part::Gre { src_key: 0, dst_key: 0 },
            _ => L4Part::None,
        };
        if number == proto::TCP && f.state.is_none() {
            return Err(usage("You need to supply the `--state' option for this command"));
        }
        let original = Tuple { src: src.addr, dst: dst.addr, proto: number, l4 };
        let mut reply = original.invert().ok_or_else(|| usage("this ICMP type begins no connection"))?;
        let nat = |filter: &Option<NatFilter>| filter.and_then(|n| n.to);
        let mut set = |source: bool, addr: Option<IpAddr>, port: Option<u16>| {
            let side = if source { &mut reply.src } else { &mut reply.dst };
            *side = addr.unwrap_or(*side);
            if let (L4Part::Ports { src, dst }, Some(port)) = (&mut reply.l4, port) {
                *(if source { src } else { dst }) = port;
            }
        };
        set(true, f.reply_src.map(|p| p.addr), f.ports[2]);
        set(false, f.reply_dst.map(|p| p.addr), f.ports[3]);
        if let Some((addr, port)) = nat(&f.dst_nat) {
            set(true, Some(addr), port);
        }
        if let Some((addr, port)) = nat(&f.src_nat) {
            set(false, Some(addr), port);
        }
        Ok((original, reply))
    }
}

fn usage<T>(text: impl Into<String>) -> Result<T, Failure> {
    Err(Failure::Usage(text.into()))
}

/// Reads the arguments that follow the program's name.
pub(super) fn parse(args: &[&str]) -> Result<Parsed, Failure> {
    let mut parsed = Parsed {
        command: Command::List,
        table: Table::default(),
        filter: Filter::default(),
        output: Output::default(),
        timeout: None,
    };
    let mut command = None;
    let mut zero = false;
    let mut rest = args.iter().copied().peekable();
    while let Some(arg) = rest.next() {
        if let Some(new) = command_of(arg) {
            if command.replace(new).is_some_and(|old| old != new) {
                return usage("Invalid commands combination");
            }
            if let Some(table) = rest.next_if(|next| !next.starts_with('-')) {
                parsed.table = table_of(table)?;
            }
            continue;
        }
        let mut value =
            || rest.next().ok_or_else(|| Failure::Usage(format!("option `{arg}' requires an argument")));
        let filter = &mut parsed.filter;
        match arg {
            "-s" | "--src" | "--orig-src" => filter.orig_src = Some(address(value()?)?),
            "-d" | "--dst" | "--orig-dst" => filter.orig_dst = Some(address(value()?)?),
            "-r" | "--reply-src" => filter.reply_src = Some(address(value()?)?),
            "-q" | "--reply-dst" => filter.reply_dst = Some(address(value()?)?),
            "-p" | "--proto" | "--protonum" => filter.proto = Some(protocol(value()?)?),
            "-f" | "--family" => {
                filter.family = Some(match value()? {
                    "ipv4" => Family::V4,
                    "ipv6" => Family::V6,
                    other => return usage(format!("`{other}' unsupported protocol")),
                });
            }
            "-t" | "--timeout" => parsed.timeout = Some(number(value()?)),
            "-u" | "--status" => filter.status = Some(status(value()?)?),
            "-m" | "--mark" => filter.mark = Some(mark(value()?)),
            "-w" | "--zone" => filter.zone = Some(number(value()?) as u16),
            "-o" | "--output" => output(value()?, &mut parsed.output)?,
            "-z" | "--zero" => zero = true,
            "-n" | "--src-nat" | "-g" | "--dst-nat" | "-j" | "--any-nat" => {
                let to = rest.next_if(|next| !next.starts_with('-'));
                let nat = Some(NatFilter { to: to.map(nat_address).transpose()? });
                match arg {
                    "-n" | "--src-nat" => filter.src_nat = nat,
                    "-g" | "--dst-nat" => filter.dst_nat = nat,
                    _ => filter.any_nat = nat,
                }
            }
            _ => protocol_option(arg, filter, &mut value)?,
        }
    }
    parsed.command = match command {
        Some(command) => command,
        None if args.is_empty() => return usage("a command is missing"),
        None => return usage("Invalid commands combination"),
    };
    check(&mut parsed, zero)?;
    Ok(parsed)
}

/// Options that a protocol brings along; they are known only after its `-p`.
fn protocol_option<'a>(
    arg: &str,
    filter: &mut Filter,
    value: &mut impl FnMut() -> Result<&'a str, Failure>,
) -> Result<(), Failure> {
    let ports =
        matches!(filter.proto, Some(proto::TCP | proto::UDP | proto::UDPLITE | proto::SCTP | proto::DCCP));
    let icmp = matches!(filter.proto, Some(proto::ICMP | proto::ICMPV6));
    let slot = match arg {
        "--sport" | "--orig-port-src" if ports => &mut filter.ports[0],
        "--dport" | "--orig-port-dst" if ports => &mut filter.ports[1],
        "--reply-port-src" if ports => &mut filter.ports[2],
        "--reply-port-dst" if ports => &mut filter.ports[3],
        "--icmp-type" | "--icmpv6-type" if icmp => &mut filter.icmp[0],
        "--icmp-code" | "--icmpv6-code" if icmp => &mut filter.icmp[1],
        "--icmp-id" | "--icmpv6-id" if icmp => &mut filter.icmp[2],
        "--state" if filter.proto == Some(proto::TCP) => {
            let name = value()?;
            let state = State::ALL.into_iter().find(|s| s.name() == name);
            if state.is_none() {
                return usage(format!("unknown TCP state `{name}'"));
            }
            filter.state = state;
            return Ok(());
        }
        _ => return usage(format!("unknown option `{arg}'")),
    };
    *slot = Some(number(value()?) as u16);
    Ok(())
}

/// What may not stand together.
fn check(parsed: &mut Parsed, zero: bool) -> Result<(), Failure> {
    let f = &parsed.filter;
    let illegal = |name: &str| usage(format!("Illegal option `--{name}' with this command"));
    let makes = matches!(parsed.command, Command::Create | Command::Add);
    let looks = matches!(parsed.command, Command::List | Command::Events | Command::Get);
    if zero && parsed.command != Command::List {
        return illegal("zero");
    }
    if zero && !f.is_empty() {
        return usage("Can't use -z with filtering parameters");
    }
    if f.family.is_some() && makes {
        return illegal("family");
    }
    if parsed.timeout.is_some() && looks {
        return illegal("timeout");
    }
    let addresses = [f.orig_src, f.orig_dst, f.reply_src, f.reply_dst];
    let mut families = addresses.iter().flatten().map(|p| Family::of(&p.addr)).chain(f.family);
    if let Some(first) = families.next()
        && families.any(|family| family != first)
    {
        return usage("mismatched address family");
    }
    if parsed.output.save && parsed.output != (Output { save: true, ..Output::default() }) {
        return Err(Failure::Refused(
            "cannot combine save output with any other output type, use -o save only".to_owned(),
        ));
    }
    Ok(())
}

fn command_of(arg: &str) -> Option<Command> {
    Some(match arg {
        "-L" | "--dump" => Command::List,
        "-G" | "--get" => Command::Get,
        "-D" | "--delete" => Command::Delete,
        "-I" | "--create" => Command::Create,
        "-A" | "--add" => Command::Add,
        "-U" | "--update" => Command::Update,
        "-E" | "--event" => Command::Events,
        "-F" | "--flush" => Command::Flush,
        "-C" | "--count" => Command::Count,
        "-S" | "--stats" => Command::Statistics,
        "-V" | "--version" => Command::Version,
        _ => return None,
    })
}

fn table_of(name: &str) -> Result<Table, Failure> {
    match name {
        "conntrack" => Ok(Table::Conntrack),
        "expect" => Ok(Table::Expect),
        "dying" => Ok(Table::Dying),
        "unconfirmed" => Ok(Table::Unconfirmed),
        _ => usage(format!("unknown type `{name}'")),
    }
}

fn address(text: &str) -> Result<Prefix, Failure> {
    let (addr, len) = match text.split_once('/') {
        Some((addr, len)) => (addr, Some(len)),
        None => (text, None),
    };
    let Ok(addr) = addr.parse::<IpAddr>() else {
        return usage(format!("Invalid IP address `{addr}'"));
    };
    let width = if addr.is_ipv4() { 32 } else { 128 };
    match len.map_or(Ok(width), str::parse) {
        Ok(len) if len <= width => Ok(Prefix { addr, len }),
        _ => usage("Invalid netmask"),
    }
}

/// `A`, `A:PORT`, `[A]:PORT`.
fn nat_address(text: &str) -> Result<(IpAddr, Option<u16>), Failure> {
    if let Ok(addr) = text.parse() {
        return Ok((addr, None));
    }
    let (addr, port) = text.rsplit_once(':').unwrap_or((text, ""));
    match (addr.trim_matches(['[', ']']).parse(), port.parse()) {
        (Ok(addr), Ok(port)) => Ok((addr, Some(port))),
        _ => usage(format!("Invalid IP address `{addr}'")),
    }
}

fn protocol(text: &str) -> Result<u8, Failure> {
    Ok(match text {
        "icmp" => proto::ICMP,
        "tcp" => proto::TCP,
        "udp" => proto::UDP,
        "dccp" => proto::DCCP,
        "gre" => proto::GRE,
        "icmpv6" | "ipv6-icmp" => proto::ICMPV6,
        "sctp" => proto::SCTP,
        "udplite" => proto::UDPLITE,
        _ => match text.parse() {
            Ok(number) => number,
            Err(_) => return usage(format!("`{text}' unsupported protocol")),
        },
    })
}

fn status(text: &str) -> Result<WantedStatus, Failure> {
    let mut wanted = WantedStatus::default();
    for word in text.split(',') {
        match word {
            "ASSURED" => wanted.set.set(Status::ASSURED),
            "SEEN_REPLY" => wanted.set.set(Status::SEEN_REPLY),
            "UNSET" => {}
            "UNREPLIED" => wanted.unset.set(Status::SEEN_REPLY),
            "SRC_NAT" => wanted.set.set(Status::SRC_NAT),
            "DST_NAT" => wanted.set.set(Status::DST_NAT),
            "FIXED_TIMEOUT" => wanted.set.set(Status::FIXED_TIMEOUT),
            "CONFIRMED" => wanted.set.set(Status::CONFIRMED),
            _ => return usage(format!("Bad parameter `{word}'")),
        }
    }
    Ok(wanted)
}

fn output(text: &str, output: &mut Output) -> Result<(), Failure> {
    for word in text.split(',') {
        match word {
            "extended" => output.extended = true,
            "id" => output.id = true,
            "xml" => output.xml = true,
            "save" => output.save = true,
            // Of events alone.
            "timestamp" | "userspace" => {}
            "ktimestamp" | "labels" => {
                return Err(Failure::Refused(format!("-o {word} is not emulated")));
            }
            _ => return usage(format!("Bad parameter `{word}'")),
        }
    }
    Ok(())
}

/// `value[/mask]`.
fn mark(text: &str) -> (u32, u32) {
    match text.split_once('/') {
        Some((value, mask)) => (number(value), number(mask)),
        None => (number(text), u32::MAX),
    }
}

/// As `strtoul(..., 0)`: decimal, 0x, 0; what is no number counts as zero.
fn number(text: &str) -> u32 {
    let parsed = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u32::from_str_radix(hex, 16),
        None if text.len() > 1 && text.starts_with('0') => u32::from_str_radix(text, 8),
        None => text.parse(),
    };
    parsed.unwrap_or(0)
}
