//! Licences of everything the lock file names, read from `cargo metadata`.

use std::process::Command;

use serde_json::Value;

use crate::failure::{Failure, Result};
use crate::process::{ask, say};
use crate::workspace::Workspace;

use super::count::Counts;

/// What may be linked into a program under MIT or Apache-2.0 without a further duty than to name it.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

pub(super) fn run(workspace: &Workspace) -> Result<Counts> {
    let mut command = Command::new("cargo");
    command.args(["metadata", "--format-version", "1", "--locked"]).current_dir(workspace.root());
    let text = ask(&mut command)
        .ok_or_else(|| Failure::new("the dependencies cannot be listed").hint("cargo metadata --locked"))?;
    let metadata: Value =
        serde_json::from_str(&text).map_err(|error| Failure::new(format!("cargo metadata: {error}")))?;
    let mut allowed_all = true;
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let licence = package["license"].as_str().unwrap_or_default();
        let allowed = is_allowed(licence);
        if !allowed {
            say(&format!("{} {}: licence `{licence}`", package["name"], package["version"]));
        }
        allowed_all &= allowed;
    }
    Ok(Counts::of(allowed_all))
}

/// Reads an SPDX expression: `AND` binds closer than `OR`, parentheses group, `/` is an old way to write `OR`.
fn is_allowed(expression: &str) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    let allowed = either(&mut rest);
    // An empty or unreadable expression permits nothing.
    allowed && rest.is_empty()
}

fn either(words: &mut &[&str]) -> bool {
    let mut allowed = both(words);
    while take(words, "OR") {
        allowed |= both(words);
    }
    allowed
}

fn both(words: &mut &[&str]) -> bool {
    let mut allowed = single(words);
    while take(words, "AND") {
        allowed &= single(words);
    }
    allowed
}

fn single(words: &mut &[&str]) -> bool {
    if take(words, "(") {
        let allowed = either(words);
        return take(words, ")") && allowed;
    }
    let Some((name, rest)) = words.split_first() else { return false };
    *words = rest;
    let mut name = (*name).to_owned();
    if take(words, "WITH")
        && let Some((exception, rest)) = words.split_first()
    {
        *words = rest;
        name = format!("{name} WITH {exception}");
    }
    ALLOWED.contains(&name.as_str())
}

fn take(words: &mut &[&str], wanted: &str) -> bool {
    match words.split_first() {
        Some((first, rest)) if *first == wanted => {
            *words = rest;
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_mean_what_spdx_says() {
        for (expression, allowed) in [
            ("MIT", true),
            ("MIT OR Apache-2.0", true),
            ("MIT/Apache-2.0", true),
            ("LGPL-2.1-or-later OR MIT", true),
            ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
            ("Apache-2.0 WITH LLVM-exception OR LGPL-3.0", true),
            ("MIT AND LGPL-3.0", false),
            ("LGPL-3.0 OR MIT AND LGPL-3.0", false),
            ("Apache-2.0 WITH something-else", false),
            ("(MIT", false),
            ("", false),
        ] {
            assert_eq!(is_allowed(expression), allowed, "{expression}");
        }
    }
}
