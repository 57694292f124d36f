//! Commands and blocks: what is to be done to which table, chain, set. Rules and elements stay stretches of tokens until
//! their table is known.

use super::cursor::{Cursor, Stretch};
use super::elements;
use super::limits;
use super::op::{
    BaseDecl, By, ChainDecl, DataDecl, Mode, Named, ObjectDecl, Op, RulePlace, SetDecl, Subject, TableId,
    Types,
};
use crate::netfilter::Counters;
use crate::netfilter::nft::set::SetFlags;
use crate::netfilter::nft::{ChainKind, NftHook, ObjectKind, Policy, TableFamily, Type};
use crate::text::diag::Place;
use crate::text::nft::fault::Fault;
use crate::text::nft::lex::{Kind, Token};
use crate::text::nft::priority;
use crate::text::nft::symbols;

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

    /// The kind of object whose name the word begins; takes the rest of it.
    fn object_kind(&mut self, word: &str) -> Result<Option<ObjectKind>, Fault> {
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

    fn by(&mut self) -> Result<By, Fault> {
        if self.cur.eat("handle") {
            let place = self.cur.peek().place;
            return Ok(By::Handle(self.cur.number(u64::MAX)?, place));
        }
        Ok(By::Name(self.name()?))
    }

    fn subject(&mut self) -> Result<Subject, Fault> {
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
    fn of_table(&mut self) -> Result<(Option<TableFamily>, Option<TableId>), Fault> {
        if self.cur.eat("table") {
            return Ok((None, Some(self.table_id()?)));
        }
        Ok((self.maybe_family(), None))
    }

    fn maybe_family(&mut self) -> Option<TableFamily> {
        let token = self.cur.peek();
        if token.kind != Kind::Word || self.cur.done() {
            return None;
        }
        let family = TableFamily::by_name(token.text)?;
        self.cur.next();
        Some(family)
    }

    /// The family, `ip` when not stated.
    fn family(&mut self) -> TableFamily {
        self.maybe_family().unwrap_or(TableFamily::Ip)
    }

    /// A name of a table, a chain, ...: no word of the language.
    fn name(&mut self) -> Result<Named, Fault> {
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

    fn table_id(&mut self) -> Result<TableId, Fault> {
        let family = self.family();
        Ok(TableId { family, name: self.name()? })
    }

    fn chain_id(&mut self) -> Result<(TableId, Named), Fault> {
        let table = self.table_id()?;
        Ok((table, self.name()?))
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

    /// A table, alone or with a block: chains, objects, sets, then rules, in the order the tool sends them.
    fn table(&mut self, mode: Mode) -> Result<(), Fault> {
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

    fn chain_body(
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
    fn base(&mut self, family: TableFamily) -> Result<BaseDecl, Fault> {
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

    fn priority(&mut self, family: TableFamily, hook: NftHook) -> Result<i32, Fault> {
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

    fn set_body(&mut self, name: Named, is_map: bool) -> Result<SetDecl, Fault> {
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

    fn types(&mut self) -> Result<Vec<Type>, Fault> {
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

    fn data_decl(&mut self) -> Result<DataDecl, Fault> {
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
    fn typeof_stretch(&mut self) -> Stretch {
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

    fn typeof_data(&mut self) -> Result<DataDecl, Fault> {
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

    /// `{ ... }` of an object, or what stands behind its name in a command.
    fn object_body(&mut self, kind: ObjectKind) -> Result<(ObjectDecl, Option<Box<str>>), Fault> {
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

    fn ct_helper(&mut self, before: Option<ObjectDecl>) -> Result<ObjectDecl, Fault> {
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

    /// Lines of a block that is kept and not understood, up to its closing brace, which is left.
    fn foreign_lines(&mut self) -> Result<Vec<Box<str>>, Fault> {
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
