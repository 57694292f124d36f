//! Editing services and destinations (`ip_vs_ctl.c`), with the kernel's own refusals.

use std::net::IpAddr;

use super::Ipvs;
use super::dest::{Dest, DestId, Encapsulation, Forward};
use super::sched::{List, ListChange, SchedFlags, Scheduler};
use super::service::{Mask, Persistence, Service, ServiceKey};
use super::stats::Stats;
use crate::base::Instant;
use crate::packet::Family;

/// Why an edit was refused; `ipvsadm` turns each into its own words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// EEXIST
    ServiceExists,
    /// ESRCH of an edit, removal or zeroing.
    NoSuchService,
    /// ENOENT of an addition or edit.
    NoSuchScheduler,
    /// ESRCH of a command about a destination.
    ServiceNotDefined,
    /// EEXIST
    DestExists,
    /// ENOENT
    NoSuchDest,
    /// ERANGE: the lower threshold lies above the upper one.
    OutOfRange,
    /// EINVAL: an address that is not unicast, a prefix length of zero.
    Invalid,
}

/// A service as users describe it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceSpec {
    pub key: ServiceKey,
    pub scheduler: String,
    pub flags: SchedFlags,
    pub persistence: Option<Persistence>,
    pub one_packet: bool,
}

/// A destination as users describe it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DestSpec {
    pub addr: IpAddr,
    pub port: u16,
    pub forward: Forward,
    pub encapsulation: Encapsulation,
    pub weight: u32,
    pub upper: u32,
    pub lower: u32,
}

impl Ipvs {
    pub fn add_service(&mut self, spec: &ServiceSpec) -> Result<(), Error> {
        if self.services.contains_key(&spec.key) {
            return Err(Error::ServiceExists);
        }
        let mut scheduler = Scheduler::named(&spec.scheduler).ok_or(Error::NoSuchScheduler)?;
        check_mask(spec)?;
        scheduler.begin(List { order: &[], all: &self.dests });
        self.services_made += 1;
        let service = Service {
            scheduler,
            flags: spec.flags,
            persistence: spec.persistence,
            one_packet: spec.one_packet,
            dests: Vec::new(),
            stats: Stats::default(),
            number: self.services_made,
        };
        self.services.insert(spec.key, service);
        Ok(())
    }

    /// A scheduler that stays the same keeps what it remembers.
    pub fn edit_service(&mut self, spec: &ServiceSpec) -> Result<(), Error> {
        let Self { services, dests, .. } = self;
        let service = services.get_mut(&spec.key).ok_or(Error::NoSuchService)?;
        let mut scheduler = Scheduler::named(&spec.scheduler).ok_or(Error::NoSuchScheduler)?;
        check_mask(spec)?;
        if scheduler.name() != service.scheduler.name() {
            scheduler.begin(List { order: &service.dests, all: dests });
            service.scheduler = scheduler;
        }
        service.flags = spec.flags;
        service.persistence = spec.persistence;
        service.one_packet = spec.one_packet;
        Ok(())
    }

    /// Removes a service; its connections stay until they end, and their packets are dropped.
    pub fn delete_service(&mut self, key: &ServiceKey, now: Instant) -> Result<(), Error> {
        let service = self.services.remove(key).ok_or(Error::NoSuchService)?;
        for id in service.dests {
            self.retire(id, now);
        }
        Ok(())
    }

    /// `ipvsadm -C`
    pub fn flush(&mut self, now: Instant) {
        let keys: Vec<ServiceKey> = self.services.keys().copied().collect();
        for key in keys {
            let removed = self.delete_service(&key, now);
            debug_assert!(removed.is_ok(), "it was listed");
        }
    }

    pub fn add_dest(&mut self, key: &ServiceKey, spec: &DestSpec) -> Result<DestId, Error> {
        let known = self.find_dest(key, spec)?;
        check_dest(spec)?;
        if known.is_some() {
            return Err(Error::DestExists);
        }
        let id = self.revive(key, spec).unwrap_or_else(|| self.make(key, spec));
        let Self { services, dests, .. } = self;
        if let Some(service) = services.get_mut(key) {
            // `list_add`: in front of the others.
            service.dests.insert(0, id);
            service.scheduler.changed(List { order: &service.dests, all: dests }, ListChange::Added(id));
        }
        Ok(id)
    }

    pub fn edit_dest(&mut self, key: &ServiceKey, spec: &DestSpec) -> Result<(), Error> {
        let known = self.find_dest(key, spec)?;
        check_dest(spec)?;
        let id = known.ok_or(Error::NoSuchDest)?;
        if let Some(dest) = self.dests.get_mut(&id) {
            apply(dest, spec);
        }
        self.tell(key, ListChange::Updated(id));
        Ok(())
    }

    pub fn delete_dest(
        &mut self,
        key: &ServiceKey,
        addr: IpAddr,
        port: u16,
        now: Instant,
    ) -> Result<(), Error> {
        let service = self.services.get_mut(key).ok_or(Error::ServiceNotDefined)?;
        let all = &self.dests;
        let at = service
            .dests
            .iter()
            .position(|id| all.get(id).is_some_and(|d| d.addr == addr && d.port == port))
            .ok_or(Error::NoSuchDest)?;
        let before = at.checked_sub(1).map(|before| service.dests[before]);
        let id = service.dests.remove(at);
        self.retire(id, now);
        self.tell(key, ListChange::Removed(id, before));
        Ok(())
    }

    /// Zeroes the counters of one service and its destinations, or of all.
    pub fn zero(&mut self, key: Option<&ServiceKey>, now: Instant) -> Result<(), Error> {
        if let Some(key) = key {
            let service = self.services.get_mut(key).ok_or(Error::NoSuchService)?;
            service.stats.zero(now);
            for id in &service.dests {
                if let Some(dest) = self.dests.get_mut(id) {
                    dest.stats.zero(now);
                }
            }
            return Ok(());
        }
        self.stats.zero(now);
        self.services.values_mut().for_each(|service| service.stats.zero(now));
        self.dests.values_mut().filter(|d| d.available).for_each(|dest| dest.stats.zero(now));
        Ok(())
    }

    fn find_dest(&self, key: &ServiceKey, spec: &DestSpec) -> Result<Option<DestId>, Error> {
        let service = self.services.get(key).ok_or(Error::ServiceNotDefined)?;
        let same = |d: &Dest| d.addr == spec.addr && d.port == spec.port;
        Ok(self.dests(service).find(|d| same(d)).map(|d| d.id))
    }

    fn tell(&mut self, key: &ServiceKey, change: ListChange) {
        let Self { services, dests, .. } = self;
        if let Some(service) = services.get_mut(key) {
            service.scheduler.changed(List { order: &service.dests, all: dests }, change);
        }
    }

    /// A destination that was removed from the same service and is still known by its connections.
    fn revive(&mut self, key: &ServiceKey, spec: &DestSpec) -> Option<DestId> {
        let same = |d: &Dest| !d.available && d.service == *key && d.addr == spec.addr && d.port == spec.port;
        let dest = self.dests.values_mut().find(|d| same(d))?;
        dest.available = true;
        dest.removed_at = None;
        dest.last_weight = spec.weight;
        apply(dest, spec);
        Some(dest.id)
    }

    fn make(&mut self, key: &ServiceKey, spec: &DestSpec) -> DestId {
        let id = DestId(self.dests.last_key_value().map_or(0, |(last, _)| last.0 + 1));
        let mut dest = Dest {
            id,
            service: *key,
            addr: spec.addr,
            port: spec.port,
            forward: spec.forward,
            encapsulation: spec.encapsulation,
            weight: spec.weight,
            last_weight: spec.weight,
            upper: 0,
            lower: 0,
            active: 0,
            inactive: 0,
            persistent: 0,
            overloaded: false,
            available: true,
            stats: Stats::default(),
            removed_at: None,
        };
        apply(&mut dest, spec);
        self.dests.insert(id, dest);
        id
    }

    fn retire(&mut self, id: DestId, now: Instant) {
        if let Some(dest) = self.dests.get_mut(&id) {
            dest.available = false;
            dest.removed_at = Some(now);
        }
    }
}

/// `__ip_vs_update_dest`
fn apply(dest: &mut Dest, spec: &DestSpec) {
    dest.forward = spec.forward;
    dest.encapsulation = spec.encapsulation;
    dest.weight = spec.weight;
    if spec.weight != 0 {
        dest.last_weight = spec.weight;
    }
    if spec.upper == 0 || spec.upper > dest.upper {
        dest.overloaded = false;
    }
    dest.upper = spec.upper;
    dest.lower = spec.lower;
}

fn check_mask(spec: &ServiceSpec) -> Result<(), Error> {
    match spec.persistence.map(|p| p.mask) {
        Some(Mask::V6(0 | 129..)) => Err(Error::Invalid),
        Some(Mask::V4(_)) if spec.key.family() == Family::V6 => Err(Error::Invalid),
        Some(Mask::V6(_)) if spec.key.family() == Family::V4 => Err(Error::Invalid),
        Some(Mask::V4(_) | Mask::V6(_)) | None => Ok(()),
    }
}

fn check_dest(spec: &DestSpec) -> Result<(), Error> {
    if spec.lower > spec.upper {
        return Err(Error::OutOfRange);
    }
    let unicast = match spec.addr {
        IpAddr::V4(addr) => !(addr.is_unspecified() || addr.is_multicast() || addr.is_broadcast()),
        IpAddr::V6(addr) => !(addr.is_unspecified() || addr.is_multicast() || addr.is_unicast_link_local()),
    };
    if unicast { Ok(()) } else { Err(Error::Invalid) }
}
