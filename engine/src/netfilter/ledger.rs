//! The fidelity of every match, target and option, read from the registries: for `FIDELITY.md` and the app.
//!
//! Owns nothing: what it says of an extension stands in the extension's own file, or in
//! [`super::xt::not_emulated`].

use super::xt::not_emulated::{ABSENT_MATCHES, ABSENT_TARGETS};
use super::xt::{ExtSpec, Fidelity, MATCHES, TARGETS};
use crate::packet::Family;

/// What a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Match,
    Target,
}

/// How faithful it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The same decision and text as the kernel's and the tool's.
    Exact,
    /// Differs as described.
    Simplified(&'static str),
    /// Kept verbatim, its answer unknown, for this reason.
    NotEmulated(&'static str),
}

/// One row of the ledger: an extension, or one of its options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub kind: Kind,
    /// As after `-m` or `-j`.
    pub name: &'static str,
    /// With its dashes; none for the extension as a whole.
    pub option: Option<&'static str>,
    /// Empty for what is not emulated.
    pub families: &'static [Family],
    pub standing: Standing,
    /// Kernel file it mirrors; empty for what is not emulated.
    pub kernel: &'static str,
}

/// Every match, then every target, by name; each followed by its options in the tool's order.
pub fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    of_kind(&mut rows, Kind::Match, &mut MATCHES.iter().map(|m| m.spec), ABSENT_MATCHES);
    of_kind(&mut rows, Kind::Target, &mut TARGETS.iter().map(|t| t.spec), ABSENT_TARGETS);
    rows
}

fn of_kind(
    rows: &mut Vec<Row>,
    kind: Kind,
    specs: &mut dyn Iterator<Item = ExtSpec>,
    absent: &[(&'static str, &'static str)],
) {
    let first = rows.len();
    for spec in specs {
        let standing = match spec.fidelity {
            Fidelity::Exact => Standing::Exact,
            Fidelity::Simplified(how) => Standing::Simplified(how),
        };
        let whole = Row {
            kind,
            name: spec.name,
            option: None,
            families: spec.families,
            standing,
            kernel: spec.kernel,
        };
        rows.push(whole);
        rows.extend(spec.options.iter().map(|option| Row {
            option: Some(option.name),
            standing: option.absent.map_or(standing, Standing::NotEmulated),
            ..whole
        }));
    }
    rows.extend(absent.iter().map(|&(name, why)| Row {
        kind,
        name,
        option: None,
        families: &[],
        standing: Standing::NotEmulated(why),
        kernel: "",
    }));
    // Stable: options stay behind their extension.
    rows[first..].sort_by_key(|row| row.name);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The extensions of `/usr/lib/*/xtables` of iptables 1.8.9: `libxt_`, `libipt_` and `libip6t_`, without the
    /// internal `standard` and the table of `NAT`.
    const SHIPPED: &str = "DNPT HL NETMAP REJECT SNPT ah dst eui64 frag hbh hl icmp6 ipv6header mh rt srh \
        CLUSTERIP ECN TTL ULOG icmp realm ttl AUDIT CHECKSUM CLASSIFY CONNMARK CONNSECMARK CT DNAT DSCP HMARK \
        IDLETIMER LED LOG MARK MASQUERADE NFLOG NFQUEUE NOTRACK RATEEST REDIRECT SECMARK SET SNAT SYNPROXY \
        TCPMSS TCPOPTSTRIP TEE TOS TPROXY TRACE addrtype bpf cgroup cluster comment connbytes connlabel \
        connlimit connmark conntrack cpu dccp devgroup dscp ecn esp hashlimit helper ipcomp iprange ipvs length \
        limit mac mark multiport nfacct osf owner physdev pkttype policy quota rateest recent rpfilter sctp set \
        socket state statistic string tcp tcpmss time tos u32 udp";

    #[test]
    fn every_extension_of_the_tool_has_an_entry() {
        let rows = rows();
        for name in SHIPPED.split_whitespace() {
            assert!(rows.iter().any(|r| r.name == name && r.option.is_none()), "{name}");
        }
        for row in &rows {
            assert!(SHIPPED.split_whitespace().any(|name| name == row.name), "{} is not shipped", row.name);
        }
    }

    #[test]
    fn nothing_is_both_emulated_and_not() {
        let rows = rows();
        for row in rows.iter().filter(|r| r.option.is_none() && r.families.is_empty()) {
            let twice = rows.iter().filter(|r| r.kind == row.kind && r.name == row.name).count();
            assert_eq!(twice, 1, "{}", row.name);
        }
    }
}
