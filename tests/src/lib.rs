//! Checks of the emulator against the outside world: benchmarks, the real kernel, recorded answers, peers.
//!
//! A case (`case`) runs on two arms, the kernel (`kernel`) and the engine; `compare` lists every difference.
//! The kernel is right.

pub mod bench;
pub mod case;
pub mod compare;
pub mod coverage;
pub mod emulator;
pub mod families;
pub mod fidelity;
pub mod frame;
pub mod fuzz;
pub mod generate;
pub mod judge;
pub mod kernel;
pub mod minimise;
pub mod random;
pub mod replay;
pub mod script;
