//! The reader itself: getopt over the words, with the options of every match and target named so far.

use std::borrow::Cow;

use super::options::{Global, LONG, short};
use super::{Command, Op, SpecCx, check_chain_name, rule_number};
use crate::base::limits::CHAIN_NAME_LEN_MAX;
use crate::netfilter::rule::{BoundMatch, Not};
use crate::netfilter::table::Flavour;
use crate::netfilter::xt::{
    ArgError, Match, MatchEntry, NotEmulated, Opt, OptSpec, Parsed, Refusal, TargetEntry, TargetExt, Values,
};
use crate::netfilter::{Counters, Target};
use crate::packet::Family;
use crate::text::xt::fault::{Fault, Span};
use crate::text::xt::words::Word;
use crate::text::xt::{addr, known, protocols, registry};

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

struct Reader<'c, 'w> {
    cx: &'c SpecCx<'c>,
    line: &'w str,
    words: &'w [Word<'w>],
    /// Next word.
    at: usize,
    out: Box<Command>,
    seen: Seen,
    /// Matches, and the target if it is an extension, in the order named.
    loaded: Vec<Loaded<'w>>,
    /// `-p`, zero for all.
    proto: Option<Not<u8>>,
    /// Whether the match that `-p` implies was loaded.
    proto_loaded: bool,
    jump: Option<Jump<'w>>,
    /// `-s` and `-d` as written; the tool looks at them last.
    addresses: [Option<(&'w str, Span, bool)>; 2],
}

struct Jump<'w> {
    name: &'w str,
    span: Span,
    goto: bool,
}

/// An extension named by the rule, and what was said of it.
struct Loaded<'w> {
    kind: Kind,
    name: &'w str,
    span: Span,
    opts: Vec<Opt<'w>>,
    spans: Vec<Span>,
}

enum Kind {
    Match(&'static MatchEntry),
    Target(&'static TargetEntry),
    VerbatimMatch(Box<str>),
    VerbatimTarget(Box<str>),
}

impl Kind {
    const fn is_guided(&self) -> bool {
        match self {
            Self::Match(m) => m.spec.guided,
            Self::Target(t) => t.spec.guided,
            Self::VerbatimMatch(_) | Self::VerbatimTarget(_) => false,
        }
    }

    const fn options(&self) -> &'static [OptSpec] {
        match self {
            Self::Match(m) => m.spec.options,
            Self::Target(t) => t.spec.options,
            Self::VerbatimMatch(_) | Self::VerbatimTarget(_) => &[],
        }
    }
}

/// Options used, one bit each, for "multiple -s flags" and "Illegal option".
#[derive(Clone, Copy, Default)]
struct Seen(u32);

impl Seen {
    const ORDER: [Global; 13] = [
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

    fn bit(option: Global) -> u32 {
        let option = if option == Global::Goto { Global::Jump } else { option };
        Self::ORDER.iter().position(|&o| o == option).map_or(0, |at| 1 << at)
    }

    fn has(self, option: Global) -> bool {
        self.0 & Self::bit(option) != 0
    }
}

enum Found {
    Global(Global),
    Ext { loaded: usize, option: &'static OptSpec },
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
                return Err(Fault::bare(word.span, format!("Bad argument `{text}'")));
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

    /// Finds a long option: spelled out by the newest extension first, then by the command itself, then as the
    /// beginning of exactly one option of all. A match implied by `-p` is loaded when nothing fits.
    fn find_long(&mut self, name: &'w str, word: &Word<'_>) -> Result<Found, Fault> {
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

    fn lookup(&self, name: &str) -> Option<Found> {
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

    fn lookup_prefix(&self, name: &str, bare: &str) -> Option<Found> {
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
    fn suggest(&self, name: &str) -> String {
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
    fn load_protocol(&mut self, span: Span) -> bool {
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

    fn load(&mut self, kind: Kind, name: &'w str, span: Span) {
        self.loaded.push(Loaded { kind, name, span, opts: Vec::new(), spans: Vec::new() });
    }

    /// The value of an option that must have one.
    fn value(&mut self, inline: Option<&'w str>, word: &Word<'_>) -> Result<(&'w str, Span), Fault> {
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
    fn optional(&mut self) -> Option<&'w Word<'w>> {
        let next = self.words.get(self.at).filter(|w| !w.text.starts_with(['-', '!']))?;
        self.at += 1;
        Some(next)
    }

    fn global(
        &mut self,
        option: Global,
        inline: Option<&'w str>,
        word: &'w Word<'w>,
        inverted: bool,
    ) -> Result<(), Fault> {
        if inverted {
            if takes_value(option) && inline.is_none() && self.at == self.words.len() {
                return self.value(inline, word).map(|_| ());
            }
            self.may_invert(option, word)?;
        }
        let bit = Seen::bit(option);
        let repeats =
            matches!(option, Global::Verbose | Global::Numeric | Global::Exact | Global::LineNumbers);
        if bit != 0 {
            if self.seen.0 & bit != 0 && !repeats {
                return Err(Fault::parameter(
                    word.span,
                    format!("multiple {} flags not allowed", option.flag()),
                ));
            }
            self.seen.0 |= bit;
        }
        match option {
            Global::Op(op) => self.operation(op, inline, word)?,
            Global::Source | Global::Destination => {
                let (text, span) = self.value(inline, word)?;
                let side = usize::from(option == Global::Destination);
                self.addresses[side] = Some((text, span, inverted));
            }
            Global::Protocol => {
                let (text, span) = self.value(inline, word)?;
                let Some(value) = protocols::parse(text) else {
                    return Err(Fault::parameter(span, format!("unknown protocol \"{text}\" specified")));
                };
                if value == 0 && inverted {
                    return Err(Fault::parameter(span, "rule would never match protocol"));
                }
                self.proto = Some(Not { value, inverted });
                self.out.rule.head.proto = self.proto.filter(|p| p.value != 0);
            }
            Global::InDev => {
                let (text, span) = self.value(inline, word)?;
                self.out.rule.head.in_dev = self.device(text, span, inverted)?;
            }
            Global::OutDev => {
                let (text, span) = self.value(inline, word)?;
                self.out.rule.head.out_dev = self.device(text, span, inverted)?;
            }
            Global::Fragment => {
                if self.cx.family == Family::V6 {
                    return Err(Fault::parameter(
                        word.span,
                        "`-f' is not supported in IPv6, use -m frag instead",
                    ));
                }
                self.out.rule.head.fragment = Some(!inverted);
            }
            Global::Match => {
                let (name, span) = self.value(inline, word)?;
                self.load_match(name, span)?;
            }
            Global::Jump | Global::Goto => {
                let (name, span) = self.value(inline, word)?;
                self.jump_to(name, span, option == Global::Goto)?;
            }
            Global::Counters => self.counters(inline, word)?,
            Global::Table => {
                let (name, span) = self.value(inline, word)?;
                if self.cx.restore {
                    let tool = restore_name(self.cx.flavour, self.cx.family);
                    return Err(Fault::parameter(span, format!("The -t option cannot be used in {tool}.\n")));
                }
                self.out.table = Some(name.to_owned());
            }
            Global::Numeric => self.out.numeric = true,
            Global::Exact => self.out.exact = true,
            Global::LineNumbers => self.out.line_numbers = true,
            Global::Verbose => self.out.verbose = self.out.verbose.saturating_add(1),
            Global::Wait | Global::WaitInterval if self.cx.restore => {
                let message = format!("You cannot use `{}' from iptables-restore", option.flag());
                return Err(Fault::parameter(word.span, message));
            }
            Global::Wait | Global::WaitInterval => {
                // The lock wait is read and means nothing here: there is no second process.
                if inline.is_none() && self.words.get(self.at).is_some_and(|w| w.text.parse::<f64>().is_ok())
                {
                    self.at += 1;
                }
            }
            Global::Modprobe => {
                self.value(inline, word)?;
            }
            Global::Ipv4 => self.out.other_family |= self.cx.family == Family::V6,
            Global::Ipv6 => self.out.other_family |= self.cx.family == Family::V4,
        }
        Ok(())
    }

    fn may_invert(&self, option: Global, word: &Word<'_>) -> Result<(), Fault> {
        let message = match option {
            Global::Source
            | Global::Destination
            | Global::Protocol
            | Global::InDev
            | Global::OutDev
            | Global::Fragment => return Ok(()),
            Global::Match => "unexpected ! flag before --match".to_owned(),
            Global::Table => "unexpected ! flag before --table".to_owned(),
            Global::Jump | Global::Goto => "cannot have ! before -j".to_owned(),
            Global::Op(_) => "unexpected '!' flag".to_owned(),
            Global::Counters
            | Global::Numeric
            | Global::Verbose
            | Global::Exact
            | Global::LineNumbers
            | Global::Wait
            | Global::WaitInterval
            | Global::Modprobe
            | Global::Ipv4
            | Global::Ipv6 => format!("cannot have ! before {}", option.flag()),
        };
        Err(Fault::parameter(word.span, message))
    }

    fn operation(&mut self, op: Op, inline: Option<&'w str>, word: &'w Word<'w>) -> Result<(), Fault> {
        match self.out.op {
            None => self.out.op = Some(op),
            // -L -Z and -S -Z are one command.
            Some(first) if op == Op::Zero && matches!(first, Op::List | Op::ListRules) => {
                self.out.zero = true
            }
            Some(Op::Zero) if matches!(op, Op::List | Op::ListRules) => {
                self.out.op = Some(op);
                self.out.zero = true;
            }
            Some(first) => {
                return Err(Fault::parameter(
                    word.span,
                    format!("Cannot use -{} with -{}", op.letter(), first.letter()),
                ));
            }
        }
        match op {
            Op::Append
            | Op::Delete
            | Op::Check
            | Op::Insert
            | Op::Replace
            | Op::NewChain
            | Op::RenameChain
            | Op::Policy => {
                let (chain, span) = self.value(inline, word)?;
                self.chain(chain, span);
            }
            Op::List | Op::ListRules | Op::Flush | Op::Zero | Op::DeleteChain => {
                if let Some(chain) = inline {
                    self.chain(chain, word.span);
                } else if let Some(next) = self.optional() {
                    self.chain(&next.text, next.span);
                }
            }
            Op::Version | Op::Help => {}
        }
        let missing = |what: &str| Fault::parameter(word.span, format!("-{} requires {what}", op.letter()));
        match op {
            Op::Delete | Op::Insert | Op::List | Op::ListRules | Op::Zero if self.out.chain.is_some() => {
                if let Some(next) = self.optional() {
                    self.out.number = Some(rule_number(next)?);
                }
            }
            Op::Replace => {
                let next = self.optional().ok_or_else(|| missing("a rule number"))?;
                self.out.number = Some(rule_number(next)?);
            }
            Op::RenameChain => {
                let next = self.optional().ok_or_else(|| missing("old-chain-name and new-chain-name"))?;
                self.out.argument = Some((*next.text).into());
            }
            Op::Policy => {
                let next = self.optional().ok_or_else(|| missing("a chain and a policy"))?;
                self.out.argument = Some((*next.text).into());
            }
            Op::NewChain => {
                let chain = self.out.chain.as_deref().unwrap_or_default();
                check_chain_name(chain, self.out.chain_span)?;
            }
            Op::Append
            | Op::Check
            | Op::Flush
            | Op::DeleteChain
            | Op::Version
            | Op::Help
            | Op::Delete
            | Op::Insert
            | Op::List
            | Op::ListRules
            | Op::Zero => {}
        }
        Ok(())
    }

    fn chain(&mut self, name: &str, span: Span) {
        self.out.chain = Some(name.into());
        self.out.chain_span = span;
    }

    fn read_addresses(&mut self, source: bool, text: &str, span: Span, inverted: bool) -> Result<(), Fault> {
        let nets = if text.contains(',') {
            if inverted {
                return Err(Fault::parameter(
                    span,
                    "! not allowed with multiple source or destination IP addresses",
                ));
            }
            text.split(',')
                .map(|part| addr::parse_net(part.trim_start(), self.cx.family, span))
                .collect::<Result<_, _>>()?
        } else {
            vec![addr::parse_net(text, self.cx.family, span)?]
        };
        let rule = &mut self.out.rule;
        if source {
            (rule.sources, rule.source_inverted) = (nets, inverted);
        } else {
            (rule.destinations, rule.destination_inverted) = (nets, inverted);
        }
        Ok(())
    }

    /// A device test; `+` alone is none. Legacy stores it as an empty mask, so it forgets a `!` before it.
    fn device(
        &self,
        text: &str,
        span: Span,
        inverted: bool,
    ) -> Result<Option<Not<crate::netfilter::IfName>>, Fault> {
        let value = addr::parse_interface(text, span)?;
        let any = value.prefix && value.name.is_empty();
        let kept = !any || (inverted && self.cx.flavour == Flavour::Nft);
        Ok(kept.then_some(Not { value, inverted }))
    }

    /// `-c packets bytes`, or `-c packets,bytes`.
    fn counters(&mut self, inline: Option<&'w str>, word: &'w Word<'w>) -> Result<(), Fault> {
        let (first, span) = self.value(inline, word)?;
        let (packets, bytes) = match first.split_once(',') {
            Some(pair) => pair,
            None => match self.optional() {
                Some(second) => (first, &*second.text),
                None => return Err(Fault::parameter(span, "-c requires packet and byte counter")),
            },
        };
        let number = |text: &str, what: &str| {
            text.parse().map_err(|_| Fault::parameter(span, format!("-c {what} counter not numeric")))
        };
        self.out.counters =
            Some(Counters { packets: number(packets, "packet")?, bytes: number(bytes, "byte")? });
        Ok(())
    }

    fn load_match(&mut self, name: &'w str, span: Span) -> Result<(), Fault> {
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

    fn jump_to(&mut self, name: &'w str, span: Span, goto: bool) -> Result<(), Fault> {
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
    fn verbatim(&mut self) -> Box<str> {
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
    fn ext(
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
        loaded.opts.push(Opt { name: option.name, inverted, values });
        loaded.spans.push(span);
        Ok(())
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
        let chain = self.out.chain.clone().unwrap_or_default();
        let table = self.out.table.clone().map_or(Cow::Borrowed(self.cx.table), Cow::Owned);
        let proto = self.proto.filter(|p| p.value != 0);
        let is_match = |l: &&Loaded<'_>| matches!(l.kind, Kind::Match(_) | Kind::VerbatimMatch(_));
        let mut matches = Vec::with_capacity(self.loaded.iter().filter(is_match).count());
        let mut target = None;
        for loaded in std::mem::take(&mut self.loaded) {
            let Loaded { kind, name, span, opts, spans } = loaded;
            let parsed = Parsed { family: self.cx.family, table: &table, chain: &chain, proto, opts };
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
                    let m = Match::NotEmulated(NotEmulated { name: name.into(), text });
                    matches.push(BoundMatch { m, state: None });
                    Ok(())
                }
                Kind::VerbatimTarget(text) => {
                    target = Some(TargetExt::NotEmulated(NotEmulated { name: name.into(), text }));
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
        self.out.rule.matches = matches;
        let (target, missing) = self.target(target)?;
        self.out.rule.target = target;
        self.out.rule.missing = missing;
        Ok(self.out)
    }

    #[expect(clippy::type_complexity, reason = "the same shape as RuleSpec::missing")]
    fn target(&self, ext: Option<TargetExt>) -> Result<(Target, Option<(Box<str>, Span, bool)>), Fault> {
        if let Some(ext) = ext {
            return Ok((Target::Ext(ext), None));
        }
        let Some(jump) = &self.jump else { return Ok((Target::None, None)) };
        // The kernel objects to it; there is nothing to keep.
        if !jump.goto && registry::find_target(jump.name, self.cx.family).is_some() {
            return Ok((Target::None, None));
        }
        if !jump.goto {
            match jump.name {
                "ACCEPT" => return Ok((Target::Accept, None)),
                "DROP" => return Ok((Target::Drop, None)),
                "RETURN" => return Ok((Target::Return, None)),
                "QUEUE" => return Ok((Target::Queue, None)),
                _ => {}
            }
        }
        if let Some(id) = (self.cx.chains)(jump.name) {
            return Ok((if jump.goto { Target::Goto(id) } else { Target::Jump(id) }, None));
        }
        // nft looks for chains when the table is committed.
        if self.cx.lenient || self.cx.flavour == Flavour::Nft && self.cx.restore {
            return Ok((Target::None, Some((jump.name.into(), jump.span, jump.goto))));
        }
        let message = match (self.cx.flavour, jump.goto) {
            (Flavour::Legacy, true) => format!("goto '{}' is not a chain", jump.name),
            (Flavour::Legacy, false) => {
                format!("Couldn't load target `{}':No such file or directory\n", jump.name)
            }
            (Flavour::Nft, _) => format!("Chain '{}' does not exist", jump.name),
        };
        Err(Fault::parameter(jump.span, message))
    }

    /// Which options go with which command (`options_v_commands`).
    fn allowed(&self, op: Op, whole: Span) -> Result<(), Fault> {
        let rule = [Global::Source, Global::Destination, Global::Protocol, Global::Jump, Global::InDev];
        let more = [Global::OutDev, Global::Fragment, Global::Verbose, Global::Exact, Global::Table];
        let allowed = |option: Global| match op {
            Op::Append | Op::Insert | Op::Replace => {
                (rule.contains(&option) || more.contains(&option) || option == Global::Counters)
                    && option != Global::Exact
            }
            Op::Delete | Op::Check => {
                (rule.contains(&option) || more.contains(&option)) && option != Global::Exact
            }
            Op::List => matches!(
                option,
                Global::Numeric | Global::Verbose | Global::Exact | Global::LineNumbers | Global::Table
            ),
            Op::ListRules => matches!(option, Global::Verbose | Global::Table),
            Op::Policy => matches!(option, Global::Verbose | Global::Counters | Global::Table),
            Op::Flush | Op::Zero | Op::NewChain | Op::DeleteChain | Op::RenameChain => {
                matches!(option, Global::Verbose | Global::Table)
            }
            Op::Version | Op::Help => true,
        };
        for option in Seen::ORDER {
            if self.seen.has(option) && !allowed(option) {
                return Err(Fault::parameter(
                    whole,
                    format!("Illegal option `{}' with this command", option.flag()),
                ));
            }
        }
        Ok(())
    }

    /// A device that a built-in chain cannot know (`check_inverse`, `generic_opt_check`).
    fn devices_fit(&self) -> Result<(), Fault> {
        let chain = self.out.chain.as_deref().unwrap_or_default();
        let span = self.out.chain_span;
        if matches!(chain, "PREROUTING" | "INPUT") && self.out.rule.head.out_dev.is_some() {
            return Err(Fault::parameter(span, format!("Can't use -o with {chain}\n")));
        }
        if matches!(chain, "POSTROUTING" | "OUTPUT") && self.out.rule.head.in_dev.is_some() {
            return Err(Fault::parameter(span, format!("Can't use -i with {chain}\n")));
        }
        Ok(())
    }
}

/// Whether a short option takes the rest of its word, or the next word, as its value.
const fn takes_value(option: Global) -> bool {
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

/// An option of the command itself, spelled as people and iptables-save spell it.
fn is_own_option(text: &str) -> bool {
    match text.strip_prefix("--") {
        Some(long) => LONG.iter().any(|(name, _)| *name == long),
        None => text.len() == 2 && text.starts_with('-') && short(text.as_bytes()[1]).is_some(),
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

/// The name that iptables-restore gives itself in messages.
pub(in crate::text::xt) const fn restore_name(flavour: Flavour, family: Family) -> &'static str {
    match (flavour, family) {
        (Flavour::Legacy, Family::V4) => "iptables-restore",
        (Flavour::Legacy, Family::V6) => "ip6tables-restore",
        (Flavour::Nft, Family::V4) => "iptables-nft-restore",
        (Flavour::Nft, Family::V6) => "ip6tables-nft-restore",
    }
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

/// iptables-nft stores tcp and udp as native expressions and prints what it makes of them.
fn read_back_by_nft(m: &mut Match) {
    let (sport, dport) = match m {
        Match::Tcp(tcp) => (&mut tcp.sport, &mut tcp.dport),
        Match::Udp(udp) => (&mut udp.sport, &mut udp.dport),
        _ => return,
    };
    *sport = sport.read_back_by_nft();
    *dport = dport.read_back_by_nft();
}
