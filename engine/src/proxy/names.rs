//! Names that kube-proxy makes: service ports, and chain names from hashes.

use std::fmt;
use std::net::IpAddr;

use sha2::{Digest as _, Sha256};

use crate::cluster::objects::Protocol;

/// One port of one Service: the unit kube-proxy programs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServicePortName {
    pub namespace: String,
    pub name: String,
    /// Empty for the only, unnamed port.
    pub port: String,
    pub protocol: Protocol,
}

/// `namespace/name:port`, or `namespace/name` for an unnamed port.
impl fmt::Display for ServicePortName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)?;
        if self.port.is_empty() { Ok(()) } else { write!(f, ":{}", self.port) }
    }
}

/// SHA-256, base32, first `len` characters: short enough for a name, unlikely to clash.
fn hash(input: &str, len: usize) -> String {
    let mut text = data_encoding::BASE32.encode(&Sha256::digest(input.as_bytes()));
    text.truncate(len);
    text
}

/// Characters of the hash in an iptables chain name, which may have 28 in all.
const CHAIN_HASH_LEN: usize = 16;
/// Characters of the hash in an nftables name, which goes on with the readable one.
const NFT_HASH_LEN: usize = 8;
/// Longest nftables name that kube-proxy makes; the kernel takes 255 characters.
const NFT_NAME_LEN_MAX: usize = 240;

/// `HASH8-name`, cut with `...` when too long.
fn nft_name(name: &str) -> String {
    let mut full = format!("{}-{name}", hash(name, NFT_HASH_LEN));
    if full.len() > NFT_NAME_LEN_MAX {
        full.truncate(NFT_NAME_LEN_MAX - 3);
        full.push_str("...");
    }
    full
}

impl ServicePortName {
    fn chain(&self, prefix: &str) -> String {
        format!("{prefix}{}", hash(&format!("{self}{}", self.protocol.name()), CHAIN_HASH_LEN))
    }

    /// Endpoints of the cluster policy.
    pub fn cluster_policy_chain(&self) -> String {
        self.chain("KUBE-SVC-")
    }

    /// Endpoints of the Local policy.
    pub fn local_policy_chain(&self) -> String {
        self.chain("KUBE-SVL-")
    }

    /// Source ranges of a load balancer.
    pub fn firewall_chain(&self) -> String {
        self.chain("KUBE-FW-")
    }

    /// Traffic from outside the cluster.
    pub fn external_chain(&self) -> String {
        self.chain("KUBE-EXT-")
    }

    /// One endpoint, given as `ip:port`.
    pub fn endpoint_chain(&self, endpoint: &str) -> String {
        let input = format!("{self}{}{endpoint}", self.protocol.name());
        format!("KUBE-SEP-{}", hash(&input, CHAIN_HASH_LEN))
    }

    /// `namespace/name/protocol/portname`, ending in `/` for an unnamed port.
    fn nft_base(&self) -> String {
        format!("{}/{}/{}/{}", self.namespace, self.name, self.protocol.name(), self.port)
    }

    /// nftables name shared by the chains of this port, behind `service-`, `local-`, `external-`, `firewall-`.
    pub fn nft(&self) -> String {
        nft_name(&self.nft_base())
    }

    /// nftables name of one endpoint, behind `endpoint-` and `affinity-`. Colons are not allowed in names.
    pub fn nft_endpoint(&self, ip: IpAddr, port: u16) -> String {
        nft_name(&format!("{}__{}/{port}", self.nft_base(), ip.to_string().replace(':', ".")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str, protocol: Protocol) -> ServicePortName {
        let (namespace, rest) = text.split_once('/').expect("a namespace");
        let (name, port) = rest.split_once(':').unwrap_or((rest, ""));
        ServicePortName { namespace: namespace.into(), name: name.into(), port: port.into(), protocol }
    }

    /// Worked examples from kube-proxy's own tests.
    #[test]
    fn chain_names_equal_kube_proxys() {
        let svc = |text, protocol| name(text, protocol).cluster_policy_chain();
        assert_eq!(svc("ns1/svc1:p80", Protocol::Tcp), "KUBE-SVC-XPGD46QRK7WJZT7O");
        assert_eq!(svc("default/kubernetes:https", Protocol::Tcp), "KUBE-SVC-NPX46M4PTMTKRN6Y");
        assert_eq!(svc("kube-system/kube-dns:dns", Protocol::Udp), "KUBE-SVC-TCOU7JCQXEZGVUNU");
        assert_eq!(svc("shop/web", Protocol::Tcp), "KUBE-SVC-E3PXEPMWAWIUT6ZV");
        let web = name("shop/web:http", Protocol::Tcp);
        assert_eq!(web.nft(), "KHN6ECMT-shop/web/tcp/http");
        assert_eq!(name("shop/web", Protocol::Tcp).nft(), "452DNVGS-shop/web/tcp/");
        let svc1 = name("ns1/svc1:p80", Protocol::Tcp);
        assert_eq!(svc1.nft_endpoint([10, 180, 0, 1].into(), 80), "5OJB2KTY-ns1/svc1/tcp/p80__10.180.0.1/80");
        assert_eq!(web.endpoint_chain("10.244.1.10:8080"), "KUBE-SEP-FZQ6KZLGXRSKN2AD");
        assert_eq!(web.endpoint_chain("[fd00:10:244:1::a]:8080"), "KUBE-SEP-GMZ7ISVB72WUUPDE");
    }
}
