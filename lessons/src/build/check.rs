//! The rules a lesson must keep, beyond being readable: what `lessons/README.md` lists by class.

use serde_json::Value;

use super::blocks::{QuestionBody, TaskBody};
use super::compile::Built;
use super::problem::{Class, Problems};
use super::scenario::{AFTER, Scenarios};
use super::source::{Document, Fence, Folder, Front, Piece};
use crate::expr::{self, Facts};
use crate::facts;
use crate::model::{Block, Choice, Edit, Input};
use crate::spread;

/// Fewest questions asked before a run.
const PREDICTIONS_MIN: usize = 3;
/// Fewest options of a question: two would be a coin.
const OPTIONS_MIN: usize = 3;
/// Largest static page, bytes.
pub(super) const PAGE_MAX_BYTES: usize = 60 * 1024;

pub(super) fn front(front: &Front, folder: &Folder, earlier: &[String], problems: &mut Problems) {
    let mut add = |message: String| problems.add(1, Class::FrontMatter, message);
    if front.id != folder.slug {
        add(format!(
            "`id` is `{}` but the folder is called `{}`: links are made of both",
            front.id, folder.slug
        ));
    }
    if earlier.contains(&front.id) {
        add(format!("the id `{}` is taken by an earlier lesson", front.id));
    }
    for required in front.requires.iter().filter(|id| !earlier.contains(id)) {
        add(format!("`requires` names `{required}`, which is not an earlier lesson"));
    }
    if !(3..=60).contains(&front.minutes) {
        add(format!("`minutes` is {}: a lesson takes 3 to 60", front.minutes));
    }
    if front.sources.is_empty() {
        add("`sources` is empty: say where the claims come from".to_owned());
    }
}

/// Order and number of blocks.
pub(super) fn shape(document: &Document, blocks: &[Block], scenarios: &Scenarios, problems: &mut Problems) {
    let end = 1;
    let predictions = blocks.iter().filter(|block| matches!(block, Block::Predict(_))).count();
    if predictions < PREDICTIONS_MIN {
        let message = format!("{predictions} predictions; a lesson asks at least {PREDICTIONS_MIN}");
        problems.add(end, Class::TooFewPredictions, message);
    }
    if !matches!(blocks.last(), Some(Block::Interview(_))) {
        problems.add(end, Class::NoInterview, "a lesson ends with an `interview` block");
    }
    for piece in &document.pieces {
        match piece {
            Piece::Fence(fence) if matches!(fence.kind.as_str(), "predict" | "task") => break,
            Piece::Prose { line, text } => {
                if let Some(i) = text.lines().position(|row| row.starts_with("## ")) {
                    let message =
                        "the first section comes before the first `predict` or `task`: open with the puzzle";
                    problems.add(line + i, Class::ExplainsFirst, message);
                    break;
                }
            }
            Piece::Fence(_) => {}
        }
    }
    for (run, line) in scenarios.runs.iter().zip(&scenarios.lines) {
        let used = blocks.iter().any(|block| match block {
            Block::Predict(predict) => predict.run == run.id,
            Block::Console(console) => console.run == run.id,
            Block::Figure(figure) => figure.run == run.id,
            Block::Task(task) => task.run == run.id,
            Block::Prose { .. } | Block::Quiz(_) | Block::Interview(_) => false,
        });
        if !used {
            problems.add(*line, Class::ScenarioUnused, format!("no block shows the scenario `{}`", run.id));
        }
    }
    let mut ids: Vec<&str> = Vec::new();
    for block in blocks {
        let id = match block {
            Block::Predict(predict) => &predict.id,
            Block::Quiz(quiz) => &quiz.id,
            Block::Task(task) => &task.id,
            Block::Prose { .. } | Block::Console(_) | Block::Figure(_) | Block::Interview(_) => continue,
        };
        if ids.contains(&id.as_str()) {
            problems.add(
                end,
                Class::BlockSyntax,
                format!("two blocks have the id `{id}`: progress is kept by id"),
            );
        }
        ids.push(id);
    }
}

/// The option that holds is the one the text is written around.
pub(super) fn expected(fence: &Fence, body: &QuestionBody, right: Option<usize>, problems: &mut Problems) {
    let marked: Vec<usize> = (0..body.option.len()).filter(|&at| body.option[at].expected).collect();
    let message = match (marked.as_slice(), right) {
        ([expected], Some(right)) if *expected != right => format!(
            "the engine says option {}; the lesson is written around option {}",
            right + 1,
            expected + 1
        ),
        ([_], _) => return,
        _ => {
            format!("{} options are marked `expected`; mark the one the text is written around", marked.len())
        }
    };
    problems.add(fence.line, Class::AnswerMoved, message);
}

/// Exactly one option holds, and each says why. Gives that option, from 0.
pub(super) fn one_answer(
    fence: &Fence,
    options: &[Choice],
    facts: &Facts,
    problems: &mut Problems,
) -> Option<usize> {
    if options.len() < OPTIONS_MIN {
        let message = format!("{} options; a question has at least {OPTIONS_MIN}", options.len());
        problems.add(fence.line, Class::NotOneAnswer, message);
    }
    let mut right = Vec::new();
    for (i, option) in options.iter().enumerate() {
        match expr::holds(&option.holds, facts) {
            Ok(true) => right.push(i),
            Ok(false) => {}
            Err(error) => {
                let message = format!("option {}: `{}`: {error}", i + 1, option.holds);
                problems.add(fence.line, Class::UnknownReference, message);
            }
        }
        if option.because.trim().is_empty() {
            let message = format!("option {} gives no reason in `because`", i + 1);
            problems.add(fence.line, Class::NotOneAnswer, message);
        }
    }
    if right.len() != 1 {
        let right: Vec<usize> = right.iter().map(|at| at + 1).collect();
        let message = format!("exactly one option must hold; these do: {right:?}");
        problems.add(fence.line, Class::NotOneAnswer, message);
        return None;
    }
    right.first().copied()
}

/// The start fails, every solution passes, every recorded wrong attempt fails with its own words.
pub(super) fn task(
    fence: &Fence,
    run: &str,
    body: &TaskBody,
    scenarios: &Scenarios,
    problems: &mut Problems,
) {
    let Some(Input::Spread(input)) = scenarios.get(run).map(|run| &run.input) else {
        problems.add(fence.line, Class::BlockSyntax, "a task edits the chain of a `[spread]` scenario");
        return;
    };
    if body.hint.is_empty() || body.solution.is_empty() || body.wrong.is_empty() {
        let message = "a task has at least one `hint`, one `[[solution]]` and one `[[wrong]]`";
        problems.add(fence.line, Class::BlockSyntax, message);
    }
    let mut judge = |edit: Option<&Edit>| -> Option<(bool, Vec<String>)> {
        let edited = edit.map_or_else(|| Ok(input.clone()), |edit| spread::edit(input, edit));
        let outcome = edited.and_then(|input| facts::run(&Input::Spread(input)));
        let mut facts = scenarios.facts.clone();
        match outcome {
            Ok(outcome) => facts.insert(AFTER.to_owned(), outcome.facts),
            Err(message) => {
                problems.add(fence.line, Class::ScenarioFailed, message);
                return None;
            }
        };
        let mut said = Vec::new();
        for never in &body.never {
            match expr::holds(&never.holds, &facts) {
                Ok(true) => said.push(never.say.clone()),
                Ok(false) => {}
                Err(error) => problems.add(fence.line, Class::UnknownReference, error.to_string()),
            }
        }
        match expr::holds(&body.check, &facts) {
            Ok(passes) => Some((passes && said.is_empty(), said)),
            Err(error) => {
                problems.add(fence.line, Class::UnknownReference, error.to_string());
                None
            }
        }
    };
    let start = judge(None);
    let solutions: Vec<_> = body.solution.iter().map(|edit| judge(Some(edit))).collect();
    let wrongs: Vec<_> = body
        .wrong
        .iter()
        .map(|wrong| {
            judge(Some(&Edit { probabilities: wrong.probabilities.clone(), dropped: wrong.dropped.clone() }))
        })
        .collect();
    if matches!(start, Some((true, _))) {
        problems.add(fence.line, Class::TaskStartPasses, "the start already meets `check`");
    }
    for (i, outcome) in solutions.iter().enumerate() {
        if let Some((false, said)) = outcome {
            let message = format!("solution {} is refused: {}", i + 1, said.join(" "));
            problems.add(fence.line, Class::TaskSolutionFails, message);
        }
    }
    for (i, (outcome, wrong)) in wrongs.iter().zip(&body.wrong).enumerate() {
        match outcome {
            Some((true, _)) => {
                let message = format!("wrong attempt {} is accepted", i + 1);
                problems.add(fence.line, Class::TaskWrongPasses, message);
            }
            Some((false, said))
                if !said.iter().any(|said| said.contains(&wrong.says)) && !wrong.says.is_empty() =>
            {
                let message = format!("wrong attempt {} is refused, but not with {:?}", i + 1, wrong.says);
                problems.add(fence.line, Class::TaskWrongPasses, message);
            }
            Some((false, _)) | None => {}
        }
    }
}

/// A simulation that names published figures comes as near to them as it says.
pub(super) fn published(fence: &Fence, input: &Input, facts: &Value, problems: &mut Problems) {
    let Input::Queue(input) = input else { return };
    let within = f64::from(input.within_percent) / 100.0;
    for published in &input.published {
        let mut all = facts["schedulers"].as_array().into_iter().flatten();
        let served = all.find(|served| served["name"] == published.scheduler.as_str());
        let message = match served.and_then(|served| served["off"].as_f64()) {
            Some(off) if off.abs() <= within => continue,
            Some(off) => format!(
                "{}: the 99th percentile is off the published {} ms by {:.0} %; at most {} % is claimed",
                published.scheduler,
                published.p99_ms,
                100.0 * off,
                input.within_percent
            ),
            None => format!("`published` names `{}`, which is not among `schedulers`", published.scheduler),
        };
        problems.add(fence.line, Class::PublishedMissed, message);
    }
}

pub(super) fn page(page: &str, problems: &mut Problems) {
    if page.len() > PAGE_MAX_BYTES {
        let message = format!("the page has {} bytes; at most {PAGE_MAX_BYTES}", page.len());
        problems.add(1, Class::PageTooLarge, message);
    }
}

impl Built {
    /// All problems as the checker prints them; empty when every lesson holds.
    pub fn report(&self) -> String {
        self.problems.iter().map(|problem| format!("{problem}\n")).collect()
    }
}
