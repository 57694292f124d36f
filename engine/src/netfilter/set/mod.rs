//! IP sets (`net/netfilter/ipset`): what `-m set` and `-j SET` look at.
//!
//! Owns the sets of a namespace, their elements, timeouts and counters. The text of `ipset` is in
//! `crate::text::ipset`. Not emulated: skbinfo, types that need a MAC address, the other `net` pairs.

pub mod element;
pub mod error;
pub mod kind;
pub mod probe;

use std::net::IpAddr;

use indexmap::IndexMap;

pub use element::{Data, Element, Service};
pub use error::SetError;
pub use kind::Kind;
pub use probe::{Directions, Probe};

use crate::base::{Duration, Instant};
use crate::packet::Family;

/// What a set was created with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    pub kind: Kind,
    /// None: elements have no address.
    pub family: Option<Family>,
    pub hashsize: u32,
    pub maxelem: u32,
    pub bucketsize: u8,
    /// Seed of the kernel's hash; shown, without effect.
    pub initval: u32,
    /// Bits of an address that count, of hash:ip and bitmap:ip.
    pub netmask: Option<u8>,
    /// First and last address of bitmap:ip.
    pub ip_range: Option<(IpAddr, IpAddr)>,
    /// First and last port of bitmap:port.
    pub port_range: Option<(u16, u16)>,
    /// Members that list:set holds.
    pub size: u32,
    /// Default timeout in seconds, of a set with timeouts; zero: elements stay.
    pub timeout: Option<u32>,
    pub counters: bool,
    pub comment: bool,
    /// A full set forgets an element to take a new one. The kernel picks one at random; here the oldest goes.
    pub forceadd: bool,
}

/// Elements bitmap types hold at most (`IPSET_BITMAP_MAX_RANGE`, 2^16).
pub const BITMAP_MAX: u64 = 65_536;

/// A member of list:set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub name: Box<str>,
    pub data: Data,
}

/// One set.
#[derive(Clone, Debug)]
pub struct Set {
    pub params: Params,
    elements: IndexMap<Element, Data>,
    /// How many elements have each prefix length.
    lens: std::collections::BTreeMap<u8, u32>,
    members: Vec<Member>,
}

/// What `add` was told beside the element.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddExt {
    /// Seconds.
    pub timeout: Option<u32>,
    pub packets: Option<u64>,
    pub bytes: Option<u64>,
    pub comment: Option<Box<str>>,
    pub nomatch: bool,
}

/// Where a member of list:set goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place<'a> {
    End,
    Before(&'a str),
    After(&'a str),
}

impl Set {
    pub fn new(params: Params) -> Self {
        Self {
            params,
            elements: IndexMap::new(),
            lens: std::collections::BTreeMap::new(),
            members: Vec::new(),
        }
    }

    /// The elements that live at `now`, in the order they were added; bitmap types in ascending order.
    pub fn elements(&self, now: Instant) -> Vec<(&Element, &Data)> {
        let mut live: Vec<_> = self.elements.iter().filter(|(_, d)| !d.is_expired(now)).collect();
        if !self.params.kind.is_hash() {
            live.sort_by_key(|(e, _)| match e {
                Element::Port(port) => u128::from(*port),
                Element::Ip(IpAddr::V4(a)) => u128::from(a.to_bits()),
                Element::Ip(IpAddr::V6(a)) => a.to_bits(),
                _ => 0,
            });
        }
        live
    }

    pub fn members(&self, now: Instant) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(move |m| !m.data.is_expired(now))
    }

    /// The element as the set stores it: netmask applied, in range, storable.
    fn canonical(&self, element: Element) -> Result<Element, SetError> {
        let p = &self.params;
        let element = match (element, p.netmask) {
            (Element::Ip(addr), Some(len)) => Element::Ip(element::cut(addr, len)),
            (element, _) => element,
        };
        match (&element, p.kind) {
            (Element::Ip(addr), Kind::BitmapIp) => {
                let (low, high) = p.ip_range.ok_or(SetError::OutOfRange)?;
                if *addr < low || high < *addr {
                    return Err(SetError::OutOfRange);
                }
            }
            (Element::Port(port), _) => {
                let (low, high) = p.port_range.ok_or(SetError::OutOfRange)?;
                if *port < low || high < *port {
                    return Err(SetError::OutOfRange);
                }
            }
            (Element::Ip(addr), _) if addr.is_unspecified() => return Err(SetError::NullElement),
            // hash:net,iface alone takes 0.0.0.0/0.
            (Element::Net(_, 0) | Element::NetPort(_, 0, _) | Element::IpPortNet(_, _, _, 0), _) => {
                return Err(SetError::Cidr);
            }
            _ => {}
        }
        Ok(element)
    }

    fn data(&self, ext: &AddExt, now: Instant) -> Result<Data, SetError> {
        let p = &self.params;
        if ext.timeout.is_some() && p.timeout.is_none() {
            return Err(SetError::NoTimeout);
        }
        if ext.comment.is_some() && !p.comment {
            return Err(SetError::NoComment);
        }
        if (ext.packets.is_some() || ext.bytes.is_some()) && !p.counters {
            return Err(SetError::NoCounters);
        }
        let seconds = ext.timeout.or(p.timeout).unwrap_or(0);
        Ok(Data {
            expires: (seconds > 0).then(|| now + Duration::from_secs(u64::from(seconds))),
            counters: crate::netfilter::Counters {
                packets: ext.packets.unwrap_or(0),
                bytes: ext.bytes.unwrap_or(0),
            },
            comment: ext.comment.clone().unwrap_or_default(),
            nomatch: ext.nomatch,
        })
    }

    /// Adds an element. With `exist` one that is there already is renewed instead of refused.
    pub fn add(&mut self, element: Element, ext: &AddExt, exist: bool, now: Instant) -> Result<(), SetError> {
        let element = self.canonical(element)?;
        let data = self.data(ext, now)?;
        if let Some(old) = self.elements.get_mut(&element) {
            if !exist && !old.is_expired(now) {
                return Err(SetError::ElementExists);
            }
            *old = data;
            return Ok(());
        }
        if self.params.kind.is_hash() && self.elements.len() >= self.params.maxelem as usize {
            self.forget_expired(now);
            if self.elements.len() >= self.params.maxelem as usize {
                if !self.params.forceadd {
                    return Err(SetError::Full);
                }
                if let Some((oldest, _)) = self.elements.shift_remove_index(0) {
                    self.uncount(&oldest);
                }
            }
        }
        if let Some(len) = element.prefix_len() {
            *self.lens.entry(len).or_default() += 1;
        }
        self.elements.insert(element, data);
        Ok(())
    }

    pub fn del(&mut self, element: Element, exist: bool, now: Instant) -> Result<(), SetError> {
        let element = self.canonical(element)?;
        match self.elements.shift_remove(&element) {
            Some(data) => {
                self.uncount(&element);
                if data.is_expired(now) && !exist { Err(SetError::ElementMissing) } else { Ok(()) }
            }
            None if exist => Ok(()),
            None => Err(SetError::ElementMissing),
        }
    }

    pub fn flush(&mut self) {
        self.elements.clear();
        self.lens.clear();
        self.members.clear();
    }

    fn uncount(&mut self, gone: &Element) {
        if let Some(len) = gone.prefix_len()
            && let Some(count) = self.lens.get_mut(&len)
        {
            *count -= 1;
            if *count == 0 {
                self.lens.remove(&len);
            }
        }
    }

    fn forget_expired(&mut self, now: Instant) {
        let gone: Vec<Element> =
            self.elements.iter().filter(|(_, d)| d.is_expired(now)).map(|(e, _)| e.clone()).collect();
        for element in gone {
            self.elements.shift_remove(&element);
            self.uncount(&element);
        }
    }

    /// The element that decides about `wanted`: itself, or the longest network around it. `accept` may pass an
    /// element over (a counter that does not fit).
    pub fn find(
        &mut self,
        wanted: &Element,
        now: Instant,
        mut accept: impl FnMut(&mut Data) -> bool,
    ) -> Option<&Data> {
        let Some(own) = wanted.prefix_len() else {
            let data = self.elements.get_mut(wanted)?;
            return (!data.is_expired(now) && accept(data)).then_some(&*data);
        };
        let mut found = None;
        for len in self.lens.keys().rev().filter(|len| **len <= own) {
            let Some(at) = self.elements.get_index_of(&wanted.with_prefix(*len)) else { continue };
            let Some((_, data)) = self.elements.get_index_mut(at) else { continue };
            if !data.is_expired(now) && accept(data) {
                found = Some(at);
                break;
            }
        }
        self.elements.get_index(found?).map(|(_, data)| data)
    }

    /// Prefix length that `-j SET` adds networks with: the first one in use, else a host.
    fn prefix_for_packets(&self, full: u8) -> u8 {
        self.lens.keys().next_back().copied().unwrap_or(full)
    }
}

/// The sets of one namespace.
#[derive(Clone, Debug, Default)]
pub struct Sets {
    sets: IndexMap<String, Set>,
}

impl Sets {
    pub fn get(&self, name: &str) -> Option<&Set> {
        self.sets.get(name)
    }

    pub fn get_mut(&mut self, name: &str) -> Result<&mut Set, SetError> {
        self.sets.get_mut(name).ok_or(SetError::Missing)
    }

    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// Names in the order `ipset` lists them: lists of sets last, so that a restore finds their members.
    pub fn names(&self) -> Vec<&str> {
        let is_list = |s: &Set| s.params.kind == Kind::ListSet;
        let of = |lists| self.sets.iter().filter(move |(_, s)| is_list(s) == lists).map(|(n, _)| &n[..]);
        of(false).chain(of(true)).collect()
    }

    pub fn create(&mut self, name: &str, params: Params, exist: bool) -> Result<(), SetError> {
        if let Some(old) = self.sets.get(name) {
            // The seed differs in any case.
            let mut alike = params;
            alike.initval = old.params.initval;
            return if exist && old.params == alike { Ok(()) } else { Err(SetError::Exists) };
        }
        self.sets.insert(name.to_owned(), Set::new(params));
        Ok(())
    }

    /// Members of list:set that name `name`.
    pub fn references(&self, name: &str) -> u32 {
        self.sets.values().flat_map(|s| &s.members).filter(|m| &*m.name == name).count() as u32
    }

    /// `in_use`: a rule refers to the set.
    pub fn destroy(&mut self, name: &str, in_use: bool) -> Result<(), SetError> {
        self.get_mut(name)?;
        if in_use || self.references(name) > 0 {
            return Err(SetError::InUse);
        }
        self.sets.shift_remove(name);
        Ok(())
    }

    /// All sets at once; refused as a whole when a rule refers to one.
    pub fn destroy_all(&mut self, in_use: impl Fn(&str) -> bool) -> Result<(), SetError> {
        if self.sets.keys().any(|name| in_use(name)) {
            return Err(SetError::InUse);
        }
        self.sets.clear();
        Ok(())
    }

    pub fn flush_all(&mut self) {
        self.sets.values_mut().for_each(Set::flush);
    }

    /// `in_use`: a rule refers to the set.
    pub fn rename(&mut self, from: &str, to: &str, in_use: bool) -> Result<(), SetError> {
        let at = self.sets.get_index_of(from).ok_or(SetError::Missing)?;
        if in_use || self.references(from) > 0 {
            return Err(SetError::RenameInUse);
        }
        if self.sets.contains_key(to) {
            return Err(SetError::RenameExists);
        }
        if let Some((_, set)) = self.sets.shift_remove_index(at) {
            self.sets.shift_insert(at, to.to_owned(), set);
        }
        Ok(())
    }

    /// Exchanges the contents of two sets of one type.
    pub fn swap(&mut self, a: &str, b: &str) -> Result<(), SetError> {
        let at = self.sets.get_index_of(a).ok_or(SetError::Missing)?;
        let to = self.sets.get_index_of(b).ok_or(SetError::SwapMissing)?;
        let key = |s: &Set| (s.params.kind, s.params.family);
        if key(&self.sets[at]) != key(&self.sets[to]) {
            return Err(SetError::SwapTypes);
        }
        if at != to
            && let Ok([a, b]) = self.sets.get_disjoint_indices_mut([at, to])
        {
            std::mem::swap(a.1, b.1);
        }
        Ok(())
    }

    /// Adds a member to the list:set `list`.
    pub fn add_member(
        &mut self,
        list: &str,
        member: &str,
        place: Place<'_>,
        ext: &AddExt,
        exist: bool,
        now: Instant,
    ) -> Result<(), SetError> {
        self.check_member(member)?;
        let set = self.get_mut(list)?;
        let data = set.data(ext, now)?;
        set.members.retain(|m| !m.data.is_expired(now));
        let position = |name: &str| set.members.iter().position(|m| &*m.name == name);
        let at = match place {
            Place::End => set.members.len(),
            Place::Before(name) => position(name).ok_or(SetError::ReferenceMissing)?,
            Place::After(name) => position(name).ok_or(SetError::ReferenceMissing)? + 1,
        };
        if let Some(old) = position(member) {
            if !exist {
                return Err(SetError::ElementExists);
            }
            set.members[old].data = data;
            return Ok(());
        }
        if set.members.len() >= set.params.size as usize {
            return Err(SetError::ListFull);
        }
        set.members.insert(at, Member { name: member.into(), data });
        Ok(())
    }

    pub fn del_member(&mut self, list: &str, member: &str, exist: bool) -> Result<(), SetError> {
        self.check_member(member)?;
        let set = self.get_mut(list)?;
        match set.members.iter().position(|m| &*m.name == member) {
            Some(at) => {
                set.members.remove(at);
                Ok(())
            }
            None if exist => Ok(()),
            None => Err(SetError::ElementMissing),
        }
    }

    fn check_member(&self, member: &str) -> Result<(), SetError> {
        match self.sets.get(member) {
            None => Err(SetError::MemberMissing),
            Some(set) if set.params.kind == Kind::ListSet => Err(SetError::MemberIsList),
            Some(_) => Ok(()),
        }
    }
}
