//! Chainwalk's engine: a deterministic emulator of what a Linux node does to a packet.
//!
//! Layers, lowest first. A module uses lower layers only; the tidy test enforces it.
//!
//! | layer | owns |
//! |---|---|
//! | [`base`] | virtual time, seeded randomness, hooks, kernel versions, limits |
//! | [`packet`] | headers, bytes both ways, the [`packet::Skb`] that travels through the node |
//! | [`trace`] | what happened, as data |
//! | [`conntrack`] | connection tracking and NAT mappings (`nf_conntrack`, `nf_nat`) |
//! | [`netfilter`] | hook table, rules, the one evaluator, the registry of matches and targets |
//! | [`ipvs`] | virtual services, schedulers, balanced connections (`ip_vs`) |
//! | [`netns`] | one network namespace and the packet path through it |
//! | [`text`] | the tools' own formats: parse, print, diagnostics |
//! | [`cluster`] | Kubernetes objects |
//! | [`proxy`] | kube-proxy: from objects to the text each mode programs |
//! | [`replay`] | the replay contract: a node, its packets, what came out |
//! | [`view`] | read models for the app, the lessons and the command line |
//!
//! The engine reads no clock, no files and no operating-system randomness: time, bytes and a seed enter
//! as arguments, so a run is a pure function of them.

pub mod base;
pub mod cluster;
pub mod conntrack;
pub mod ebpf;
pub mod ipvs;
pub mod netfilter;
pub mod netns;
pub mod packet;
pub mod proxy;
pub mod replay;
pub mod text;
pub mod trace;
pub mod view;
