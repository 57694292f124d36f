//! Where transport goes: pure functions over a trace's steps.

use chainwalk_engine::view::{StepKind, TraceView};

/// A press on the transport bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    Start,
    Back,
    Next,
    NextHook,
    NextRewrite,
    End,
    To(usize),
}

/// The step after `from` that `to` asks for; the last step when there is none.
pub fn target(trace: &TraceView, from: usize, to: Move) -> usize {
    let last = trace.steps.len().saturating_sub(1);
    let next_where = |wanted: fn(StepKind) -> bool| {
        (from + 1..=last).find(|&step| wanted(trace.steps[step].kind)).unwrap_or(last)
    };
    match to {
        Move::Start => 0,
        Move::Back => from.saturating_sub(1),
        Move::Next => (from + 1).min(last),
        Move::NextHook => next_where(|kind| kind == StepKind::Hook),
        Move::NextRewrite => next_where(|kind| kind == StepKind::Rewrite),
        Move::End => last,
        Move::To(step) => step.min(last),
    }
}

/// The visit to show at `step`: the step's own, or the last one entered at the same station.
pub fn visit_at(trace: &TraceView, step: usize) -> Option<usize> {
    let station = trace.steps.get(step)?.station;
    let mut steps = trace.steps[..=step].iter().rev().take_while(|earlier| earlier.station == station);
    steps.find_map(|earlier| earlier.visit).map(|visit| visit as usize)
}

/// Visits from the chain on the hook down to `visit`.
pub(super) fn stack(trace: &TraceView, visit: usize) -> Vec<usize> {
    let Some(shown) = trace.visits.get(visit) else { return Vec::new() };
    let mut stack = vec![visit];
    let mut depth = shown.depth;
    for (earlier, candidate) in trace.visits[..visit].iter().enumerate().rev() {
        if depth == 0 || candidate.station != shown.station || candidate.table != shown.table {
            break;
        }
        if candidate.depth < depth {
            depth = candidate.depth;
            stack.push(earlier);
        }
    }
    stack.reverse();
    stack
}

/// How far the walk of `visit` had come at `step`: rules with a higher number were still ahead.
pub(super) fn walked_at(trace: &TraceView, visit: usize, step: usize) -> u32 {
    let Some(shown) = trace.visits.get(visit) else { return 0 };
    let mut walked = 0;
    for earlier in trace.steps.iter().take(step + 1) {
        if earlier.visit != Some(visit as u32) {
            continue;
        }
        match (earlier.kind, &earlier.rule) {
            (StepKind::ChainEnd, _) => walked = shown.walked,
            (_, Some(rule)) if rule.chain == shown.chain => walked = walked.max(rule.number),
            _ => {}
        }
    }
    walked
}

#[cfg(test)]
mod tests {
    use super::super::fixture::trace;
    use super::*;

    #[test]
    fn transport_stops_at_hooks_rewrites_and_ends() {
        let trace = trace();
        for (from, to, lands) in [
            (0, Move::Next, 1),
            (0, Move::Back, 0),
            (0, Move::NextHook, 1),
            (1, Move::NextHook, 8),
            (8, Move::NextHook, 11),
            (0, Move::NextRewrite, 6),
            (6, Move::NextRewrite, 11),
            (11, Move::Next, 11),
            (5, Move::Start, 0),
            (5, Move::End, 11),
            (5, Move::To(3), 3),
            (5, Move::To(99), 11),
        ] {
            assert_eq!(target(&trace, from, to), lands, "{to:?} from {from}");
        }
    }

    #[test]
    fn the_open_chain_is_the_one_last_entered_at_the_station() {
        let trace = trace();
        let shown: Vec<_> = (0..trace.steps.len()).map(|step| visit_at(&trace, step)).collect();
        let (n, a, b, c) = (None, Some(0), Some(1), Some(2));
        assert_eq!(shown, [n, n, a, a, b, b, b, n, n, c, c, c]);
    }

    #[test]
    fn a_chain_is_shown_under_the_chains_that_led_to_it() {
        let trace = trace();
        assert_eq!(stack(&trace, 1), [0, 1]);
        assert_eq!(stack(&trace, 0), [0]);
        assert_eq!(stack(&trace, 2), [2]);
    }

    #[test]
    fn rules_ahead_of_the_step_are_not_walked_yet() {
        let trace = trace();
        assert_eq!(walked_at(&trace, 0, 2), 0);
        assert_eq!(walked_at(&trace, 0, 3), 2);
        assert_eq!(walked_at(&trace, 2, 9), 0);
        assert_eq!(walked_at(&trace, 2, 10), 5);
    }
}
