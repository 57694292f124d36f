//! The output of `ip addr` and `ip route`.
