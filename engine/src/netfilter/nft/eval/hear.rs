//! Tells a listener to traces what a packet with `meta nftrace set 1` met.

use super::{Flow, Walk};
use crate::netfilter::Verdict;
use crate::netfilter::nft::monitor::{Dump, Heard, What};
use crate::packet::Skb;

impl Walk<'_, '_, '_> {
    /// `__nft_trace_packet`: the packet itself comes before the first event of a base chain.
    pub(super) fn hear(&mut self, chain: usize, skb: &mut Skb, what: impl FnOnce() -> What) {
        if !skb.nf_trace || self.state.monitor.is_full() {
            return;
        }
        let Some((name, _)) = self.table.chains.get_index(chain) else { return };
        if self.state.monitor.before.is_none() {
            let before = Box::new(self.state.clone());
            self.state.monitor.before = Some(before);
        }
        let seed = self.cx.shared.seed;
        let id = *skb.trace_id.get_or_insert_with(|| self.state.monitor.next_id(seed));
        let (family, table) = (self.table.family, &*self.table.name);
        let event = |what| Heard { id, family, table: table.into(), chain: (&**name).into(), what };
        if !self.heard {
            self.heard = true;
            let dump = self.dump(skb);
            self.state.monitor.events.push(event(What::Packet(Box::new(dump))));
        }
        self.state.monitor.events.push(event(what()));
    }

    fn dump(&self, skb: &Skb) -> Dump {
        let ether = skb.mac_src.zip(skb.indev.and_then(|dev| self.cx.fib.device_mac(dev)));
        Dump {
            packet: skb.packet.clone(),
            iif: self.cx.indev.map(|dev| dev.name.to_owned()),
            oif: self.cx.outdev.map(|dev| dev.name.to_owned()),
            ether: ether.map(|(source, destination)| [source, destination]),
        }
    }
}

/// The verdict of a rule as the tool names it: a packet is rejected by an answer and dropped.
pub(super) fn verdict_of(flow: &Flow) -> String {
    match flow {
        Flow::Next => "continue".to_owned(),
        Flow::Jump(to) => format!("jump {to}"),
        Flow::Goto(to) => format!("goto {to}"),
        Flow::Return => "return".to_owned(),
        Flow::Verdict(Verdict::Reject(_)) => "drop".to_owned(),
        Flow::Verdict(verdict) => super::verdict_word(verdict).to_owned(),
    }
}
