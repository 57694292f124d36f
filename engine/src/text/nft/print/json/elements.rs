//! Elements of sets, with their data and state.

use super::expr::spans;
use super::statement::{json_ct_count, json_limit, json_quota};
use super::{object, text, wrap};
use crate::netfilter::nft::set::ElementStmt;
use crate::netfilter::nft::{Data, Element, Elements, Key, SetData, StmtState, Type, Verdict};
use crate::text::nft::print::Printer;
use crate::text::nft::print::elements::ordered;

impl Printer<'_> {
    pub(super) fn json_elements(
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

    pub(super) fn json_element(
        &self,
        key: Option<&Key>,
        element: &Element,
        types: &[Type],
        data: &SetData,
    ) -> String {
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

    pub(super) fn json_element_stmt(&self, kind: ElementStmt, state: Option<&StmtState>) -> String {
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

    pub(super) fn json_verdict(&self, verdict: &Verdict) -> String {
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
}
