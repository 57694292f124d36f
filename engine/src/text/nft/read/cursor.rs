//! A place in the tokens, up to a limit.

use crate::text::diag::Place;
use crate::text::nft::fault::Fault;
use crate::text::nft::lex::{Kind, Token};

/// Reads tokens up to `limit`; what stands there (a line break, a brace, the end) is seen but never taken.
#[derive(Clone, Copy, Debug)]
pub(in crate::text::nft) struct Cursor<'t, 'a> {
    tokens: &'t [Token<'a>],
    at: usize,
    limit: usize,
}

/// Tokens of a rule, a list of elements, ...: indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::text::nft) struct Stretch {
    pub(in crate::text::nft) from: usize,
    pub(in crate::text::nft) to: usize,
}

impl<'t, 'a> Cursor<'t, 'a> {
    pub(in crate::text::nft) fn new(tokens: &'t [Token<'a>], stretch: Stretch) -> Self {
        Self { tokens, at: stretch.from, limit: stretch.to.min(tokens.len() - 1) }
    }

    pub(in crate::text::nft) const fn index(&self) -> usize {
        self.at
    }

    pub(in crate::text::nft) const fn done(&self) -> bool {
        self.at >= self.limit
    }

    /// Tokens up to the limit.
    pub(in crate::text::nft) const fn left(&self) -> usize {
        self.limit.saturating_sub(self.at)
    }

    pub(in crate::text::nft) fn peek(&self) -> Token<'a> {
        self.tokens[self.at.min(self.limit)]
    }

    /// The token `ahead` places on; the one at the limit if that is beyond it.
    pub(in crate::text::nft) fn peek_at(&self, ahead: usize) -> Token<'a> {
        self.tokens[(self.at + ahead).min(self.limit)]
    }

    pub(in crate::text::nft) fn next(&mut self) -> Token<'a> {
        let token = self.peek();
        if !self.done() {
            self.at += 1;
        }
        token
    }

    /// The token read `back` tokens ago; 1 is the last one.
    pub(in crate::text::nft) fn token_before(&self, back: usize) -> Token<'a> {
        self.tokens[self.at.saturating_sub(back)]
    }

    /// Place of what was read last.
    pub(in crate::text::nft) fn last_place(&self) -> Place {
        self.tokens[self.at.saturating_sub(1)].place
    }

    /// Whether the next token is this word or mark, unquoted.
    pub(in crate::text::nft) fn sees(&self, text: &str) -> bool {
        let token = self.peek();
        !self.done() && token.text == text && !matches!(token.kind, Kind::Quoted | Kind::End)
    }

    pub(in crate::text::nft) fn eat(&mut self, text: &str) -> bool {
        let sees = self.sees(text);
        if sees {
            self.at += 1;
        }
        sees
    }

    pub(in crate::text::nft) fn expect(&mut self, text: &str) -> Result<Token<'a>, Fault> {
        if self.sees(text) { Ok(self.next()) } else { Err(self.unexpected()) }
    }

    /// `syntax error, unexpected ...` at the next token.
    pub(in crate::text::nft) fn unexpected(&self) -> Fault {
        let token = self.peek();
        Fault::syntax(token.place, &format!("unexpected {}", token.title()))
    }

    /// The next token, of this kind.
    pub(in crate::text::nft) fn take(&mut self, kind: Kind) -> Result<Token<'a>, Fault> {
        if !self.done() && self.peek().kind == kind { Ok(self.next()) } else { Err(self.unexpected()) }
    }

    /// A name or quoted text.
    pub(in crate::text::nft) fn string(&mut self) -> Result<Token<'a>, Fault> {
        if !self.done() && matches!(self.peek().kind, Kind::Word | Kind::Quoted | Kind::Number) {
            Ok(self.next())
        } else {
            Err(self.unexpected())
        }
    }

    /// A number, at most `max`.
    pub(in crate::text::nft) fn number(&mut self, max: u64) -> Result<u64, Fault> {
        let token = self.take(Kind::Number)?;
        let value = crate::text::nft::symbols::parse_number(token.text);
        value.and_then(|v| u64::try_from(v).ok()).filter(|v| *v <= max).ok_or_else(|| {
            Fault::at(token.place, format!("Value {} exceeds valid range 0-{max}", token.text))
        })
    }

    /// Gives the last token back.
    pub(in crate::text::nft) fn rewind(&mut self) {
        self.at = self.at.saturating_sub(1);
    }

    pub(in crate::text::nft) fn skip_breaks(&mut self) {
        while !self.done() && self.peek().kind == Kind::Break {
            self.at += 1;
        }
    }

    /// Takes everything up to a break or a closing brace that belongs to somebody outside.
    pub(in crate::text::nft) fn stretch(&mut self) -> Stretch {
        let from = self.at;
        let mut depth = 0_u32;
        while !self.done() {
            let token = self.peek();
            match (token.kind, token.text) {
                (Kind::Break, _) if depth == 0 => break,
                (Kind::Mark, "{") => depth += 1,
                (Kind::Mark, "}") if depth == 0 => break,
                (Kind::Mark, "}") => depth -= 1,
                _ => {}
            }
            self.at += 1;
        }
        Stretch { from, to: self.at }
    }

    /// A cursor over a part.
    pub(in crate::text::nft) fn within(&self, stretch: Stretch) -> Self {
        Self { tokens: self.tokens, at: stretch.from, limit: stretch.to.min(self.limit) }
    }

    /// The text from `from` to here as one line, single spaces between words; for what is kept and not understood.
    pub(in crate::text::nft) fn text_since(&self, from: usize) -> Box<str> {
        let mut out = String::new();
        let braces = self.tokens[from..self.at].iter().any(|t| t.text == "{" && t.kind == Kind::Mark);
        for (index, token) in self.tokens[from..self.at].iter().enumerate() {
            let behind_to = index > 0 && self.tokens[from + index - 1].text == "to";
            let before = index > 0 && self.tokens[from + index - 1].kind == Kind::Mark;
            let before = if before { self.tokens[from + index - 1].text } else { "" };
            // A colon stands alone in lists of pairs and belongs to a port elsewhere.
            let (tight, after) = if braces {
                (token.text == ",", false)
            } else {
                (
                    matches!(token.text, "," | "/" | ":") && !behind_to,
                    matches!(before, "," | "/" | ":" | "@" | "["),
                )
            };
            let tight = tight && token.kind == Kind::Mark;
            if index > 0 && !tight && !after && token.text != "]" {
                out.push(' ');
            }
            if token.kind == Kind::Quoted {
                out.push('"');
                out.push_str(token.text);
                out.push('"');
            } else {
                out.push_str(token.text);
            }
        }
        out.into()
    }
}
