//! What the real kernel needs for the same work, measured in the same run: loading rulesets, and the first packet
//! of a connection behind n rules.
//!
//! Everything happens in network namespaces made here; without the rights to make them the rows are left out.

use std::io::{self, Write as _};
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::row::{Row, time};
use crate::kernel::namespace::Netns;

/// The three ways a node can hold a long list of Services.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plane {
    Legacy,
    Nft,
    /// An nft verdict map instead of a chain of rules.
    Map,
}

impl Plane {
    pub const ALL: [Self; 3] = [Self::Legacy, Self::Nft, Self::Map];

    const fn name(self) -> &'static str {
        match self {
            Self::Legacy => "iptables-legacy",
            Self::Nft => "iptables-nft",
            Self::Map => "nft verdict map",
        }
    }

    const fn tool(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Self::Legacy => ("iptables-legacy-restore", &[]),
            Self::Nft => ("iptables-nft-restore", &[]),
            Self::Map => ("nft", &["-f", "-"]),
        }
    }

    /// `rules` Services, the last of which is translated to `server`.
    fn ruleset(self, rules: u32, server: SocketAddrV4) -> String {
        let service = |n: u32| Ipv4Addr::from_bits(u32::from_be_bytes([10, 96, 0, 10]) + n);
        match self {
            Self::Legacy | Self::Nft => {
                let mut text =
                    String::from("*nat\n:PREROUTING ACCEPT [0:0]\n:SERVICES - [0:0]\n:LAST - [0:0]\n");
                text += "-A PREROUTING -j SERVICES\n";
                text += &format!("-A LAST -p udp -j DNAT --to-destination {server}\n");
                for n in 0..rules {
                    text += &format!(
                        "-A SERVICES -d {}/32 -p udp -m comment --comment \"shop/web-{n} cluster IP\" -m udp --dport \
                         80 -j LAST\n",
                        service(n)
                    );
                }
                text + "COMMIT\n"
            }
            Self::Map => {
                let elements: Vec<String> =
                    (0..rules).map(|n| format!("{} . udp . 80 : goto last", service(n))).collect();
                format!(
                    "table ip t {{\n map services {{\n type ipv4_addr . inet_proto . inet_service : verdict\n \
                     elements = {{ {} }}\n }}\n chain last {{\n meta l4proto udp dnat to {server}\n }}\n chain pre \
                     {{\n type nat hook prerouting priority dstnat; policy accept;\n ip daddr . meta l4proto . th \
                     dport vmap @services\n }}\n}}\n",
                    elements.join(", ")
                )
            }
        }
    }
}

/// Client, node and server, joined by veth pairs; one processor does all the work.
struct Bed {
    client: Netns,
    node: Netns,
    server: Netns,
}

/// Where the server listens.
const SERVER: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 2, 0, 2), 8080);
const SAMPLES: usize = 201;

impl Bed {
    fn new() -> io::Result<Self> {
        crate::kernel::namespace::pin()?;
        let bed = Self { client: Netns::new()?, node: Netns::new()?, server: Netns::new()? };
        let (client, node, server) = (bed.client.path(), bed.node.path(), bed.server.path());
        let ip = |words: &str| run("ip", &words.split(' ').collect::<Vec<_>>(), "");
        {
            let _inside = bed.node.enter()?;
            ip(&format!("link add c0 type veth peer name e0 netns {client}"))?;
            ip(&format!("link add s0 type veth peer name e0 netns {server}"))?;
            for (dev, addr) in [("c0", "10.1.0.1/24"), ("s0", "10.2.0.1/24")] {
                ip(&format!("addr add {addr} dev {dev}"))?;
                ip(&format!("link set {dev} up"))?;
            }
            std::fs::write("/proc/sys/net/ipv4/ip_forward", "1")?;
        }
        for (side, addr, gateway) in
            [(&bed.client, "10.1.0.2/24", "10.1.0.1"), (&bed.server, "10.2.0.2/24", "10.2.0.1")]
        {
            let _inside = side.enter()?;
            ip(&format!("addr add {addr} dev e0"))?;
            ip("link set e0 up")?;
            ip(&format!("route add default via {gateway}"))?;
        }
        let _ = node;
        Ok(bed)
    }

    /// Loads the plane's ruleset and says how long the tool took.
    fn load(&self, plane: Plane, rules: u32) -> io::Result<Duration> {
        let text = plane.ruleset(rules, SERVER);
        let _inside = self.node.enter()?;
        run("nft", &["flush", "ruleset"], "")?;
        run("iptables-legacy", &["-t", "nat", "-F"], "")?;
        let (tool, arguments) = plane.tool();
        let (took, outcome) = time(|| run(tool, arguments, &text));
        outcome.map(|()| took)
    }

    /// Median time from sending the first datagram of a connection to its arrival.
    fn first_packet(&self, rules: u32) -> io::Result<Duration> {
        let server = {
            let _inside = self.server.enter()?;
            UdpSocket::bind(SERVER)?
        };
        server.set_read_timeout(Some(Duration::from_secs(1)))?;
        let last = Ipv4Addr::from_bits(u32::from_be_bytes([10, 96, 0, 10]) + rules - 1);
        let mut times = Vec::with_capacity(SAMPLES);
        for _ in 0..SAMPLES {
            let client = {
                let _inside = self.client.enter()?;
                UdpSocket::bind(("10.1.0.2", 0))?
            };
            client.connect((last, 80))?;
            let mut buffer = [0; 1];
            let (took, outcome) = time(|| client.send(b"x").and_then(|_| server.recv(&mut buffer)));
            outcome?;
            times.push(took);
        }
        times.sort_unstable();
        Ok(times[SAMPLES / 2])
    }
}

fn run(tool: &str, arguments: &[&str], input: &str) -> io::Result<()> {
    let mut child = Command::new(tool)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    child.stdin.take().expect("piped above").write_all(input.as_bytes())?;
    let output = child.wait_with_output()?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("{tool} {}: {}", arguments.join(" "), words.trim())))
}

/// Loading and walking `sizes` rules in each plane.
pub fn rows(sizes: &[u32]) -> io::Result<Vec<Row>> {
    let bed = Bed::new()?;
    let mut rows = Vec::new();
    for &rules in sizes {
        for plane in Plane::ALL {
            let loaded = bed.load(plane, rules)?;
            rows.push(Row::figure(format!("kernel: load {rules} rules, {}", plane.name()), loaded));
            let walked = bed.first_packet(rules)?;
            let what = format!("kernel: first packet behind {rules} rules, {}", plane.name());
            rows.push(Row::figure(what, walked));
        }
    }
    Ok(rows)
}
