//! The options that every command knows, read one by one.

use super::options::Global;
use super::rule::{Reader, Seen, takes_value};
use super::{Op, address_test, check_chain_name, rule_number};
use crate::netfilter::Counters;
use crate::netfilter::rule::Not;
use crate::netfilter::table::Flavour;
use crate::packet::Family;
use crate::text::xt::fault::{Fault, Span};
use crate::text::xt::spec::restore_name;
use crate::text::xt::words::Word;
use crate::text::xt::{addr, protocols};

impl<'w> Reader<'_, 'w> {
    pub(super) fn global(
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

    pub(super) fn may_invert(&self, option: Global, word: &Word<'_>) -> Result<(), Fault> {
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

    pub(super) fn operation(
        &mut self,
        op: Op,
        inline: Option<&'w str>,
        word: &'w Word<'w>,
    ) -> Result<(), Fault> {
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

    pub(super) fn chain(&mut self, name: &str, span: Span) {
        self.out.chain = Some(name.into());
        self.out.chain_span = span;
    }

    pub(super) fn read_addresses(
        &mut self,
        source: bool,
        text: &str,
        span: Span,
        inverted: bool,
    ) -> Result<(), Fault> {
        let family = self.cx.family;
        let rule = &mut self.out.rule;
        if !text.contains(',') {
            let test = if source { &mut rule.head.src } else { &mut rule.head.dst };
            *test = address_test(addr::parse_net(text, family, span)?, inverted);
            return Ok(());
        }
        if inverted {
            let message = "! not allowed with multiple source or destination IP addresses";
            return Err(Fault::parameter(span, message));
        }
        let nets = if source { &mut rule.sources } else { &mut rule.destinations };
        *nets = text
            .split(',')
            .map(|part| addr::parse_net(part.trim_start(), family, span))
            .collect::<Result<_, _>>()?;
        Ok(())
    }

    /// A device test; `+` alone is none. Legacy stores it as an empty mask, so it forgets a `!` before it.
    pub(super) fn device(
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
    pub(super) fn counters(&mut self, inline: Option<&'w str>, word: &'w Word<'w>) -> Result<(), Fault> {
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
}
