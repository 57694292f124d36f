//! Random rulesets and packets: this machine's kernel and the emulator agree.

#![expect(clippy::print_stdout, reason = "a test says what it skipped")]

use std::sync::Mutex;

use chainwalk_tests::coverage::{Area, Coverage};
use chainwalk_tests::emulator::Refused;
use chainwalk_tests::generate::Flavour;
use chainwalk_tests::{case, judge, kernel, minimise, random};

/// Packets a flavour (issue 3: 2,000 in all for iptables).
const PACKETS: u64 = 1000;
const SEED: u64 = 20_261_129;

fn agree(flavour: Flavour) {
    if let Some(reason) = kernel::unavailable() {
        println!("skipped: {reason}");
        return;
    }
    let options = random::Options {
        seed: SEED,
        cases: 0..u64::MAX,
        only: Vec::new(),
        packets: Some(PACKETS),
        time: None,
        flavour,
        workers: 2,
    };
    let different = Mutex::new(Vec::new());
    let exercised = Mutex::new(Coverage::default());
    let packets = random::run(&options, |index, file, run| {
        exercised.lock().expect("no judge panics").add(file, run);
        let found: Vec<String> = match judge::differences(file, run) {
            Ok(found) => found.iter().map(ToString::to_string).collect(),
            Err(Refused::NotEmulated(_)) => Vec::new(),
            Err(Refused::Failed(why)) => vec![why],
        };
        if !found.is_empty() && minimise::differs_again(file) {
            different.lock().expect("no judge panics").push((index, file.clone(), found.join("\n")));
        }
    })
    .expect("the kernel runs every case");
    println!("{packets} random packets, {flavour:?}, seed {SEED}");
    let exercised = exercised.into_inner().expect("no judge panics");
    let areas = match flavour {
        Flavour::Legacy | Flavour::Nft => [Area::Match, Area::Target, Area::Nat].as_slice(),
        Flavour::Language => &[Area::Nftables],
    };
    for area in areas {
        println!("  {area:?}, by how many cases: {}", exercised.of(*area).join(", "));
    }
    let different = different.into_inner().expect("no judge panics");
    if let Some((index, file, found)) = different.first() {
        let small = case::to_text(&minimise::minimise(file));
        panic!(
            "seed {SEED}, {flavour:?}, case {index} of {} that differ:\n{found}\n{small}",
            different.len()
        );
    }
}

#[test]
fn legacy_rules() {
    agree(Flavour::Legacy);
}

#[test]
fn nft_rules() {
    agree(Flavour::Nft);
}

#[test]
fn nftables_language() {
    agree(Flavour::Language);
}
