//! A lesson as one static page: readable without scripts, before any WebAssembly, and when printed.

use super::html::escape;
use crate::expr::{self, Facts};
use crate::model::{Block, Choice, Entry, Figure, Interview, Lesson, Predict, Probe, Quiz, Table, Task};

/// The policy of the app's own page, word for word: the build compares.
const POLICY: &str = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; \
     connect-src 'self'; worker-src 'self'; object-src 'none'; base-uri 'self'";

pub(super) fn lesson(lesson: &Lesson, facts: &Facts) -> String {
    let entry = &lesson.entry;
    let mut body = format!(
        "<h1>{}</h1>\n<p class=\"lead\">{}</p>\n<p class=\"meta\">About {} minutes. \
         <a href=\"../../#/lesson/{}\">Open in the lab</a> to answer, step and try things.</p>\n",
        escape(&entry.title),
        escape(&entry.summary),
        entry.minutes,
        escape(&entry.id)
    );
    for block in &lesson.blocks {
        match block {
            Block::Prose { html } => body.push_str(html),
            Block::Console(console) => {
                let text: String =
                    console.entries.iter().map(|e| format!("$ {}\n{}", e.command, e.output)).collect();
                body.push_str(&format!(
                    "<pre class=\"console\" tabindex=\"0\"><code>{}</code></pre>\n",
                    escape(&text)
                ));
            }
            Block::Predict(Predict { ask, options, .. }) => {
                question(&mut body, "Before you read on", "What the engine says", ask, options, facts);
            }
            Block::Quiz(Quiz { ask, options, .. }) => {
                question(&mut body, "Say it back", "The answer", ask, options, facts);
            }
            Block::Figure(figure) => figure_html(&mut body, figure),
            Block::Task(task) => task_html(&mut body, task),
            Block::Interview(interview) => interview_html(&mut body, interview),
        }
    }
    body.push_str("<h2>Sources</h2>\n<ul>\n");
    for source in &lesson.sources {
        if source.url.is_empty() {
            body.push_str(&format!("<li>{}</li>\n", escape(&source.title)));
        } else {
            body.push_str(&format!(
                "<li><a href=\"{}\">{}</a></li>\n",
                escape(&source.url),
                escape(&source.title)
            ));
        }
    }
    body.push_str("</ul>\n<p><a href=\"../\">All lessons</a></p>\n");
    document(&entry.title, &entry.summary, "../lesson.css", &body)
}

/// The page that lists all lessons.
pub(super) fn index(entries: &[Entry]) -> String {
    let mut body = "<h1>Lessons</h1>\n<ol>\n".to_owned();
    for entry in entries {
        body.push_str(&format!(
            "<li><a href=\"{}/\">{}</a> ({} min)<br>{}</li>\n",
            escape(&entry.id),
            escape(&entry.title),
            entry.minutes,
            escape(&entry.summary)
        ));
    }
    body.push_str("</ol>\n<p><a href=\"../\">Open the lab</a></p>\n");
    document("Lessons", "Every lesson of Chainwalk, readable without scripts.", "lesson.css", &body)
}

fn document(title: &str, summary: &str, style: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <title>{} · Chainwalk</title>\n<meta name=\"description\" content=\"{}\">\n\
         <link rel=\"stylesheet\" href=\"{style}\">\n<link rel=\"icon\" href=\"data:,\">\n</head>\n\
         <body>\n<main>\n{body}</main>\n</body>\n</html>\n",
        escape(title),
        escape(summary)
    )
}

fn question(out: &mut String, title: &str, reveal: &str, ask: &str, options: &[Choice], facts: &Facts) {
    out.push_str(&format!("<section class=\"ask\">\n<p class=\"kicker\">{title}</p>\n<p>{ask}</p>\n<ol>\n"));
    for option in options {
        out.push_str(&format!("<li>{}</li>\n", option.say));
    }
    out.push_str(&format!("</ol>\n<details>\n<summary>{reveal}</summary>\n<ol>\n"));
    for option in options {
        let right = expr::holds(&option.holds, facts).unwrap_or(false);
        let mark = if right { "<strong>✓ Yes.</strong> " } else { "" };
        out.push_str(&format!("<li>{mark}{}</li>\n", option.because));
    }
    out.push_str("</ol>\n</details>\n</section>\n");
}

fn figure_html(out: &mut String, figure: &Figure) {
    out.push_str("<figure>\n");
    table(out, &figure.table);
    out.push_str(&format!("<figcaption>{}</figcaption>\n</figure>\n", figure.caption));
}

fn table(out: &mut String, table: &Table) {
    out.push_str("<div class=\"wide\" tabindex=\"0\">\n<table>\n<thead><tr>");
    for head in &table.head {
        out.push_str(&format!("<th scope=\"col\">{}</th>", escape(head)));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        out.push_str("<tr>");
        for cell in row {
            out.push_str(&format!("<td>{}</td>", escape(cell)));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table>\n</div>\n");
}

fn task_html(out: &mut String, task: &Task) {
    out.push_str(&format!("<section class=\"ask\">\n<p class=\"kicker\">Do it</p>\n<p>{}</p>\n", task.ask));
    for (i, hint) in task.hints.iter().enumerate() {
        out.push_str(&format!("<details>\n<summary>Hint {}</summary>\n<p>{hint}</p>\n</details>\n", i + 1));
    }
    out.push_str(&format!(
        "<details>\n<summary>Once it is done</summary>\n<p>{}</p>\n</details>\n</section>\n",
        task.done
    ));
}

fn interview_html(out: &mut String, interview: &Interview) {
    out.push_str("<section class=\"interview\">\n<h2>The words worth saying in an interview</h2>\n");
    out.push_str(&format!("<p class=\"prompt\">{}</p>\n<ul>\n", interview.prompt));
    for say in &interview.say {
        out.push_str(&format!("<li>{say}</li>\n"));
    }
    out.push_str("</ul>\n");
    pairs(out, "They may go on to ask", &interview.probes);
    pairs(out, "Often said, and not true", &interview.avoid);
    out.push_str("</section>\n");
}

fn pairs(out: &mut String, title: &str, pairs: &[Probe]) {
    if pairs.is_empty() {
        return;
    }
    out.push_str(&format!("<h3>{title}</h3>\n<dl>\n"));
    for pair in pairs {
        out.push_str(&format!("<dt>{}</dt>\n<dd>{}</dd>\n", pair.ask, pair.answer));
    }
    out.push_str("</dl>\n");
}
