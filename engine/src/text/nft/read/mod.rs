//! Reading: commands and blocks first (`command`), then, in the context of their table, rules (`rule`, `expr`) and
//! elements (`elements`). `lower` brings a rule into the form in which it is listed.

pub(super) mod command;
mod compare;
pub(super) mod cursor;
pub(super) mod elements;
pub(super) mod expr;
pub(super) mod limits;
pub(super) mod lower;
mod nat;
pub(super) mod op;
pub(super) mod rule;
mod sets;
mod statement;
