//! NAT statements: where to, and how.

use super::elements::{self, span_of};
use super::lower;
use super::rule::RuleReader;
use crate::netfilter::nft::{
    Data, Expr, L3, Nat, NatKind, SetData, SetRef, Span, Statement, TableFamily, Type,
};
use crate::text::diag::Place;
use crate::text::nft::fault::Fault;
use crate::text::nft::lex::Kind;

impl RuleReader<'_, '_, '_> {
    pub(super) fn nat(&mut self, kind: NatKind) -> Result<Statement, Fault> {
        let start = self.cur.next().place;
        let mut nat = Nat {
            kind,
            family: None,
            addr: None,
            port: None,
            random: false,
            fully_random: false,
            persistent: false,
            prefix: false,
            concat: false,
            interval: false,
        };
        let plain = matches!(kind, NatKind::Masquerade | NatKind::Redirect);
        if plain {
            if self.cur.eat("to") {
                let colon = self.cur.eat(":");
                if !colon && kind == NatKind::Masquerade {
                    let fault = self.cur.unexpected();
                    return Err(Fault { message: format!("{}, expecting colon", fault.message), ..fault });
                }
                nat.port = Some(self.nat_port()?);
            }
        } else {
            self.nat_target(&mut nat, start)?;
        }
        self.nat_flags(&mut nat)?;
        Ok(Statement::Nat(nat))
    }

    pub(super) fn nat_target(&mut self, nat: &mut Nat, start: Place) -> Result<(), Fault> {
        let stated = match self.cur.peek().text {
            "ip" if matches!(self.cur.peek_at(1).text, "to" | "prefix" | "addr" | "interval") => Some(L3::Ip),
            "ip6" if matches!(self.cur.peek_at(1).text, "to" | "prefix" | "addr" | "interval") => {
                Some(L3::Ip6)
            }
            _ => None,
        };
        if stated.is_some() {
            self.cur.next();
        }
        if self.cur.eat("addr") {
            self.cur.expect(".")?;
            self.cur.expect("port")?;
            nat.concat = true;
        }
        nat.interval = self.cur.eat("interval");
        nat.prefix = self.cur.eat("prefix");
        if nat.prefix {
            nat.interval = true;
        }
        self.cur.expect("to")?;
        if self.cur.done() {
            return Err(self.cur.unexpected());
        }
        if self.cur.sees(":") {
            self.cur.next();
            nat.port = Some(self.nat_port()?);
            return Ok(());
        }
        let l3 = stated.or(self.known.l3);
        if let (Some(stated), Some(known)) = (stated, self.known.l3)
            && stated != known
        {
            let message = format!(
                "conflicting protocols specified: {} vs. {}. You must specify ip or ip6 family in nat statement",
                known.name(),
                stated.name()
            );
            return Err(Fault::at(start, message));
        }
        let Some(l3) = l3 else {
            return Err(Fault::at(start, "ip or ip6 must be specified with address for inet tables."));
        };
        let ty = if l3 == L3::Ip { Type::Ipv4Addr } else { Type::Ipv6Addr };
        if self.sees_selector() {
            let key = self.left()?;
            self.cur.expect("map")?;
            let concat = nat.concat || self.map_data_is_concat();
            let types = if concat { vec![ty, Type::InetService] } else { vec![ty] };
            let map = self.reference(&key, &SetData::Values(types))?;
            if let SetRef::Named(name) = &map
                && let Some(set) = self.table.sets.get(name)
            {
                nat.concat = matches!(&set.data, SetData::Values(types) if types.len() > 1);
                nat.interval |= set.data_interval;
            } else {
                nat.concat = concat;
            }
            if let SetRef::Anonymous(set) = &map {
                nat.interval |= set.elements.by_key.values().any(|e| match &e.data {
                    Some(Data::Values(key)) => key.iter().any(|s| !s.is_one()),
                    _ => false,
                });
            }
            nat.addr = Some(Expr::Map { key: Box::new(key), map });
        } else {
            let bracket = self.cur.eat("[");
            let low = self.constant(ty)?;
            if bracket {
                self.cur.expect("]")?;
            }
            let mut span = Span::one(low);
            if self.cur.eat("-") {
                let bracket = self.cur.eat("[");
                let place = self.cur.peek().place;
                let high = self.constant(ty)?;
                if bracket {
                    self.cur.expect("]")?;
                }
                if high < low {
                    return Err(Fault::at(place, "Range has zero or negative size"));
                }
                span.high = high;
            } else if self.cur.eat("/") {
                let len = self.cur.number(128)? as u16;
                let place = self.cur.last_place();
                span = elements::prefix(ty, low, len)
                    .ok_or_else(|| Fault::at(place, "invalid prefix length"))?;
            }
            nat.addr = Some(lower::span_expr(ty, span));
        }
        if self.cur.sees(":") {
            self.cur.next();
            nat.port = Some(self.nat_port()?);
        }
        let shown = !matches!(self.family(), TableFamily::Ip | TableFamily::Ip6);
        nat.family = (shown || nat.concat || nat.interval).then_some(l3);
        Ok(())
    }

    /// Whether the first element of the map that begins here has an address and a port.
    pub(super) fn map_data_is_concat(&self) -> bool {
        let mut colon = false;
        for ahead in 1..self.cur.left() {
            let token = self.cur.peek_at(ahead);
            match (token.kind, token.text) {
                (Kind::Mark, ":") => colon = true,
                (Kind::Mark, ".") if colon => return true,
                (Kind::Mark, "," | "}") if colon => return false,
                (Kind::Mark, "}") => return false,
                _ => {}
            }
        }
        false
    }

    pub(super) fn nat_port(&mut self) -> Result<Expr, Fault> {
        let start = self.cur.peek().place;
        let known = self.knows_l4();
        let unknown = |until: Place| {
            let message = "transport protocol mapping is only valid after transport protocol match";
            Fault::at(span_of(start, until), message)
        };
        let ty = Type::InetService;
        if self.cur.done() {
            return Err(self.cur.unexpected());
        }
        if self.sees_selector() {
            let expr = self.left()?;
            if !self.knows_l4() {
                return Err(unknown(self.cur.last_place()));
            }
            if self.cur.eat("map") {
                let map = self.map_ref(&expr, &[ty])?;
                return Ok(Expr::Map { key: Box::new(expr), map });
            }
            return Ok(expr);
        }
        if !known {
            self.cur.next();
            return Err(unknown(self.cur.last_place()));
        }
        let span = elements::span(&mut self.cur, ty)?;
        Ok(lower::span_expr(ty, span))
    }

    pub(super) fn nat_flags(&mut self, nat: &mut Nat) -> Result<(), Fault> {
        loop {
            let flag = match self.cur.peek().text {
                _ if self.cur.done() => return Ok(()),
                "random" => &mut nat.random,
                "fully-random" => &mut nat.fully_random,
                "persistent" => &mut nat.persistent,
                _ => return Ok(()),
            };
            *flag = true;
            self.cur.next();
            if !self.cur.eat(",") {
                return Ok(());
            }
        }
    }
}
