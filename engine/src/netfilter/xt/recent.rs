//! `-m recent`: named lists of addresses with the times they were seen (`xt_recent.c`).

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use super::jiffies::{HZ, jiffies};
use super::prelude::*;

/// Addresses a list holds before the oldest leaves (module parameter `ip_list_tot`).
const LIST_MAX: usize = 100;
/// Times kept of an address when no rule asks for more (module parameter `ip_pkt_list_tot`, rounded up).
const STAMPS: u32 = 32;
/// Most hits a rule may ask for (`XT_RECENT_MAX_NSTAMPS`).
const HITS_MAX: u64 = 65_535;
/// Longest list name (`XT_RECENT_NAME_LEN` less the terminator).
const NAME_MAX: usize = 199;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Set,
    Check,
    Update,
    Remove,
}

impl Action {
    const ALL: [(&str, &str, Self); 4] = [
        ("--set", "SET", Self::Set),
        ("--rcheck", "CHECK", Self::Check),
        ("--update", "UPDATE", Self::Update),
        ("--remove", "REMOVE", Self::Remove),
    ];
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recent(Box<Fields>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Fields {
    action: Action,
    inverted: bool,
    name: String,
    /// Zero: any age.
    seconds: u32,
    /// Zero: any number.
    hits: u32,
    reap: bool,
    ttl: bool,
    dest: bool,
    mask: IpAddr,
}

/// All lists of a namespace.
#[derive(Clone, Debug, Default)]
pub struct Lists {
    /// By family, then by name.
    lists: [BTreeMap<String, List>; 2],
}

impl Lists {
    /// Forgets the lists that no rule names any more (`recent_table_put`).
    pub fn retain(&mut self, named: impl Fn(Family, &str) -> bool) {
        for family in [Family::V4, Family::V6] {
            self.lists[family as usize].retain(|name, _| named(family, name));
        }
    }
}

#[derive(Clone, Debug)]
struct List {
    /// That of the rule that was loaded first.
    mask: IpAddr,
    /// Times kept of an address: a power of two.
    stamps_max: usize,
    /// From the longest unseen to the last seen.
    entries: Vec<Seen>,
}

#[derive(Clone, Debug)]
struct Seen {
    addr: IpAddr,
    ttl: u8,
    /// Jiffies, oldest first.
    stamps: VecDeque<u64>,
}

const ACTIONS: [&str; 4] = ["--set", "--rcheck", "--update", "--remove"];

impl Fields {
    /// Age of `stamp` is within `--seconds`.
    const fn fresh(&self, now: u64, stamp: u64) -> bool {
        self.seconds == 0 || now <= stamp + self.seconds as u64 * HZ
    }

    /// Removes the oldest entry of the list if its newest stamp is too old (`recent_entry_reap`).
    fn reap(&self, list: &mut List, now: u64, current: IpAddr, will_update: bool) {
        let Some(oldest) = list.entries.first() else { return };
        if will_update && oldest.addr == current {
            return;
        }
        if oldest.stamps.back().is_some_and(|&stamp| !self.fresh(now, stamp)) {
            list.entries.remove(0);
        }
    }

    /// Writes what `list` and `save` share, with the words of each.
    fn describe(&self, out: &mut String, seconds: &str, hits: &str, reap: &str, ttl: &str) {
        if self.seconds > 0 {
            let _ = write!(out, " {seconds} {}", self.seconds);
        }
        if self.reap {
            let _ = write!(out, " {reap}");
        }
        if self.hits > 0 {
            let _ = write!(out, " {hits} {}", self.hits);
        }
        if self.ttl {
            let _ = write!(out, " {ttl}");
        }
    }
}

impl Recent {
    /// The list it shares with other rules.
    pub fn list_name(&self) -> &str {
        &self.0.name
    }
}

impl MatchExt for Recent {
    const SPEC: ExtSpec = ExtSpec::new("recent", BOTH, "net/netfilter/xt_recent.c")
        .options(&[
            OptSpec::new("--set", Values::None).negatable().excludes(&ACTIONS),
            OptSpec::new("--rcheck", Values::None).negatable().excludes(&ACTIONS),
            OptSpec::new("--update", Values::None).negatable().excludes(&ACTIONS),
            OptSpec::new("--remove", Values::None).negatable().excludes(&ACTIONS),
            OptSpec::new("--seconds", Values::One),
            OptSpec::new("--reap", Values::None).requires(&["--seconds"]),
            OptSpec::new("--hitcount", Values::One),
            OptSpec::new("--rttl", Values::None).excludes(&["--set", "--remove"]),
            OptSpec::new("--name", Values::One),
            OptSpec::new("--rsource", Values::None),
            OptSpec::new("--rdest", Values::None),
            OptSpec::new("--mask", Values::One),
        ])
        .simplified("/proc/net/xt_recent is not shown");

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let seconds = optional("recent", args, "--seconds", 1, u64::from(u32::MAX))?.unwrap_or(0) as u32;
        let hits = optional("recent", args, "--hitcount", 0, u64::from(u32::MAX))?.unwrap_or(0);
        let mask = match args.get("--mask") {
            None => prefix_mask(args.family, 128),
            Some((at, opt)) => host(args.family, at, opt.values[0])?,
        };
        let action = Action::ALL
            .iter()
            .find_map(|&(option, _, action)| args.get(option).map(|(_, opt)| (action, opt.inverted)));
        let Some((action, inverted)) = action else {
            return Err(ArgError::whole(
                "recent: you must specify one of `--set', `--rcheck' `--update' or `--remove'",
            ));
        };
        let name = args.get("--name").map_or("DEFAULT", |(_, opt)| opt.values[0]);
        // The last of the two wins.
        let side = args.opts.iter().rev().find(|o| matches!(o.name, "--rsource" | "--rdest"));
        let fields = Fields {
            action,
            inverted,
            name: name.to_owned(),
            seconds,
            hits: hits as u32,
            reap: args.has("--reap"),
            ttl: args.has("--rttl"),
            dest: side.is_some_and(|o| o.name == "--rdest"),
            mask,
        };
        let counts = seconds > 0 || hits > 0;
        let kernel = |why: &str| Err(ArgError::kernel(Errno::Inval, why));
        if matches!(action, Action::Set | Action::Remove) && counts && !args.has("--rttl") {
            return kernel("recent: --seconds and --hitcount go with --rcheck and --update only");
        }
        if hits > HITS_MAX {
            return kernel("recent: hitcount is larger than allowed maximum");
        }
        if name.is_empty() || name.len() > NAME_MAX || name == "." || name == ".." || name.contains('/') {
            return kernel("recent: the name cannot be that of a file");
        }
        Ok(Self(Box::new(fields)))
    }

    fn save(&self, out: &mut String) {
        let f = &*self.0;
        let option = Action::ALL.iter().find(|a| a.2 == f.action).map_or("", |a| a.0);
        let _ = write!(out, "{} {option}", bang(f.inverted));
        f.describe(out, "--seconds", "--hitcount", "--reap", "--rttl");
        let side = if f.dest { "--rdest" } else { "--rsource" };
        let _ = write!(out, " --name {} --mask {} {side}", f.name, f.mask);
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        let f = &*self.0;
        let word = Action::ALL.iter().find(|a| a.2 == f.action).map_or("", |a| a.1);
        let _ = write!(out, "{} recent: {word}", bang(f.inverted));
        f.describe(out, "seconds:", "hit_count:", "reap", "TTL-Match");
        let side = if f.dest { "dest" } else { "source" };
        let _ = write!(out, " name: {} side: {side} mask: {}", f.name, f.mask);
    }

    fn prepare(&self, family: Family, shared: &mut Shared) {
        let f = &*self.0;
        let stamps_max = if f.hits > 0 { f.hits.next_power_of_two() } else { STAMPS } as usize;
        let made = || List { mask: f.mask, stamps_max, entries: Vec::new() };
        let list = shared.recent.lists[family as usize].entry(f.name.clone()).or_insert_with(made);
        // A rule that counts further than the list keeps flushes it.
        if stamps_max > list.stamps_max {
            list.stamps_max = stamps_max;
            list.entries.clear();
        }
    }

    fn eval(&self, cx: &mut Cx<'_>, skb: &Skb, _: Option<&mut RuleState>, why: &mut Why) -> MatchResult {
        let f = &*self.0;
        let ip = &skb.packet.ip;
        // The TTL before forwarding took one off.
        let forwarded = cx.outdev.is_some() && skb.indev.is_some();
        let ttl = ip.ttl.wrapping_add(u8::from(forwarded));
        let now = jiffies(cx.now);
        let lists = &mut cx.shared.recent.lists[cx.family as usize];
        let Some(list) = lists.get_mut(&f.name) else { return MatchResult::No };
        let addr = masked(if f.dest { ip.dst } else { ip.src }, list.mask);
        let at = list
            .entries
            .iter()
            .position(|e| e.addr == addr && (!f.ttl || e.ttl == ttl || ttl == 0 || e.ttl == 0));
        let (found, mut seen) = match (at, f.action) {
            (None, Action::Set) => {
                if list.entries.len() >= LIST_MAX {
                    list.entries.remove(0);
                }
                list.entries.push(Seen { addr, ttl, stamps: VecDeque::from([now]) });
                return why
                    .check(!f.inverted, "--set", || format!("{addr} added to {}", f.name), String::new)
                    .into();
            }
            (None, Action::Check | Action::Update | Action::Remove) => (false, String::new()),
            (Some(at), Action::Set) => {
                touch(list, at, ttl, now);
                (true, String::new())
            }
            (Some(at), Action::Remove) => {
                list.entries.remove(at);
                (true, String::new())
            }
            (Some(at), Action::Check | Action::Update) => {
                let stamps = &list.entries[at].stamps;
                let hits = stamps.iter().filter(|&&stamp| f.fresh(now, stamp)).count();
                let found = hits >= (f.hits as usize).max(1);
                let seen = if why.on { format!(", {hits} times in the window") } else { String::new() };
                let refresh = f.action == Action::Update && (found != f.inverted);
                if f.reap {
                    f.reap(list, now, addr, refresh);
                }
                if refresh && let Some(at) = list.entries.iter().position(|e| e.addr == addr) {
                    touch(list, at, ttl, now);
                }
                (found, seen)
            }
        };
        if at.is_none() {
            seen = String::from(", not in the list");
        }
        why.check(
            found != f.inverted,
            "-m recent",
            || format!("{addr} in {}{seen}", f.name),
            || {
                let mut want = String::new();
                self.save(&mut want);
                want.trim_start().to_owned()
            },
        )
        .into()
    }
}

/// `recent_entry_update`: a new stamp, and the young end of the list.
fn touch(list: &mut List, at: usize, ttl: u8, now: u64) {
    let mut entry = list.entries.remove(at);
    entry.ttl = ttl;
    entry.stamps.push_back(now);
    while entry.stamps.len() > list.stamps_max {
        entry.stamps.pop_front();
    }
    list.entries.push(entry);
}
