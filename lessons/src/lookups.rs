//! How much a node reads to find one Service among many: a list of rules, or a table.
//!
//! Rules are counted by the engine on the way of a packet. For IPVS it is the services compared in the list of the
//! hash table in which the kernel keeps them. Owns the rulesets and the counting around it.

mod nft;
mod rulesets;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use chainwalk_engine::base::{Draws, Fnv};
use chainwalk_engine::ipvs::ServiceKey;
use chainwalk_engine::ipvs::service::BUCKETS;
use chainwalk_engine::packet::{Packet, proto};
use chainwalk_engine::replay;
use chainwalk_engine::trace::Level;
use serde::{Deserialize, Serialize};

/// Most Services of one ruleset.
pub const SERVICES_MAX: u32 = 40_000;
/// Most pods behind a Service.
pub const ENDPOINTS_MAX: u32 = 200;

/// What a scenario of this kind runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LookupsInput {
    pub forms: Vec<Form>,
    /// Numbers of Services, each a run.
    pub services: Vec<u32>,
    /// Pods behind each Service. Packets go to the last one.
    pub endpoints: u32,
}

/// How a node holds its Services.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// A rule a Service in one chain, as kube-proxy's iptables mode has them.
    Iptables,
    /// The same list written in nftables.
    NftList,
    /// One rule and a verdict map, as kube-proxy's nftables mode has it.
    NftMap,
    /// The hash table of IPVS.
    Ipvs,
}

impl Form {
    pub const fn title(self) -> &'static str {
        match self {
            Self::Iptables => "iptables, a rule each",
            Self::NftList => "nftables, a rule each",
            Self::NftMap => "nftables, one map",
            Self::Ipvs => "IPVS, hash table",
        }
    }
}

/// What came out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Lookups {
    pub rows: Vec<Row>,
}

/// One number of Services, each form by its own member; none where the scenario did not ask.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub services: u32,
    pub iptables: Option<Reads>,
    pub nft_list: Option<Reads>,
    pub nft_map: Option<Reads>,
    pub ipvs: Option<Reads>,
}

/// Rules evaluated, or services compared, for the first packet to the first, the middle and the last Service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reads {
    pub first: u64,
    pub middle: u64,
    pub last: u64,
    /// The most that any Service needs.
    pub worst: u64,
}

impl Row {
    pub fn reads(&self, form: Form) -> Option<Reads> {
        match form {
            Form::Iptables => self.iptables,
            Form::NftList => self.nft_list,
            Form::NftMap => self.nft_map,
            Form::Ipvs => self.ipvs,
        }
    }

    /// The forms that ran.
    pub fn forms(&self) -> Vec<Form> {
        let all = [Form::Iptables, Form::NftList, Form::NftMap, Form::Ipvs];
        all.into_iter().filter(|form| self.reads(*form).is_some()).collect()
    }
}

/// Runs `input`, telling how far it is in rulesets.
///
/// # Errors
/// A number that cannot be used, or a ruleset the engine refuses; a sentence.
pub fn run_with(input: &LookupsInput, progress: &mut dyn FnMut(u32, u32)) -> Result<Lookups, String> {
    if input.forms.is_empty() || input.services.is_empty() {
        return Err("`forms` and `services` name at least one each".to_owned());
    }
    if let Some(count) = input.services.iter().find(|count| !(3..=SERVICES_MAX).contains(*count)) {
        return Err(format!("{count} services: there are 3 to {SERVICES_MAX}"));
    }
    if !(1..=ENDPOINTS_MAX).contains(&input.endpoints) {
        return Err(format!("{} endpoints: there are 1 to {ENDPOINTS_MAX}", input.endpoints));
    }
    let total = (input.forms.len() * input.services.len()) as u32;
    let mut done = 0;
    let mut rows = Vec::with_capacity(input.services.len());
    for &services in &input.services {
        let mut row = Row { services, ..Row::default() };
        for form in &input.forms {
            progress(done, total);
            done += 1;
            let slot = match form {
                Form::Iptables => &mut row.iptables,
                Form::NftList => &mut row.nft_list,
                Form::NftMap => &mut row.nft_map,
                Form::Ipvs => &mut row.ipvs,
            };
            *slot = Some(if *form == Form::Ipvs {
                compared(services)
            } else {
                evaluated(*form, services, input.endpoints)?
            });
        }
        rows.push(row);
    }
    Ok(Lookups { rows })
}

/// Sends a SYN to the first, the middle and the last Service of a node that holds them in `form`. Each draw falls on the
/// last pod.
fn evaluated(form: Form, services: u32, endpoints: u32) -> Result<Reads, String> {
    let ask = [1, services.div_ceil(2), services];
    let (mut node, packets) = rulesets::node(form, services, endpoints, &ask)?;
    let mut reads = Vec::with_capacity(ask.len());
    for packet in &packets {
        node.shared.draws = Draws::supplied((0..endpoints).map(|_| HIGH));
        let replay::Built::Received(skb, dev) = replay::skb(&node, packet)? else {
            return Err("the packet is not one".to_owned());
        };
        let ran = node.run_received(*skb, dev, Level::Off);
        let arrives = |out: &Packet| out.ports().is_some_and(|(_, to)| to == 8080);
        if !ran.emitted.iter().any(|emitted| arrives(&emitted.packet)) {
            return Err(format!("{}: a packet did not reach its Service", form.title()));
        }
        reads.push(ran.trace.rules_evaluated);
    }
    match reads.as_slice() {
        &[first, middle, last] => Ok(Reads { first, middle, last, worst: first.max(middle).max(last) }),
        _ => Err("three packets have three answers".to_owned()),
    }
}

/// A draw below one, and above any share that a rule may ask for.
const HIGH: f64 = 0.999_999;

/// Services compared in the hash table of IPVS: the newest of a list stands first.
fn compared(services: u32) -> Reads {
    let mut lists: BTreeMap<u32, u64> = BTreeMap::new();
    let bucket = |number: u32| ServiceKey::address(proto::TCP, address(number).into(), 80).bucket() % BUCKETS;
    for number in 1..=services {
        *lists.entry(bucket(number)).or_default() += 1;
    }
    // Those that were added after it, and the service itself.
    let before = |number: u32| {
        let own = bucket(number);
        1 + (number + 1..=services).filter(|later| bucket(*later) == own).count() as u64
    };
    Reads {
        first: before(1),
        middle: before(services.div_ceil(2)),
        last: before(services),
        worst: lists.values().copied().max().unwrap_or(0),
    }
}

/// The cluster IP of a Service, counted from 1.
fn address(number: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x0a60_0000 + number)
}

impl Lookups {
    /// Equal for equal runs.
    pub fn digest(&self) -> String {
        let mut hash = Fnv::default();
        for row in &self.rows {
            hash.write(&row.services.to_le_bytes());
            for Reads { first, middle, last, worst } in
                row.forms().into_iter().filter_map(|form| row.reads(form))
            {
                [first, middle, last, worst].into_iter().for_each(|count| hash.write(&count.to_le_bytes()));
            }
        }
        format!("{:016x}", hash.finish())
    }
}

#[cfg(test)]
mod tests;
