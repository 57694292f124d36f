//! The command line of `ipvsadm`, read as popt reads it: the first option is the command, the others are checked against
//! the table of what each command takes.

use std::collections::VecDeque;

use super::Fault;
use super::addr::{HostPort, host_port, inet_aton, number};
use crate::base::Duration;
use crate::ipvs::dest::TunnelChecksum;
use crate::ipvs::sched::{self, SPECS};
use crate::ipvs::service::{Mask, Persistence};
use crate::ipvs::{Encapsulation, Forward, SchedFlags, ServiceKey};
use crate::packet::{Family, proto};

/// `MAX_TIMEOUT`: 31 days, in seconds.
const TIMEOUT_MAX: i64 = 31 * 24 * 60 * 60;
/// `IPVS_SVC_PERSISTENT_TIMEOUT`, in seconds.
const PERSISTENT: u32 = 6 * 60;
/// What the tool says when it cannot tell what is wanted.
pub(super) const TRY: &str = "Try `ipvsadm -h' or 'ipvsadm --help' for more information.";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    AddService,
    EditService,
    DeleteService,
    Flush,
    List,
    AddServer,
    DeleteServer,
    EditServer,
    SetTimeouts([u32; 3]),
    Restore,
    Save,
    Zero,
    Version,
}

/// What `-L` shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Listing {
    pub(super) numeric: bool,
    pub(super) connection: bool,
    pub(super) timeout: bool,
    pub(super) daemon: bool,
    pub(super) stats: bool,
    pub(super) rate: bool,
    pub(super) thresholds: bool,
    pub(super) persistent: bool,
    pub(super) tun_info: bool,
    pub(super) exact: bool,
    pub(super) unsorted: bool,
}

/// A command line that can be carried out.
#[derive(Clone, Debug)]
pub(super) struct Parsed {
    pub(super) command: Command,
    pub(super) service: Option<ServiceKey>,
    scheduler: Option<String>,
    timeout: Option<u32>,
    mask: Option<Mask>,
    pub(super) flags: SchedFlags,
    pub(super) one_packet: bool,
    pub(super) real: Option<HostPort>,
    pub(super) forward: Forward,
    pub(super) encapsulation: Encapsulation,
    pub(super) weight: u32,
    pub(super) upper: u32,
    pub(super) lower: u32,
    pub(super) list: Listing,
}

impl Parsed {
    pub(super) fn key(&self) -> Result<ServiceKey, Fault> {
        self.service.ok_or_else(|| Fault::wrong("illegal virtual server address[:port] specified"))
    }

    pub(super) fn scheduler(&self) -> &str {
        self.scheduler.as_deref().unwrap_or(sched::DEFAULT)
    }

    pub(super) fn persistence(&self) -> Option<Persistence> {
        let family = self.service.map_or(Family::V4, |key| key.family());
        Some(Persistence {
            timeout: Duration::from_secs(u64::from(self.timeout?)),
            mask: self.mask.unwrap_or(Mask::host(family)),
        })
    }
}

/// Options by the names that errors use, in the order in which they are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opt {
    Numeric,
    Connection,
    Service,
    Scheduler,
    Persistent,
    Netmask,
    Server,
    Forward,
    Weight,
    Upper,
    Lower,
    Timeout,
    Daemon,
    Stats,
    Rate,
    Thresholds,
    PersistentConn,
    NoSort,
    Exact,
    Ops,
    Engine,
    SchedFlags,
    TunInfo,
    TunType,
    TunPort,
    TunNoCsum,
    TunCsum,
    TunRemCsum,
}

#[rustfmt::skip]
const OPTIONS: [(Opt, &str); 28] = [
    (Opt::Numeric, "numeric"), (Opt::Connection, "connection"), (Opt::Service, "service-address"),
    (Opt::Scheduler, "scheduler"), (Opt::Persistent, "persistent"), (Opt::Netmask, "netmask"),
    (Opt::Server, "real-server"), (Opt::Forward, "forwarding-method"), (Opt::Weight, "weight"),
    (Opt::Upper, "u-threshold"), (Opt::Lower, "l-threshold"), (Opt::Timeout, "timeout"),
    (Opt::Daemon, "daemon"), (Opt::Stats, "stats"), (Opt::Rate, "rate"), (Opt::Thresholds, "thresholds"),
    (Opt::PersistentConn, "persistent-conn"), (Opt::NoSort, "nosort"), (Opt::Exact, "exact"), (Opt::Ops, "ops"),
    (Opt::Engine, "pe"), (Opt::SchedFlags, "sched-flags"), (Opt::TunInfo, "tun-info"), (Opt::TunType, "tun-type"),
    (Opt::TunPort, "tun-port"), (Opt::TunNoCsum, "tun-nocsum"), (Opt::TunCsum, "tun-csum"),
    (Opt::TunRemCsum, "tun-remcsum"),
];

/// Whether a command takes an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes {
    No,
    May,
    Must,
    /// At most one of these.
    One,
}

impl Command {
    const fn name(self) -> &'static str {
        match self {
            Self::AddService => "add-service",
            Self::EditService => "edit-service",
            Self::DeleteService => "delete-service",
            Self::Flush => "flush",
            Self::List => "list",
            Self::AddServer => "add-server",
            Self::DeleteServer => "delete-server",
            Self::EditServer => "edit-server",
            Self::SetTimeouts(_) => "set",
            Self::Restore => "restore",
            Self::Save => "save",
            Self::Zero => "zero",
            Self::Version => "version",
        }
    }

    /// `commands_v_options`
    const fn takes(self, opt: Opt) -> Takes {
        match (self, opt) {
            (
                Self::AddService
                | Self::EditService
                | Self::DeleteService
                | Self::AddServer
                | Self::EditServer
                | Self::DeleteServer,
                Opt::Service,
            )
            | (Self::AddServer | Self::EditServer | Self::DeleteServer, Opt::Server) => Takes::Must,
            (
                Self::AddService | Self::EditService,
                Opt::Scheduler | Opt::Persistent | Opt::Netmask | Opt::Ops | Opt::Engine | Opt::SchedFlags,
            )
            | (
                Self::AddServer | Self::EditServer,
                Opt::Forward
                | Opt::Weight
                | Opt::Upper
                | Opt::Lower
                | Opt::TunType
                | Opt::TunPort
                | Opt::TunNoCsum
                | Opt::TunCsum
                | Opt::TunRemCsum,
            )
            | (
                Self::List,
                Opt::Numeric
                | Opt::Stats
                | Opt::Rate
                | Opt::Thresholds
                | Opt::PersistentConn
                | Opt::NoSort
                | Opt::Exact
                | Opt::TunInfo,
            )
            | (Self::Save, Opt::Numeric)
            | (Self::Zero, Opt::Service) => Takes::May,
            (Self::List, Opt::Connection | Opt::Service | Opt::Timeout | Opt::Daemon) => Takes::One,
            _ => Takes::No,
        }
    }
}

/// Long name, short letter (a blank for none), whether an argument follows.
#[rustfmt::skip]
const TABLE: [(&str, char, Arg); 44] = [
    ("add-service", 'A', Arg::None), ("edit-service", 'E', Arg::None), ("delete-service", 'D', Arg::None),
    ("clear", 'C', Arg::None), ("list", 'L', Arg::None), ("list", 'l', Arg::None), ("add-server", 'a', Arg::None),
    ("edit-server", 'e', Arg::None), ("delete-server", 'd', Arg::None), ("set", ' ', Arg::None),
    ("start-daemon", ' ', Arg::One), ("stop-daemon", ' ', Arg::One), ("restore", 'R', Arg::None),
    ("save", 'S', Arg::None), ("zero", 'Z', Arg::None), ("help", 'h', Arg::None), ("version", 'v', Arg::None),
    ("tcp-service", 't', Arg::One), ("udp-service", 'u', Arg::One), ("sctp-service", ' ', Arg::One),
    ("fwmark-service", 'f', Arg::One), ("scheduler", 's', Arg::One), ("persistent", 'p', Arg::Maybe),
    ("netmask", 'M', Arg::One), ("real-server", 'r', Arg::One), ("masquerading", 'm', Arg::None),
    ("ipip", 'i', Arg::None), ("gatewaying", 'g', Arg::None), ("weight", 'w', Arg::One),
    ("u-threshold", 'x', Arg::One), ("l-threshold", 'y', Arg::One), ("numeric", 'n', Arg::None),
    ("connection", 'c', Arg::None), ("ops", 'o', Arg::None), ("ipv6", '6', Arg::None), ("pe", ' ', Arg::One),
    ("sched-flags", 'b', Arg::One), ("tun-type", ' ', Arg::One), ("tun-port", ' ', Arg::One),
    ("tun-nocsum", ' ', Arg::None), ("tun-csum", ' ', Arg::None), ("tun-remcsum", ' ', Arg::None),
    ("sort", ' ', Arg::None), ("timeout", ' ', Arg::None),
];
/// Long options of `-L` without an argument, beside those above.
const LISTS: [&str; 8] =
    ["daemon", "stats", "rate", "thresholds", "persistent-conn", "nosort", "exact", "tun-info"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arg {
    None,
    One,
    /// Taken when the next word does not begin with a dash.
    Maybe,
}

/// One option as popt hands it out: its long name and its argument.
type Item<'a> = (&'static str, Option<&'a str>);

/// Words into options, as popt does it.
struct Popt<'a> {
    words: VecDeque<&'a str>,
    /// Letters of a cluster not yet handed out, and the whole of it.
    cluster: &'a str,
    whole: &'a str,
    /// Words that are no options.
    left: Vec<&'a str>,
    only_left: bool,
}

impl<'a> Popt<'a> {
    fn new(args: &[&'a str]) -> Self {
        Self {
            words: args.iter().copied().collect(),
            cluster: "",
            whole: "",
            left: Vec::new(),
            only_left: false,
        }
    }

    fn next(&mut self) -> Result<Option<Item<'a>>, Fault> {
        loop {
            if let Some(letter) = self.cluster.chars().next() {
                self.cluster = &self.cluster[letter.len_utf8()..];
                let known = TABLE.iter().find(|(_, short, _)| *short == letter && letter != ' ');
                let Some((name, _, arg)) = known else {
                    return Err(Fault::refused(format!("{}: unknown option", self.whole)));
                };
                let attached = std::mem::take(&mut self.cluster);
                return match arg {
                    Arg::None => {
                        self.cluster = attached;
                        Ok(Some((name, None)))
                    }
                    Arg::One | Arg::Maybe if !attached.is_empty() => {
                        Ok(Some((name, Some(attached.strip_prefix('=').unwrap_or(attached)))))
                    }
                    Arg::One | Arg::Maybe => self.with_argument(name, *arg),
                };
            }
            let Some(word) = self.words.pop_front() else { return Ok(None) };
            if self.only_left || word == "-" || !word.starts_with('-') {
                self.left.push(word);
            } else if word == "--" {
                self.only_left = true;
            } else if let Some(long) = word.strip_prefix("--") {
                let (name, value) = long.split_once('=').map_or((long, None), |(n, v)| (n, Some(v)));
                let listed = LISTS.iter().find(|known| **known == name).map(|known| (*known, Arg::None));
                let known = TABLE.iter().find(|(known, _, _)| *known == name).map(|(n, _, arg)| (*n, *arg));
                let Some((name, arg)) = known.or(listed) else {
                    return Err(Fault::refused(format!("{word}: unknown option")));
                };
                self.whole = word;
                return match (arg, value) {
                    (Arg::None, None) => Ok(Some((name, None))),
                    (Arg::None, Some(_)) => {
                        Err(Fault::refused(format!("{word}: option does not take an argument")))
                    }
                    (Arg::One | Arg::Maybe, Some(value)) => Ok(Some((name, Some(value)))),
                    (Arg::One | Arg::Maybe, None) => self.with_argument(name, arg),
                };
            } else {
                self.whole = word;
                self.cluster = &word[1..];
            }
        }
    }

    fn with_argument(&mut self, name: &'static str, arg: Arg) -> Result<Option<Item<'a>>, Fault> {
        let value = match arg {
            Arg::Maybe if self.words.front().is_some_and(|word| word.starts_with('-')) => None,
            Arg::None | Arg::One | Arg::Maybe => self.words.pop_front(),
        };
        if value.is_none() && arg == Arg::One {
            return Err(Fault::refused(format!("{}: missing argument", self.whole)));
        }
        Ok(Some((name, value)))
    }

    /// A word that is no option, from wherever it stands (`poptGetArg`).
    fn word(&mut self) -> Option<&'a str> {
        if self.left.is_empty() { self.words.pop_front() } else { Some(self.left.remove(0)) }
    }
}

/// Reads a command line, without the program's name.
pub(super) fn parse(args: &[&str]) -> Result<Parsed, Fault> {
    let mut popt = Popt::new(args);
    let command = if args.is_empty() { Command::List } else { command(&mut popt)? };
    let mut reading = Reading::new(command);
    while let Some((name, value)) = popt.next()? {
        reading.option(name, value.unwrap_or_default(), value.is_some())?;
    }
    if let Some(word) = popt.word() {
        return Err(Fault::wrong(format!("unexpected argument {word}")));
    }
    reading.finish()
}

fn command(popt: &mut Popt<'_>) -> Result<Command, Fault> {
    let lost = || Fault::refused(TRY);
    let Some((name, value)) = popt.next().map_err(|_| lost())? else { return Err(lost()) };
    Ok(match name {
        "add-service" => Command::AddService,
        "edit-service" => Command::EditService,
        "delete-service" => Command::DeleteService,
        "add-server" => Command::AddServer,
        "edit-server" => Command::EditServer,
        "delete-server" => Command::DeleteServer,
        "clear" => Command::Flush,
        "list" => Command::List,
        "restore" => Command::Restore,
        "save" => Command::Save,
        "zero" => Command::Zero,
        "version" => Command::Version,
        "help" => return Err(Fault::not_emulated("--help")),
        "start-daemon" | "stop-daemon" => {
            return Err(Fault::not_emulated(&format!("--{name} {}", value.unwrap_or_default())));
        }
        "set" => {
            let mut values = [0; 3];
            for slot in &mut values {
                if popt.words.front().is_some_and(|word| word.starts_with('-')) {
                    popt.next()?;
                }
                let word =
                    popt.word().ok_or_else(|| Fault::wrong("--set option requires 3 timeout values"))?;
                *slot = timeout(word, 0)?;
            }
            Command::SetTimeouts(values)
        }
        _ => return Err(lost()),
    })
}

fn timeout(text: &str, min: i64) -> Result<u32, Fault> {
    number(text)
        .filter(|secs| (min..=TIMEOUT_MAX).contains(secs))
        .map(|secs| secs as u32)
        .ok_or_else(|| Fault::wrong(format!("invalid timeout value `{text}' specified")))
}

/// A command line half read.
struct Reading {
    parsed: Parsed,
    seen: Vec<Opt>,
    flag_names: Option<String>,
    tunnel: &'static str,
    tunnel_port: u16,
    checksum: TunnelChecksum,
    engine: bool,
}

impl Reading {
    fn new(command: Command) -> Self {
        Self {
            parsed: Parsed {
                command,
                service: None,
                scheduler: None,
                timeout: None,
                mask: None,
                flags: SchedFlags::default(),
                one_packet: false,
                real: None,
                forward: Forward::Route,
                encapsulation: Encapsulation::Ipip,
                weight: 1,
                upper: 0,
                lower: 0,
                list: Listing::default(),
            },
            seen: Vec::new(),
            flag_names: None,
            tunnel: "ipip",
            tunnel_port: 0,
            checksum: TunnelChecksum::None,
            engine: false,
        }
    }

    /// `set_option`
    fn once(&mut self, opt: Opt) -> Result<(), Fault> {
        if self.seen.contains(&opt) {
            return Err(Fault::wrong(format!("multiple '{}' options specified", name_of(opt))));
        }
        self.seen.push(opt);
        Ok(())
    }

    fn option(&mut self, name: &str, value: &str, given: bool) -> Result<(), Fault> {
        let illegal = |what: &str| Fault::wrong(format!("illegal {what} specified"));
        let positive = |what: &str| {
            number(value)
                .and_then(|n| u32::try_from(n).ok())
                .filter(|n| *n <= i32::MAX as u32)
                .ok_or(illegal(what))
        };
        match name {
            "tcp-service" | "udp-service" | "sctp-service" => {
                self.once(Opt::Service)?;
                let number = match name {
                    "tcp-service" => proto::TCP,
                    "udp-service" => proto::UDP,
                    _ => proto::SCTP,
                };
                let at = host_port(value).ok_or(illegal("virtual server address[:port]"))?;
                self.parsed.service = Some(ServiceKey::address(number, at.addr, at.port.unwrap_or(0)));
            }
            "fwmark-service" => {
                self.once(Opt::Service)?;
                let mark = value
                    .parse()
                    .ok()
                    .filter(|mark| *mark > 0)
                    .ok_or_else(|| Fault::wrong(format!("invalid fwmark value `{value}' specified")))?;
                self.parsed.service = Some(ServiceKey::Mark { mark, family: Family::V4 });
            }
            "ipv6" => match &mut self.parsed.service {
                Some(ServiceKey::Mark { family, .. }) => *family = Family::V6,
                _ => return Err(Fault::wrong("-6 used before -f\n")),
            },
            "scheduler" => {
                self.once(Opt::Scheduler)?;
                self.parsed.scheduler = Some(value.to_owned());
            }
            "persistent" => {
                self.once(Opt::Persistent)?;
                self.parsed.timeout = Some(if given { timeout(value, 1)? } else { PERSISTENT });
            }
            "netmask" => {
                self.once(Opt::Netmask)?;
                let family = self.parsed.service.map_or(Family::V4, |key| key.family());
                self.parsed.mask = Some(match family {
                    Family::V4 => {
                        Mask::V4(inet_aton(value).ok_or(illegal("virtual server persistent mask"))?)
                    }
                    Family::V6 => {
                        let len = number(value).filter(|len| (1..=128).contains(len));
                        Mask::V6(len.ok_or(illegal("ipv6 netmask"))? as u8)
                    }
                });
            }
            "real-server" => {
                self.once(Opt::Server)?;
                let at = host_port(value).ok_or(illegal("real server address[:port]"))?;
                self.parsed.real = Some(at);
            }
            "masquerading" | "ipip" | "gatewaying" => {
                self.once(Opt::Forward)?;
                self.parsed.forward = match name {
                    "masquerading" => Forward::Masq,
                    "ipip" => Forward::Tunnel,
                    _ => Forward::Route,
                };
            }
            "weight" => {
                self.once(Opt::Weight)?;
                self.parsed.weight = positive("weight")?;
            }
            "u-threshold" => {
                self.once(Opt::Upper)?;
                self.parsed.upper = positive("u_threshold")?;
            }
            "l-threshold" => {
                self.once(Opt::Lower)?;
                self.parsed.lower = positive("l_threshold")?;
            }
            "ops" => {
                self.once(Opt::Ops)?;
                self.parsed.one_packet = true;
            }
            "pe" => {
                self.once(Opt::Engine)?;
                self.engine = true;
            }
            "sched-flags" => {
                self.once(Opt::SchedFlags)?;
                self.flag_names = Some(value.to_owned());
            }
            "tun-type" => {
                self.once(Opt::TunType)?;
                self.tunnel = ["ipip", "gue", "gre"]
                    .into_iter()
                    .find(|known| *known == value)
                    .ok_or(illegal("tunnel type"))?;
            }
            "tun-port" => {
                self.once(Opt::TunPort)?;
                let port = number(value).and_then(|n| u16::try_from(n).ok()).filter(|port| *port > 0);
                self.tunnel_port = port.ok_or(illegal("tunnel port"))?;
            }
            "tun-nocsum" => {
                self.once(Opt::TunNoCsum)?;
                self.checksum = TunnelChecksum::None;
            }
            "tun-csum" => {
                self.once(Opt::TunCsum)?;
                self.checksum = TunnelChecksum::Full;
            }
            "tun-remcsum" => {
                self.once(Opt::TunRemCsum)?;
                self.checksum = TunnelChecksum::Remote;
            }
            "sort" => {}
            other => return self.list_option(other),
        }
        Ok(())
    }

    fn list_option(&mut self, name: &str) -> Result<(), Fault> {
        let list = &mut self.parsed.list;
        let (opt, field) = match name {
            "numeric" => (Opt::Numeric, &mut list.numeric),
            "connection" => (Opt::Connection, &mut list.connection),
            "timeout" => (Opt::Timeout, &mut list.timeout),
            "daemon" => (Opt::Daemon, &mut list.daemon),
            "stats" => (Opt::Stats, &mut list.stats),
            "rate" => (Opt::Rate, &mut list.rate),
            "thresholds" => (Opt::Thresholds, &mut list.thresholds),
            "persistent-conn" => (Opt::PersistentConn, &mut list.persistent),
            "nosort" => (Opt::NoSort, &mut list.unsorted),
            "exact" => (Opt::Exact, &mut list.exact),
            "tun-info" => (Opt::TunInfo, &mut list.tun_info),
            // A command in the second place.
            command => {
                let letter = TABLE.iter().find(|(long, _, _)| *long == command).map_or(' ', |(_, c, _)| *c);
                let shown = if letter == ' ' { format!("--{command}") } else { format!("-{letter}") };
                return Err(Fault::wrong(format!("invalid option `{shown}'")));
            }
        };
        *field = true;
        self.once(opt)
    }

    fn finish(mut self) -> Result<Parsed, Fault> {
        self.check_table()?;
        let command = self.parsed.command;
        match command {
            Command::AddService | Command::EditService => self.finish_service()?,
            Command::AddServer | Command::EditServer => self.finish_server()?,
            Command::List => self.finish_list()?,
            Command::DeleteService
            | Command::Flush
            | Command::DeleteServer
            | Command::SetTimeouts(_)
            | Command::Restore
            | Command::Save
            | Command::Zero
            | Command::Version => {}
        }
        Ok(self.parsed)
    }

    /// `generic_opt_check`
    fn check_table(&self) -> Result<(), Fault> {
        let command = self.parsed.command;
        let mut first = None;
        for (opt, name) in OPTIONS {
            let given = self.seen.contains(&opt);
            match (command.takes(opt), given) {
                (Takes::Must, false) => {
                    return Err(Fault::wrong(format!(
                        "You need to supply the '{name}' option for the '{}' command",
                        command.name()
                    )));
                }
                (Takes::No, true) => {
                    return Err(Fault::wrong(format!(
                        "Illegal '{name}' option with the '{}' command",
                        command.name()
                    )));
                }
                (Takes::One, true) => {
                    if let Some(first) = first {
                        return Err(Fault::wrong(format!(
                            "The option '{name}' conflicts with the '{first}' option in the '{}' command",
                            command.name()
                        )));
                    }
                    first = Some(name);
                }
                (Takes::May | Takes::Must, true) | (Takes::May | Takes::No | Takes::One, false) => {}
            }
        }
        Ok(())
    }

    fn finish_service(&mut self) -> Result<(), Fault> {
        if let Some(ServiceKey::Address { proto: number, port, .. }) = self.parsed.service {
            if port == 0 && self.parsed.timeout.is_none() {
                return Err(Fault::wrong("Zero port specified for non-persistent service"));
            }
            if self.parsed.one_packet && number != proto::UDP {
                return Err(Fault::wrong("One-Packet Scheduling is only for UDP virtual services"));
            }
        }
        if let Some(names) = self.flag_names.take() {
            self.parsed.flags = read_flags(self.parsed.scheduler(), &names)?;
        }
        if self.engine {
            // No engine is there: the kernel is asked and says so.
            return Err(Fault::refused("Scheduler or persistence engine not found"));
        }
        Ok(())
    }

    fn finish_server(&mut self) -> Result<(), Fault> {
        let (Some(key), Some(real)) = (self.parsed.service, self.parsed.real) else { return Ok(()) };
        let tunnel = self.parsed.forward == Forward::Tunnel;
        if Family::of(&real.addr) != key.family() && !tunnel {
            return Err(Fault::wrong("Different address family is allowed only for tunneling servers"));
        }
        let tunnel_options = [Opt::TunType, Opt::TunPort, Opt::TunNoCsum, Opt::TunCsum, Opt::TunRemCsum];
        let given = |opt: &Opt| self.seen.contains(opt);
        if !tunnel && tunnel_options.iter().any(given) {
            return Err(Fault::wrong("Tunnel options conflict with forward method"));
        }
        let checksums = [Opt::TunNoCsum, Opt::TunCsum, Opt::TunRemCsum];
        for opt in [Opt::TunPort, Opt::TunNoCsum, Opt::TunCsum, Opt::TunRemCsum] {
            let allowed = match self.tunnel {
                "ipip" => false,
                "gre" => opt == Opt::TunNoCsum || opt == Opt::TunCsum,
                _ => true,
            };
            if given(&opt) && !allowed {
                let (opt, kind) = (name_of(opt), self.tunnel);
                return Err(Fault::wrong(format!("Illegal '{opt}' option with the '{kind}' tunnel type")));
            }
            if !given(&opt) && opt == Opt::TunPort && self.tunnel == "gue" {
                return Err(Fault::wrong(
                    "You need to supply the 'tun-port' option for the 'gue' tunnel type",
                ));
            }
        }
        let mut set = checksums.iter().filter(|opt| given(opt));
        if let (Some(first), Some(second)) = (set.next(), set.next()) {
            return Err(Fault::wrong(format!(
                "The option '{}' conflicts with the '{}' option in the '{}' tunnel type",
                name_of(*second),
                name_of(*first),
                self.tunnel
            )));
        }
        self.parsed.encapsulation = match self.tunnel {
            "gue" => Encapsulation::Gue { port: self.tunnel_port, checksum: self.checksum },
            "gre" => Encapsulation::Gre { checksum: self.checksum },
            _ => Encapsulation::Ipip,
        };
        Ok(())
    }

    fn finish_list(&self) -> Result<(), Fault> {
        let list = &self.parsed.list;
        let other = list.connection || list.timeout || list.daemon;
        if other && (list.stats || list.rate || list.thresholds || list.persistent) {
            return Err(Fault::wrong("options conflicts in the list command"));
        }
        Ok(())
    }
}

fn name_of(opt: Opt) -> &'static str {
    OPTIONS.iter().find(|(known, _)| *known == opt).map_or("", |(_, name)| name)
}

/// `parse_sched_flags`
fn read_flags(scheduler: &str, names: &str) -> Result<SchedFlags, Fault> {
    let mut flags = SchedFlags::default();
    for name in names.split(',').filter(|name| !name.is_empty()) {
        let plain =
            [("flag-1", SchedFlags::FALLBACK), ("flag-2", SchedFlags::PORT), ("flag-3", SchedFlags::THIRD)];
        if let Some((_, flag)) = plain.iter().find(|(known, _)| *known == name) {
            flags = flags.with(*flag);
            continue;
        }
        let owner = SPECS.iter().find_map(|spec| {
            let (_, flag) = spec.flags.iter().find(|(known, _)| *known == name)?;
            Some((spec.name, *flag))
        });
        match owner {
            Some((of, flag)) if of == scheduler => flags = flags.with(flag),
            Some(_) => return Err(Fault::wrong(format!("incompatible scheduler flag `{name}'"))),
            None => return Err(Fault::wrong(format!("invalid scheduler flag `{name}'"))),
        }
    }
    Ok(flags)
}
