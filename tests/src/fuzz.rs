//! Mutated inputs for everything that reads text or bytes: no input may cause a panic, a hang, or break a law.
//!
//! Seeded and without coverage feedback: what it finds it finds again, anywhere, from the seed and a number.
//! `mutate` makes inputs (`structured` those that are trees), `corpus` what they are made from, `targets` what reads them.

pub mod corpus;
pub mod mutate;
pub mod structured;
pub mod targets;

use std::fmt;
use std::panic;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chainwalk_engine::base::Rng;

use crate::bench::row::time;
use corpus::{Corpus, Kind};
use targets::Target;

/// An input that takes longer than this is as bad as a panic: the page reads what people paste. The slowest input of
/// the corpus takes a hundredth of it in this build.
const TIME_LIMIT: Duration = Duration::from_secs(2);

/// What went wrong with an input.
#[derive(Debug)]
pub enum Complaint {
    Panic(String),
    Slow(Duration),
    /// A law of the target does not hold.
    Law(String),
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panic(message) => write!(f, "panic: {message}"),
            Self::Slow(took) => write!(f, "took {took:?}, the limit is {TIME_LIMIT:?}"),
            Self::Law(law) => write!(f, "{law}"),
        }
    }
}

/// The input called `number` under `seed`, for a target.
pub fn input(target: &Target, corpus: &Corpus, seed: u64, number: u64) -> String {
    let mut rng = Rng::named(seed, &format!("fuzz:{}:{number}", target.name));
    let texts = corpus.of(target.kind);
    let base = &texts[rng.below(texts.len() as u32) as usize];
    let other = &texts[rng.below(texts.len() as u32) as usize];
    if target.kind == Kind::Replay {
        structured::mutate(&mut rng, base, other)
    } else {
        mutate::mutate(&mut rng, base, other)
    }
}

/// Gives an input to a target and looks at what happens.
pub fn run(target: &Target, input: &str) -> Result<(), Complaint> {
    let said = Arc::new(Mutex::new(String::new()));
    let note = Arc::clone(&said);
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if let Ok(mut text) = note.lock() {
            *text = info.to_string();
        }
    }));
    let (took, outcome) = time(|| panic::catch_unwind(|| (target.read)(input)));
    panic::set_hook(before);
    match outcome {
        Err(_) => Err(Complaint::Panic(said.lock().map(|text| text.clone()).unwrap_or_default())),
        Ok(Err(law)) => Err(Complaint::Law(law)),
        Ok(Ok(())) if took > TIME_LIMIT => Err(Complaint::Slow(took)),
        Ok(Ok(())) => Ok(()),
    }
}

/// Makes a failing input smaller by lines, then by characters, as long as it still fails.
pub fn shrink(target: &Target, input: &str) -> String {
    let mut smallest = input.to_owned();
    for by_line in [true, false] {
        let mut pieces: Vec<String> = if by_line {
            smallest.split_inclusive('\n').map(str::to_owned).collect()
        } else {
            smallest.chars().map(String::from).collect()
        };
        let mut step = pieces.len() / 2;
        while step > 0 {
            let mut at = 0;
            while at < pieces.len() {
                let mut candidate = pieces.clone();
                candidate.drain(at..(at + step).min(candidate.len()));
                if run(target, &candidate.concat()).is_err() {
                    pieces = candidate;
                } else {
                    at += step;
                }
            }
            step /= 2;
        }
        smallest = pieces.concat();
    }
    smallest
}
