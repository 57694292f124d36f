//! Which connection entries kube-proxy deletes after a sync (`pkg/proxy/conntrack/cleanup.go`): UDP entries
//! whose endpoint no longer serves. TCP and SCTP entries are never touched.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::{EndpointsMap, ServiceMap};
use crate::cluster::objects::Protocol;

/// What the clean-up looks at in an entry of UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpEntry {
    /// Destination of the original direction.
    pub original_dst: IpAddr,
    pub original_dport: u16,
    /// Source of the reply direction: the endpoint it was translated to.
    pub reply_src: IpAddr,
    pub reply_sport: u16,
}

/// Serving endpoints by what clients address.
#[derive(Clone, Debug, Default)]
pub struct Cleanup {
    by_address: BTreeMap<(IpAddr, u16), BTreeSet<(IpAddr, u16)>>,
    by_node_port: BTreeMap<u16, BTreeSet<(IpAddr, u16)>>,
}

impl Cleanup {
    /// A Service port without any serving endpoint is left out: its old entries live until they time out.
    pub fn new(services: &ServiceMap, endpoints: &EndpointsMap) -> Self {
        let mut cleanup = Self::default();
        for (name, port) in services.iter().filter(|(_, port)| port.protocol == Protocol::Udp) {
            let serving: BTreeSet<_> = endpoints
                .get(&**name)
                .into_iter()
                .flatten()
                .filter(|e| e.serving)
                .map(|e| (e.ip, e.port))
                .collect();
            if serving.is_empty() {
                continue;
            }
            let addresses =
                std::iter::once(&port.cluster_ip).chain(&port.external_ips).chain(&port.load_balancer_vips);
            for &address in addresses {
                cleanup.by_address.insert((address, port.port), serving.clone());
            }
            if port.node_port != 0 {
                cleanup.by_node_port.insert(port.node_port, serving);
            }
        }
        cleanup
    }

    /// Whether the entry leads to an endpoint that no longer serves the address it was opened to.
    pub fn deletes(&self, entry: &UdpEntry) -> bool {
        let serving = self
            .by_address
            .get(&(entry.original_dst, entry.original_dport))
            .or_else(|| self.by_node_port.get(&entry.original_dport));
        serving.is_some_and(|serving| !serving.contains(&(entry.reply_src, entry.reply_sport)))
    }
}
