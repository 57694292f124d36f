//! Words of the language: addresses, numbers, names, quoted text, marks. Line breaks are tokens: they end statements.
//!
//! As the tool's scanner, the longest reading wins: `fe80::1` is an address, `1-5` a number, a dash and a number, and
//! `service-a/b` one name. `define` variables are put in place here, so that the parser never sees a `$`.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use super::fault::Fault;
use crate::text::diag::Place;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Digits, or `0x` and digits.
    Number,
    /// A name, an address, a span of time.
    Word,
    /// Text between double quotes, without them.
    Quoted,
    Mark,
    /// A line break or a semicolon.
    Break,
    End,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    pub(super) text: &'a str,
    pub(super) place: Place,
}

impl Token<'_> {
    /// As the tool names it where it did not expect it.
    pub(super) fn title(&self) -> String {
        match self.kind {
            Kind::Number => "number".to_owned(),
            Kind::Word if is_keyword(self.text) => self.text.to_owned(),
            Kind::Word => "string".to_owned(),
            Kind::Quoted => "quoted string".to_owned(),
            Kind::Break if self.text == ";" => "semicolon".to_owned(),
            Kind::Break => "newline".to_owned(),
            Kind::End => "end of file".to_owned(),
            Kind::Mark => match self.text {
                "," => "comma".to_owned(),
                ":" => "colon".to_owned(),
                "-" | "/" | "." => self.text.to_owned(),
                mark => format!("'{mark}'"),
            },
        }
    }
}

/// Words that are never plain names.
const KEYWORDS: &[&str] = &[
    "accept",
    "add",
    "chain",
    "comment",
    "continue",
    "counter",
    "create",
    "ct",
    "define",
    "delete",
    "destroy",
    "dnat",
    "drop",
    "dup",
    "element",
    "fib",
    "flush",
    "fwd",
    "goto",
    "hook",
    "icmp",
    "icmpv6",
    "insert",
    "ip",
    "ip6",
    "jump",
    "limit",
    "list",
    "log",
    "map",
    "masquerade",
    "meta",
    "mod",
    "notrack",
    "numgen",
    "policy",
    "priority",
    "queue",
    "quota",
    "redirect",
    "reject",
    "replace",
    "return",
    "rule",
    "secmark",
    "set",
    "snat",
    "table",
    "tcp",
    "tproxy",
    "type",
    "udp",
    "update",
    "vmap",
    "elements",
    "flags",
    "timeout",
    "size",
    "mark",
    "iif",
    "oif",
];

fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(&word)
}

/// Tokens that expanding variables may add. A ruleset of nested definitions must not fill the memory.
const EXPANDED_MAX: usize = 1 << 20;

/// Splits a text and puts variables in place.
pub(super) fn lex(text: &str) -> Result<Vec<Token<'_>>, Fault> {
    let mut scanner = Scanner { text, at: 0, line: 1, line_start: 0, tokens: Vec::new() };
    scanner.run()?;
    expand(scanner.tokens)
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    line: u32,
    line_start: usize,
    tokens: Vec<Token<'a>>,
}

impl<'a> Scanner<'a> {
    fn place(&self, len: usize) -> Place {
        let column = self.text.get(self.line_start..self.at).map_or(0, |t| t.chars().count()) as u32 + 1;
        Place { line: self.line, column, len: len as u32 }
    }

    fn push(&mut self, kind: Kind, len: usize) {
        let text = &self.text[self.at..self.at + len];
        let place = self.place(text.chars().count());
        self.tokens.push(Token { kind, text, place });
        self.at += len;
    }

    fn run(&mut self) -> Result<(), Fault> {
        while let Some(c) = self.text[self.at..].chars().next() {
            let rest = &self.text[self.at..];
            match c {
                '\n' => {
                    self.push(Kind::Break, 1);
                    self.line += 1;
                    self.line_start = self.at;
                }
                ';' => self.push(Kind::Break, 1),
                ' ' | '\t' | '\r' => self.at += 1,
                '\\' if rest.starts_with("\\\n") || rest.starts_with("\\\r\n") => {
                    self.at += rest.find('\n').unwrap_or(0) + 1;
                    self.line += 1;
                    self.line_start = self.at;
                }
                '#' => self.at += rest.find('\n').unwrap_or(rest.len()),
                '"' => self.quoted(rest)?,
                _ => match word(rest) {
                    Some((kind, len)) => self.push(kind, len),
                    None => self.mark(rest)?,
                },
            }
        }
        let place = self.place(1);
        self.tokens.push(Token { kind: Kind::End, text: "", place });
        Ok(())
    }

    fn quoted(&mut self, rest: &'a str) -> Result<(), Fault> {
        let Some(len) = rest[1..].find('"') else {
            return Err(Fault::syntax(self.place(1), "unexpected junk"));
        };
        let text = &rest[1..=len];
        let place = self.place(text.chars().count() + 2);
        // The tool keeps what it read from a file as a C string, which ends at a NUL.
        let kept = text.split('\0').next().unwrap_or_default();
        self.tokens.push(Token { kind: Kind::Quoted, text: kept, place });
        for (index, _) in text.match_indices('\n') {
            self.line += 1;
            self.line_start = self.at + 1 + index + 1;
        }
        self.at += len + 2;
        Ok(())
    }

    fn mark(&mut self, rest: &str) -> Result<(), Fault> {
        const TWO: [&str; 6] = ["==", "!=", "<=", ">=", "<<", ">>"];
        if TWO.iter().any(|mark| rest.starts_with(mark)) {
            self.push(Kind::Mark, 2);
        } else if rest.starts_with(|c: char| "{}()[],=<>!&|^$@.:-/*+".contains(c)) {
            self.push(Kind::Mark, 1);
        } else {
            return Err(Fault::syntax(self.place(1), "unexpected junk"));
        }
        Ok(())
    }
}

/// The longest word at the beginning of `rest`.
fn word(rest: &str) -> Option<(Kind, usize)> {
    let candidates = [
        (Kind::Word, address6(rest)),
        (Kind::Word, ethernet(rest)),
        (Kind::Word, address4(rest)),
        (Kind::Word, classid(rest)),
        (Kind::Word, odd(rest)),
        (Kind::Number, number(rest)),
        (Kind::Word, span(rest)),
        (Kind::Word, name(rest)),
    ];
    let mut best = (Kind::Word, 0);
    for (kind, len) in candidates {
        if len > best.1 {
            best = (kind, len);
        }
    }
    (best.1 > 0).then_some(best)
}

fn run_of(rest: &str, of: impl Fn(u8) -> bool) -> usize {
    rest.bytes().take_while(|b| of(*b)).count()
}

/// Longest address in text: `xxxx:` seven times and a dotted quad.
const ADDRESS6_MAX: usize = 45;

fn address6(rest: &str) -> usize {
    let run = run_of(rest, |b| b.is_ascii_hexdigit() || b == b':' || b == b'.').min(ADDRESS6_MAX);
    if rest[..run].matches(':').count() < 2 {
        return 0;
    }
    (2..=run).rev().find(|len| rest[..*len].parse::<Ipv6Addr>().is_ok()).unwrap_or(0)
}

fn address4(rest: &str) -> usize {
    let run = run_of(rest, |b| b.is_ascii_digit() || b == b'.');
    let mut parts = 0;
    let mut len = 0;
    for part in rest[..run].split('.') {
        if part.is_empty() || part.len() > 3 || parts == 4 {
            break;
        }
        len += part.len() + usize::from(parts > 0);
        parts += 1;
    }
    if parts == 4 { len } else { 0 }
}

fn ethernet(rest: &str) -> usize {
    let run = run_of(rest, |b| b.is_ascii_hexdigit() || b == b':');
    let parts: Vec<&str> = rest[..run].split(':').collect();
    let fits = parts.len() == 6 && parts.iter().all(|p| (1..=2).contains(&p.len()));
    if fits { run } else { 0 }
}

/// `1:2`, `bcdd:cafe`: a traffic class. What follows must end it.
fn classid(rest: &str) -> usize {
    let major = run_of(rest, |b| b.is_ascii_hexdigit());
    if !(1..=4).contains(&major) || rest.as_bytes().get(major) != Some(&b':') {
        return 0;
    }
    let minor = run_of(&rest[major + 1..], |b| b.is_ascii_hexdigit());
    let len = major + 1 + minor;
    let ends = rest[len..].chars().next().is_none_or(|c| " \t\n:-},;".contains(c));
    if (1..=4).contains(&minor) && ends { len } else { 0 }
}

/// Symbols that begin with a digit.
fn odd(rest: &str) -> usize {
    ["8021ad", "8021q"].into_iter().find(|odd| rest.starts_with(odd)).map_or(0, str::len)
}

fn number(rest: &str) -> usize {
    if rest.starts_with("0x") || rest.starts_with("0X") {
        let digits = run_of(&rest[2..], |b| b.is_ascii_hexdigit());
        if digits > 0 {
            return digits + 2;
        }
    }
    run_of(rest, |b| b.is_ascii_digit())
}

/// A span of time: `1d2h3m4s5ms`.
fn span(rest: &str) -> usize {
    let mut len = 0;
    for unit in ["d", "h", "m", "s", "ms"] {
        let digits = run_of(&rest[len..], |b| b.is_ascii_digit());
        let after = &rest[len + digits..];
        if digits > 0 && after.starts_with(unit) && !(unit == "m" && after.starts_with("ms")) {
            len += digits + unit.len();
        }
    }
    len
}

/// A name, also one that ends with a star (`eth*`, `eth\*`).
fn name(rest: &str) -> usize {
    let begins = |b: u8| b.is_ascii_alphabetic() || b == b'_';
    let dotted = rest.starts_with('.') && rest.as_bytes().get(1).is_some_and(|b| begins(*b));
    if !dotted && !rest.bytes().next().is_some_and(begins) {
        return 0;
    }
    let len = run_of(rest, |b| b.is_ascii_alphanumeric() || b"/-_.".contains(&b));
    match &rest[len..] {
        r if r.starts_with('*') => len + 1,
        r if r.starts_with("\\*") => len + 2,
        _ => len,
    }
}

/// Takes `define`, `redefine` and `undefine` out and puts values for `$name`.
fn expand(tokens: Vec<Token<'_>>) -> Result<Vec<Token<'_>>, Fault> {
    let needed = |t: &Token<'_>| {
        matches!(t.text, "$" | "define" | "redefine" | "undefine" | "include")
            || (t.kind == Kind::Quoted && t.text.contains('$'))
    };
    if !tokens.iter().any(needed) {
        return Ok(tokens);
    }
    let mut known: BTreeMap<&str, Vec<Token<'_>>> = BTreeMap::new();
    let mut out = Vec::with_capacity(tokens.len());
    let mut added = 0;
    let mut at = 0;
    while at < tokens.len() {
        let token = tokens[at];
        let begins = out.last().is_none_or(|t: &Token<'_>| t.kind == Kind::Break || t.text == "{");
        let word = if begins && token.kind == Kind::Word { token.text } else { "" };
        match word {
            "include" => {
                return Err(Fault::at(token.place, "include is not emulated: paste the file's text instead"));
            }
            "define" | "redefine" => {
                let name = tokens.get(at + 1).filter(|t| t.kind == Kind::Word);
                let Some(name) = name else { return Err(unexpected(tokens.get(at + 1), token)) };
                if tokens.get(at + 2).is_none_or(|t| t.text != "=") {
                    return Err(unexpected(tokens.get(at + 2), token));
                }
                if word == "define" && known.contains_key(name.text) {
                    return Err(Fault::at(name.place, format!("redefinition of symbol '{}'", name.text)));
                }
                at += 3;
                let mut value = Vec::new();
                let mut depth = 0_u32;
                while let Some(&t) = tokens.get(at) {
                    match (t.kind, t.text) {
                        (Kind::End, _) => break,
                        (Kind::Break, _) if depth == 0 => break,
                        (Kind::Mark, "{") => depth += 1,
                        (Kind::Mark, "}") if depth == 0 => break,
                        (Kind::Mark, "}") => depth -= 1,
                        _ => {}
                    }
                    at += 1;
                    if t.kind == Kind::Mark && t.text == "$" {
                        at += variable(&tokens, at, &known, &mut value, &mut added)?;
                    } else {
                        value.push(t);
                    }
                }
                if value.is_empty() {
                    return Err(unexpected(tokens.get(at), token));
                }
                known.insert(name.text, value);
            }
            "undefine" => {
                let name = tokens.get(at + 1).filter(|t| t.kind == Kind::Word);
                let Some(name) = name else { return Err(unexpected(tokens.get(at + 1), token)) };
                known.remove(name.text);
                at += 2;
            }
            _ if token.kind == Kind::Mark && token.text == "$" => {
                at += 1;
                at += variable(&tokens, at, &known, &mut out, &mut added)?;
            }
            _ => {
                let is_prefix = out.last().is_some_and(|t| t.kind == Kind::Word && t.text == "prefix");
                if token.kind == Kind::Quoted && is_prefix {
                    in_prefix(token, &known)?;
                }
                out.push(token);
                at += 1;
            }
        }
    }
    Ok(out)
}

/// Puts the value of the variable named at `at`; the number of tokens its name takes.
fn variable<'a>(
    tokens: &[Token<'a>],
    at: usize,
    known: &BTreeMap<&str, Vec<Token<'a>>>,
    out: &mut Vec<Token<'a>>,
    added: &mut usize,
) -> Result<usize, Fault> {
    let Some(name) = tokens.get(at).filter(|t| t.kind == Kind::Word) else {
        let last = tokens[tokens.len() - 1];
        return Err(unexpected(tokens.get(at), last));
    };
    let Some(value) = known.get(name.text) else {
        return Err(Fault::at(name.place, format!("unknown identifier '{}'", name.text)));
    };
    *added += value.len();
    if *added > EXPANDED_MAX {
        return Err(Fault::at(name.place, "variables expand to more than a million words"));
    }
    // Messages speak of the place where the variable is used.
    out.extend(value.iter().map(|t| Token { place: name.place, ..*t }));
    Ok(1)
}

/// In the quotes of a log prefix, and nowhere else, a dollar sign begins a variable.
fn in_prefix(token: Token<'_>, known: &BTreeMap<&str, Vec<Token<'_>>>) -> Result<(), Fault> {
    let Some((_, behind)) = token.text.split_once('$') else { return Ok(()) };
    let name = behind.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
    Err(Fault::at(
        token.place,
        match known.contains_key(name) {
            true => {
                "a variable inside of a log prefix is not emulated: write out what it stands for".to_owned()
            }
            false => format!("unknown identifier '{name}'"),
        },
    ))
}

fn unexpected(token: Option<&Token<'_>>, or: Token<'_>) -> Fault {
    let token = token.unwrap_or(&or);
    Fault::syntax(token.place, &format!("unexpected {}", token.title()))
}

/// A dotted quad; numbers that begin with a zero are octal, as the C library reads them.
pub(super) fn parse_v4(text: &str) -> Option<Ipv4Addr> {
    let mut bytes = [0_u8; 4];
    let mut parts = text.split('.');
    for byte in &mut bytes {
        let part = parts.next()?;
        let octal = part.len() > 1 && part.starts_with('0');
        *byte = u8::from_str_radix(part, if octal { 8 } else { 10 }).ok()?;
    }
    parts.next().is_none().then(|| bytes.into())
}
