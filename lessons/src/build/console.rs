//! Terminal transcripts: read, run, compare, and write anew on request.
//!
//! A line of three dots stands for any number of lines. Output may be filtered by `| grep`, `| head` and
//! `| wc -l`, which the lesson crate does itself on the engine's text.

use crate::model::Command;

/// The entries of a transcript. `Err` names the first line that is not below a command.
pub(super) fn parse(body: &str) -> Result<Vec<Command>, String> {
    let mut entries: Vec<Command> = Vec::new();
    for line in body.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            entries.push(Command { command: command.trim().to_owned(), output: String::new() });
        } else {
            let Some(entry) = entries.last_mut() else {
                return Err(format!("expected a line beginning with `$ `, got {line:?}"));
            };
            entry.output.push_str(line.trim_end());
            entry.output.push('\n');
        }
    }
    if entries.is_empty() { Err("a transcript has at least one `$ command`".to_owned()) } else { Ok(entries) }
}

/// The part of a command line that the engine runs.
pub(super) fn base(command: &str) -> &str {
    command.split('|').next().unwrap_or(command).trim()
}

/// `text` through the filters of `command`.
///
/// # Errors
/// Names the first filter that is not known here.
pub(super) fn filter(command: &str, text: &str) -> Result<String, String> {
    let mut lines: Vec<String> = text.lines().map(|line| line.trim_end().to_owned()).collect();
    for stage in command.split('|').skip(1) {
        let words: Vec<&str> = stage.split_whitespace().map(|word| word.trim_matches(['\'', '"'])).collect();
        lines = match words.as_slice() {
            ["grep", "-c", "--", needle] | ["grep", "-c", needle] => {
                vec![lines.iter().filter(|line| line.contains(needle)).count().to_string()]
            }
            ["grep", "-v", "--", needle] | ["grep", "-v", needle] => {
                lines.into_iter().filter(|line| !line.contains(needle)).collect()
            }
            ["grep", "--", needle] | ["grep", needle] => {
                lines.into_iter().filter(|line| line.contains(needle)).collect()
            }
            ["head", "-n", count] => {
                let count: usize = count.parse().map_err(|_| format!("`head -n {count}`: not a number"))?;
                lines.into_iter().take(count).collect()
            }
            ["wc", "-l"] => vec![lines.len().to_string()],
            _ => return Err(format!("`{}` is not a filter known here (grep, head -n, wc -l)", stage.trim())),
        };
    }
    Ok(lines.into_iter().map(|line| line + "\n").collect())
}

/// Whether `written` (which may hold elisions) describes `actual`.
pub(super) fn agrees(written: &str, actual: &str) -> bool {
    fn matches(written: &[&str], actual: &[&str]) -> bool {
        match written.split_first() {
            None => actual.is_empty(),
            Some((&"...", rest)) => (0..=actual.len()).any(|skip| matches(rest, &actual[skip..])),
            Some((line, rest)) => actual
                .split_first()
                .is_some_and(|(have, more)| have.trim_end() == line.trim_end() && matches(rest, more)),
        }
    }
    matches(&written.lines().collect::<Vec<_>>(), &actual.lines().collect::<Vec<_>>())
}

/// A line-by-line difference: `-` what the lesson says, `+` what the engine prints.
pub(super) fn diff(written: &str, actual: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (written.lines().collect(), actual.lines().collect());
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let room = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(room).take_while(|(a, b)| a == b).count();
    let mut out = String::new();
    for (mark, lines) in [("-", &old[head..old.len() - tail]), ("+", &new[head..new.len() - tail])] {
        for line in lines {
            out.push_str(mark);
            out.push(' ');
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

/// A transcript as it stands in a lesson.
pub(super) fn print(entries: &[Command]) -> String {
    entries.iter().map(|entry| format!("$ {}\n{}", entry.command, entry.output)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transcripts_round_trip() {
        let body = "$ a -L | grep x\none x\n$ b\n";
        let entries = parse(body).unwrap();
        assert_eq!(
            (entries.len(), entries[0].command.as_str(), entries[1].output.as_str()),
            (2, "a -L | grep x", "")
        );
        assert_eq!(print(&entries), body);
        assert_eq!(base(&entries[0].command), "a -L");
        assert!(parse("output first\n").is_err());
        assert!(parse("").is_err());
    }

    #[test]
    fn filters_do_what_their_names_say() {
        let text = "alpha\nbeta -x\ngamma\n";
        assert_eq!(filter("c | grep a | head -n 2", text).unwrap(), "alpha\nbeta -x\n");
        assert_eq!(filter("c | grep -- -x", text).unwrap(), "beta -x\n");
        assert_eq!(
            filter("c | grep -v 'a -x'", text).unwrap_err(),
            "`grep -v 'a -x'` is not a filter known here (grep, head -n, wc -l)"
        );
        assert_eq!(filter("c | grep -c mm", text).unwrap(), "1\n");
        assert_eq!(filter("c | wc -l", text).unwrap(), "3\n");
        assert!(filter("c | sed s/a/b/", text).is_err());
    }

    #[test]
    fn dots_stand_for_any_number_of_lines() {
        assert!(agrees("a\n...\nd\n", "a\nb\nc\nd\n"));
        assert!(agrees("...\nd\n", "d\n"));
        assert!(!agrees("a\n...\nc\n", "a\nb\n"));
        assert!(!agrees("a\n", "a\nb\n"));
    }

    #[test]
    fn a_difference_shows_only_what_differs() {
        assert_eq!(diff("a\nb\nc\n", "a\nx\ny\nc\n"), "- b\n+ x\n+ y\n");
        assert_eq!(diff("a\n", "a\na\n"), "+ a\n");
    }
}
