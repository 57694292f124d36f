//! `-m hashlimit`: a token bucket for each address, port or both (`xt_hashlimit.c`, revision 3). Limits in bytes and
//! rate estimates are not emulated.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::header;
use super::jiffies::{HZ, jiffies};
use super::prelude::*;
use super::rate;

/// Credits a tick earns: the largest power of two with which a day's worth fits 64 bits.
const CREDITS_PER_JIFFY: u64 = 1 << 39;
/// Burst when none is given.
const BURST: u64 = 5;
/// Milliseconds between sweeps when not given.
const GC_INTERVAL_MS: u32 = 1_000;

/// What separates buckets, in the order printed.
const MODES: [(&str, u8); 4] = [("srcip", 1), ("srcport", 2), ("dstip", 4), ("dstport", 8)];
const SRC_IP: u8 = 1;
const SRC_PORT: u8 = 2;
const DST_IP: u8 = 4;
const DST_PORT: u8 = 8;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hashlimit(Box<Fields>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Fields {
    above: bool,
    name: String,
    /// Interval between packets, in microseconds.
    interval: u64,
    burst: u64,
    mode: u8,
    src_len: u8,
    dst_len: u8,
    size: u32,
    max: u32,
    gc_interval: u32,
    /// Milliseconds an untouched bucket lives.
    expire: u32,
    full_len: u8,
}

/// Source, destination, source port, destination port; unspecified where the mode does not look.
type Key = (Option<IpAddr>, Option<IpAddr>, u16, u16);

#[derive(Clone, Copy, Debug)]
struct Bucket {
    credit: u64,
    seen_jiffies: u64,
    expires_jiffies: u64,
}

/// All tables of a namespace, by name: rules of one name share one.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    /// By family, then by name.
    tables: [BTreeMap<String, Table>; 2],
}

/// Rate, mode and masks are those of the rule that was loaded first (`htable_create`).
#[derive(Clone, Debug)]
struct Table {
    made_by: Box<Fields>,
    buckets: BTreeMap<Key, Bucket>,
}

impl Tables {
    /// Forgets the tables that no rule names any more (`htable_put`).
    pub fn retain(&mut self, named: impl Fn(Family, &str) -> bool) {
        for family in [Family::V4, Family::V6] {
            self.tables[family as usize].retain(|name, _| named(family, name));
        }
    }
}

/// `user2credits` for a time in microseconds, with its 64-bit arithmetic.
const fn credits(time: u64) -> u64 {
    time.wrapping_mul(HZ * CREDITS_PER_JIFFY / rate::SCALE_FINE)
}

impl Fields {
    const fn cap(&self) -> u64 {
        credits(self.interval.wrapping_mul(self.burst))
    }

    /// `hashlimit_init_dst`; none asks for a hotdrop: the ports cannot be read.
    fn key(&self, family: Family, packet: &Packet) -> Option<Key> {
        let has = |bit| self.mode & bit != 0;
        let addr = |on: bool, addr, len| on.then(|| masked(addr, prefix_mask(family, len)));
        let (mut sport, mut dport) = (0, 0);
        if has(SRC_PORT) || has(DST_PORT) {
            let ported = [proto::TCP, proto::UDP, proto::UDPLITE, proto::SCTP, proto::DCCP];
            if ported.contains(&packet.ip.proto) {
                let ports = header::ports(packet)?;
                sport = if has(SRC_PORT) { ports.0 } else { 0 };
                dport = if has(DST_PORT) { ports.1 } else { 0 };
            }
        }
        let ip = &packet.ip;
        Some((addr(has(SRC_IP), ip.src, self.src_len), addr(has(DST_IP), ip.dst, self.dst_len), sport, dport))
    }

    fn modes(&self, separator: &str) -> String {
        let names: Vec<_> = MODES.iter().filter(|m| self.mode & m.1 != 0).map(|m| m.0).collect();
        names.join(separator)
    }

    /// What `save` and `list` print after the name, with the words of each.
    fn tail(&self, out: &mut String, unit_secs: u64, prefix: &str, masks: &str) {
        for (word, value, shown) in [
            ("htable-size", self.size, self.size != 0),
            ("htable-max", self.max, self.max != 0),
            ("htable-gcinterval", self.gc_interval, self.gc_interval != GC_INTERVAL_MS),
            ("htable-expire", self.expire, u64::from(self.expire) != unit_secs * 1_000),
        ] {
            if shown {
                let _ = write!(out, " {prefix}{word} {value}");
            }
        }
        for (word, len) in [("srcmask", self.src_len), ("dstmask", self.dst_len)] {
            if len != self.full_len {
                let _ = write!(out, " {masks}{word} {len}");
            }
        }
    }
}

impl Hashlimit {
    /// The table it shares with other rules.
    pub fn table(&self) -> &str {
        &self.0.name
    }
}

impl MatchExt for Hashlimit {
    const SPEC: ExtSpec = ExtSpec::new("hashlimit", BOTH, "net/netfilter/xt_hashlimit.c")
        .options(&[
            OptSpec::new("--hashlimit-upto", Values::One)
                .negatable()
                .excludes(&["--hashlimit-above"])
                .alias(&["--hashlimit-upto", "--hashlimit"]),
            OptSpec::new("--hashlimit-above", Values::One).negatable().excludes(&["--hashlimit-upto"]),
            OptSpec::new("--hashlimit-srcmask", Values::One),
            OptSpec::new("--hashlimit-dstmask", Values::One),
            OptSpec::new("--hashlimit-burst", Values::One),
            OptSpec::new("--hashlimit-htable-size", Values::One),
            OptSpec::new("--hashlimit-htable-max", Values::One),
            OptSpec::new("--hashlimit-htable-gcinterval", Values::One),
            OptSpec::new("--hashlimit-htable-expire", Values::One),
            OptSpec::new("--hashlimit-mode", Values::One),
            OptSpec::new("--hashlimit-name", Values::One).mandatory(),
            OptSpec::new("--hashlimit-rate-match", Values::None).absent("rate estimates are not emulated"),
            OptSpec::new("--hashlimit-rate-interval", Values::One).absent("rate estimates are not emulated"),
        ])
        .simplified("a bucket expires on time, not at the next sweep; --hashlimit-htable-max does not bound the table");

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        const MAX: u64 = u32::MAX as u64;
        let given = args.get("--hashlimit-upto").or_else(|| args.get("--hashlimit-above"));
        let Some((at, opt)) = given else {
            return Err(ArgError::whole("You have to specify --hashlimit"));
        };
        let text = opt.values[0];
        let bytes = text.contains("b/") || text.ends_with('b');
        if let Some((at, _)) = args
            .get("--hashlimit-rate-match")
            .or_else(|| args.get("--hashlimit-rate-interval"))
            .or(Some((at, opt)).filter(|_| bytes))
        {
            return Err(ArgError::not_emulated(at));
        }
        let said = if opt.name == "--hashlimit-upto" { "--hashlimit-upto" } else { "--hashlimit-above" };
        let Some((interval, unit_secs)) = rate::interval(text, rate::SCALE_FINE) else {
            let why = format!("hashlimit: Bad value for \"{said}\" option: \"{text}\"");
            return Err(ArgError::at(at, why));
        };
        if interval == 0 {
            return Err(ArgError::at(at, format!("Rate too fast \"{text}\"")));
        }
        let burst = match args.get("--hashlimit-burst") {
            None => BURST,
            Some((at, opt)) => {
                parse_number(opt.values[0], 1_000_000).filter(|&n| n > 0).ok_or_else(|| {
                    ArgError::at(
                        at,
                        "bad value for option \"--hashlimit-burst\", or out of range (1-1000000).",
                    )
                })?
            }
        };
        let mut mode = 0;
        if let Some((at, opt)) = args.get("--hashlimit-mode") {
            for word in opt.values[0].split(',') {
                let found = MODES.iter().find(|m| m.0 == word);
                mode |= found
                    .ok_or_else(|| {
                        let text = opt.values[0];
                        ArgError::at(
                            at,
                            format!("hashlimit: Bad value for \"--hashlimit-mode\" option: \"{text}\""),
                        )
                    })?
                    .1;
            }
        }
        let full_len = match args.family {
            Family::V4 => 32,
            Family::V6 => 128,
        };
        let word = |option, max| optional("hashlimit", args, option, 0, max);
        let len = |option| word(option, 128).map(|n| n.map_or(full_len, |n| n as u8));
        let fields = Fields {
            above: (opt.name == "--hashlimit-above") != opt.inverted,
            name: args.require("--hashlimit-name")?.1.values[0].to_owned(),
            interval,
            burst,
            mode,
            src_len: len("--hashlimit-srcmask")?,
            dst_len: len("--hashlimit-dstmask")?,
            size: word("--hashlimit-htable-size", MAX)?.unwrap_or(0) as u32,
            max: word("--hashlimit-htable-max", MAX)?.unwrap_or(0) as u32,
            gc_interval: word("--hashlimit-htable-gcinterval", MAX)?.unwrap_or(u64::from(GC_INTERVAL_MS))
                as u32,
            expire: word("--hashlimit-htable-expire", MAX)?.unwrap_or(unit_secs * 1_000) as u32,
            full_len,
        };
        if fields.src_len > full_len || fields.dst_len > full_len {
            return Err(ArgError::kernel(Errno::Inval, "hashlimit: the mask is longer than an address"));
        }
        if fields.cap() < credits(interval) {
            return Err(ArgError::kernel(Errno::Range, "hashlimit: rate and burst overflow; try lower ones"));
        }
        Ok(Self(Box::new(fields)))
    }

    fn save(&self, out: &mut String) {
        let f = &*self.0;
        let (rate, unit_secs) = rate::text(f.interval, rate::SCALE_FINE);
        let option = if f.above { "--hashlimit-above" } else { "--hashlimit-upto" };
        let _ = write!(out, " {option} {rate} --hashlimit-burst {}", f.burst);
        if f.mode != 0 {
            let _ = write!(out, " --hashlimit-mode {}", f.modes(","));
        }
        let _ = write!(out, " --hashlimit-name {}", f.name);
        f.tail(out, unit_secs, "--hashlimit-", "--hashlimit-");
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        let f = &*self.0;
        let (rate, unit_secs) = rate::text(f.interval, rate::SCALE_FINE);
        let word = if f.above { "above" } else { "up to" };
        let _ = write!(out, " limit: {word} {rate} burst {}", f.burst);
        if f.mode != 0 {
            let _ = write!(out, " mode {}", f.modes("-"));
        }
        f.tail(out, unit_secs, "", "");
    }

    fn prepare(&self, family: Family, shared: &mut Shared) {
        let made = || Table { made_by: self.0.clone(), buckets: BTreeMap::new() };
        shared.hashlimit.tables[family as usize].entry(self.0.name.clone()).or_insert_with(made);
    }

    fn eval(&self, cx: &mut Cx<'_>, skb: &Skb, _: Option<&mut RuleState>, why: &mut Why) -> MatchResult {
        let Some(table) = cx.shared.hashlimit.tables[cx.family as usize].get_mut(&self.0.name) else {
            return MatchResult::No;
        };
        // The rule's own say is only on which side of the rate it matches.
        let (f, above) = (&*table.made_by, self.0.above);
        let want = || {
            let word = if above { "above" } else { "up to" };
            format!("{word} {}", rate::text(f.interval, rate::SCALE_FINE).0)
        };
        let Some(key) = f.key(cx.family, &skb.packet) else {
            why.check(false, "-m hashlimit", || "no ports in the bytes".to_owned(), want);
            return MatchResult::Hotdrop;
        };
        let now = jiffies(cx.now);
        let expires = now + u64::from(f.expire) * HZ / 1_000;
        let full = Bucket { credit: f.cap(), seen_jiffies: now, expires_jiffies: expires };
        let bucket = table.buckets.entry(key).or_insert(full);
        if bucket.expires_jiffies < now {
            *bucket = full;
        }
        let earned = CREDITS_PER_JIFFY.saturating_mul(now - bucket.seen_jiffies);
        let have = bucket.credit.saturating_add(earned).min(f.cap());
        let cost = credits(f.interval);
        let within = have >= cost;
        *bucket = Bucket {
            credit: if within { have - cost } else { have },
            seen_jiffies: now,
            expires_jiffies: expires,
        };
        why.check(
            within != above,
            "-m hashlimit",
            || format!("{:.2} packets of credit", have as f64 / cost.max(1) as f64),
            want,
        )
        .into()
    }
}
