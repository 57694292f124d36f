//! Blocks of tables and chains, in a listing or in a command.

use super::Reader;
use crate::netfilter::nft::{ChainKind, NftHook, Policy, TableFamily};
use crate::text::diag::Place;
use crate::text::nft::fault::Fault;
use crate::text::nft::lex::Kind;
use crate::text::nft::priority;
use crate::text::nft::read::cursor::Stretch;
use crate::text::nft::read::elements;
use crate::text::nft::read::op::{BaseDecl, ChainDecl, Mode, Named, Op};

impl Reader<'_, '_> {
    /// A table, alone or with a block: chains, objects, sets, then rules, in the order the tool sends them.
    pub(super) fn table(&mut self, mode: Mode) -> Result<(), Fault> {
        let table = self.table_id()?;
        if !self.cur.eat("{") {
            self.ops.push(Op::AddTable { table, mode, dormant: None, comment: None });
            return Ok(());
        }
        let (mut dormant, mut comment) = (false, None);
        let mut chains = Vec::new();
        let mut objects = Vec::new();
        let mut sets = Vec::new();
        let mut flowtables = Vec::new();
        let mut rules = Vec::new();
        loop {
            self.cur.skip_breaks();
            if self.cur.eat("}") {
                break;
            }
            let token = self.cur.peek();
            if token.kind != Kind::Word || self.cur.done() {
                return Err(self.cur.unexpected());
            }
            self.cur.next();
            match token.text {
                "flags" => {
                    let flag = self.cur.take(Kind::Word)?;
                    match flag.text {
                        "dormant" => dormant = true,
                        "owner" => return Err(Fault::at(flag.place, "flags owner is not emulated")),
                        _ => return Err(Fault::at(flag.place, "unknown table option")),
                    }
                }
                "comment" => comment = Some(elements::comment(&mut self.cur)?),
                "chain" => {
                    let name = self.name()?;
                    self.cur.expect("{")?;
                    let (chain, body) = self.chain_body(table.family, name)?;
                    self.cur.expect("}")?;
                    rules.push((chain.name.clone(), body));
                    chains.push(chain);
                }
                "set" | "map" => {
                    let name = self.name()?;
                    self.cur.expect("{")?;
                    let set = self.set_body(name, token.text == "map")?;
                    self.cur.expect("}")?;
                    sets.push(set);
                }
                "flowtable" => {
                    let name = self.name()?;
                    self.cur.expect("{")?;
                    let lines = self.foreign_lines()?;
                    self.cur.expect("}")?;
                    flowtables.push((name, lines));
                }
                word => {
                    let Some(kind) = self.object_kind(word)? else {
                        return Err(Fault::syntax(token.place, &format!("unexpected {}", token.title())));
                    };
                    let name = self.name()?;
                    let (object, comment) = self.object_body(kind)?;
                    objects.push((name, object, comment));
                }
            }
        }
        self.ops.push(Op::AddTable { table: table.clone(), mode, dormant: Some(dormant), comment });
        for chain in chains {
            self.ops.push(Op::AddChain { table: table.clone(), chain, mode: Mode::Usual });
        }
        for (name, object, comment) in objects {
            self.ops.push(Op::AddObject { table: table.clone(), name, object, comment, mode: Mode::Usual });
        }
        for set in sets {
            self.push_set(table.clone(), set, Mode::Usual);
        }
        for (name, lines) in flowtables {
            self.ops.push(Op::AddFlowtable { table: table.clone(), name, lines });
        }
        for (chain, body) in rules {
            self.push_rules(&table, &chain, body);
        }
        Ok(())
    }

    pub(super) fn chain_body(
        &mut self,
        family: TableFamily,
        name: Named,
    ) -> Result<(ChainDecl, Vec<(Stretch, Place)>), Fault> {
        let mut chain = ChainDecl { name, base: None, policy: None, comment: None, offload: false };
        let mut rules = Vec::new();
        loop {
            self.cur.skip_breaks();
            if self.cur.sees("}") {
                return Ok((chain, rules));
            }
            let token = self.cur.peek();
            match token.text {
                _ if self.cur.done() => return Err(self.cur.unexpected()),
                "type" => chain.base = Some(self.base(family)?),
                "policy" => {
                    self.cur.next();
                    let policy = self.cur.take(Kind::Word)?;
                    chain.policy = Some(match policy.text {
                        "accept" => Policy::Accept,
                        "drop" => Policy::Drop,
                        _ => return Err(Fault::syntax(policy.place, "unexpected string")),
                    });
                }
                "comment" => {
                    self.cur.next();
                    chain.comment = Some(elements::comment(&mut self.cur)?);
                }
                "flags" => {
                    self.cur.next();
                    self.cur.expect("offload")?;
                    chain.offload = true;
                }
                "devices" | "device" if chain.base.is_some() => {
                    self.cur.next();
                    self.cur.stretch();
                }
                _ => {
                    let stretch = self.cur.stretch();
                    rules.push((stretch, elements::span_of(token.place, self.cur.last_place())));
                }
            }
            if self.cur.peek().kind != Kind::Break {
                let fault = self.cur.unexpected();
                let expecting = if self.cur.sees("}") { ", expecting newline or semicolon" } else { "" };
                return Err(Fault { message: format!("{}{expecting}", fault.message), ..fault });
            }
        }
    }

    /// `type filter hook input [device "x"] priority 0`.
    pub(super) fn base(&mut self, family: TableFamily) -> Result<BaseDecl, Fault> {
        let start = self.cur.next().place;
        let token = self.cur.take(Kind::Word)?;
        let kind = match token.text {
            "filter" => ChainKind::Filter,
            "nat" => ChainKind::Nat,
            "route" => ChainKind::Route,
            _ => return Err(Fault::at(token.place, "unknown chain type")),
        };
        self.cur.expect("hook")?;
        let token = self.cur.take(Kind::Word)?;
        let hook =
            NftHook::by_name(token.text).ok_or_else(|| Fault::at(token.place, "unknown chain hook"))?;
        let mut devices = Vec::new();
        if self.cur.eat("device") {
            devices.push(self.cur.string()?.text.into());
        } else if self.cur.eat("devices") {
            self.cur.expect("=")?;
            self.cur.expect("{")?;
            loop {
                self.cur.skip_breaks();
                if self.cur.eat("}") {
                    break;
                }
                devices.push(self.cur.string()?.text.into());
                self.cur.eat(",");
            }
        }
        self.cur.expect("priority")?;
        let priority = self.priority(family, hook)?;
        let place = elements::span_of(start, self.cur.last_place());
        Ok(BaseDecl { kind, hook, priority, devices, place })
    }

    pub(super) fn priority(&mut self, family: TableFamily, hook: NftHook) -> Result<i32, Fault> {
        let token = self.cur.peek();
        let mut base = 0_i64;
        let mut named = false;
        if token.kind == Kind::Word && !self.cur.done() {
            let known = priority::by_name(token.text, family, hook);
            base = known.map(i64::from).ok_or_else(|| {
                Fault::at(
                    token.place,
                    format!("invalid priority expression symbol in this context: {}", token.text),
                )
            })?;
            named = true;
            self.cur.next();
        }
        let sign = if self.cur.eat("-") {
            -1
        } else if named && self.cur.eat("+") {
            1
        } else if named {
            return Ok(base as i32);
        } else {
            1
        };
        let place = self.cur.peek().place;
        let number = self.cur.number(u32::MAX.into())? as i64;
        i32::try_from(base + sign * number).map_err(|_| Fault::at(place, "invalid priority value"))
    }

    /// Lines of a block that is kept and not understood, up to its closing brace, which is left.
    pub(super) fn foreign_lines(&mut self) -> Result<Vec<Box<str>>, Fault> {
        let mut lines = Vec::new();
        loop {
            self.cur.skip_breaks();
            if self.cur.sees("}") {
                return Ok(lines);
            }
            if self.cur.done() {
                return Err(self.cur.unexpected());
            }
            let from = self.cur.index();
            self.cur.stretch();
            if self.cur.index() == from {
                return Err(self.cur.unexpected());
            }
            lines.push(self.cur.text_since(from));
        }
    }
}
