//! The ipsets of IPVS mode: their names, types and entries (`pkg/proxy/ipvs/ipset.go`).

use crate::cluster::objects::Protocol;
use crate::packet::Family;

/// One of the sets, in the order kube-proxy creates them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IpSet {
    LoopBack,
    ClusterIp,
    ExternalIp,
    ExternalIpLocal,
    LoadBalancer,
    LoadBalancerFirewall,
    LoadBalancerLocal,
    LoadBalancerSourceIp,
    LoadBalancerSourceCidr,
    NodePortTcp,
    NodePortLocalTcp,
    NodePortUdp,
    NodePortLocalUdp,
    NodePortSctp,
    NodePortLocalSctp,
    HealthCheckNodePort,
    IpvsIps,
}

/// Longest set name (`IPSET_MAXNAMELEN` less the terminator).
const NAME_LEN_MAX: usize = 31;

impl IpSet {
    pub const ALL: [Self; 17] = [
        Self::LoopBack,
        Self::ClusterIp,
        Self::ExternalIp,
        Self::ExternalIpLocal,
        Self::LoadBalancer,
        Self::LoadBalancerFirewall,
        Self::LoadBalancerLocal,
        Self::LoadBalancerSourceIp,
        Self::LoadBalancerSourceCidr,
        Self::NodePortTcp,
        Self::NodePortLocalTcp,
        Self::NodePortUdp,
        Self::NodePortLocalUdp,
        Self::NodePortSctp,
        Self::NodePortLocalSctp,
        Self::HealthCheckNodePort,
        Self::IpvsIps,
    ];

    /// The name behind `KUBE-`, and the type.
    const fn parts(self) -> (&'static str, &'static str) {
        match self {
            Self::LoopBack => ("LOOP-BACK", "hash:ip,port,ip"),
            Self::ClusterIp => ("CLUSTER-IP", "hash:ip,port"),
            Self::ExternalIp => ("EXTERNAL-IP", "hash:ip,port"),
            Self::ExternalIpLocal => ("EXTERNAL-IP-LOCAL", "hash:ip,port"),
            Self::LoadBalancer => ("LOAD-BALANCER", "hash:ip,port"),
            Self::LoadBalancerFirewall => ("LOAD-BALANCER-FW", "hash:ip,port"),
            Self::LoadBalancerLocal => ("LOAD-BALANCER-LOCAL", "hash:ip,port"),
            Self::LoadBalancerSourceIp => ("LOAD-BALANCER-SOURCE-IP", "hash:ip,port,ip"),
            Self::LoadBalancerSourceCidr => ("LOAD-BALANCER-SOURCE-CIDR", "hash:ip,port,net"),
            Self::NodePortTcp => ("NODE-PORT-TCP", "bitmap:port"),
            Self::NodePortLocalTcp => ("NODE-PORT-LOCAL-TCP", "bitmap:port"),
            Self::NodePortUdp => ("NODE-PORT-UDP", "bitmap:port"),
            Self::NodePortLocalUdp => ("NODE-PORT-LOCAL-UDP", "bitmap:port"),
            Self::NodePortSctp => ("NODE-PORT-SCTP-HASH", "hash:ip,port"),
            Self::NodePortLocalSctp => ("NODE-PORT-LOCAL-SCTP-HASH", "hash:ip,port"),
            Self::HealthCheckNodePort => ("HEALTH-CHECK-NODE-PORT", "bitmap:port"),
            Self::IpvsIps => ("IPVS-IPS", "hash:ip"),
        }
    }

    /// `KUBE-...`; `KUBE-6-...` for IPv6, cut where a set name must end.
    pub fn name(self, family: Family) -> String {
        let mut name = match family {
            Family::V4 => format!("KUBE-{}", self.parts().0),
            Family::V6 => format!("KUBE-6-{}", self.parts().0),
        };
        name.truncate(NAME_LEN_MAX);
        name
    }

    /// The line of `ipset restore` that makes the set.
    pub(super) fn create(self, family: Family) -> String {
        let (name, kind) = (self.name(family), self.parts().1);
        let options = match (kind, family) {
            ("bitmap:port", _) => "range 0-65535",
            (_, Family::V4) => "family inet hashsize 1024 maxelem 65536",
            (_, Family::V6) => "family inet6 hashsize 1024 maxelem 65536",
        };
        format!("create {name} {kind} {options}")
    }

    /// The set of node ports of a protocol, and that of those with policy Local.
    pub(super) const fn node_ports(protocol: Protocol) -> (Self, Self) {
        match protocol {
            Protocol::Tcp => (Self::NodePortTcp, Self::NodePortLocalTcp),
            Protocol::Udp => (Self::NodePortUdp, Self::NodePortLocalUdp),
            Protocol::Sctp => (Self::NodePortSctp, Self::NodePortLocalSctp),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_and_differ() {
        for family in [Family::V4, Family::V6] {
            let mut names: Vec<String> = IpSet::ALL.iter().map(|set| set.name(family)).collect();
            assert!(names.iter().all(|name| name.len() <= NAME_LEN_MAX), "{names:?}");
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), IpSet::ALL.len());
        }
        assert_eq!(IpSet::NodePortLocalSctp.name(Family::V6), "KUBE-6-NODE-PORT-LOCAL-SCTP-HAS");
    }
}
