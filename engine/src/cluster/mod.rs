//! What the cluster knows: Kubernetes objects, as the API serves them.

pub mod configuration;
#[cfg(feature = "manifest")]
pub mod crowd;
#[cfg(feature = "manifest")]
pub mod manifest;
pub mod objects;
#[cfg(feature = "manifest")]
mod slices;
