//! A session's packets and node as views.

use super::{Told, entry_view, packet_view, sentence, tell};
use crate::conntrack::{Entry, Status};
use crate::netfilter::Table;
use crate::netfilter::assume::Unknown;
use crate::netns::{Alternative, Emitted, Netns, Ran, Route, RouteKind, RouteOrigin};
use crate::replay::{Assumption, AssumptionKind, Session, line};
use crate::trace;
use crate::view::chain::RuleRef;
use crate::view::node::{self, AddressView, AssumptionView, DeviceView, NodeView, RouteView};
use crate::view::packet::{EntryView, PacketView};
use crate::view::trace::{EmittedView, PossibilityView, TraceView, UncertainView};

/// The way of the packet sent last; none before the first.
pub fn sent_view(session: &Session) -> Option<TraceView> {
    let sent = session.sent().last()?;
    let netns = session.netns();
    let tables: Vec<&Table> = netns.tables().iter().map(|loaded| &*loaded.table).collect();
    Some(tell(Told {
        trace: &sent.ran.trace,
        tables: &tables,
        nft: netns.nft(),
        disposition: &sent.ran.end.disposition,
        because: &sent.ran.end.because,
        ct_info: sent.ran.ct_info,
        emitted: emitted(netns, &sent.ran.emitted),
        uncertain: uncertain(netns, &sent.ran),
        table: connections(netns),
        reply_line: session.reply_spec().map(|spec| line::print(&spec)).unwrap_or_default(),
    }))
}

fn emitted(netns: &Netns, packets: &[Emitted]) -> Vec<EmittedView> {
    let view = |left: &Emitted| {
        let dev = netns.inet.device(left.dev).name.to_string();
        let packet = PacketView { out_dev: dev.clone(), ..packet_view(&left.packet) };
        EmittedView { dev, packet, made: left.made }
    };
    packets.iter().map(view).collect()
}

/// The connection table, as `conntrack -L` lists it.
fn connections(netns: &Netns) -> Vec<EntryView> {
    let view = |entry: &Entry| entry_view(&entry.line(netns.now), entry.status.has(Status::CONFIRMED));
    netns.ct.entries(netns.now).map(view).collect()
}

fn uncertain(netns: &Netns, ran: &Ran) -> Option<UncertainView> {
    let first = ran.alternatives.first()?;
    // The rule that the worlds part at.
    let open = first.unknowns.iter().find(|unknown| unknown.assumed)?;
    let here = PossibilityView {
        condition: "If not".to_owned(),
        outcome: sentence::outcome(&ran.end.disposition),
        sentence: sentence::verdict(
            &ran.end.disposition,
            &ran.end.because,
            None,
            &emitted(netns, &ran.emitted),
        ),
    };
    let other = |alternative: &Alternative| PossibilityView {
        condition: condition(netns, &alternative.unknowns),
        outcome: sentence::outcome(&alternative.end.disposition),
        sentence: sentence::verdict(
            &alternative.end.disposition,
            &alternative.end.because,
            None,
            &emitted(netns, &alternative.emitted),
        ),
    };
    let possibilities = ran.alternatives.iter().map(other).chain([here]).collect();
    Some(UncertainView { name: open.name.clone(), rule: rule_ref(netns, open.rule), possibilities })
}

/// `If -m recent of rule 3 in filter INPUT applies`.
fn condition(netns: &Netns, unknowns: &[Unknown]) -> String {
    let applies: Vec<_> = unknowns
        .iter()
        .filter(|unknown| unknown.assumed)
        .map(|unknown| {
            let rule = rule_ref(netns, unknown.rule);
            format!("{} of rule {} in {} {}", unknown.name, rule.number, rule.table, rule.chain)
        })
        .collect();
    format!("If {} applies", applies.join(" and "))
}

fn rule_ref(netns: &Netns, rule: trace::RuleRef) -> RuleRef {
    if let Some(table) = netns.nft_table(rule.table) {
        let chain = table.chains.get_index(rule.chain as usize);
        return RuleRef {
            table: format!("{} {}", table.family.name(), table.name),
            chain: chain.map(|(name, _)| name.to_string()).unwrap_or_default(),
            number: rule.index + 1,
        };
    }
    let table = netns.tables().get(usize::from(rule.table)).map(|loaded| &loaded.table);
    let chain = table.and_then(|table| table.chains.get(rule.chain as usize));
    RuleRef {
        table: table.map(|table| table.name.name().to_owned()).unwrap_or_default(),
        chain: chain.map(|chain| chain.name.to_string()).unwrap_or_default(),
        number: rule.index + 1,
    }
}

/// The node that the session's packets go through.
pub fn node_view(session: &Session) -> NodeView {
    let inet = &session.netns().inet;
    let is_assumed = |value: &str| session.assumptions().iter().any(|assumed| assumed.value == value);
    let devices = inet.devices.iter().map(|device| {
        let address = |address: &crate::netns::Address| {
            let text = format!("{}/{}", address.addr, address.prefix_len);
            AddressView { assumed: is_assumed(&format!("{}={text}", device.name)), text }
        };
        let addresses: Vec<_> = device.addresses.iter().map(address).collect();
        let assumed = addresses.iter().any(|address| address.assumed);
        DeviceView { name: device.name.to_string(), addresses, assumed }
    });
    let routes = inet.main.iter().map(|route| {
        let text = route_text(session.netns(), route);
        RouteView { assumed: route.origin == RouteOrigin::Assumed, text }
    });
    NodeView {
        devices: devices.collect(),
        routes: routes.collect(),
        assumptions: session.assumptions().iter().map(assumption_view).collect(),
    }
}

fn assumption_view(assumption: &Assumption) -> AssumptionView {
    AssumptionView {
        kind: match assumption.kind {
            AssumptionKind::Address => node::AssumptionKind::Address,
            AssumptionKind::Route => node::AssumptionKind::Route,
            AssumptionKind::Sysctl => node::AssumptionKind::Sysctl,
            AssumptionKind::InDevice => node::AssumptionKind::InDevice,
            AssumptionKind::Other => node::AssumptionKind::Other,
        },
        value: assumption.value.clone(),
        sentence: assumption.sentence.clone(),
    }
}

fn prefix(route: &Route) -> String {
    if route.prefix_len == 0 { "default".to_owned() } else { route.to.to_string() }
}

/// As `ip route` prints it.
fn route_text(netns: &Netns, route: &Route) -> String {
    let kind =
        if route.kind == RouteKind::Unicast { String::new() } else { format!("{} ", route.kind.name()) };
    let via = route.via.map(|via| format!(" via {via}")).unwrap_or_default();
    let dev = route.dev.map(|dev| format!(" dev {}", netns.inet.device(dev).name)).unwrap_or_default();
    format!("{kind}{}{via}{dev}", prefix(route))
}
