//! Rates of `limit` and `hashlimit`: `5/min` and back (`parse_rate`, `print_rate` of iptables).

use super::args::abbreviates;

/// Units of a second (`XT_LIMIT_SCALE`).
pub(super) const SCALE: u32 = 10_000;

const UNITS: [(&str, u32); 4] = [("day", 86_400), ("hour", 3_600), ("min", 60), ("sec", 1)];

/// The interval between packets, in 1/10000 s: zero when the rate is too fast, none when it cannot be read.
pub(super) fn interval(text: &str) -> Option<u32> {
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
    let packets: u32 = number[..digits].parse().ok().filter(|&n| n > 0)?;
    Some(SCALE * seconds / packets)
}

/// The rate of an interval, in the largest unit that says it well.
pub(super) fn text(interval: u32) -> String {
    let interval = interval.max(1);
    let mut best = 0;
    for (i, (_, seconds)) in UNITS.iter().enumerate().skip(1) {
        let unit = seconds * SCALE;
        if interval > unit || unit / interval < unit % interval {
            break;
        }
        best = i;
    }
    format!("{}/{}", UNITS[best].1 * SCALE / interval, UNITS[best].0)
}
