//! Whom a command speaks of: tables, chains and objects by name or handle.

use super::Reader;
use crate::netfilter::nft::{ObjectKind, TableFamily};
use crate::text::nft::fault::Fault;
use crate::text::nft::lex::Kind;
use crate::text::nft::read::op::{By, Named, Subject, TableId};

impl Reader<'_, '_> {
    pub(super) fn by(&mut self) -> Result<By, Fault> {
        if self.cur.eat("handle") {
            let place = self.cur.peek().place;
            return Ok(By::Handle(self.cur.number(u64::MAX)?, place));
        }
        Ok(By::Name(self.name()?))
    }

    pub(super) fn subject(&mut self) -> Result<Subject, Fault> {
        let token = self.cur.take(Kind::Word)?;
        Ok(match token.text {
            "ruleset" => Subject::Ruleset(self.maybe_family()),
            "table" => Subject::Table(self.table_id()?),
            "chain" => {
                let (table, name) = self.chain_id()?;
                Subject::Chain(table, name)
            }
            "set" | "map" | "meter" => {
                let (table, name) = self.chain_id()?;
                Subject::Set(table, name)
            }
            "tables" => Subject::Tables(self.maybe_family()),
            "chains" => Subject::Chains(self.maybe_family()),
            "sets" => {
                let (family, table) = self.of_table()?;
                Subject::Sets(family, table)
            }
            "maps" => {
                let (family, table) = self.of_table()?;
                Subject::Maps(family, table)
            }
            word => {
                let plural = ObjectKind::ALL.into_iter().find(|k| format!("{}s", k.name()) == word);
                if let Some(kind) = plural {
                    let (family, table) = self.of_table()?;
                    return Ok(Subject::Objects(kind, family, table));
                }
                let Some(kind) = self.object_kind(word)? else {
                    return Err(Fault::syntax(token.place, &format!("unexpected {}", token.title())));
                };
                let (table, name) = self.chain_id()?;
                Subject::Object(kind, table, name)
            }
        })
    }

    /// `[family]` or `table [family] name`.
    pub(super) fn of_table(&mut self) -> Result<(Option<TableFamily>, Option<TableId>), Fault> {
        if self.cur.eat("table") {
            return Ok((None, Some(self.table_id()?)));
        }
        Ok((self.maybe_family(), None))
    }

    pub(super) fn maybe_family(&mut self) -> Option<TableFamily> {
        let token = self.cur.peek();
        if token.kind != Kind::Word || self.cur.done() {
            return None;
        }
        let family = TableFamily::by_name(token.text)?;
        self.cur.next();
        Some(family)
    }

    /// The family, `ip` when not stated.
    pub(super) fn family(&mut self) -> TableFamily {
        self.maybe_family().unwrap_or(TableFamily::Ip)
    }

    /// A name of a table, a chain, ...: no word of the language.
    pub(super) fn name(&mut self) -> Result<Named, Fault> {
        let token = self.cur.peek();
        let fits = !self.cur.done()
            && match token.kind {
                Kind::Word => token.title() != token.text && !token.text.contains([':', '*']),
                Kind::Quoted | Kind::Number | Kind::Mark | Kind::Break | Kind::End => false,
            };
        if !fits {
            let fault = self.cur.unexpected();
            return Err(Fault { message: format!("{}, expecting string", fault.message), ..fault });
        }
        self.cur.next();
        if token.text.len() > 255 {
            return Err(Fault::at(token.place, "name too long, 255 characters maximum allowed"));
        }
        Ok(Named { text: token.text.into(), place: token.place })
    }

    pub(super) fn table_id(&mut self) -> Result<TableId, Fault> {
        let family = self.family();
        Ok(TableId { family, name: self.name()? })
    }

    pub(super) fn chain_id(&mut self) -> Result<(TableId, Named), Fault> {
        let table = self.table_id()?;
        Ok((table, self.name()?))
    }
}
