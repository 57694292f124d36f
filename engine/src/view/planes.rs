//! The planes page: what a node holds in each mode, what an edit changed, and a packet side by side.
//!
//! Owns the shapes and the functions that make them from [`crate::proxy::planes`]. Rows are asked for by window, as
//! those of a chain are.

mod lockstep;

use serde::{Deserialize, Serialize};

use crate::cluster::manifest::Objects;
use crate::cluster::objects::{SERVICE_NAME_LABEL, Service};
use crate::packet::Family;
use crate::proxy::Origin;
use crate::proxy::planes::{Change, Plane, Planes, Row, Shown, Synced};

pub use lockstep::{LaneView, LockstepView, StationRow, WayView, lockstep_view};

/// The page after an edit.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PlanesView {
    pub node: String,
    pub nodes: Vec<String>,
    pub planes: Vec<PlaneView>,
    /// What the sync did, as one sentence.
    pub synced: String,
    pub clients: Vec<ChoiceView>,
    pub targets: Vec<ChoiceView>,
    /// Oddities that stop nothing.
    pub remarks: Vec<String>,
    /// What no object said.
    pub assumed: Vec<String>,
    /// Names for the filter, in order.
    pub services: Vec<String>,
    /// What a form offers to change.
    pub forms: Vec<ServiceForm>,
}

/// A Service as a form shows it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ServiceForm {
    /// `namespace/name`
    pub name: String,
    /// Value of each field in [`FORM_FIELDS`].
    pub values: Vec<String>,
    pub endpoints: Vec<EndpointForm>,
}

/// An endpoint as a form shows it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct EndpointForm {
    pub address: String,
    pub node: String,
    pub ready: bool,
}

/// Fields of `spec` that a form offers, with their values.
pub const FORM_FIELDS: [(&str, &[&str]); 4] = [
    ("type", &["ClusterIP", "NodePort"]),
    ("externalTrafficPolicy", &["Cluster", "Local"]),
    ("internalTrafficPolicy", &["Cluster", "Local"]),
    ("sessionAffinity", &["None", "ClientIP"]),
];

/// Most Services that a form offers, and endpoints of each: beyond them the text is quicker.
const FORMS_MAX: usize = 20;
const FORM_ENDPOINTS_MAX: usize = 30;

fn service_form(service: &Service, objects: &Objects) -> ServiceForm {
    let spec = &service.spec;
    let slices = objects.slices.iter().filter(|slice| {
        slice.metadata.namespace == service.metadata.namespace
            && slice.metadata.labels.get(SERVICE_NAME_LABEL) == Some(&service.metadata.name)
    });
    let endpoints =
        slices.flat_map(|slice| &slice.endpoints).take(FORM_ENDPOINTS_MAX).map(|endpoint| EndpointForm {
            address: endpoint.addresses.first().cloned().unwrap_or_default(),
            node: endpoint.node_name.clone().unwrap_or_default(),
            ready: endpoint.conditions.ready.unwrap_or(true),
        });
    ServiceForm {
        name: service_name(service),
        values: vec![
            format!("{:?}", spec.kind),
            format!("{:?}", spec.external_traffic_policy),
            format!("{:?}", spec.internal_traffic_policy),
            format!("{:?}", spec.session_affinity),
        ],
        endpoints: endpoints.collect(),
    }
}

fn service_name(service: &Service) -> String {
    format!("{}/{}", service.metadata.namespace, service.metadata.name)
}

/// One mode.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PlaneView {
    pub name: String,
    /// Rows the node holds.
    pub held: u32,
    pub added: u32,
    pub removed: u32,
    pub changed: u32,
    /// Position of the first row that the last sync touched; 0 when there is none.
    pub first_change: u32,
}

/// A sender or a destination that fits the objects.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ChoiceView {
    pub label: String,
    /// What it puts into a packet line: `tcp` (destinations), the end point, and `in DEV` (senders).
    pub proto: String,
    pub end_point: String,
    pub input: String,
    pub is_v6: bool,
}

/// Which rows to list.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RowQuery {
    /// Position in [`PlanesView::planes`].
    pub plane: u32,
    pub only_changes: bool,
    /// `namespace/name`; empty for all.
    pub service: String,
    pub from: u32,
    pub len: u32,
}

/// A window of rows.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HeldWindow {
    pub from: u32,
    pub total: u32,
    pub rows: Vec<HeldRow>,
}

/// What a sync did with a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum HeldChange {
    Added,
    Removed,
    Changed { was: String },
}

/// One rule, element or declaration, and why it is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldRow {
    /// `nat KUBE-SERVICES`, `map service-ips`.
    pub holder: String,
    pub text: String,
    pub change: Option<HeldChange>,
    /// `Service shop/web, port http`; `every node` for what no Service asked for.
    pub object: String,
    /// `10.244.1.10:8080`; empty when it concerns no endpoint.
    pub endpoint: String,
    /// `spec.clusterIP`; empty when no single field is behind it.
    pub field: String,
    /// Why, as a sentence.
    pub purpose: String,
}

/// The page as it stands.
pub fn planes_view(planes: &Planes, objects: &Objects, synced: Synced, remarks: Vec<String>) -> PlanesView {
    let Some(site) = planes.site() else { return PlanesView::default() };
    let clients = site.clients().into_iter().map(|client| ChoiceView {
        label: family_label(client.label, client.family, &site.families),
        end_point: client.from,
        input: client.input.to_owned(),
        is_v6: client.family == Family::V6,
        ..ChoiceView::default()
    });
    let targets = site.targets(objects).into_iter().map(|target| ChoiceView {
        label: target.label,
        proto: target.proto.to_owned(),
        end_point: target.to,
        is_v6: target.family == Family::V6,
        ..ChoiceView::default()
    });
    PlanesView {
        node: site.name.clone(),
        nodes: site.nodes.clone(),
        planes: planes.planes().iter().map(plane_view).collect(),
        synced: synced_sentence(synced, &site.name),
        clients: clients.collect(),
        targets: targets.collect(),
        remarks,
        assumed: site.assumed.clone(),
        services: objects.services.iter().take(SERVICES_MAX).map(service_name).collect(),
        forms: objects
            .services
            .iter()
            .take(FORMS_MAX)
            .map(|service| service_form(service, objects))
            .collect(),
    }
}

/// Most Services named in the filter.
const SERVICES_MAX: usize = 200;

fn family_label(label: &str, family: Family, families: &[Family]) -> String {
    match (families.len(), family) {
        (1, _) => label.to_owned(),
        (_, Family::V4) => format!("{label} · IPv4"),
        (_, Family::V6) => format!("{label} · IPv6"),
    }
}

fn plane_view(plane: &Plane) -> PlaneView {
    let mut view = PlaneView { name: plane.mode.name().to_owned(), ..PlaneView::default() };
    for shown in &plane.shown {
        match &shown.change {
            None => {}
            Some(Change::Added) => view.added += 1,
            Some(Change::Removed) => view.removed += 1,
            Some(Change::Changed { .. }) => view.changed += 1,
        }
    }
    view.first_change =
        plane.shown.iter().position(|shown| shown.change.is_some()).unwrap_or_default() as u32;
    view.held = plane.held() as u32;
    view
}

fn synced_sentence(synced: Synced, node: &str) -> String {
    let services = |count| if count == 1 { "1 Service".to_owned() } else { format!("{count} Services") };
    match (synced.full, synced.services_changed) {
        (true, _) => format!("Full sync of {node}: {}.", services(synced.services)),
        (false, 0) => "Nothing that kube-proxy looks at has changed.".to_owned(),
        (false, changed) => {
            format!(
                "Partial sync of {node}: {} of {} written anew.",
                changed,
                services(synced.services.max(changed))
            )
        }
    }
}

/// The rows that `query` asks for.
pub fn held_window(planes: &Planes, query: &RowQuery) -> HeldWindow {
    let Some(plane) = planes.planes().get(query.plane as usize) else { return HeldWindow::default() };
    let wanted = |shown: &&Shown| {
        let of_service = || match &shown.row.origin.service {
            Some(name) => {
                query.service.strip_prefix(&*name.namespace).and_then(|rest| rest.strip_prefix('/'))
                    == Some(&*name.name)
            }
            None => false,
        };
        (!query.only_changes || shown.change.is_some()) && (query.service.is_empty() || of_service())
    };
    let mut total = 0;
    let mut rows = Vec::new();
    for shown in plane.shown.iter().filter(wanted) {
        if total >= query.from && rows.len() < query.len as usize {
            rows.push(held_row(shown));
        }
        total += 1;
    }
    HeldWindow { from: query.from, total, rows }
}

fn held_row(shown: &Shown) -> HeldRow {
    let row: &Row = &shown.row;
    let Origin { service, endpoint, field, purpose } = &row.origin;
    let object = match service {
        None => "every node, whatever the Services".to_owned(),
        Some(name) if name.port.is_empty() => format!("Service {}/{}", name.namespace, name.name),
        Some(name) => format!("Service {}/{}, port {}", name.namespace, name.name, name.port),
    };
    HeldRow {
        holder: match row.holder.family {
            Family::V4 => row.holder.name.clone(),
            Family::V6 => format!("IPv6 {}", row.holder.name),
        },
        text: row.text.clone(),
        change: shown.change.as_ref().map(|change| match change {
            Change::Added => HeldChange::Added,
            Change::Removed => HeldChange::Removed,
            Change::Changed { was } => HeldChange::Changed { was: was.clone() },
        }),
        object,
        endpoint: endpoint.clone().unwrap_or_default(),
        field: (*field).to_owned(),
        purpose: sentence(purpose),
    }
}

fn sentence(text: &str) -> String {
    let mut text = format!("{}.", text.trim_end_matches('.'));
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text
}
