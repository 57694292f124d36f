//! The options of `ipset create`.

use std::net::IpAddr;

use super::{Fault, TIMEOUT_MAX, element};
use crate::netfilter::set::{BITMAP_MAX, Kind, Params, SetError};
use crate::netfilter::xt::parse_number;
use crate::packet::Family;

/// Defaults of the hash types (`IPSET_DEFAULT_HASHSIZE`, `IPSET_DEFAULT_MAXELEM`, `AHASH_MAX_TUNED`).
const HASHSIZE: u32 = 1024;
const MAXELEM: u32 = 65_536;
const BUCKETSIZE: u8 = 12;
/// Smallest hash (`IPSET_MIMINAL_HASHSIZE`).
const HASHSIZE_MIN: u32 = 64;
/// Members of a list:set, and the fewest one can be made for.
const SIZE: u32 = 8;
const SIZE_MIN: u32 = 4;

/// A number up to `max`, with ipset's words.
pub(super) fn number(text: &str, max: u64) -> Result<u64, Fault> {
    match parse_number(text, u64::MAX) {
        None => Err(Fault::syntax(format!("'{text}' is invalid as number"))),
        Some(n) if n > max => Err(Fault::syntax(format!("'{text}' is out of range 0-{max}"))),
        Some(n) => Ok(n),
    }
}

/// Shown as the hash's seed when none is given: a hash of the name, so that a run prints the same again.
fn initval(name: &str) -> u32 {
    name.bytes().fold(0x811c_9dc5, |h, b| (h ^ u32::from(b)).wrapping_mul(0x0100_0193))
}

pub(super) fn parse(name: &str, kind: &str, options: &[&str]) -> Result<Params, Fault> {
    let Some(kind) = Kind::parse(kind) else {
        return Err(Fault::syntax(format!("typename '{kind}' is unknown")));
    };
    let mut params = Params {
        kind,
        family: kind.default_family(),
        hashsize: HASHSIZE,
        maxelem: MAXELEM,
        bucketsize: BUCKETSIZE,
        initval: initval(name),
        netmask: None,
        ip_range: None,
        port_range: None,
        size: SIZE,
        timeout: None,
        counters: false,
        comment: false,
        forceadd: false,
    };
    let mut range = None;
    let mut netmask = None;
    let mut options = options.iter();
    while let Some(&option) = options.next() {
        let mut value = || {
            options
                .next()
                .copied()
                .ok_or_else(|| Fault::Usage(format!("Missing mandatory argument of option `{option}'")))
        };
        let number32 = |text| number(text, u64::from(u32::MAX)).map(|n| n as u32);
        match (option, kind) {
            ("counters", _) => params.counters = true,
            ("comment", _) => params.comment = true,
            ("timeout", _) => params.timeout = Some(number(value()?, TIMEOUT_MAX)? as u32),
            ("skbinfo", _) => {
                return Err(Fault::Refused("skbinfo is not emulated".to_owned()));
            }
            ("size", Kind::ListSet) => params.size = number32(value()?)?.max(SIZE_MIN),
            ("range" | "from", Kind::BitmapIp | Kind::BitmapPort) => range = Some(value()?),
            ("netmask", Kind::BitmapIp | Kind::HashIp) => netmask = Some(value()?),
            ("family", kind) if kind.is_hash() => {
                params.family = Some(match value()? {
                    "inet" | "ipv4" | "-4" => Family::V4,
                    "inet6" | "ipv6" | "-6" => Family::V6,
                    other => return Err(Fault::syntax(format!("unknown inet family {other}"))),
                });
            }
            ("-6", kind) if kind.is_hash() => params.family = Some(Family::V6),
            ("-4", kind) if kind.is_hash() => params.family = Some(Family::V4),
            ("hashsize", kind) if kind.is_hash() => params.hashsize = number32(value()?)?,
            ("maxelem", kind) if kind.is_hash() => params.maxelem = number32(value()?)?,
            ("bucketsize", kind) if kind.is_hash() => params.bucketsize = number(value()?, 255)? as u8,
            ("initval", kind) if kind.is_hash() => params.initval = number32(value()?)?,
            ("forceadd", kind) if kind.is_hash() => params.forceadd = true,
            // Taken and ignored, for scripts written for older versions.
            ("probes" | "resize" | "gc", kind) if kind.is_hash() => _ = value()?,
            _ => return Err(Fault::Usage(format!("Unknown argument: `{option}'"))),
        }
    }
    params.hashsize = params.hashsize.max(HASHSIZE_MIN).next_power_of_two();
    if let Some(text) = netmask {
        let full = if params.family == Some(Family::V6) { 128 } else { 32 };
        params.netmask = match parse_number(text, full).filter(|&n| n > 0) {
            // The whole address is the same as no mask.
            Some(n) => Some(n as u8).filter(|&n| u64::from(n) != full),
            None => {
                return Err(Fault::syntax(format!(
                    "'{text}' is out of range 1-{full}\nSyntax error: netmask is out of the inclusive range of 1-{full}"
                )));
            }
        };
    }
    match (kind, range) {
        (Kind::BitmapIp | Kind::BitmapPort, None) => {
            Err(Fault::Usage("Mandatory option `range' is missing".to_owned()))
        }
        (Kind::BitmapPort, Some(text)) => {
            params.port_range = Some(element::ports(text)?);
            Ok(params)
        }
        (Kind::BitmapIp, Some(text)) => {
            let (low, high) = element::addresses(Family::V4, text)?;
            let (IpAddr::V4(a), IpAddr::V4(b)) = (low, high) else { return Ok(params) };
            let step = 1_u64 << (32 - params.netmask.unwrap_or(32));
            if (u64::from(b.to_bits()) - u64::from(a.to_bits()) + 1).div_ceil(step) > BITMAP_MAX {
                return Err(SetError::RangeTooLarge.into());
            }
            params.ip_range = Some((low, high));
            Ok(params)
        }
        _ => Ok(params),
    }
}
