//! Rulesets of a stated size, as `iptables-save` would print what kube-proxy programmed.
//!
//! Only the shape matters here (the nat table of ClusterIP Services); which rules a cluster really gets is the subject
//! of `proxy/`.

use std::fmt::Write;

/// How large a cluster is, as one node sees it.
#[derive(Clone, Copy, Debug)]
pub struct Cluster {
    pub services: u32,
    /// Endpoints of all Services together, spread evenly: the first ones get one more when it does not divide.
    pub endpoints: u32,
}

impl Cluster {
    /// 210,000 rules in 5,000 Services: the dump of DESIGN section 7.
    pub const LARGE: Self = Self { services: 5_000, endpoints: 66_664 };
    /// 20,000 rules in KUBE-SERVICES: what a first packet walks in the worst case.
    pub const WIDE: Self = Self { services: 20_000, endpoints: 20_000 };

    /// One rule to dispatch and one to mark for each Service; one to draw, one for hairpins and one to translate for
    /// each endpoint; eight that every node has.
    pub fn rules(self) -> u32 {
        2 * self.services + 3 * self.endpoints + 8
    }

    fn endpoints_of(self, service: u32) -> std::ops::Range<u32> {
        let (each, more) = (self.endpoints / self.services, self.endpoints % self.services);
        let first = service * each + service.min(more);
        first..first + each + u32::from(service < more)
    }

    /// The ClusterIP of a Service.
    pub fn address(service: u32) -> String {
        format!("10.{}.{}.{}", 96 + service / 65_536, service / 256 % 256, service % 256)
    }

    /// The whole dump.
    pub fn iptables_save(self) -> String {
        // A rule is about 140 bytes; growing a 30 MB text by doubling would show up in memory, not in time.
        let mut text = String::with_capacity(self.rules() as usize * 150);
        self.write(&mut text).expect("writing to a String cannot fail");
        text
    }

    fn write(self, text: &mut String) -> std::fmt::Result {
        text.push_str(
            "*nat\n:PREROUTING ACCEPT [0:0]\n:INPUT ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n:POSTROUTING ACCEPT [0:0]\n\
             :KUBE-MARK-MASQ - [0:0]\n:KUBE-NODEPORTS - [0:0]\n:KUBE-POSTROUTING - [0:0]\n",
        );
        for endpoint in 0..self.endpoints {
            writeln!(text, ":{} - [0:0]", chain("SEP", endpoint))?;
        }
        text.push_str(":KUBE-SERVICES - [0:0]\n");
        for service in 0..self.services {
            writeln!(text, ":{} - [0:0]", chain("SVC", service))?;
        }
        text.push_str(
            "-A PREROUTING -m comment --comment \"kubernetes service portals\" -j KUBE-SERVICES\n\
             -A OUTPUT -m comment --comment \"kubernetes service portals\" -j KUBE-SERVICES\n\
             -A POSTROUTING -m comment --comment \"kubernetes postrouting rules\" -j KUBE-POSTROUTING\n\
             -A KUBE-MARK-MASQ -j MARK --set-xmark 0x4000/0x4000\n\
             -A KUBE-POSTROUTING -m mark ! --mark 0x4000/0x4000 -j RETURN\n\
             -A KUBE-POSTROUTING -j MARK --set-xmark 0x4000/0x0\n\
             -A KUBE-POSTROUTING -m comment --comment \"kubernetes service traffic requiring SNAT\" -j MASQUERADE --random-fully\n",
        );
        for service in 0..self.services {
            self.write_endpoints(text, service)?;
        }
        for service in 0..self.services {
            let (address, to) = (Self::address(service), chain("SVC", service));
            writeln!(
                text,
                "-A KUBE-SERVICES -d {address}/32 -p tcp -m comment --comment \"shop/web-{service}:http cluster IP\" \
                 -m tcp --dport 80 -j {to}"
            )?;
        }
        text.push_str(
            "-A KUBE-SERVICES -m comment --comment \"kubernetes service nodeports; NOTE: this must be the last rule in \
             this chain\" -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS\n",
        );
        for service in 0..self.services {
            self.write_service(text, service)?;
        }
        text.push_str("COMMIT\n");
        Ok(())
    }

    fn write_endpoints(self, text: &mut String, service: u32) -> std::fmt::Result {
        for endpoint in self.endpoints_of(service) {
            let (name, pod) = (chain("SEP", endpoint), pod(endpoint));
            writeln!(
                text,
                "-A {name} -s {pod}/32 -m comment --comment \"shop/web-{service}:http\" -j KUBE-MARK-MASQ\n\
                 -A {name} -p tcp -m comment --comment \"shop/web-{service}:http\" -m tcp -j DNAT --to-destination {pod}:8080"
            )?;
        }
        Ok(())
    }

    fn write_service(self, text: &mut String, service: u32) -> std::fmt::Result {
        let (name, address) = (chain("SVC", service), Self::address(service));
        writeln!(
            text,
            "-A {name} ! -s 10.128.0.0/9 -d {address}/32 -p tcp -m comment --comment \"shop/web-{service}:http cluster IP\" \
             -m tcp --dport 80 -j KUBE-MARK-MASQ"
        )?;
        let endpoints = self.endpoints_of(service);
        for endpoint in endpoints.clone() {
            write!(
                text,
                "-A {name} -m comment --comment \"shop/web-{service}:http -> {}:8080\"",
                pod(endpoint)
            )?;
            let left = endpoints.end - endpoint;
            if left > 1 {
                write!(text, " -m statistic --mode random --probability {}", probability(left))?;
            }
            writeln!(text, " -j {}", chain("SEP", endpoint))?;
        }
        Ok(())
    }
}

/// `1/left` as the kernel keeps it, a multiple of 2^-31, with the eleven digits that the tool prints.
fn probability(left: u32) -> String {
    let kept = (2_147_483_648.0 / f64::from(left)).round();
    format!("{:.11}", kept / 2_147_483_648.0)
}

/// A name as long as the real ones, whose last part is a hash in base 32.
fn chain(kind: &str, number: u32) -> String {
    const DIGITS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    // An odd factor permutes the 64-bit numbers, so names differ when numbers do.
    let mut bits = (u64::from(number) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut name = format!("KUBE-{kind}-");
    for _ in 0..16 {
        name.push(char::from(DIGITS[(bits % 32) as usize]));
        bits = bits.rotate_right(5);
    }
    name
}

fn pod(endpoint: u32) -> String {
    format!("10.{}.{}.{}", 128 + endpoint / 65_536, endpoint / 256 % 256, endpoint % 256)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dumps_have_the_stated_size() {
        assert_eq!(Cluster::LARGE.rules(), 210_000);
        let small = Cluster { services: 7, endpoints: 17 };
        let text = small.iptables_save();
        assert_eq!(text.lines().filter(|line| line.starts_with("-A ")).count(), small.rules() as usize);
        assert!(text.contains("--probability 0.33333333349 "), "{text}");
        let mut chains: Vec<&str> = text.lines().filter(|line| line.starts_with(':')).collect();
        chains.sort_unstable();
        chains.dedup();
        assert_eq!(chains.len(), 4 + 4 + 7 + 17);
    }
}
