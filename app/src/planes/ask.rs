//! What the planes page and the engine say to each other: a part of the protocol.

use chainwalk_engine::view::ProblemView;
use chainwalk_engine::view::planes::{HeldWindow, LockstepView, PlanesView, RowQuery};
use serde::{Deserialize, Serialize};

/// Everything the page needs to show the same thing elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PlanesState {
    /// Manifests, as typed.
    pub text: String,
    /// Generated Services beside them.
    pub crowd: u32,
    /// The node looked at; empty for the first.
    pub node: String,
    /// The tab.
    pub plane: u32,
    /// The packet line.
    pub packet: String,
    /// Which connection of many: it chooses the random draws.
    pub connection: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Ask {
    /// The sample with this number.
    Sample(u32),
    /// Sync with these manifests on this node.
    Update {
        text: String,
        crowd: u32,
        node: String,
    },
    /// Change the manifests by form.
    Edit {
        text: String,
        edit: Edit,
    },
    /// A window of what a plane holds.
    Rows(RowQuery),
    /// Send a packet through every plane.
    Run {
        packet: String,
        connection: u32,
    },
    /// The part of a link after `#/planes/`.
    MakeLink(PlanesState),
    ReadLink(String),
}

/// A change that the form makes. Services are named `namespace/name`, endpoints by their address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Edit {
    /// A field of `spec`.
    Set {
        service: String,
        field: String,
        value: String,
    },
    AddEndpoint {
        service: String,
        node: String,
    },
    RemoveEndpoint {
        service: String,
        address: String,
    },
    Ready {
        service: String,
        address: String,
        ready: bool,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Told {
    /// A sample, or a link and what could not be read of it.
    Opened(PlanesState, Vec<ProblemView>),
    /// Nothing of the link could be read.
    WrongLink(Vec<ProblemView>),
    Updated(Box<PlanesView>),
    /// The manifests after an edit by form, or why there was none.
    Edited(Result<String, String>),
    /// The manifests could not be read; what was synced before stays.
    Wrong(Vec<ProblemView>),
    Rows(HeldWindow),
    Ran(Box<LockstepView>),
    /// The packet line could not be read.
    WrongPacket(Vec<ProblemView>),
    Link(String),
}
