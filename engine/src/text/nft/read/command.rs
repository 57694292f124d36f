//! Commands: what is to be done to which table, chain, set. Rules and elements stay stretches of tokens until their table
//! is known.
//!
//! | file | owns |
//! |---|---|
//! | `names` | whom a command speaks of |
//! | `block` | blocks of tables and chains |
//! | `set` | blocks of sets and maps |
//! | `object` | stateful objects |

mod block;
mod names;
mod object;
mod set;

use super::cursor::{Cursor, Stretch};
use super::elements;
use super::op::{ChainDecl, Mode, Named, Op, RulePlace, SetDecl, Subject, TableId};
use crate::text::diag::Place;
use crate::text::nft::fault::Fault;
use crate::text::nft::lex::{Kind, Token};

/// Reads a text of commands and blocks.
pub(in crate::text::nft) fn read(tokens: &[Token<'_>]) -> Result<Vec<Op>, Fault> {
    let whole = Stretch { from: 0, to: tokens.len() - 1 };
    let mut reader = Reader { cur: Cursor::new(tokens, whole), ops: Vec::new(), start: Place::default() };
    loop {
        reader.cur.skip_breaks();
        if reader.cur.done() {
            return Ok(reader.ops);
        }
        reader.command()?;
        let after = reader.cur.peek();
        if !reader.cur.done() && after.kind != Kind::Break {
            return Err(reader.cur.unexpected());
        }
    }
}

struct Reader<'t, 'a> {
    cur: Cursor<'t, 'a>,
    ops: Vec<Op>,
    /// Where the command begins.
    start: Place,
}

impl Reader<'_, '_> {
    fn command(&mut self) -> Result<(), Fault> {
        let token = self.cur.peek();
        if token.kind != Kind::Word {
            return Err(self.cur.unexpected());
        }
        self.start = token.place;
        match token.text {
            "add" => self.add(Mode::Usual),
            "create" => self.add(Mode::Create),
            "insert" => {
                self.cur.next();
                self.cur.eat("rule");
                self.rule(true)
            }
            "replace" => {
                self.cur.next();
                self.cur.expect("rule")?;
                let (table, chain) = self.chain_id()?;
                self.cur.expect("handle")?;
                let handle = self.cur.number(u64::MAX)?;
                let at = self.cur.peek().place;
                let rule = self.cur.stretch();
                self.ops.push(Op::ReplaceRule { table, chain, handle, rule, at });
                Ok(())
            }
            "delete" => self.delete(Mode::Usual),
            "destroy" => self.delete(Mode::Destroy),
            "get" => {
                self.cur.next();
                self.cur.expect("element")?;
                let (_, set) = self.chain_id()?;
                self.cur.stretch();
                self.ops.push(Op::GetElement { set });
                Ok(())
            }
            "flush" => {
                self.cur.next();
                let subject = self.subject()?;
                if matches!(subject, Subject::Tables(_) | Subject::Chains(_) | Subject::Object(..)) {
                    return Err(Fault::syntax(token.place, "unexpected string"));
                }
                self.ops.push(Op::Flush(subject));
                Ok(())
            }
            "list" => {
                self.cur.next();
                let subject = self.subject()?;
                self.ops.push(Op::List(subject));
                Ok(())
            }
            "reset" => {
                self.cur.next();
                let subject = self.subject()?;
                self.ops.push(Op::Reset(subject));
                Ok(())
            }
            "rename" => {
                self.cur.next();
                self.cur.expect("chain")?;
                let (table, chain) = self.chain_id()?;
                let to = self.name()?;
                self.ops.push(Op::RenameChain { table, chain, to });
                Ok(())
            }
            "table" => {
                self.cur.next();
                self.table(Mode::Usual)
            }
            // Without a verb it is `add`.
            "chain" | "rule" | "set" | "map" | "element" | "counter" | "quota" | "limit" | "ct"
            | "synproxy" | "secmark" | "flowtable" => self.added(Mode::Usual),
            "monitor" | "export" | "import" | "describe" => {
                Err(Fault::at(token.place, format!("{} is not emulated", token.text)))
            }
            _ => Err(self.cur.unexpected()),
        }
    }

    fn add(&mut self, mode: Mode) -> Result<(), Fault> {
        self.cur.next();
        self.added(mode)
    }

    fn added(&mut self, mode: Mode) -> Result<(), Fault> {
        let token = self.cur.peek();
        if token.kind != Kind::Word {
            return Err(self.cur.unexpected());
        }
        self.cur.next();
        match token.text {
            "table" => self.table(mode),
            "chain" => {
                let (table, name) = self.chain_id()?;
                let (chain, rules) = if self.cur.eat("{") {
                    let body = self.chain_body(table.family, name)?;
                    self.cur.expect("}")?;
                    body
                } else {
                    (ChainDecl { name, base: None, policy: None, comment: None, offload: false }, Vec::new())
                };
                let named = chain.name.clone();
                self.ops.push(Op::AddChain { table: table.clone(), chain, mode });
                self.push_rules(&table, &named, rules);
                Ok(())
            }
            "rule" => self.rule(false),
            "set" | "map" => {
                let (table, name) = self.chain_id()?;
                self.cur.expect("{")?;
                let set = self.set_body(name, token.text == "map")?;
                self.cur.expect("}")?;
                self.push_set(table, set, mode);
                Ok(())
            }
            "element" => {
                let (table, set) = self.chain_id()?;
                if !self.cur.sees("{") {
                    return Err(self.cur.unexpected());
                }
                let elements = self.cur.stretch();
                self.ops.push(Op::AddElements { table, set, elements, mode });
                Ok(())
            }
            "flowtable" => {
                let (table, name) = self.chain_id()?;
                self.cur.expect("{")?;
                let lines = self.foreign_lines()?;
                self.cur.expect("}")?;
                self.ops.push(Op::AddFlowtable { table, name, lines });
                Ok(())
            }
            word => {
                if let Some(kind) = self.object_kind(word)? {
                    let (table, name) = self.chain_id()?;
                    let (object, comment) = self.object_body(kind)?;
                    self.ops.push(Op::AddObject { table, name, object, comment, mode });
                    return Ok(());
                }
                // `add TABLE CHAIN ...` is `add rule`.
                self.cur.rewind();
                self.rule(false)
            }
        }
    }

    fn delete(&mut self, mode: Mode) -> Result<(), Fault> {
        self.cur.next();
        let token = self.cur.take(Kind::Word)?;
        match token.text {
            "table" => {
                let family = self.family();
                let by = self.by()?;
                self.ops.push(Op::DeleteTable { family, by, mode });
            }
            "chain" => {
                let table = self.table_id()?;
                let by = self.by()?;
                self.ops.push(Op::DeleteChain { table, by, mode });
            }
            "rule" => {
                let (table, chain) = self.chain_id()?;
                self.cur.expect("handle")?;
                let at = self.cur.peek().place;
                let handle = self.cur.number(u64::MAX)?;
                self.ops.push(Op::DeleteRule { table, chain, handle, at, mode });
            }
            "set" | "map" => {
                let table = self.table_id()?;
                let by = self.by()?;
                self.ops.push(Op::DeleteSet { table, by, mode });
            }
            "element" => {
                let (table, set) = self.chain_id()?;
                if !self.cur.sees("{") {
                    return Err(self.cur.unexpected());
                }
                let elements = self.cur.stretch();
                self.ops.push(Op::DeleteElements { table, set, elements, mode });
            }
            "flowtable" => {
                let (table, name) = self.chain_id()?;
                self.ops.push(Op::DeleteFlowtable { table, name, mode });
            }
            word => {
                let Some(kind) = self.object_kind(word)? else {
                    return Err(Fault::syntax(token.place, &format!("unexpected {}", token.title())));
                };
                let table = self.table_id()?;
                let by = self.by()?;
                self.ops.push(Op::DeleteObject { table, kind, by, mode });
            }
        }
        Ok(())
    }

    fn rule(&mut self, insert: bool) -> Result<(), Fault> {
        let (table, chain) = self.chain_id()?;
        let mut place = if insert { RulePlace::Start } else { RulePlace::End };
        loop {
            let token = self.cur.peek();
            match token.text {
                "position" | "handle" if token.kind == Kind::Word => {
                    self.cur.next();
                    let handle = self.cur.number(u64::MAX)?;
                    place = if insert { RulePlace::Before(handle) } else { RulePlace::After(handle) };
                }
                "index" if token.kind == Kind::Word => {
                    self.cur.next();
                    let index = self.cur.number(u64::MAX)?;
                    place = if insert { RulePlace::BeforeIndex(index) } else { RulePlace::AfterIndex(index) };
                }
                _ => break,
            }
        }
        let rule = self.cur.stretch();
        let at = elements::span_of(self.start, self.cur.last_place());
        self.ops.push(Op::AddRule { table, chain, place, rule, at });
        Ok(())
    }

    fn push_rules(&mut self, table: &TableId, chain: &Named, rules: Vec<(Stretch, Place)>) {
        for (rule, at) in rules {
            let (table, chain) = (table.clone(), chain.clone());
            self.ops.push(Op::AddRule { table, chain, place: RulePlace::End, rule, at });
        }
    }

    fn push_set(&mut self, table: TableId, mut set: SetDecl, mode: Mode) {
        let elements = set.elements.take();
        let name = set.name.clone();
        self.ops.push(Op::AddSet { table: table.clone(), set, mode });
        if let Some(elements) = elements {
            self.ops.push(Op::AddElements { table, set: name, elements, mode: Mode::Usual });
        }
    }
}
