mod conns;
mod laws;
mod persist;
