//! One node in real namespaces: its devices, addresses, routes, sysctls and listening sockets.

use std::collections::BTreeMap;
use std::io::Read;
use std::net::{IpAddr, SocketAddrV4, SocketAddrV6, TcpListener, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, SockaddrIn6, sendto, socket,
};

use super::command::{self, Output};
use super::namespace::{Inside, Netns, pin};
use super::netlink;
use super::tap::Tap;
use crate::frame::Seen;
use crate::replay::{Interface, Node};

/// Settings that a fresh namespace inherits from the machine; a case starts from the kernel's own defaults, and
/// from a network in which neighbours and addresses are already settled.
const BASELINE: &[(&str, &str)] = &[
    ("net.ipv4.ip_forward", "0"),
    ("net.ipv4.conf.all.rp_filter", "0"),
    ("net.ipv4.conf.default.rp_filter", "0"),
    ("net.ipv4.conf.all.route_localnet", "0"),
    ("net.ipv4.conf.default.route_localnet", "0"),
    ("net.ipv4.conf.all.send_redirects", "1"),
    ("net.ipv4.conf.default.send_redirects", "1"),
    ("net.ipv6.conf.all.accept_dad", "0"),
    ("net.ipv6.conf.default.accept_dad", "0"),
    ("net.ipv6.conf.all.accept_ra", "0"),
    ("net.ipv6.conf.default.accept_ra", "0"),
    ("net.ipv6.conf.default.autoconf", "0"),
    ("net.ipv6.conf.default.addr_gen_mode", "1"),
    ("net.ipv6.conf.all.router_solicitations", "0"),
    ("net.ipv6.conf.default.router_solicitations", "0"),
    ("net.ipv6.conf.default.mldv1_unsolicited_report_interval", "1"),
    ("net.ipv6.conf.default.mldv2_unsolicited_report_interval", "1"),
];

/// Settings of the connection tracker that random cases vary, with the kernel's defaults.
const TRACKER_DEFAULTS: &[(&str, &str)] = &[
    ("net.netfilter.nf_conntrack_tcp_be_liberal", "0"),
    ("net.netfilter.nf_conntrack_tcp_ignore_invalid_rst", "0"),
    ("net.netfilter.nf_conntrack_tcp_loose", "1"),
    ("net.netfilter.nf_conntrack_acct", "0"),
];

/// An IPv6 address makes its device report two multicast groups twice, a millisecond apart (`BASELINE`), from a
/// kernel work queue; later they would count in the rules.
const MULTICAST_REPORTS: Duration = Duration::from_millis(40);

/// A node and the wires to it. The thread that builds a lab must be the one that uses it.
#[derive(Debug)]
pub struct Lab {
    node: Netns,
    _wire: Netns,
    tap: Tap,
    local4: OwnedFd,
    local6: OwnedFd,
    listening: Vec<Listener>,
    built: std::time::Instant,
}

#[derive(Debug)]
enum Listener {
    Tcp(#[expect(dead_code, reason = "held open")] TcpListener),
    Udp(#[expect(dead_code, reason = "held open")] UdpSocket),
}

impl Lab {
    /// Builds the node that a case describes; `setup` commands are not run yet.
    pub fn build(node: &Node) -> Result<Lab, String> {
        pin().map_err(|error| format!("cannot stay on one processor: {error}"))?;
        let (inside, wire) = (Netns::new(), Netns::new());
        let inside = inside.map_err(|error| format!("network namespace: {error}"))?;
        let wire = wire.map_err(|error| format!("network namespace: {error}"))?;
        let ports = plug(node, &inside, &wire)?;
        let guard = enter(&inside)?;
        for (name, value) in BASELINE {
            set_sysctl(name, value)?;
        }
        let mut batch = String::from("link set lo up\n");
        for interface in &node.interfaces {
            describe(interface, &mut batch);
        }
        ip_batch(&batch)?;
        for (name, value) in &node.sysctls {
            set_sysctl(name, &value.to_string())?;
        }
        let mut batch = String::new();
        for route in &node.routes {
            batch += &format!("route add {} {}", route.kind.as_deref().unwrap_or("unicast"), route.to);
            if let Some(via) = &route.via {
                batch += &format!(" via {via}");
            }
            if let Some(device) = &route.dev {
                batch += &format!(" dev {device}");
            }
            if let Some(source) = &route.src {
                batch += &format!(" src {source}");
            }
            if let Some(metric) = &route.metric {
                batch += &format!(" metric {metric}");
            }
            if let Some(mtu) = &route.mtu {
                batch += &format!(" mtu {mtu}");
            }
            batch.push('\n');
        }
        ip_batch(&batch)?;
        let listening = listen(node)?;
        let local4 = local_socket(AddressFamily::Inet)?;
        let local6 = local_socket(AddressFamily::Inet6)?;
        drop(guard);
        let tap = Tap::open(&inside, &wire, &ports).map_err(|error| error.to_string())?;
        // The devices are up only now: `Tap::open` has waited for their queues.
        if node
            .interfaces
            .iter()
            .flat_map(|interface| &interface.addresses)
            .any(|address| address.contains(':'))
        {
            std::thread::sleep(MULTICAST_REPORTS);
        }
        let mut lab = Lab { node: inside, _wire: wire, tap, local4, local6, listening, built: now() };
        // What the devices said while they came up is nobody's answer.
        lab.settle()?;
        Ok(lab)
    }

    /// Moves the calling thread into the node until the guard is dropped.
    pub fn enter(&self) -> Result<Inside, String> {
        enter(&self.node)
    }

    /// Runs a tool inside the node.
    pub fn tool(&self, name: &str, arguments: &[&str], stdin: &str) -> Result<Output, String> {
        let _inside = self.enter()?;
        command::tool(name, arguments, stdin)
    }

    /// Runs a command line inside the node.
    pub fn line(&self, line: &str, stdin: &str) -> Result<Output, String> {
        let _inside = self.enter()?;
        if let Some(name) = line.strip_prefix("nfacct add ") {
            netlink::add_accounting(name)?;
            return Ok(Output { status: 0, stdout: String::new(), stderr: String::new() });
        }
        command::line(line, stdin)
    }

    /// Sends one packet and returns everything that left the node because of it, with the local sender's error.
    pub fn send(
        &mut self,
        input: &str,
        mac: Option<[u8; 6]>,
        packet: &[u8],
    ) -> Result<(Vec<Seen>, Option<String>), String> {
        let mut refused = None;
        if input == "local" {
            if let Err(errno) = self.send_local(packet)? {
                refused = Some(format!("{errno:?}"));
            }
        } else {
            self.tap.inject(input, mac, packet).map_err(|error| format!("{input}: {error}"))?;
        }
        Ok((self.settle()?, refused))
    }

    /// What has left the node since it was last asked.
    pub fn settle(&mut self) -> Result<Vec<Seen>, String> {
        self.tap.settle().map_err(|error| error.to_string())
    }

    /// How many packets the node's own stack has taken so far, IPv4 and IPv6.
    pub fn delivered(&self) -> Result<u64, String> {
        let _inside = self.enter()?;
        Ok(ipv4_delivered(&read("/proc/thread-self/net/snmp")?)
            + ipv6_delivered(&read("/proc/thread-self/net/snmp6")?))
    }

    /// The counters of `conntrack -S`, summed over the processors.
    pub fn counters(&self) -> Result<BTreeMap<String, i64>, String> {
        let _inside = self.enter()?;
        Ok(statistics(&read("/proc/thread-self/net/stat/nf_conntrack")?))
    }

    /// Sets what a case may set differently from the one before: the connection tracker's settings.
    pub fn settings(&self, node: &Node) -> Result<(), String> {
        let _inside = self.enter()?;
        for (name, value) in TRACKER_DEFAULTS {
            set_sysctl(
                name,
                &node.sysctls.get(*name).map_or_else(|| value.to_string(), ToString::to_string),
            )?;
        }
        Ok(())
    }

    /// Time since it was built.
    pub fn age(&self) -> Duration {
        now().duration_since(self.built)
    }

    /// Forgets all connections, so that the next case starts as in a fresh node: those of the listening sockets
    /// end with them, and what that makes the node send is nobody's answer.
    pub fn forget(&mut self, node: &Node) -> Result<(), String> {
        if node.listen.iter().any(|entry| entry.starts_with("tcp/")) {
            self.listening.clear();
            let inside = self.enter()?;
            self.listening = listen_again(node)?;
            drop(inside);
            self.settle()?;
        }
        let _inside = self.enter()?;
        netlink::flush_connections()
    }

    fn send_local(&self, packet: &[u8]) -> Result<Result<usize, Errno>, String> {
        let _inside = self.enter()?;
        let flags = MsgFlags::empty();
        Ok(match crate::frame::decode(packet).and_then(|seen| seen.dst.parse().ok()) {
            Some(IpAddr::V4(to)) => {
                let to = SockaddrIn::from(SocketAddrV4::new(to, 0));
                sendto(self.local4.as_raw_fd(), packet, &to, flags)
            }
            Some(IpAddr::V6(to)) => {
                let to = SockaddrIn6::from(SocketAddrV6::new(to, 0, 0, 0));
                sendto(self.local6.as_raw_fd(), packet, &to, flags)
            }
            None => return Err("a local packet needs an IP header".into()),
        })
    }

    /// How many sockets listen.
    pub fn listeners(&self) -> usize {
        self.listening.len()
    }
}

#[expect(clippy::disallowed_methods, reason = "a real kernel runs in real time")]
fn now() -> std::time::Instant {
    std::time::Instant::now()
}

fn enter(netns: &Netns) -> Result<Inside, String> {
    netns.enter().map_err(|error| format!("cannot enter the namespace: {error}"))
}

fn read(path: &str) -> Result<String, String> {
    let mut text = String::new();
    std::fs::File::open(path)
        .and_then(|mut file| file.read_to_string(&mut text))
        .map_err(|error| format!("{path}: {error}"))?;
    Ok(text)
}

/// Creates the devices and their far ends; returns each device with the wire device that leads to it.
fn plug(node: &Node, inside: &Netns, wire: &Netns) -> Result<Vec<(String, Option<String>)>, String> {
    let (mut batch, mut far_batch, mut ports) = (String::new(), String::new(), Vec::new());
    let far_namespace = wire.path();
    for (index, interface) in node.interfaces.iter().enumerate() {
        let name = &interface.name;
        let far = format!("cw-{index}");
        match interface.kind.as_deref() {
            None | Some("veth") => {
                batch += &format!("link add {name} type veth peer name {far} netns {far_namespace}\n");
                far_batch += &format!("link set {far} up\n");
                ports.push((name.clone(), Some(far)));
            }
            Some("bridge") => {
                // A bridge without a port has no carrier and sends nothing: one hidden port leads to the wire.
                batch += &format!("link add {name} type bridge\n");
                batch +=
                    &format!("link add cw-port-{index} type veth peer name {far} netns {far_namespace}\n");
                batch += &format!("link set cw-port-{index} master {name} up\n");
                far_batch += &format!("link set {far} up\n");
                ports.push((name.clone(), Some(far)));
            }
            Some("dummy") => {
                // Not every kernel has the dummy driver; a veth into the void sends and hears as little.
                batch += &format!("link add {name} type veth peer name {far} netns {far_namespace}\n");
                far_batch += &format!("link set {far} up\n");
                ports.push((name.clone(), None));
            }
            Some(other) => return Err(format!("interface kind {other:?} is not known")),
        }
    }
    {
        let _inside = enter(inside)?;
        for (name, value) in BASELINE {
            set_sysctl(name, value)?;
        }
        ip_batch(&batch)?;
    }
    let _inside = enter(wire)?;
    set_sysctl("net.ipv6.conf.all.disable_ipv6", "1")?;
    set_sysctl("net.ipv6.conf.default.disable_ipv6", "1")?;
    ip_batch(&far_batch)?;
    Ok(ports)
}

fn describe(interface: &Interface, batch: &mut String) {
    let name = &interface.name;
    if let Some(mac) = &interface.mac {
        *batch += &format!("link set {name} address {mac}\n");
    }
    if let Some(mtu) = interface.mtu {
        *batch += &format!("link set {name} mtu {mtu}\n");
    }
    *batch += &format!("link set {name} arp off\nlink set {name} up\n");
    for address in &interface.addresses {
        let settled = if address.contains(':') { " nodad" } else { "" };
        *batch += &format!("addr add {address} dev {name}{settled}\n");
    }
}

fn ip_batch(batch: &str) -> Result<(), String> {
    if batch.is_empty() {
        return Ok(());
    }
    command::tool("ip", &["-batch", "-"], batch)?.expect_success("ip").map(|_| ())
}

/// Writes one sysctl of the calling thread's namespace.
fn set_sysctl(name: &str, value: &str) -> Result<(), String> {
    // Device names may hold dots; `a/b` spelling keeps them apart as sysctl(8) does.
    let path = if name.contains('/') { name.to_string() } else { name.replace('.', "/") };
    std::fs::write(format!("/proc/sys/{path}"), value)
        .map_err(|error| format!("sysctl {name}={value}: {error}"))
}

fn local_socket(family: AddressFamily) -> Result<OwnedFd, String> {
    // IPPROTO_RAW implies that the caller writes the IP header (raw(7), RFC 3542 for IPv6 by IPV6_HDRINCL).
    socket(family, SockType::Raw, SockFlag::SOCK_CLOEXEC, Some(SockProtocol::Raw))
        .map_err(|error| error.to_string())
}

fn listen(node: &Node) -> Result<Vec<Listener>, String> {
    let six = node
        .interfaces
        .iter()
        .flat_map(|interface| &interface.addresses)
        .any(|address| address.contains(':'));
    let mut listening = Vec::new();
    for entry in &node.listen {
        let bad = || format!("listen: {entry:?} is not like tcp/80");
        let (protocol, port) = entry.split_once('/').ok_or_else(bad)?;
        let port: u16 = port.parse().map_err(|_| bad())?;
        // A socket on [::] serves both families.
        let host = if six { "::" } else { "0.0.0.0" };
        let opened = match protocol {
            "tcp" => TcpListener::bind((host, port)).map(Listener::Tcp),
            "udp" => UdpSocket::bind((host, port)).map(Listener::Udp),
            _ => return Err(bad()),
        };
        listening.push(opened.map_err(|error| format!("listen {entry}: {error}"))?);
    }
    Ok(listening)
}

/// Opens the sockets again that were just closed. A tool that another lab starts at that moment holds copies of
/// all descriptors until it has become that tool; a port is free when they are gone.
fn listen_again(node: &Node) -> Result<Vec<Listener>, String> {
    const TRIES: u32 = 200;
    for _ in 1..TRIES {
        match listen(node) {
            Ok(sockets) => return Ok(sockets),
            Err(error) if error.contains("in use") => std::thread::sleep(Duration::from_millis(2)),
            Err(error) => return Err(error),
        }
    }
    listen(node)
}

/// The columns of `/proc/net/stat/nf_conntrack` that `conntrack -S` prints, under the names it prints. The file
/// costs no process.
fn statistics(text: &str) -> BTreeMap<String, i64> {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap_or_default().split_whitespace().collect();
    let mut sums = BTreeMap::new();
    for line in lines {
        for (name, value) in names.iter().zip(line.split_whitespace()) {
            let name = match *name {
                "clashres" => "clash_resolve",
                "icmp_error" => "error",
                "chainlength" => "chaintoolong",
                "found" | "invalid" | "insert" | "insert_failed" | "drop" | "early_drop"
                | "search_restart" => name,
                _ => continue,
            };
            *sums.entry(name.to_string()).or_insert(0) += i64::from_str_radix(value, 16).unwrap_or(0);
        }
    }
    sums
}

fn ipv4_delivered(text: &str) -> u64 {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Ip: "));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else { return 0 };
    let pair = names.split(' ').zip(values.split(' ')).find(|(name, _)| *name == "InDelivers");
    pair.and_then(|(_, value)| value.parse().ok()).unwrap_or(0)
}

fn ipv6_delivered(text: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix("Ip6InDelivers"));
    line.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
}
