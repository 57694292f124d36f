//! What the cluster knows: Kubernetes objects, as the API serves them.

pub mod manifest;
pub mod objects;
