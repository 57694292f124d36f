//! [`Side`]: the proxier of one mode and one address family, and how its sync changes what the node holds.

use super::Mode;
use super::book::Book;
use crate::base::Instant;
use crate::proxy::{Changes, Config, EndpointsMap, ServiceMap, ebpf, iptables, ipvs, nftables};

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Side {
    proxier: Proxier,
    /// The objects of the last sync: a packet's node is loaded from them.
    pub(super) services: ServiceMap,
    pub(super) endpoints: EndpointsMap,
}

#[derive(Clone, Debug)]
enum Proxier {
    Iptables(iptables::Proxier),
    Ipvs(ipvs::Proxier),
    Nftables(nftables::Proxier),
    Ebpf(ebpf::Agent),
}

impl Side {
    pub(super) fn new(mode: Mode, mut config: Config) -> Self {
        config.node_port_addresses = config.default_node_port_addresses(mode);
        let proxier = match mode {
            Mode::Iptables => Proxier::Iptables(iptables::Proxier::new(config)),
            Mode::Ipvs => Proxier::Ipvs(ipvs::Proxier::new(config)),
            Mode::Nftables => Proxier::Nftables(nftables::Proxier::new(config)),
            Mode::Ebpf => Proxier::Ebpf(ebpf::Agent::new(config)),
        };
        Self { proxier, services: ServiceMap::new(), endpoints: EndpointsMap::new() }
    }

    pub(super) const fn config(&self) -> &Config {
        match &self.proxier {
            Proxier::Iptables(proxier) => &proxier.config,
            Proxier::Ipvs(proxier) => &proxier.config,
            Proxier::Nftables(proxier) => &proxier.config,
            Proxier::Ebpf(agent) => &agent.config,
        }
    }

    pub(super) const fn mode(&self) -> Mode {
        match &self.proxier {
            Proxier::Iptables(_) => Mode::Iptables,
            Proxier::Ipvs(_) => Mode::Ipvs,
            Proxier::Nftables(_) => Mode::Nftables,
            Proxier::Ebpf(_) => Mode::Ebpf,
        }
    }

    /// Syncs, and writes into `book` what the kernel then holds.
    pub(super) fn sync(
        &mut self,
        book: &mut Book,
        services: &ServiceMap,
        endpoints: &EndpointsMap,
        changes: &Changes,
        now: Instant,
    ) {
        let family = self.config().family;
        match &mut self.proxier {
            Proxier::Iptables(proxier) => {
                let sync = proxier.sync(services, endpoints, changes, now);
                if sync.full {
                    book.jumps(family, iptables::jumps());
                }
                book.restore(family, &sync.input, sync.rules.iter().map(|rule| &**rule));
                proxier.applied(&sync);
            }
            Proxier::Ipvs(proxier) => {
                if changes.is_everything() {
                    proxier.setup().iter().for_each(|op| book.run(family, op));
                    book.jumps(family, ipvs::jumps());
                }
                // Nothing has a connection: what is removed goes at once.
                let sync = proxier.sync(services, endpoints, changes, &|_, _| 0);
                sync.ops.iter().for_each(|op| book.run(family, op));
                book.restore(family, &sync.input, sync.rules.iter());
                proxier.applied(&sync);
            }
            Proxier::Nftables(proxier) => {
                let sync = proxier.sync(services, endpoints, changes, now);
                for op in sync.cleanup.iter().chain(&sync.ops) {
                    book.apply(family, op);
                }
                proxier.applied(&sync);
            }
            Proxier::Ebpf(agent) => {
                let sync = agent.sync(services, endpoints, changes);
                sync.removed.iter().for_each(|frontend| book.forget(family, frontend));
                sync.set.iter().for_each(|entry| book.serve(family, entry));
                agent.applied(&sync);
            }
        }
        self.services.clone_from(services);
        self.endpoints.clone_from(endpoints);
    }
}
