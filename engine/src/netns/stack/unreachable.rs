//! What an ICMP error does to the node's own sockets: it may end a handshake (`tcp_v4_err`, `tcp_v6_err`,
//! `tcp_req_err`). A connection lives through every one, and UDP sockets keep no state.

use super::{Ends, Icmp, Netns};
use crate::packet::{Family, L4, Packet};

impl Netns {
    /// Forgets the half-open connection whose SYN-ACK the error quotes; false when there is none.
    ///
    /// It is found by the quoted addresses and ports, and the quoted sequence number must be the one that was
    /// sent. The next SYN then begins anew, with a number of its own.
    pub(super) fn ends_handshake(&mut self, family: Family, error: &Icmp) -> bool {
        if !is_fatal(family, error.kind, error.code) {
            return false;
        }
        let Some(Packet { ip, l4: L4::Tcp(quoted) }) = Packet::parse_quoted(&error.payload) else {
            return false;
        };
        let ends = Ends { local: (ip.src, quoted.sport), remote: (ip.dst, quoted.dport) };
        let half_open = self
            .sockets
            .tcp
            .get(&ends)
            .is_some_and(|socket| !socket.established && socket.snd_nxt.wrapping_sub(1) == quoted.seq);
        half_open && self.sockets.tcp.remove(&ends).is_some()
    }
}

/// Errors after which a handshake is given up: for IPv4 network and host unreachable, TTL exceeded and parameter
/// problem; for IPv6 those of `icmpv6_err_convert`: not "no route", "beyond scope", "address unreachable".
const fn is_fatal(family: Family, kind: u8, code: u8) -> bool {
    match (family, kind, code) {
        (Family::V4, 3, 0 | 1) | (Family::V4, 11, 0) | (Family::V4, 12, _) => true,
        (Family::V6, 1, 0 | 2 | 3) => false,
        (Family::V6, 1 | 4, _) => true,
        _ => false,
    }
}
