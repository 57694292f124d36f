//! The reader itself: getopt over the words, with the options of every match and target named so far.

use std::borrow::Cow;

use super::find::Found;
use super::options::{Global, short};
use super::{Command, Op, SpecCx, check_chain_name};
use crate::base::limits::CHAIN_NAME_LEN_MAX;
use crate::netfilter::rule::{BoundMatch, Not};
use crate::netfilter::table::Flavour;
use crate::netfilter::xt::{
    ArgError, Match, MatchEntry, NotEmulated, Opt, OptSpec, Parsed, Refusal, TargetEntry, TargetExt,
};
use crate::packet::Family;
use crate::text::xt::fault::{Fault, Span};
use crate::text::xt::words::Word;

/// Reads one command. `line` is the text the words were split from.
pub(in crate::text::xt) fn read(
    cx: &SpecCx<'_>,
    line: &str,
    words: &[Word<'_>],
) -> Result<Box<Command>, Fault> {
    let mut reader = Reader {
        cx,
        line,
        words,
        at: 0,
        out: Box::default(),
        seen: Seen::default(),
        loaded: Vec::new(),
        proto: None,
        proto_loaded: false,
        jump: None,
        addresses: [None; 2],
    };
    reader.run()?;
    reader.finish()
}

pub(super) struct Reader<'c, 'w> {
    pub(super) cx: &'c SpecCx<'c>,
    pub(super) line: &'w str,
    pub(super) words: &'w [Word<'w>],
    /// Next word.
    pub(super) at: usize,
    pub(super) out: Box<Command>,
    pub(super) seen: Seen,
    /// Matches, and the target if it is an extension, in the order named.
    pub(super) loaded: Vec<Loaded<'w>>,
    /// `-p`, zero for all.
    pub(super) proto: Option<Not<u8>>,
    /// Whether the match that `-p` implies was loaded.
    pub(super) proto_loaded: bool,
    pub(super) jump: Option<Jump<'w>>,
    /// `-s` and `-d` as written; the tool looks at them last.
    pub(super) addresses: [Option<(&'w str, Span, bool)>; 2],
}

pub(super) struct Jump<'w> {
    pub(super) name: &'w str,
    pub(super) span: Span,
    pub(super) goto: bool,
}

/// Options of one extension whose places are remembered: few rules use more, and those name the extension.
const SPANS_KEPT: usize = 6;

/// An extension named by the rule, and what was said of it.
pub(super) struct Loaded<'w> {
    pub(super) kind: Kind,
    pub(super) name: &'w str,
    pub(super) span: Span,
    pub(super) opts: Vec<Opt<'w>>,
    /// Places of the first options' values, for messages.
    pub(super) spans: [Span; SPANS_KEPT],
}

pub(super) enum Kind {
    Match(&'static MatchEntry),
    Target(&'static TargetEntry),
    VerbatimMatch(Box<str>),
    VerbatimTarget(Box<str>),
}

impl Kind {
    pub(super) const fn is_guided(&self) -> bool {
        match self {
            Self::Match(m) => m.spec.guided,
            Self::Target(t) => t.spec.guided,
            Self::VerbatimMatch(_) | Self::VerbatimTarget(_) => false,
        }
    }

    pub(super) const fn options(&self) -> &'static [OptSpec] {
        match self {
            Self::Match(m) => m.spec.options,
            Self::Target(t) => t.spec.options,
            Self::VerbatimMatch(_) | Self::VerbatimTarget(_) => &[],
        }
    }
}

/// Options used, one bit each, for "multiple -s flags" and "Illegal option".
#[derive(Clone, Copy, Default)]
pub(super) struct Seen(pub(super) u32);

impl Seen {
    pub(super) const ORDER: [Global; 13] = [
        Global::Numeric,
        Global::Source,
        Global::Destination,
        Global::Protocol,
        Global::Jump,
        Global::Verbose,
        Global::Exact,
        Global::InDev,
        Global::OutDev,
        Global::LineNumbers,
        Global::Counters,
        Global::Fragment,
        Global::Table,
    ];

    pub(super) fn bit(option: Global) -> u32 {
        let option = if option == Global::Goto { Global::Jump } else { option };
        Self::ORDER.iter().position(|&o| o == option).map_or(0, |at| 1 << at)
    }

    pub(super) fn has(self, option: Global) -> bool {
        self.0 & Self::bit(option) != 0
    }
}

impl<'w> Reader<'_, 'w> {
    fn run(&mut self) -> Result<(), Fault> {
        let mut inverted = false;
        while let Some(word) = self.words.get(self.at) {
            self.at += 1;
            let text: &'w str = &word.text;
            let bytes = text.as_bytes();
            if text == "!" {
                if inverted {
                    return Err(Fault::parameter(word.span, "multiple consecutive ! not allowed"));
                }
                inverted = true;
                continue;
            }
            if bytes.len() > 2 && bytes[0] == b'-' && bytes[1] == b'-' {
                let (name, value) = match text.split_once('=') {
                    Some((name, value)) => (name, Some(value)),
                    None => (text, None),
                };
                match self.find_long(name, word)? {
                    Found::Global(option) => self.global(option, value, word, inverted)?,
                    Found::Ext { loaded, option } => self.ext(loaded, option, value, word, inverted)?,
                }
            } else if bytes.len() > 1 && bytes[0] == b'-' && bytes[1] != b'-' {
                self.short_cluster(text, word, inverted)?;
            } else if text == "--" && self.at < self.words.len() {
                return Err(Fault::parameter(word.span, "unknown arguments found on commandline"));
            } else if text != "--" {
                let hint = bad_argument_hint(text, self.words.get(self.at.wrapping_sub(2)));
                return Err(Fault::bare(word.span, format!("Bad argument `{text}'")).with_hint(hint));
            }
            inverted = false;
        }
        match self.words.last() {
            Some(last) if inverted => Err(Fault::parameter(last.span, "nothing appropriate following !")),
            Some(_) | None => Ok(()),
        }
    }

    /// `-nvL`, `-j`, or `-jACCEPT`.
    fn short_cluster(&mut self, text: &'w str, word: &'w Word<'w>, inverted: bool) -> Result<(), Fault> {
        for (offset, c) in text.char_indices().skip(1) {
            let known = u8::try_from(c).ok().and_then(short);
            let Some(option) = known else {
                return Err(Fault::parameter(word.span, format!("unknown option \"{text}\"")));
            };
            let rest = &text[offset + c.len_utf8()..];
            if takes_value(option) {
                // The tool's own slip: a value glued to its option is taken with the option's letter.
                let value = (!rest.is_empty()).then_some(text);
                return self.global(option, value, word, inverted);
            }
            self.global(option, None, word, inverted)?;
        }
        Ok(())
    }

    /// The value of an option that must have one.
    pub(super) fn value(
        &mut self,
        inline: Option<&'w str>,
        word: &Word<'_>,
    ) -> Result<(&'w str, Span), Fault> {
        if let Some(value) = inline {
            return Ok((value, word.span));
        }
        let Some(next) = self.words.get(self.at) else {
            return Err(Fault::parameter(
                word.span,
                format!("option \"{}\" requires an argument", word.text),
            ));
        };
        self.at += 1;
        Ok((&next.text, next.span))
    }

    /// The next word, if it is not an option (`xs_has_arg`).
    pub(super) fn optional(&mut self) -> Option<&'w Word<'w>> {
        let next = self.words.get(self.at).filter(|w| !w.text.starts_with(['-', '!']))?;
        self.at += 1;
        Some(next)
    }

    fn finish(mut self) -> Result<Box<Command>, Fault> {
        let whole = Span { start: 0, end: self.line.len() as u32 };
        let Some(op) = self.out.op else {
            return Err(Fault::parameter(whole, "no command specified"));
        };
        self.allowed(op, whole)?;
        if let Some(chain) = &self.out.chain
            && chain.len() > CHAIN_NAME_LEN_MAX
        {
            check_chain_name(chain, self.out.chain_span)?;
        }
        self.devices_fit()?;
        for (side, source) in [(0, true), (1, false)] {
            if let Some((text, span, inverted)) = self.addresses[side] {
                self.read_addresses(source, text, span, inverted)?;
            }
        }
        let chain = self.out.chain.take();
        let table = self.out.table.clone().map_or(Cow::Borrowed(self.cx.table), Cow::Owned);
        let proto = self.proto.filter(|p| p.value != 0);
        let is_match = |l: &&Loaded<'_>| matches!(l.kind, Kind::Match(_) | Kind::VerbatimMatch(_));
        let mut matches = Vec::with_capacity(self.loaded.iter().filter(is_match).count());
        let mut target = None;
        for loaded in std::mem::take(&mut self.loaded) {
            let Loaded { kind, name, span, opts, spans } = loaded;
            let parsed = Parsed {
                family: self.cx.family,
                table: &table,
                chain: chain.as_deref().unwrap_or_default(),
                proto,
                opts,
            };
            let read = match kind {
                Kind::Match(entry) => (entry.parse)(&parsed).map(|mut m| {
                    if self.cx.flavour == Flavour::Nft {
                        read_back_by_nft(&mut m);
                    }
                    if let Match::NotEmulated(m) = &m {
                        self.out.verbatim.push((format!("-m {} {}", m.name, m.text), span));
                    }
                    matches.push(BoundMatch { m, state: None });
                }),
                Kind::Target(entry) => (entry.parse)(&parsed).map(|t| {
                    if let TargetExt::NotEmulated(t) = &t {
                        self.out.verbatim.push((format!("-j {} {}", t.name, t.text), span));
                    }
                    target = Some(t);
                }),
                Kind::VerbatimMatch(text) => {
                    let m = Match::NotEmulated(NotEmulated { name: name.into(), text, goto: false });
                    matches.push(BoundMatch { m, state: None });
                    Ok(())
                }
                Kind::VerbatimTarget(text) => {
                    let t = NotEmulated { name: name.into(), text, goto: false };
                    target = Some(TargetExt::NotEmulated(t));
                    Ok(())
                }
            };
            let Err(ArgError { opt, mut message, by }) = read else { continue };
            // The guided parser ends its messages with a newline of its own.
            if message.starts_with(name) && message[name.len()..].starts_with(": option \"") {
                message.push('\n');
            }
            let span = opt.and_then(|i| spans.get(i)).copied().unwrap_or(span);
            let ports = parsed.opts.iter().any(|o| o.name.ends_with("port"));
            match by {
                // nft translates port tests itself and wants the protocol at once.
                Refusal::Kernel(_)
                    if self.cx.flavour == Flavour::Nft && ports && matches!(name, "tcp" | "udp") =>
                {
                    let upper = name.to_ascii_uppercase();
                    return Err(Fault::parameter(span, format!("{upper} match requires '-p {name}'")));
                }
                Refusal::Tool | Refusal::NotEmulated => return Err(Fault::parameter(span, message)),
                Refusal::Kernel(errno) => {
                    if self.out.objection.is_none() {
                        self.out.objection = Some((errno, message, span));
                    }
                }
            }
        }
        self.out.chain = chain;
        self.out.rule.matches = matches;
        let (target, missing) = self.target(target)?;
        self.out.rule.target = target;
        self.out.rule.missing = missing;
        Ok(self.out)
    }
}

/// Whether a short option takes the rest of its word, or the next word, as its value.
pub(super) const fn takes_value(option: Global) -> bool {
    match option {
        Global::Numeric
        | Global::Verbose
        | Global::Exact
        | Global::LineNumbers
        | Global::Fragment
        | Global::Ipv4
        | Global::Ipv6 => false,
        Global::Op(op) => !matches!(op, Op::Version | Op::Help),
        Global::Source
        | Global::Destination
        | Global::Protocol
        | Global::InDev
        | Global::OutDev
        | Global::Match
        | Global::Jump
        | Global::Goto
        | Global::Counters
        | Global::Table
        | Global::Wait
        | Global::WaitInterval
        | Global::Modprobe => true,
    }
}

/// The name that iptables-restore gives itself in messages.
pub(in crate::text::xt) const fn restore_name(flavour: Flavour, family: Family) -> &'static str {
    match (flavour, family) {
        (Flavour::Legacy, Family::V4) => "iptables-restore",
        (Flavour::Legacy, Family::V6) => "ip6tables-restore",
        (Flavour::Nft, Family::V4) => "iptables-nft-restore",
        (Flavour::Nft, Family::V6) => "ip6tables-nft-restore",
    }
}

/// iptables-nft stores tcp and udp as native expressions and prints what it makes of them.
fn read_back_by_nft(m: &mut Match) {
    let (sport, dport) = match m {
        Match::Tcp(tcp) => {
            // What its own expressions cannot say is left to the kernel's xt_tcp.
            tcp.native = tcp.option.is_none();
            (&mut tcp.sport, &mut tcp.dport)
        }
        Match::Udp(udp) => {
            udp.native = true;
            (&mut udp.sport, &mut udp.dport)
        }
        _ => return,
    };
    *sport = sport.read_back_by_nft();
    *dport = dport.read_back_by_nft();
}

/// What may have been meant by a word that stands alone.
fn bad_argument_hint(text: &str, before: Option<&Word<'_>>) -> String {
    if matches!(text, "ACCEPT" | "DROP" | "RETURN" | "REJECT" | "LOG") {
        return format!(" (did you mean \"-j {text}\"?)");
    }
    // -dport 22: read as -d with the value "-dport".
    match before.map(|w| &*w.text) {
        Some(option) if option.starts_with('-') && !option.starts_with("--") && option.len() > 2 => {
            format!(" (did you mean \"-{option}\"?)")
        }
        Some(_) | None => String::new(),
    }
}
