//! KubeProxyConfiguration (`kubeproxy.config.k8s.io/v1alpha1`), as far as rules depend on it. Unknown fields are
//! tolerated; durations are Go's (`1h0m0s`).

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct KubeProxyConfiguration {
    /// Empty means `iptables`.
    pub mode: String,
    #[serde(rename = "clusterCIDR")]
    pub cluster_cidr: String,
    /// Empty means `ClusterCIDR`.
    pub detect_local_mode: String,
    pub detect_local: DetectLocal,
    pub hostname_override: String,
    pub node_port_addresses: Vec<String>,
    pub iptables: IptablesSettings,
    pub nftables: NftablesSettings,
    pub ipvs: IpvsSettings,
    pub conntrack: ConntrackSettings,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DetectLocal {
    pub bridge_interface: String,
    pub interface_name_prefix: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct IptablesSettings {
    pub masquerade_bit: Option<u8>,
    pub masquerade_all: bool,
    pub localhost_node_ports: Option<bool>,
    pub sync_period: GoDuration,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NftablesSettings {
    pub masquerade_bit: Option<u8>,
    pub masquerade_all: bool,
    pub sync_period: GoDuration,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct IpvsSettings {
    pub scheduler: String,
    #[serde(rename = "excludeCIDRs")]
    pub exclude_cidrs: Vec<String>,
    #[serde(rename = "strictARP")]
    pub strict_arp: bool,
    pub tcp_timeout: GoDuration,
    pub tcp_fin_timeout: GoDuration,
    pub udp_timeout: GoDuration,
    pub sync_period: GoDuration,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ConntrackSettings {
    #[serde(rename = "tcpBeLiberal")]
    pub tcp_be_liberal: bool,
}

/// A length of time in milliseconds; zero when absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GoDuration(pub u64);

impl GoDuration {
    /// Whole seconds, rounded down.
    pub const fn as_secs(self) -> u64 {
        self.0 / 1_000
    }

    /// `1h0m0s`, `30s`, `500ms`, `1.5h`, `0`.
    pub fn parse(text: &str) -> Option<Self> {
        if text == "0" {
            return Some(Self(0));
        }
        let (mut rest, mut total) = (text, 0.0);
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
            let (number, tail) = rest.split_at(digits);
            let unit = tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len());
            let (unit, tail) = tail.split_at(unit);
            let millis = match unit {
                "h" => 3_600_000.0,
                "m" => 60_000.0,
                "s" => 1_000.0,
                "ms" => 1.0,
                _ => return None,
            };
            total += number.parse::<f64>().ok()? * millis;
            rest = tail;
        }
        (!text.is_empty()).then_some(Self(total as u64))
    }
}

impl<'de> Deserialize<'de> for GoDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = GoDuration;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a duration such as 30s")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<GoDuration, E> {
                GoDuration::parse(text)
                    .ok_or_else(|| E::custom(format!("{text:?} is not a duration such as 30s or 1h0m0s")))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_gos() {
        let parse = |text| GoDuration::parse(text).map(|d| d.0);
        assert_eq!(parse("1h0m0s"), Some(3_600_000));
        assert_eq!(parse("1.5h"), Some(5_400_000));
        assert_eq!(parse("500ms"), Some(500));
        assert_eq!(parse("0"), Some(0));
        for wrong in ["", "5", "s", "5 s", "5d", "-1s"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
