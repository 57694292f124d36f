//! Laws that hold whatever comes: no panic, counters equal the table, nothing goes to a server of weight zero, equal
//! seeds give equal runs, shares follow weights.

use proptest::prelude::*;

use crate::base::{Instant, Rng};
use crate::ipvs::sched::SPECS;
use crate::ipvs::state::State;
use crate::ipvs::testing::{Bench, at, server};
use crate::packet::TcpFlags;

const FLAGS: [u8; 8] = [0x02, 0x12, 0x10, 0x11, 0x04, 0x14, 0x00, 0x3f];

/// A run of random packets, edits and pauses; the servers chosen, as a text.
fn random_run(scheduler: &str, seed: u64, steps: u32) -> String {
    let mut rng = Rng::named(seed, scheduler);
    let persistent = seed.is_multiple_of(3);
    let mut bench = match persistent {
        true => Bench::persistent(scheduler, &[1, 3, 2], 20, "255.255.255.254"),
        false => Bench::new(scheduler, &[2, 1, 4]),
    };
    for knob in ["conntrack", "expire_nodest_conn", "expire_quiescent_template", "sloppy_tcp"] {
        bench.set(knob, rng.below(2));
    }
    bench.set("conn_reuse_mode", rng.below(4));
    let key = bench.key;
    let mut out = String::new();
    for _ in 0..steps {
        let host = format!("10.0.0.{}:80", rng.below(4) + 1);
        let client = format!("10.1.0.{}:{}", rng.below(6), 1000 + rng.below(3));
        let flags = TcpFlags(FLAGS[rng.below(8) as usize]);
        match rng.below(20) {
            0 => _ = bench.ipvs.delete_dest(&key, at(&host).ip(), 80, bench.now),
            1 => _ = bench.ipvs.add_dest(&key, &server(&host, rng.below(5))),
            2 => {
                let mut spec = server(&host, rng.below(4));
                (spec.upper, spec.lower) = (rng.below(5), rng.below(3));
                _ = bench.ipvs.edit_dest(&key, &spec);
            }
            3 | 4 => {
                let ms = bench.now.0 / 1_000_000 + u64::from(rng.below(90_000));
                bench.now = Instant::from_millis(ms);
                let ended = bench.ipvs.advance(bench.now);
                assert!(ended.iter().all(|x| x.conntrack));
            }
            5..=9 => _ = bench.answer(&host, &client, flags),
            _ => {
                bench.old_conntrack = rng.below(2) == 0;
                let fresh = bench.ipvs.conns().count();
                let served = bench.tcp(&client, flags).server();
                if bench.ipvs.conns().count() > fresh
                    && !persistent
                    && let Some(dest) = bench.ipvs.dests.values().find(|d| d.socket().to_string() == served)
                {
                    assert!(dest.weight > 0, "{scheduler}: a new connection for weight 0");
                }
                out.push_str(&served);
                out.push(' ');
            }
        }
        check_counts(&bench);
    }
    out
}

/// Counters of every destination equal what the table says of it.
fn check_counts(bench: &Bench) {
    for dest in bench.ipvs.dests.values() {
        let own = || bench.ipvs.conns().filter(|c| c.dest == Some(dest.id));
        let templates = own().filter(|c| c.is_template()).count();
        let inactive = own().filter(|c| !c.is_template() && c.inactive).count();
        let active = own().filter(|c| !c.is_template() && !c.inactive).count();
        assert_eq!(
            (dest.active, dest.inactive, dest.persistent),
            (active as u32, inactive as u32, templates as u32)
        );
    }
    for conn in bench.ipvs.conns() {
        let children = bench.ipvs.conns().filter(|c| c.control == Some(conn.id)).count();
        assert_eq!(conn.controlled as usize, children);
        assert!(children == 0 || matches!(conn.state, State::Template { .. }));
        assert!(conn.expires >= bench.now, "timers have fired");
    }
}

#[test]
fn random_runs_keep_the_books_and_repeat() {
    for spec in SPECS {
        for seed in 0..12 {
            let first = random_run(spec.name, seed, 150);
            assert_eq!(first, random_run(spec.name, seed, 150), "{} seed {seed}", spec.name);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Over whole turns, weighted round robin gives exactly its share to each.
    #[test]
    fn wrr_respects_weights_exactly(weights in proptest::collection::vec(0_u32..9, 1..6)) {
        let total: u32 = weights.iter().sum();
        prop_assume!(total > 0);
        let divisor = weights.iter().filter(|w| **w > 0).fold(0, |a, b| crate::ipvs::sched::hash::gcd(a, *b));
        let turn = (total / divisor) as usize;
        let served = Bench::new("wrr", &weights).syns(turn * 2);
        for (index, weight) in weights.iter().enumerate() {
            let digit = (b'1' + index as u8) as char;
            let share = served.chars().filter(|c| *c == digit).count();
            prop_assert_eq!(share, 2 * (*weight / divisor) as usize, "{} {:?}", served, weights);
        }
    }

    /// With connections that stay, wlc and sed end near the shares of the weights.
    #[test]
    fn least_connections_approach_the_weights(weights in proptest::collection::vec(1_u32..9, 2..5)) {
        let total: u32 = weights.iter().sum();
        for scheduler in ["wlc", "sed"] {
            let served = Bench::new(scheduler, &weights).syns(total as usize * 4);
            for (index, weight) in weights.iter().enumerate() {
                let digit = (b'1' + index as u8) as char;
                let share = served.chars().filter(|c| *c == digit).count() as i64;
                let wanted = i64::from(*weight) * 4;
                prop_assert!((share - wanted).abs() <= 1, "{scheduler} {weights:?}: {served}");
            }
        }
    }
}
