//! The output of `ip addr` and `ip route` (iproute2), in the forms that people paste, and as it is printed.
//!
//! Owns reading these texts into plain records and printing a namespace's. Does not own what a namespace makes of
//! them (`replay::infer`).
//! Lines that are not understood are left out and named; nothing here fails as a whole.

mod addr;
mod json;
mod print;
mod route;

pub use print::{addr as print_addr, addr_brief as print_addr_brief, routes as print_routes};

use std::net::IpAddr;

use super::diag::{Diag, Severity};

/// A device as `ip addr` shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IpDevice {
    /// Without the `@if5` of a pair.
    pub name: String,
    pub mac: Option<[u8; 6]>,
    pub mtu: Option<u32>,
    /// `dummy` is not shown by `ip addr`; a loopback device is.
    pub loopback: bool,
    pub addresses: Vec<(IpAddr, u8)>,
}

/// A route as `ip route` shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IpRoute {
    /// None for `default`.
    pub to: Option<(IpAddr, u8)>,
    /// Family of `default`; otherwise that of `to`.
    pub v6: bool,
    /// `blackhole`, `unreachable`, `prohibit`, `throw`, `local`, `broadcast`, ...; none for unicast.
    pub kind: Option<String>,
    pub via: Option<IpAddr>,
    pub dev: Option<String>,
    pub src: Option<IpAddr>,
    pub metric: Option<u32>,
    pub mtu: Option<u32>,
    /// Made by the kernel for an address (`proto kernel`).
    pub kernel: bool,
    /// Line it was read from, from 1.
    pub line: u32,
}

/// Reads `ip addr`, `ip -br addr` or `ip -j addr`.
pub fn parse_addr(text: &str) -> (Vec<IpDevice>, Vec<Diag>) {
    let mut notes = Notes::default();
    let devices = match text.trim_start().chars().next() {
        Some('[') => json::addr(text, &mut notes),
        _ => addr::parse(text, &mut notes),
    };
    (devices, notes.list)
}

/// Reads `ip route`, `ip -6 route` or `ip -j route`.
pub fn parse_route(text: &str) -> (Vec<IpRoute>, Vec<Diag>) {
    let mut notes = Notes::default();
    let mut routes = match text.trim_start().chars().next() {
        Some('[') => json::route(text, &mut notes),
        _ => route::parse(text, &mut notes),
    };
    // `default dev ppp0` names no family: it is that of the table around it.
    let all_v6 = routes.iter().any(|r| r.v6) && !routes.iter().any(|r| !r.v6 && family(r).is_some());
    for route in routes.iter_mut().filter(|r| family(r).is_none()) {
        route.v6 = all_v6;
    }
    (routes, notes.list)
}

/// Whether the route is IPv6, as far as its own addresses say.
fn family(route: &IpRoute) -> Option<bool> {
    route.to.map(|t| t.0).or(route.via).or(route.src).map(|a| a.is_ipv6())
}

/// Messages, at most one a line, capped.
#[derive(Debug, Default)]
struct Notes {
    list: Vec<Diag>,
}

/// More than a handful of strange lines means that the text is something else.
const NOTES_MAX: usize = 20;

impl Notes {
    fn add(&mut self, severity: Severity, line: u32, column: u32, len: u32, message: String) {
        if self.list.len() < NOTES_MAX {
            self.list.push(Diag { severity, line, column, len, message });
        }
    }

    /// `word` of `line`, which stands in `whole`.
    fn at(&mut self, severity: Severity, line: u32, whole: &str, word: &str, message: String) {
        let start = (word.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize);
        let column = whole.get(..start).map_or(0, |before| before.chars().count()) as u32 + 1;
        self.add(severity, line, column, word.chars().count() as u32, message);
    }
}

/// `10.0.0.1/24`; without a length a single address.
fn prefix(text: &str) -> Option<(IpAddr, u8)> {
    let (addr, len) = text.split_once('/').map_or((text, None), |(a, l)| (a, Some(l)));
    let addr: IpAddr = addr.parse().ok()?;
    let max = if addr.is_ipv4() { 32 } else { 128 };
    let len = len.map_or(Some(max), |l| l.parse().ok())?;
    (len <= max).then_some((addr, len))
}

fn mac(text: &str) -> Option<[u8; 6]> {
    let parts: Vec<u8> = text.split(':').map(|p| u8::from_str_radix(p, 16)).collect::<Result<_, _>>().ok()?;
    parts.try_into().ok().filter(|m| *m != [0; 6])
}

/// A device's own name: what stands before `@`.
fn own_name(text: &str) -> String {
    text.split('@').next().unwrap_or(text).to_owned()
}

/// Whether a line is a shell prompt with a command, as in `root@node:~# ip addr`.
fn is_prompt(line: &str) -> bool {
    let line = line.trim_start();
    ["$ ", "# ", "> "].iter().any(|p| line.starts_with(p))
        || ["$ ip ", "# ip ", "$ sudo ", "# sudo "].iter().any(|p| line.contains(p))
        || line.starts_with("ip ")
        || line.starts_with("sudo ip ")
}

#[cfg(test)]
mod tests;
