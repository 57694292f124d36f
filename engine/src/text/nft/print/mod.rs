//! Printing as `nft list` does (1.0.6): tables, chains, sets, objects. Expressions and statements are in `expr` and
//! `stmt`, elements in `elements`, the `-j` form in `json`.

pub(super) mod elements;
pub(super) mod expr;
pub(super) mod json;
mod listed;
pub(super) mod stmt;

use std::borrow::Cow;
use std::fmt::Write as _;

use super::priority;
use super::read::op::Subject;
use super::symbols::print_span;
use crate::base::Instant;
use crate::netfilter::nft::object::ObjectBody;
use crate::netfilter::nft::{
    Chain, Element, NftHook, NftState, Object, Policy, Rule, Ruleset, Set, SetData, Statement, StmtState,
    Table, TableFamily, Type,
};

/// Options of `nft` that change how listings look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListOptions {
    /// `-a`: handles as comments.
    pub handles: bool,
    /// `-t`: no elements of sets.
    pub terse: bool,
    /// `-s`: no counters and other state.
    pub stateless: bool,
    /// `-y`: priorities as numbers.
    pub numeric_priority: bool,
    /// `-j`.
    pub json: bool,
}

/// `nft list ruleset`.
pub fn list_ruleset(ruleset: &Ruleset, now: Instant, options: ListOptions) -> String {
    subject(ruleset, &Subject::Ruleset(None), now, options)
}

/// The listing of one rule, without its handle.
pub fn rule_text(table: &Table, rule: &Rule, state: &NftState) -> String {
    let printer = Printer { state, table, now: Instant::ZERO, options: ListOptions::default() };
    let mut out = String::new();
    printer.rule(&mut out, rule, 0);
    out
}

/// One rule in two halves, without what its counters stand at and without its comment: up to the last test, or
/// question to a verdict map, and what it does then.
pub fn rule_halves(table: &Table, rule: &Rule, state: &NftState) -> (String, String) {
    let is_test = |s: &Statement| matches!(s, Statement::Match { .. } | Statement::VerdictMap { .. });
    let listed = listed::listed(table.family, &rule.statements);
    let listed: Vec<Statement> = listed.into_iter().map(Cow::into_owned).collect();
    let tests = listed.iter().rposition(is_test).map_or(0, |at| at + 1);
    let (tests, does) = listed.split_at(tests);
    (statements_text(table, tests, state), statements_text(table, does, state))
}

/// Statements as a listing with `-s` has them.
pub fn statements_text(table: &Table, statements: &[Statement], state: &NftState) -> String {
    let options = ListOptions { stateless: true, ..ListOptions::default() };
    let printer = Printer { state, table, now: Instant::ZERO, options };
    let mut out = String::new();
    for (index, statement) in statements.iter().enumerate() {
        if index > 0 {
            out.push(' ');
        }
        printer.statement(&mut out, statement, 0);
    }
    out
}

/// What a `list` command prints.
pub(super) fn subject(ruleset: &Ruleset, subject: &Subject, now: Instant, options: ListOptions) -> String {
    if options.json {
        return json::subject(ruleset, subject, now, options);
    }
    let mut out = String::new();
    let printer = |table| Printer { state: &ruleset.state, table, now, options };
    let of = |family: &Option<TableFamily>, table: &Table| family.is_none_or(|f| f == table.family);
    let tables = || ruleset.tables.iter().map(|t| &**t);
    match subject {
        Subject::Ruleset(family) => {
            for table in tables().filter(|t| of(family, t)) {
                printer(table).table(&mut out);
            }
        }
        Subject::Table(id) => {
            if let Some(table) = ruleset.table(id.family, &id.name.text) {
                printer(table).table(&mut out);
            }
        }
        Subject::Tables(family) => {
            for table in tables().filter(|t| of(family, t)) {
                let _ = writeln!(out, "table {} {}", table.family.name(), table.name);
            }
        }
        Subject::Chain(id, name) => {
            if let Some(table) = ruleset.table(id.family, &id.name.text) {
                printer(table).framed(&mut out, |p, out| {
                    if let Some(chain) = table.chains.get(&name.text) {
                        p.chain(out, chain);
                    }
                });
            }
        }
        Subject::Chains(family) => {
            for table in tables().filter(|t| of(family, t)) {
                printer(table).framed(&mut out, |p, out| {
                    for chain in table.chains.values().filter(|c| !c.anonymous) {
                        let _ = writeln!(out, "\tchain {} {{", chain.name);
                        p.base(out, chain);
                        out.push_str("\t}\n");
                    }
                });
            }
        }
        Subject::Set(id, name) => {
            if let Some(table) = ruleset.table(id.family, &id.name.text) {
                printer(table).framed(&mut out, |p, out| {
                    if let Some(set) = table.sets.get(&name.text) {
                        p.set(out, set);
                    }
                });
            }
        }
        Subject::Sets(family, id) | Subject::Maps(family, id) => {
            let maps = matches!(subject, Subject::Maps(..));
            for table in tables().filter(|t| of(family, t)) {
                if id.as_ref().is_some_and(|id| id.family != table.family || id.name.text != table.name) {
                    continue;
                }
                printer(table).framed(&mut out, |p, out| {
                    for set in table.sets.values().filter(|s| matches!(s.data, SetData::None) != maps) {
                        p.set_head(out, set);
                        out.push_str("\t}\n");
                    }
                });
            }
        }
        Subject::Object(kind, id, name) => {
            if let Some(table) = ruleset.table(id.family, &id.name.text) {
                printer(table).framed(&mut out, |p, out| {
                    if let Some(object) = table.objects.get(&(*kind, name.text.clone())) {
                        p.object(out, object);
                    }
                });
            }
        }
        Subject::Objects(kind, family, id) => {
            for table in tables().filter(|t| of(family, t)) {
                if id.as_ref().is_some_and(|id| id.family != table.family || id.name.text != table.name) {
                    continue;
                }
                printer(table).framed(&mut out, |p, out| {
                    for object in table.objects.values().filter(|o| o.kind() == *kind) {
                        p.object(out, object);
                    }
                });
            }
        }
    }
    out
}

/// Prints the things of one table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Printer<'r> {
    pub(super) state: &'r NftState,
    pub(super) table: &'r Table,
    pub(super) now: Instant,
    pub(super) options: ListOptions,
}

impl Printer<'_> {
    fn handle(&self, out: &mut String, handle: u64) {
        if self.options.handles {
            let _ = write!(out, " # handle {handle}");
        }
    }

    /// `table ip x {`, something, `}`.
    fn framed(&self, out: &mut String, inside: impl FnOnce(&Self, &mut String)) {
        let _ = writeln!(out, "table {} {} {{", self.table.family.name(), self.table.name);
        inside(self, out);
        out.push_str("}\n");
    }

    fn table(&self, out: &mut String) {
        let table = self.table;
        let _ = write!(out, "table {} {} {{", table.family.name(), table.name);
        self.handle(out, table.handle);
        out.push('\n');
        if table.dormant {
            out.push_str("\tflags dormant\n");
        }
        if let Some(comment) = &table.comment {
            let _ = writeln!(out, "\tcomment \"{comment}\"");
        }
        let mut between = if table.dormant { "\n" } else { "" };
        let mut item = |out: &mut String, print: &dyn Fn(&mut String)| {
            out.push_str(std::mem::replace(&mut between, "\n"));
            print(out);
        };
        for object in table.objects.values() {
            item(out, &|out| self.object(out, object));
        }
        for set in table.sets.values() {
            item(out, &|out| self.set(out, set));
        }
        for (name, lines) in &table.flowtables {
            item(out, &|out| {
                let _ = writeln!(out, "\tflowtable {name} {{");
                for line in lines {
                    let _ = writeln!(out, "\t\t{line}");
                }
                out.push_str("\t}\n");
            });
        }
        for chain in table.chains.values().filter(|c| !c.anonymous) {
            item(out, &|out| self.chain(out, chain));
        }
        out.push_str("}\n");
    }

    fn object(&self, out: &mut String, object: &Object) {
        let _ = write!(out, "\t{} {} {{", object.kind().name(), object.name);
        self.handle(out, object.handle);
        out.push('\n');
        if let Some(comment) = &object.comment {
            let _ = writeln!(out, "\t\tcomment \"{comment}\"");
        }
        match &object.body {
            ObjectBody::Counter => {
                if let StmtState::Counter(counters) = self.state.get(object.slot)
                    && !self.options.stateless
                {
                    let _ = writeln!(out, "\t\tpackets {} bytes {}", counters.packets, counters.bytes);
                }
            }
            ObjectBody::Quota(quota) => {
                out.push_str("\t\t");
                stmt::quota(out, quota, self.state.get(object.slot), self.options.stateless);
                out.push('\n');
            }
            ObjectBody::Limit(limit) => {
                out.push_str("\t\t");
                stmt::limit(out, limit);
                out.push('\n');
            }
            ObjectBody::CtHelper { helper, protocol, family } => {
                let name = if *protocol == 6 { "tcp" } else { "udp" };
                let _ = writeln!(out, "\t\ttype \"{helper}\" protocol {name}\n\t\tl3proto {family}");
            }
            ObjectBody::Foreign { lines, .. } => {
                for line in lines {
                    let _ = writeln!(out, "\t\t{line}");
                }
            }
        }
        out.push_str("\t}\n");
    }

    /// Up to the elements.
    fn set_head(&self, out: &mut String, set: &Set) {
        let _ = write!(out, "\t{} {} {{", set.noun(), set.name);
        self.handle(out, set.handle);
        out.push('\n');
        out.push_str("\t\t");
        match &set.key_typeof {
            Some(key) => {
                out.push_str("typeof ");
                self.expr(out, key);
            }
            None => {
                out.push_str("type ");
                types(out, &set.key);
            }
        }
        match &set.data {
            SetData::None => {}
            SetData::Verdict => out.push_str(" : verdict"),
            SetData::Objects(kind) => {
                let _ = write!(out, " : {}", kind.name());
            }
            SetData::Values(data) => {
                out.push_str(if set.data_interval { " : interval " } else { " : " });
                match &set.data_typeof {
                    Some(data) => self.expr(out, data),
                    None => types(out, data),
                }
            }
        }
        out.push('\n');
        if set.memory {
            out.push_str("\t\tpolicy memory\n");
        }
        if let Some(size) = set.size {
            let _ = writeln!(out, "\t\tsize {size}");
        }
        let flags = set.flags;
        let mut names = Vec::new();
        for (on, name) in [
            (flags.constant, "constant"),
            (flags.dynamic, "dynamic"),
            (flags.interval, "interval"),
            (flags.timeout, "timeout"),
        ] {
            if on {
                names.push(name);
            }
        }
        // A default time to live says it already.
        let said = names == ["timeout"] && set.timeout.is_some();
        if !names.is_empty() && !said {
            let _ = writeln!(out, "\t\tflags {}", names.join(","));
        }
        if !set.with.is_empty() {
            out.push_str("\t\t");
            for (index, kind) in set.with.iter().enumerate() {
                if index > 0 {
                    out.push(' ');
                }
                self.element_stmt(out, *kind, None);
            }
            out.push('\n');
        }
        for (name, ms) in [("timeout", set.timeout), ("gc-interval", set.gc_interval)] {
            if let Some(ms) = ms {
                let _ = write!(out, "\t\t{name} ");
                print_span(out, ms);
                out.push('\n');
            }
        }
        if set.auto_merge {
            out.push_str("\t\tauto-merge\n");
        }
        if let Some(comment) = &set.comment {
            let _ = writeln!(out, "\t\tcomment \"{comment}\"");
        }
    }

    fn set(&self, out: &mut String, set: &Set) {
        self.set_head(out, set);
        let elements = self.state.elements(set.id).filter(|e| self.any_alive(e));
        if let Some(elements) = elements.filter(|_| !self.options.terse) {
            out.push_str("\t\telements = ");
            self.named_elements(out, set, elements);
            out.push('\n');
        }
        out.push_str("\t}\n");
    }

    pub(super) fn alive(&self, element: &Element) -> bool {
        element.expires.is_none_or(|at| at > self.now)
    }

    fn any_alive(&self, elements: &crate::netfilter::nft::Elements) -> bool {
        elements.by_key.values().chain(&elements.catch_all).any(|e| self.alive(e))
    }

    fn base(&self, out: &mut String, chain: &Chain) {
        let Some(base) = &chain.base else { return };
        let _ = write!(out, "\t\ttype {} hook {}", base.kind.name(), base.hook.name());
        match base.devices.as_slice() {
            [] => {}
            [one] => {
                let _ = write!(out, " device \"{one}\"");
            }
            several => {
                let names: Vec<String> = several.iter().map(|d| d.to_string()).collect();
                let _ = write!(out, " devices = {{ {} }}", names.join(", "));
            }
        }
        let hook = base.hook;
        let value = base.priority.0;
        let priority = if self.options.numeric_priority {
            value.to_string()
        } else {
            priority::print(value, self.table.family, hook)
        };
        let policy = match base.policy {
            Policy::Accept => "accept",
            Policy::Drop => "drop",
        };
        let _ = write!(out, " priority {priority}; policy {policy};");
        if base.offload && matches!(hook, NftHook::Ingress) {
            out.push_str(" flags offload;");
        }
        out.push('\n');
    }

    fn chain(&self, out: &mut String, chain: &Chain) {
        let _ = write!(out, "\tchain {} {{", chain.name);
        self.handle(out, chain.handle);
        out.push('\n');
        if let Some(comment) = &chain.comment {
            let _ = writeln!(out, "\t\tcomment \"{comment}\"");
        }
        self.base(out, chain);
        for rule in &chain.rules {
            out.push_str("\t\t");
            self.rule(out, rule, 2);
            self.handle(out, rule.handle);
            out.push('\n');
        }
        out.push_str("\t}\n");
    }

    /// A rule, `depth` tabs deep: chains written in it are a tab deeper.
    pub(super) fn rule(&self, out: &mut String, rule: &Rule, depth: usize) {
        for (index, statement) in listed::listed(self.table.family, &rule.statements).iter().enumerate() {
            if index > 0 {
                out.push(' ');
            }
            self.statement(out, statement, depth);
        }
        if let Some(comment) = &rule.comment {
            let _ = write!(out, " comment \"{comment}\"");
        }
    }
}

fn types(out: &mut String, types: &[Type]) {
    for (index, ty) in types.iter().enumerate() {
        if index > 0 {
            out.push_str(" . ");
        }
        out.push_str(ty.name());
    }
}
