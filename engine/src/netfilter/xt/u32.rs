//! `-m u32`: arithmetic on four bytes anywhere in the packet (`xt_u32.c`).

use super::prelude::*;

/// Operands of a location, ranges of a test, and tests of a rule (`XT_U32_MAXSIZE`).
const SIZE_MAX: usize = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    And,
    Left,
    Right,
    /// Moves on by the value found and reads there.
    At,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Test {
    /// Offset of the first four bytes from the IP header.
    start: u32,
    ops: Vec<(Op, u32)>,
    /// Both ends included.
    ranges: Vec<(u32, u32)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct U32 {
    tests: Box<[Test]>,
    inverted: bool,
}

impl Test {
    /// The value the location leads to; none when it lies outside the packet.
    fn value(&self, bytes: &[u8]) -> Option<u32> {
        let read = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?));
        let mut base = 0_usize;
        let mut value = read(self.start as usize)?;
        for &(op, number) in &self.ops {
            match op {
                Op::And => value &= number,
                Op::Left => value = value.wrapping_shl(number),
                Op::Right => value = value.wrapping_shr(number),
                Op::At => {
                    base = base.checked_add(value as usize)?;
                    value = read(base.checked_add(number as usize)?)?;
                }
            }
        }
        Some(value)
    }

    fn text(&self) -> String {
        let mut text = format!("{:#x}", self.start);
        for (op, number) in &self.ops {
            let sign = match op {
                Op::And => "&",
                Op::Left => "<<",
                Op::Right => ">>",
                Op::At => "@",
            };
            let _ = write!(text, "{sign}{number:#x}");
        }
        let ranges = self.ranges.iter().map(|&(low, high)| {
            if low == high { format!("{low:#x}") } else { format!("{low:#x}:{high:#x}") }
        });
        let _ = write!(text, "={}", ranges.collect::<Vec<_>>().join(","));
        text
    }
}

impl U32 {
    fn text(&self) -> String {
        self.tests.iter().map(Test::text).collect::<Vec<_>>().join("&&")
    }
}

/// Reads the expression from left to right, as the tool does.
struct Reader<'t> {
    text: &'t str,
    at: usize,
    opt: usize,
}

impl Reader<'_> {
    fn fail(&self, what: &str) -> ArgError {
        ArgError::at(self.opt, format!("u32: at char {}: {what}", self.at))
    }

    fn rest(&mut self) -> &str {
        let text = &self.text[self.at..];
        self.at += text.len() - text.trim_start().len();
        &self.text[self.at..]
    }

    fn take(&mut self, sign: &str) -> bool {
        let found = self.rest().starts_with(sign);
        if found {
            self.at += sign.len();
        }
        found
    }

    fn number(&mut self) -> Result<u32, ArgError> {
        let rest = self.rest();
        let len = rest.bytes().take_while(u8::is_ascii_alphanumeric).count();
        let value = parse_number(&rest[..len], u64::from(u32::MAX));
        let value = value.ok_or_else(|| self.fail("not a number or out of range"))?;
        self.at += len;
        Ok(value as u32)
    }

    fn test(&mut self) -> Result<Test, ArgError> {
        let start = self.number()?;
        let mut test = Test { start, ops: Vec::new(), ranges: Vec::new() };
        while !self.take("=") {
            let op = match () {
                () if self.rest().starts_with("&&") => return Err(self.fail("\"&&\" before any value")),
                () if self.take("&") => Op::And,
                () if self.take("<<") => Op::Left,
                () if self.take(">>") => Op::Right,
                () if self.take("@") => Op::At,
                () if self.rest().is_empty() => {
                    return Err(ArgError::at(self.opt, "u32: abrupt end of input after location specifier"));
                }
                () => return Err(self.fail("operator expected")),
            };
            test.ops.push((op, self.number()?));
            if test.ops.len() >= SIZE_MAX {
                return Err(self.fail("too many operators"));
            }
        }
        loop {
            let low = self.number()?;
            let high = if self.take(":") { self.number()? } else { low };
            test.ranges.push((low, high));
            if test.ranges.len() > SIZE_MAX {
                return Err(self.fail("too many ranges"));
            }
            if !self.take(",") {
                return Ok(test);
            }
        }
    }
}

impl MatchExt for U32 {
    const SPEC: ExtSpec =
        ExtSpec::new("u32", BOTH, "net/netfilter/xt_u32.c")
            .options(&[OptSpec::new("--u32", Values::One).negatable().mandatory()]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let (at, opt) = args.require("--u32")?;
        let mut reader = Reader { text: opt.values[0], at: 0, opt: at };
        let mut tests = Vec::new();
        loop {
            tests.push(reader.test()?);
            if tests.len() > SIZE_MAX {
                return Err(reader.fail("too many \"&&\"s"));
            }
            if !reader.take("&&") {
                break;
            }
        }
        if !reader.rest().is_empty() {
            return Err(reader.fail("expected \",\" or \"&&\""));
        }
        Ok(Self { tests: tests.into(), inverted: opt.inverted })
    }

    fn save(&self, out: &mut String) {
        let _ = write!(out, "{} --u32 \"{}\"", bang(self.inverted), self.text());
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        let _ = write!(out, " u32{} \"{}\"", bang(self.inverted), self.text());
    }

    fn eval(&self, _: &mut Cx<'_>, skb: &Skb, _: Option<&mut RuleState>, why: &mut Why) -> MatchResult {
        let bytes = skb.packet.to_bytes();
        let value_text = |value: Option<u32>| value.map_or("outside".to_owned(), |v| format!("{v:#x}"));
        let mut values = Vec::new();
        let found = self.tests.iter().all(|test| {
            let value = test.value(&bytes);
            if why.on {
                values.push(value_text(value));
            }
            value.is_some_and(|v| test.ranges.iter().any(|&(low, high)| low <= v && v <= high))
        });
        why.check(
            found != self.inverted,
            "--u32",
            || values.join(", "),
            || format!("{}{}", not(self.inverted), self.text()),
        )
        .into()
    }
}
