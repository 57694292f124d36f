//! A kube-proxy node's `iptables-save`, of any size. The shapes are those of kube-proxy 1.36 in iptables mode.

use std::fmt::Write as _;
use std::net::Ipv4Addr;

/// How large a cluster the dump describes.
#[derive(Clone, Copy, Debug)]
pub struct Dump {
    pub services: u32,
    pub endpoints: u32,
}

impl Dump {
    /// The design's 210,000 rules. kube-proxy writes two rules a Service, and three an endpoint.
    pub const BUDGET: Self = Self { services: 3_387, endpoints: 20 };
    /// 5,000 Services with 20 endpoints each: 310,000 rules.
    pub const FULL: Self = Self { services: 5_000, endpoints: 20 };

    /// The cluster address of a Service, from 10.96.0.10 up.
    pub fn cluster_ip(service: u32) -> Ipv4Addr {
        Ipv4Addr::from_bits(u32::from_be_bytes([10, 96, 0, 10]) + service)
    }

    fn pod_ip(self, service: u32, endpoint: u32) -> Ipv4Addr {
        Ipv4Addr::from_bits(u32::from_be_bytes([10, 128, 0, 0]) + service * self.endpoints + endpoint)
    }

    /// Rules in the text.
    pub fn rules(self) -> u32 {
        FIXED_RULES + self.services * (2 + 3 * self.endpoints)
    }

    /// The text, `nat` table only, user chains sorted by name as the tool prints them.
    pub fn text(self) -> String {
        let mut out = String::with_capacity(self.rules() as usize * 150);
        out.push_str("*nat\n:PREROUTING ACCEPT [0:0]\n:INPUT ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n");
        out.push_str(":POSTROUTING ACCEPT [0:0]\n");
        let pairs = || (0..self.services).flat_map(|s| (0..self.endpoints).map(move |e| (s, e)));
        out.push_str(":KUBE-MARK-MASQ - [0:0]\n:KUBE-NODEPORTS - [0:0]\n:KUBE-POSTROUTING - [0:0]\n");
        for (service, endpoint) in pairs() {
            let _ = writeln!(out, ":{} - [0:0]", sep(service, endpoint));
        }
        out.push_str(":KUBE-SERVICES - [0:0]\n");
        for service in 0..self.services {
            let _ = writeln!(out, ":{} - [0:0]", svc(service));
        }
        out.push_str(FIXED);
        for (service, endpoint) in pairs() {
            let (chain, pod) = (sep(service, endpoint), self.pod_ip(service, endpoint));
            let _ = writeln!(
                out,
                "-A {chain} -s {pod}/32 -m comment --comment \"shop/web-{service}:http\" -j KUBE-MARK-MASQ\n\
                 -A {chain} -p tcp -m comment --comment \"shop/web-{service}:http\" -m tcp \
                 -j DNAT --to-destination {pod}:8080"
            );
        }
        for service in 0..self.services {
            let _ = writeln!(
                out,
                "-A KUBE-SERVICES -d {}/32 -p tcp -m comment --comment \"shop/web-{service}:http cluster IP\" \
                 -m tcp --dport 80 -j {}",
                Self::cluster_ip(service),
                svc(service)
            );
        }
        out.push_str(
            "-A KUBE-SERVICES -m comment --comment \"kubernetes service nodeports; NOTE: this must be the last \
             rule in this chain\" -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS\n",
        );
        for service in 0..self.services {
            self.service_chain(&mut out, service);
        }
        out.push_str("COMMIT\n");
        out
    }

    fn service_chain(self, out: &mut String, service: u32) {
        let chain = svc(service);
        let _ = writeln!(
            out,
            "-A {chain} ! -s 10.128.0.0/9 -d {}/32 -p tcp -m comment --comment \"shop/web-{service}:http cluster \
             IP\" -m tcp --dport 80 -j KUBE-MARK-MASQ",
            Self::cluster_ip(service)
        );
        for endpoint in 0..self.endpoints {
            let pod = self.pod_ip(service, endpoint);
            let _ = write!(out, "-A {chain} -m comment --comment \"shop/web-{service}:http -> {pod}:8080\"");
            let left = self.endpoints - endpoint;
            if left > 1 {
                // The kernel keeps the probability as a multiple of 2^-31 and the tool prints that.
                let stored = (2_147_483_648.0 / f64::from(left)).round() / 2_147_483_648.0;
                let _ = write!(out, " -m statistic --mode random --probability {stored:.11}");
            }
            let _ = writeln!(out, " -j {}", sep(service, endpoint));
        }
    }
}

const FIXED_RULES: u32 = 8;
const FIXED: &str = "\
-A PREROUTING -m comment --comment \"kubernetes service portals\" -j KUBE-SERVICES
-A OUTPUT -m comment --comment \"kubernetes service portals\" -j KUBE-SERVICES
-A POSTROUTING -m comment --comment \"kubernetes postrouting rules\" -j KUBE-POSTROUTING
-A KUBE-MARK-MASQ -j MARK --set-xmark 0x4000/0x4000
-A KUBE-POSTROUTING -m mark ! --mark 0x4000/0x4000 -j RETURN
-A KUBE-POSTROUTING -j MARK --set-xmark 0x4000/0x0
-A KUBE-POSTROUTING -m comment --comment \"kubernetes service traffic requiring SNAT\" -j MASQUERADE --random-fully
";

/// Sixteen characters like the hashes kube-proxy appends; zero-padded, so that names sort by number.
fn svc(service: u32) -> String {
    format!("KUBE-SVC-{service:016}")
}

fn sep(service: u32, endpoint: u32) -> String {
    format!("KUBE-SEP-{:016}", service * 1_000 + endpoint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_dump_has_the_rules_it_claims() {
        let text = Dump::BUDGET.text();
        assert_eq!(text.lines().filter(|line| line.starts_with("-A")).count() as u32, Dump::BUDGET.rules());
        assert_eq!(Dump::BUDGET.rules(), 210_002);
    }
}
