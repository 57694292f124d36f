//! `-m udp`: ports of the UDP header (`xt_tcpudp.c`).

use super::header;
use super::ports::PortTest;
use super::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Udp {
    pub sport: PortTest,
    pub dport: PortTest,
    /// Said by iptables-nft in expressions of its own (`add_nft_udp`).
    pub(crate) native: bool,
}

impl MatchExt for Udp {
    const SPEC: ExtSpec =
        ExtSpec::new("udp", BOTH, "net/netfilter/xt_tcpudp.c").protos(&[proto::UDP]).options(&[
            OptSpec::new("--sport", Values::One).negatable().alias(&["--source-port"]),
            OptSpec::new("--dport", Values::One).negatable().alias(&["--destination-port"]),
        ]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        Ok(Self {
            sport: PortTest::guided(args, "--sport")?,
            dport: PortTest::guided(args, "--dport")?,
            native: false,
        })
    }

    fn save(&self, out: &mut String) {
        self.sport.save(out, "--sport");
        self.dport.save(out, "--dport");
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        out.push_str(" udp");
        self.sport.list(out, "spt");
        self.dport.list(out, "dpt");
    }

    fn eval(&self, _: &mut Cx<'_>, skb: &Skb, _: Option<&mut RuleState>, why: &mut Why) -> MatchResult {
        let packet = &skb.packet;
        if self.native {
            let loaded = header::loaded(packet);
            return (self.sport.check_loaded(why, "--sport", loaded.sport)
                && self.dport.check_loaded(why, "--dport", loaded.dport))
            .into();
        }
        if packet.is_later_fragment() {
            return why
                .check(
                    false,
                    "-m udp",
                    || "a later fragment, no ports".to_owned(),
                    || "a UDP header".to_owned(),
                )
                .into();
        }
        let Some((sport, dport)) = header::ports_within(packet, 8) else {
            let have = || format!("{} bytes", packet.l4.len_bytes());
            why.check(false, "-m udp", have, || "a UDP header".to_owned());
            return MatchResult::Hotdrop;
        };
        (self.sport.check(why, "--sport", sport) && self.dport.check(why, "--dport", dport)).into()
    }
}
