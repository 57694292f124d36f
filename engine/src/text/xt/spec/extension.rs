//! Matches and targets: naming them, collecting their options, keeping verbatim what is not emulated.

use super::options::{LONG, short};
use super::rule::{Jump, Kind, Loaded, Reader};
use crate::base::limits::CHAIN_NAME_LEN_MAX;
use crate::netfilter::xt::{Opt, OptSpec, Values};
use crate::text::xt::fault::{Fault, Span};
use crate::text::xt::words::Word;
use crate::text::xt::{known, registry};

impl<'w> Reader<'_, 'w> {
    pub(super) fn load_match(&mut self, name: &'w str, span: Span) -> Result<(), Fault> {
        // `-m icmpv6` and the like: the tool knows protocol matches under several names.
        let name = match name {
            "icmpv6" | "ipv6-icmp" => "icmp6",
            "ipv6-mh" | "mobility-header" => "mh",
            other => other,
        };
        if let Some(entry) = registry::find_match(name, self.cx.family) {
            self.load(Kind::Match(entry), entry.spec.name, span);
            return Ok(());
        }
        if !known::is_match(name) {
            return Err(Fault::parameter(
                span,
                format!("Couldn't load match `{name}':No such file or directory\n"),
            ));
        }
        let text = self.verbatim();
        self.out.verbatim.push((format!("-m {name}"), span));
        self.load(Kind::VerbatimMatch(text), name, span);
        Ok(())
    }

    pub(super) fn jump_to(&mut self, name: &'w str, span: Span, goto: bool) -> Result<(), Fault> {
        if name.is_empty() {
            return Err(Fault::parameter(span, "Invalid target name (too short)"));
        }
        if name.len() > CHAIN_NAME_LEN_MAX {
            return Err(Fault::parameter(
                span,
                format!("Invalid target name `{name}' ({} chars max)", CHAIN_NAME_LEN_MAX),
            ));
        }
        if name.contains(|c: char| c.is_ascii_whitespace()) {
            return Err(Fault::parameter(span, format!("Invalid target name `{name}'")));
        }
        self.jump = Some(Jump { name, span, goto });
        if goto {
            return Ok(());
        }
        if let Some(entry) = registry::find_target(name, self.cx.family) {
            self.load(Kind::Target(entry), entry.spec.name, span);
        } else if known::is_target(name) && (self.cx.chains)(name).is_none() {
            let text = self.verbatim();
            self.out.verbatim.push((format!("-j {name}"), span));
            self.load(Kind::VerbatimTarget(text), name, span);
        }
        Ok(())
    }

    /// The words of an extension that is not emulated: all up to the next option that is the command's own.
    pub(super) fn verbatim(&mut self) -> Box<str> {
        let first = self.at;
        while let Some(word) = self.words.get(self.at) {
            let word = if &*word.text == "!" { self.words.get(self.at + 1).unwrap_or(word) } else { word };
            if !word.quoted && is_own_option(&word.text) {
                break;
            }
            self.at += 1;
        }
        match self.words[first..self.at] {
            [] => Box::default(),
            [ref only] => self.line[only.span.start as usize..only.span.end as usize].into(),
            [ref a, .., ref z] => self.line[a.span.start as usize..z.span.end as usize].into(),
        }
    }

    /// An option of a match or target.
    pub(super) fn ext(
        &mut self,
        at: usize,
        option: &'static OptSpec,
        inline: Option<&'w str>,
        word: &'w Word<'w>,
        inverted: bool,
    ) -> Result<(), Fault> {
        let name = self.loaded[at].name;
        // The guided parser has its own words for it, and looks at the whole rule first.
        if inverted && !option.negate && !self.loaded[at].kind.is_guided() {
            return Err(Fault::parameter(
                word.span,
                format!("{name}: option \"{}\" cannot be inverted.", option.name),
            ));
        }
        let mut span = word.span;
        let values = match option.values {
            Values::None => Vec::new(),
            Values::One => {
                let (value, value_span) = self.value(inline, word)?;
                span = value_span;
                vec![value]
            }
            Values::Optional => match inline {
                Some(value) => vec![value],
                None => self
                    .optional()
                    .map(|next| {
                        span = next.span;
                        &*next.text
                    })
                    .into_iter()
                    .collect(),
            },
            Values::Two => {
                let (first, first_span) = self.value(inline, word)?;
                let (second, second_span) = self.value(None, word)?;
                span = Span { start: first_span.start, end: second_span.end };
                vec![first, second]
            }
        };
        let loaded = &mut self.loaded[at];
        if let Some(place) = loaded.spans.get_mut(loaded.opts.len()) {
            *place = span;
        }
        loaded.opts.push(Opt { name: option.name, inverted, values });
        Ok(())
    }

    pub(super) fn load(&mut self, kind: Kind, name: &'w str, span: Span) {
        self.loaded.push(Loaded { kind, name, span, opts: Vec::new(), spans: Default::default() });
    }
}

/// An option of the command itself, spelled as people and iptables-save spell it.
fn is_own_option(text: &str) -> bool {
    match text.strip_prefix("--") {
        Some(long) => LONG.iter().any(|(name, _)| *name == long),
        None => text.len() == 2 && text.starts_with('-') && short(text.as_bytes()[1]).is_some(),
    }
}
