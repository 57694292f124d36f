//! Assumptions about a node of which only its ruleset is known.
//!
//! A ruleset says nothing of addresses and routes. What the reader did not state is concluded here from the
//! rules and the packet, and every conclusion is listed with the text that would state it. Conclusions are
//! guesses with a reason; none of them looks at how the packet then fares.

mod nft;

use std::net::{IpAddr, Ipv4Addr};

use super::case::PacketSpec;
use super::facts::{Facts, device};
use crate::base::PLANES;
use crate::ipvs::ServiceKey;
use crate::netfilter::rule::Target;
use crate::netfilter::xt::TargetExt;
use crate::netfilter::{Net, Rule, Table, TableName};
use crate::netns::{Address, LOOPBACK, Netns, Route, RouteKind, RouteOrigin};
use crate::packet::{DevId, Family};

/// What an assumption is about, and so in which form its value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssumptionKind {
    /// `DEV=ADDRESS/LEN`
    Address,
    /// `PREFIX=GATEWAY@DEV`
    Route,
    /// `NAME=VALUE`
    Sysctl,
    /// Name of the device the packet arrives on, or `local`.
    InDevice,
    Other,
}

/// One thing taken for granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assumption {
    pub kind: AssumptionKind,
    /// The statement that would replace it; empty for [`AssumptionKind::Other`].
    pub value: String,
    /// What was assumed, and from what.
    pub sentence: String,
}

/// Prefix length of a subnet that nobody stated.
const fn subnet_len(addr: IpAddr) -> u8 {
    match addr {
        IpAddr::V4(_) => 24,
        IpAddr::V6(_) => 64,
    }
}

/// Names of the devices that rules of nftables test, in order of first mention.
pub fn nft_devices(ruleset: &crate::netfilter::nft::Ruleset) -> Vec<String> {
    nft::devices(ruleset)
}

/// Fills in what the packet's way needs and nobody stated. Facts are in the node already.
pub fn complete(netns: &mut Netns, spec: &mut PacketSpec, facts: &Facts) -> Vec<Assumption> {
    let (Some(src), Some(dst)) = (spec.src, spec.dst) else { return Vec::new() };
    let hints = Hints::read(netns, Family::of(&dst));
    let mut infer = Infer { netns, facts, hints, made: Vec::new() };
    infer.devices();
    infer.rule_addresses();
    infer.virtual_server(dst);
    infer.in_device(spec, src);
    if spec.input == "local" {
        infer.local_source(src);
    } else {
        let dev = device(&mut infer.netns.inet, &spec.input);
        infer.link(dev, spec, src, dst);
    }
    infer.default_route(spec, src, dst);
    infer.forwarding(dst);
    infer.made
}

/// What the rules of one family give away.
#[derive(Debug, Default)]
struct Hints {
    /// Devices named by `-i` or `-o`, in order of appearance, with how often each is an out device.
    devices: Vec<(String, u32)>,
    /// Addresses that rules treat as the node's own, and why.
    own: Vec<(IpAddr, &'static str)>,
    /// Subnets behind a device: `-s NET ! -o DEV -j MASQUERADE`, as Docker writes it.
    behind: Vec<(Net, String)>,
    /// Single destinations in nat rules: virtual addresses, unless they are own.
    virtual_hosts: Vec<IpAddr>,
    /// Ports that rules take of addresses which the node has (`fib daddr type local tcp dport 8080 dnat to ...`).
    local_ports: Vec<(u16, u16)>,
    /// Rules about forwarding exist.
    forwards: bool,
    /// Device that packets leave masqueraded through.
    uplink: Option<String>,
    /// Devices with a subnet behind them: they lead inwards.
    inner: Vec<String>,
}

impl Hints {
    fn read(netns: &Netns, family: Family) -> Self {
        let mut hints = Self::default();
        for loaded in netns.tables().iter().filter(|t| t.table.family == family) {
            for chain in &loaded.table.chains {
                chain.rules.iter().for_each(|rule| hints.rule(&loaded.table, &chain.name, rule));
            }
        }
        if PLANES {
            nft::read(&mut hints, netns.nft(), family);
        }
        hints
    }

    fn rule(&mut self, table: &Table, chain: &str, rule: &Rule) {
        let head = &rule.head;
        for (test, out) in [(&head.in_dev, 0), (&head.out_dev, 1)] {
            if let Some(test) = test.as_ref().filter(|t| !t.value.prefix) {
                self.device(&test.value.name, if test.inverted { 0 } else { out });
            }
        }
        let host = |test: &Option<crate::netfilter::rule::Not<Net>>| {
            let net = test.as_ref().filter(|t| !t.inverted)?.value;
            let width = if net.addr.is_ipv4() { 32 } else { 128 };
            (net.prefix_len() == Some(width) && is_usable(net.addr)).then_some(net.addr)
        };
        match table.name {
            TableName::Filter => match chain {
                "INPUT" => {
                    self.own.extend(host(&head.dst).map(|a| (a, "a rule of INPUT has it as destination")));
                }
                "OUTPUT" => {
                    self.own.extend(host(&head.src).map(|a| (a, "a rule of OUTPUT has it as source")))
                }
                "FORWARD" => self.forwards = true,
                _ => {}
            },
            TableName::Nat => self.nat_rule(rule, host(&head.dst)),
            TableName::Raw | TableName::Mangle | TableName::Security => {}
        }
    }

    /// A device that a rule names; `uses` counts it as one that packets leave by.
    fn device(&mut self, name: &str, uses: u32) {
        match self.devices.iter_mut().find(|(known, _)| known == name) {
            _ if name == "lo" => {}
            Some((_, count)) => *count += uses,
            None => self.devices.push((name.to_owned(), uses)),
        }
    }

    fn nat_rule(&mut self, rule: &Rule, dst: Option<IpAddr>) {
        self.virtual_hosts.extend(dst);
        let Target::Ext(target) = &rule.target else { return };
        let out = rule.head.out_dev.as_ref();
        match target {
            TargetExt::Masquerade(_) => {
                self.forwards = true;
                match (&rule.head.src, out) {
                    (Some(src), Some(out)) if out.inverted && !src.inverted => {
                        self.behind.push((src.value, out.value.name.to_string()));
                        self.inner.push(out.value.name.to_string());
                    }
                    (_, Some(out)) if !out.inverted && !out.value.prefix => {
                        self.uplink.get_or_insert_with(|| out.value.name.to_string());
                    }
                    _ => {}
                }
            }
            TargetExt::Snat(snat) => {
                self.forwards = true;
                if let Some((first, _)) = snat.range.addrs {
                    self.own.push((first, "SNAT writes it as the source"));
                }
                if let Some(out) = out.filter(|o| !o.inverted && !o.value.prefix) {
                    self.uplink.get_or_insert_with(|| out.value.name.to_string());
                }
            }
            TargetExt::Dnat(_) => self.forwards = true,
            _ => {}
        }
    }
}

struct Infer<'a> {
    netns: &'a mut Netns,
    facts: &'a Facts,
    hints: Hints,
    made: Vec<Assumption>,
}

impl Infer<'_> {
    fn assume(&mut self, kind: AssumptionKind, value: String, sentence: String) {
        self.made.push(Assumption { kind, value, sentence });
    }

    fn add_address(&mut self, dev: DevId, addr: IpAddr, len: u8, reason: &str) {
        self.netns.inet.add_address(dev, Address::new(addr, len));
        let name = self.netns.inet.device(dev).name.to_string();
        self.assume(
            AssumptionKind::Address,
            format!("{name}={addr}/{len}"),
            format!("{name} has the address {addr}/{len}: {reason}."),
        );
    }

    /// Devices that rules name exist, unless `ip addr` says which ones do.
    fn devices(&mut self) {
        if !self.facts.ip_addr.trim().is_empty() {
            return;
        }
        let names: Vec<String> = self.hints.devices.iter().map(|(name, _)| name.clone()).collect();
        for name in names {
            if self.netns.inet.find_device(&name).is_none() {
                device(&mut self.netns.inet, &name);
                let sentence = format!("There is a device {name}: rules name it.");
                self.assume(AssumptionKind::Other, String::new(), sentence);
            }
        }
    }

    /// `-s 172.17.0.0/16 ! -o docker0 -j MASQUERADE`: the node is that subnet's gateway.
    fn rule_addresses(&mut self) {
        for (net, name) in std::mem::take(&mut self.hints.behind) {
            let dev = device(&mut self.netns.inet, &name);
            let none = self.netns.inet.device(dev).of_family(net.addr).next().is_none();
            if let (true, Some(len), Some(gateway)) = (none, net.prefix_len(), nth_host(net.addr, 1)) {
                self.add_address(dev, gateway, len, &format!("{net} is masqueraded except through {name}"));
            }
        }
    }

    /// IPVS looks at packets for the node only, so the address of a virtual server is one of it.
    fn virtual_server(&mut self, dst: IpAddr) {
        let is_served = self
            .netns
            .ipvs
            .services()
            .any(|(key, _)| matches!(key, ServiceKey::Address { addr, .. } if *addr == dst));
        if !is_served || self.facts.names_addresses() || self.netns.inet.is_own(dst) {
            return;
        }
        let dev = self.netns.inet.find_device("kube-ipvs0").unwrap_or(LOOPBACK);
        let len = if dst.is_ipv4() { 32 } else { 128 };
        self.add_address(
            dev,
            dst,
            len,
            "IPVS has a virtual server there, and looks at packets for the node only",
        );
    }

    /// The device the packet arrives on.
    fn in_device(&mut self, spec: &mut PacketSpec, src: IpAddr) {
        if !spec.input.is_empty() {
            if spec.input != "local" && self.netns.inet.find_device(&spec.input).is_none() {
                device(&mut self.netns.inet, &spec.input);
                let sentence = format!("There is a device {}: the packet names it.", spec.input);
                self.assume(AssumptionKind::Other, String::new(), sentence);
            }
            return;
        }
        let inet = &self.netns.inet;
        let wire = |name: &String| Some(&**name) != Some("lo");
        let (name, why) = if inet.is_own(src) {
            ("local".to_owned(), format!("{src} is an address of the node"))
        } else if let Some(dev) = super::build::device_towards(inet, src) {
            (inet.device(dev).name.to_string(), format!("{src} is in its subnet"))
        } else if let Some(dev) = inet.route_output(src).ok().map(|r| r.dst.dev) {
            (inet.device(dev).name.to_string(), format!("the route to {src} uses it"))
        } else if let Some((name, _)) = self.hints.devices.iter().find(|(name, _)| wire(name)) {
            (name.clone(), "it is the first device that rules name".to_owned())
        } else if let Some(other) = inet.devices.get(1) {
            (other.name.to_string(), "it is the first device of the node".to_owned())
        } else {
            ("eth0".to_owned(), "nothing names a device".to_owned())
        };
        let sentence = format!("The packet arrives on {name}: {why}.");
        self.assume(AssumptionKind::InDevice, name.clone(), sentence);
        if name != "local" {
            device(&mut self.netns.inet, &name);
        }
        spec.input = name;
    }

    /// A local sender's source belongs to some device.
    fn local_source(&mut self, src: IpAddr) {
        if src.is_unspecified() || src.is_loopback() || self.netns.inet.is_own(src) {
            return;
        }
        let name = self.outside(None).unwrap_or_else(|| "eth0".to_owned());
        let dev = device(&mut self.netns.inet, &name);
        self.add_address(dev, src, subnet_len(src), "a local process sends from it");
    }

    /// The addresses of the device the packet arrives on: the sender's link, and the destination if it is the
    /// node's own.
    fn link(&mut self, dev: DevId, spec: &PacketSpec, src: IpAddr, dst: IpAddr) {
        if self.facts.names_addresses() {
            return;
        }
        let own = self.own_reason(src, dst, spec.dport);
        if let Some(reason) = &own {
            self.add_address(dev, dst, subnet_len(dst), reason);
        }
        let inet = &self.netns.inet;
        let reachable = inet.devices.iter().any(|d| d.addresses.iter().any(|a| a.covers(src)));
        let bare = inet.device(dev).of_family(src).next().is_none();
        if !reachable && bare && !src.is_unspecified() {
            let len = subnet_len(src);
            let first = nth_host(src, 1).filter(|a| *a != src && *a != dst);
            if let Some(gateway) = first.or_else(|| nth_host(src, 254).filter(|a| *a != dst)) {
                let reason = format!("the sender {src} is taken to be on its link");
                self.add_address(dev, gateway, len, &reason);
            }
        }
    }

    /// Why the destination would be an address of the node; none when it would not.
    fn own_reason(&self, src: IpAddr, dst: IpAddr, dport: Option<u16>) -> Option<String> {
        let inet = &self.netns.inet;
        if inet.is_own(dst) || dst.is_multicast() || dst.is_loopback() || dst.is_unspecified() {
            return None;
        }
        if let Some((_, why)) = self.hints.own.iter().find(|(addr, _)| *addr == dst) {
            return Some((*why).to_owned());
        }
        if self.hints.virtual_hosts.contains(&dst) {
            return None;
        }
        if let Some(port) = dport
            && self.hints.local_ports.iter().any(|(low, high)| (*low..=*high).contains(&port))
        {
            return Some(format!("rules take port {port} of the node's own addresses"));
        }
        if inet.devices.iter().any(|d| d.addresses.iter().any(|a| a.covers(dst))) {
            return None;
        }
        if !self.hints.forwards {
            return Some("no rule is about forwarding, so the packet is meant for the node".to_owned());
        }
        let same = Net::prefix(src, subnet_len(src)).is_some_and(|net| net.contains(dst));
        if same {
            return Some("it lies in the sender's subnet".to_owned());
        }
        (!private(src)).then(|| "the sender is outside, so it dials the node".to_owned())
    }

    /// The device towards the outside: that of masquerading, else the one most rules send through.
    fn outside(&self, not: Option<&str>) -> Option<String> {
        let inner = &self.hints.inner;
        let usable = |name: &&String| Some(name.as_str()) != not && !inner.contains(name);
        self.hints.uplink.as_ref().filter(usable).cloned().or_else(|| {
            let out = self.hints.devices.iter().filter(|(name, _)| usable(&name));
            out.max_by_key(|(_, uses)| *uses).map(|(name, _)| name.clone())
        })
    }

    /// A device besides the one that the packet came in by, where nothing is known of any: a packet that turned back
    /// would be answered with a redirect, which says more about the guess than about the rules.
    fn second_uplink(&self, came: Option<&str>) -> Option<String> {
        let came = came.filter(|_| !self.facts.names_addresses())?;
        Some(if came == "eth0" { "eth1" } else { "eth0" }.to_owned())
    }

    /// Somewhere to send what no route covers.
    fn default_route(&mut self, spec: &PacketSpec, src: IpAddr, dst: IpAddr) {
        let family = Family::of(&dst);
        let inet = &self.netns.inet;
        if self.facts.names_routes() && inet.main.iter().any(|r| r.prefix_len == 0 && same_family(r, family))
        {
            return;
        }
        if inet
            .main
            .iter()
            .any(|r| r.prefix_len == 0 && r.kind == RouteKind::Unicast && same_family(r, family))
        {
            return;
        }
        if !self.facts.ip_route.trim().is_empty() {
            return;
        }
        let came = Some(spec.input.as_str()).filter(|i| *i != "local");
        let outer = came.filter(|c| !self.hints.inner.iter().any(|i| i == c));
        // Somebody from outside came in through the uplink; otherwise it is another device.
        let name = outer
            .filter(|_| !private(src))
            .map(str::to_owned)
            .or_else(|| self.outside(came))
            .or_else(|| self.second_uplink(came))
            .or_else(|| outer.map(str::to_owned))
            .or_else(|| {
                let names = inet.devices.iter().skip(1).map(|d| d.name.to_string());
                names.into_iter().find(|n| !self.hints.inner.contains(n))
            })
            .unwrap_or_else(|| "eth0".to_owned());
        let dev = device(&mut self.netns.inet, &name);
        if self.netns.inet.device(dev).of_family(dst).next().is_none() && !self.facts.names_addresses() {
            let addr: IpAddr = match family {
                // TEST-NET-1 and the documentation prefix (RFC 5737, RFC 3849).
                Family::V4 => Ipv4Addr::new(192, 0, 2, 1).into(),
                Family::V6 => std::net::Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into(),
            };
            self.add_address(dev, addr, subnet_len(addr), "nothing tells its address");
        }
        let own = self.netns.inet.device(dev).of_family(dst).next().map(|a| a.addr);
        let via = own.and_then(|a| nth_host(a, 254).filter(|g| *g != a).or_else(|| nth_host(a, 253)));
        let to = super::build::any_of(family);
        if let Some(route) = Route::new(to, 0, dev) {
            self.netns.inet.main.add(Route { via, origin: RouteOrigin::Assumed, ..route });
            let gateway = via.map(|v| v.to_string()).unwrap_or_default();
            self.assume(
                AssumptionKind::Route,
                format!("{to}/0={gateway}@{name}"),
                format!("Everything else leaves through {name}: no route was given."),
            );
        }
    }

    /// A node forwards that has rules about it, or that gets a packet for somebody else.
    fn forwarding(&mut self, dst: IpAddr) {
        let (name, alias) = match Family::of(&dst) {
            Family::V4 => ("net.ipv4.ip_forward", "net.ipv4.conf.all.forwarding"),
            Family::V6 => ("net.ipv6.conf.all.forwarding", ""),
        };
        let own = self.netns.inet.is_own(dst);
        let balances = self.netns.ipvs.services().next().is_some();
        if self.facts.names_sysctl(&[name, alias]) || (own && !self.hints.forwards && !balances) {
            return;
        }
        let _ = self.netns.set_sysctl(name, "1");
        let why = match (own, self.hints.forwards) {
            (false, _) => "the packet is not for the node itself",
            (true, true) => "rules are about forwarding",
            (true, false) => "IPVS sends packets on to its servers",
        };
        let sentence = format!("{name} is 1: {why}.");
        self.assume(AssumptionKind::Sysctl, format!("{name}=1"), sentence);
    }
}

/// An address that one host may have.
fn is_usable(addr: IpAddr) -> bool {
    let is_broadcast = addr == IpAddr::V4(Ipv4Addr::BROADCAST);
    !addr.is_loopback() && !addr.is_multicast() && !addr.is_unspecified() && !is_broadcast
}

fn same_family(route: &Route, family: Family) -> bool {
    Family::of(&route.to.addr) == family
}

/// The host `n` of the usual subnet around `addr`.
fn nth_host(addr: IpAddr, n: u8) -> Option<IpAddr> {
    match (addr, Net::prefix(addr, subnet_len(addr))?.addr) {
        (IpAddr::V4(_), IpAddr::V4(net)) => Some(Ipv4Addr::from_bits(net.to_bits() | u32::from(n)).into()),
        (IpAddr::V6(_), IpAddr::V6(net)) => {
            Some(std::net::Ipv6Addr::from_bits(net.to_bits() | u128::from(n)).into())
        }
        _ => None,
    }
}

/// An address that is not reachable from everywhere (RFC 1918, 6598, 4193, link-local).
fn private(addr: IpAddr) -> bool {
    match addr {
        IpAddr::V4(a) => {
            let shared = a.octets()[0] == 100 && a.octets()[1] & 0xc0 == 64;
            a.is_private() || a.is_link_local() || a.is_loopback() || shared
        }
        IpAddr::V6(a) => a.is_unique_local() || a.is_unicast_link_local() || a.is_loopback(),
    }
}
