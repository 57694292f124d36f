//! [`Probe`]: a packet as a set sees it (`ip_set_test`, `ip_set_add`, `ip_set_del`, the `kadt` functions).

use super::element::cut;
use super::{AddExt, Data, Element, Kind, Params, Service, Sets};
use crate::base::Instant;
use crate::packet::{Family, L4, Packet, proto};

/// For each part of an element, whether it is read from the source side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Directions {
    /// Bit n: part n is on the source side.
    pub sources: u8,
    /// How many parts are named, 1 to 6.
    pub count: u8,
}

impl Directions {
    const fn source(self, part: u8) -> bool {
        self.sources & (1 << part) != 0
    }
}

/// A packet, the sides to look at, and the devices it passes.
#[derive(Clone, Copy, Debug)]
pub struct Probe<'a> {
    pub packet: &'a Packet,
    pub directions: Directions,
    pub in_dev: Option<&'a str>,
    pub out_dev: Option<&'a str>,
    pub now: Instant,
}

/// How a counter is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterOp {
    Equal,
    NotEqual,
    Less,
    Greater,
}

/// `--packets-eq 5` and the like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterTest {
    pub op: CounterOp,
    pub value: u64,
}

impl CounterTest {
    pub const fn holds(self, counter: u64) -> bool {
        match self.op {
            CounterOp::Equal => counter == self.value,
            CounterOp::NotEqual => counter != self.value,
            CounterOp::Less => counter < self.value,
            CounterOp::Greater => counter > self.value,
        }
    }
}

/// What a rule asks for beside membership.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TestExt {
    pub packets: Option<CounterTest>,
    pub bytes: Option<CounterTest>,
    /// `! --update-counters`.
    pub keep_counters: bool,
    /// `! --update-subcounters`: those of the members of a list.
    pub keep_subcounters: bool,
    pub return_nomatch: bool,
}

impl Probe<'_> {
    /// `ip_set_get_ip4_port`, `ip_set_get_ip6_port`: none when the packet shows no port where it has one.
    fn service(&self, source: bool) -> Option<Service> {
        let packet = self.packet;
        let proto = packet.ip.proto;
        let has_ports = matches!(proto, proto::TCP | proto::UDP | proto::SCTP | proto::UDPLITE);
        let icmp = matches!(proto, proto::ICMP | proto::ICMPV6);
        if !has_ports && !icmp {
            return Some(Service { proto, port: 0 });
        }
        if packet.is_later_fragment() {
            return None;
        }
        let port = match &packet.l4 {
            L4::Icmp(icmp) => u16::from_be_bytes([icmp.kind, icmp.code]),
            L4::Raw(bytes) | L4::Truncated(bytes) if has_ports => {
                let at = if source { 0 } else { 2 };
                u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?)
            }
            L4::Raw(_) | L4::Truncated(_) => return None,
            L4::Tcp(_) | L4::Udp(_) | L4::Sctp(_) => {
                let (sport, dport) = packet.ports()?;
                if source { sport } else { dport }
            }
        };
        Some(Service { proto, port })
    }

    /// The element that the packet stands for in a set like this; none when it cannot be one.
    fn element(&self, params: &Params) -> Option<Element> {
        let d = self.directions;
        let ip = &self.packet.ip;
        let addr = |part| if d.source(part) { ip.src } else { ip.dst };
        let full = match self.packet.family() {
            Family::V4 => 32,
            Family::V6 => 128,
        };
        Some(match params.kind {
            Kind::HashIp | Kind::BitmapIp => {
                let addr = cut(addr(0), params.netmask.unwrap_or(full));
                if addr.is_unspecified() && params.kind == Kind::HashIp {
                    return None;
                }
                Element::Ip(addr)
            }
            Kind::HashNet => Element::Net(addr(0), full),
            Kind::HashIpPort => Element::IpPort(addr(0), self.service(d.source(1))?),
            Kind::HashIpPortIp => Element::IpPortIp(addr(0), self.service(d.source(1))?, addr(2)),
            Kind::HashIpPortNet => Element::IpPortNet(addr(0), self.service(d.source(1))?, addr(2), full),
            Kind::HashNetPort => Element::NetPort(addr(0), full, self.service(d.source(1))?),
            Kind::HashNetIface => {
                let dev = if d.source(1) { self.in_dev } else { self.out_dev };
                Element::NetIface(addr(0), full, dev?.into(), false)
            }
            Kind::BitmapPort => {
                let service = self.service(d.source(0))?;
                match service.proto {
                    proto::TCP | proto::UDP => Element::Port(service.port),
                    _ => return None,
                }
            }
            Kind::ListSet => return None,
        })
    }

    /// Whether a rule with these directions can ask this set about this packet.
    fn fits(&self, params: &Params) -> bool {
        usize::from(self.directions.count) >= params.kind.dimensions()
            && params.family.is_none_or(|f| f == self.packet.family())
    }
}

impl Sets {
    /// Whether the packet is in the set. None: there is no such set.
    pub fn test(&mut self, name: &str, probe: &Probe<'_>, ext: &TestExt) -> Option<bool> {
        let set = self.get(name)?;
        if !probe.fits(&set.params) {
            return Some(false);
        }
        if set.params.kind == Kind::ListSet {
            return Some(self.test_members(name, probe, ext));
        }
        let Some(element) = set.params.kind_element(probe) else { return Some(false) };
        let set = self.get_mut(name).ok()?;
        let (counters, nets) = (set.params.counters, set.params.kind.has_nets());
        let found =
            set.find(&element, probe.now, |data| !counters || count(data, probe, ext, ext.keep_counters));
        Some(match found {
            None => false,
            // With --return-nomatch the exceptions are what matches.
            Some(data) => data.nomatch == (ext.return_nomatch && nets),
        })
    }

    /// Members in order, until one holds the packet.
    fn test_members(&mut self, name: &str, probe: &Probe<'_>, ext: &TestExt) -> bool {
        let Some(list) = self.get(name) else { return false };
        let counters = list.params.counters;
        let members: Vec<Box<str>> = list.members(probe.now).map(|m| m.name.clone()).collect();
        let inner = TestExt { keep_counters: ext.keep_subcounters || ext.keep_counters, ..*ext };
        members.iter().any(|member| {
            if self.test(member, probe, &inner) != Some(true) {
                return false;
            }
            let data = self
                .get_mut(name)
                .ok()
                .and_then(|list| list.members.iter_mut().find(|m| m.name == *member))
                .map(|m| &mut m.data);
            !counters || data.is_none_or(|data| count(data, probe, ext, ext.keep_counters))
        })
    }

    /// `-j SET --add-set`: whether the packet's element was added or renewed.
    pub fn add_packet(&mut self, name: &str, probe: &Probe<'_>, timeout: Option<u32>, exist: bool) -> bool {
        let Some(set) = self.get(name).filter(|s| probe.fits(&s.params)) else { return false };
        if set.params.kind == Kind::ListSet {
            let members: Vec<Box<str>> = set.members(probe.now).map(|m| m.name.clone()).collect();
            return members.iter().any(|member| self.add_packet(member, probe, timeout, exist));
        }
        let Some(element) = set.params.kind_element(probe) else { return false };
        let element = match element.prefix_len() {
            Some(full) => element.with_prefix(set.prefix_for_packets(full)),
            None => element,
        };
        let counters = set.params.counters;
        let ext = AddExt {
            timeout: timeout.filter(|_| set.params.timeout.is_some()),
            packets: counters.then_some(1),
            bytes: counters.then_some(probe.packet.len_bytes() as u64),
            ..AddExt::default()
        };
        self.get_mut(name).is_ok_and(|set| set.add(element, &ext, exist, probe.now).is_ok())
    }

    /// `-j SET --del-set`: whether the packet's element was there.
    pub fn del_packet(&mut self, name: &str, probe: &Probe<'_>) -> bool {
        let Some(set) = self.get(name).filter(|s| probe.fits(&s.params)) else { return false };
        if set.params.kind == Kind::ListSet {
            let members: Vec<Box<str>> = set.members(probe.now).map(|m| m.name.clone()).collect();
            return members.iter().any(|member| self.del_packet(member, probe));
        }
        let Some(element) = set.params.kind_element(probe) else { return false };
        let element = match element.prefix_len() {
            Some(full) => element.with_prefix(set.prefix_for_packets(full)),
            None => element,
        };
        self.get_mut(name).is_ok_and(|set| set.del(element, false, probe.now).is_ok())
    }
}

impl Params {
    fn kind_element(&self, probe: &Probe<'_>) -> Option<Element> {
        probe.element(self)
    }
}

/// `ip_set_match_extensions`: counts the packet, then compares.
fn count(data: &mut Data, probe: &Probe<'_>, ext: &TestExt, keep: bool) -> bool {
    if !keep {
        data.counters.add(probe.packet.len_bytes() as u64);
    }
    ext.packets.is_none_or(|test| test.holds(data.counters.packets))
        && ext.bytes.is_none_or(|test| test.holds(data.counters.bytes))
}
