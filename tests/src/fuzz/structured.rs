//! Mutates replay cases as trees, so that they still read as JSON and go deep into the engine.

use chainwalk_engine::base::Rng;
use serde_json::{Map, Value};

/// Values that have been trouble somewhere.
const NUMBERS: [i64; 12] = [0, 1, -1, 7, 40, 255, 256, 1_500, 65_535, 65_536, 4_294_967_295, i64::MAX];
const WORDS: [&str; 14] = [
    "",
    "0.0.0.0",
    "127.0.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "fe80::1",
    "local",
    "lo",
    "icmp",
    "sctp",
    "SFRPAUEC",
    "4500001c000000004001000000000000",
];

/// A case made from `base` by a few changes, some of them taken from `other`. Text that is no JSON comes back as
/// it is.
pub fn mutate(rng: &mut Rng, base: &str, other: &str) -> String {
    let (Ok(mut tree), Ok(donor)) = (serde_json::from_str(base), serde_json::from_str(other)) else {
        return base.to_owned();
    };
    for _ in 0..1 + rng.below(4) {
        change(rng, &mut tree, &donor, 0);
    }
    tree.to_string()
}

/// Walks down at random and changes what it stops at.
fn change(rng: &mut Rng, value: &mut Value, donor: &Value, depth: u32) {
    let stop = depth > 0 && rng.below(4) == 0;
    match value {
        Value::Object(map) if !map.is_empty() && !stop => {
            let at = rng.below(map.len() as u32) as usize;
            let key = map.keys().nth(at).expect("below the length").clone();
            let from = donor.get(&key).unwrap_or(donor);
            match rng.below(8) {
                0 => drop(map.remove(&key)),
                _ => change(rng, &mut map[&key], from, depth + 1),
            }
        }
        Value::Array(list) if !list.is_empty() && !stop => {
            let at = rng.below(list.len() as u32) as usize;
            let from = donor.get(at).or_else(|| donor.get(0)).unwrap_or(donor);
            match rng.below(6) {
                0 => drop(list.remove(at)),
                1 => list.push(list[at].clone()),
                2 => list[at] = from.clone(),
                _ => change(rng, &mut list[at], from, depth + 1),
            }
        }
        Value::String(text) if rng.below(3) > 0 => *text = word(rng, text),
        _ => *value = leaf(rng, donor),
    }
}

fn word(rng: &mut Rng, text: &str) -> String {
    match rng.below(5) {
        0 => WORDS[rng.below(WORDS.len() as u32) as usize].to_owned(),
        1 => text.chars().skip(1).collect(),
        2 => format!("{text}{text}"),
        3 => text.chars().rev().collect(),
        _ => text.replace(|c: char| c.is_ascii_digit(), &rng.below(300).to_string()),
    }
}

fn leaf(rng: &mut Rng, donor: &Value) -> Value {
    match rng.below(6) {
        0 => Value::Null,
        1 => Value::from(WORDS[rng.below(WORDS.len() as u32) as usize]),
        2 => Value::Object(Map::new()),
        3 => donor.clone(),
        _ => Value::from(NUMBERS[rng.below(NUMBERS.len() as u32) as usize]),
    }
}
