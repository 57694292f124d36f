//! `ip addr` and `ip -br addr` as text.

use super::{IpDevice, Notes, is_prompt, mac, own_name, prefix};
use crate::text::diag::Severity;

/// States of the second column of `ip -br`.
const STATES: &[&str] = &["UP", "DOWN", "UNKNOWN", "LOWERLAYERDOWN", "DORMANT", "TESTING", "NOTPRESENT"];

pub(super) fn parse(text: &str, notes: &mut Notes) -> Vec<IpDevice> {
    let mut devices: Vec<IpDevice> = Vec::new();
    for (index, whole) in text.lines().enumerate() {
        let number = index as u32 + 1;
        let words: Vec<&str> = whole.split_whitespace().collect();
        match words.as_slice() {
            [] => {}
            [_, name, flags, rest @ ..] if is_head(&words) => {
                let value = |key: &str| rest.iter().position(|w| *w == key).and_then(|at| rest.get(at + 1));
                devices.push(IpDevice {
                    name: own_name(name.trim_end_matches(':')),
                    mtu: value("mtu").and_then(|m| m.parse().ok()),
                    loopback: flags.contains("LOOPBACK"),
                    ..IpDevice::default()
                });
            }
            [name, state, rest @ ..] if STATES.contains(state) => {
                let mut device = IpDevice { name: own_name(name), ..IpDevice::default() };
                device.loopback = device.name == "lo";
                for word in rest {
                    if let Some(address) = prefix(word) {
                        device.addresses.push(address);
                    } else if let Some(found) = mac(word) {
                        device.mac = Some(found);
                    } else if !word.starts_with('<') && !matches!(*word, "peer" | "metric") {
                        let message = format!("{word:?} is neither an address nor a MAC: left out");
                        notes.at(Severity::Warning, number, whole, word, message);
                    }
                }
                devices.push(device);
            }
            [kind, rest @ ..] if kind.starts_with("link/") => {
                if let (Some(device), Some(text)) = (devices.last_mut(), rest.first()) {
                    device.mac = mac(text).filter(|_| *kind == "link/ether");
                }
            }
            ["inet" | "inet6", address, rest @ ..] => {
                // `inet 10.0.0.1 peer 10.0.0.2/32`: the length belongs to the peer.
                let peer = match rest {
                    ["peer", peer, ..] => prefix(peer).map(|p| p.1),
                    _ => None,
                };
                match (prefix(address), devices.last_mut()) {
                    (Some((addr, len)), Some(device)) => {
                        device.addresses.push((addr, peer.unwrap_or(len)));
                    }
                    (None, _) => {
                        let message = format!("{address:?} is not an address: left out");
                        notes.at(Severity::Error, number, whole, address, message);
                    }
                    (Some(_), None) => {
                        let message = "an address before any device: left out".to_owned();
                        notes.at(Severity::Error, number, whole, address, message);
                    }
                }
            }
            ["valid_lft" | "altname" | "alias" | "vf" | "RX:" | "TX:", ..] => {}
            _ if is_prompt(whole) => {}
            // Details of `ip -d` stand below their device.
            _ if whole.starts_with([' ', '\t']) && !devices.is_empty() => {}
            [first, ..] => {
                let message = "not a line of `ip addr`: left out".to_owned();
                notes.at(Severity::Warning, number, whole, first, message);
            }
        }
    }
    devices
}

/// `2: eth0@if5: <BROADCAST,UP> mtu 1500 ...`
fn is_head(words: &[&str]) -> bool {
    let [number, name, flags, ..] = words else { return false };
    number.strip_suffix(':').is_some_and(|n| n.parse::<u32>().is_ok())
        && name.ends_with(':')
        && flags.starts_with('<')
}
