//! [`Session`]: a reader's node that stays between packets, so that "the reply" and "again" go on with the same
//! connection.

use super::build::{self, Built};
use super::case::{PacketSpec, Text};
use super::facts::{FactInput, Facts};
use super::infer::{self, Assumption, AssumptionKind};
use super::report::{flag_letters, proto_name};
use super::setup;
use crate::base::{Draws, Instant, KernelVersion, PLANES};
use crate::ebpf::Ebpf;
use crate::netfilter::nft;
use crate::netns::{Netns, Ran};
use crate::packet::wire::is_icmp_error;
use crate::packet::{L4, Packet, TcpFlags};
use crate::text::diag::{Diag, Severity};
use crate::text::xt::Ruleset;
use crate::trace::{Disposition, Level};

/// Time between two packets of a session: about a round trip within a data centre.
const STEP_MS: u64 = 10;
/// Payload of a request or answer that a reply makes up, in bytes.
const DATA_LEN: u16 = 100;
/// Initial sequence number that a made-up peer chooses.
const PEER_ISN: u32 = 9000;

/// A packet that was sent, and what became of it.
#[derive(Clone, Debug)]
pub struct Sent {
    pub spec: PacketSpec,
    pub ran: Ran,
}

/// A ruleset, a node, and the packets sent so far.
#[derive(Clone, Debug)]
pub struct Session {
    /// The node with its rules loaded, before any facts and packets.
    loaded: Netns,
    netns: Netns,
    sent: Vec<Sent>,
    assumptions: Vec<Assumption>,
}

impl Session {
    /// Loads rulesets into a node that has only `lo`.
    pub fn new(rulesets: Vec<Ruleset>, kernel: KernelVersion, seed: u64) -> Self {
        Self::on(Netns::new(kernel, seed), rulesets)
    }

    /// Loads rulesets into a node that holds sets already.
    pub fn on(mut loaded: Netns, rulesets: Vec<Ruleset>) -> Self {
        for mut ruleset in rulesets {
            setup::load(&mut loaded, &mut ruleset, false);
        }
        Self::of(loaded)
    }

    /// A node that was set up already, before any facts and packets.
    pub fn of(mut loaded: Netns) -> Self {
        loaded.hold_ports(true);
        Self { netns: loaded.clone(), loaded, sent: Vec::new(), assumptions: Vec::new() }
    }

    /// Supplies the uniform draws of every start from now on, so that several nodes can be given the same.
    pub fn supply_draws(&mut self, draws: Draws) {
        if let Some(ebpf) = &mut self.loaded.ebpf {
            ebpf.supply_draws(draws.clone());
        }
        self.loaded.shared.draws = draws;
    }

    /// Attaches eBPF programs with their maps, for every node that is started from now on.
    pub fn attach(&mut self, ebpf: Ebpf) {
        self.loaded.ebpf = Some(Box::new(ebpf));
    }

    /// Loads a text of `nft -f` beside what is loaded, and starts over.
    pub fn load_nft(&mut self, text: &str) -> Result<(), Diag> {
        self.load_nft_without(text, |_| false)
    }

    /// The same without the tables that are to be left out.
    pub fn load_nft_without(
        &mut self,
        text: &str,
        mut is_left_out: impl FnMut(&nft::Table) -> bool,
    ) -> Result<(), Diag> {
        if !PLANES {
            let message = "nftables is not in this build of the engine".to_owned();
            return Err(Diag { severity: Severity::Error, line: 1, column: 1, len: 0, message });
        }
        let mut ruleset = self.loaded.nft().clone();
        let options = crate::text::nft::ListOptions::default();
        crate::text::nft::run(&mut ruleset, text, self.loaded.now, options)
            .map_err(|refusal| refusal.diag)?;
        ruleset.tables.retain(|table| !is_left_out(table));
        self.loaded.set_nft(ruleset);
        self.loaded.hold_ports(true);
        self.netns = self.loaded.clone();
        self.sent.clear();
        Ok(())
    }

    /// The node as it is after the last packet.
    pub const fn netns(&self) -> &Netns {
        &self.netns
    }

    /// Everything sent through this node, in order.
    pub fn sent(&self) -> &[Sent] {
        &self.sent
    }

    /// What was taken for granted about the node.
    pub fn assumptions(&self) -> &[Assumption] {
        &self.assumptions
    }

    /// Starts over: a fresh node with these facts, completed by assumptions, and one packet. Messages about facts
    /// that could not be used come back beside it.
    pub fn start(
        &mut self,
        mut spec: PacketSpec,
        facts: &Facts,
        level: Level,
    ) -> Result<Vec<(FactInput, Diag)>, String> {
        let mut netns = self.loaded.clone();
        let notes = facts.apply(&mut netns);
        let mut assumptions = infer::complete(&mut netns, &mut spec, facts);
        assumptions.push(Assumption {
            kind: AssumptionKind::Other,
            value: String::new(),
            sentence: "A process takes whatever is delivered and answers only when you send the reply."
                .to_owned(),
        });
        self.netns = netns;
        self.assumptions = assumptions;
        self.sent.clear();
        self.send(spec, level)?;
        Ok(notes)
    }

    /// Sends one more packet through the same node.
    pub fn send(&mut self, spec: PacketSpec, level: Level) -> Result<&Sent, String> {
        let now =
            Instant::from_millis(self.sent.len() as u64 * STEP_MS).max(Instant::from_millis(spec.at_ms));
        self.netns.now = now.max(self.netns.now);
        let ran = match build::skb(&self.netns, &spec)? {
            Built::Received(skb, dev) => self.netns.run_received(*skb, dev, level),
            Built::Local(skb) => self.netns.run_local(*skb, level),
            Built::Malformed(why) => return Err(why.to_string()),
        };
        let at = self.sent.len();
        self.sent.push(Sent { spec, ran });
        Ok(&self.sent[at])
    }

    /// Sends the first packet again.
    pub fn again(&mut self, level: Level) -> Result<&Sent, String> {
        let first = self.sent.first().ok_or("nothing was sent yet")?.spec.clone();
        self.send(first, level)
    }

    /// Sends what the peer of the last packet would answer.
    pub fn reply(&mut self, level: Level) -> Result<&Sent, String> {
        let spec = self.reply_spec().ok_or("nothing answers the last packet")?;
        self.send(spec, level)
    }

    /// What the peer of the last packet would answer: the peer of what left the node, or the process that got
    /// what was delivered. None when nothing can be answered.
    pub fn reply_spec(&self) -> Option<PacketSpec> {
        let last = self.sent.last()?;
        match &last.ran.end.disposition {
            Disposition::Forwarded | Disposition::Sent => {
                let out = last.ran.emitted.iter().find(|e| !e.made)?;
                let dev = &self.netns.inet.device(out.dev).name;
                natural_reply(&out.packet, dev)
            }
            Disposition::Delivered => {
                let got = last.ran.delivered.as_ref()?;
                natural_reply(got, "local")
            }
            Disposition::Dropped(_) | Disposition::Rejected | Disposition::Stolen => None,
        }
    }
}

/// What the receiver of `packet` sends back, entering the node through `input`.
///
/// TCP goes through a handshake, then one request and its acknowledgement, then the close; UDP is answered with a
/// datagram of the same size, an echo request with its reply. A RST and an ICMP error have no answer.
pub fn natural_reply(packet: &Packet, input: &str) -> Option<PacketSpec> {
    let ip = &packet.ip;
    let mut spec = PacketSpec {
        input: input.to_owned(),
        src: Some(ip.dst),
        dst: Some(ip.src),
        proto: Some(Text::Word(proto_name(ip.proto))),
        sport: packet.ports().map(|p| p.1),
        dport: packet.ports().map(|p| p.0),
        ..PacketSpec::default()
    };
    match &packet.l4 {
        L4::Tcp(tcp) => {
            let (syn, ack) = (tcp.flags.has(TcpFlags::SYN), tcp.flags.has(TcpFlags::ACK));
            let fin = tcp.flags.has(TcpFlags::FIN);
            if tcp.flags.has(TcpFlags::RST) || (!syn && !ack) {
                return None;
            }
            let len = tcp.segment_len();
            let (flags, data) = match (syn, fin, len) {
                (true, _, _) if !ack => (TcpFlags::SYN.with(TcpFlags::ACK), 0),
                (true, ..) => (TcpFlags::ACK, 0),
                (_, true, _) => (TcpFlags::FIN.with(TcpFlags::ACK), 0),
                (_, _, 0) => (TcpFlags::PSH.with(TcpFlags::ACK), DATA_LEN),
                _ => (TcpFlags::ACK, 0),
            };
            spec.flags = Some(flag_letters(flags));
            spec.seq = Some(if ack { tcp.ack } else { PEER_ISN });
            spec.ack = Some(tcp.seq.wrapping_add(len));
            spec.len = (data > 0).then_some(data);
            spec.win = Some(tcp.window);
        }
        L4::Udp(udp) => spec.len = Some(udp.payload.len() as u16).filter(|l| *l > 0),
        L4::Icmp(icmp) if is_icmp_error(ip.src.is_ipv6(), icmp.kind) => return None,
        L4::Icmp(icmp) => {
            spec.icmp_type = Some(match (ip.src.is_ipv6(), icmp.kind) {
                (false, 8) => 0,
                (false, 13) => 14,
                (true, 128) => 129,
                _ => return None,
            });
            spec.icmp_id = Some(icmp.id());
            spec.icmp_seq = Some(icmp.seq());
            spec.len = Some(icmp.payload.len() as u16).filter(|l| *l > 0);
        }
        L4::Sctp(_) | L4::Raw(_) | L4::Truncated(_) => return None,
    }
    Some(spec)
}
