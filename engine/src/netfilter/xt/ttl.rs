//! `-m ttl`, `-m hl`, `-j TTL`, `-j HL`: time to live and hop limit (`xt_hl.c`, `xt_HL.c`).

use super::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Equal,
    NotEqual,
    Less,
    Greater,
}

/// What the match is called for a family.
struct Words {
    /// Name after `-m`, and in front of the guided parser's messages.
    ext: &'static str,
    /// `ttl` or `hl`, as the options begin.
    options: [&'static str; 3],
    /// `TTL` or `HL`.
    field: &'static str,
    missing: &'static str,
}

const TTL: Words = Words {
    ext: "ttl",
    options: ["--ttl-eq", "--ttl-lt", "--ttl-gt"],
    field: "TTL",
    missing: "TTL match: You must specify one of `--ttl-eq', `--ttl-lt', `--ttl-gt",
};

const HL: Words = Words {
    ext: "hl",
    options: ["--hl-eq", "--hl-lt", "--hl-gt"],
    field: "HL",
    missing: "HL match: You must specify one of `--hl-eq', `--hl-lt', `--hl-gt'",
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Test {
    relation: Relation,
    value: u8,
}

impl Test {
    fn parse(args: &Parsed<'_>, words: &Words) -> Result<Self, ArgError> {
        let Some(opt) = args.opts.first() else { return Err(ArgError::whole(words.missing)) };
        let value = number(words.ext, 0, opt, 0, 255)? as u8;
        let relation = match words.options.iter().position(|o| *o == opt.name) {
            Some(0) if opt.inverted => Relation::NotEqual,
            Some(0) | None => Relation::Equal,
            Some(1) => Relation::Less,
            Some(_) => Relation::Greater,
        };
        Ok(Self { relation, value })
    }

    const fn sign(self) -> &'static str {
        match self.relation {
            Relation::Equal => "==",
            Relation::NotEqual => "!=",
            Relation::Less => "<",
            Relation::Greater => ">",
        }
    }

    fn save(self, out: &mut String, words: &Words) {
        let [eq, lt, gt] = words.options;
        let _ = match self.relation {
            Relation::Equal => write!(out, " {eq} {}", self.value),
            Relation::NotEqual => write!(out, " ! {eq} {}", self.value),
            Relation::Less => write!(out, " {lt} {}", self.value),
            Relation::Greater => write!(out, " {gt} {}", self.value),
        };
    }

    fn list(self, out: &mut String, words: &Words) {
        let _ = write!(out, " {0} match {0} {1} {2}", words.field, self.sign(), self.value);
    }

    fn eval(self, have: u8, field: &'static str, why: &mut Why) -> MatchResult {
        let pass = match self.relation {
            Relation::Equal => have == self.value,
            Relation::NotEqual => have != self.value,
            Relation::Less => have < self.value,
            Relation::Greater => have > self.value,
        };
        why.check(pass, field, || have.to_string(), || format!("{} {}", self.sign(), self.value)).into()
    }
}

/// `-m ttl`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ttl(Test);

impl MatchExt for Ttl {
    const SPEC: ExtSpec = ExtSpec::new("ttl", ONLY_V4, "net/netfilter/xt_hl.c").options(&[
        OptSpec::new("--ttl-lt", Values::One).excludes(&TTL.options),
        OptSpec::new("--ttl-gt", Values::One).excludes(&TTL.options),
        OptSpec::new("--ttl-eq", Values::One)
            .negatable()
            .alias(&["--ttl-eq", "--ttl"])
            .excludes(&TTL.options),
    ]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        Test::parse(args, &TTL).map(Self)
    }

    fn save(&self, out: &mut String) {
        self.0.save(out, &TTL);
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        self.0.list(out, &TTL);
    }

    fn eval(&self, _: &mut Cx<'_>, skb: &Skb, _: Option<&mut RuleState>, why: &mut Why) -> MatchResult {
        self.0.eval(skb.packet.ip.ttl, "-m ttl", why)
    }
}

/// `-m hl`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hl(Test);

impl MatchExt for Hl {
    const SPEC: ExtSpec = ExtSpec::new("hl", ONLY_V6, "net/netfilter/xt_hl.c").options(&[
        OptSpec::new("--hl-lt", Values::One).excludes(&HL.options),
        OptSpec::new("--hl-gt", Values::One).excludes(&HL.options),
        OptSpec::new("--hl-eq", Values::One).negatable().excludes(&HL.options),
    ]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        Test::parse(args, &HL).map(Self)
    }

    fn save(&self, out: &mut String) {
        self.0.save(out, &HL);
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        self.0.list(out, &HL);
    }

    fn eval(&self, _: &mut Cx<'_>, skb: &Skb, _: Option<&mut RuleState>, why: &mut Why) -> MatchResult {
        self.0.eval(skb.packet.ip.ttl, "-m hl", why)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Set(u8),
    Increase(u8),
    Decrease(u8),
}

impl Change {
    /// `options`: set, inc, dec.
    fn parse(args: &Parsed<'_>, ext: &str, options: [&str; 3]) -> Result<Self, ArgError> {
        let Some(opt) = args.opts.first() else {
            return Err(ArgError::whole(format!("{ext}: You must specify an action")));
        };
        let min = u64::from(opt.name != options[0]);
        let value = number(ext, 0, opt, min, 255)? as u8;
        Ok(match options.iter().position(|o| *o == opt.name) {
            Some(0) | None => Self::Set(value),
            Some(1) => Self::Increase(value),
            Some(_) => Self::Decrease(value),
        })
    }

    fn save(self, out: &mut String, options: [&str; 3]) {
        let _ = match self {
            Self::Set(n) => write!(out, " {} {n}", options[0]),
            Self::Increase(n) => write!(out, " {} {n}", options[1]),
            Self::Decrease(n) => write!(out, " {} {n}", options[2]),
        };
    }

    fn list(self, out: &mut String, ext: &str) {
        let _ = match self {
            Self::Set(n) => write!(out, " {ext} set to {n}"),
            Self::Increase(n) => write!(out, " {ext} increment by {n}"),
            Self::Decrease(n) => write!(out, " {ext} decrement by {n}"),
        };
    }

    fn apply(self, cx: &mut Cx<'_>, skb: &mut Skb, ext: &str) -> Next {
        let before = skb.packet.ip.ttl;
        skb.packet.ip.ttl = match self {
            Self::Set(n) => n,
            Self::Increase(n) => before.saturating_add(n),
            Self::Decrease(n) => before.saturating_sub(n),
        };
        cx.rewrote(ext, "ttl", before, skb.packet.ip.ttl);
        Next::Continue
    }
}

const TTL_CHANGES: [&str; 3] = ["--ttl-set", "--ttl-inc", "--ttl-dec"];
const HL_CHANGES: [&str; 3] = ["--hl-set", "--hl-inc", "--hl-dec"];

/// `-j TTL`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TtlTarget(Change);

impl TargetExt for TtlTarget {
    const SPEC: ExtSpec =
        ExtSpec::new("TTL", ONLY_V4, "net/netfilter/xt_HL.c").tables(&["mangle"]).options(&[
            OptSpec::new("--ttl-set", Values::One).excludes(&TTL_CHANGES),
            OptSpec::new("--ttl-inc", Values::One).excludes(&TTL_CHANGES),
            OptSpec::new("--ttl-dec", Values::One).excludes(&TTL_CHANGES),
        ]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        Change::parse(args, "TTL", TTL_CHANGES).map(Self)
    }

    fn save(&self, out: &mut String) {
        self.0.save(out, TTL_CHANGES);
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        self.0.list(out, "TTL");
    }

    fn apply(&self, cx: &mut Cx<'_>, skb: &mut Skb) -> Next {
        self.0.apply(cx, skb, "TTL")
    }
}

/// `-j HL`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HlTarget(Change);

impl TargetExt for HlTarget {
    const SPEC: ExtSpec =
        ExtSpec::new("HL", ONLY_V6, "net/netfilter/xt_HL.c").tables(&["mangle"]).options(&[
            OptSpec::new("--hl-set", Values::One).excludes(&HL_CHANGES),
            OptSpec::new("--hl-inc", Values::One).excludes(&HL_CHANGES),
            OptSpec::new("--hl-dec", Values::One).excludes(&HL_CHANGES),
        ]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        Change::parse(args, "HL", HL_CHANGES).map(Self)
    }

    fn save(&self, out: &mut String) {
        self.0.save(out, HL_CHANGES);
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        self.0.list(out, "HL");
    }

    fn apply(&self, cx: &mut Cx<'_>, skb: &mut Skb) -> Next {
        self.0.apply(cx, skb, "HL")
    }
}
