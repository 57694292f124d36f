//! The `-j` form (libnftables-json, schema 1): a list of objects, in the order and with the spaces of the tool.

use std::fmt::Write as _;

use super::elements::ordered;
use super::{ListOptions, Printer, expr, listed, stmt};
use crate::base::Instant;
use crate::netfilter::nft::object::ObjectBody;
use crate::netfilter::nft::set::ElementStmt;
use crate::netfilter::nft::stmt::ObjectRef;
use crate::netfilter::nft::types::value_name;
use crate::netfilter::nft::{
    Chain, Data, Direction, Element, Elements, Expr, ExthdrField, FibResult, Key, Limit, Log, MatchOp, Nat,
    NumgenMode, Object, ObjectKind, Payload, Policy, Quota, RejectWith, Rule, Ruleset, Set, SetData, SetRef,
    Span, Statement, StmtState, Table, TableFamily, Type, Verdict,
};
use crate::text::nft::read::lower::prefix_len;
use crate::text::nft::read::op::Subject;
use crate::text::nft::symbols::{self, Radix};

/// What a `list` command prints with `-j`.
pub(super) fn subject(ruleset: &Ruleset, subject: &Subject, now: Instant, options: ListOptions) -> String {
    let mut items = vec![object(
        "metainfo",
        &[
            ("version", text("1.0.6")),
            ("release_name", text("Lester Gooch #5")),
            ("json_schema_version", "1".to_owned()),
        ],
    )];
    let of = |family: &Option<TableFamily>, table: &Table| family.is_none_or(|f| f == table.family);
    for table in &ruleset.tables {
        let p = Printer { state: &ruleset.state, table, now, options };
        let same = |id: &crate::text::nft::read::op::TableId| {
            id.family == table.family && id.name.text == table.name
        };
        match subject {
            Subject::Ruleset(family) if of(family, table) => p.json_table(&mut items),
            Subject::Table(id) if same(id) => p.json_table(&mut items),
            Subject::Tables(family) if of(family, table) => items.push(p.json_table_head()),
            Subject::Chain(id, name) if same(id) => {
                if let Some(chain) = table.chains.get(&name.text) {
                    items.push(p.json_chain(chain));
                    items.extend(chain.rules.iter().map(|rule| p.json_rule(chain, rule)));
                }
            }
            Subject::Chains(family) if of(family, table) => {
                items.extend(table.chains.values().filter(|c| !c.anonymous).map(|c| p.json_chain(c)));
            }
            Subject::Set(id, name) if same(id) => {
                items.extend(table.sets.get(&name.text).map(|set| p.json_set(set, true)));
            }
            Subject::Sets(family, id) | Subject::Maps(family, id)
                if of(family, table) && id.as_ref().is_none_or(same) =>
            {
                let maps = matches!(subject, Subject::Maps(..));
                let sets = table.sets.values().filter(|s| matches!(s.data, SetData::None) != maps);
                items.extend(sets.map(|set| p.json_set(set, false)));
            }
            Subject::Object(kind, id, name) if same(id) => {
                let key = (*kind, name.text.clone());
                items.extend(table.objects.get(&key).map(|o| p.json_object(o)));
            }
            Subject::Objects(kind, family, id) if of(family, table) && id.as_ref().is_none_or(same) => {
                items.extend(table.objects.values().filter(|o| o.kind() == *kind).map(|o| p.json_object(o)));
            }
            _ => {}
        }
    }
    format!("{{\"nftables\": {}}}\n", array(&items))
}

fn text(value: &str) -> String {
    let mut out = String::from("\"");
    for c in value.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04X}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn array(items: &[String]) -> String {
    format!("[{}]", items.join(", "))
}

/// One item alone, several in brackets.
fn one_or_array(items: &[String]) -> String {
    if let [one] = items { one.clone() } else { array(items) }
}

fn fields(fields: &[(&str, String)]) -> String {
    let inside: Vec<String> = fields.iter().map(|(name, value)| format!("\"{name}\": {value}")).collect();
    format!("{{{}}}", inside.join(", "))
}

fn object(name: &str, inside: &[(&str, String)]) -> String {
    wrap(name, &fields(inside))
}

fn wrap(name: &str, value: &str) -> String {
    format!("{{\"{name}\": {value}}}")
}

impl Printer<'_> {
    fn family(&self) -> (&'static str, String) {
        ("family", text(self.table.family.name()))
    }

    fn json_table_head(&self) -> String {
        let table = self.table;
        let mut inside =
            vec![self.family(), ("name", text(&table.name)), ("handle", table.handle.to_string())];
        if table.dormant {
            inside.push(("flags", text("dormant")));
        }
        object("table", &inside)
    }

    fn json_table(&self, items: &mut Vec<String>) {
        let table = self.table;
        items.push(self.json_table_head());
        items.extend(table.objects.values().map(|o| self.json_object(o)));
        items.extend(table.sets.values().map(|s| self.json_set(s, !self.options.terse)));
        let chains = || table.chains.values().filter(|c| !c.anonymous);
        items.extend(chains().map(|c| self.json_chain(c)));
        for chain in chains() {
            items.extend(chain.rules.iter().map(|rule| self.json_rule(chain, rule)));
        }
    }

    fn json_object(&self, object: &Object) -> String {
        let mut inside = vec![
            self.family(),
            ("name", text(&object.name)),
            ("table", text(&self.table.name)),
            ("handle", object.handle.to_string()),
        ];
        if let Some(comment) = &object.comment {
            inside.push(("comment", text(comment)));
        }
        match (&object.body, self.state.get(object.slot)) {
            (ObjectBody::Counter, StmtState::Counter(counters)) => {
                inside.push(("packets", counters.packets.to_string()));
                inside.push(("bytes", counters.bytes.to_string()));
            }
            (ObjectBody::Quota(quota), state) => {
                let used = if let StmtState::Quota { used_bytes } = state { *used_bytes } else { 0 };
                inside.push(("bytes", quota.bytes.to_string()));
                inside.push(("used", used.to_string()));
                inside.push(("inv", quota.over.to_string()));
            }
            (ObjectBody::Limit(limit), _) => {
                let (rate, unit) =
                    if limit.bytes { stmt::volume(limit.rate) } else { (limit.rate, "packets") };
                inside.push(("rate", rate.to_string()));
                inside.push(("per", text(limit.unit.name())));
                if limit.over {
                    inside.push(("inv", "true".to_owned()));
                }
                if limit.bytes {
                    inside.push(("rate_unit", text(unit)));
                    if limit.burst > 0 {
                        let (burst, unit) = stmt::volume(limit.burst.into());
                        inside.push(("burst", burst.to_string()));
                        inside.push(("burst_unit", text(unit)));
                    }
                } else {
                    inside.push(("burst", limit.burst.to_string()));
                }
            }
            (ObjectBody::CtHelper { helper, protocol, family }, _) => {
                inside.push(("type", text(helper)));
                inside.push(("protocol", text(if *protocol == 6 { "tcp" } else { "udp" })));
                inside.push(("l3proto", text(family)));
            }
            (ObjectBody::Counter | ObjectBody::Foreign { .. }, _) => {}
        }
        self::object(object.kind().name(), &inside)
    }

    fn json_chain(&self, chain: &Chain) -> String {
        let mut inside = vec![
            self.family(),
            ("table", text(&self.table.name)),
            ("name", text(&chain.name)),
            ("handle", chain.handle.to_string()),
        ];
        if let Some(base) = &chain.base {
            inside.push(("type", text(base.kind.name())));
            inside.push(("hook", text(base.hook.name())));
            inside.push(("prio", base.priority.0.to_string()));
            if !base.devices.is_empty() {
                let devices: Vec<String> = base.devices.iter().map(|d| text(d)).collect();
                inside.push(("dev", one_or_array(&devices)));
            }
            let policy = match base.policy {
                Policy::Accept => "accept",
                Policy::Drop => "drop",
            };
            inside.push(("policy", text(policy)));
        }
        object("chain", &inside)
    }

    fn json_rule(&self, chain: &Chain, rule: &Rule) -> String {
        let mut inside = vec![
            self.family(),
            ("table", text(&self.table.name)),
            ("chain", text(&chain.name)),
            ("handle", rule.handle.to_string()),
        ];
        if let Some(comment) = &rule.comment {
            inside.push(("comment", text(comment)));
        }
        let listed = listed::listed(self.table.family, &rule.statements);
        let statements: Vec<String> = listed.iter().map(|s| self.json_statement(s)).collect();
        inside.push(("expr", array(&statements)));
        object("rule", &inside)
    }

    fn json_set(&self, set: &Set, with_elements: bool) -> String {
        let types: Vec<String> = set.key.iter().map(|ty| text(ty.name())).collect();
        let mut inside = vec![
            self.family(),
            ("name", text(&set.name)),
            ("table", text(&self.table.name)),
            ("type", one_or_array(&types)),
            ("handle", set.handle.to_string()),
        ];
        if let Some(comment) = &set.comment {
            inside.push(("comment", text(comment)));
        }
        match &set.data {
            SetData::None => {}
            SetData::Verdict => inside.push(("map", text("verdict"))),
            SetData::Objects(kind) => inside.push(("map", text(kind.name()))),
            SetData::Values(types) => {
                let names: Vec<&str> = types.iter().map(|ty| ty.name()).collect();
                inside.push(("map", text(&names.join(" . "))));
            }
        }
        if set.memory {
            inside.push(("policy", text("memory")));
        }
        if let Some(size) = set.size {
            inside.push(("size", size.to_string()));
        }
        let flags = set.flags;
        let flags: Vec<String> =
            [(flags.constant, "constant"), (flags.interval, "interval"), (flags.timeout, "timeout")]
                .into_iter()
                .filter(|(on, _)| *on)
                .map(|(_, name)| text(name))
                .collect();
        if !flags.is_empty() {
            inside.push(("flags", array(&flags)));
        }
        for (name, ms) in [("timeout", set.timeout), ("gc-interval", set.gc_interval)] {
            if let Some(ms) = ms {
                inside.push((name, (ms / 1000).to_string()));
            }
        }
        let elements = self.state.elements(set.id).filter(|_| with_elements);
        if let Some(elements) = elements {
            let list = self.json_elements(elements, &set.key, &set.data, set.flags.interval);
            if !list.is_empty() {
                inside.push(("elem", array(&list)));
            }
        }
        if !set.with.is_empty() {
            let with: Vec<String> = set.with.iter().map(|kind| self.json_element_stmt(*kind, None)).collect();
            inside.push(("stmt", array(&with)));
        }
        object(set.noun(), &inside)
    }

    fn json_elements(
        &self,
        elements: &Elements,
        types: &[Type],
        data: &SetData,
        interval: bool,
    ) -> Vec<String> {
        let listed = ordered(elements, types, interval);
        let catch_all = elements.catch_all.as_ref().map(|e| (None, e));
        listed
            .into_iter()
            .chain(catch_all)
            .filter(|(_, e)| self.alive(e))
            .map(|(key, element)| self.json_element(key, element, types, data))
            .collect()
    }

    fn json_element(&self, key: Option<&Key>, element: &Element, types: &[Type], data: &SetData) -> String {
        let mut value = match key {
            None => text("*"),
            Some(key) => spans(key, types),
        };
        if element.timeout.is_some()
            || element.expires.is_some()
            || element.comment.is_some()
            || !element.state.is_empty()
        {
            let mut inside = vec![("val", value)];
            if let Some(ms) = element.timeout {
                inside.push(("timeout", (ms / 1000).to_string()));
            }
            if let Some(at) = element.expires {
                inside.push(("expires", at.since(self.now).as_secs().to_string()));
            }
            if let Some(comment) = &element.comment {
                inside.push(("comment", text(comment)));
            }
            for state in &element.state {
                let statement = self.json_element_stmt(state.kind, Some(&state.state));
                if let Some((name, value)) =
                    statement.trim_start_matches("{\"").strip_suffix('}').and_then(|s| s.split_once("\": "))
                {
                    let name: &'static str = match name {
                        "counter" => "counter",
                        "limit" => "limit",
                        "quota" => "quota",
                        _ => "ct count",
                    };
                    inside.push((name, value.to_owned()));
                }
            }
            value = object("elem", &inside);
        }
        match (&element.data, data) {
            (None, _) => value,
            (Some(Data::Values(key)), SetData::Values(types)) => format!("[{value}, {}]", spans(key, types)),
            (Some(Data::Values(_)), _) => value,
            (Some(Data::Verdict(verdict)), _) => format!("[{value}, {}]", self.json_verdict(verdict)),
            (Some(Data::Object(name)), _) => format!("[{value}, {}]", text(name)),
        }
    }

    fn json_element_stmt(&self, kind: ElementStmt, state: Option<&StmtState>) -> String {
        match (kind, state) {
            (ElementStmt::Counter, Some(StmtState::Counter(c))) => {
                object("counter", &[("packets", c.packets.to_string()), ("bytes", c.bytes.to_string())])
            }
            (ElementStmt::Counter, _) => wrap("counter", "null"),
            (ElementStmt::Limit(limit), _) => json_limit(&limit),
            (ElementStmt::Quota(quota), state) => json_quota(&quota, state.unwrap_or(&StmtState::Free)),
            (ElementStmt::CtCount { over, count }, _) => json_ct_count(over, count),
            (ElementStmt::Last, _) => wrap("last", "null"),
        }
    }

    fn json_verdict(&self, verdict: &Verdict) -> String {
        match verdict {
            Verdict::Accept => wrap("accept", "null"),
            Verdict::Drop => wrap("drop", "null"),
            Verdict::Continue => wrap("continue", "null"),
            Verdict::Return => wrap("return", "null"),
            Verdict::Jump(to) | Verdict::Goto(to) => {
                if self.table.chains.get(to).is_some_and(|c| c.anonymous) {
                    // The tool has no form for it and gives the text.
                    let mut out = String::new();
                    self.verdict(&mut out, verdict, 2);
                    return text(&out);
                }
                let word = if matches!(verdict, Verdict::Jump(_)) { "jump" } else { "goto" };
                object(word, &[("target", text(to))])
            }
        }
    }

    fn json_statement(&self, statement: &Statement) -> String {
        match statement {
            Statement::Match { left, op, right } => self.json_match(left, *op, right),
            Statement::Counter { slot } => {
                let state = self.state.get(*slot);
                self.json_element_stmt(ElementStmt::Counter, Some(state))
            }
            Statement::Limit { limit, .. } => json_limit(limit),
            Statement::Quota { quota, slot } => json_quota(quota, self.state.get(*slot)),
            Statement::CtCount { over, count, .. } => json_ct_count(*over, *count),
            Statement::Last { .. } => wrap("last", "null"),
            Statement::Object { kind, name } => {
                let key = match kind {
                    ObjectKind::CtExpectation => "ct expectation",
                    kind => kind.name(),
                };
                let value = match name {
                    ObjectRef::Named(name) => text(name),
                    ObjectRef::Map { key, map } => self.json_map("map", key, map),
                };
                wrap(key, &value)
            }
            Statement::Log(log) => json_log(log),
            Statement::Reject(with) => {
                let (kind, ty, code) = match with {
                    RejectWith::TcpReset => return object("reject", &[("type", text("tcp reset"))]),
                    RejectWith::Icmp(code) => ("icmp", Type::IcmpCode, *code),
                    RejectWith::Icmpv6(code) => ("icmpv6", Type::Icmpv6Code, *code),
                    RejectWith::Icmpx(code) => ("icmpx", Type::IcmpxCode, *code),
                };
                object("reject", &[("type", text(kind)), ("expr", value(ty, code.into()))])
            }
            Statement::Nat(nat) => self.json_nat(nat),
            Statement::Notrack => wrap("notrack", "null"),
            Statement::Queue(queue) => {
                let to = queue.to.as_ref().map_or("0".to_owned(), |to| self.json_expr(to));
                let mut inside = vec![("num", to)];
                let flags: Vec<String> = [(queue.bypass, "bypass"), (queue.fanout, "fanout")]
                    .into_iter()
                    .filter(|(on, _)| *on)
                    .map(|(_, name)| text(name))
                    .collect();
                if !flags.is_empty() {
                    inside.push(("flags", one_or_array(&flags)));
                }
                object("queue", &inside)
            }
            Statement::SetElement { data: Some(_), .. } => {
                let mut out = String::new();
                self.statement(&mut out, statement, 2);
                text(&out)
            }
            Statement::SetElement { op, set, key, timeout, with, data: None } => {
                let mut element = self.json_expr(key);
                if let Some(ms) = timeout {
                    element = object("elem", &[("val", element), ("timeout", (ms / 1000).to_string())]);
                }
                let mut inside =
                    vec![("op", text(op.name())), ("elem", element), ("set", text(&format!("@{set}")))];
                let with: Vec<String> = with
                    .iter()
                    .filter_map(ElementStmt::of)
                    .map(|k| self.json_element_stmt(k, None))
                    .collect();
                if !with.is_empty() {
                    inside.push(("stmt", array(&with)));
                }
                object("set", &inside)
            }
            Statement::MetaSet { key, value } => {
                let key = object("meta", &[("key", text(expr::meta_name(*key)))]);
                object("mangle", &[("key", key), ("value", self.json_expr(value))])
            }
            Statement::CtSet { key, direction, value } => {
                let key = json_ct(key.name(), *direction);
                object("mangle", &[("key", key), ("value", self.json_expr(value))])
            }
            Statement::PayloadSet { field, value } => {
                object("mangle", &[("key", json_payload(field)), ("value", self.json_expr(value))])
            }
            Statement::ExthdrSet { field, value: Some(value) } => {
                object("mangle", &[("key", json_exthdr(field)), ("value", self.json_expr(value))])
            }
            Statement::ExthdrSet { field, value: None } => wrap("reset", &json_exthdr(field)),
            Statement::Verdict(verdict) => self.json_verdict(verdict),
            Statement::VerdictMap { key, map } => wrap("vmap", &self.json_map_inside(key, map)),
            Statement::Foreign { text: foreign, .. } => text(foreign),
        }
    }

    fn json_match(&self, left: &Expr, op: MatchOp, right: &Expr) -> String {
        let sign = match op {
            MatchOp::Eq => "==",
            MatchOp::Ne => "!=",
            MatchOp::Lt => "<",
            MatchOp::Gt => ">",
            MatchOp::Le => "<=",
            MatchOp::Ge => ">=",
            MatchOp::AnyBit => "in",
            MatchOp::NoBit => "!",
        };
        let right = match right {
            Expr::Value { ty: Type::TcpFlag, value }
                if value.count_ones() != 1
                    && matches!(op, MatchOp::Eq | MatchOp::Ne)
                    && !matches!(left, Expr::Binary { .. }) =>
            {
                value.to_string()
            }
            right => self.json_expr(right),
        };
        object("match", &[("op", text(sign)), ("left", self.json_expr(left)), ("right", right)])
    }

    fn json_map(&self, word: &str, key: &Expr, map: &SetRef) -> String {
        wrap(word, &self.json_map_inside(key, map))
    }

    fn json_map_inside(&self, key: &Expr, map: &SetRef) -> String {
        fields(&[("key", self.json_expr(key)), ("data", self.json_set_ref(map))])
    }

    fn json_set_ref(&self, set: &SetRef) -> String {
        match set {
            SetRef::Named(name) => text(&format!("@{name}")),
            SetRef::Anonymous(set) => {
                wrap("set", &array(&self.json_elements(&set.elements, &set.key, &set.data, set.interval)))
            }
        }
    }

    fn json_nat(&self, nat: &Nat) -> String {
        let mut inside = Vec::new();
        if let Some(family) = nat.family {
            inside.push(("family", text(family.name())));
        }
        match &nat.addr {
            // A range that is a prefix is printed as one.
            Some(Expr::Range { ty, low, high }) => {
                inside.push(("addr", spans(&[Span { low: *low, high: *high }], &[*ty])));
            }
            Some(addr) => inside.push(("addr", self.json_expr(addr))),
            None => {}
        }
        if let Some(port) = &nat.port {
            inside.push(("port", self.json_expr(port)));
        }
        let flags: Vec<String> = [
            (nat.random, "random"),
            (nat.fully_random, "fully-random"),
            (nat.persistent, "persistent"),
            (nat.prefix, "netmap"),
        ]
        .into_iter()
        .filter(|(on, _)| *on)
        .map(|(_, name)| text(name))
        .collect();
        if !flags.is_empty() {
            inside.push(("flags", one_or_array(&flags)));
        }
        if nat.prefix {
            inside.push(("type_flags", text("prefix")));
        }
        if inside.is_empty() { wrap(nat.kind.name(), "null") } else { object(nat.kind.name(), &inside) }
    }

    fn json_expr(&self, e: &Expr) -> String {
        match e {
            Expr::Value { ty, value } => self::value(*ty, *value),
            Expr::Prefix { ty: Type::IfName, value, .. } => text(&format!("{}*", value_name(*value))),
            Expr::Prefix { ty, value, len } => {
                object("prefix", &[("addr", self::value(*ty, *value)), ("len", len.to_string())])
            }
            Expr::Range { ty, low, high } => range(*ty, Span { low: *low, high: *high }),
            Expr::Meta(key) => object("meta", &[("key", text(expr::meta_name(*key)))]),
            Expr::Ct { key, direction, family } => {
                let name = match family {
                    Some(family) => format!("{} {}", family.name(), key.name()),
                    None => key.name().to_owned(),
                };
                json_ct(&name, *direction)
            }
            Expr::Payload(payload) => json_payload(payload),
            Expr::Exthdr(field) => json_exthdr(field),
            Expr::Fib { keys, result } => {
                let flags: Vec<String> = [
                    (keys.saddr, "saddr"),
                    (keys.daddr, "daddr"),
                    (keys.mark, "mark"),
                    (keys.iif, "iif"),
                    (keys.oif, "oif"),
                ]
                .into_iter()
                .filter(|(on, _)| *on)
                .map(|(_, name)| text(name))
                .collect();
                let result = match result {
                    FibResult::Oif | FibResult::Present => "oif",
                    FibResult::OifName => "oifname",
                    FibResult::Type => "type",
                };
                object("fib", &[("result", text(result)), ("flags", array(&flags))])
            }
            Expr::Rt { key, family } => {
                let mut inside = vec![("key", text(key.name()))];
                if let Some(family) = family {
                    inside.push(("family", text(family.name())));
                }
                object("rt", &inside)
            }
            Expr::Numgen(numgen) => {
                let mode = match numgen.mode {
                    NumgenMode::Random => "random",
                    NumgenMode::Inc => "inc",
                };
                object(
                    "numgen",
                    &[
                        ("mode", text(mode)),
                        ("mod", numgen.modulus.to_string()),
                        ("offset", numgen.offset.to_string()),
                    ],
                )
            }
            Expr::Hash(hash) => {
                let mut inside = vec![("mod", hash.modulus.to_string())];
                if let Some(seed) = hash.seed {
                    inside.push(("seed", seed.to_string()));
                }
                if hash.offset > 0 {
                    inside.push(("offset", hash.offset.to_string()));
                }
                match &hash.key {
                    Some(key) => {
                        inside.push(("expr", self.json_expr(key)));
                        object("jhash", &inside)
                    }
                    None => object("symhash", &inside),
                }
            }
            Expr::Concat(parts) => {
                let parts: Vec<String> = parts.iter().map(|part| self.json_expr(part)).collect();
                wrap("concat", &array(&parts))
            }
            Expr::Binary { op, left, right } => {
                wrap(op.symbol(), &array(&[self.json_expr(left), self.json_expr(right)]))
            }
            Expr::Map { key, map } => self.json_map("map", key, map),
            Expr::Set(set) => self.json_set_ref(set),
            Expr::Foreign { text: foreign, .. } => text(foreign),
        }
    }
}

fn json_ct(name: &str, direction: Option<Direction>) -> String {
    let mut inside = vec![("key", text(name))];
    if let Some(direction) = direction {
        inside.push(("dir", text(direction.name())));
    }
    object("ct", &inside)
}

fn json_payload(payload: &Payload) -> String {
    match payload {
        Payload::Field { proto, field } => {
            object("payload", &[("protocol", text(proto.name())), ("field", text(field.name))])
        }
        Payload::Raw { base, offset_bits, bits } => object(
            "payload",
            &[("base", text(base.name())), ("offset", offset_bits.to_string()), ("len", bits.to_string())],
        ),
    }
}

fn json_exthdr(field: &ExthdrField) -> String {
    let named = |kind: &str, name: &str, field: Option<&str>| {
        let mut inside = vec![("name", text(name))];
        if let Some(field) = field {
            inside.push(("field", text(field)));
        }
        object(kind, &inside)
    };
    match field {
        ExthdrField::Ipv6 { header, field } => named("exthdr", header.name, field.map(|f| f.name)),
        ExthdrField::TcpOption { option, number, field } => {
            let name = if *number > 0 { format!("{}{number}", option.name) } else { option.name.to_owned() };
            named("tcp option", &name, field.map(|f| f.name))
        }
        ExthdrField::TcpRaw { kind, offset_bits, bits } => object(
            "tcp option",
            &[
                ("base", kind.to_string()),
                ("offset", offset_bits.to_string()),
                ("len", if *bits == 0 { 8 } else { *bits }.to_string()),
            ],
        ),
        ExthdrField::IpOption { option, field } => named("ip option", option.name, field.map(|f| f.name)),
    }
}

fn json_limit(limit: &Limit) -> String {
    let (rate, rate_unit) = if limit.bytes { stmt::volume(limit.rate) } else { (limit.rate, "packets") };
    let (burst, burst_unit) =
        if limit.bytes { stmt::volume(limit.burst.into()) } else { (limit.burst.into(), "packets") };
    let mut inside =
        vec![("rate", rate.to_string()), ("burst", burst.to_string()), ("per", text(limit.unit.name()))];
    if limit.over {
        inside.push(("inv", "true".to_owned()));
    }
    if limit.bytes {
        inside.push(("rate_unit", text(rate_unit)));
        inside.push(("burst_unit", text(burst_unit)));
    }
    object("limit", &inside)
}

fn json_quota(quota: &Quota, state: &StmtState) -> String {
    let (bytes, unit) = stmt::volume(quota.bytes);
    let mut inside = vec![("val", bytes.to_string()), ("val_unit", text(unit))];
    if quota.over {
        inside.push(("inv", "true".to_owned()));
    }
    if let StmtState::Quota { used_bytes } = state
        && *used_bytes > 0
    {
        let (used, unit) = stmt::volume(*used_bytes);
        inside.push(("used", used.to_string()));
        inside.push(("used_unit", text(unit)));
    }
    object("quota", &inside)
}

fn json_ct_count(over: bool, count: u32) -> String {
    let mut inside = vec![("val", count.to_string())];
    if over {
        inside.push(("inv", "true".to_owned()));
    }
    object("ct count", &inside)
}

fn json_log(log: &Log) -> String {
    let mut inside = Vec::new();
    if let Some(prefix) = &log.prefix {
        inside.push(("prefix", text(prefix)));
    }
    if let Some(group) = log.group {
        inside.push(("group", group.to_string()));
    }
    if let Some(snaplen) = log.snaplen {
        inside.push(("snaplen", snaplen.to_string()));
    }
    if let Some(threshold) = log.queue_threshold {
        inside.push(("queue-threshold", threshold.to_string()));
    }
    if let Some(level) = log.level {
        inside.push(("level", text(level.name())));
    }
    let flags: Vec<String> = if log.flags == 47 {
        vec![text("all")]
    } else {
        [(1, "tcp sequence"), (2, "tcp options"), (4, "ip options"), (8, "skuid"), (32, "ether")]
            .into_iter()
            .filter(|(bit, _)| log.flags & bit != 0)
            .map(|(_, name)| text(name))
            .collect()
    };
    if !flags.is_empty() {
        inside.push(("flags", one_or_array(&flags)));
    }
    if inside.is_empty() { wrap("log", "null") } else { object("log", &inside) }
}

/// A constant: a number where the type has no symbols, else its text without quotes.
fn value(ty: Type, value: u128) -> String {
    match ty {
        Type::Integer(_) | Type::Mark | Type::InetService | Type::Uid | Type::Gid => value.to_string(),
        Type::Time => (value / 1000).to_string(),
        Type::CtLabel => value.trailing_zeros().to_string(),
        Type::Boolean => (value != 0).to_string(),
        ty if ty.is_bitmask() && value != 0 => {
            let names: Vec<String> = (0..ty.bits())
                .map(|bit| 1_u128 << bit)
                .filter(|bit| value & bit != 0)
                .map(|bit| {
                    let name = symbols::of(ty).iter().find(|(_, v)| *v == bit);
                    name.map_or_else(|| bit.to_string(), |(name, _)| text(name))
                })
                .collect();
            one_or_array(&names)
        }
        ty => {
            let mut out = String::new();
            symbols::print(&mut out, ty, value, Radix::Decimal);
            let has_name = symbols::of(ty).iter().any(|(_, v)| *v == value);
            // Realms are text in any case.
            let from_file = ty == Type::Realm;
            if !symbols::of(ty).is_empty() && !has_name && !from_file {
                return value.to_string();
            }
            text(out.trim_matches('"'))
        }
    }
}

fn range(ty: Type, span: Span) -> String {
    let end =
        |v: u128| if symbols::of(ty).is_empty() || ty == Type::Day { value(ty, v) } else { v.to_string() };
    wrap("range", &array(&[end(span.low), end(span.high)]))
}

fn spans(key: &[Span], types: &[Type]) -> String {
    let parts: Vec<String> = key
        .iter()
        .zip(types)
        .map(|(span, ty)| {
            if span.is_one() {
                value(*ty, span.low)
            } else if let Some(len) = prefix_len(*ty, *span) {
                object("prefix", &[("addr", value(*ty, span.low)), ("len", len.to_string())])
            } else if *ty == Type::IfName {
                text(&format!("{}*", value_name(span.low)))
            } else {
                range(*ty, *span)
            }
        })
        .collect();
    if let [one] = parts.as_slice() { one.clone() } else { wrap("concat", &array(&parts)) }
}
