//! The one evaluator: walks a table's chains for a packet (`ipt_do_table`, `nft_do_chain`).

use std::net::IpAddr;

use super::Cx;
use super::rule::{IpMatch, Net, Not, Rule, Target, Verdict};
use super::table::{ChainId, Table, TableState};
use super::xt::{MatchResult, Next};
use crate::base::limits::{JUMP_DEPTH_MAX, RULES_PER_WALK_MAX};
use crate::packet::{Packet, Skb};
use crate::trace::{DropReason, Entry, RuleRef, TraceKind, Why};

/// Runs `table`'s base chain at the hook of `cx`. `number` is the table's index in the namespace, for traces.
///
/// A table without a chain at this hook accepts.
pub fn run(table: &Table, number: u16, state: &mut TableState, cx: &mut Cx<'_>, skb: &mut Skb) -> Verdict {
    let Some(base) = table.base_chain(cx.hook) else { return Verdict::Accept };
    Walk { table, number, state, returns: Vec::new(), evaluated: 0 }.run(base, cx, skb)
}

/// One traversal. The stack holds where to go on after a RETURN; goto does not push.
struct Walk<'a> {
    table: &'a Table,
    number: u16,
    state: &'a mut TableState,
    returns: Vec<(ChainId, u32)>,
    evaluated: u64,
}

impl Walk<'_> {
    fn run(mut self, base: ChainId, cx: &mut Cx<'_>, skb: &mut Skb) -> Verdict {
        let (mut chain, mut index) = (base, 0_u32);
        self.enter(cx, chain, Entry::Hook);
        let verdict = loop {
            index = self.skip(chain, index, cx, skb);
            let Some(rule) = self.table.chain(chain).rules.get(index as usize) else {
                match self.back(cx, chain) {
                    Some(caller) => (chain, index) = caller,
                    None => break self.policy(base, cx, skb),
                }
                continue;
            };
            match self.rule(rule, chain, index, cx, skb) {
                Step::Next => index += 1,
                Step::Jump(to) => {
                    if self.returns.len() >= JUMP_DEPTH_MAX || self.evaluated > RULES_PER_WALK_MAX {
                        break Verdict::Drop(DropReason::Loop);
                    }
                    self.returns.push((chain, index + 1));
                    (chain, index) = (to, 0);
                    self.enter(cx, chain, Entry::Jump);
                }
                Step::Goto(to) => {
                    if self.evaluated > RULES_PER_WALK_MAX {
                        break Verdict::Drop(DropReason::Loop);
                    }
                    (chain, index) = (to, 0);
                    self.enter(cx, chain, Entry::Goto);
                }
                Step::Return => match self.returns.pop() {
                    Some(caller) => (chain, index) = caller,
                    None => break self.policy(base, cx, skb),
                },
                Step::Verdict(verdict) => break verdict,
            }
        };
        cx.trace.rules_evaluated += self.evaluated;
        verdict
    }

    /// The next rule of `chain` worth testing, at or after `index`: the same one, unless the chain is indexed
    /// and nobody wants to see why the rules between did not match.
    fn skip(&mut self, chain: ChainId, index: u32, cx: &Cx<'_>, skb: &Skb) -> u32 {
        let Some(dispatch) = &self.state.indexes[chain.0 as usize] else { return index };
        if cx.trace.full() {
            return index;
        }
        let len = self.table.chain(chain).rules.len() as u32;
        let next = dispatch.next(&skb.packet, index).unwrap_or(len);
        self.evaluated += u64::from(next - index);
        next
    }

    fn enter(&self, cx: &mut Cx<'_>, chain: ChainId, entry: Entry) {
        cx.trace.record(cx.now, || TraceKind::Chain { table: self.number, chain: chain.0, entry });
    }

    /// The end of a user chain: back to the caller.
    fn back(&mut self, cx: &mut Cx<'_>, chain: ChainId) -> Option<(ChainId, u32)> {
        let caller = self.returns.pop()?;
        cx.trace.record(cx.now, || TraceKind::ChainEnd { table: self.number, chain: chain.0 });
        Some(caller)
    }

    fn policy(&mut self, base: ChainId, cx: &mut Cx<'_>, skb: &Skb) -> Verdict {
        let base_chain = self.table.chain(base).base.as_ref();
        if base_chain.is_none_or(|b| b.counted) {
            self.state.chains[base.0 as usize].add(skb.packet.len_bytes() as u64);
        }
        let verdict = base_chain.map_or(Verdict::Accept, |b| b.policy.clone());
        cx.trace.record(cx.now, || TraceKind::Policy {
            table: self.number,
            chain: base.0,
            verdict: if verdict == Verdict::Accept { "ACCEPT" } else { "DROP" }.to_owned(),
        });
        verdict
    }

    /// Evaluates one rule, counts it, runs its target.
    fn rule(&mut self, rule: &Rule, chain: ChainId, index: u32, cx: &mut Cx<'_>, skb: &mut Skb) -> Step {
        self.evaluated += 1;
        let place = RuleRef { table: self.number, chain: chain.0, index };
        let mut why = Why { on: cx.trace.full(), checks: Vec::new() };
        let outcome = self.test(rule, place, cx, skb, &mut why);
        let matched = match outcome {
            Outcome::Yes => Some(true),
            Outcome::No | Outcome::Hotdrop => Some(false),
            Outcome::Assumed => None,
        };
        if cx.trace.full() || (cx.trace.on() && matched != Some(false)) {
            let verdict = if matched == Some(false) { String::new() } else { self.describe(&rule.target) };
            cx.trace.record(cx.now, || TraceKind::Rule { rule: place, matched, checks: why.checks, verdict });
        }
        match outcome {
            Outcome::No => Step::Next,
            Outcome::Hotdrop => Step::Verdict(Verdict::Drop(DropReason::Hotdrop)),
            Outcome::Yes | Outcome::Assumed => {
                // The counters grow before the target runs, so they show the packet as the rule saw it.
                let at = self.table.chain(chain).first_rule + index;
                self.state.rules[at as usize].add(skb.packet.len_bytes() as u64);
                self.target(rule, place, cx, skb)
            }
        }
    }

    fn test(&mut self, rule: &Rule, place: RuleRef, cx: &mut Cx<'_>, skb: &Skb, why: &mut Why) -> Outcome {
        if !head_matches(&rule.head, cx, &skb.packet, why) {
            return Outcome::No;
        }
        let mut unknown = None;
        for bound in &rule.matches {
            let state = bound.state.and_then(|id| self.state.states.get_mut(id.0 as usize));
            match bound.m.eval(cx, skb, state, why) {
                Some(MatchResult::Yes) => {}
                Some(MatchResult::No) => return Outcome::No,
                Some(MatchResult::Hotdrop) => return Outcome::Hotdrop,
                // Later tests may still fail and settle it.
                Some(MatchResult::Unknown) | None => unknown = unknown.or(Some(&bound.m)),
            }
        }
        match unknown {
            None => Outcome::Yes,
            Some(m) => {
                let assumed = cx.assume.decide(place, &format!("-m {}", m.name()));
                why.check(assumed, "not emulated", || "unknown".to_owned(), || format!("-m {}", m.name()));
                if assumed { Outcome::Assumed } else { Outcome::No }
            }
        }
    }

    fn target(&self, rule: &Rule, place: RuleRef, cx: &mut Cx<'_>, skb: &mut Skb) -> Step {
        match &rule.target {
            Target::None => Step::Next,
            Target::Accept => Step::Verdict(Verdict::Accept),
            Target::Drop => Step::Verdict(Verdict::Drop(DropReason::Rule)),
            Target::Return => Step::Return,
            Target::Queue => Step::Verdict(Verdict::Queue),
            Target::Jump(to) => Step::Jump(*to),
            Target::Goto(to) => Step::Goto(*to),
            Target::Ext(target) => match target.apply(cx, skb) {
                Some(Next::Continue) => Step::Next,
                Some(Next::Return) => Step::Return,
                Some(Next::Verdict(verdict)) => Step::Verdict(verdict),
                // One world goes on behind it, the other ends in it.
                None if cx.assume.decide(place, &format!("{} {}", target.flag(), target.name())) => {
                    Step::Verdict(Verdict::Stolen)
                }
                // A goto does not come back here.
                None if target.is_goto() => Step::Return,
                None => Step::Next,
            },
        }
    }

    fn describe(&self, target: &Target) -> String {
        match target {
            Target::None => "continue".to_owned(),
            Target::Accept => "ACCEPT".to_owned(),
            Target::Drop => "DROP".to_owned(),
            Target::Return => "RETURN".to_owned(),
            Target::Queue => "QUEUE".to_owned(),
            Target::Jump(to) => format!("jump {}", self.table.chain(*to).name),
            Target::Goto(to) => format!("goto {}", self.table.chain(*to).name),
            Target::Ext(target) => target.name().to_owned(),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Yes,
    No,
    Hotdrop,
    /// A part is not emulated and this world takes it as matching.
    Assumed,
}

enum Step {
    Next,
    Jump(ChainId),
    Goto(ChainId),
    Return,
    Verdict(Verdict),
}

/// `ip_packet_match`, `ip6_packet_match`: source, destination, devices, protocol, fragment, in this order.
fn head_matches(head: &IpMatch, cx: &Cx<'_>, packet: &Packet, why: &mut Why) -> bool {
    let ip = &packet.ip;
    let net = |why: &mut Why, field, test: &Option<Not<Net>>, have: IpAddr| match test {
        None => true,
        Some(test) => why.check(
            test.value.contains(have) != test.inverted,
            field,
            || have.to_string(),
            || format!("{}{}", if test.inverted { "! " } else { "" }, test.value),
        ),
    };
    let device = |why: &mut Why, field, test: &Option<Not<super::IfName>>, have: Option<&str>| match test {
        None => true,
        Some(test) => why.check(
            test.value.matches(have) != test.inverted,
            field,
            || have.unwrap_or("none").to_owned(),
            || format!("{}{}", if test.inverted { "! " } else { "" }, test.value),
        ),
    };
    net(why, "-s", &head.src, ip.src)
        && net(why, "-d", &head.dst, ip.dst)
        && device(why, "-i", &head.in_dev, cx.indev.map(|d| d.name))
        && device(why, "-o", &head.out_dev, cx.outdev.map(|d| d.name))
        && head.proto.is_none_or(|test| {
            why.check(
                (test.value == ip.proto) != test.inverted,
                "-p",
                || ip.proto.to_string(),
                || format!("{}{}", if test.inverted { "! " } else { "" }, test.value),
            )
        })
        && head.fragment.is_none_or(|wanted| {
            why.check(
                packet.is_later_fragment() == wanted,
                "-f",
                || packet.is_later_fragment().to_string(),
                || wanted.to_string(),
            )
        })
}
