//! What iptables has and the engine does not: kept verbatim, printed back, named wherever it matters.

use super::TargetExt;
use super::ext::{Parsed, save_string};

/// A match or target that is not emulated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotEmulated {
    /// As after `-m` or `-j`.
    pub name: Box<str>,
    /// Its options as they were written, quoting kept, without the leading space.
    pub text: Box<str>,
    /// Named by `-g`: evaluation does not come back to the rule behind.
    pub goto: bool,
}

impl TargetExt {
    /// The option that names the target: `-g` for a chain that is not in the text and was gone to, else `-j`.
    pub const fn flag(&self) -> &'static str {
        if self.is_goto() { "-g" } else { "-j" }
    }

    /// Whether evaluation does not come back to the rule behind.
    pub const fn is_goto(&self) -> bool {
        matches!(self, Self::NotEmulated(NotEmulated { goto: true, .. }))
    }
}

impl NotEmulated {
    /// An extension with an option that is not emulated, its options spelled canonically.
    pub fn of(name: &str, args: &Parsed<'_>) -> Self {
        let mut text = String::new();
        for opt in &args.opts {
            text.push_str(if opt.inverted { " ! " } else { " " });
            text.push_str(opt.name);
            for value in &opt.values {
                text.push(' ');
                if value.is_empty() || value.contains([' ', '\t', '"', '\'', '\\']) {
                    save_string(&mut text, value);
                } else {
                    text.push_str(value);
                }
            }
        }
        Self { name: name.into(), text: text.trim_start().into(), goto: false }
    }

    pub fn save(&self, out: &mut String) {
        if !self.text.is_empty() {
            out.push(' ');
            out.push_str(&self.text);
        }
    }
}

/// Matches that iptables 1.8.9 ships and the engine does not emulate, each with the reason.
pub static ABSENT_MATCHES: &[(&str, &str)] = &[
    ("bpf", "runs a BPF program over the packet; there is no BPF machine here"),
    ("cgroup", "processes and their cgroups are not modelled"),
    ("cluster", "hashes with the kernel's jhash over a cluster's nodes"),
    ("connlabel", "connections carry no labels"),
    ("cpu", "a node has no processors to tell apart"),
    ("devgroup", "devices have no groups"),
    ("dst", "IPv6 destination options are not parsed"),
    ("eui64", "compares the address with a frame that is rarely known"),
    ("frag", "the IPv6 fragment header is kept only in part"),
    ("hbh", "IPv6 hop-by-hop options are not parsed"),
    ("ipcomp", "compressed payloads are not parsed"),
    ("ipv6header", "the chain of IPv6 extension headers is not looked at"),
    ("ipvs", "the match does not ask IPVS"),
    ("mh", "mobile IPv6 is not parsed"),
    ("osf", "needs the operating-system fingerprints of nfnl_osf"),
    ("rateest", "rates are estimated by a timer that is not emulated"),
    ("realm", "routes carry no realms"),
    ("rt", "the IPv6 routing header is not parsed"),
    ("socket", "sockets of the node are known by their ports only"),
    ("srh", "the IPv6 segment routing header is not parsed"),
];

/// Targets that iptables 1.8.9 ships and the engine does not emulate, each with the reason.
pub static ABSENT_TARGETS: &[(&str, &str)] = &[
    ("CLUSTERIP", "gone from the kernel since 6.3"),
    ("CONNSECMARK", "there are no security labels"),
    ("DNPT", "stateless prefix translation is not emulated"),
    ("HMARK", "computes a hash the kernel seeds"),
    ("IDLETIMER", "reports to user space only, by a timer that is not emulated"),
    ("LED", "there is nothing to light"),
    ("NFQUEUE", "a program in user space decides"),
    ("RATEEST", "rates are estimated by a timer that is not emulated"),
    ("SECMARK", "there are no security labels"),
    ("SNPT", "stateless prefix translation is not emulated"),
    ("SYNPROXY", "answers handshakes in the node's name"),
    ("TEE", "sends a copy on a way of its own"),
    ("TPROXY", "hands the packet to a socket of the node"),
    ("ULOG", "gone from the kernel since 3.17"),
];
