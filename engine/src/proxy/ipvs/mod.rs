//! IPVS mode (`pkg/proxy/ipvs/proxier.go`): virtual servers, ipsets, the addresses of kube-ipvs0, and the few
//! iptables rules around them.
//!
//! Owns what is programmed and in which order. What the kernel makes of it is not here: commands come out as the
//! tools read them. kube-proxy has no partial sync in this mode, but it sends only differences; so does this.

mod ports;
mod rules;
mod server;
mod sets;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

pub use server::{VirtualKey, VirtualServer};
pub use sets::IpSet;

use ports::{PortDelta, PortWriter};

use super::claims::Claims;
use super::iptables::{ProxyRule, apply};
use super::{Changes, Config, EndpointsMap, Origin, ServiceMap, ServicePortName};
use crate::cluster::objects::Protocol;
use crate::netfilter::Flavour;
use crate::packet::Family;
use crate::text::xt::Ruleset;

/// The device that holds the addresses of Services, so that the kernel takes their packets for its own.
pub const DUMMY_DEVICE: &str = "kube-ipvs0";

/// The jumps of a first sync from the built-in chains: table, chain and rule of each.
pub fn jumps() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    rules::JUMPS.into_iter()
}

/// The same with the chains they lead to, as one restore input.
pub fn jumps_text() -> String {
    super::iptables::text_of(&rules::JUMPS)
}

/// Which tool reads an [`Op`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// A line of `sysctl -p`.
    Sysctl,
    /// A line of `ip -batch`.
    Ip,
    /// A line of `ipset restore`.
    Ipset,
    /// A line of `ipvsadm -R`.
    Ipvsadm,
}

/// One command of a sync.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Op {
    pub tool: Tool,
    pub text: String,
    pub origin: Origin,
}

/// A virtual server and one of its real servers.
pub type Destination = (VirtualKey, SocketAddr);

/// What one sync does.
#[derive(Clone, Debug)]
pub struct Sync {
    /// Commands, in order; the iptables rules come after those that add and before those that delete.
    pub ops: Vec<Op>,
    /// Standard input of `iptables-restore --noflush`.
    pub input: String,
    pub rules: Vec<ProxyRule>,
    delta: PortDelta,
    sizes: BTreeMap<IpSet, usize>,
    terminating: BTreeSet<Destination>,
}

/// Real servers with their weights.
pub type RealServers = BTreeMap<SocketAddr, u32>;

/// The IPVS proxier of one address family, between syncs.
#[derive(Clone, Debug)]
pub struct Proxier {
    pub config: Config,
    owners: BTreeMap<Arc<ServicePortName>, ()>,
    servers: Claims<VirtualKey, VirtualServer>,
    members: Claims<(IpSet, String), Origin>,
    addresses: Claims<IpAddr, Origin>,
    refusals: Claims<String, Origin>,
    sizes: BTreeMap<IpSet, usize>,
    /// Removed, but with connections left: weight 0 until they end.
    terminating: BTreeSet<Destination>,
    /// What a restarted proxy found.
    found: BTreeMap<VirtualKey, RealServers>,
}

/// Connections (active and inactive) of a real server, as the kernel counts them.
pub type Connections<'a> = &'a dyn Fn(&VirtualKey, SocketAddr) -> u64;

impl Proxier {
    pub fn new(config: Config) -> Self {
        Self {
            config,
            owners: BTreeMap::new(),
            servers: Claims::default(),
            members: Claims::default(),
            addresses: Claims::default(),
            refusals: Claims::default(),
            sizes: BTreeMap::new(),
            terminating: BTreeSet::new(),
            found: BTreeMap::new(),
        }
    }

    /// What kube-proxy does once, before the first sync. `net.ipv4.vs.conn_reuse_mode` is left alone: it is set
    /// to 0 only on kernels before 5.9, which are not emulated.
    pub fn setup(&self) -> Vec<Op> {
        let op = |tool, text: String, purpose| Op { tool, text, origin: Origin::of_node(purpose) };
        let sysctl = |text: &str, purpose| op(Tool::Sysctl, text.to_owned(), purpose);
        let mut ops = vec![
            sysctl("net.ipv4.vs.conntrack = 1", "masquerading needs a conntrack entry for IPVS connections"),
            sysctl("net.ipv4.vs.expire_nodest_conn = 1", "connections to a deleted server end at once"),
            sysctl("net.ipv4.vs.expire_quiescent_template = 1", "weight 0 ends session affinity"),
            sysctl("net.ipv4.ip_forward = 1", "the node forwards to pods"),
        ];
        if self.config.ipvs.strict_arp {
            let purpose = "strictARP: answer ARP only on the device that holds the address";
            ops.push(sysctl("net.ipv4.conf.all.arp_ignore = 1", purpose));
            ops.push(sysctl("net.ipv4.conf.all.arp_announce = 2", purpose));
        }
        let [tcp, fin, udp] = self.config.ipvs.timeouts_seconds;
        if tcp + fin + udp > 0 {
            let text = format!("--set {tcp} {fin} {udp}");
            ops.push(op(Tool::Ipvsadm, text, "timeouts from the configuration; 0 leaves one alone"));
        }
        let text = format!("link add {DUMMY_DEVICE} type dummy");
        ops.push(op(Tool::Ip, text, "holds the addresses of Services"));
        for set in IpSet::ALL {
            let text = set.create(self.config.family);
            ops.push(op(Tool::Ipset, text, "iptables rules test sets, so that their number stays the same"));
        }
        ops
    }

    /// Takes over virtual servers that the kernel already has, as a restarted proxy does. The first sync corrects
    /// weights, and deletes what nobody wants unless `excludeCIDRs` protects it.
    pub fn adopt(&mut self, servers: impl IntoIterator<Item = (VirtualKey, RealServers)>) {
        self.found.extend(servers);
    }

    /// Computes the commands for these objects. Changes nothing until [`Proxier::applied`].
    pub fn sync(
        &self,
        services: &ServiceMap,
        endpoints: &EndpointsMap,
        changes: &Changes,
        connections: Connections<'_>,
    ) -> Sync {
        let mut delta = PortDelta::new(changes.is_everything());
        let none = Vec::new();
        let node_ips = self.node_port_ips();
        for (name, port) in changes.of(services) {
            let endpoints = endpoints.get(&**name).unwrap_or(&none);
            delta.own(name, true);
            PortWriter { config: &self.config, node_ips: &node_ips, name, port, delta: &mut delta }
                .write(endpoints);
        }
        for name in changes.gone(&self.owners, services) {
            delta.own(&name, false);
        }
        let mut out = Writer { ops: Vec::new(), terminating: self.terminating.clone(), connections };
        self.add(&mut out, &delta);
        let sizes = self.sync_members(&mut out, &delta);
        self.delete(&mut out, &delta);
        let has_members = |set: IpSet| sizes.get(&set).is_some_and(|n| *n > 0);
        let refusals = self.refusals_after(&delta);
        let rules = rules::Writer::new(&self.config, &has_members).write(&refusals);
        let input = rules::input(&rules);
        Sync { ops: out.ops, input, rules, delta, sizes, terminating: out.terminating }
    }

    /// The kernel took everything that `sync` did.
    pub fn applied(&mut self, sync: &Sync) {
        let delta = &sync.delta;
        if delta.replaces_all {
            self.owners.clear();
        }
        for (owner, stays) in &delta.owners {
            if *stays {
                self.owners.insert(Arc::clone(owner), ());
            } else {
                self.owners.remove(owner);
            }
        }
        self.servers.apply(&delta.servers);
        self.members.apply(&delta.members);
        self.addresses.apply(&delta.addresses);
        self.refusals.apply(&delta.refusals);
        self.sizes.clone_from(&sync.sizes);
        self.terminating.clone_from(&sync.terminating);
        self.found.clear();
    }

    /// The check of the graceful terminator, once a minute: servers whose connections have ended go.
    pub fn review(&mut self, connections: Connections<'_>) -> Vec<Op> {
        let ended = |(key, real): &&Destination| ends_at_once(key, *real, connections);
        let gone: Vec<Destination> = self.terminating.iter().filter(ended).copied().collect();
        let op = |(key, real): &Destination| Op {
            tool: Tool::Ipvsadm,
            text: server::delete_real(key, *real),
            origin: Origin::of_node("its last connection has ended"),
        };
        let ops = gone.iter().map(op).collect();
        self.terminating.retain(|destination| !gone.contains(destination));
        ops
    }

    /// Virtual servers as programmed, with those that only wait for their connections to end.
    pub fn virtual_servers(&self) -> impl Iterator<Item = (&VirtualKey, &VirtualServer, RealServers)> {
        self.servers.iter().map(|(key, server)| {
            let waiting = self.terminating.iter().filter(|(k, _)| k == key).map(|(_, real)| (*real, 0));
            let wanted = server.real_servers.iter().map(|real| (*real, 1));
            (key, server, waiting.chain(wanted).collect())
        })
    }

    /// Members of the sets, by set and entry.
    pub fn members(&self) -> impl Iterator<Item = (IpSet, &str)> {
        self.members.iter().map(|((set, entry), _)| (*set, entry.as_str()))
    }

    /// Addresses of [`DUMMY_DEVICE`].
    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        self.addresses.iter().map(|(addr, _)| *addr)
    }

    /// The virtual servers as `ipvsadm -Sn` lists them and `ipvsadm -R` reads them.
    pub fn servers_text(&self) -> String {
        let mut out = String::new();
        for (key, server, real_servers) in self.virtual_servers() {
            out.push_str(&server::add(key, server));
            out.push('\n');
            for (real, weight) in real_servers {
                out.push_str(&server::add_weighted(key, real, weight));
                out.push('\n');
            }
        }
        out
    }

    /// The sets and their members as `ipset restore` reads them.
    pub fn sets_text(&self) -> String {
        let family = self.config.family;
        let create = IpSet::ALL.iter().map(|set| set.create(family));
        let add = self.members().map(|(set, entry)| format!("add {} {entry}", set.name(family)));
        create.chain(add).map(|line| line + "\n").collect()
    }

    /// The node's tables after `sync` on a machine without other rules: what `iptables-save` prints there.
    ///
    /// # Errors
    /// What iptables-restore says when it refuses the input.
    pub fn tables(&self, sync: &Sync, flavour: Flavour) -> Result<Ruleset, String> {
        apply(self.config.family, flavour, &rules::JUMPS, &sync.input)
    }

    /// Addresses that get a virtual server for every node port.
    fn node_port_ips(&self) -> Vec<IpAddr> {
        let config = &self.config;
        let mut ips = config.node_port_addresses.matching(&config.node_addresses, config.family);
        ips.retain(|ip| !ip.is_loopback());
        ips
    }

    /// New and changed virtual servers, and new addresses.
    fn add(&self, out: &mut Writer<'_>, delta: &PortDelta) {
        for found in self.servers.differences(&delta.servers) {
            let Some(after) = found.after else { continue };
            match found.before {
                Some(before) => {
                    if !before.has_same_options(after) {
                        out.ipvsadm(server::edit(found.key, after), &after.origin);
                    }
                    out.real_servers(found.key, &weighted(&before.real_servers), after);
                }
                None => match self.found.get(found.key) {
                    Some(real) => {
                        out.ipvsadm(server::edit(found.key, after), &after.origin);
                        out.real_servers(found.key, real, after);
                    }
                    None => {
                        out.ipvsadm(server::add(found.key, after), &after.origin);
                        out.real_servers(found.key, &RealServers::new(), after);
                    }
                },
            }
        }
        for found in self.addresses.differences(&delta.addresses) {
            if let (None, Some(origin)) = (found.before, found.after) {
                let text = format!("address add {} dev {DUMMY_DEVICE}", host_prefix(*found.key));
                out.ops.push(Op { tool: Tool::Ip, text, origin: origin.clone() });
            }
        }
    }

    /// Members that come and go; returns the sizes of the sets afterwards.
    fn sync_members(&self, out: &mut Writer<'_>, delta: &PortDelta) -> BTreeMap<IpSet, usize> {
        let mut sizes = self.sizes.clone();
        for found in self.members.differences(&delta.members) {
            let (set, entry) = found.key;
            let size = sizes.entry(*set).or_default();
            let name = set.name(self.config.family);
            let (text, origin) = match (found.before, found.after) {
                (None, Some(origin)) => {
                    *size += 1;
                    (format!("add {name} {entry}"), origin.clone())
                }
                (Some(_), None) => {
                    *size -= 1;
                    (format!("del {name} {entry}"), Origin::of_node(GONE))
                }
                // The same member, for another Service.
                (Some(_), Some(_)) | (None, None) => continue,
            };
            out.ops.push(Op { tool: Tool::Ipset, text, origin });
        }
        sizes
    }

    /// Virtual servers and addresses that nobody wants any more.
    fn delete(&self, out: &mut Writer<'_>, delta: &PortDelta) {
        let mut deleted = Vec::new();
        let mut wanted = BTreeSet::new();
        for found in self.servers.differences(&delta.servers) {
            match found.after {
                None => deleted.push(*found.key),
                Some(_) => {
                    wanted.insert(*found.key);
                }
            }
        }
        let excluded = |addr| self.config.ipvs.exclude_cidrs.iter().any(|cidr| cidr.contains(addr));
        let strange = self.found.keys().filter(|key| !wanted.contains(*key) && !excluded(key.addr));
        deleted.extend(strange.filter(|_| delta.replaces_all).copied());
        for key in deleted {
            out.ipvsadm(server::delete(&key), &Origin::of_node(GONE));
            out.terminating.retain(|(waiting, _)| *waiting != key);
        }
        for found in self.addresses.differences(&delta.addresses) {
            if found.after.is_none() {
                let text = format!("address del {} dev {DUMMY_DEVICE}", host_prefix(*found.key));
                out.ops.push(Op { tool: Tool::Ip, text, origin: Origin::of_node(GONE) });
            }
        }
    }

    /// Rules of KUBE-IPVS-OUT-FILTER once `delta` holds.
    fn refusals_after(&self, delta: &PortDelta) -> BTreeMap<String, Origin> {
        let mut refusals: BTreeMap<String, Origin> =
            self.refusals.iter().map(|(rule, origin)| (rule.clone(), origin.clone())).collect();
        for found in self.refusals.differences(&delta.refusals) {
            match found.after {
                Some(origin) => refusals.insert(found.key.clone(), origin.clone()),
                None => refusals.remove(found.key),
            };
        }
        refusals
    }
}

const GONE: &str = "no Service wants it any more";

fn weighted(real_servers: &[SocketAddr]) -> RealServers {
    real_servers.iter().map(|real| (*real, 1)).collect()
}

/// `10.96.10.20/32`.
fn host_prefix(addr: IpAddr) -> String {
    let len = match Family::of(&addr) {
        Family::V4 => 32,
        Family::V6 => 128,
    };
    format!("{addr}/{len}")
}

/// UDP and SCTP servers do not wait; TCP ones do while they have connections.
fn ends_at_once(key: &VirtualKey, real: SocketAddr, connections: Connections<'_>) -> bool {
    key.protocol != Protocol::Tcp || connections(key, real) == 0
}

/// Collects the commands of one sync.
struct Writer<'a> {
    ops: Vec<Op>,
    terminating: BTreeSet<Destination>,
    connections: Connections<'a>,
}

impl Writer<'_> {
    fn ipvsadm(&mut self, text: String, origin: &Origin) {
        self.ops.push(Op { tool: Tool::Ipvsadm, text, origin: origin.clone() });
    }

    /// Makes the real servers of `key` those of `after`.
    fn real_servers(&mut self, key: &VirtualKey, before: &RealServers, after: &VirtualServer) {
        for real in &after.real_servers {
            let origin = Origin { endpoint: Some(real.to_string()), ..after.origin.clone() };
            match before.get(real) {
                Some(1) => {}
                Some(_) => self.ipvsadm(server::weigh_real(key, *real, 1), &origin),
                None => {
                    // One that waits for its connections to end goes first, then it comes back as new.
                    if self.terminating.remove(&(*key, *real)) {
                        self.ipvsadm(server::delete_real(key, *real), &origin);
                    }
                    self.ipvsadm(server::add_weighted(key, *real, 1), &origin);
                }
            }
        }
        let wanted: BTreeSet<&SocketAddr> = after.real_servers.iter().collect();
        for real in before.keys().filter(|real| !wanted.contains(real)) {
            let origin =
                |purpose| Origin { endpoint: Some(real.to_string()), purpose, ..after.origin.clone() };
            if ends_at_once(key, *real, self.connections) {
                self.ipvsadm(server::delete_real(key, *real), &origin("the endpoint is gone"));
            } else {
                self.ipvsadm(
                    server::weigh_real(key, *real, 0),
                    &origin("the endpoint is gone; its connections go on, new ones go elsewhere"),
                );
                self.terminating.insert((*key, *real));
            }
        }
    }
}
