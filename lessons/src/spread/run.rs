//! Runs a spread: the node, the connections, the counting.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};

use chainwalk_engine::base::KernelVersion;
use chainwalk_engine::netfilter::xt::{Match, Statistic};
use chainwalk_engine::netfilter::{Chain, Table, TableName, Target};
use chainwalk_engine::netns::{Address, DeviceKind, Netns, Ran, Route};
use chainwalk_engine::packet::{DevId, Family, Ip, L4, Packet, Skb, Tcp, TcpFlags, proto};
use chainwalk_engine::text::diag::Severity;
use chainwalk_engine::text::xt::{ParseOptions, Ruleset, parse};
use chainwalk_engine::trace::Level;

use super::chain::{chain_of, rules_of};
use super::{Batches, CONNECTIONS_MAX, Endpoint, Range, Spread};
use crate::chi_square;
use crate::model::SpreadInput;

/// Source ports of one client address: those above the well-known ones.
const PORTS: std::ops::RangeInclusive<u16> = 1024..=65_535;
/// Connections whose endpoint is kept by name.
const FIRST_MAX: usize = 60;
/// Connections between two reports of progress.
const PROGRESS_STEP: u32 = 5_000;

/// Runs `input`.
///
/// # Errors
/// The ruleset, an address or a number that cannot be used; a sentence.
pub fn run(input: &SpreadInput) -> Result<Spread, String> {
    run_with(input, &mut |_, _| {})
}

/// The same, telling how far it is: `progress(done, total)` in connections.
///
/// # Errors
/// As [`run`].
pub fn run_with(input: &SpreadInput, progress: &mut dyn FnMut(u32, u32)) -> Result<Spread, String> {
    if input.connections == 0 || input.connections > CONNECTIONS_MAX {
        return Err(format!("{} connections: a spread has 1 to {CONNECTIONS_MAX}", input.connections));
    }
    let chain = chain_of(&input.rules, &input.service)?;
    let mut ruleset = read(&input.rules)?;
    let nat = ruleset.table(TableName::Nat).ok_or("the ruleset has no nat table")?;
    let (_, targets) = rules_of(input)?;
    let mut endpoints = endpoints(nat, &chain, &targets)?;
    // Compared as numbers: a text a connection would cost as much as its way through the node.
    let sockets: Vec<Option<SocketAddr>> =
        endpoints.iter().map(|endpoint| endpoint.to.parse().ok()).collect();
    let mut node = node(input, &mut ruleset)?;

    let mut count = Count::new(endpoints.len(), input.batch);
    let mut first = Vec::new();
    for (number, skb) in syns(input)?.enumerate() {
        if (number as u32).is_multiple_of(PROGRESS_STEP) {
            progress(number as u32, input.connections);
        }
        let ran = node.run_received(skb, PODS, Level::Off);
        let to = destination(&ran);
        let at = to.and_then(|to| sockets.iter().position(|socket| *socket == Some(to)));
        count.add(at, ran.trace.rules_evaluated, at.map(|at| endpoints[at].endpoint_rules));
        if first.len() < FIRST_MAX {
            first.push(to.map_or_else(|| "nowhere".to_owned(), |to| to.to_string()));
        }
    }
    let total = f64::from(input.connections);
    for (endpoint, observed) in endpoints.iter_mut().zip(&count.observed) {
        endpoint.observed = *observed;
        endpoint.expected = endpoint.share_expected * total;
        endpoint.share = *observed as f64 / total;
    }
    // What falls through is a cell of its own when the chain lets anything fall through.
    let missed = 1.0 - endpoints.iter().map(|endpoint| endpoint.share_expected).sum::<f64>();
    let mut observed = count.observed.clone();
    observed.push(count.unmatched);
    let against = |share: &dyn Fn(&Endpoint) -> f64, missed: f64| {
        let cells = endpoints.iter().map(share).chain([missed]).map(|share| share * total);
        chi_square::test(&observed, &cells.collect::<Vec<_>>())
    };
    let even = 1.0 / endpoints.len() as f64;
    Ok(Spread {
        connections: input.connections,
        chain,
        scale: Statistic::SCALE,
        expected: against(&|endpoint| endpoint.share_expected, if missed > 1e-12 { missed } else { 0.0 }),
        uniform: against(&|_| even, 0.0),
        unmatched: count.unmatched,
        rules: count.rules.range(input.connections),
        endpoint_rules: count.endpoint_rules.range(input.connections),
        first,
        batches: count.batches(),
        endpoints,
    })
}

fn read(rules: &str) -> Result<Ruleset, String> {
    let options = ParseOptions { family: Some(Family::V4), ignore_counters: true, ..ParseOptions::default() };
    let (ruleset, diags) = parse(rules, &options);
    match diags.iter().find(|diag| diag.severity == Severity::Error) {
        Some(diag) => Err(diag.to_string()),
        None => Ok(ruleset),
    }
}

/// The endpoint rules of `chain` with the shares their numbers give.
fn endpoints(nat: &Table, chain: &str, targets: &[String]) -> Result<Vec<Endpoint>, String> {
    let chain: &Chain =
        nat.chains.iter().find(|known| &*known.name == chain).ok_or_else(|| format!("no chain {chain}"))?;
    let leads_to_endpoint = |target: &Target| match target {
        Target::Jump(to) => nat.chain(*to).name.starts_with("KUBE-SEP-"),
        _ => false,
    };
    let rules = chain.rules.iter().enumerate().filter(|(_, rule)| leads_to_endpoint(&rule.target));
    let mut reach = 1.0;
    let found: Vec<Endpoint> = rules
        .zip(targets)
        .enumerate()
        .map(|(position, ((index, rule), to))| {
            let threshold = rule.matches.iter().find_map(|bound| match &bound.m {
                Match::Statistic(statistic) => statistic.threshold(),
                _ => None,
            });
            let takes = threshold.map_or(1.0, |threshold| f64::from(threshold) / Statistic::SCALE as f64);
            let share_expected = reach * takes;
            reach -= share_expected;
            Endpoint {
                to: to.clone(),
                rule: index as u32 + 1,
                probability: threshold.map(Statistic::probability_text).unwrap_or_default(),
                threshold,
                endpoint_rules: position as u32 + 1,
                share_expected,
                expected: 0.0,
                observed: 0,
                share: 0.0,
            }
        })
        .collect();
    if found.is_empty() { Err(format!("the chain {} has no endpoint rules", chain.name)) } else { Ok(found) }
}

/// Where the pods of the node are attached: the first device behind `lo`.
const PODS: DevId = DevId(1);

/// A node between its pods, which hold the clients' network, and the cluster.
fn node(input: &SpreadInput, ruleset: &mut Ruleset) -> Result<Netns, String> {
    let mut node = Netns::new(KernelVersion::default(), input.seed);
    let pods = node.inet.add_device("cni0", DeviceKind::Wire);
    debug_assert_eq!(pods, PODS);
    let cluster = node.inet.add_device("eth0", DeviceKind::Wire);
    let [a, b, c, _] = client(input)?.octets();
    node.inet.add_address(pods, Address::new(IpAddr::V4(Ipv4Addr::new(a, b, c, 1)), 24));
    node.inet.add_address(cluster, Address::new(IpAddr::V4(Ipv4Addr::new(172, 18, 0, 2)), 16));
    let gateway = IpAddr::V4(Ipv4Addr::new(172, 18, 0, 1));
    let default =
        Route::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0, cluster).ok_or("a default route has length 0")?;
    node.inet.main.add(Route { via: Some(gateway), ..default });
    node.set_sysctl("net.ipv4.ip_forward", "1").map_err(|_| "net.ipv4.ip_forward is a parameter")?;
    let states = ruleset.seal(input.seed);
    for (table, state) in std::mem::take(&mut ruleset.tables).into_iter().zip(states) {
        node.load(table, state);
    }
    Ok(node)
}

fn client(input: &SpreadInput) -> Result<Ipv4Addr, String> {
    input.client.parse().map_err(|_| format!("`{}` is not an IPv4 address", input.client))
}

/// The first packets of the connections, each from a source port of its own.
fn syns(input: &SpreadInput) -> Result<impl Iterator<Item = Skb>, String> {
    let from = client(input)?;
    let to: SocketAddrV4 =
        input.service.parse().map_err(|_| format!("`{}` is not an IPv4 address and port", input.service))?;
    let sources =
        (from.to_bits()..).flat_map(|address| PORTS.map(move |port| (Ipv4Addr::from_bits(address), port)));
    Ok(sources.take(input.connections as usize).map(move |(address, port)| Skb::new(syn(address, port, to))))
}

fn syn(from: Ipv4Addr, sport: u16, to: SocketAddrV4) -> Packet {
    Packet {
        ip: Ip {
            src: IpAddr::V4(from),
            dst: IpAddr::V4(*to.ip()),
            proto: proto::TCP,
            ttl: 64,
            tos: 0,
            id: 0,
            dont_fragment: true,
            more_fragments: false,
            frag_offset: 0,
            flow_label: 0,
            options: Vec::new(),
        },
        l4: L4::Tcp(Tcp {
            sport,
            dport: to.port(),
            seq: 1,
            ack: 0,
            flags: TcpFlags::SYN,
            window: 64_240,
            urgent: 0,
            options: Vec::new(),
            payload: Vec::new(),
            checksum_ok: true,
        }),
    }
}

/// Where the node sent the packet.
fn destination(ran: &Ran) -> Option<SocketAddr> {
    let packet = &ran.emitted.iter().find(|emitted| !emitted.made)?.packet;
    let (_, port) = packet.ports()?;
    Some(SocketAddr::new(packet.ip.dst, port))
}

/// Counts as connections come.
struct Count {
    observed: Vec<u64>,
    unmatched: u64,
    rules: Sum,
    endpoint_rules: Sum,
    size: u32,
    /// Connections in the group that is being filled.
    seen: u32,
    /// The group that is being filled.
    open: Vec<u32>,
    closed: Batches,
}

impl Count {
    fn new(endpoints: usize, size: u32) -> Self {
        Self {
            observed: vec![0; endpoints],
            unmatched: 0,
            rules: Sum::default(),
            endpoint_rules: Sum::default(),
            size,
            seen: 0,
            open: vec![0; endpoints],
            closed: Batches { size, ..Batches::default() },
        }
    }

    fn add(&mut self, endpoint: Option<usize>, rules: u64, endpoint_rules: Option<u32>) {
        self.rules.add(rules);
        // A connection that no endpoint took has read them all.
        self.endpoint_rules.add(u64::from(endpoint_rules.unwrap_or(self.observed.len() as u32)));
        match endpoint {
            Some(at) => {
                self.observed[at] += 1;
                self.open[at] += 1;
            }
            None => self.unmatched += 1,
        }
        self.seen += 1;
        if self.seen == self.size {
            self.seen = 0;
            self.close();
        }
    }

    fn close(&mut self) {
        let batch = std::mem::replace(&mut self.open, vec![0; self.observed.len()]);
        let most = batch.iter().copied().max().unwrap_or(0);
        self.closed.count += 1;
        self.closed.even += u32::from(batch.iter().all(|&count| count == most));
        self.closed.worst = self.closed.worst.max(most);
        if self.closed.count == 1 {
            self.closed.first = batch;
        }
    }

    fn batches(mut self) -> Batches {
        self.closed.even_share = f64::from(self.closed.even) / f64::from(self.closed.count.max(1));
        self.closed
    }
}

#[derive(Debug, Clone, Copy)]
struct Sum {
    min: u64,
    max: u64,
    total: u64,
}

impl Default for Sum {
    fn default() -> Self {
        Self { min: u64::MAX, max: 0, total: 0 }
    }
}

impl Sum {
    fn add(&mut self, value: u64) {
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.total += value;
    }

    fn range(self, count: u32) -> Range {
        Range {
            min: self.min.min(self.max),
            mean: self.total as f64 / f64::from(count.max(1)),
            max: self.max,
        }
    }
}
