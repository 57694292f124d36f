//! Text to tree. Owns tokens, precedence and the limits on size; not values.

use super::ExprError;

/// Longest expression accepted, bytes: a reference is a line, not a program.
const SOURCE_MAX_BYTES: usize = 2_000;
/// Deepest nesting accepted, so that recursion is bounded.
const DEPTH_MAX: usize = 32;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Expr {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    Name(String),
    Member(Box<Expr>, String),
    Index(Box<Expr>, Box<Expr>),
    Call { name: String, at: usize, args: Vec<Expr> },
    Not(Box<Expr>),
    Negate(Box<Expr>),
    Binary(Op, Box<Expr>, Box<Expr>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    Or,
    And,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Add,
    Sub,
    Mul,
    Div,
}

impl Expr {
    /// Names that are looked up among the runs.
    pub(super) fn names(&self, out: &mut Vec<String>) {
        match self {
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Text(_) => {}
            Self::Name(name) => out.push(name.clone()),
            Self::Member(of, _) | Self::Not(of) | Self::Negate(of) => of.names(out),
            Self::Index(of, by) => {
                of.names(out);
                by.names(out);
            }
            Self::Call { args, .. } => args.iter().for_each(|arg| arg.names(out)),
            Self::Binary(_, a, b) => {
                a.names(out);
                b.names(out);
            }
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Name(String),
    Number(f64),
    Text(String),
    Sign(&'static str),
}

/// Longest signs first, so that `<=` is not read as `<`.
const SIGNS: [&str; 17] =
    ["==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "(", ")", "[", "]", ",", ".", "="];

fn lex(source: &str) -> Result<Vec<(usize, Token)>, ExprError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(c) = source[at..].chars().next() {
        if c.is_whitespace() {
            at += c.len_utf8();
        } else if c.is_ascii_alphabetic() || c == '_' {
            let end = take(source, at, |c| c.is_ascii_alphanumeric() || c == '_');
            tokens.push((at, Token::Name(source[at..end].to_owned())));
            at = end;
        } else if c.is_ascii_digit() {
            let end = take(source, at, |c| c.is_ascii_digit() || c == '.');
            let number =
                source[at..end].parse().map_err(|_| ExprError::new(Some(at), "this is not a number"))?;
            tokens.push((at, Token::Number(number)));
            at = end;
        } else if c == '\'' {
            let end = take(source, at + 1, |c| c != '\'');
            if end == source.len() {
                return Err(ExprError::new(Some(at), "this text has no closing quote"));
            }
            tokens.push((at, Token::Text(source[at + 1..end].to_owned())));
            at = end + 1;
        } else if let Some(sign) = SIGNS.into_iter().find(|sign| source[at..].starts_with(sign)) {
            tokens.push((at, Token::Sign(sign)));
            at += sign.len();
        } else {
            return Err(ExprError::new(Some(at), format!("unexpected {c:?}")));
        }
    }
    Ok(tokens)
}

/// End of the run of characters from `at` that satisfy `keep`.
fn take(source: &str, at: usize, keep: impl Fn(char) -> bool) -> usize {
    source[at..].find(|c| !keep(c)).map_or(source.len(), |n| at + n)
}

pub(super) fn parse(source: &str) -> Result<Expr, ExprError> {
    if source.len() > SOURCE_MAX_BYTES {
        return Err(ExprError::new(None, format!("longer than {SOURCE_MAX_BYTES} bytes")));
    }
    let tokens = lex(source)?;
    let mut parser = Parser { tokens, next: 0, depth: 0, end: source.len() };
    let expr = parser.or()?;
    match parser.tokens.get(parser.next) {
        None => Ok(expr),
        Some((at, _)) => Err(ExprError::new(Some(*at), "expected an operator or the end")),
    }
}

struct Parser {
    tokens: Vec<(usize, Token)>,
    next: usize,
    depth: usize,
    end: usize,
}

impl Parser {
    fn at(&self) -> usize {
        self.tokens.get(self.next).map_or(self.end, |(at, _)| *at)
    }

    fn sign(&mut self, wanted: &str) -> bool {
        let hit = matches!(self.tokens.get(self.next), Some((_, Token::Sign(s))) if *s == wanted);
        self.next += usize::from(hit);
        hit
    }

    fn word(&mut self, wanted: &str) -> bool {
        let hit = matches!(self.tokens.get(self.next), Some((_, Token::Name(s))) if s == wanted);
        self.next += usize::from(hit);
        hit
    }

    fn expect(&mut self, wanted: &str) -> Result<(), ExprError> {
        if self.sign(wanted) {
            Ok(())
        } else {
            Err(ExprError::new(Some(self.at()), format!("expected `{wanted}`")))
        }
    }

    fn or(&mut self) -> Result<Expr, ExprError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(ExprError::new(Some(self.at()), format!("nested deeper than {DEPTH_MAX}")));
        }
        let mut left = self.and()?;
        while self.word("or") {
            left = binary(Op::Or, left, self.and()?);
        }
        self.depth -= 1;
        Ok(left)
    }

    fn and(&mut self) -> Result<Expr, ExprError> {
        let mut left = self.not()?;
        while self.word("and") {
            left = binary(Op::And, left, self.not()?);
        }
        Ok(left)
    }

    fn not(&mut self) -> Result<Expr, ExprError> {
        let mut negations = 0;
        while self.word("not") {
            negations += 1;
        }
        let compared = self.cmp()?;
        Ok((0..negations).fold(compared, |inner, _| Expr::Not(Box::new(inner))))
    }

    fn cmp(&mut self) -> Result<Expr, ExprError> {
        const OPS: [(&str, Op); 6] =
            [("==", Op::Eq), ("!=", Op::Ne), ("<=", Op::Le), (">=", Op::Ge), ("<", Op::Lt), (">", Op::Gt)];
        let left = self.sum()?;
        for (sign, op) in OPS {
            if self.sign(sign) {
                return Ok(binary(op, left, self.sum()?));
            }
        }
        if matches!(self.tokens.get(self.next), Some((_, Token::Sign("=")))) {
            return Err(ExprError::new(Some(self.at()), "`=` compares nothing here: write `==`"));
        }
        Ok(left)
    }

    fn sum(&mut self) -> Result<Expr, ExprError> {
        let mut left = self.product()?;
        loop {
            if self.sign("+") {
                left = binary(Op::Add, left, self.product()?);
            } else if self.sign("-") {
                left = binary(Op::Sub, left, self.product()?);
            } else {
                return Ok(left);
            }
        }
    }

    fn product(&mut self) -> Result<Expr, ExprError> {
        let mut left = self.unary()?;
        loop {
            if self.sign("*") {
                left = binary(Op::Mul, left, self.unary()?);
            } else if self.sign("/") {
                left = binary(Op::Div, left, self.unary()?);
            } else {
                return Ok(left);
            }
        }
    }

    fn unary(&mut self) -> Result<Expr, ExprError> {
        let mut negations = 0;
        while self.sign("-") {
            negations += 1;
        }
        let operand = self.postfix()?;
        Ok((0..negations).fold(operand, |inner, _| Expr::Negate(Box::new(inner))))
    }

    fn postfix(&mut self) -> Result<Expr, ExprError> {
        let mut expr = self.atom()?;
        loop {
            if self.sign(".") {
                let at = self.at();
                let Some((_, Token::Name(name))) = self.tokens.get(self.next).cloned() else {
                    return Err(ExprError::new(Some(at), "expected a member name after `.`"));
                };
                self.next += 1;
                expr = Expr::Member(Box::new(expr), name);
            } else if self.sign("[") {
                let index = self.or()?;
                self.expect("]")?;
                expr = Expr::Index(Box::new(expr), Box::new(index));
            } else {
                return Ok(expr);
            }
        }
    }

    fn atom(&mut self) -> Result<Expr, ExprError> {
        if self.sign("(") {
            let inner = self.or()?;
            self.expect(")")?;
            return Ok(inner);
        }
        let Some((at, token)) = self.tokens.get(self.next).cloned() else {
            return Err(ExprError::new(Some(self.end), "the expression ends too early"));
        };
        self.next += 1;
        Ok(match token {
            Token::Number(number) => Expr::Number(number),
            Token::Text(text) => Expr::Text(text),
            Token::Sign(sign) => return Err(ExprError::new(Some(at), format!("unexpected `{sign}`"))),
            Token::Name(name) => match name.as_str() {
                "true" => Expr::Bool(true),
                "false" => Expr::Bool(false),
                "null" => Expr::Null,
                _ if self.sign("(") => Expr::Call { name, at, args: self.arguments()? },
                _ => Expr::Name(name),
            },
        })
    }

    fn arguments(&mut self) -> Result<Vec<Expr>, ExprError> {
        let mut args = Vec::new();
        if self.sign(")") {
            return Ok(args);
        }
        loop {
            args.push(self.or()?);
            if self.sign(")") {
                return Ok(args);
            }
            self.expect(",")?;
        }
    }
}

fn binary(op: Op, left: Expr, right: Expr) -> Expr {
    Expr::Binary(op, Box::new(left), Box::new(right))
}
