//! Runs whose digests have to be equal on every target.

use chainwalk_engine::base::Rng;

/// Name and digest of every run, in a fixed order.
pub fn all() -> Vec<(String, String)> {
    let draws =
        ["isn", "nat-port", "statistic:KUBE-SVC:0"].map(|fork| (format!("draws of {fork}"), draws(fork)));
    draws.into_iter().collect()
}

/// What a native run printed, one `digest name` a line, when the build was given it.
pub fn native() -> Vec<(&'static str, &'static str)> {
    let text = include_str!(concat!(env!("OUT_DIR"), "/native.txt"));
    text.lines().filter_map(|line| line.split_once(' ')).map(|(digest, name)| (name, digest)).collect()
}

/// Ten thousand draws of one fork, folded into one number.
fn draws(fork: &str) -> String {
    let mut rng = Rng::named(7, fork);
    let folded = (0..10_000).fold(0_u64, |sum, _| sum.rotate_left(5) ^ rng.next_u64());
    format!("{folded:016x}")
}
