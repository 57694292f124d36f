//! Rates of `limit` and `hashlimit`: `5/min` and back (`parse_rate`, `print_rate` of iptables).

use super::args::abbreviates;

/// Units of a second of `limit` (`XT_LIMIT_SCALE`) and of `hashlimit` (`XT_HASHLIMIT_SCALE_v2`).
pub(super) const SCALE: u64 = 10_000;
pub(super) const SCALE_FINE: u64 = 1_000_000;

const UNITS: [(&str, u64); 4] = [("day", 86_400), ("hour", 3_600), ("min", 60), ("sec", 1)];

/// The interval between packets in `1/scale` s, and the seconds of the unit named. The interval is zero when
/// the rate is too fast; none when it cannot be read.
pub(super) fn interval(text: &str, scale: u64) -> Option<(u64, u64)> {
    let (number, unit) = text.split_once('/').unwrap_or((text, "second"));
    let seconds = match unit {
        "" => return None,
        unit if abbreviates(unit, "second") => 1,
        unit if abbreviates(unit, "minute") => 60,
        unit if abbreviates(unit, "hour") => 3_600,
        unit if abbreviates(unit, "day") => 86_400,
        _ => return None,
    };
    // As atoi: the digits in front count.
    let digits = number.bytes().take_while(u8::is_ascii_digit).count();
    let packets: u64 = number[..digits].parse().ok().filter(|&n| n > 0)?;
    Some((scale * seconds / packets, seconds))
}

/// The rate of an interval in the largest unit that says it well, and the seconds of that unit.
pub(super) fn text(interval: u64, scale: u64) -> (String, u64) {
    let interval = interval.max(1);
    let mut best = 0;
    for (i, (_, seconds)) in UNITS.iter().enumerate().skip(1) {
        let unit = seconds * scale;
        if interval > unit || unit / interval < unit % interval {
            break;
        }
        best = i;
    }
    let (name, seconds) = UNITS[best];
    (format!("{}/{name}", seconds * scale / interval), seconds)
}
