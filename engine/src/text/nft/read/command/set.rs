//! Blocks of sets and maps, with the types of their keys and data.

use super::Reader;
use crate::netfilter::nft::Type;
use crate::netfilter::nft::set::SetFlags;
use crate::text::nft::fault::Fault;
use crate::text::nft::lex::Kind;
use crate::text::nft::read::cursor::Stretch;
use crate::text::nft::read::elements;
use crate::text::nft::read::op::{DataDecl, Named, SetDecl, Types};
use crate::text::nft::symbols;

impl Reader<'_, '_> {
    pub(super) fn set_body(&mut self, name: Named, is_map: bool) -> Result<SetDecl, Fault> {
        let mut set = SetDecl {
            name,
            is_map,
            key: Types::None,
            data: DataDecl::None,
            flags: SetFlags::default(),
            timeout: None,
            gc_interval: None,
            size: None,
            memory: false,
            auto_merge: false,
            comment: None,
            with: Vec::new(),
            elements: None,
        };
        loop {
            self.cur.skip_breaks();
            if self.cur.sees("}") {
                return Ok(set);
            }
            let token = self.cur.peek();
            if token.kind != Kind::Word || self.cur.done() {
                return Err(self.cur.unexpected());
            }
            match token.text {
                "type" => {
                    self.cur.next();
                    set.key = Types::Named(self.types()?);
                    if self.cur.eat(":") {
                        set.data = self.data_decl()?;
                    }
                }
                "typeof" => {
                    self.cur.next();
                    set.key = Types::Typeof(self.typeof_stretch());
                    if self.cur.eat(":") {
                        set.data = self.typeof_data()?;
                    }
                }
                "flags" => {
                    self.cur.next();
                    loop {
                        let flag = self.cur.take(Kind::Word)?;
                        match flag.text {
                            "constant" => set.flags.constant = true,
                            "interval" => set.flags.interval = true,
                            "timeout" => set.flags.timeout = true,
                            "dynamic" => set.flags.dynamic = true,
                            _ => {
                                return Err(Fault::syntax(
                                    flag.place,
                                    &format!("unexpected {}", flag.title()),
                                ));
                            }
                        }
                        if !self.cur.eat(",") {
                            break;
                        }
                    }
                }
                "timeout" | "gc-interval" => {
                    self.cur.next();
                    let span = self.cur.string()?;
                    let ms = symbols::parse_span(span.text)
                        .ok_or_else(|| Fault::at(span.place, "Could not parse time"))?;
                    if token.text == "timeout" {
                        set.timeout = Some(ms);
                    } else {
                        set.gc_interval = Some(ms);
                    }
                }
                "size" => {
                    self.cur.next();
                    set.size = Some(self.cur.number(u32::MAX.into())? as u32);
                }
                "policy" => {
                    self.cur.next();
                    let policy = self.cur.take(Kind::Word)?;
                    set.memory = match policy.text {
                        "memory" => true,
                        "performance" => false,
                        _ => return Err(Fault::syntax(policy.place, "unexpected string")),
                    };
                }
                "auto-merge" => {
                    self.cur.next();
                    set.auto_merge = true;
                }
                "comment" => {
                    self.cur.next();
                    set.comment = Some(elements::comment(&mut self.cur)?);
                }
                "elements" => {
                    self.cur.next();
                    self.cur.expect("=")?;
                    if !self.cur.sees("{") {
                        return Err(self.cur.unexpected());
                    }
                    let from = self.cur.index();
                    let stretch = self.cur.stretch();
                    set.elements = Some(Stretch { from, to: stretch.to });
                }
                _ => match elements::stateful(&mut self.cur)? {
                    Some(state) => set.with.push(state.kind),
                    None => return Err(self.cur.unexpected()),
                },
            }
            if !self.cur.sees("}") && self.cur.peek().kind != Kind::Break {
                return Err(self.cur.unexpected());
            }
        }
    }

    pub(super) fn types(&mut self) -> Result<Vec<Type>, Fault> {
        let mut types = Vec::new();
        loop {
            let token = self.cur.take(Kind::Word)?;
            let ty = Type::by_name(token.text);
            types.push(ty.ok_or_else(|| Fault::at(token.place, format!("unknown datatype {}", token.text)))?);
            if !self.cur.eat(".") {
                return Ok(types);
            }
        }
    }

    pub(super) fn data_decl(&mut self) -> Result<DataDecl, Fault> {
        let interval = self.cur.eat("interval");
        let token = self.cur.peek();
        if !interval {
            match token.text {
                "verdict" => {
                    self.cur.next();
                    return Ok(DataDecl::Verdict);
                }
                "counter" | "quota" | "limit" | "synproxy" | "secmark" => {
                    self.cur.next();
                    if let Some(kind) = self.object_kind(token.text)? {
                        return Ok(DataDecl::Objects(kind));
                    }
                }
                "ct" => {
                    self.cur.next();
                    if let Some(kind) = self.object_kind("ct")? {
                        return Ok(DataDecl::Objects(kind));
                    }
                }
                _ => {}
            }
        }
        Ok(DataDecl::Values { types: Types::Named(self.types()?), interval })
    }

    /// The tokens of a `typeof` expression: up to a colon or a break.
    pub(super) fn typeof_stretch(&mut self) -> Stretch {
        let from = self.cur.index();
        while !self.cur.done()
            && !self.cur.sees(":")
            && !self.cur.sees("}")
            && self.cur.peek().kind != Kind::Break
        {
            self.cur.next();
        }
        Stretch { from, to: self.cur.index() }
    }

    pub(super) fn typeof_data(&mut self) -> Result<DataDecl, Fault> {
        let interval = self.cur.eat("interval");
        match self.cur.peek().text {
            "verdict" if !interval => {
                self.cur.next();
                Ok(DataDecl::Verdict)
            }
            word @ ("counter" | "quota" | "limit") if !interval => {
                self.cur.next();
                match self.object_kind(word)? {
                    Some(kind) => Ok(DataDecl::Objects(kind)),
                    None => Err(self.cur.unexpected()),
                }
            }
            _ => Ok(DataDecl::Values { types: Types::Typeof(self.typeof_stretch()), interval }),
        }
    }
}
