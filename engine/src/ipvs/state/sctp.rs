//! SCTP states of IPVS (`ip_vs_proto_sctp.c`): those of the server, as its packets show them.

use super::Side;

/// In the kernel's order, which is that of the columns below.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SctpState {
    #[default]
    None,
    Init1,
    Init,
    CookieSent,
    CookieReplied,
    CookieWait,
    Cookie,
    CookieEchoed,
    Established,
    ShutdownSent,
    ShutdownReceived,
    ShutdownAckSent,
    Rejected,
    Closed,
}

/// What the first chunk of a packet says; an ABORT behind a cookie counts in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SctpEvent {
    Data,
    Init,
    InitAck,
    CookieEcho,
    CookieAck,
    Shutdown,
    ShutdownAck,
    ShutdownComplete,
    Error,
    Abort,
}

/// Chunk types (RFC 9260 3.2).
const CHUNK_ABORT: u8 = 6;
const CHUNK_COOKIE_ECHO: u8 = 10;
const CHUNK_COOKIE_ACK: u8 = 11;

impl SctpEvent {
    /// Reads the chunks behind the common header; none when there is no whole chunk header.
    pub fn of(chunks: &[u8]) -> Option<Self> {
        let header = |at: usize| -> Option<(u8, usize)> {
            let bytes = chunks.get(at..at + 4)?;
            Some((bytes[0], usize::from(u16::from_be_bytes([bytes[2], bytes[3]]))))
        };
        let (mut kind, len) = header(0)?;
        if matches!(kind, CHUNK_COOKIE_ECHO | CHUNK_COOKIE_ACK)
            && len >= 4
            && let Some((CHUNK_ABORT, _)) = header(len.next_multiple_of(4))
        {
            kind = CHUNK_ABORT;
        }
        Some(match kind {
            1 => Self::Init,
            2 => Self::InitAck,
            CHUNK_ABORT => Self::Abort,
            7 => Self::Shutdown,
            8 => Self::ShutdownAck,
            9 => Self::Error,
            CHUNK_COOKIE_ECHO => Self::CookieEcho,
            CHUNK_COOKIE_ACK => Self::CookieAck,
            14 => Self::ShutdownComplete,
            _ => Self::Data,
        })
    }
}

impl SctpState {
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "NONE",
            Self::Init1 => "INIT1",
            Self::Init => "INIT",
            Self::CookieSent => "C-SENT",
            Self::CookieReplied => "C-REPLIED",
            Self::CookieWait => "C-WAIT",
            Self::Cookie => "COOKIE",
            Self::CookieEchoed => "C-ECHOED",
            Self::Established => "ESTABLISHED",
            Self::ShutdownSent => "S-SENT",
            Self::ShutdownReceived => "S-RECEIVED",
            Self::ShutdownAckSent => "S-ACK-SENT",
            Self::Rejected => "REJECTED",
            Self::Closed => "CLOSED",
        }
    }

    /// Whether an association in this state counts as active.
    pub const fn is_active(self) -> bool {
        matches!(self, Self::Established)
    }

    /// The state after a packet.
    pub const fn after(self, side: Side, event: SctpEvent) -> Self {
        let side = match side {
            Side::Input => 0,
            Side::Output => 1,
            Side::InputOnly => 2,
        };
        NEXT[side][event as usize][self as usize]
    }
}

use SctpState::{
    Closed as CL, Cookie as CO, CookieEchoed as CE, CookieReplied as CR, CookieSent as CS, CookieWait as CW,
    Established as ES, Init as IN, Init1 as I1, Rejected as RJ, ShutdownAckSent as SA,
    ShutdownReceived as SR, ShutdownSent as SS,
};

/// By side, event and state.
#[rustfmt::skip]
const NEXT: [[[SctpState; 14]; 10]; 3] = [
    [
        [ES, I1, IN, CS, CR, CW, CO, CE, ES, SS, SR, SA, RJ, CL],
        [I1, IN, IN, CS, CR, CW, CO, CE, ES, SS, SR, SA, IN, IN],
        [CW, CW, CW, CS, CR, CO, CO, CE, ES, SS, SR, SA, RJ, CL],
        [CR, IN, IN, CR, CR, CW, CO, CE, ES, SS, SR, SA, RJ, CL],
        [ES, I1, IN, CS, CR, CW, CO, ES, ES, SS, SR, SA, RJ, CL],
        [SR, I1, IN, CS, CR, CW, CO, CE, SR, SS, SR, SA, RJ, CL],
        [CL, IN, IN, CS, CR, CW, CO, CE, ES, CL, SR, CL, RJ, CL],
        [CL, CL, CL, CS, CR, CW, CO, CE, ES, SS, SR, CL, RJ, CL],
        [CL, I1, IN, CS, CR, CW, CO, CL, ES, SS, SR, SA, RJ, CL],
        [CL, CL, CL, CL, CL, RJ, CL, CL, CL, CL, CL, CL, CL, CL],
    ],
    [
        [ES, I1, IN, CS, CR, CW, CO, CE, ES, SS, SR, SA, RJ, CL],
        [CW, CW, CW, CW, CW, CW, CW, CW, ES, CW, CW, CW, CW, CW],
        [CS, CS, CS, CS, CR, CW, CO, CE, ES, SS, SR, SA, RJ, CL],
        [CE, CE, CE, CE, CE, CE, CE, CE, ES, SS, SR, SA, RJ, CL],
        [ES, ES, ES, ES, ES, ES, ES, ES, ES, SS, SR, SA, RJ, CL],
        [SS, SS, SS, SS, SS, SS, SS, SS, SS, SS, SR, SA, RJ, CL],
        [SA, SA, SA, SA, SA, CW, CO, CE, ES, SA, SA, SA, RJ, CL],
        [CL, I1, IN, CS, CR, CW, CO, CE, ES, SS, SR, SA, RJ, CL],
        [CL, CL, CL, CL, CL, CW, CO, CE, ES, SS, SR, SA, RJ, CL],
        [CL, RJ, CL, CL, CL, CL, CL, CL, CL, CL, CL, CL, CL, CL],
    ],
    [
        [ES, I1, IN, CS, CR, ES, CO, CE, ES, SS, SR, SA, RJ, CL],
        [I1, IN, IN, IN, IN, IN, CO, CE, ES, SS, SR, SA, IN, IN],
        [CE, CE, CE, CE, CE, CE, CO, CE, ES, SS, SR, SA, RJ, CL],
        [ES, ES, ES, ES, ES, ES, CO, CE, ES, SS, SR, SA, RJ, CL],
        [ES, I1, IN, ES, ES, CW, ES, ES, ES, SS, SR, SA, RJ, CL],
        [SR, I1, IN, CS, CR, CW, CO, CE, SR, SS, SR, SA, RJ, CL],
        [CL, IN, IN, CS, CR, CW, CO, CE, CL, CL, SR, CL, RJ, CL],
        [CL, CL, CL, CL, CL, CW, CO, CE, ES, SS, CL, CL, RJ, CL],
        [CL, I1, IN, CS, CR, CW, CO, CE, ES, SS, SR, SA, RJ, CL],
        [CL, CL, CL, CL, CL, RJ, CL, CL, CL, CL, CL, CL, CL, CL],
    ],
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_association_is_set_up_by_four_packets() {
        let mut state = SctpState::None;
        for (side, event, next) in [
            (Side::Input, SctpEvent::Init, I1),
            (Side::Output, SctpEvent::InitAck, CS),
            (Side::Input, SctpEvent::CookieEcho, CR),
            (Side::Output, SctpEvent::CookieAck, ES),
            (Side::Input, SctpEvent::Shutdown, SR),
            (Side::Output, SctpEvent::ShutdownAck, SA),
            (Side::Input, SctpEvent::ShutdownComplete, CL),
        ] {
            state = state.after(side, event);
            assert_eq!(state, next);
        }
    }

    #[test]
    fn an_abort_behind_a_cookie_counts() {
        let echo = [10, 0, 0, 6, 1, 2, 0, 0, 6, 0, 0, 4];
        assert_eq!(SctpEvent::of(&echo), Some(SctpEvent::Abort));
        assert_eq!(SctpEvent::of(&echo[..8]), Some(SctpEvent::CookieEcho));
        assert_eq!(SctpEvent::of(&echo[..3]), None);
        assert_eq!(SctpEvent::of(&[3, 0, 0, 16]), Some(SctpEvent::Data));
    }
}
