//! Markdown to HTML, and text to HTML. Raw HTML in a lesson is escaped, so a page holds only what we write.

use pulldown_cmark::{Event, Options, Parser, html};

/// Text made safe for element content and double-quoted attributes.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            _ => out.push(c),
        }
    }
    out
}

/// A passage: paragraphs, lists, tables, headings.
pub(super) fn passage(markdown: &str) -> String {
    let events = Parser::new_ext(markdown, Options::ENABLE_TABLES).map(|event| match event {
        Event::Html(raw) | Event::InlineHtml(raw) => Event::Text(raw),
        other => other,
    });
    let mut out = String::with_capacity(markdown.len() * 3 / 2);
    html::push_html(&mut out, events);
    // Long lines scroll inside their block, so the keyboard has to get there.
    out.replace("<pre>", "<pre tabindex=\"0\">")
}

/// A phrase: the same, without the paragraph around a single one.
pub(super) fn phrase(markdown: &str) -> String {
    let out = passage(markdown);
    let inner = out.trim().strip_prefix("<p>").and_then(|rest| rest.strip_suffix("</p>"));
    match inner {
        Some(inner) if !inner.contains("<p>") => inner.to_owned(),
        _ => out.trim().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_html_is_text_and_listings_are_reached_by_keyboard() {
        assert_eq!(phrase("a <b>*c*</b>"), "a &lt;b&gt;<em>c</em>&lt;/b&gt;");
        let listing = passage("```text\n<pre><code\n```\n");
        assert_eq!(
            listing,
            "<pre tabindex=\"0\"><code class=\"language-text\">&lt;pre&gt;&lt;code\n</code></pre>\n"
        );
        assert_eq!(phrase("one\n\ntwo"), "<p>one</p>\n<p>two</p>");
    }
}
