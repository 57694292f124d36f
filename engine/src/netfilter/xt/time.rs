//! `-m time`: date, day and time of arrival (`xt_time.c`). The kernel's time zone is UTC.

use super::prelude::*;

const DAY_SECS: u32 = 86_400;
/// Last second of a day: the default end of the daily window.
const DAY_END: u32 = DAY_SECS - 1;
/// Default end of the date window (`INT_MAX`), which is always printed by `save`.
const DATE_STOP: u32 = 0x7fff_ffff;

/// Monday is bit 1, Sunday bit 7.
const WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const ALL_WEEKDAYS: u8 = 0xfe;
/// Bits 1 to 31.
const ALL_MONTHDAYS: u32 = 0xffff_fffe;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Time(Box<Fields>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Fields {
    /// Seconds since the epoch, both ends included.
    date_start: u32,
    date_stop: u32,
    /// Seconds of the day, both ends included; the end may lie before the start.
    day_start: u32,
    day_stop: u32,
    weekdays: u8,
    monthdays: u32,
    contiguous: bool,
    kernel_zone: bool,
}

/// Year, month (1 to 12) and day of the month of a day number since the epoch (proleptic Gregorian).
const fn civil(days: i64) -> (i64, u32, u32) {
    // Years begin in March here, so that the leap day is the last one.
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1_460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let month = if mp < 10 { mp + 3 } else { mp - 9 } as u32;
    (yoe + era * 400 + (month <= 2) as i64, month, (doy - (153 * mp + 2) / 5 + 1) as u32)
}

/// The inverse of [`civil`].
const fn days_of(year: i64, month: u32, day: u32) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let yoe = year.rem_euclid(400);
    let mp = if month > 2 { month - 3 } else { month + 9 } as i64;
    let doy = (153 * mp + 2) / 5 + day as i64 - 1;
    era * 146_097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719_468
}

/// `YYYY[-MM[-DD[Thh[:mm[:ss]]]]]`.
fn parse_date(at: usize, text: &str) -> Result<u32, ArgError> {
    let bad = || {
        let why = format!("Invalid date \"{text}\" specified. Should be YYYY[-MM[-DD[Thh[:mm[:ss]]]]]");
        ArgError::at(at, why)
    };
    let (date, clock) = text.split_once('T').unwrap_or((text, ""));
    let field = |text: &str, low: u64, high: u64| {
        text.parse::<u64>().ok().filter(|n| (low..=high).contains(n)).map(|n| n as u32)
    };
    let mut date = date.split('-');
    let year = date.next().and_then(|t| field(t, 1970, 2038)).ok_or_else(bad)?;
    let month = date.next().map_or(Some(1), |t| field(t, 1, 12)).ok_or_else(bad)?;
    let day = date.next().map_or(Some(1), |t| field(t, 1, 31)).ok_or_else(bad)?;
    let mut clock = clock.split(':').filter(|t| !t.is_empty());
    let hour = clock.next().map_or(Some(0), |t| field(t, 0, 23)).ok_or_else(bad)?;
    let minute = clock.next().map_or(Some(0), |t| field(t, 0, 59)).ok_or_else(bad)?;
    let second = clock.next().map_or(Some(0), |t| field(t, 0, 59)).ok_or_else(bad)?;
    if date.next().is_some() || clock.next().is_some() {
        return Err(bad());
    }
    let secs = days_of(i64::from(year), month, day) * i64::from(DAY_SECS)
        + i64::from(hour * 3_600 + minute * 60 + second);
    u32::try_from(secs).map_err(|_| bad())
}

/// `hh:mm[:ss]`.
fn parse_clock(at: usize, text: &str) -> Result<u32, ArgError> {
    let bad = || {
        let why = format!(
            "invalid time \"{text}\" specified, should be hh:mm[:ss] format and within the boundaries"
        );
        ArgError::at(at, why)
    };
    let mut fields = text.split(':');
    let mut next = |high: u32| match fields.next() {
        None => Ok(None),
        Some(t) => t.parse().ok().filter(|&n| n <= high).map(Some).ok_or_else(bad),
    };
    let (hour, minute, second) = (next(23)?, next(59)?, next(59)?);
    match (hour, minute, fields.next()) {
        (Some(hour), Some(minute), None) => Ok(hour * 3_600 + minute * 60 + second.unwrap_or(0)),
        _ => Err(bad()),
    }
}

fn parse_weekdays(at: usize, text: &str) -> Result<u8, ArgError> {
    let mut days = 0_u16;
    for word in text.split(',') {
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            // Numbers out of range set bits that name no day.
            days |= word.parse::<u32>().ok().and_then(|n| 1_u16.checked_shl(n)).unwrap_or(0);
            continue;
        }
        // The first two letters decide.
        let named =
            WEEKDAYS.iter().position(|d| word.len() >= 2 && d.as_bytes()[..2] == word.as_bytes()[..2]);
        let named = named.ok_or_else(|| ArgError::at(at, format!("{word} is not a valid day specifier")))?;
        days |= 2 << named;
    }
    Ok(days as u8)
}

fn parse_monthdays(at: usize, text: &str) -> Result<u32, ArgError> {
    let mut days = 0;
    for word in text.split(',') {
        let day = parse_number(word, 31).filter(|&n| n > 0);
        days |=
            1 << day.ok_or_else(|| ArgError::at(at, format!("{word} is not a valid day for --monthdays")))?;
    }
    Ok(days)
}

fn clock_text(secs: u32) -> String {
    format!("{:02}:{:02}:{:02}", secs / 3_600, secs / 60 % 60, secs % 60)
}

fn date_text(secs: u32, separator: char) -> String {
    let (year, month, day) = civil(i64::from(secs / DAY_SECS));
    format!("{year}-{month:02}-{day:02}{separator}{}", clock_text(secs % DAY_SECS))
}

impl Fields {
    fn weekday_names(&self) -> String {
        let on = (1..=7).filter(|d| self.weekdays & (1 << d) != 0);
        on.map(|d| WEEKDAYS[d - 1]).collect::<Vec<_>>().join(",")
    }

    /// `suffixed`: `1st,2nd`, by the last digit alone, as the tool does it.
    fn monthday_names(&self, suffixed: bool) -> String {
        let on = (1..=31_u32).filter(|d| self.monthdays & (1 << d) != 0);
        let name = |d: u32| {
            let suffix = match d % 10 {
                _ if !suffixed => "",
                1 => "st",
                2 => "nd",
                3 => "rd",
                _ => "th",
            };
            format!("{d}{suffix}")
        };
        on.map(name).collect::<Vec<_>>().join(",")
    }

    const fn daily(&self) -> bool {
        self.day_start != 0 || self.day_stop != DAY_END
    }

    /// `time_mt`.
    fn holds(&self, secs: u64) -> bool {
        if secs < u64::from(self.date_start) || u64::from(self.date_stop) < secs {
            return false;
        }
        let mut days = (secs / u64::from(DAY_SECS)) as i64;
        let clock = (secs % u64::from(DAY_SECS)) as u32;
        if self.day_start < self.day_stop {
            if clock < self.day_start || self.day_stop < clock {
                return false;
            }
        } else {
            if clock < self.day_start && self.day_stop < clock {
                return false;
            }
            // After midnight the day on which the window began counts.
            if self.contiguous && clock <= self.day_stop {
                days -= 1;
            }
        }
        // 1 January 1970 was a Thursday.
        let weekday = (days + 3).rem_euclid(7) + 1;
        let (_, _, monthday) = civil(days);
        self.weekdays & (1 << weekday) != 0 && self.monthdays & (1 << monthday) != 0
    }
}

impl MatchExt for Time {
    const SPEC: ExtSpec = ExtSpec::new("time", BOTH, "net/netfilter/xt_time.c").options(&[
        OptSpec::new("--datestart", Values::One),
        OptSpec::new("--datestop", Values::One),
        OptSpec::new("--timestart", Values::One),
        OptSpec::new("--timestop", Values::One),
        OptSpec::new("--contiguous", Values::None),
        OptSpec::new("--monthdays", Values::One).negatable(),
        OptSpec::new("--weekdays", Values::One).negatable(),
        OptSpec::new("--utc", Values::None).excludes(&["--kerneltz"]),
        OptSpec::new("--kerneltz", Values::None).excludes(&["--utc"]),
    ]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let mut f = Fields {
            date_start: 0,
            date_stop: DATE_STOP,
            day_start: 0,
            day_stop: DAY_END,
            weekdays: ALL_WEEKDAYS,
            monthdays: ALL_MONTHDAYS,
            contiguous: args.has("--contiguous"),
            kernel_zone: args.has("--kerneltz"),
        };
        for (at, opt) in args.opts.iter().enumerate() {
            let text = opt.values.first().copied().unwrap_or("");
            match opt.name {
                "--datestart" => f.date_start = parse_date(at, text)?,
                "--datestop" => f.date_stop = parse_date(at, text)?,
                "--timestart" => f.day_start = parse_clock(at, text)?,
                "--timestop" => f.day_stop = parse_clock(at, text)?,
                "--weekdays" => {
                    let days = parse_weekdays(at, text)?;
                    f.weekdays = if opt.inverted { days ^ ALL_WEEKDAYS } else { days };
                }
                "--monthdays" => {
                    let days = parse_monthdays(at, text)?;
                    f.monthdays = if opt.inverted { days ^ ALL_MONTHDAYS } else { days };
                }
                _ => {}
            }
        }
        if f.contiguous && f.day_start < f.day_stop {
            return Err(ArgError::whole(
                "time: --contiguous only makes sense when stoptime is smaller than starttime",
            ));
        }
        Ok(Self(Box::new(f)))
    }

    fn save(&self, out: &mut String) {
        let f = &*self.0;
        if f.daily() {
            let (start, stop) = (clock_text(f.day_start), clock_text(f.day_stop));
            let _ = write!(out, " --timestart {start} --timestop {stop}");
        }
        if f.monthdays != ALL_MONTHDAYS {
            let _ = write!(out, " --monthdays {}", f.monthday_names(false));
        }
        if f.weekdays != ALL_WEEKDAYS {
            let _ = write!(out, " --weekdays {}", f.weekday_names());
        }
        if f.date_start != 0 {
            let _ = write!(out, " --datestart {}", date_text(f.date_start, 'T'));
        }
        let _ = write!(out, " --datestop {}", date_text(f.date_stop, 'T'));
        out.push_str(if f.kernel_zone { " --kerneltz" } else { "" });
        out.push_str(if f.contiguous { " --contiguous" } else { "" });
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        let f = &*self.0;
        out.push_str(" TIME");
        if f.daily() {
            let _ = write!(out, " from {} to {}", clock_text(f.day_start), clock_text(f.day_stop));
        }
        if f.weekdays != ALL_WEEKDAYS {
            let _ = write!(out, " on {}", f.weekday_names());
        }
        if f.monthdays != ALL_MONTHDAYS {
            let _ = write!(out, " on {}", f.monthday_names(true));
        }
        if f.date_start != 0 {
            let _ = write!(out, " starting from {}", date_text(f.date_start, ' '));
        }
        if f.date_stop != DATE_STOP {
            let _ = write!(out, " until date {}", date_text(f.date_stop, ' '));
        }
        out.push_str(if f.kernel_zone { "" } else { " UTC" });
        out.push_str(if f.contiguous { " contiguous" } else { "" });
    }

    fn eval(&self, cx: &mut Cx<'_>, _: &Skb, _: Option<&mut RuleState>, why: &mut Why) -> MatchResult {
        let secs = cx.epoch_secs.saturating_add(cx.now.0 / 1_000_000_000);
        why.check(
            self.0.holds(secs),
            "-m time",
            || u32::try_from(secs).map_or_else(|_| secs.to_string(), |s| date_text(s, ' ')),
            || {
                let mut text = String::new();
                self.list(&mut text, ListFlags::default());
                text.trim_start_matches(" TIME").trim_start().to_owned()
            },
        )
        .into()
    }
}
