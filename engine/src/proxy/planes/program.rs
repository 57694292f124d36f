//! A node that holds what a mode programs: the tools' own commands, run as a case's set-up runs them.

use super::Mode;
use super::node::UPLINK;
use super::side::Side;
use crate::base::{Instant, KernelVersion};
use crate::ebpf::{self, Ebpf};
use crate::netns::Netns;
use crate::packet::Family;
use crate::proxy::ebpf::Agent;
use crate::proxy::{Changes, iptables, ipvs, nftables};
use crate::replay::{self, Session};

/// Loads the plane of one family into a fresh node. The error names what is not emulated.
pub(super) fn load(side: &Side, kernel: KernelVersion, seed: u64) -> Result<Session, String> {
    let mut netns = Netns::new(kernel, seed);
    for (command, input) in commands(side) {
        replay::setup(&mut netns, &command, &input).map_err(|error| error.message)?;
    }
    if side.mode() == Mode::Ebpf {
        netns.ebpf = Some(Box::new(programs(side, seed)));
    }
    Ok(Session::of(netns))
}

/// Command lines with their standard input, in the order a first sync runs them.
fn commands(side: &Side) -> Vec<(String, String)> {
    let (config, everything, now) = (side.config().clone(), Changes::Everything, Instant::ZERO);
    let (services, endpoints) = (&side.services, &side.endpoints);
    let restore = match config.family {
        Family::V4 => "iptables-legacy-restore --noflush --counters",
        Family::V6 => "ip6tables-legacy-restore --noflush --counters",
    };
    match side.mode() {
        Mode::Iptables => {
            let sync = iptables::Proxier::new(config).sync(services, endpoints, &everything, now);
            vec![(restore.to_owned(), iptables::jumps_text()), (restore.to_owned(), sync.input)]
        }
        Mode::Ipvs => {
            let mut proxier = ipvs::Proxier::new(config);
            let setup = proxier.setup();
            let sync = proxier.sync(services, endpoints, &everything, &|_, _| 0);
            proxier.applied(&sync);
            let mut commands: Vec<_> = setup.iter().chain(&sync.ops).filter_map(single).collect();
            commands.extend([
                ("ipvsadm -R".to_owned(), proxier.servers_text()),
                ("ipset restore".to_owned(), proxier.sets_text()),
                (restore.to_owned(), ipvs::jumps_text()),
                (restore.to_owned(), sync.input),
            ]);
            commands
        }
        // No tool: an agent writes the maps.
        Mode::Ebpf => Vec::new(),
        Mode::Nftables => {
            let sync = nftables::Proxier::new(config).sync(services, endpoints, &everything, now);
            vec![("nft -f -".to_owned(), sync.text())]
        }
    }
}

/// The programs of a default installation with their maps filled.
fn programs(side: &Side, seed: u64) -> Ebpf {
    let config = side.config();
    let mut node_addresses = vec![config.node_ip];
    node_addresses.extend(&config.node_addresses);
    let settings =
        ebpf::Config { devices: vec![UPLINK.to_owned()], node_addresses, ..ebpf::Config::default() };
    let mut programs = Ebpf::new(settings, seed);
    let agent = Agent::new(config.clone());
    agent.sync(&side.services, &side.endpoints, &Changes::Everything).write(&mut programs);
    programs
}

/// A sysctl or a change of kube-ipvs0, as a command line; what the other tools read goes to them as one text.
fn single(op: &ipvs::Op) -> Option<(String, String)> {
    let line = match op.tool {
        ipvs::Tool::Sysctl => format!("sysctl -w {}", op.text.replace(" = ", "=")),
        ipvs::Tool::Ip => format!("ip {}", op.text),
        ipvs::Tool::Ipset | ipvs::Tool::Ipvsadm => return None,
    };
    Some((line, String::new()))
}
