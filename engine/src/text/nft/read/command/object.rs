//! Stateful objects: their kinds and what stands in their blocks.

use super::Reader;
use crate::netfilter::Counters;
use crate::netfilter::nft::ObjectKind;
use crate::text::nft::fault::Fault;
use crate::text::nft::lex::Kind;
use crate::text::nft::read::op::ObjectDecl;
use crate::text::nft::read::{elements, limits};

impl Reader<'_, '_> {
    /// The kind of object whose name the word begins; takes the rest of it.
    pub(super) fn object_kind(&mut self, word: &str) -> Result<Option<ObjectKind>, Fault> {
        Ok(Some(match word {
            "counter" => ObjectKind::Counter,
            "quota" => ObjectKind::Quota,
            "limit" => ObjectKind::Limit,
            "synproxy" => ObjectKind::Synproxy,
            "secmark" => ObjectKind::Secmark,
            "ct" => {
                let token = self.cur.take(Kind::Word)?;
                match token.text {
                    "helper" => ObjectKind::CtHelper,
                    "timeout" => ObjectKind::CtTimeout,
                    "expectation" => ObjectKind::CtExpectation,
                    _ => return Err(Fault::syntax(token.place, "unexpected string")),
                }
            }
            _ => return Ok(None),
        }))
    }

    /// `{ ... }` of an object, or what stands behind its name in a command.
    pub(super) fn object_body(&mut self, kind: ObjectKind) -> Result<(ObjectDecl, Option<Box<str>>), Fault> {
        let braces = self.cur.eat("{");
        let mut comment = None;
        let mut object = None;
        if !braces && kind != ObjectKind::Counter && self.cur.done() {
            return Err(self.cur.unexpected());
        }
        loop {
            if braces {
                self.cur.skip_breaks();
                if self.cur.eat("}") {
                    break;
                }
            } else if self.cur.done() || self.cur.peek().kind == Kind::Break || self.cur.sees("}") {
                break;
            }
            if self.cur.eat("comment") {
                comment = Some(elements::comment(&mut self.cur)?);
                continue;
            }
            object = Some(match kind {
                ObjectKind::Counter => {
                    if !self.cur.sees("packets") {
                        return Err(self.cur.unexpected());
                    }
                    ObjectDecl::Counter(limits::counter(&mut self.cur)?)
                }
                ObjectKind::Quota => {
                    let (quota, used) = limits::quota(&mut self.cur)?;
                    ObjectDecl::Quota(quota, used)
                }
                ObjectKind::Limit => ObjectDecl::Limit(limits::limit(&mut self.cur)?),
                ObjectKind::CtHelper => self.ct_helper(object)?,
                ObjectKind::CtTimeout
                | ObjectKind::CtExpectation
                | ObjectKind::Secmark
                | ObjectKind::Synproxy => {
                    if !braces {
                        return Err(self.cur.unexpected());
                    }
                    ObjectDecl::Foreign(kind, self.foreign_lines()?)
                }
            });
        }
        let object = match (object, kind) {
            (Some(object), _) => object,
            (None, ObjectKind::Counter) => ObjectDecl::Counter(Counters::default()),
            (None, _) => return Err(Fault::at(self.cur.last_place(), "the object says nothing")),
        };
        Ok((object, comment))
    }

    pub(super) fn ct_helper(&mut self, before: Option<ObjectDecl>) -> Result<ObjectDecl, Fault> {
        let (mut helper, mut protocol, mut family) = match before {
            Some(ObjectDecl::CtHelper { helper, protocol, family }) => (helper, protocol, family),
            _ => (Box::default(), 0, None),
        };
        if self.cur.eat("type") {
            helper = self.cur.string()?.text.into();
            self.cur.expect("protocol")?;
            let token = self.cur.take(Kind::Word)?;
            protocol = match token.text {
                "tcp" => 6,
                "udp" => 17,
                _ => return Err(Fault::syntax(token.place, "unexpected string")),
            };
        } else if self.cur.eat("l3proto") {
            family = self.maybe_family();
        } else {
            return Err(self.cur.unexpected());
        }
        Ok(ObjectDecl::CtHelper { helper, protocol, family })
    }
}
