//! [`Book`]: what a node's kernel holds, kept up to date by applying what each sync sends.
//!
//! Owns the effect of the commands a proxier uses on chains, sets and maps. Does not validate them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use super::Shared;
use crate::ebpf::Frontend;
use crate::netfilter::TableName;
use crate::packet::Family;
use crate::proxy::iptables::ProxyRule;
use crate::proxy::ipvs::{self, Tool};
use crate::proxy::nftables::Op;
use crate::proxy::{Origin, ServicePortName, ebpf};
use crate::text::ebpf::{flag_names, frontend_name};

/// The device that holds the addresses of Services.
const KUBE_IPVS0: &str = "device kube-ipvs0";

/// What rows stand in: a chain, a set, a map.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Holder {
    pub family: Family,
    /// Sorts what every node has before what belongs to a Service.
    rank: u8,
    /// `nat KUBE-SERVICES`, `map service-ips`.
    pub name: String,
}

/// One rule, element or declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub holder: Holder,
    pub text: String,
    pub origin: Origin,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Content {
    /// Of base chains, sets and maps.
    declaration: Option<Shared>,
    rows: Vec<Shared>,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Book {
    contents: BTreeMap<Holder, Content>,
}

impl Book {
    /// Holders in the order to show: what every node has first, then by Service.
    pub(super) fn holders(&self) -> Vec<(&Holder, Vec<&Shared>)> {
        let mut holders: Vec<_> = self
            .contents
            .iter()
            .map(|(holder, content)| {
                (holder, content.declaration.iter().chain(&content.rows).collect::<Vec<_>>())
            })
            .filter(|(_, rows)| !rows.is_empty())
            .collect();
        holders.sort_by_cached_key(|(holder, rows)| {
            (holder.family, holder.rank, service_of(holder, rows), holder.name.clone())
        });
        holders
    }

    pub(super) fn rows_of(&self, holder: &Holder) -> Vec<&Shared> {
        let content = self.contents.get(holder);
        content.into_iter().flat_map(|content| content.declaration.iter().chain(&content.rows)).collect()
    }

    /// What `iptables-restore --noflush` does with the input: declared chains are emptied, then filled.
    pub(super) fn restore<'a>(
        &mut self,
        family: Family,
        input: &str,
        rules: impl Iterator<Item = &'a ProxyRule>,
    ) {
        let mut table = "filter";
        for line in input.lines() {
            if let Some(name) = line.strip_prefix('*') {
                table = name;
            } else if let Some(chain) = line.strip_prefix(':').and_then(|rest| rest.split(' ').next()) {
                self.contents.entry(Holder::chain(family, table, chain)).or_default().rows.clear();
            } else if let Some(chain) = line.strip_prefix("-X ") {
                self.contents.remove(&Holder::chain(family, table, chain));
            }
        }
        for rule in rules {
            let holder = Holder::chain(family, rule.table.name(), &rule.chain);
            let text = rule.text.strip_prefix("-A ").and_then(|text| text.strip_prefix(&*rule.chain));
            self.push(holder, text.unwrap_or(&rule.text).trim_start(), &rule.origin);
        }
    }

    /// The jumps of a first sync from the built-in chains.
    pub(super) fn jumps<'a>(
        &mut self,
        family: Family,
        jumps: impl Iterator<Item = (&'a str, &'a str, &'a str)>,
    ) {
        for (table, chain, text) in jumps {
            let origin = Origin::of_node("the way from the kernel's own chains into those of kube-proxy");
            self.push(Holder::chain(family, table, chain), text, &origin);
        }
    }

    /// One command of IPVS mode, other than the iptables rules.
    pub(super) fn run(&mut self, family: Family, op: &ipvs::Op) {
        let words: Vec<&str> = op.text.split(' ').collect();
        let rest = |from: usize| words.get(from..).unwrap_or_default().join(" ");
        match (op.tool, words.as_slice()) {
            (Tool::Sysctl, _) => self.push(Holder::ipvs(family, 1, "sysctl"), &op.text, &op.origin),
            (Tool::Ip, ["address", "del", address, ..]) => {
                self.remove(&Holder::ipvs(family, 1, KUBE_IPVS0), address);
            }
            (Tool::Ip, ["address", "add", address, ..]) => {
                self.push(Holder::ipvs(family, 1, KUBE_IPVS0), address, &op.origin);
            }
            (Tool::Ip, _) => self.declare(Holder::ipvs(family, 1, KUBE_IPVS0), &op.text, &op.origin),
            (Tool::Ipset, [verb, set, ..]) => {
                let holder = Holder::ipvs(family, 2, &format!("ipset {set}"));
                match *verb {
                    "create" => self.declare(holder, &rest(2), &op.origin),
                    "del" => self.remove(&holder, &rest(2)),
                    _ => self.push(holder, &rest(2), &op.origin),
                }
            }
            (Tool::Ipvsadm, [verb, _, address, ..]) => {
                let holder = Holder::ipvs(family, 0, &format!("virtual server {address}"));
                match *verb {
                    "-A" | "-E" => self.declare(holder, &op.text[3..], &op.origin),
                    "-D" => {
                        self.contents.remove(&holder);
                    }
                    // `-r REAL` names the server; its options follow.
                    "-d" => self.remove(&holder, &rest(3)),
                    _ => {
                        self.remove(&holder, &words.get(3..5).unwrap_or_default().join(" "));
                        self.push(holder, &rest(3), &op.origin);
                    }
                }
            }
            (Tool::Ipset | Tool::Ipvsadm, _) => {
                self.push(Holder::ipvs(family, 1, "ipvsadm"), &op.text, &op.origin);
            }
        }
    }

    /// One frontend of the service maps, in place of what was there.
    pub(super) fn serve(&mut self, family: Family, entry: &ebpf::Entry) {
        self.forget(family, &entry.frontend);
        let holder = Holder::frontend(family, &entry.frontend);
        let flags = flag_names(&entry.spec);
        self.declare(holder.clone(), &format!("slot 0: [{flags}]"), &entry.origin);
        for backend in &entry.backends {
            let place = SocketAddr::new(backend.addr, backend.port);
            let origin = Origin {
                endpoint: Some(place.to_string()),
                field: "endpoints[].addresses",
                purpose: "one backend, in a slot of its own",
                ..entry.origin.clone()
            };
            self.push(holder.clone(), &format!("{place} ({})", backend.state.name()), &origin);
        }
    }

    pub(super) fn forget(&mut self, family: Family, frontend: &Frontend) {
        self.contents.remove(&Holder::frontend(family, frontend));
    }

    /// Takes out the row that begins with the words of `key`.
    fn remove(&mut self, holder: &Holder, key: &str) {
        let is_it =
            |text: &str| text.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
        if let Some(content) = self.contents.get_mut(holder) {
            content.rows.retain(|row| !is_it(&row.text));
        }
    }

    /// One command of an nft transaction: `VERB KIND FAMILY TABLE NAME REST`.
    pub(super) fn apply(&mut self, family: Family, op: &Op) {
        let mut words = op.text.splitn(6, ' ');
        let (verb, kind) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let name = words.nth(2).unwrap_or_default();
        let rest = words.next().unwrap_or_default();
        match (verb, kind) {
            ("add", "rule") => self.push(Holder::nft(family, "chain", name), rest, &op.origin),
            ("add", "chain" | "set" | "map") => {
                self.declare(Holder::nft(family, kind, name), rest, &op.origin)
            }
            ("flush", "chain") => {
                if let Some(content) = self.contents.get_mut(&Holder::nft(family, "chain", name)) {
                    content.rows.clear();
                }
            }
            ("delete", "chain" | "set" | "map") => {
                self.contents.remove(&Holder::nft(family, kind, name));
            }
            ("add", "element") => {
                let holder = self.set_or_map(family, name);
                self.push(holder, inside(rest), &op.origin);
            }
            ("delete", "element") => {
                let holder = self.set_or_map(family, name);
                self.remove(&holder, inside(rest));
            }
            // `add table`: the table is in every name already.
            _ => {}
        }
    }

    fn set_or_map(&self, family: Family, name: &str) -> Holder {
        let map = Holder::nft(family, "map", name);
        if self.contents.contains_key(&map) { map } else { Holder::nft(family, "set", name) }
    }

    fn declare(&mut self, holder: Holder, rest: &str, origin: &Origin) {
        let text = inside(rest);
        let content = self.contents.entry(holder.clone()).or_default();
        if !text.is_empty() {
            let text = text.trim_end_matches([' ', ';']).to_owned();
            content.declaration = Some(Shared::new(Row { holder, text, origin: origin.clone() }));
        }
    }

    fn push(&mut self, holder: Holder, text: &str, origin: &Origin) {
        let row = Row { holder: holder.clone(), text: text.to_owned(), origin: origin.clone() };
        self.contents.entry(holder).or_default().rows.push(Shared::new(row));
    }
}

impl Holder {
    fn chain(family: Family, table: &str, chain: &str) -> Self {
        let is_fixed = !["KUBE-SVC-", "KUBE-SVL-", "KUBE-SEP-", "KUBE-FW-", "KUBE-EXT-"]
            .iter()
            .any(|prefix| chain.starts_with(prefix));
        let rank = match (is_fixed, table == TableName::Nat.name(), chain.starts_with("KUBE-")) {
            (false, ..) => 4,
            (true, true, true) => 0,
            (true, true, false) => 1,
            (true, false, true) => 2,
            (true, false, false) => 3,
        };
        Self { family, rank, name: format!("{table} {chain}") }
    }

    fn ipvs(family: Family, rank: u8, name: &str) -> Self {
        Self { family, rank, name: name.to_owned() }
    }

    fn frontend(family: Family, frontend: &Frontend) -> Self {
        Self { family, rank: 0, name: format!("service {}", frontend_name(frontend)) }
    }

    fn nft(family: Family, kind: &str, name: &str) -> Self {
        // Names of a Service port's objects go on with the port: `HASH8-namespace/name/protocol/port`.
        let rank = match (kind, name.contains('/')) {
            (_, true) => 4,
            ("map", false) => 0,
            ("set", false) => 1,
            (_, false) => 2,
        };
        Self { family, rank, name: format!("{kind} {name}") }
    }
}

/// The Service port that a holder of its own belongs to.
fn service_of(holder: &Holder, rows: &[&Shared]) -> Option<Arc<ServicePortName>> {
    if holder.rank < 4 { None } else { rows.first().and_then(|row| row.origin.service.clone()) }
}

/// `{ INSIDE }`.
fn inside(braced: &str) -> &str {
    let text = braced.trim();
    text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or(text).trim()
}
