//! What every extension uses.

pub(super) use std::fmt::Write as _;

pub(super) use super::args::*;
pub(super) use super::ctstate::connection;
pub(super) use super::ext::*;
pub(super) use crate::base::Hook;
pub(super) use crate::netfilter::{Cx, RuleState, Shared};
pub(super) use crate::packet::{Family, L4, Packet, Skb, proto};
pub(super) use crate::trace::Why;
