//! kube-proxy: from Services and EndpointSlices to what the kernel is told.
//!
//! Owns the decisions of `pkg/proxy` of Kubernetes 1.34 to 1.36: which Service ports exist, which endpoints serve them,
//! what each mode writes, and why. Does not own the kernel: it emits the text the real one emits.

pub mod addresses;
mod claims;
pub mod config;
pub mod conntrack;
pub mod ebpf;
pub mod endpoints;
pub mod iptables;
pub mod ipvs;
pub mod metrics;
pub mod names;
pub mod nftables;
#[cfg(feature = "manifest")]
pub mod planes;
pub mod service_port;
pub mod sync;
pub mod topology;
pub mod tracker;

pub use config::{Config, IpvsConfig, KubernetesVersion, LocalDetector, Mode, NodePortAddresses};
pub use endpoints::{Endpoint, EndpointsMap};
pub use names::ServicePortName;
pub use service_port::{ServiceMap, ServicePort};
pub use sync::{Changes, Origin};
pub use tracker::Tracker;
