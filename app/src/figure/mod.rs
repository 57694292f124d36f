//! Figures drawn as SVG, each with an equal table beside it.

pub mod river;
