//! Sequences derived by hand from each scheduler's rule, hash tables derived by a second, plainer computation, and what
//! a kernel answered.

mod recorded;
mod tables;

use crate::base::KernelVersion;
use crate::ipvs::sched::{SPECS, SchedFlags, Scheduler};
use crate::ipvs::testing::{Bench, at, datagram, server, tcp_key};
use crate::ipvs::{Ipvs, ServiceKey};
use crate::packet::{TcpFlags, proto};

#[test]
fn the_registry_names_each_scheduler_once() {
    for spec in SPECS {
        let made = Scheduler::named(spec.name).expect("its name finds it");
        assert_eq!(made.name(), spec.name);
    }
    assert!(Scheduler::named("wrrr").is_none());
}

#[test]
fn the_newest_destination_stands_first() {
    let mut ipvs = Ipvs::new(KernelVersion::V6_12, 1);
    let key = tcp_key("10.96.0.1:80");
    let bench = Bench::new("rr", &[]);
    ipvs.clone_from(&bench.ipvs);
    for host in 1..=3 {
        ipvs.add_dest(&key, &server(&format!("10.0.0.{host}:80"), 1)).expect("a destination");
    }
    let mut bench = Bench { ipvs, ..bench };
    assert_eq!(bench.syns(6), "321321");
}

#[test]
fn rr_goes_round_and_skips_what_is_quiesced() {
    assert_eq!(Bench::new("rr", &[1, 1, 1]).syns(7), "1231231");
    assert_eq!(Bench::new("rr", &[1, 0, 9]).syns(4), "1313");
    assert_eq!(Bench::new("rr", &[0, 0]).syns(2), "--");
    assert_eq!(Bench::new("rr", &[]).syns(1), "-");
    assert_eq!(Bench::new("rr", &[0, 1]).syns(3), "222");
}

/// A removed destination leaves the pointer at the one before it; a new one stands at the head, behind the pointer.
#[test]
fn rr_keeps_its_place_when_the_list_changes() {
    let mut bench = Bench::new("rr", &[1, 1, 1]);
    assert_eq!(bench.syns(2), "12");
    let key = bench.key;
    bench.ipvs.delete_dest(&key, at("10.0.0.2:80").ip(), 80, bench.now).expect("it is there");
    assert_eq!(bench.syn("10.2.0.1:1"), "10.0.0.3:80");
    bench.ipvs.add_dest(&key, &server("10.0.0.4:80", 1)).expect("it is new");
    assert_eq!(bench.syn("10.2.0.2:1"), "10.0.0.4:80");
    assert_eq!(bench.syn("10.2.0.3:1"), "10.0.0.1:80");
}

/// Bars 4, 3, 2, 1 for weights 4, 2, 1: A, A, A B, A B C. The first pass is the one of bar 1, where adding the servers
/// one by one left it. For 6, 3, 3 the divisor is 3 and the bars are 4 and 1.
#[test]
fn wrr_sinks_its_bar_by_the_divisor() {
    assert_eq!(Bench::new("wrr", &[4, 2, 1]).syns(17), "12311121231112123");
    assert_eq!(Bench::new("wrr", &[6, 3, 3]).syns(11), "12311231123");
    assert_eq!(Bench::new("wrr", &[1, 1]).syns(4), "1212");
    assert_eq!(Bench::new("wrr", &[0, 0]).syns(2), "--");
}

/// A change of weight starts at the head again and keeps the bar where it fits: after A B C A A of 4, 2, 1 it stands at 3;
/// with weights 3, 2, 1 the list is walked from the head, and A reaches it.
#[test]
fn wrr_starts_at_the_head_after_a_change() {
    let mut bench = Bench::new("wrr", &[4, 2, 1]);
    assert_eq!(bench.syns(5), "12311");
    bench.weight("10.0.0.1:80", 3);
    let rest: String =
        (0..7).map(|n| bench.syn(&format!("10.2.0.{n}:1")).chars().nth(7).expect("the last digit")).collect();
    assert_eq!(rest, "1121231");
}

#[test]
fn lc_is_blind_for_weights_and_wlc_is_not() {
    assert_eq!(Bench::new("lc", &[1, 5, 1]).syns(6), "123123");
    // By hand: loads 257 a connection; 64.25, 128.5, 257; ties go to the first.
    assert_eq!(Bench::new("wlc", &[4, 2, 1]).syns(8), "12311211");
    assert_eq!(Bench::new("wlc", &[0, 2, 0]).syns(2), "22");
}

/// 256 active + inactive until 6.1; from 6.12 (6.12.117 of Debian) on the second part is all connections. One active
/// connection against 257 inactive ones tells them apart.
#[test]
fn both_overhead_formulas() {
    let bench = Bench::new("lc", &[1]);
    let service = bench.ipvs.service(&bench.key).expect("the service");
    let mut dest = bench.ipvs.dests(service).next().expect("a destination").clone();
    (dest.active, dest.inactive) = (1, 0);
    assert_eq!(dest.overhead(KernelVersion::V6_1), 256);
    assert_eq!(dest.overhead(KernelVersion::V6_12), 257);
    (dest.active, dest.inactive) = (3, 40);
    assert_eq!(dest.overhead(KernelVersion::V5_10), 3 * 256 + 40);
    assert_eq!(dest.overhead(KernelVersion::V7_2), 3 * 257 + 40);
}

#[test]
fn sed_counts_the_new_connection_in() {
    // By hand: 1/4, 1/2, 1/1; then 2/4 and 1/2 tie, and so on.
    assert_eq!(Bench::new("sed", &[4, 2, 1]).syns(8), "11211231");
}

#[test]
fn nq_prefers_any_idle_server() {
    assert_eq!(Bench::new("nq", &[4, 2, 1]).syns(7), "1231112");
}

#[test]
fn fo_sends_all_to_the_highest_weight() {
    let mut bench = Bench::new("fo", &[2, 5, 5]);
    assert_eq!(bench.syns(3), "222");
    bench.weight("10.0.0.2:80", 0);
    assert_eq!(bench.syn("10.2.0.1:1"), "10.0.0.3:80");
}

/// One connection more than the weight fits: full is "more active than its weight".
#[test]
fn ovf_fills_one_server_after_the_other() {
    assert_eq!(Bench::new("ovf", &[3, 2, 1]).syns(11), "111122233--");
}

/// Datagrams are always inactive: least connections sees them only there, shortest delay not at all.
#[test]
fn udp_is_invisible_to_sed() {
    for (scheduler, expected) in [("sed", "1111"), ("nq", "1111"), ("lc", "1212"), ("wlc", "1212")] {
        let mut bench = Bench::with(scheduler, &[1, 1], KernelVersion::V6_12, |spec| {
            spec.key = ServiceKey::address(proto::UDP, at("10.96.0.1:80").ip(), 80);
        });
        let servers: String = (1..=4)
            .map(|n| {
                let met = bench.send(&datagram(&format!("10.1.0.{n}:5"), "10.96.0.1:80"));
                met.server().chars().nth(7).expect("the last digit")
            })
            .collect();
        assert_eq!(servers, expected, "{scheduler}");
    }
}

#[test]
fn twos_draws_from_the_seed_and_in_proportion() {
    let mut bench = Bench::new("twos", &[3, 1]);
    let first = bench.syns(400);
    assert_eq!(first, Bench::new("twos", &[3, 1]).syns(400));
    let share = first.bytes().filter(|b| *b == b'1').count();
    // The lighter one wins each time that both are drawn and it is idler by weight: near three quarters.
    assert!((270..330).contains(&share), "{share} of 400");
    assert_eq!(Bench::new("twos", &[0, 0]).syns(1), "-");
}

/// Active above the weight and another below half of its own: only then is a remembered server left.
#[test]
fn lblc_stays_until_another_idles() {
    let mut bench = Bench::new("lblc", &[2, 2]);
    // To one address: the first is remembered; with 3 active it is over its weight of 2, and the other idles.
    assert_eq!(bench.syns(5), "11122");
    let mut bench = Bench::new("lblc", &[9, 9]);
    assert_eq!(bench.syns(5), "11111");
    bench.weight("10.0.0.1:80", 0);
    assert_eq!(bench.syn("10.2.0.1:1"), "10.0.0.2:80");
}

#[test]
fn lblcr_grows_its_set_and_takes_the_least_of_it() {
    let mut bench = Bench::new("lblcr", &[2, 2, 2]);
    // 1 until it has 3; then 2 joins and is the least until it has as many; then 3. None idles then: 3 goes on.
    assert_eq!(bench.syns(10), "1112223333");
}

#[test]
fn scores_are_told_for_every_destination() {
    let mut bench = Bench::new("wlc", &[4, 2, 0]);
    assert_eq!(
        bench.tcp("10.1.0.1:1", TcpFlags::SYN).scores(),
        ["0/4 = 0.00", "0/2 = 0.00", "weight 0: quiesced"]
    );
    let met = bench.tcp("10.1.0.2:1", TcpFlags::SYN);
    assert_eq!(met.scores(), ["257/4 = 64.25", "0/2 = 0.00", "weight 0: quiesced"]);
}

#[test]
fn hashing_flags_reach_for_another_slot() {
    // Half of all slots belong to a server that is quiesced.
    for scheduler in ["sh", "mh"] {
        let quiesced = |flags: SchedFlags| {
            let mut bench = Bench::with(scheduler, &[1, 1], KernelVersion::V6_12, |s| s.flags = flags);
            bench.weight("10.0.0.2:80", 0);
            bench.syns(100)
        };
        let plain = quiesced(SchedFlags::default());
        assert!(plain.contains('-') && plain.contains('1') && !plain.contains('2'), "{scheduler}: {plain}");
        assert_eq!(quiesced(SchedFlags::FALLBACK), "1".repeat(100), "{scheduler}");
    }
}
