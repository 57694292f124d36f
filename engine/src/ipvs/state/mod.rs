//! States of balanced connections: one table a protocol, without windows or sequence numbers.

mod sctp;
mod tcp;

pub use sctp::{SctpEvent, SctpState};
pub use tcp::{TcpEvent, TcpState};

/// Which of the three tables applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// From the client.
    Input,
    /// From the server.
    Output,
    /// From the client, where answers pass elsewhere (direct routing, tunnels).
    InputOnly,
}

/// State of an entry of the connection table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// A persistence template; assured once a connection under it was established.
    Template {
        assured: bool,
    },
    Tcp(TcpState),
    Udp,
    Sctp(SctpState),
}

impl State {
    /// As `ipvsadm -Lc` prints it (`ip_vs_state_name`).
    pub const fn name(self) -> &'static str {
        match self {
            Self::Template { assured: true } => "ASSURED",
            Self::Template { assured: false } => "NONE",
            Self::Tcp(state) => state.name(),
            Self::Udp => "UDP",
            Self::Sctp(state) => state.name(),
        }
    }
}
