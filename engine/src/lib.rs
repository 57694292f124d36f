//! The emulator.

pub mod view;
