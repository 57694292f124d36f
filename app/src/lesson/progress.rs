//! What the reader has answered in a lesson, kept in the browser where it allows it.

use std::collections::{BTreeMap, BTreeSet};

use super::state::Answer;
use crate::storage;

/// Answers by question, and tasks that are done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Progress {
    pub(super) answers: BTreeMap<String, Answer>,
    pub(super) done: BTreeSet<String>,
}

pub(super) fn load(lesson: &str) -> Progress {
    storage::get(&key(lesson)).map(|text| read(&text)).unwrap_or_default()
}

/// False when the browser refuses to keep it.
pub(super) fn save(lesson: &str, progress: &Progress) -> bool {
    if *progress == Progress::default() {
        storage::remove(&key(lesson));
        return true;
    }
    storage::set(&key(lesson), &write(progress))
}

fn key(lesson: &str) -> String {
    format!("lesson.{lesson}")
}

/// `v1;what-leaves=3;self-call=skip;make-it-fair=done`. What cannot be read is left out.
fn read(text: &str) -> Progress {
    let mut progress = Progress::default();
    let Some(rest) = text.strip_prefix("v1;") else { return progress };
    for (id, value) in rest.split(';').filter_map(|part| part.split_once('=')) {
        match value {
            "done" => {
                progress.done.insert(id.to_owned());
            }
            "skip" => {
                progress.answers.insert(id.to_owned(), Answer::Skipped);
            }
            number => {
                if let Ok(option) = number.parse() {
                    progress.answers.insert(id.to_owned(), Answer::Chose(option));
                }
            }
        }
    }
    progress
}

fn write(progress: &Progress) -> String {
    let answers = progress.answers.iter().map(|(id, answer)| match answer {
        Answer::Skipped => format!("{id}=skip"),
        Answer::Chose(option) => format!("{id}={option}"),
    });
    let done = progress.done.iter().map(|id| format!("{id}=done"));
    format!("v1;{}", answers.chain(done).collect::<Vec<_>>().join(";"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_survives_storage() {
        let mut progress = Progress::default();
        progress.answers.insert("a".to_owned(), Answer::Chose(2));
        progress.answers.insert("b".to_owned(), Answer::Skipped);
        progress.done.insert("c".to_owned());
        assert_eq!(write(&progress), "v1;a=2;b=skip;c=done");
        assert_eq!(read(&write(&progress)), progress);
    }

    #[test]
    fn what_cannot_be_read_is_left_out() {
        assert_eq!(read("garbage"), Progress::default());
        assert_eq!(read("v1;a=x;=;b=1").answers.len(), 1);
    }
}
