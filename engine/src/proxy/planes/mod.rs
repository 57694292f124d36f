//! The same objects in every data plane: what one node holds for them in each mode, and what an edit changes.
//!
//! Owns which modes there are, their syncs side by side, and the packet that runs through each. Does not own
//! what a mode writes (`iptables`, `nftables`, ...) nor how it is shown (`view::planes`).
//!
//! A mode is one entry of [`Mode::ALL`], its sync in [`side`] and the commands that load it in [`program`].

mod book;
mod diff;
mod node;
mod program;
mod remarks;
mod side;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

pub use book::{Holder, Row};
pub use diff::{Change, Shown};
pub use node::{Client, NodeSite, Target};
pub use remarks::remarks;

pub use super::Mode;

use super::service_port::service_ports;
use super::{Changes, ServiceMap, endpoints::endpoints};
use crate::base::{Draws, Duration, Instant, KernelVersion, Rng};
use crate::cluster::manifest::Objects;
use crate::cluster::objects::{EndpointSlice, SERVICE_NAME_LABEL, Service};
use crate::packet::Family;
use crate::replay::{PacketSpec, Session};
use crate::trace::Level;
use book::Book;
use side::Side;

/// Seed of everything but the draws of a connection.
const SEED: u64 = 1;
/// Draws supplied to a connection: one a rule of `statistic`, so enough for a Service of as many endpoints.
const DRAWS: usize = 1_000;

/// One mode on the node.
#[derive(Debug)]
pub struct Plane {
    pub mode: Mode,
    /// One proxier a family, as kube-proxy runs them.
    sides: Vec<Side>,
    book: Book,
    /// What the node holds, and among it what the last sync took away.
    pub shown: Vec<Shown>,
    /// A node with these rules, before any packet; made when a packet asks.
    loaded: BTreeMap<Family, Session>,
}

/// What a sync did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Synced {
    /// False when only some Services were written anew.
    pub full: bool,
    /// Services whose Service or slices changed.
    pub services_changed: u32,
    /// Services in all.
    pub services: u32,
}

/// Why a packet cannot be run through a plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotRun {
    /// The engine does not emulate this part of the kernel yet; the loader's words.
    NotEmulated(String),
    /// The packet is wrong; a sentence.
    Packet(String),
}

/// A Service and its slices, for telling whether either changed.
type Bundle = (Vec<Service>, Vec<EndpointSlice>);
type Bundles = BTreeMap<(String, String), Bundle>;

/// Every mode for one node.
#[derive(Debug, Default)]
pub struct Planes {
    site: Option<NodeSite>,
    bundles: Bundles,
    planes: Vec<Plane>,
    /// When the last sync ran; edits come two seconds apart, for what waits to be deleted waits one.
    now: Instant,
}

impl Planes {
    /// Syncs every mode with these objects. On the same node only changed Services are written anew, and what
    /// changed is lit; for another node everything is.
    pub fn update(&mut self, objects: &Objects, node_name: &str) -> Synced {
        let site = NodeSite::of(objects, node_name);
        let bundles = bundles(objects);
        let same_node = self.site.as_ref().is_some_and(|old| old.is_same_node(&site));
        let changed: BTreeSet<(String, String)> =
            if same_node { changed(&self.bundles, &bundles) } else { BTreeSet::new() };
        let synced = Synced {
            full: !same_node,
            services_changed: if same_node { changed.len() as u32 } else { bundles.len() as u32 },
            services: objects.services.len() as u32,
        };
        if same_node && changed.is_empty() {
            self.site = Some(site);
            return synced;
        }
        self.now += Duration::from_secs(2);
        let changes = if same_node { Changes::Services(changed) } else { Changes::Everything };
        let inputs: Vec<_> = site
            .families
            .iter()
            .map(|&family| {
                let services: ServiceMap =
                    objects.services.iter().flat_map(|s| service_ports(s, family)).collect();
                (family, services, endpoints(&objects.slices, family, &site.name))
            })
            .collect();
        if !same_node {
            self.planes = Mode::ALL.iter().map(|&mode| Plane::new(mode, &site)).collect();
        }
        for plane in &mut self.planes {
            let before = if same_node { Some(plane.book.clone()) } else { None };
            for (side, (_, services, endpoints)) in plane.sides.iter_mut().zip(&inputs) {
                side.sync(&mut plane.book, services, endpoints, &changes, self.now);
            }
            plane.shown = diff::shown(before.as_ref(), &plane.book);
            plane.loaded.clear();
        }
        self.site = Some(site);
        self.bundles = bundles;
        synced
    }

    /// The node, once there was an update.
    pub const fn site(&self) -> Option<&NodeSite> {
        self.site.as_ref()
    }

    pub fn planes(&self) -> &[Plane] {
        &self.planes
    }

    /// Forgets which rows were lit.
    pub fn settle(&mut self) {
        for plane in &mut self.planes {
            plane.shown = diff::shown(None, &plane.book);
        }
    }

    /// Sends the packet through a fresh node of plane `at`. `connection` chooses the draws, the same ones in every
    /// plane, so that what differs is the plane's.
    pub fn start(&mut self, at: usize, spec: &PacketSpec, connection: u32) -> Result<&mut Session, NotRun> {
        let (Some(site), Some(plane)) = (&self.site, self.planes.get_mut(at)) else {
            return Err(NotRun::Packet("there is nothing to run yet".to_owned()));
        };
        let family = spec.dst.map_or(Family::V4, |dst| Family::of(&dst));
        let Some(side) = plane.sides.iter().find(|side| side.config().family == family) else {
            return Err(NotRun::Packet("no Service has an address of the packet's family".to_owned()));
        };
        let session = match plane.loaded.entry(family) {
            Entry::Occupied(slot) => slot.into_mut(),
            Entry::Vacant(slot) => {
                let session =
                    program::load(side, KernelVersion::default(), SEED).map_err(NotRun::NotEmulated)?;
                slot.insert(session)
            }
        };
        let mut draws = Rng::named(u64::from(connection), "planes");
        let draw = |_| f64::from(draws.next_u32()) / f64::from(u32::MAX);
        session.supply_draws(Draws::supplied((0..DRAWS).map(draw)));
        session.start(spec.clone(), &site.facts(family), Level::Full).map_err(NotRun::Packet)?;
        Ok(session)
    }
}

impl Plane {
    fn new(mode: Mode, site: &NodeSite) -> Self {
        let sides = site.families.iter().map(|&family| Side::new(mode, site.config(family))).collect();
        Self { mode, sides, book: Book::default(), shown: Vec::new(), loaded: BTreeMap::new() }
    }

    /// Rows held, without those that were removed.
    pub fn held(&self) -> usize {
        self.shown.iter().filter(|shown| shown.change != Some(Change::Removed)).count()
    }
}

fn bundles(objects: &Objects) -> Bundles {
    let mut bundles = Bundles::new();
    for service in &objects.services {
        let key = (service.metadata.namespace.clone(), service.metadata.name.clone());
        bundles.entry(key).or_default().0.push(service.clone());
    }
    for slice in &objects.slices {
        if let Some(service) = slice.metadata.labels.get(SERVICE_NAME_LABEL) {
            let key = (slice.metadata.namespace.clone(), service.clone());
            bundles.entry(key).or_default().1.push(slice.clone());
        }
    }
    bundles
}

fn changed(old: &Bundles, new: &Bundles) -> BTreeSet<(String, String)> {
    let differs = |key: &&(String, String)| old.get(*key) != new.get(*key);
    old.keys().chain(new.keys()).filter(differs).cloned().collect()
}

/// A row that several lists point to.
type Shared = Rc<Row>;

#[cfg(test)]
mod tests;
