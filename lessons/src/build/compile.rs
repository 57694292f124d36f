//! One lesson folder to one compiled lesson: runs its scenarios, resolves its references, and leaves a
//! problem for everything that does not hold.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::blocks::{self, attribute};
use super::check;
use super::html::{passage, phrase};
use super::numbers::Allowed;
use super::page;
use super::problem::{Class, Problem, Problems};
use super::reference::resolve;
use super::scenario::{self, Scenarios};
use super::source::{self, Document, Fence, Folder, Piece};
use super::tables;
use super::transcript;
use crate::expr::Facts;
use crate::model::{
    self, Block, Choice, Entry, Figure, Interview, Lesson, Picture, Predict, Probe, Quiz, Task,
};

/// Everything a build produced. `lessons` holds those without problems only.
#[derive(Debug, Default)]
pub struct Built {
    pub lessons: Vec<Lesson>,
    /// Static page of each lesson, in the same order.
    pub pages: Vec<String>,
    pub problems: Vec<Problem>,
    /// Lesson files whose transcripts the engine would write differently, with the new text.
    pub stale: Vec<(PathBuf, String)>,
}

/// Reads, runs and checks every lesson below `content`.
///
/// # Errors
/// A folder or file that cannot be read. What is wrong with a lesson is in [`Built::problems`].
pub fn build(content: &Path) -> io::Result<Built> {
    let mut built = Built::default();
    let mut ids: Vec<String> = Vec::new();
    for folder in source::folders(content)? {
        let mut problems = Problems { file: folder.file.clone(), list: Vec::new() };
        if let Some(document) = source::cut(&folder.text, &mut problems) {
            check::front(&document.front, &folder, &ids, &mut problems);
            ids.push(document.front.id.clone());
            let (lesson, facts, stale) = lesson(&folder, &document, &mut problems);
            if let Some(text) = stale {
                built.stale.push((folder.dir.join("lesson.md"), text));
            }
            let page = page::lesson(&lesson, &facts);
            check::page(&page, &mut problems);
            if problems.list.is_empty() {
                built.lessons.push(lesson);
                built.pages.push(page);
            }
        }
        problems.list.sort_by_key(|problem| problem.line);
        built.problems.append(&mut problems.list);
    }
    Ok(built)
}

/// What the blocks of one lesson are compiled against.
struct Cx<'a> {
    scenarios: &'a Scenarios,
    allowed: &'a Allowed,
}

impl Cx<'_> {
    /// Prose of several paragraphs, checked and resolved, as HTML.
    fn passage(&self, text: &str, line: usize, problems: &mut Problems) -> String {
        self.allowed.check(text, line, problems);
        passage(&resolve(text, line, &self.scenarios.facts, problems))
    }

    /// A sentence or two of a block's body, checked and resolved, as HTML.
    fn phrase(&self, text: &str, line: usize, problems: &mut Problems) -> String {
        self.allowed.check(text, line, problems);
        phrase(&resolve(text, line, &self.scenarios.facts, problems))
    }

    /// The attribute `run`, if a scenario has that id.
    fn run(&self, fence: &Fence, problems: &mut Problems) -> Option<String> {
        let run = attribute(fence, "run", problems)?;
        if !self.scenarios.has(&run) {
            problems.add(fence.line, Class::UnknownReference, format!("no scenario has the id `{run}`"));
            return None;
        }
        Some(run)
    }
}

/// Compiles `document`, and returns its text with the engine's transcripts where they differ.
fn lesson(folder: &Folder, document: &Document, problems: &mut Problems) -> (Lesson, Facts, Option<String>) {
    let front = &document.front;
    let fences: Vec<&Fence> = document
        .pieces
        .iter()
        .filter_map(|piece| match piece {
            Piece::Fence(fence) => Some(fence),
            Piece::Prose { .. } => None,
        })
        .collect();
    let transcripts = transcript::read(&fences, problems);
    let scenarios = scenario::run_all(&folder.dir, &fences, &transcripts, problems);
    let stale = transcript::compare(&folder.text, &transcripts, &scenarios, problems);

    let mut allowed = Allowed::default();
    scenarios.inputs.iter().for_each(|text| allowed.add_text(text));
    front.given.keys().for_each(|number| allowed.add_text(number));

    let cx = Cx { scenarios: &scenarios, allowed: &allowed };
    let mut blocks = Vec::new();
    for piece in &document.pieces {
        match piece {
            Piece::Prose { line, text } => {
                blocks.push(Block::Prose { html: cx.passage(text, *line, problems) })
            }
            Piece::Fence(fence) => blocks.extend(block(&cx, fence, &transcripts, problems)),
        }
    }
    check::shape(document, &blocks, &scenarios, problems);
    let entry = Entry {
        id: front.id.clone(),
        part: folder.part.clone(),
        title: front.title.clone(),
        summary: front.summary.clone(),
        minutes: front.minutes,
        requires: front.requires.clone(),
    };
    let lesson = Lesson {
        format: model::FORMAT,
        entry,
        sources: front.sources.clone(),
        runs: scenarios.runs.clone(),
        blocks,
    };
    (lesson, scenarios.facts, stale)
}

fn block(
    cx: &Cx<'_>,
    fence: &Fence,
    transcripts: &[transcript::Transcript],
    problems: &mut Problems,
) -> Option<Block> {
    match fence.kind.as_str() {
        "console" => transcripts
            .iter()
            .find(|transcript| transcript.line == fence.line)
            .map(|transcript| Block::Console(transcript.console.clone())),
        "predict" => predict(cx, fence, problems).map(Block::Predict),
        "figure" => figure(cx, fence, problems).map(Block::Figure),
        "quiz" => quiz(cx, fence, problems).map(Block::Quiz),
        "task" => task(cx, fence, problems).map(Block::Task),
        "interview" => interview(cx, fence, problems).map(Block::Interview),
        // A scenario is data; it shows through figures and transcripts.
        _ => None,
    }
}

fn predict(cx: &Cx<'_>, fence: &Fence, problems: &mut Problems) -> Option<Predict> {
    let (id, run) = (attribute(fence, "id", problems)?, cx.run(fence, problems)?);
    let body: blocks::QuestionBody = blocks::body(fence, problems)?;
    let options = choices(cx, fence, &body.option, problems);
    let right = check::one_answer(fence, &options, &cx.scenarios.facts, problems);
    check::expected(fence, &body, right, problems);
    Some(Predict { id, run, ask: cx.phrase(&body.ask, fence.line, problems), options })
}

fn quiz(cx: &Cx<'_>, fence: &Fence, problems: &mut Problems) -> Option<Quiz> {
    let id = attribute(fence, "id", problems)?;
    let body: blocks::QuestionBody = blocks::body(fence, problems)?;
    let options = choices(cx, fence, &body.option, problems);
    check::one_answer(fence, &options, &cx.scenarios.facts, problems);
    Some(Quiz { id, ask: cx.phrase(&body.ask, fence.line, problems), options })
}

fn choices(
    cx: &Cx<'_>,
    fence: &Fence,
    options: &[blocks::OptionBody],
    problems: &mut Problems,
) -> Vec<Choice> {
    options
        .iter()
        .map(|option| Choice {
            // A hypothesis, not a claim: its numbers are free.
            say: phrase(&resolve(&option.say, fence.line, &cx.scenarios.facts, problems)),
            holds: match (&option.holds, option.right) {
                (Some(holds), _) => holds.clone(),
                (None, right) => right.unwrap_or(false).to_string(),
            },
            because: cx.phrase(&option.because, fence.line, problems),
        })
        .collect()
}

fn figure(cx: &Cx<'_>, fence: &Fence, problems: &mut Problems) -> Option<Figure> {
    let (run, show) = (cx.run(fence, problems)?, attribute(fence, "show", problems)?);
    let Some((_, picture)) = Picture::ALL.into_iter().find(|(name, _)| *name == show) else {
        let known = Picture::ALL.map(|(name, _)| name).join(", ");
        let message = format!("no figure `{show}` (there are: {known})");
        problems.add(fence.line, Class::BlockSyntax, message);
        return None;
    };
    let packet = fence.attributes.get("packet").map_or(Ok(0), |text| text.parse::<u32>());
    let Ok(packet) = packet else {
        problems.add(fence.line, Class::BlockSyntax, "`packet` is the number of a packet, from 0");
        return None;
    };
    let body: blocks::FigureBody = blocks::body(fence, problems)?;
    let table = tables::table(picture, cx.scenarios, &run, packet).unwrap_or_else(|message| {
        problems.add(fence.line, Class::UnknownReference, message);
        model::Table::default()
    });
    Some(Figure {
        show: picture,
        run,
        packet,
        caption: cx.phrase(&body.caption, fence.line, problems),
        table,
    })
}

fn task(cx: &Cx<'_>, fence: &Fence, problems: &mut Problems) -> Option<Task> {
    let (id, run) = (attribute(fence, "id", problems)?, cx.run(fence, problems)?);
    let body: blocks::TaskBody = blocks::body(fence, problems)?;
    check::task(fence, &run, &body, cx.scenarios, problems);
    let phrases = |texts: &[String], problems: &mut Problems| -> Vec<String> {
        texts.iter().map(|text| cx.phrase(text, fence.line, problems)).collect()
    };
    Some(Task {
        id,
        run,
        ask: cx.phrase(&body.ask, fence.line, problems),
        hints: phrases(&body.hint, problems),
        done: cx.phrase(&body.done, fence.line, problems),
        never: body
            .never
            .iter()
            .map(|never| model::Never {
                holds: never.holds.clone(),
                say: cx.phrase(&never.say, fence.line, problems),
            })
            .collect(),
        check: body.check,
        solutions: body.solution,
    })
}

fn interview(cx: &Cx<'_>, fence: &Fence, problems: &mut Problems) -> Option<Interview> {
    let body: blocks::InterviewBody = blocks::body(fence, problems)?;
    let mut say = Vec::new();
    for text in &body.say {
        say.push(cx.phrase(text, fence.line, problems));
    }
    let pair = |ask: &str, answer: &str, problems: &mut Problems| Probe {
        ask: cx.phrase(ask, fence.line, problems),
        answer: cx.phrase(answer, fence.line, problems),
    };
    Some(Interview {
        say,
        probes: body.probe.iter().map(|probe| pair(&probe.ask, &probe.answer, problems)).collect(),
        avoid: body.avoid.iter().map(|avoid| pair(&avoid.said, &avoid.but, problems)).collect(),
        prompt: cx.phrase(&body.prompt, fence.line, problems),
    })
}

/// A file of the lesson's folder, by plain name.
pub(super) fn beside(dir: &Path, name: &str) -> Result<String, String> {
    let plain = !name.is_empty() && !name.contains(['/', '\\']) && !name.starts_with('.');
    if !plain {
        return Err(format!("`{name}`: a file of the lesson's own folder, by its plain name"));
    }
    fs::read_to_string(dir.join(name)).map_err(|error| format!("`{name}`: {error}"))
}

/// Commands to run for each run and cut.
pub(super) type Shows = BTreeMap<(String, Option<u32>), Vec<String>>;
