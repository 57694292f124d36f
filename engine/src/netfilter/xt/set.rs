//! `-m set` and `-j SET`: membership in IP sets (`xt_set.c`).

use super::prelude::*;
use crate::netfilter::set::probe::{CounterOp, CounterTest, TestExt};
use crate::netfilter::set::{Directions, Probe};
use crate::trace::TraceKind;

/// Parts a rule may name (`IPSET_DIM_MAX`).
const PARTS_MAX: usize = 6;
/// Longest set name (`IPSET_MAXNAMELEN` less the terminator).
const NAME_MAX: usize = 31;

/// A set by name and the sides of the packet to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SetRef {
    name: String,
    directions: Directions,
}

impl SetRef {
    fn parse(at: usize, opt: &Opt<'_>) -> Result<Self, ArgError> {
        let [name, sides] = opt.values[..] else {
            return Err(ArgError::at(at, format!("{} requires two args.", opt.name)));
        };
        if name.len() > NAME_MAX {
            let why = format!("setname `{name}' too long, max {NAME_MAX} characters.");
            return Err(ArgError::at(at, why));
        }
        let mut directions = Directions { sources: 0, count: 0 };
        for side in sides.split(',') {
            if usize::from(directions.count) >= PARTS_MAX {
                let why = format!("Can't be more src/dst options than {PARTS_MAX}.");
                return Err(ArgError::at(at, why));
            }
            match side {
                "src" => directions.sources |= 1 << directions.count,
                "dst" => {}
                _ => {
                    return Err(ArgError::at(
                        at,
                        "You must spefify (the comma separated list of) 'src' or 'dst'.",
                    ));
                }
            }
            directions.count += 1;
        }
        Ok(Self { name: name.to_owned(), directions })
    }

    fn text(&self) -> String {
        let d = self.directions;
        let side = |part: u8| if d.sources & (1 << part) != 0 { "src" } else { "dst" };
        format!("{} {}", self.name, (0..d.count).map(side).collect::<Vec<_>>().join(","))
    }

    fn probe<'a>(&self, cx: &Cx<'a>, packet: &'a Packet) -> Probe<'a> {
        Probe {
            packet,
            directions: self.directions,
            in_dev: cx.indev.map(|d| d.name),
            out_dev: cx.outdev.map(|d| d.name),
            now: cx.now,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetMatch(Box<Fields>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Fields {
    set: SetRef,
    inverted: bool,
    ext: TestExt,
}

const PACKETS: [&str; 3] = ["--packets-eq", "--packets-lt", "--packets-gt"];
const BYTES: [&str; 3] = ["--bytes-eq", "--bytes-lt", "--bytes-gt"];

fn counter(args: &Parsed<'_>, options: [&str; 3], what: &str) -> Result<Option<CounterTest>, ArgError> {
    let mut given = args.opts.iter().enumerate().filter(|(_, o)| options.contains(&o.name));
    let Some((at, opt)) = given.next() else { return Ok(None) };
    if let Some((at, _)) = given.next() {
        return Err(ArgError::at(at, format!("only one of the --{what}-[eq|lt|gt] is allowed")));
    }
    let value = parse_number(opt.values[0], u64::MAX)
        .ok_or_else(|| ArgError::at(at, format!("Cannot parse {} as a counter value", opt.values[0])))?;
    let op = match options.iter().position(|o| *o == opt.name) {
        Some(0) if opt.inverted => CounterOp::NotEqual,
        Some(1) => CounterOp::Less,
        Some(2) => CounterOp::Greater,
        Some(_) | None => CounterOp::Equal,
    };
    Ok(Some(CounterTest { op, value }))
}

impl SetMatch {
    /// The set it asks about.
    pub fn set_name(&self) -> &str {
        &self.0.set.name
    }

    fn text(&self, out: &mut String, dashes: &str) {
        let f = &*self.0;
        let _ = write!(out, "{} {dashes}match-set {}", bang(f.inverted), f.set.text());
        if f.ext.return_nomatch {
            let _ = write!(out, " {dashes}return-nomatch");
        }
        if f.ext.keep_counters {
            let _ = write!(out, " ! {dashes}update-counters");
        }
        if f.ext.keep_subcounters {
            let _ = write!(out, " ! {dashes}update-subcounters");
        }
        for (what, test) in [("packets", f.ext.packets), ("bytes", f.ext.bytes)] {
            let Some(test) = test else { continue };
            let (bang, op) = match test.op {
                CounterOp::Equal => ("", "eq"),
                CounterOp::NotEqual => (" !", "eq"),
                CounterOp::Less => ("", "lt"),
                CounterOp::Greater => ("", "gt"),
            };
            let _ = write!(out, "{bang} {dashes}{what}-{op} {}", test.value);
        }
    }
}

impl MatchExt for SetMatch {
    const SPEC: ExtSpec = ExtSpec::new("set", BOTH, "net/netfilter/xt_set.c").unguided().options(&[
        OptSpec::new("--match-set", Values::Two).negatable().alias(&["--set"]),
        OptSpec::new("--return-nomatch", Values::None),
        OptSpec::new("--update-counters", Values::None).negatable(),
        OptSpec::new("--update-subcounters", Values::None).negatable(),
        OptSpec::new("--packets-eq", Values::One).negatable(),
        OptSpec::new("--packets-lt", Values::One),
        OptSpec::new("--packets-gt", Values::One),
        OptSpec::new("--bytes-eq", Values::One).negatable(),
        OptSpec::new("--bytes-lt", Values::One),
        OptSpec::new("--bytes-gt", Values::One),
    ]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let mut named = args.opts.iter().enumerate().filter(|(_, o)| o.name == "--match-set");
        let Some((at, opt)) = named.next() else {
            return Err(ArgError::whole("You must specify `--match-set' with proper arguments"));
        };
        if let Some((at, _)) = named.next() {
            return Err(ArgError::at(at, "--match-set can be specified only once"));
        }
        let keeps = |option| args.get(option).is_some_and(|(_, o)| o.inverted);
        let ext = TestExt {
            packets: counter(args, PACKETS, "packets")?,
            bytes: counter(args, BYTES, "bytes")?,
            keep_counters: keeps("--update-counters"),
            keep_subcounters: keeps("--update-subcounters"),
            return_nomatch: args.has("--return-nomatch"),
        };
        Ok(Self(Box::new(Fields { set: SetRef::parse(at, opt)?, inverted: opt.inverted, ext })))
    }

    fn save(&self, out: &mut String) {
        self.text(out, "--");
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        self.text(out, "");
    }

    fn eval(&self, cx: &mut Cx<'_>, skb: &Skb, _: Option<&mut RuleState>, why: &mut Why) -> MatchResult {
        let f = &*self.0;
        let probe = f.set.probe(cx, &skb.packet);
        let Some(within) = cx.shared.sets.test(&f.set.name, &probe, &f.ext) else {
            return MatchResult::Unknown;
        };
        why.check(
            within != f.inverted,
            "--match-set",
            || if within { "in the set" } else { "not in the set" }.to_owned(),
            || format!("{}{}", not(f.inverted), f.set.text()),
        )
        .into()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetTarget {
    add: Option<SetRef>,
    del: Option<SetRef>,
    exist: bool,
    /// Seconds.
    timeout: Option<u32>,
}

impl SetTarget {
    /// The sets it adds to and removes from.
    pub fn set_names(&self) -> [Option<&str>; 2] {
        [&self.add, &self.del].map(|set| set.as_ref().map(|s| s.name.as_str()))
    }

    fn text(&self, out: &mut String, dashes: &str) {
        for (option, set) in [("add-set", &self.add), ("del-set", &self.del)] {
            if let Some(set) = set {
                let _ = write!(out, " {dashes}{option} {}", set.text());
            }
            if option == "add-set" {
                if self.exist {
                    let _ = write!(out, " {dashes}exist");
                }
                if let Some(timeout) = self.timeout {
                    let _ = write!(out, " {dashes}timeout {timeout}");
                }
            }
        }
    }
}

impl TargetExt for SetTarget {
    const SPEC: ExtSpec = ExtSpec::new("SET", BOTH, "net/netfilter/xt_set.c")
        .unguided()
        .options(&[
            OptSpec::new("--add-set", Values::Two),
            OptSpec::new("--del-set", Values::Two),
            OptSpec::new("--map-set", Values::Two).absent("sets hold no skbinfo"),
            OptSpec::new("--exist", Values::None),
            OptSpec::new("--timeout", Values::One),
            OptSpec::new("--map-mark", Values::None).absent("sets hold no skbinfo"),
            OptSpec::new("--map-prio", Values::None).absent("sets hold no skbinfo"),
            OptSpec::new("--map-queue", Values::None).absent("sets hold no skbinfo"),
        ])
        .simplified("a full set with forceadd forgets its oldest element, not a random one");

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let set = |option| args.get(option).map(|(at, opt)| SetRef::parse(at, opt)).transpose();
        let (add, del, map) = (set("--add-set")?, set("--del-set")?, set("--map-set")?);
        if add.is_none() && del.is_none() && map.is_none() {
            return Err(ArgError::whole("You must specify either `--add-set' or `--del-set' or `--map-set'"));
        }
        if map.is_some() {
            let at = args.get("--map-mark").or(args.get("--map-prio")).or(args.get("--map-queue"));
            return Err(match at {
                Some((at, _)) => ArgError::not_emulated(at),
                None => {
                    ArgError::whole("You must specify flags `--map-mark' or '--map-prio` or `--map-queue'")
                }
            });
        }
        let timeout = match args.get("--timeout") {
            None => None,
            Some((at, opt)) => Some(parse_number(opt.values[0], u64::from(u32::MAX) - 1).ok_or_else(|| {
                ArgError::at(at, "Invalid value for option --timeout or out of range 0-4294967294")
            })? as u32),
        };
        Ok(Self { add, del, exist: args.has("--exist"), timeout })
    }

    fn save(&self, out: &mut String) {
        self.text(out, "--");
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        self.text(out, "");
    }

    fn apply(&self, cx: &mut Cx<'_>, skb: &mut Skb) -> Next {
        if let Some(set) = &self.add {
            let probe = set.probe(cx, &skb.packet);
            let done = cx.shared.sets.add_packet(&set.name, &probe, self.timeout, self.exist);
            note(cx, &set.name, if done { "element added to" } else { "nothing added to" });
        }
        if let Some(set) = &self.del {
            let probe = set.probe(cx, &skb.packet);
            let done = cx.shared.sets.del_packet(&set.name, &probe);
            note(cx, &set.name, if done { "element removed from" } else { "nothing removed from" });
        }
        Next::Continue
    }
}

fn note(cx: &mut Cx<'_>, set: &str, what: &str) {
    cx.trace.record(cx.now, || TraceKind::Note { text: format!("{what} set {set}") });
}
