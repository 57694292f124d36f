//! Owns the kernel's arm of a comparison: namespaces, devices, sockets and the real tools. Answers what this
//! machine's kernel does with a case. Does not own comparing.
//!
//! A lab is one thread pinned to one processor with two anonymous network namespaces: the node under test, and
//! a "wire" namespace that holds the far end of each of its devices. Everything a packet causes happens in that
//! processor's softirq queue, in order, so a fence frame behind the packet tells when the kernel is done: no
//! waiting, no guessed timeouts. Devices are NOARP, which is what "neighbours are resolved" means. Anonymous
//! namespaces vanish with the process, also after a panic.

mod command;
mod lab;
pub(crate) mod namespace;
mod netlink;
mod run;
mod tap;

use std::collections::BTreeMap;

pub use command::{Output, tool};
pub use lab::Lab;
pub use namespace::Netns;
pub use run::{Session, run, run_in, sum_counters};

/// Why no kernel can be asked here, if so.
pub fn unavailable() -> Option<String> {
    for tool in ["ip", "iptables-legacy-restore", "iptables-nft-restore", "nft", "conntrack", "ipset"] {
        if !command::exists(tool) {
            return Some(format!("{tool} is not installed"));
        }
    }
    let worker = std::thread::spawn(|| Netns::new().map(|_| ()).map_err(|error| error.to_string()));
    match worker.join() {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(format!("no network namespace can be made: {error}")),
        Err(_) => Some("no network namespace can be made".into()),
    }
}

/// `uname -r`.
pub fn release() -> String {
    nix_release().unwrap_or_else(|| "unknown".into())
}

fn nix_release() -> Option<String> {
    std::fs::read_to_string("/proc/sys/kernel/osrelease").ok().map(|text| text.trim().to_string())
}

/// The versions of the tools whose text is compared.
pub fn tool_versions() -> BTreeMap<String, String> {
    ["iptables", "nft", "conntrack", "ipset"]
        .into_iter()
        .filter_map(|name| {
            let output = tool(name, &["--version"], "").ok()?;
            Some((name.to_string(), output.stdout.lines().next()?.trim().to_string()))
        })
        .collect()
}
