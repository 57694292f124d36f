//! Expressions: selectors on the left, constants of a known type on the right.

use super::cursor::Cursor;
use super::rule::RuleReader;
use crate::netfilter::nft::field::{EXTENSION_HEADERS, HeaderSpec, IP_OPTIONS, TCP_OPTIONS};
use crate::netfilter::nft::{
    BinaryOp, CtKey, Direction, Expr, ExthdrField, FibKeys, FibResult, Hash, L3, MetaKey, Numgen, NumgenMode,
    Payload, PayloadBase, Proto, RtKey, StmtState, TableFamily, Type,
};
use crate::text::diag::Place;
use crate::text::nft::fault::Fault;
use crate::text::nft::lex::{Kind, Token};
use crate::text::nft::symbols;

/// Deepest nesting of parentheses and operators: a text of a million brackets must not exhaust the stack.
const NESTING_MAX: u32 = 32;

/// Meta keys that stand without the word `meta`.
const UNQUALIFIED: &[&str] = &[
    "mark",
    "iif",
    "iifname",
    "iiftype",
    "oif",
    "oifname",
    "oiftype",
    "skuid",
    "skgid",
    "nftrace",
    "rtclassid",
    "pkttype",
    "cpu",
    "iifgroup",
    "oifgroup",
    "cgroup",
    "ibrname",
    "obrname",
];

impl<'a> RuleReader<'_, '_, 'a> {
    /// Whether a selector begins here.
    pub(super) fn sees_selector(&self) -> bool {
        let token = self.cur.peek();
        if self.cur.done() {
            return false;
        }
        match token.kind {
            Kind::Mark => token.text == "@" && self.cur.peek_at(2).text == ",",
            Kind::Word => {
                Proto::ALL.iter().any(|p| p.name() == token.text)
                    || EXTENSION_HEADERS.iter().any(|h| h.name == token.text)
                    || UNQUALIFIED.contains(&token.text)
                    || matches!(
                        token.text,
                        "meta"
                            | "ct"
                            | "fib"
                            | "rt"
                            | "rt0"
                            | "rt2"
                            | "rt4"
                            | "exthdr"
                            | "numgen"
                            | "jhash"
                            | "symhash"
                            | "socket"
                            | "osf"
                            | "ipsec"
                            | "time"
                            | "day"
                            | "hour"
                    )
            }
            Kind::Number | Kind::Quoted | Kind::Break | Kind::End => false,
        }
    }

    /// `a . b . c` of selectors, or one with operators.
    pub(super) fn left(&mut self) -> Result<Expr, Fault> {
        let first = self.operators(None, 0)?;
        if !self.cur.sees(".") {
            return Ok(first);
        }
        let mut parts = vec![first];
        while self.cur.eat(".") {
            parts.push(self.operators(None, 0)?);
        }
        Ok(Expr::Concat(parts))
    }

    /// A value to set, of a type: a constant, a selector with operators, a map.
    pub(super) fn value_of(&mut self, ty: Type) -> Result<Expr, Fault> {
        let expr = if self.sees_concat() { self.left()? } else { self.operators(Some(ty), 0)? };
        if !self.cur.eat("map") {
            return Ok(expr);
        }
        let map = self.map_ref(&expr, &[ty])?;
        Ok(Expr::Map { key: Box::new(expr), map })
    }

    /// Whether a concatenation of selectors stands here, as far as the next word that cannot be in one.
    fn sees_concat(&self) -> bool {
        let mut ahead = 0;
        loop {
            let token = self.cur.peek_at(ahead);
            match (token.kind, token.text) {
                (Kind::Mark, ".") => return true,
                (Kind::Word | Kind::Number | Kind::Quoted, word) if ahead < 8 && word != "map" => ahead += 1,
                _ => return false,
            }
        }
    }

    /// Operators by their strength: shift, and, xor, or.
    pub(super) fn operators(&mut self, ty: Option<Type>, depth: u32) -> Result<Expr, Fault> {
        self.binary(ty, 0, depth)
    }

    fn binary(&mut self, ty: Option<Type>, level: usize, depth: u32) -> Result<Expr, Fault> {
        const LEVELS: [&[(&str, BinaryOp)]; 4] = [
            &[("|", BinaryOp::Or), ("or", BinaryOp::Or)],
            &[("^", BinaryOp::Xor), ("xor", BinaryOp::Xor)],
            &[("&", BinaryOp::And), ("and", BinaryOp::And)],
            &[
                ("<<", BinaryOp::Lshift),
                ("lshift", BinaryOp::Lshift),
                (">>", BinaryOp::Rshift),
                ("rshift", BinaryOp::Rshift),
            ],
        ];
        let Some(names) = LEVELS.get(level) else { return self.primary(ty, depth) };
        let mut left = self.binary(ty, level + 1, depth)?;
        while let Some((_, op)) = names.iter().find(|(name, _)| self.cur.sees(name)) {
            self.cur.next();
            let shift = matches!(op, BinaryOp::Lshift | BinaryOp::Rshift);
            let right_ty = if shift { Some(Type::Integer(32)) } else { left.ty().or(ty) };
            let right = self.binary(right_ty, level + 1, depth)?;
            left = join(*op, left, right);
        }
        Ok(left)
    }

    fn primary(&mut self, ty: Option<Type>, depth: u32) -> Result<Expr, Fault> {
        if depth > NESTING_MAX {
            return Err(Fault::at(self.cur.peek().place, "expressions are nested too deeply"));
        }
        if self.cur.eat("(") {
            let inner = self.binary(ty, 0, depth + 1)?;
            self.cur.expect(")")?;
            return Ok(inner);
        }
        let token = self.cur.peek();
        // `ecn` and `mark` are words of some types too: there the type decides.
        let is_symbol = ty.is_some_and(|ty| symbols::of(ty).iter().any(|(name, _)| *name == token.text));
        if self.sees_selector() && !is_symbol {
            return self.selector();
        }
        match ty {
            Some(ty) => {
                let value = self.constant(ty)?;
                Ok(Expr::Value { ty, value })
            }
            None if token.kind == Kind::Word => Err(Fault::at(token.place, "No symbol type information")),
            None => Err(self.cur.unexpected()),
        }
    }

    /// One constant of a type: a word, a number, quoted text.
    pub(super) fn constant(&mut self, ty: Type) -> Result<u128, Fault> {
        constant(&mut self.cur, ty)
    }

    fn word(&mut self) -> Result<Token<'a>, Fault> {
        self.cur.take(Kind::Word)
    }

    fn selector(&mut self) -> Result<Expr, Fault> {
        let token = self.cur.next();
        let place = token.place;
        if token.text == "@" {
            return self.raw(place);
        }
        if UNQUALIFIED.contains(&token.text) || matches!(token.text, "time" | "day" | "hour") {
            return self.meta_key(token.text, place);
        }
        match token.text {
            "meta" => {
                let key = self.cur.peek();
                if key.kind != Kind::Word {
                    return Err(self.cur.unexpected());
                }
                self.cur.next();
                self.meta_key(key.text, place)
            }
            "ct" => self.ct(place),
            "fib" => self.fib(),
            "numgen" => self.numgen(),
            "jhash" => {
                let key = self.left()?;
                self.hash(Some(Box::new(key)))
            }
            "symhash" => self.hash(None),
            "socket" | "osf" | "ipsec" => self.foreign(token.text),
            "exthdr" => {
                let name = self.word()?;
                let header = EXTENSION_HEADERS.iter().find(|h| h.name == name.text);
                let header = header.ok_or_else(|| Fault::syntax(name.place, "unexpected string"))?;
                self.needs_ip6(place)?;
                Ok(Expr::Exthdr(ExthdrField::Ipv6 { header, field: None }))
            }
            "rt" if matches!(
                self.cur.peek().text,
                "classid" | "nexthop" | "mtu" | "ipsec" | "ip" | "ip6"
            ) =>
            {
                self.rt(place)
            }
            "tcp" if self.cur.sees("option") => {
                self.cur.next();
                self.tcp_option()
            }
            "ip" if self.cur.sees("option") => {
                self.cur.next();
                let (option, field) = self.header_field(IP_OPTIONS)?;
                self.needs(Proto::Ip, place)?;
                Ok(Expr::Exthdr(ExthdrField::IpOption { option, field }))
            }
            "sctp" if self.cur.sees("chunk") => self.foreign("sctp chunk"),
            name => {
                if EXTENSION_HEADERS.iter().any(|h| h.name == name) && name != "ah" {
                    return self.extension_header(name, place);
                }
                match Proto::ALL.into_iter().find(|p| p.name() == name) {
                    Some(proto) => self.field(proto, place),
                    None => Err(Fault::syntax(place, &format!("unexpected {}", token.title()))),
                }
            }
        }
    }

    fn field(&mut self, proto: Proto, place: Place) -> Result<Expr, Fault> {
        let token = self.cur.peek();
        let mut name = token.text.to_owned();
        if proto == Proto::Arp && matches!(name.as_str(), "saddr" | "daddr") {
            name = format!("{name} {}", self.cur.peek_at(1).text);
        }
        // Fields whose bits are not a plain number are left to the raw form.
        let field = proto.field(&name).filter(|_| !self.cur.done());
        let Some(field) = field else { return Err(self.cur.unexpected()) };
        self.cur.next();
        if name.contains(' ') {
            self.cur.next();
        }
        let until = self.cur.last_place();
        let whole = Place { len: (until.column + until.len).saturating_sub(place.column), ..place };
        self.needs(proto, if until.line == place.line { whole } else { place })?;
        let ty = field.ty;
        let _ = ty;
        self.needs_type(proto, field.name);
        Ok(Expr::Payload(Payload::Field { proto, field }))
    }

    fn raw(&mut self, _: Place) -> Result<Expr, Fault> {
        let base = self.word()?;
        let base = match base.text {
            "ll" => PayloadBase::Link,
            "nh" => PayloadBase::Network,
            "th" => PayloadBase::Transport,
            "ih" => PayloadBase::Inner,
            _ => return Err(Fault::at(base.place, "unknown raw payload base")),
        };
        self.cur.expect(",")?;
        let offset_bits = self.cur.number(u16::MAX.into())? as u16;
        self.cur.expect(",")?;
        let place = self.cur.peek().place;
        let bits = self.cur.number(u16::MAX.into())? as u16;
        if bits == 0 || bits > 128 {
            return Err(Fault::at(place, "Could not process rule: Value too large for defined data type"));
        }
        Ok(Expr::Payload(Payload::Raw { base, offset_bits, bits }))
    }

    fn meta_key(&mut self, name: &str, place: Place) -> Result<Expr, Fault> {
        let name = match name {
            // 1.0.6 prints `secpath` under its newer name.
            "secpath" => "ipsec",
            name => name,
        };
        let key = if name == "ipsec" { Some(MetaKey::Secpath) } else { MetaKey::by_name(name) };
        let Some(key) = key else {
            return Err(Fault::syntax(
                place,
                &format!("unexpected {name}, known keys are {}", known_meta_keys()),
            ));
        };
        if key == MetaKey::Nfproto && matches!(self.family(), TableFamily::Ip | TableFamily::Ip6) {
            return Err(Fault::at(place, "meta nfproto is only useful in the inet family"));
        }
        Ok(Expr::Meta(key))
    }

    fn ct(&mut self, place: Place) -> Result<Expr, Fault> {
        let direction = match self.cur.peek().text {
            "original" => Some(Direction::Original),
            "reply" => Some(Direction::Reply),
            _ => None,
        };
        if direction.is_some() {
            self.cur.next();
        }
        let mut family = match self.cur.peek().text {
            "ip" => Some(L3::Ip),
            "ip6" => Some(L3::Ip6),
            _ => None,
        };
        if family.is_some() {
            self.cur.next();
        }
        let token = self.word()?;
        let name = if token.text == "protocol" { "protocol" } else { token.text };
        let Some(key) = CtKey::by_name(name) else {
            return Err(Fault::syntax(token.place, &format!("unexpected {}", token.title())));
        };
        if matches!(key, CtKey::Saddr | CtKey::Daddr) && family.is_none() {
            family = self.l3();
            if family.is_none() {
                let name = key.name();
                let message = format!(
                    "cannot determine ip protocol version, use \"ip {name}\" or \"ip6 {name}\" instead"
                );
                let until = token.place;
                let len = (until.column + until.len).saturating_sub(place.column);
                return Err(Fault::at(Place { len, ..place }, message));
            }
        }
        if let (Some(stated), Some(known)) = (family, self.l3())
            && stated != known
        {
            let message = format!("conflicting protocols specified: {} vs. {}", known.name(), stated.name());
            let len = (token.place.column + token.place.len).saturating_sub(place.column);
            return Err(Fault::at(Place { len, ..place }, message));
        }
        let direction = direction.filter(|_| key != CtKey::Protocol);
        if matches!(key, CtKey::ProtoSrc | CtKey::ProtoDst) && !self.knows_header() {
            return Err(Fault::at(self.cur.peek().place, "Can't parse symbolic invalid expressions"));
        }
        Ok(Expr::Ct { key, direction, family })
    }

    fn fib(&mut self) -> Result<Expr, Fault> {
        let mut keys = FibKeys::default();
        let place = self.cur.peek().place;
        loop {
            let token = self.word()?;
            let key = match token.text {
                "saddr" => &mut keys.saddr,
                "daddr" => &mut keys.daddr,
                "mark" => &mut keys.mark,
                "iif" => &mut keys.iif,
                "oif" => &mut keys.oif,
                _ => return Err(Fault::syntax(token.place, &format!("unexpected {}", token.title()))),
            };
            *key = true;
            if !self.cur.eat(".") {
                break;
            }
        }
        if keys.saddr && keys.daddr {
            return Err(Fault::at(place, "fib: saddr and daddr are mutually exclusive"));
        }
        if !keys.saddr && !keys.daddr {
            return Err(Fault::at(place, "fib: need either saddr or daddr"));
        }
        if keys.iif && keys.oif {
            return Err(Fault::at(place, "fib: iif and oif are mutually exclusive"));
        }
        let token = self.word()?;
        let result = match token.text {
            "oif" if matches!(self.cur.peek().text, "exists" | "missing") => FibResult::Present,
            "oif" => FibResult::Oif,
            "oifname" => FibResult::OifName,
            "type" => FibResult::Type,
            _ => return Err(Fault::syntax(token.place, &format!("unexpected {}", token.title()))),
        };
        Ok(Expr::Fib { keys, result })
    }

    fn rt(&mut self, place: Place) -> Result<Expr, Fault> {
        let mut family = match self.cur.peek().text {
            "ip" => Some(L3::Ip),
            "ip6" => Some(L3::Ip6),
            _ => None,
        };
        if family.is_some() {
            self.cur.next();
        }
        let token = self.word()?;
        let Some(key) = RtKey::by_name(token.text) else {
            return Err(Fault::syntax(token.place, &format!("unexpected {}", token.title())));
        };
        if key == RtKey::Nexthop && family.is_none() {
            family = self.l3();
            if family.is_none() {
                let message =
                    "cannot determine ip protocol version, use \"ip nexthop\" or \"ip6 nexthop\" instead";
                let len = (token.place.column + token.place.len).saturating_sub(place.column);
                return Err(Fault::at(Place { len, ..place }, message));
            }
        }
        if let (Some(stated), Some(known)) = (family, self.l3())
            && stated != known
        {
            let len = (token.place.column + token.place.len).saturating_sub(place.column);
            let message = format!("{} nexthop will not match", stated.name());
            return Err(Fault::at(Place { len, ..place }, message));
        }
        if key != RtKey::Nexthop {
            family = None;
        }
        Ok(Expr::Rt { key, family })
    }

    fn numgen(&mut self) -> Result<Expr, Fault> {
        let token = self.word()?;
        let mode = match token.text {
            "random" => NumgenMode::Random,
            "inc" => NumgenMode::Inc,
            _ => return Err(Fault::syntax(token.place, "unexpected string, expecting random or inc")),
        };
        let (modulus, offset) = self.modulus()?;
        let slot = self.state.allocate(match mode {
            NumgenMode::Random => StmtState::Random(None),
            NumgenMode::Inc => StmtState::Inc { count: 0 },
        });
        Ok(Expr::Numgen(Numgen { mode, modulus, offset, slot }))
    }

    fn modulus(&mut self) -> Result<(u32, u32), Fault> {
        self.cur.expect("mod")?;
        let place = self.cur.peek().place;
        let modulus = self.cur.number(u32::MAX.into())? as u32;
        if modulus == 0 {
            return Err(Fault::at(place, "Could not process rule: Numerical result out of range"));
        }
        let mut offset = 0;
        if self.cur.sees("offset") {
            self.cur.next();
            let place = self.cur.peek().place;
            offset = self.cur.number(u32::MAX.into())? as u32;
            if u64::from(offset) + u64::from(modulus) > u64::from(u32::MAX) + 1 {
                return Err(Fault::at(
                    place,
                    "Could not process rule: Value too large for defined data type",
                ));
            }
        }
        Ok((modulus, offset))
    }

    fn hash(&mut self, key: Option<Box<Expr>>) -> Result<Expr, Fault> {
        self.cur.expect("mod")?;
        let modulus = self.cur.number(u32::MAX.into())? as u32;
        let mut seed = None;
        if key.is_some() && self.cur.eat("seed") {
            seed = Some(self.cur.number(u32::MAX.into())? as u32);
        }
        let mut offset = 0;
        if self.cur.eat("offset") {
            offset = self.cur.number(u32::MAX.into())? as u32;
        }
        if modulus == 0 {
            return Err(Fault::at(
                self.cur.last_place(),
                "Could not process rule: Numerical result out of range",
            ));
        }
        Ok(Expr::Hash(Hash { key, modulus, seed, offset }))
    }

    fn header_field(
        &mut self,
        headers: &'static [HeaderSpec],
    ) -> Result<(&'static HeaderSpec, Option<&'static crate::netfilter::nft::FieldSpec>), Fault> {
        let name = self.word()?;
        let Some(header) = headers.iter().find(|h| h.name == name.text) else {
            return Err(Fault::syntax(name.place, &format!("unexpected {}", name.title())));
        };
        let field = header.fields.iter().find(|f| self.cur.sees(f.name));
        if field.is_some() {
            self.cur.next();
        } else if !matches!(self.cur.peek().text, "exists" | "missing") {
            return Err(self.cur.unexpected());
        }
        Ok((header, field))
    }

    /// The tool adds no match of the protocol: the kernel finds no option in a packet that is not TCP.
    fn tcp_option(&mut self) -> Result<Expr, Fault> {
        if self.cur.eat("@") {
            let kind = self.cur.number(255)? as u8;
            self.cur.expect(",")?;
            let offset_bits = self.cur.number(u16::MAX.into())? as u16;
            self.cur.expect(",")?;
            let bits = self.cur.number(128)? as u16;
            return Ok(Expr::Exthdr(ExthdrField::TcpRaw { kind, offset_bits, bits }));
        }
        let token = self.cur.peek();
        if token.kind == Kind::Number {
            let kind = self.cur.number(255)? as u8;
            return Ok(Expr::Exthdr(match TCP_OPTIONS.iter().find(|o| o.number == kind) {
                Some(option) => {
                    let field = option.fields.iter().find(|f| self.cur.sees(f.name));
                    if field.is_some() {
                        self.cur.next();
                    }
                    ExthdrField::TcpOption { option, number: 0, field }
                }
                None => ExthdrField::TcpRaw { kind, offset_bits: 0, bits: 0 },
            }));
        }
        let token = self.word()?;
        let (name, number) = match token.text {
            "sack-permitted" => ("sack-perm", 0),
            "sack0" => ("sack", 0),
            "sack1" => ("sack", 1),
            "sack2" => ("sack", 2),
            "sack3" => ("sack", 3),
            "mss" => ("maxseg", 0),
            name => (name, 0),
        };
        let Some(option) = TCP_OPTIONS.iter().find(|o| o.name == name) else {
            return Err(Fault::syntax(token.place, &format!("unexpected {}", token.title())));
        };
        let field = option.fields.iter().find(|f| self.cur.sees(f.name));
        if field.is_some() {
            self.cur.next();
        } else if !self.cur.done() && !matches!(self.cur.peek().text, "exists" | "missing") && !self.resets()
        {
            return Err(self.cur.unexpected());
        }
        Ok(Expr::Exthdr(ExthdrField::TcpOption { option, number, field }))
    }

    fn extension_header(&mut self, name: &str, place: Place) -> Result<Expr, Fault> {
        let Some(header) = EXTENSION_HEADERS.iter().find(|h| h.name == name) else {
            return Err(self.cur.unexpected());
        };
        let Some(field) = header.fields.iter().find(|f| self.cur.sees(f.name)) else {
            return Err(self.cur.unexpected());
        };
        self.cur.next();
        let until = self.cur.last_place();
        self.needs_ip6(Place { len: (until.column + until.len).saturating_sub(place.column), ..place })?;
        Ok(Expr::Exthdr(ExthdrField::Ipv6 { header, field: Some(field) }))
    }

    /// A selector of something that is not emulated: kept as its text, up to the value it is compared with.
    fn foreign(&mut self, name: &str) -> Result<Expr, Fault> {
        let name: &'static str = match name {
            "socket" => "socket",
            "osf" => "osf",
            "ipsec" => "ipsec",
            _ => "sctp chunk",
        };
        let from = self.cur.index() - 1;
        while !self.cur.done() && !self.statement_begins() {
            self.cur.next();
        }
        Ok(Expr::Foreign { name, text: self.cur.text_since(from) })
    }
}

/// `left op right`, folded where both are constants.
fn join(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    if let (Expr::Value { ty, value: a }, Expr::Value { value: b, .. }) = (&left, &right) {
        let ty = *ty;
        let shift = u32::try_from(*b).unwrap_or(u32::MAX);
        let value = match op {
            BinaryOp::And => a & b,
            BinaryOp::Or => a | b,
            BinaryOp::Xor => a ^ b,
            BinaryOp::Lshift => a.checked_shl(shift).unwrap_or(0) & ty.max(),
            BinaryOp::Rshift => a.checked_shr(shift).unwrap_or(0),
        };
        return Expr::Value { ty, value };
    }
    Expr::Binary { op, left: Box::new(left), right: Box::new(right) }
}

/// One constant of a type.
pub(super) fn constant(cur: &mut Cursor<'_, '_>, ty: Type) -> Result<u128, Fault> {
    let token = cur.peek();
    let fits = !cur.done() && matches!(token.kind, Kind::Word | Kind::Number | Kind::Quoted);
    // Words of statements are no names, unless the type knows them.
    let reserved = token.kind == Kind::Word
        && matches!(
            token.text,
            "accept" | "drop" | "return" | "continue" | "jump" | "goto" | "queue" | "counter" | "reject"
        )
        && !matches!(ty, Type::IfName | Type::Str | Type::IfIndex);
    if !fits || reserved {
        return Err(cur.unexpected());
    }
    cur.next();
    symbols::parse(ty, &token).map_err(|message| Fault::at(token.place, message))
}

fn known_meta_keys() -> String {
    "length, protocol, priority, mark, iif, oif, iifname, oifname, iiftype, oiftype, skuid, skgid, nftrace, \
     rtclassid, secmark, nfproto, l4proto, ibrname, obrname, pkttype, cpu, iifgroup, oifgroup, cgroup, random, ipsec, \
     iifkind, oifkind, ibrpvid, ibrvproto, time, day, hour, sdif, sdifname"
        .to_owned()
}
