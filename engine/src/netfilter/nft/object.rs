//! Named objects of a table.

use std::sync::Arc;

use super::state::Slot;
use super::stmt::{Limit, Quota};

/// Kinds, in the order of `NFT_OBJECT_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectKind {
    Counter,
    Quota,
    CtHelper,
    Limit,
    CtTimeout,
    Secmark,
    CtExpectation,
    Synproxy,
}

impl ObjectKind {
    pub const ALL: [Self; 8] = [
        Self::Counter,
        Self::Quota,
        Self::CtHelper,
        Self::Limit,
        Self::CtTimeout,
        Self::Secmark,
        Self::CtExpectation,
        Self::Synproxy,
    ];

    /// As declarations begin.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Quota => "quota",
            Self::CtHelper => "ct helper",
            Self::Limit => "limit",
            Self::CtTimeout => "ct timeout",
            Self::Secmark => "secmark",
            Self::CtExpectation => "ct expectation",
            Self::Synproxy => "synproxy",
        }
    }
}

/// A named object. What counters and quotas have counted is in the slot.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    pub name: Arc<str>,
    pub handle: u64,
    pub body: ObjectBody,
    pub comment: Option<Box<str>>,
    pub slot: Slot,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ObjectBody {
    Counter,
    Quota(Quota),
    Limit(Limit),
    /// `type "ftp" protocol tcp`; not emulated, as helpers are.
    CtHelper {
        helper: Box<str>,
        protocol: u8,
        family: &'static str,
    },
    /// Kept as printed, not emulated: the lines between its braces.
    Foreign {
        kind: ObjectKind,
        lines: Vec<Box<str>>,
    },
}

impl Object {
    pub const fn kind(&self) -> ObjectKind {
        match &self.body {
            ObjectBody::Counter => ObjectKind::Counter,
            ObjectBody::Quota(_) => ObjectKind::Quota,
            ObjectBody::Limit(_) => ObjectKind::Limit,
            ObjectBody::CtHelper { .. } => ObjectKind::CtHelper,
            ObjectBody::Foreign { kind, .. } => *kind,
        }
    }
}
