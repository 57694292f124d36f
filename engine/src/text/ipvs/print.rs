//! What `ipvsadm` prints: listings in their forms, rules for `-S`, connections, timeouts.

use std::fmt::Write as _;
use std::net::{IpAddr, SocketAddr};

use super::options::Listing;
use crate::base::Instant;
use crate::ipvs::conn::proto_name;
use crate::ipvs::dest::TunnelChecksum;
use crate::ipvs::service::Mask;
use crate::ipvs::{Dest, Encapsulation, Forward, Ipvs, SchedFlags, Service, ServiceKey};
use crate::netfilter::xt::service_name;
use crate::packet::{Family, proto};

/// What `-L` prints of each service and destination.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Plain,
    Stats,
    Rate,
    Thresholds,
    Persistent,
    TunInfo,
}

impl Form {
    /// The first of the options that decides.
    const fn of(list: &Listing) -> Self {
        match list {
            Listing { stats: true, .. } => Self::Stats,
            Listing { rate: true, .. } => Self::Rate,
            Listing { thresholds: true, .. } => Self::Thresholds,
            Listing { persistent: true, .. } => Self::Persistent,
            Listing { tun_info: true, .. } => Self::TunInfo,
            _ => Self::Plain,
        }
    }

    fn header(self) -> String {
        let first = "Prot LocalAddress:Port";
        let numbers = |names: [&str; 5]| {
            let [a, b, c, d, e] = names;
            format!("{first:<33} {a:>8} {b:>8} {c:>8} {d:>8} {e:>8}\n  -> RemoteAddress:Port\n")
        };
        match self {
            Self::Stats => numbers(["Conns", "InPkts", "OutPkts", "InBytes", "OutBytes"]),
            Self::Rate => numbers(["CPS", "InPPS", "OutPPS", "InBPS", "OutBPS"]),
            Self::Thresholds => format!(
                "{first:<33} {:<10} {:<10} {:<10} {:<10}\n  -> RemoteAddress:Port\n",
                "Uthreshold", "Lthreshold", "ActiveConn", "InActConn"
            ),
            Self::Persistent => format!(
                "{first:<33} {:<9} {:<11} {:<10} {:<10}\n  -> RemoteAddress:Port\n",
                "Weight", "PersistConn", "ActiveConn", "InActConn"
            ),
            Self::TunInfo => format!(
                "{first} Scheduler Flags\n  -> RemoteAddress:Port           Forward TunnelInfo    Weight \
                 ActiveConn InActConn\n"
            ),
            Self::Plain => format!(
                "{first} Scheduler Flags\n  -> RemoteAddress:Port           Forward Weight ActiveConn InActConn\n"
            ),
        }
    }
}

/// `ipvsadm -L`
pub(super) fn all(ipvs: &Ipvs, now: Instant, list: &Listing) -> String {
    let form = Form::of(list);
    let mut out = String::from("IP Virtual Server version 1.2.1 (size=4096)\n");
    out.push_str(&form.header());
    let mut services: Vec<_> = ipvs.services().collect();
    if list.unsorted {
        // The kernel's order is that of a hash over an address in its memory; here, that of adding.
        services.sort_by_key(|(_, service)| service.number);
    }
    for (key, service) in services {
        write_service(&mut out, ipvs, now, list, key, service);
    }
    out
}

/// `ipvsadm -L -t ...`; none when there is no such service.
pub(super) fn one(ipvs: &Ipvs, now: Instant, list: &Listing, key: &ServiceKey) -> Option<String> {
    let service = ipvs.service(key)?;
    let mut out = Form::of(list).header();
    write_service(&mut out, ipvs, now, list, key, service);
    Some(out)
}

fn write_service(
    out: &mut String,
    ipvs: &Ipvs,
    now: Instant,
    list: &Listing,
    key: &ServiceKey,
    service: &Service,
) {
    let form = Form::of(list);
    let name = match key {
        ServiceKey::Address { proto: number, addr, port, .. } => {
            let number_name = proto_name(*number);
            format!("{number_name:<4} {}", endpoint(*addr, *port, *number, list.numeric))
        }
        ServiceKey::Mark { mark, family: Family::V4 } => format!("FWM  {mark}"),
        ServiceKey::Mark { mark, family: Family::V6 } => format!("FWM  {mark} IPv6"),
    };
    match form {
        Form::Stats | Form::Rate => {
            let _ = writeln!(out, "{name:<33}{}", figures(form, &service.stats, now, list.exact));
        }
        Form::Plain | Form::Thresholds | Form::Persistent | Form::TunInfo => {
            let _ = write!(out, "{name} {}", service.scheduler.name());
            if let Some(flags) = flags(service) {
                let _ = write!(out, " ({flags})");
            }
            if let Some(persistence) = service.persistence {
                let _ = write!(out, " persistent {}", persistence.timeout.as_secs());
                if persistence.mask != Mask::host(key.family()) {
                    let _ = write!(out, " mask {}", mask(persistence.mask));
                }
            }
            out.push_str(if service.one_packet { " ops\n" } else { "\n" });
        }
    }
    for dest in dests(ipvs, service, list.unsorted) {
        write_dest(out, now, list, key, dest);
    }
}

fn write_dest(out: &mut String, now: Instant, list: &Listing, key: &ServiceKey, dest: &Dest) {
    let form = Form::of(list);
    let name = endpoint(dest.addr, dest.port, protocol(key), list.numeric);
    let (forward, weight) = (dest.forward.name(), dest.weight);
    let (active, inactive) = (dest.active, dest.inactive);
    let _ = match form {
        Form::Stats | Form::Rate => {
            writeln!(out, "  -> {name:<28}{}", figures(form, &dest.stats, now, list.exact))
        }
        Form::Thresholds => {
            let (upper, lower) = (dest.upper, dest.lower);
            writeln!(out, "  -> {name:<28} {upper:<10} {lower:<10} {active:<10} {inactive:<10}")
        }
        Form::Persistent => {
            let templates = dest.persistent;
            writeln!(out, "  -> {name:<28} {weight:<9} {templates:<11} {active:<10} {inactive:<10}")
        }
        Form::TunInfo => {
            let tunnel = tunnel_info(dest);
            writeln!(out, "  -> {name:<28} {forward:<7} {tunnel:<13} {weight:<6} {active:<10} {inactive:<10}")
        }
        Form::Plain => {
            writeln!(out, "  -> {name:<28} {forward:<7} {weight:<6} {active:<10} {inactive:<10}")
        }
    };
}

/// Sorted by family, address and port, or the newest first.
fn dests<'a>(ipvs: &'a Ipvs, service: &'a Service, unsorted: bool) -> Vec<&'a Dest> {
    let mut all: Vec<&Dest> = ipvs.dests(service).collect();
    if !unsorted {
        all.sort_by_key(|dest| (dest.addr, dest.port));
    }
    all
}

fn figures(form: Form, stats: &crate::ipvs::Stats, now: Instant, exact: bool) -> String {
    let values = if form == Form::Rate {
        let r = stats.rates(now);
        [r.conns, r.in_packets, r.out_packets, r.in_bytes, r.out_bytes]
    } else {
        let t = stats.totals(now);
        [t.conns, t.in_packets, t.out_packets, t.in_bytes, t.out_bytes]
    };
    values.map(|value| large(value, exact)).concat()
}

/// `print_largenum`: nine columns, in thousands, millions and so on by whole division.
pub(super) fn large(value: u64, exact: bool) -> String {
    if exact || value < 100_000_000 {
        return format!("{value:>9}");
    }
    let units = [(1_000_u64, 'K'), (1_000_000, 'M'), (1_000_000_000, 'G')];
    let fitting = units.into_iter().find(|(divisor, _)| value / divisor < 100_000_000);
    let (divisor, unit) = fitting.unwrap_or((1_000_000_000_000, 'T'));
    format!("{:>8}{unit}", value / divisor)
}

fn tunnel_info(dest: &Dest) -> String {
    let sign = |checksum| match checksum {
        TunnelChecksum::None => "-c",
        TunnelChecksum::Full => "+c",
        TunnelChecksum::Remote => "r+c",
    };
    match (dest.forward, dest.encapsulation) {
        (Forward::Tunnel, Encapsulation::Ipip) => "ipip".to_owned(),
        (Forward::Tunnel, Encapsulation::Gue { port, checksum }) => format!("gue:{port}:{}", sign(checksum)),
        (Forward::Tunnel, Encapsulation::Gre { checksum }) => format!("gre:{}", sign(checksum)),
        (Forward::Masq | Forward::Route | Forward::Local | Forward::Bypass, _) => "n/a".to_owned(),
    }
}

/// `ipvsadm -S`: the commands that make the table again.
pub(super) fn rules(ipvs: &Ipvs, numeric: bool) -> String {
    let mut out = String::new();
    for (key, service) in ipvs.services() {
        let name = match key {
            ServiceKey::Address { proto: number, addr, port, .. } => {
                let option = match *number {
                    proto::TCP => "-t",
                    proto::UDP => "-u",
                    _ => "--sctp-service",
                };
                format!("{option} {}", endpoint(*addr, *port, *number, numeric))
            }
            ServiceKey::Mark { mark, family: Family::V4 } => format!("-f {mark}"),
            ServiceKey::Mark { mark, family: Family::V6 } => format!("-f {mark} -6"),
        };
        let _ = write!(out, "-A {name} -s {}", service.scheduler.name());
        if let Some(persistence) = service.persistence {
            let _ = write!(out, " -p {}", persistence.timeout.as_secs());
            if persistence.mask != Mask::host(key.family()) {
                let _ = write!(out, " -M {}", mask(persistence.mask));
            }
        }
        if service.one_packet {
            out.push_str(" -o");
        }
        if let Some(flags) = flags(service) {
            let _ = write!(out, " -b {flags}");
        }
        out.push('\n');
        for dest in dests(ipvs, service, false) {
            let method = match dest.forward {
                Forward::Masq => "-m",
                Forward::Tunnel => "-i",
                Forward::Route | Forward::Local | Forward::Bypass => "-g",
            };
            let server = endpoint(dest.addr, dest.port, protocol(key), numeric);
            let _ = write!(out, "-a {name} -r {server} {method} -w {}", dest.weight);
            write_tunnel(&mut out, dest);
            out.push('\n');
        }
    }
    out
}

fn write_tunnel(out: &mut String, dest: &Dest) {
    if dest.forward != Forward::Tunnel {
        return;
    }
    let option = |checksum| match checksum {
        TunnelChecksum::None => "--tun-nocsum",
        TunnelChecksum::Full => "--tun-csum",
        TunnelChecksum::Remote => "--tun-remcsum",
    };
    let _ = match dest.encapsulation {
        Encapsulation::Ipip => write!(out, " --tun-type ipip"),
        Encapsulation::Gue { port, checksum } => {
            write!(out, " --tun-type gue --tun-port {port} {}", option(checksum))
        }
        Encapsulation::Gre { checksum } => write!(out, " --tun-type gre {}", option(checksum)),
    };
}

/// `ipvsadm -Lc`
pub(super) fn connections(ipvs: &Ipvs, now: Instant, numeric: bool) -> String {
    let mut out = String::from(
        "IPVS connection entries\npro expire state       source             virtual            destination\n",
    );
    for conn in ipvs.conns() {
        let left = conn.remaining(now).as_secs();
        let expire = format!("{:02}:{:02}", left / 60, left % 60);
        let shown = |at: SocketAddr| endpoint(at.ip(), at.port(), conn.proto, numeric);
        let (source, virt, server) = (shown(conn.client), shown(conn.virt), shown(conn.server));
        let (name, state) = (proto_name(conn.proto), conn.state.name());
        let _ = writeln!(out, "{name:<3} {expire:<6} {state:<11} {source:<18} {virt:<18} {server}");
    }
    out
}

/// `ipvsadm -L --timeout`
pub(super) fn timeouts(ipvs: &Ipvs) -> String {
    let t = ipvs.config.timeouts;
    format!("Timeout (tcp tcpfin udp): {} {} {}\n", t.tcp, t.tcp_fin, t.udp)
}

/// Zero for a service by mark.
const fn protocol(key: &ServiceKey) -> u8 {
    match key {
        ServiceKey::Address { proto, .. } => *proto,
        ServiceKey::Mark { .. } => 0,
    }
}

/// `addrport_to_anyname`
fn endpoint(addr: IpAddr, port: u16, number: u8, numeric: bool) -> String {
    let named = !numeric && matches!(number, proto::TCP | proto::UDP);
    let port = service_name(port).filter(|_| named).map_or_else(|| port.to_string(), str::to_owned);
    match addr {
        IpAddr::V4(addr) => format!("{addr}:{port}"),
        IpAddr::V6(addr) => format!("[{addr}]:{port}"),
    }
}

fn mask(mask: Mask) -> String {
    match mask {
        Mask::V4(mask) => mask.to_string(),
        Mask::V6(len) => len.to_string(),
    }
}

/// `print_sched_flags`: a scheduler with names of its own shows only those it has names for.
fn flags(service: &Service) -> Option<String> {
    let own = service.scheduler.spec().flags;
    let plain =
        [("flag-1", SchedFlags::FALLBACK), ("flag-2", SchedFlags::PORT), ("flag-3", SchedFlags::THIRD)];
    let names: &[(&str, SchedFlags)] = if own.is_empty() { &plain } else { own };
    if service.flags == SchedFlags::default() {
        return None;
    }
    let set: Vec<&str> =
        names.iter().filter(|(_, flag)| service.flags.has(*flag)).map(|(name, _)| *name).collect();
    Some(set.join(","))
}
