//! Packet sockets of a lab: injecting frames on the wire, seeing what the node sends, and the fence that tells
//! when the kernel has finished with a packet.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, LinkAddr, MsgFlags, SockFlag, SockProtocol, SockType, recvfrom, sendto, socket,
};

use super::namespace::Netns;
use crate::frame::{Seen, decode};

/// IEEE 802 local experimental ethertype: no protocol handler takes it.
const FENCE_TYPE: [u8; 2] = [0x88, 0xb5];
/// A fence passes the queue once; packets that the node sends to itself pass it several times (out through `lo`,
/// an answer, the answer's answer).
const FENCE_ROUNDS: u8 = 4;
/// How long a fence may take when the processor is busy elsewhere, in milliseconds.
const FENCE_TIMEOUT_MS: u16 = 5000;
/// A device that just came up drops frames until the kernel's link watcher has activated its queue: how often
/// the first frame is tried, and how long each try waits, in milliseconds.
const WARM_UP_TRIES: u32 = 500;
const WARM_UP_WAIT_MS: u16 = 10;
/// `PACKET_OUTGOING` of packet(7).
const OUTGOING: u8 = 4;

/// The far end of one device of the node.
#[derive(Debug, Clone)]
struct Port {
    /// Address of the wire's device, for `sendto`.
    wire: LinkAddr,
    /// Hardware address of the node's device.
    node_mac: [u8; 6],
}

/// All packet sockets of one lab.
#[derive(Debug)]
pub(super) struct Tap {
    /// In the wire namespace.
    inject: OwnedFd,
    /// In the node, for frames that only tell that a device works.
    warm_up: OwnedFd,
    listen: OwnedFd,
    ports: BTreeMap<String, Port>,
    /// Devices of the node whose frames count as emitted.
    devices: BTreeMap<usize, String>,
    fences: u32,
    buffer: Vec<u8>,
}

impl Tap {
    /// Opens the sockets. `devices` names each device of the node with the wire device that leads to it, if any.
    pub(super) fn open(node: &Netns, wire: &Netns, devices: &[(String, Option<String>)]) -> io::Result<Tap> {
        let (listen, warm_up, node_links) = {
            let _inside = node.enter()?;
            (raw_socket(Some(SockProtocol::EthAll))?, raw_socket(None)?, links()?)
        };
        let (inject, wire_links) = {
            let _inside = wire.enter()?;
            (raw_socket(None)?, links()?)
        };
        let missing = |name: &str| io::Error::other(format!("device {name} did not appear"));
        let mut tap = Tap {
            inject,
            warm_up,
            listen,
            ports: BTreeMap::new(),
            devices: BTreeMap::new(),
            fences: 0,
            buffer: vec![0; 1 << 16],
        };
        for (name, far) in devices {
            let near = node_links.get(name).ok_or_else(|| missing(name))?;
            tap.wait_for(name, near, true)?;
            if let Some(far) = far {
                // What goes into a dummy device has not left the node.
                tap.devices.insert(near.ifindex(), name.clone());
                let wire = *wire_links.get(far).ok_or_else(|| missing(far))?;
                let node_mac = near.addr().unwrap_or_default();
                tap.wait_for(name, &wire, false)?;
                tap.ports.insert(name.clone(), Port { wire, node_mac });
            }
        }
        Ok(tap)
    }

    /// Puts an IP packet on the wire towards a device of the node.
    /// `mac` is the source of the frame; the wire's own when absent.
    pub(super) fn inject(&self, device: &str, mac: Option<[u8; 6]>, packet: &[u8]) -> io::Result<()> {
        let port =
            self.ports.get(device).ok_or_else(|| io::Error::other(format!("no wire leads to {device:?}")))?;
        let version = packet.first().map_or(4, |byte| byte >> 4);
        let mut frame = destination_mac(packet, port.node_mac).to_vec();
        frame.extend_from_slice(&mac.or(port.wire.addr()).unwrap_or_default());
        frame.extend_from_slice(if version == 6 { &[0x86, 0xdd] } else { &[0x08, 0x00] });
        frame.extend_from_slice(packet);
        sendto(self.inject.as_raw_fd(), &frame, &port.wire, MsgFlags::empty())?;
        Ok(())
    }

    /// Waits until the kernel has finished everything that was sent, and returns what left the node meanwhile.
    pub(super) fn settle(&mut self) -> io::Result<Vec<Seen>> {
        let mut seen = Vec::new();
        let Some(port) = self.ports.values().next().cloned() else {
            self.drain(&mut seen, None, 0)?;
            return Ok(seen);
        };
        for _ in 0..FENCE_ROUNDS {
            let fence = self.fence(false, port.node_mac, &port.wire)?;
            if !self.drain(&mut seen, Some(fence), FENCE_TIMEOUT_MS)? {
                return Err(io::Error::other("the kernel did not answer a fence frame"));
            }
        }
        Ok(seen)
    }

    /// Waits until a device that was just brought up sends.
    fn wait_for(&mut self, name: &str, device: &LinkAddr, near: bool) -> io::Result<()> {
        for _ in 0..WARM_UP_TRIES {
            let fence = self.fence(near, [0xff; 6], device)?;
            if self.drain(&mut Vec::new(), Some(fence), WARM_UP_WAIT_MS)? {
                return Ok(());
            }
        }
        Err(io::Error::other(format!("device {name} does not send")))
    }

    /// Sends a fence frame, out of a device of the node (`near`) or of the wire, and returns its number.
    fn fence(&mut self, near: bool, to: [u8; 6], device: &LinkAddr) -> io::Result<u32> {
        self.fences += 1;
        let mut frame = to.to_vec();
        frame.extend_from_slice(&device.addr().unwrap_or_default());
        frame.extend_from_slice(&FENCE_TYPE);
        frame.extend_from_slice(&self.fences.to_be_bytes());
        frame.resize(60, 0);
        let socket = if near { &self.warm_up } else { &self.inject };
        match sendto(socket.as_raw_fd(), &frame, device, MsgFlags::empty()) {
            // A queue that is not active yet drops, and says so.
            Ok(_) | Err(Errno::ENOBUFS) => Ok(self.fences),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads frames until the given fence has come (true), or until none is left.
    fn drain(&mut self, seen: &mut Vec<Seen>, fence: Option<u32>, wait_ms: u16) -> io::Result<bool> {
        loop {
            let (length, from) = match recvfrom::<LinkAddr>(self.listen.as_raw_fd(), &mut self.buffer) {
                Ok(received) => received,
                Err(Errno::EAGAIN) if fence.is_none() => return Ok(false),
                Err(Errno::EAGAIN) => {
                    let mut waiting = [PollFd::new(self.listen.as_fd(), PollFlags::POLLIN)];
                    if poll(&mut waiting, PollTimeout::from(wait_ms))? == 0 {
                        return Ok(false);
                    }
                    continue;
                }
                // A device went down or away; nothing was lost.
                Err(Errno::ENETDOWN) => continue,
                Err(error) => return Err(error.into()),
            };
            let frame = &self.buffer[..length];
            let Some(from) = from.filter(|_| frame.len() >= 18) else { continue };
            if frame[12..14] == FENCE_TYPE {
                let number = u32::from_be_bytes([frame[14], frame[15], frame[16], frame[17]]);
                if Some(number) == fence {
                    return Ok(true);
                }
                continue;
            }
            if from.pkttype() != OUTGOING {
                continue;
            }
            let Some(device) = self.devices.get(&from.ifindex()) else { continue };
            if let Some(mut packet) = decode(&frame[14..]).filter(|packet| !is_noise(packet)) {
                packet.dev.clone_from(device);
                seen.push(packet);
            }
        }
    }
}

/// Neighbour discovery, router discovery and multicast reports: the node's own chatter, not an answer.
fn is_noise(packet: &Seen) -> bool {
    packet.proto == "icmpv6" && matches!(packet.icmp_type, Some(130..=137 | 143)) || packet.proto == "0"
}

fn raw_socket(protocol: Option<SockProtocol>) -> io::Result<OwnedFd> {
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    Ok(socket(AddressFamily::Packet, SockType::Raw, flags, protocol)?)
}

/// Link addresses of the calling thread's namespace by device name.
fn links() -> io::Result<BTreeMap<String, LinkAddr>> {
    let found = getifaddrs()?.filter_map(|entry| {
        let link = *entry.address.as_ref()?.as_link_addr()?;
        Some((entry.interface_name, link))
    });
    Ok(found.collect())
}

/// Broadcast and multicast destinations travel in broadcast and multicast frames.
fn destination_mac(packet: &[u8], node: [u8; 6]) -> [u8; 6] {
    match packet.first().map(|byte| byte >> 4) {
        Some(4) if packet.len() >= 20 => match &packet[16..20] {
            [255, 255, 255, 255] => [0xff; 6],
            [224..=239, second, third, fourth] => [1, 0, 0x5e, second & 0x7f, *third, *fourth],
            _ => node,
        },
        Some(6) if packet.len() >= 40 && packet[24] == 0xff => {
            [0x33, 0x33, packet[36], packet[37], packet[38], packet[39]]
        }
        _ => node,
    }
}
