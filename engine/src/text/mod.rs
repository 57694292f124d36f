//! The tools' own text: lex, parse, print, with diagnostics that name line and column.

pub mod conntrack;
pub mod diag;
pub mod ebpf;
pub mod ip;
pub mod ipset;
pub mod ipvs;
pub mod nft;
pub mod xt;
