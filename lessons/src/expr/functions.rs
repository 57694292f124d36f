//! The functions of the reference language. One row in [`FUNCTIONS`] and one arm in [`call`] each.

use serde_json::Value;

use super::eval::{float, kind, number, same};
use super::text;

/// Name, arguments, meaning: the table in `lessons/README.md` is checked against this one.
pub const FUNCTIONS: &[(&str, &str, &str)] = &[
    ("len", "list or text", "how many elements, or characters"),
    ("where", "list, 'member', value", "the elements whose member has that value"),
    ("count", "list, 'member', value", "how many elements have that value"),
    ("pluck", "list, 'member'", "that member of each element"),
    ("last", "list", "the last element"),
    ("sum", "list of numbers", "their sum"),
    ("min", "list of numbers", "the smallest"),
    ("max", "list of numbers", "the largest"),
    ("abs", "number", "without its sign"),
    ("has", "text, 'needle'", "whether the text contains it"),
    ("lines", "text, 'needle'", "how many lines contain it"),
    ("line", "text, 'needle'", "the first line that contains it"),
    ("group", "number", "100000 as 100,000"),
    ("fixed", "number, places", "rounded, with that many places"),
    ("percent", "share, places", "0.25 as 25 %"),
    ("word", "number", "0 to 20 in words"),
    ("join", "list, 'separator'", "the elements as one text"),
];

const WORDS: [&str; 21] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
];

pub(super) fn call(name: &str, args: &[Value]) -> Result<Value, String> {
    match (name, args) {
        ("len", [Value::Array(items)]) => Ok(Value::from(items.len())),
        ("len", [Value::String(s)]) => Ok(Value::from(s.chars().count())),
        ("where", [Value::Array(items), Value::String(key), wanted]) => {
            Ok(Value::Array(matching(items, key, wanted).cloned().collect()))
        }
        ("count", [Value::Array(items), Value::String(key), wanted]) => {
            Ok(Value::from(matching(items, key, wanted).count()))
        }
        ("pluck", [Value::Array(items), Value::String(key)]) => {
            Ok(Value::Array(items.iter().map(|item| item.get(key).cloned().unwrap_or(Value::Null)).collect()))
        }
        ("last", [Value::Array(items)]) => {
            items.last().cloned().ok_or_else(|| "the list is empty".to_owned())
        }
        ("sum", [Value::Array(items)]) => Ok(number(floats(items)?.iter().sum())),
        ("min", [Value::Array(items)]) => extreme(items, f64::min),
        ("max", [Value::Array(items)]) => extreme(items, f64::max),
        ("abs", [x]) => Ok(number(real(x)?.abs())),
        ("has", [Value::String(s), Value::String(needle)]) => Ok(Value::Bool(s.contains(needle.as_str()))),
        ("lines", [Value::String(s), Value::String(needle)]) => {
            Ok(Value::from(s.lines().filter(|line| line.contains(needle.as_str())).count()))
        }
        ("line", [Value::String(s), Value::String(needle)]) => {
            let found = s.lines().find(|line| line.contains(needle.as_str()));
            found.map(Value::from).ok_or_else(|| format!("no line contains {needle:?}"))
        }
        ("group", [x]) => Ok(Value::String(grouped(real(x)?))),
        ("fixed", [x, places]) => Ok(Value::String(format!("{:.*}", whole(places)?, real(x)?))),
        ("percent", [x, places]) => Ok(Value::String(format!("{:.*} %", whole(places)?, real(x)? * 100.0))),
        ("word", [x]) => {
            let word = WORDS.get(whole(x)?).ok_or_else(|| format!("{} has no word here", text(x)))?;
            Ok(Value::from(*word))
        }
        ("join", [Value::Array(items), Value::String(separator)]) => {
            Ok(Value::String(items.iter().map(text).collect::<Vec<_>>().join(separator)))
        }
        _ => Err(refusal(name, args)),
    }
}

fn refusal(name: &str, args: &[Value]) -> String {
    match FUNCTIONS.iter().find(|(known, ..)| *known == name) {
        Some((_, wanted, _)) => {
            let got: Vec<String> = args.iter().map(kind).collect();
            format!("`{name}` takes {wanted}; got {}", got.join(", "))
        }
        None => {
            let known: Vec<&str> = FUNCTIONS.iter().map(|(name, ..)| *name).collect();
            format!("no function `{name}` (there are: {})", known.join(", "))
        }
    }
}

fn matching<'a>(items: &'a [Value], key: &'a str, wanted: &'a Value) -> impl Iterator<Item = &'a Value> {
    items.iter().filter(move |item| item.get(key).is_some_and(|value| same(value, wanted)))
}

fn real(value: &Value) -> Result<f64, String> {
    float(value).map_err(|error| error.message)
}

fn whole(value: &Value) -> Result<usize, String> {
    let x = real(value)?;
    if (0.0..=1000.0).contains(&x) && x.fract() == 0.0 {
        Ok(x as usize)
    } else {
        Err(format!("expected a whole number from 0 to 1000, got {x}"))
    }
}

fn floats(items: &[Value]) -> Result<Vec<f64>, String> {
    items.iter().map(real).collect()
}

fn extreme(items: &[Value], pick: fn(f64, f64) -> f64) -> Result<Value, String> {
    let found = floats(items)?.into_iter().reduce(pick);
    found.map(number).ok_or_else(|| "the list is empty".to_owned())
}

/// Thousands set apart by commas; the fraction is dropped.
fn grouped(x: f64) -> String {
    let digits = format!("{:.0}", x.abs());
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    if x < 0.0 { format!("-{out}") } else { out }
}
