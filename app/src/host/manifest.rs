//! Kubernetes objects in place of a ruleset: recognised, and run through kube-proxy when the reader asks.

use chainwalk_engine::base::Instant;
use chainwalk_engine::cluster::manifest::{self, ManifestError, Objects};
use chainwalk_engine::netfilter::Flavour;
use chainwalk_engine::packet::Family;
use chainwalk_engine::proxy::endpoints::endpoints;
use chainwalk_engine::proxy::planes::NodeSite;
use chainwalk_engine::proxy::service_port::service_ports;
use chainwalk_engine::proxy::{Changes, Mode, ServiceMap, iptables, ipvs, nftables};
use chainwalk_engine::text::xt::SaveOptions;

use crate::protocol::{FamilyChoice, NodeFacts, ProxyMode, SharedState};

/// Lines looked at before a text is taken for something else.
const LINES_READ: usize = 200;

/// Whether the text looks like manifests: a `kind` before anything that a ruleset begins with.
pub(super) fn is_manifest(text: &str) -> bool {
    text.lines()
        .take(LINES_READ)
        .map(str::trim_start)
        .take_while(|line| !line.starts_with(['*', ':']) && !line.starts_with("-A "))
        .any(|line| {
            line.starts_with("kind:") || line.starts_with("apiVersion:") || line.contains("\"apiVersion\":")
        })
}

/// Nodes that the objects name.
pub(super) fn nodes(text: &str) -> Result<Vec<String>, ManifestError> {
    Ok(NodeSite::of(&manifest::parse(text)?, "").nodes)
}

/// What kube-proxy writes on `node`, as a Trace page.
///
/// # Errors
/// A sentence, when there is nothing to write or the objects would not have been admitted.
pub(super) fn run_proxy(text: &str, node: &str, mode: ProxyMode) -> Result<SharedState, String> {
    let objects: Objects = manifest::parse(text).map_err(|error| error.message)?;
    let site = NodeSite::of(&objects, node);
    let Some(&family) = site.families.first() else { return Err("There is no Service.".to_owned()) };
    let services: ServiceMap =
        objects.services.iter().flat_map(|service| service_ports(service, family)).collect();
    if services.is_empty() {
        return Err(
            "No Service among these objects has a cluster IP, so kube-proxy writes nothing for them."
                .to_owned(),
        );
    }
    let endpoints = endpoints(&objects.slices, family, &site.name);
    let mut config = site.config(family);
    let mut facts = site.facts(family);
    let (everything, now) = (Changes::Everything, Instant::ZERO);
    let rules = match mode {
        ProxyMode::Iptables => {
            config.node_port_addresses = config.default_node_port_addresses(Mode::Iptables);
            let proxier = iptables::Proxier::new(config);
            let sync = proxier.sync(&services, &endpoints, &everything, now);
            proxier.tables(&sync, Flavour::Legacy)?.save(&SaveOptions::default())
        }
        ProxyMode::Nftables => {
            config.node_port_addresses = config.default_node_port_addresses(Mode::Nftables);
            nftables::Proxier::new(config).sync(&services, &endpoints, &everything, now).text()
        }
        ProxyMode::Ipvs => {
            config.node_port_addresses = config.default_node_port_addresses(Mode::Ipvs);
            let mut proxier = ipvs::Proxier::new(config);
            let sync = proxier.sync(&services, &endpoints, &everything, &|_, _| 0);
            proxier.applied(&sync);
            let length = if family == Family::V4 { 32 } else { 128 };
            facts
                .addresses
                .extend(proxier.addresses().map(|ip| format!("{}={ip}/{length}", ipvs::DUMMY_DEVICE)));
            facts.sysctls.push("net.ipv4.vs.conntrack=1".to_owned());
            let tables = proxier.tables(&sync, Flavour::Legacy)?.save(&SaveOptions::default());
            format!(
                "# ipvsadm -Sn\n{}# ipset save\n{}# iptables-save\n{tables}",
                proxier.servers_text(),
                proxier.sets_text()
            )
        }
    };
    let (clients, targets) = (site.clients(), site.targets(&objects));
    let client = clients.iter().find(|client| client.family == family);
    let target = targets.iter().find(|target| target.family == family);
    let packet = match (client, target) {
        (Some(from), Some(to)) => {
            format!("{} {}:40000 > {} in {}", to.proto, bracketed(&from.from), to.to, from.input)
        }
        _ => String::new(),
    };
    Ok(SharedState {
        packet,
        family: if family == Family::V4 { FamilyChoice::V4 } else { FamilyChoice::V6 },
        facts: NodeFacts {
            addresses: facts.addresses,
            routes: facts.routes,
            sysctls: facts.sysctls,
            ..NodeFacts::default()
        },
        rules,
        ..SharedState::default()
    })
}

fn bracketed(address: &str) -> String {
    if address.contains(':') { format!("[{address}]") } else { address.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Session;
    use crate::protocol::{Request, Response};

    const SHOP: &str = include_str!("../../samples/planes/cluster-ip.yaml");

    fn ask(session: &mut Session, request: Request, text: &str) -> Response {
        let mut answers = Vec::new();
        session.handle(request, Some(text.to_owned()), &mut |answer| answers.push(answer));
        answers.pop().expect("every request is answered")
    }

    #[test]
    fn manifests_become_a_ruleset_and_a_packet() {
        for (name, mode) in ProxyMode::ALL {
            let mut session = Session::default();
            let told = ask(&mut session, Request::Load { family: FamilyChoice::Auto }, SHOP);
            assert_eq!(told, Response::Objects(vec!["node-a".to_owned(), "node-b".to_owned()]));
            let told = ask(&mut session, Request::RunProxy { node: "node-b".to_owned(), mode }, SHOP);
            let Response::Proxied(state) = told else { panic!("{name}: {told:?}") };
            let told = ask(&mut session, Request::Load { family: state.family }, &state.rules);
            let Response::Loaded(view) = told else { panic!("{name}: {told:?}") };
            assert!(view.problems.is_empty() && view.not_emulated.is_empty(), "{name}: {view:?}");
            let told = ask(&mut session, Request::Trace { packet: state.packet, facts: state.facts }, "");
            let Response::Traced { trace, notes, .. } = told else { panic!("{name}: {told:?}") };
            assert_eq!(notes, [], "{name}");
            assert_eq!(trace.verdict.outcome.word(), "forwarded", "{name}");
            assert!(trace.verdict.sentence.contains("10.244."), "{name}: {}", trace.verdict.sentence);
        }
    }

    #[test]
    fn rulesets_are_no_manifests() {
        assert!(!is_manifest(include_str!("../../samples/kube-proxy.rules")));
        assert!(!is_manifest("*filter\n-A INPUT -m comment --comment \"kind: x\"\nkind: Service\n"));
        assert!(is_manifest("{\"apiVersion\": \"v1\", \"kind\": \"List\"}"));
    }
}
