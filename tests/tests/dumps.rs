//! The public dumps of `../shared/peer/dumps/iptables-save`: each loads, prints back as iptables-save prints it,
//! and treats random packets as the kernel does. What their README measured is in `engine/tests/dumps.rs`. The
//! files are not part of the project: without them this is skipped, saying so.

#![expect(clippy::print_stdout, reason = "a test says what it skipped")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use chainwalk_tests::case::CaseFile;
use chainwalk_tests::emulator::{self, Refused};
use chainwalk_tests::generate::Rng;
use chainwalk_tests::replay::{Case, Interface, Node, Packet, Route, Setup, Text, address, text};
use chainwalk_tests::{case, compare, kernel};

/// Packets sent through each dump.
const PACKETS: usize = 100;
const SEED: u64 = 6;

fn dumps() -> Option<Vec<PathBuf>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/peer/dumps/iptables-save");
    let mut found: Vec<PathBuf> =
        std::fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    found.sort();
    Some(found)
}

/// What a dump says about the node it came from.
#[derive(Debug, Default)]
struct Facts {
    name: String,
    six: bool,
    devices: Vec<String>,
    addresses: Vec<String>,
    ports: Vec<u16>,
}

impl Facts {
    fn read(path: &Path, text: &str) -> Facts {
        let six = path.to_string_lossy().contains("ip6");
        let mut devices = BTreeSet::from(["eth0".to_string()]);
        let mut addresses = BTreeSet::new();
        let mut ports = BTreeSet::from([80, 5000]);
        for line in text.lines().filter(|line| line.starts_with('-')) {
            let words: Vec<&str> = line.split_whitespace().collect();
            for pair in words.windows(2) {
                match pair[0] {
                    "-i" | "-o" if pair[1] != "lo" => drop(devices.insert(pair[1].replace('+', "0"))),
                    "-s" | "-d" | "--to-destination" | "--to-source" => {
                        let host = pair[1].split(['/', '-']).next().unwrap_or_default();
                        let host = if six { host } else { host.split(':').next().unwrap_or_default() };
                        if host.parse::<std::net::IpAddr>().is_ok() {
                            addresses.insert(next_host(host));
                            addresses.insert(host.to_string());
                        }
                    }
                    "--dport" | "--dports" | "--sport" | "--sports" | "--ports" => {
                        ports.extend(pair[1].split([',', ':']).filter_map(|port| port.parse::<u16>().ok()));
                    }
                    _ => {}
                }
            }
        }
        addresses.retain(|address| usable(address));
        Facts {
            name: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            six,
            devices: devices.into_iter().filter(|name| name.len() < 16).collect(),
            addresses: addresses.into_iter().collect(),
            ports: ports.into_iter().collect(),
        }
    }

    /// A node with every device of the dump, a subnet on each, the default route through the first.
    fn node(&self, tool: &str, text: &str) -> Node {
        let subnet = |index: usize| {
            if self.six { format!("fd00:{index:x}::1/64") } else { format!("10.9.{index}.1/24") }
        };
        let interfaces = self.devices.iter().enumerate().map(|(index, name)| Interface {
            name: name.clone(),
            mac: Some(format!("02:00:00:00:{index:02x}:01")),
            addresses: vec![subnet(index)],
            ..Interface::default()
        });
        let (to, via) = if self.six { ("::/0", "fd00:0::2") } else { ("0.0.0.0/0", "10.9.0.2") };
        let settings: &[(&str, &str)] = if self.six {
            &[("net.ipv6.conf.all.forwarding", "1"), ("net.ipv6.icmp.ratelimit", "0")]
        } else {
            &[
                ("net.ipv4.ip_forward", "1"),
                ("net.ipv4.icmp_ratelimit", "0"),
                ("net.ipv4.conf.all.send_redirects", "0"),
            ]
        };
        // The limit over all peers has a random cost.
        let many = [("net.ipv4.icmp_msgs_per_sec", "100000"), ("net.ipv4.icmp_msgs_burst", "100000")];
        let settings = settings.iter().chain(&many);
        let mut sysctls: std::collections::BTreeMap<String, Text> =
            settings.map(|(name, value)| (name.to_string(), Text::Word(value.to_string()))).collect();
        if !self.six {
            // Device names may hold dots.
            let redirects = |name: &String| format!("net/ipv4/conf/{name}/send_redirects");
            sysctls.extend(self.devices.iter().map(|name| (redirects(name), Text::Word("0".into()))));
        }
        Node {
            interfaces: interfaces.collect(),
            routes: vec![Route {
                to: to.into(),
                via: Some(address(via)),
                dev: Some(self.devices[0].clone()),
                ..Route::default()
            }],
            sysctls,
            setup: vec![Setup { run: format!("{tool}-restore"), stdin: text.into() }],
            ..Node::default()
        }
    }

    fn packet(&self, rng: &mut Rng) -> Packet {
        let device = rng.below(self.devices.len() as u64) as usize;
        let host = |index: usize, last: u64| {
            if self.six { format!("fd00:{index:x}::{last:x}") } else { format!("10.9.{index}.{last}") }
        };
        let mut packet = Packet {
            input: self.devices[device].clone(),
            src: Some(address(&host(device, 2 + rng.below(3)))),
            ..Packet::default()
        };
        if rng.one_in(3) && !self.addresses.is_empty() {
            packet.src = Some(address(rng.pick::<String>(&self.addresses)));
        }
        let to = match rng.below(4) {
            0 => host(device, 1),
            1 if !self.addresses.is_empty() => rng.pick(&self.addresses).clone(),
            _ => host(rng.below(self.devices.len() as u64) as usize, 2 + rng.below(3)),
        };
        packet.dst = Some(address(&to));
        let icmp = if self.six { "icmpv6" } else { "icmp" };
        let proto = *rng.pick(&["tcp", "tcp", "tcp", "udp", "udp", icmp]);
        packet.proto = Some(text(proto));
        match proto {
            "tcp" => {
                packet.flags =
                    Some(rng.pick(&["S", "S", "S", "S", "A", "SA", "FA", "R", "FPU", "SF", ""]).to_string());
                packet.mss = (packet.flags.as_deref() == Some("S")).then_some(1460);
                packet.seq = Some(1000);
            }
            "udp" => packet.len = Some(20),
            _ => {
                packet.icmp_type =
                    Some(if self.six { *rng.pick(&[128, 129]) } else { *rng.pick(&[8, 0, 13]) });
                packet.icmp_id = Some(7);
            }
        }
        if packet.icmp_type.is_none() {
            packet.sport = Some(1024 + rng.below(3) as u16);
            packet.dport = Some(*rng.pick(&self.ports));
        }
        packet
    }
}

/// The next address, so that networks contribute a host.
fn next_host(address: &str) -> String {
    match address.parse() {
        Ok(std::net::IpAddr::V4(address)) => {
            std::net::Ipv4Addr::from_bits(address.to_bits().wrapping_add(1)).to_string()
        }
        Ok(std::net::IpAddr::V6(address)) => {
            std::net::Ipv6Addr::from_bits(address.to_bits().wrapping_add(1)).to_string()
        }
        Err(_) => address.to_string(),
    }
}

/// An address that a host may have.
fn usable(address: &str) -> bool {
    match address.parse() {
        Ok(std::net::IpAddr::V4(address)) => {
            !(address.is_loopback()
                || address.is_multicast()
                || address.is_broadcast()
                || address.octets()[0] == 0
                || address.octets()[0] >= 240)
        }
        Ok(std::net::IpAddr::V6(address)) => {
            !(address.is_loopback()
                || address.is_multicast()
                || address.is_unspecified()
                || address.is_unicast_link_local())
        }
        Err(_) => false,
    }
}

fn file(node: Node, packets: Vec<Packet>, tool: &str) -> CaseFile {
    let mut show = vec![format!("{tool}-save -c")];
    if !packets.is_empty() {
        show.push("conntrack -L".into());
    }
    let case = Case { format: "chainwalk.replay/1".into(), seed: 1, node, packets, draws: Vec::new(), show };
    CaseFile { purpose: "a public dump".into(), case, links: Vec::new(), recorded: None }
}

/// Both arms on one file; `None` when they agree, else what differs.
fn disagreement(file: &CaseFile) -> Option<String> {
    let theirs = match kernel::run(file) {
        Ok(run) => run,
        Err(error) => return Some(format!("the kernel refuses it: {error}")),
    };
    match emulator::run(file) {
        Ok(ours) => {
            let found = compare::runs(file, &theirs, &ours);
            (!found.is_empty()).then(|| found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
        }
        Err(Refused::NotEmulated(what)) => {
            println!("  not emulated: {what}");
            None
        }
        Err(Refused::Failed(why)) => Some(format!("the emulator: {why}")),
    }
}

/// Runs `check` on every dump with both flavours of its tool.
fn every_dump(check: impl Fn(&Facts, &str, &str) -> Option<String>) {
    let Some(dumps) = dumps() else {
        println!("skipped: ../shared/peer/dumps is not there");
        return;
    };
    if let Some(reason) = kernel::unavailable() {
        println!("skipped: {reason}");
        return;
    }
    let mut problems = Vec::new();
    for path in dumps {
        let text = std::fs::read_to_string(&path).expect("a dump is text");
        let facts = Facts::read(&path, &text);
        for flavour in ["legacy", "nft"] {
            let tool = format!("{}-{flavour}", if facts.six { "ip6tables" } else { "iptables" });
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            println!("{name} with {tool}");
            problems.extend(check(&facts, &tool, &text).map(|found| format!("{name} with {tool}:\n{found}")));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
}

#[test]
fn each_dump_prints_back_as_iptables_save_prints_it() {
    every_dump(|facts, tool, text| disagreement(&file(facts.node(tool, text), Vec::new(), tool)));
}

#[test]
fn each_dump_treats_packets_as_the_kernel_does() {
    every_dump(|facts, tool, text| {
        let mut rng = Rng::new(SEED);
        // Limits refill in steps of a few milliseconds: time passes alike on both arms.
        let packet = |index: usize| Packet { at_ms: index as u64 * 10, ..facts.packet(&mut rng) };
        let packets = (0..PACKETS).map(packet).collect();
        let file = file(facts.node(tool, text), packets, tool);
        let found = disagreement(&file)?;
        // To look closer: `conformance minimise FILE`.
        let path = std::env::temp_dir().join(format!("cw-dump-{}-{tool}.json", facts.name));
        let stored = std::fs::write(&path, case::to_text(&file)).map(|()| path.display().to_string());
        Some(format!("{found}\ncase: {}", stored.unwrap_or_default()))
    });
}
