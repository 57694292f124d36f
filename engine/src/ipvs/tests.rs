//! IPVS through its own calls: a service, packets in a line each, virtual time.

mod conns;
mod laws;
mod persist;
