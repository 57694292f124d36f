//! `-m string`: bytes anywhere in the packet (`xt_string.c`, `skb_find_text`).

use super::prelude::*;

/// Longest pattern (`XT_STRING_MAX_PATTERN_SIZE`).
const PATTERN_MAX: usize = 128;
/// Default end of the search.
const TO: u16 = u16::MAX;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StringMatch(Box<Fields>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Fields {
    pattern: Vec<u8>,
    /// Name of the search algorithm; all find the same.
    algo: String,
    /// Offsets from the IP header between which the pattern must lie.
    from: u16,
    to: u16,
    ignore_case: bool,
    inverted: bool,
}

/// `|de ad|x`: hexadecimal between bars, text outside; `\` takes the next character as it is.
fn parse_hex(at: usize, text: &str) -> Result<Vec<u8>, ArgError> {
    let mut bytes = Vec::new();
    let mut chars = text.chars().peekable();
    let mut hex = false;
    while let Some(c) = chars.next() {
        match c {
            '|' => hex = !hex,
            ' ' if hex => {}
            c if hex => {
                let pair = c.to_digit(16).zip(chars.next().and_then(|d| d.to_digit(16)));
                let (high, low) = pair.ok_or_else(|| ArgError::at(at, "Odd number of literal digits"))?;
                bytes.push((high * 16 + low) as u8);
            }
            '\\' => {
                let next =
                    chars.next().ok_or_else(|| ArgError::at(at, "Bad literal placement at end of string"))?;
                bytes.extend(next.to_string().bytes());
            }
            c => bytes.extend(c.to_string().bytes()),
        }
    }
    if hex {
        return Err(ArgError::at(at, "Bad literal placement at end of string"));
    }
    Ok(bytes)
}

impl Fields {
    /// Bytes that cannot be printed, or a backslash at the end, make the tool print hexadecimal.
    fn is_hex(&self) -> bool {
        self.pattern.last() == Some(&b'\\') || self.pattern.iter().any(|b| !(0x20..0x7f).contains(b))
    }

    fn quoted(&self) -> String {
        if self.is_hex() {
            return format!("\"|{}|\"", self.pattern.iter().map(|b| format!("{b:02x}")).collect::<String>());
        }
        let mut out = String::from("\"");
        for &b in &self.pattern {
            if matches!(b, b'"' | b'\\') {
                out.push('\\');
            }
            out.push(char::from(b));
        }
        out.push('"');
        out
    }

    fn found(&self, bytes: &[u8]) -> bool {
        let (from, to) = (usize::from(self.from), usize::from(self.to).min(bytes.len()));
        let Some(area) = bytes.get(from..to) else { return false };
        area.windows(self.pattern.len().max(1)).any(|window| {
            if self.ignore_case {
                window.eq_ignore_ascii_case(&self.pattern)
            } else {
                window == &self.pattern[..]
            }
        })
    }
}

impl MatchExt for StringMatch {
    const SPEC: ExtSpec = ExtSpec::new("string", BOTH, "net/netfilter/xt_string.c").options(&[
        OptSpec::new("--from", Values::One),
        OptSpec::new("--to", Values::One),
        OptSpec::new("--algo", Values::One).mandatory(),
        OptSpec::new("--string", Values::One).negatable().excludes(&["--hex-string"]),
        OptSpec::new("--hex-string", Values::One).negatable().excludes(&["--string"]),
        OptSpec::new("--icase", Values::None),
    ]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let from = optional("string", args, "--from", 0, 65_535)?.unwrap_or(0) as u16;
        let to = optional("string", args, "--to", 0, 65_535)?.unwrap_or(u64::from(TO)) as u16;
        let (at, opt) = args
            .get("--string")
            .or_else(|| args.get("--hex-string"))
            .ok_or_else(|| ArgError::whole("STRING match: You must specify `--string' or `--hex-string'"))?;
        let pattern = if opt.name == "--string" {
            opt.values[0].as_bytes().to_vec()
        } else {
            parse_hex(at, opt.values[0])?
        };
        if pattern.len() > PATTERN_MAX {
            return Err(ArgError::at(at, format!("STRING too long \"{}\"", opt.values[0])));
        }
        let (_, algo) = args.require("--algo")?;
        if pattern.is_empty() || from > to {
            return Err(ArgError::kernel(Errno::Inval, "string: nothing to look for"));
        }
        if algo.values[0] == "fsm" {
            return Err(ArgError::kernel(Errno::Inval, "string: fsm takes no plain pattern"));
        }
        if !["bm", "kmp"].contains(&algo.values[0]) {
            return Err(ArgError::kernel(Errno::NoEnt, "string: no such search algorithm"));
        }
        Ok(Self(Box::new(Fields {
            pattern,
            algo: algo.values[0].to_owned(),
            from,
            to,
            ignore_case: args.has("--icase"),
            inverted: opt.inverted,
        })))
    }

    fn save(&self, out: &mut String) {
        let f = &*self.0;
        let option = if f.is_hex() { "--hex-string" } else { "--string" };
        let _ = write!(out, "{} {option} {} --algo {}", bang(f.inverted), f.quoted(), f.algo);
        if f.from != 0 {
            let _ = write!(out, " --from {}", f.from);
        }
        if f.to != TO {
            let _ = write!(out, " --to {}", f.to);
        }
        out.push_str(if f.ignore_case { " --icase" } else { "" });
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        let f = &*self.0;
        let bang = if f.inverted { "!" } else { "" };
        let _ = write!(out, " STRING match {bang} {} ALGO name {}", f.quoted(), f.algo);
        if f.from != 0 {
            let _ = write!(out, " FROM {}", f.from);
        }
        if f.to != TO {
            let _ = write!(out, " TO {}", f.to);
        }
        out.push_str(if f.ignore_case { " ICASE" } else { "" });
    }

    fn eval(&self, _: &mut Cx<'_>, skb: &Skb, _: Option<&mut RuleState>, why: &mut Why) -> MatchResult {
        let f = &*self.0;
        let found = f.found(&skb.packet.to_bytes());
        why.check(
            found != f.inverted,
            "--string",
            || if found { "found" } else { "not found" }.to_owned(),
            || format!("{}{}", not(f.inverted), f.quoted()),
        )
        .into()
    }
}
