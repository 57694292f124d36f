//! The layers of the engine: a module may use lower layers and itself, never a higher one.
//!
//! Read from the text: `crate::name` anywhere in code, also inside a `use crate::{...}` group. Tests may look down on
//! their module from above, so `tests.rs` files and everything below `#[cfg(test)]` are free.

use super::File;

/// Lowest first. Names are the modules directly in `engine/src`.
const LAYERS: &[&str] = &[
    "base",
    "packet",
    "trace",
    // Below `netfilter`, where the first design had it above: matches and NAT targets read and set connections, and a connection
    // needs nothing of rules but the hook numbers, which are in `base`.
    "conntrack",
    "netfilter",
    "ipvs",
    "ebpf",
    "netns",
    "endpoint",
    "sim",
    "text",
    "replay",
    "cluster",
    "proxy",
    "fleet",
    "shell",
    "scenario",
    "view",
];

const SOURCE: &str = "engine/src/";

pub(super) fn check(files: &[File]) -> Vec<String> {
    let mut found = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        let Some(inside) = file.path.strip_prefix(SOURCE) else { continue };
        let module = inside.split(['/', '.']).next().unwrap_or_default();
        if matches!(module, "lib" | "bin") || inside.ends_with("/tests.rs") || inside.contains("/tests/") {
            continue;
        }
        let Some(own) = rank(module) else {
            found.push(file.complaint(0, format!("`{module}` is not in the table of layers")));
            continue;
        };
        for (line_index, used) in used_modules(&file.text) {
            match rank(used) {
                Some(layer) if layer > own => {
                    found.push(
                        file.complaint(line_index, format!("`{module}` uses `{used}`, a higher layer")),
                    );
                }
                // What is not a module of the table is an item that `lib.rs` re-exports; it has none to hide.
                Some(_) | None => {}
            }
        }
    }
    found
}

fn rank(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| *layer == module)
}

/// Each module named directly after `crate::`, with the index of its line.
fn used_modules(text: &str) -> Vec<(usize, &str)> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let mut used = Vec::new();
    for (index, _) in code.match_indices("crate::") {
        let line_start = code[..index].rfind('\n').map_or(0, |at| at + 1);
        // A comment may speak of anything; `$crate` and `other_crate` are something else.
        if code[line_start..index].contains("//")
            || code[..index].ends_with(|c: char| c.is_alphanumeric() || c == '_')
        {
            continue;
        }
        let line_index = code[..index].matches('\n').count();
        let after = &code[index + "crate::".len()..];
        if let Some(group) = after.strip_prefix('{') {
            used.extend(group_heads(group).into_iter().map(|name| (line_index, name)));
        } else {
            used.push((line_index, identifier(after)));
        }
    }
    used
}

/// The first name of each member of a `use` group, whose opening brace is already read.
fn group_heads(group: &str) -> Vec<&str> {
    let mut heads = Vec::new();
    let mut depth = 1;
    let mut start = 0;
    for (index, character) in group.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 || (depth == 1 && character == ',') {
            heads.push(identifier(group[start..index].trim_start()));
            start = index + 1;
        }
        if depth == 0 {
            break;
        }
    }
    heads.retain(|name| !name.is_empty());
    heads
}

fn identifier(text: &str) -> &str {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(path: &str, text: &str) -> Vec<String> {
        check(&[File { path: path.to_owned(), text: text.to_owned() }])
    }

    #[test]
    fn looking_down_is_fine_and_looking_up_is_not() {
        assert!(
            complaints("engine/src/netns/path.rs", "use crate::{base::Instant, netfilter::{hook, rule}};")
                .is_empty()
        );
        assert!(complaints("engine/src/netns/path.rs", "use crate::netns::device;").is_empty());
        let found = complaints(
            "engine/src/netfilter/rule.rs",
            "\nuse crate::{\n    base::Instant,\n    netns::Device,\n};",
        );
        assert_eq!(found, ["engine/src/netfilter/rule.rs:2: `netfilter` uses `netns`, a higher layer"]);
        assert_eq!(complaints("engine/src/packet/mod.rs", "fn f(x: crate::view::V) {}").len(), 1);
    }

    #[test]
    fn comments_tests_and_other_crates_do_not_count() {
        for text in
            ["// see crate::view", "#[cfg(test)]\nmod tests { use crate::view; }", "macro!($crate::base)"]
        {
            assert!(complaints("engine/src/packet/mod.rs", text).is_empty(), "{text}");
        }
        assert!(complaints("engine/src/packet/tests.rs", "use crate::view;").is_empty());
    }

    #[test]
    fn an_unknown_module_has_to_be_placed() {
        assert_eq!(complaints("engine/src/extra.rs", "").len(), 1);
        assert!(complaints("engine/src/lib.rs", "pub use crate::view;").is_empty());
    }
}
