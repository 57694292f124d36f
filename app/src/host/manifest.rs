//! Kubernetes objects in place of a ruleset: recognised, and run through kube-proxy when the reader asks.

use chainwalk_engine::base::Instant;
use chainwalk_engine::cluster::manifest::{self, ManifestError, Objects};
use chainwalk_engine::netfilter::Flavour;
use chainwalk_engine::packet::Family;
use chainwalk_engine::proxy::endpoints::endpoints;
use chainwalk_engine::proxy::planes::NodeSite;
use chainwalk_engine::proxy::service_port::service_ports;
use chainwalk_engine::proxy::{Changes, ServiceMap, iptables};
use chainwalk_engine::text::xt::SaveOptions;

use crate::protocol::{FamilyChoice, NodeFacts, SharedState};

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

/// What kube-proxy writes on `node` in iptables mode, as a Trace page.
///
/// # Errors
/// A sentence, when there is nothing to write or the objects would not have been admitted.
pub(super) fn run_proxy(text: &str, node: &str) -> Result<SharedState, String> {
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
    let proxier = iptables::Proxier::new(site.config(family));
    let sync = proxier.sync(&services, &endpoints, &Changes::Everything, Instant::ZERO);
    let rules = proxier.tables(&sync, Flavour::Legacy)?.save(&SaveOptions::default());
    let facts = site.facts(family);
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
        let mut session = Session::default();
        let told = ask(&mut session, Request::Load { family: FamilyChoice::Auto }, SHOP);
        assert_eq!(told, Response::Objects(vec!["node-a".to_owned(), "node-b".to_owned()]));
        let told = ask(&mut session, Request::RunProxy { node: "node-b".to_owned() }, SHOP);
        let Response::Proxied(state) = told else { panic!("{told:?}") };
        let told = ask(&mut session, Request::Load { family: state.family }, &state.rules);
        assert!(matches!(&told, Response::Loaded(view) if view.problems.is_empty()), "{told:?}");
        let told = ask(&mut session, Request::Trace { packet: state.packet, facts: state.facts }, "");
        let Response::Traced { trace, notes, .. } = told else { panic!("{told:?}") };
        assert_eq!(notes, []);
        assert_eq!(trace.verdict.outcome.word(), "forwarded");
    }

    #[test]
    fn rulesets_are_no_manifests() {
        assert!(!is_manifest(include_str!("../../samples/kube-proxy.rules")));
        assert!(!is_manifest("*filter\n-A INPUT -m comment --comment \"kind: x\"\nkind: Service\n"));
        assert!(is_manifest("{\"apiVersion\": \"v1\", \"kind\": \"List\"}"));
    }
}
