//! Persistence: templates that tie a client, or a network of clients, to one destination
//! (`ip_vs_sched_persist`, `ip_vs_check_template`).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::config::Knob;
use super::conn::{ConnId, InKey, socket};
use super::request::{NewConn, Refusal, Seen};
use super::service::{Persistence, ServiceKey};
use super::{Ipvs, IpvsCx};
use crate::packet::Family;

const FTP: u16 = 21;

impl Ipvs {
    /// A new connection of a persistent service: by its template, or by the scheduler and a new template.
    pub(super) fn schedule_persistent(
        &mut self,
        cx: &mut IpvsCx<'_>,
        seen: &Seen,
        key: ServiceKey,
        persistence: Persistence,
        one_packet: bool,
    ) -> Result<ConnId, Refusal> {
        let own_port = seen.dst.port() == key.port();
        let (proto, addr, port) = match key {
            ServiceKey::Address { proto, .. } if own_port && key.port() != FTP => {
                (proto, seen.dst.ip(), seen.dst.port())
            }
            // FTP's ports share a template, as do those of a service of any port.
            ServiceKey::Address { proto, .. } => (proto, seen.dst.ip(), 0),
            ServiceKey::Mark { mark, family } => (0, mark_address(mark, family), 0),
        };
        let client = socket(persistence.mask.apply(seen.src.ip()), 0);
        let template_key = InKey { template: true, proto, client, virt: socket(addr, port) };
        let known = self.conns.by_client(&template_key).filter(|id| self.template_serves(*id));
        let (template, dest) = match known.and_then(|id| Some((id, self.conns.get(id)?.dest?))) {
            Some((id, dest)) => {
                self.say(cx, "the client's template decides", Some(id));
                (id, dest)
            }
            None => {
                let dest = self.choose(cx, seen, key).ok_or(Refusal::NoDest)?;
                let server_port = if port == 0 { 0 } else { self.port_of(dest).unwrap_or(0) };
                let template = NewConn {
                    proto,
                    client,
                    virt: socket(addr, port),
                    server_port,
                    dest,
                    template: Some(persistence.timeout),
                    one_packet: false,
                };
                (self.bind(template, cx.now), dest)
            }
        };
        // Only packets to the service's own port change it to the destination's.
        let server_port = self.port_of(dest).filter(|_| own_port).unwrap_or(seen.dst.port());
        let new = NewConn {
            proto: seen.proto,
            client: seen.src,
            virt: seen.dst,
            server_port,
            dest,
            template: None,
            one_packet,
        };
        let id = self.bind(new, cx.now);
        if let Some(conn) = self.conns.get_mut(id) {
            conn.control = Some(template);
        }
        if let Some(conn) = self.conns.get_mut(template) {
            conn.controlled += 1;
        }
        self.touch(template, cx.now);
        self.count_conn(dest, cx.now);
        self.say(cx, "a new connection", Some(id));
        Ok(id)
    }

    /// Whether the destination of a template may still be used. A template that may not gets a port that no packet
    /// has, and its timer runs out.
    fn template_serves(&mut self, id: ConnId) -> bool {
        let dest = self.conns.get(id).and_then(|conn| conn.dest).and_then(|dest| self.dests.get(&dest));
        let quiesced_counts = self.config.on(Knob::ExpireQuiescentTemplate);
        if dest.is_some_and(|d| d.available && !(quiesced_counts && d.weight == 0)) {
            return true;
        }
        if let Some(mut orphan) = self.conns.remove(id) {
            debug_assert!(orphan.is_template(), "only templates are asked");
            orphan.virt.set_port(u16::MAX);
            orphan.server.set_port(u16::MAX);
            self.conns.insert(orphan);
        }
        false
    }
}

/// The mark in the place of an address, as the template of a service by mark has it.
fn mark_address(mark: u32, family: Family) -> IpAddr {
    match family {
        Family::V4 => Ipv4Addr::from_bits(mark).into(),
        Family::V6 => Ipv6Addr::from_bits(u128::from(mark) << 96).into(),
    }
}
