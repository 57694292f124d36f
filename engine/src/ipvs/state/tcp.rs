//! TCP states of IPVS (`ip_vs_proto_tcp.c`).

use super::Side;
use crate::packet::TcpFlags;

/// In the kernel's order, which is that of the columns below. `LISTEN` and `SYNACK` appear only where an entry
/// came from elsewhere; `secure_tcp`, whose own table uses them, is not emulated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TcpState {
    #[default]
    None,
    Established,
    SynSent,
    SynRecv,
    FinWait,
    TimeWait,
    Close,
    CloseWait,
    LastAck,
    Listen,
    SynAck,
}

/// What of a segment counts: the first of these flags that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcpEvent {
    Syn,
    Fin,
    Ack,
    Rst,
}

impl TcpEvent {
    /// `tcp_state_idx`; none for a segment without any of them, which closes the connection.
    pub const fn of(flags: TcpFlags) -> Option<Self> {
        if flags.has(TcpFlags::RST) {
            Some(Self::Rst)
        } else if flags.has(TcpFlags::SYN) {
            Some(Self::Syn)
        } else if flags.has(TcpFlags::FIN) {
            Some(Self::Fin)
        } else if flags.has(TcpFlags::ACK) {
            Some(Self::Ack)
        } else {
            None
        }
    }
}

impl TcpState {
    pub const ALL: [Self; 11] = [
        Self::None,
        Self::Established,
        Self::SynSent,
        Self::SynRecv,
        Self::FinWait,
        Self::TimeWait,
        Self::Close,
        Self::CloseWait,
        Self::LastAck,
        Self::Listen,
        Self::SynAck,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "NONE",
            Self::Established => "ESTABLISHED",
            Self::SynSent => "SYN_SENT",
            Self::SynRecv => "SYN_RECV",
            Self::FinWait => "FIN_WAIT",
            Self::TimeWait => "TIME_WAIT",
            Self::Close => "CLOSE",
            Self::CloseWait => "CLOSE_WAIT",
            Self::LastAck => "LAST_ACK",
            Self::Listen => "LISTEN",
            Self::SynAck => "SYNACK",
        }
    }

    /// Whether a connection in this state counts as active: also one that only saw a SYN.
    pub const fn is_active(self) -> bool {
        matches!(self, Self::Established | Self::SynSent | Self::SynRecv | Self::SynAck)
    }

    /// The state after a segment.
    pub const fn after(self, side: Side, event: Option<TcpEvent>) -> Self {
        let Some(event) = event else { return Self::Close };
        let side = match side {
            Side::Input => 0,
            Side::Output => 1,
            Side::InputOnly => 2,
        };
        let event = match event {
            TcpEvent::Syn => 0,
            TcpEvent::Fin => 1,
            TcpEvent::Ack => 2,
            TcpEvent::Rst => 3,
        };
        NEXT[side][event][self as usize]
    }
}

use TcpState::{
    Close as CL, CloseWait as CW, Established as ES, FinWait as FW, LastAck as LA, Listen as LI,
    SynRecv as SR, SynSent as SS, TimeWait as TW,
};

/// By side, event and state; columns NONE, ES, SS, SR, FW, TW, CL, CW, LA, LI, SA.
#[rustfmt::skip]
const NEXT: [[[TcpState; 11]; 4]; 3] = [
    [
        [SR, ES, ES, SR, SR, SR, SR, SR, SR, SR, SR],
        [CL, CW, SS, TW, TW, TW, CL, CW, LA, LI, TW],
        [ES, ES, SS, ES, FW, TW, CL, CW, CL, LI, ES],
        [CL, CL, CL, SR, CL, CL, CL, CL, LA, LI, SR],
    ],
    [
        [SS, ES, SS, SR, SS, SS, SS, SS, SS, LI, SR],
        [TW, FW, SS, TW, FW, TW, CL, TW, LA, LI, TW],
        [ES, ES, SS, ES, FW, TW, CL, CW, LA, ES, ES],
        [CL, CL, SS, CL, CL, TW, CL, CL, CL, CL, CL],
    ],
    [
        [SR, ES, ES, SR, SR, SR, SR, SR, SR, SR, SR],
        [CL, FW, SS, TW, FW, TW, CL, CW, LA, LI, TW],
        [ES, ES, SS, ES, FW, TW, CL, CW, CL, LI, ES],
        [CL, CL, CL, SR, CL, CL, CL, CL, LA, LI, CL],
    ],
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_through_nat_is_established_by_the_second_packet_of_the_client() {
        let mut state = TcpState::None;
        for (side, event, next) in [
            (Side::Input, TcpEvent::Syn, SR),
            (Side::Output, TcpEvent::Syn, SR),
            (Side::Input, TcpEvent::Ack, ES),
            (Side::Output, TcpEvent::Fin, FW),
            (Side::Input, TcpEvent::Ack, FW),
            (Side::Input, TcpEvent::Fin, TW),
            (Side::Output, TcpEvent::Ack, TW),
            (Side::Input, TcpEvent::Syn, SR),
        ] {
            state = state.after(side, Some(event));
            assert_eq!(state, next);
        }
    }

    #[test]
    fn a_segment_without_flags_closes() {
        for state in TcpState::ALL {
            assert_eq!(state.after(Side::Input, TcpEvent::of(TcpFlags::default())), CL);
        }
    }

    #[test]
    fn columns_stand_in_the_order_of_the_states() {
        for (at, state) in TcpState::ALL.into_iter().enumerate() {
            assert_eq!(state as usize, at);
        }
    }
}
