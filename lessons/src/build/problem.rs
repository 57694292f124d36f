//! What the checker says about a lesson: where, which class, what was expected.

use std::fmt;

/// Every class of problem, with the rule it stands for. `lessons/README.md` explains each; a test compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    FrontMatter,
    BlockSyntax,
    UnknownReference,
    ScenarioFailed,
    ScenarioUnused,
    TranscriptDiffers,
    NotOneAnswer,
    AnswerMoved,
    TooFewPredictions,
    ExplainsFirst,
    NoInterview,
    LiteralNumber,
    TaskStartPasses,
    TaskSolutionFails,
    TaskWrongPasses,
    PublishedMissed,
    PageTooLarge,
}

impl Class {
    pub const ALL: [Self; 17] = [
        Self::FrontMatter,
        Self::BlockSyntax,
        Self::UnknownReference,
        Self::ScenarioFailed,
        Self::ScenarioUnused,
        Self::TranscriptDiffers,
        Self::NotOneAnswer,
        Self::AnswerMoved,
        Self::TooFewPredictions,
        Self::ExplainsFirst,
        Self::NoInterview,
        Self::LiteralNumber,
        Self::TaskStartPasses,
        Self::TaskSolutionFails,
        Self::TaskWrongPasses,
        Self::PublishedMissed,
        Self::PageTooLarge,
    ];

    /// The name printed in brackets, and the heading in the authoring guide.
    pub fn name(self) -> &'static str {
        match self {
            Self::FrontMatter => "front-matter",
            Self::BlockSyntax => "block-syntax",
            Self::UnknownReference => "unknown-reference",
            Self::ScenarioFailed => "scenario-failed",
            Self::ScenarioUnused => "scenario-unused",
            Self::TranscriptDiffers => "transcript-differs",
            Self::NotOneAnswer => "not-one-answer",
            Self::AnswerMoved => "answer-moved",
            Self::TooFewPredictions => "too-few-predictions",
            Self::ExplainsFirst => "explains-first",
            Self::NoInterview => "no-interview",
            Self::LiteralNumber => "literal-number",
            Self::TaskStartPasses => "task-start-passes",
            Self::TaskSolutionFails => "task-solution-fails",
            Self::TaskWrongPasses => "task-wrong-passes",
            Self::PublishedMissed => "published-missed",
            Self::PageTooLarge => "page-too-large",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Path below the content folder.
    pub file: String,
    /// Counted from 1.
    pub line: usize,
    pub class: Class,
    pub message: String,
    /// Lines with `-` (the lesson) and `+` (the engine); empty when there is nothing to compare.
    pub diff: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: [{}] {}", self.file, self.line, self.class.name(), self.message)?;
        for line in self.diff.lines() {
            write!(f, "\n    {line}")?;
        }
        Ok(())
    }
}

/// Collects the problems of one file.
#[derive(Debug)]
pub(super) struct Problems {
    pub(super) file: String,
    pub(super) list: Vec<Problem>,
}

impl Problems {
    pub(super) fn add(&mut self, line: usize, class: Class, message: impl Into<String>) {
        self.add_diff(line, class, message, String::new());
    }

    pub(super) fn add_diff(&mut self, line: usize, class: Class, message: impl Into<String>, diff: String) {
        self.list.push(Problem { file: self.file.clone(), line, class, message: message.into(), diff });
    }
}
