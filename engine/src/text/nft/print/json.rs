//! The `-j` form (libnftables-json, schema 1): a list of objects, in the order and with the spaces of the tool. Here are
//! tables, chains, rules and sets; below, what is in them.

mod elements;
mod expr;
mod statement;

use std::fmt::Write as _;

use super::{ListOptions, Printer, listed, stmt};
use crate::base::Instant;
use crate::netfilter::nft::object::ObjectBody;
use crate::netfilter::nft::{
    Chain, Object, Policy, Rule, Ruleset, Set, SetData, StmtState, Table, TableFamily,
};
use crate::text::nft::read::op::Subject;

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

/// The names of the flags that are set.
fn set_ones(flags: &[(bool, &str)]) -> Vec<String> {
    flags.iter().filter(|(on, _)| *on).map(|(_, name)| text(name)).collect()
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
        let flags = set_ones(&[
            (flags.constant, "constant"),
            (flags.interval, "interval"),
            (flags.timeout, "timeout"),
        ]);
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
}
