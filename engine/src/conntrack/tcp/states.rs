//! The TCP state table as data (`tcp_conntracks[2][6][10]` of `nf_conntrack_proto_tcp.c`).

use crate::conntrack::{Direction, Knob};
use crate::packet::TcpFlags;

/// State of a tracked TCP connection (`enum tcp_conntrack`), seen from the middle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    #[default]
    None,
    SynSent,
    SynRecv,
    Established,
    FinWait,
    CloseWait,
    LastAck,
    TimeWait,
    Close,
    /// SYNs from both sides: simultaneous open.
    SynSent2,
}

impl State {
    pub const ALL: [Self; 10] = [
        Self::None,
        Self::SynSent,
        Self::SynRecv,
        Self::Established,
        Self::FinWait,
        Self::CloseWait,
        Self::LastAck,
        Self::TimeWait,
        Self::Close,
        Self::SynSent2,
    ];

    /// As `conntrack -L` prints it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "NONE",
            Self::SynSent => "SYN_SENT",
            Self::SynRecv => "SYN_RECV",
            Self::Established => "ESTABLISHED",
            Self::FinWait => "FIN_WAIT",
            Self::CloseWait => "CLOSE_WAIT",
            Self::LastAck => "LAST_ACK",
            Self::TimeWait => "TIME_WAIT",
            Self::Close => "CLOSE",
            Self::SynSent2 => "SYN_SENT2",
        }
    }

    /// Sysctl of its timeout; SYN_SENT2 shares that of SYN_SENT.
    pub const fn knob(self) -> Knob {
        match self {
            Self::None | Self::SynSent | Self::SynSent2 => Knob::TcpSynSent,
            Self::SynRecv => Knob::TcpSynRecv,
            Self::Established => Knob::TcpEstablished,
            Self::FinWait => Knob::TcpFinWait,
            Self::CloseWait => Knob::TcpCloseWait,
            Self::LastAck => Knob::TcpLastAck,
            Self::TimeWait => Knob::TcpTimeWait,
            Self::Close => Knob::TcpClose,
        }
    }

    /// Whether the connection is closing or closed: a RST needs no sequence check, and a full table may
    /// evict it even if ASSURED (`tcp_can_early_drop`).
    pub const fn is_closing(self) -> bool {
        matches!(self, Self::FinWait | Self::CloseWait | Self::LastAck | Self::TimeWait | Self::Close)
    }
}

/// Kind of a segment, by the first of its flags that counts (`enum tcp_bit_set`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Syn,
    SynAck,
    Fin,
    Ack,
    Rst,
    #[default]
    None,
}

impl Kind {
    pub const ALL: [Self; 6] = [Self::Syn, Self::SynAck, Self::Fin, Self::Ack, Self::Rst, Self::None];

    /// `get_conntrack_index`.
    pub const fn of(flags: TcpFlags) -> Self {
        if flags.has(TcpFlags::RST) {
            Self::Rst
        } else if flags.has(TcpFlags::SYN) {
            if flags.has(TcpFlags::ACK) { Self::SynAck } else { Self::Syn }
        } else if flags.has(TcpFlags::FIN) {
            Self::Fin
        } else if flags.has(TcpFlags::ACK) {
            Self::Ack
        } else {
            Self::None
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Syn => "SYN",
            Self::SynAck => "SYN+ACK",
            Self::Fin => "FIN",
            Self::Ack => "ACK",
            Self::Rst => "RST",
            Self::None => "no flag",
        }
    }
}

/// Whether TCP itself could send these flags, PSH, ECE and CWR aside (`tcp_valid_flags`).
pub const fn flags_valid(flags: TcpFlags) -> bool {
    const SYN: u8 = TcpFlags::SYN.0;
    const ACK: u8 = TcpFlags::ACK.0;
    const FIN: u8 = TcpFlags::FIN.0;
    const RST: u8 = TcpFlags::RST.0;
    const URG: u8 = TcpFlags::URG.0;
    const SYN_URG: u8 = SYN | URG;
    const SYN_ACK: u8 = SYN | ACK;
    const RST_ACK: u8 = RST | ACK;
    const FIN_ACK: u8 = FIN | ACK;
    const FIN_ACK_URG: u8 = FIN | ACK | URG;
    const ACK_URG: u8 = ACK | URG;
    let without = flags.0 & !(TcpFlags::PSH.0 | TcpFlags::ECE.0 | TcpFlags::CWR.0);
    matches!(without, SYN | SYN_URG | SYN_ACK | RST | RST_ACK | FIN_ACK | FIN_ACK_URG | ACK | ACK_URG)
}

/// What the table says of a segment in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    To(State),
    /// Let it pass, believe nothing of it: our view may be out of step.
    Ignore,
    Invalid,
}

const SS: Step = Step::To(State::SynSent);
const SR: Step = Step::To(State::SynRecv);
const ES: Step = Step::To(State::Established);
const FW: Step = Step::To(State::FinWait);
const CW: Step = Step::To(State::CloseWait);
const LA: Step = Step::To(State::LastAck);
const TW: Step = Step::To(State::TimeWait);
const CL: Step = Step::To(State::Close);
const S2: Step = Step::To(State::SynSent2);
const IG: Step = Step::Ignore;
const IV: Step = Step::Invalid;

/// Rows in the order of [`Kind::ALL`], columns in that of [`State::ALL`].
#[rustfmt::skip]
const ORIGINAL: [[Step; 10]; 6] = [
    //   NO  SS  SR  ES  FW  CW  LA  TW  CL  S2
    /*SYN*/    [SS, SS, IG, IG, IG, IG, IG, SS, SS, S2],
    /*SYNACK*/ [IV, IV, SR, IV, IV, IV, IV, IV, IV, SR],
    /*FIN*/    [IV, IV, FW, FW, LA, LA, LA, TW, CL, IV],
    /*ACK*/    [ES, IV, ES, ES, CW, CW, TW, TW, CL, IV],
    /*RST*/    [IV, CL, CL, CL, CL, CL, CL, CL, CL, CL],
    /*none*/   [IV, IV, IV, IV, IV, IV, IV, IV, IV, IV],
];

#[rustfmt::skip]
const REPLY: [[Step; 10]; 6] = [
    //   NO  SS  SR  ES  FW  CW  LA  TW  CL  S2
    /*SYN*/    [IV, S2, IV, IV, IV, IV, IV, SS, IV, S2],
    /*SYNACK*/ [IV, SR, IG, IG, IG, IG, IG, IG, IG, SR],
    /*FIN*/    [IV, IV, FW, FW, LA, LA, LA, TW, CL, IV],
    /*ACK*/    [IV, IG, SR, ES, CW, CW, TW, TW, CL, IG],
    /*RST*/    [IV, CL, CL, CL, CL, CL, CL, CL, CL, CL],
    /*none*/   [IV, IV, IV, IV, IV, IV, IV, IV, IV, IV],
];

/// The table's entry for a segment of `kind` travelling in `dir` of a connection in `state`.
pub const fn step(dir: Direction, kind: Kind, state: State) -> Step {
    match dir {
        Direction::Original => ORIGINAL[kind as usize][state as usize],
        Direction::Reply => REPLY[kind as usize][state as usize],
    }
}
