//! Plain serialisable read models: what the page, the command line and the tests show.
//!
//! Owns: the shapes (`trace`, `chain`, `packet`, `ruleset`, `node`, `problem`) and the functions that make
//! them from engine types. Does NOT own behaviour: nothing here decides what happens to a packet, and
//! nothing here knows a screen. Anything shown in two places comes from one function in this module.
//!
//! All types are plain data: strings are ready to read, numbers are exact, and order is the order to show.

pub mod chain;
pub mod node;
pub mod packet;
#[cfg(feature = "manifest")]
pub mod planes;
pub mod problem;
pub mod ruleset;
pub mod story;
pub mod trace;

pub use chain::{CheckView, RuleFate, RuleRef, RuleRow, RuleWindow};
pub use node::{AddressView, AssumptionKind, AssumptionView, DeviceView, NodeView, RouteView};
pub use packet::{ChangeView, EntryChangeView, EntryView, Field, PacketView};
pub use problem::{ProblemView, Severity, problem_view, problem_views};
pub use ruleset::{ChainView, NotEmulatedView, RulesetView, TableView, ruleset_view};
pub use trace::{
    CandidateView, EmittedView, Outcome, Place, PossibilityView, StationView, StepKind, StepView, StopState,
    StopView, TraceView, UncertainView, VerdictView, VisitView,
};
