//! Runs whose digests have to be equal on every target.

use chainwalk_engine::base::Rng;
use chainwalk_engine::replay;

/// Name and text of each case in `tests/cases`.
const CASES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/cases.rs"));

/// Name and digest of every run, in a fixed order. A case that cannot be run has its error for a digest.
pub fn all() -> Vec<(String, String)> {
    let draws =
        ["isn", "nat-port", "statistic:KUBE-SVC:0"].map(|fork| (format!("draws of {fork}"), draws(fork)));
    let cases = CASES.iter().map(|(name, text)| (format!("case {name}"), case(text)));
    draws.into_iter().chain(cases).collect()
}

/// A case as `tests/cases` keeps it: the contract's input under `case`, the kernel's answer beside it.
fn case(text: &str) -> String {
    let file: serde_json::Value = match serde_json::from_str(text) {
        Ok(file) => file,
        Err(error) => return error.to_string(),
    };
    let input = file.get("case").unwrap_or(&file).to_string();
    let report = replay::parse(&input).and_then(|case| replay::run(&case, &replay::Options::default()));
    // An error may have several lines; a digest has one.
    report.map_or_else(|error| format!("{error}").replace('\n', " "), |report| report.digest)
}

/// What a native run printed, one `name<TAB>digest` a line, when the build was given it.
pub fn native() -> Vec<(&'static str, &'static str)> {
    let text = include_str!(concat!(env!("OUT_DIR"), "/native.txt"));
    text.lines().filter_map(|line| line.split_once('\t')).collect()
}

/// Ten thousand draws of one fork, folded into one number.
fn draws(fork: &str) -> String {
    let mut rng = Rng::named(7, fork);
    let folded = (0..10_000).fold(0_u64, |sum, _| sum.rotate_left(5) ^ rng.next_u64());
    format!("{folded:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_least_two_hundred_cases_have_digests() {
        let digests = all();
        let cases = digests.iter().filter(|(name, _)| name.starts_with("case "));
        // A digest is hexadecimal; a case that could not be run has words in its place.
        let ran = cases.filter(|(_, digest)| digest.bytes().all(|byte| byte.is_ascii_hexdigit())).count();
        assert!(ran >= 200, "{ran}");
    }
}
