//! Lesson pages.
//!
//! Owns: how a compiled lesson (`chainwalk_lessons::model`) is read, answered and tried in the page, and the worker's
//! side of it (`host`). Does NOT own what a scenario does or which answer is right: both come from the engine.
//!
//! Reading order: `ask` (what the page asks the engine), `host` (its answers), `fetch`, `progress`, `state`, `page`,
//! then one file a block.

pub mod ask;
pub mod host;

mod fetch;
mod progress;
mod state;

mod blocks;
mod console;
mod cx;
mod figure;
mod interview;
mod list;
mod page;
mod question;
mod sheet;
mod stage;
mod task;
mod waiting;

pub use list::LessonList;
pub use page::LessonPage;
