//! Finds what an option belongs to: an extension that the rule named, or the command itself.

use super::options::{Global, LONG};
use super::rule::{Kind, Reader};
use crate::netfilter::xt::OptSpec;
use crate::packet::Family;
use crate::text::xt::fault::{Fault, Span};
use crate::text::xt::registry;
use crate::text::xt::words::Word;

/// The owner of a long option.
pub(super) enum Found {
    Global(Global),
    Ext { loaded: usize, option: &'static OptSpec },
}

impl<'w> Reader<'_, 'w> {
    /// Finds a long option: spelled out by the newest extension first, then by the command itself, then as the
    /// beginning of exactly one option of all. A match implied by `-p` is loaded when nothing fits.
    pub(super) fn find_long(&mut self, name: &'w str, word: &Word<'_>) -> Result<Found, Fault> {
        if let Some(found) = self.lookup(name) {
            return Ok(found);
        }
        if self.load_protocol(word.span)
            && let Some(found) = self.lookup(name)
        {
            return Ok(found);
        }
        let shown = &*word.text;
        Err(Fault::parameter(word.span, format!("unknown option \"{shown}\"")).with_hint(self.suggest(name)))
    }

    pub(super) fn lookup(&self, name: &str) -> Option<Found> {
        for (at, loaded) in self.loaded.iter().enumerate().rev() {
            if let Some(option) = registry::exact(loaded.kind.options(), name) {
                return Some(Found::Ext { loaded: at, option });
            }
        }
        let bare = &name[2..];
        if let Some(&(_, option)) = LONG.iter().find(|(long, _)| *long == bare) {
            return Some(Found::Global(option));
        }
        self.lookup_prefix(name, bare)
    }

    pub(super) fn lookup_prefix(&self, name: &str, bare: &str) -> Option<Found> {
        let mut found = None;
        for &(long, option) in LONG {
            if long.starts_with(bare) {
                if found.is_some() {
                    return None;
                }
                found = Some(Found::Global(option));
            }
        }
        for (at, loaded) in self.loaded.iter().enumerate() {
            for option in loaded.kind.options() {
                if option.name.starts_with(name) || option.aliases.iter().any(|a| a.starts_with(name)) {
                    match found {
                        None => found = Some(Found::Ext { loaded: at, option }),
                        // The same option under two spellings is no ambiguity.
                        Some(Found::Ext { option: first, .. }) if first.name == option.name => {}
                        Some(_) => return None,
                    }
                }
            }
        }
        found
    }

    /// What the reader may have meant by an option that nothing knows.
    pub(super) fn suggest(&self, name: &str) -> String {
        let owner = crate::netfilter::xt::MATCHES
            .iter()
            .filter(|m| m.spec.families.contains(&self.cx.family))
            .find(|m| registry::exact(m.spec.options, name).is_some());
        if let Some(owner) = owner
            && !self.loaded.iter().any(|l| l.name == owner.spec.name)
        {
            return format!(" (it belongs to \"-m {}\")", owner.spec.name);
        }
        let ours = self.loaded.iter().flat_map(|l| l.kind.options()).map(|o| o.name);
        let near = ours.filter(|o| distance(o, name) <= 2).min_by_key(|o| distance(o, name));
        near.map_or(String::new(), |near| format!(" (did you mean \"{near}\"?)"))
    }

    /// Loads the match that `-p` implies, once. True when there was one to load.
    pub(super) fn load_protocol(&mut self, span: Span) -> bool {
        let Some(proto) = self.proto else { return false };
        let Some(name) = protocol_match(proto.value, self.cx.family) else { return false };
        if self.proto_loaded || self.loaded.iter().any(|l| l.name == name) {
            return false;
        }
        self.proto_loaded = true;
        let Some(entry) = registry::find_match(name, self.cx.family) else { return false };
        self.load(Kind::Match(entry), entry.spec.name, span);
        true
    }
}

/// The match that `-p` brings along.
const fn protocol_match(proto: u8, family: Family) -> Option<&'static str> {
    Some(match (proto, family) {
        (6, _) => "tcp",
        (17, _) => "udp",
        (136, _) => "udplite",
        (33, _) => "dccp",
        (132, _) => "sctp",
        (1, Family::V4) => "icmp",
        (58, Family::V6) => "icmp6",
        (50, _) => "esp",
        (51, _) => "ah",
        (135, Family::V6) => "mh",
        (108, _) => "ipcomp",
        _ => return None,
    })
}

/// Edit distance, for suggestions; capped where it no longer matters.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len().abs_diff(b.len()) > 2 || b.len() > 40 {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let cost = (diagonal + usize::from(x != y)).min(row[j] + 1).min(row[j + 1] + 1);
            diagonal = row[j + 1];
            row[j + 1] = cost;
        }
    }
    row[b.len()]
}
