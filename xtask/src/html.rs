//! What a page of `dist/` must and must not hold, so that it runs under the policy and at any address.
//!
//! A reader of tags, not an HTML parser: our own pages are the only input.

use crate::build::CONTENT_SECURITY_POLICY;

/// Everything wrong with a page, in words.
pub(crate) fn complaints(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    let policies = tags(page)
        .filter(|tag| {
            tag.starts_with("meta") && attribute(tag, "http-equiv") == Some("Content-Security-Policy")
        })
        .map(|tag| attribute(tag, "content").unwrap_or_default())
        .collect::<Vec<_>>();
    if policies != [CONTENT_SECURITY_POLICY] {
        found.push(format!("the policy has to be exactly: {CONTENT_SECURITY_POLICY}"));
    }
    for tag in tags(page) {
        let name = tag.split([' ', '\n', '>']).next().unwrap_or_default();
        if name == "script" && attribute(tag, "src").is_none() {
            found.push("an inline script, which the policy refuses".to_owned());
        }
        if name == "style" || attribute(tag, "style").is_some() {
            found.push(format!("an inline style, which the policy refuses: <{tag}>"));
        }
        // A link that the reader may follow is free to leave; what the page loads is not.
        if matches!(name, "script" | "link" | "img") {
            for key in ["src", "href", "data-js", "data-wasm"] {
                if let Some(address) = attribute(tag, key).filter(|address| leaves_the_folder(address)) {
                    found.push(format!("`{address}` does not work under a sub-path"));
                }
            }
        }
    }
    found
}

fn leaves_the_folder(address: &str) -> bool {
    address.starts_with('/') || (address.contains("://") && !address.starts_with("data:"))
}

/// The inside of each opening tag. Comments hold no tags that count.
fn tags(page: &str) -> impl Iterator<Item = &str> {
    page.split("<!--")
        .enumerate()
        .map(
            |(index, part)| {
                if index == 0 { part } else { part.split_once("-->").map_or("", |(_, rest)| rest) }
            },
        )
        .flat_map(|part| part.split('<').skip(1))
        .filter(|tag| !tag.starts_with(['/', '!']))
        .map(|tag| tag.split_once('>').map_or(tag, |(inside, _)| inside))
}

fn attribute<'tag>(tag: &'tag str, name: &str) -> Option<&'tag str> {
    let start = tag.match_indices(name).map(|(index, _)| index).find(|index| {
        tag[..*index].ends_with(char::is_whitespace) && tag[index + name.len()..].starts_with("=\"")
    })?;
    tag[start + name.len() + 2..].split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(body: &str) -> String {
        format!(
            "<!doctype html><html><head><meta http-equiv=\"Content-Security-Policy\" \
             content=\"{CONTENT_SECURITY_POLICY}\"></head><body>{body}</body></html>"
        )
    }

    #[test]
    fn a_page_within_the_policy_passes() {
        let body = "<!-- <script>x</script> --><script type=\"module\" src=\"./boot.js\" data-js=\"./a.js\"></script>\
                    <img src=\"data:image/png;base64,AA\"><a href=\"https://example.org/\">out</a>";
        assert_eq!(complaints(&page(body)), Vec::<String>::new());
    }

    #[test]
    fn each_breach_is_named() {
        for body in [
            "<script>run()</script>",
            "<style>p{}</style>",
            "<p style=\"color:red\">",
            "<script src=\"/boot.js\"></script>",
            "<link rel=\"stylesheet\" href=\"https://example.org/a.css\">",
            "<script src=\"./boot.js\" data-wasm=\"/a.wasm\"></script>",
        ] {
            assert_eq!(complaints(&page(body)).len(), 1, "{body}");
        }
        assert_eq!(complaints("<p>no policy</p>").len(), 1);
    }
}
