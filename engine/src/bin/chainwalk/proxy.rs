//! `chainwalk proxy`: from manifests to what kube-proxy programs on one node.

use std::net::IpAddr;
use std::path::PathBuf;

use chainwalk_engine::base::Instant;
use chainwalk_engine::cluster::manifest::{self, Objects};
use chainwalk_engine::ebpf::{self, Ebpf};
use chainwalk_engine::netfilter::Flavour;
use chainwalk_engine::netfilter::set::Sets;
use chainwalk_engine::packet::Family;
use chainwalk_engine::proxy::addresses::parse_ip;
use chainwalk_engine::proxy::{
    Changes, Config, EndpointsMap, KubernetesVersion, LocalDetector, Mode, ServiceMap, Tracker,
    ebpf as proxy_ebpf, iptables, ipvs, nftables,
};
use chainwalk_engine::text::ebpf as text_ebpf;
use chainwalk_engine::text::ipset::{self, IpsetCx};
use chainwalk_engine::text::xt::SaveOptions;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Services, EndpointSlices, Pods and Nodes in YAML or JSON; may be given several times, `-` reads standard input.
    #[arg(long, required = true, value_name = "FILE")]
    objects: Vec<PathBuf>,
    /// What to program; `mode` of the configuration when absent.
    #[arg(long, value_enum)]
    mode: Option<ModeArg>,
    /// A KubeProxyConfiguration. The options below go before it.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The node that kube-proxy runs on. Its addresses and labels come from its Node object, if there is one.
    #[arg(long, value_name = "NAME")]
    node: String,
    /// Address of the node, when no Node object gives it.
    #[arg(long, value_name = "ADDRESS")]
    node_ip: Option<IpAddr>,
    /// The pods' network (`clusterCIDR`): other clients are masqueraded. Empty for no detection.
    #[arg(long, value_name = "CIDR")]
    cluster_cidr: Option<String>,
    #[arg(long, value_enum, default_value = "ipv4")]
    family: FamilyArg,
    #[arg(long)]
    masquerade_all: bool,
    /// Scheduler of IPVS mode.
    #[arg(long, value_name = "NAME")]
    ipvs_scheduler: Option<String>,
    /// Answer ARP only on the device that holds the address (IPVS mode).
    #[arg(long)]
    strict_arp: bool,
    /// Release of Kubernetes: 1.34, 1.35 or 1.36. The layout of nftables mode depends on it.
    #[arg(long, alias = "k8s", value_name = "VERSION", default_value = "1.36")]
    kubernetes: KubernetesVersion,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum ModeArg {
    /// As `iptables-save` prints it.
    Iptables,
    /// As `nft -f` reads it: the transaction of a first sync.
    Nftables,
    /// The service maps that an agent like Cilium's writes: `cilium-dbg service list` and `cilium-dbg bpf lb list`.
    Ebpf,
    /// Sysctls, the addresses of kube-ipvs0, virtual servers, ipsets and iptables rules, each as its tool prints
    /// or reads it.
    Ipvs,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum FamilyArg {
    Ipv4,
    Ipv6,
}

pub(crate) fn run(args: &Args) -> Result<String, String> {
    let mut objects = read(&args.objects)?;
    if let Some(path) = &args.config {
        let read = read(std::slice::from_ref(path))?.configuration;
        objects.configuration =
            Some(read.ok_or_else(|| format!("{}: no KubeProxyConfiguration in it", path.display()))?);
    }
    let mode = match (args.mode, &objects.configuration) {
        (Some(ModeArg::Iptables), _) => Mode::Iptables,
        (Some(ModeArg::Nftables), _) => Mode::Nftables,
        (Some(ModeArg::Ipvs), _) => Mode::Ipvs,
        (Some(ModeArg::Ebpf), _) => Mode::Ebpf,
        (None, Some(given)) => given.mode.parse()?,
        (None, None) => Mode::default(),
    };
    let config = config(args, mode, &objects)?;
    let mut tracker = Tracker::new(config.family, &config.node_name);
    objects.services.iter().for_each(|service| tracker.set_service(service));
    objects.slices.into_iter().for_each(|slice| tracker.set_slice(slice));
    let (services, endpoints) = (tracker.services(), tracker.endpoints());
    let (changes, now) = (Changes::Everything, Instant::ZERO);
    match mode {
        Mode::Iptables => {
            let proxier = iptables::Proxier::new(config);
            let sync = proxier.sync(services, endpoints, &changes, now);
            let tables = proxier.tables(&sync, Flavour::Legacy)?;
            Ok(tables.save(&SaveOptions::default()))
        }
        Mode::Nftables => {
            let sync = nftables::Proxier::new(config).sync(services, endpoints, &changes, now);
            Ok(sync.text())
        }
        Mode::Ebpf => Ok(ebpf_text(config, services, endpoints)),
        Mode::Ipvs => ipvs_text(config, services, endpoints),
    }
}

fn read(paths: &[PathBuf]) -> Result<Objects, String> {
    let texts = paths.iter().map(|path| super::read(path)).collect::<Result<Vec<String>, String>>()?;
    manifest::parse_all(texts.iter().map(String::as_str)).map_err(|(number, error)| {
        format!(
            "{}: line {}, column {}: {}",
            paths[number].display(),
            error.line,
            error.column,
            error.message
        )
    })
}

/// The service maps, in both of the agent's lists.
fn ebpf_text(config: Config, services: &ServiceMap, endpoints: &EndpointsMap) -> String {
    let mut ebpf = Ebpf::new(ebpf::Config::default(), 1);
    let agent = proxy_ebpf::Agent::new(config);
    agent.sync(services, endpoints, &Changes::Everything).write(&mut ebpf);
    let (services, programs) = (text_ebpf::service_list(&ebpf.maps), text_ebpf::lb_list(&ebpf.maps));
    format!("# cilium-dbg service list\n{services}# cilium-dbg bpf lb list\n{programs}")
}

/// What a node holds in IPVS mode, a part for every tool.
fn ipvs_text(config: Config, services: &ServiceMap, endpoints: &EndpointsMap) -> Result<String, String> {
    let mut proxier = ipvs::Proxier::new(config);
    let setup = proxier.setup();
    let sync = proxier.sync(services, endpoints, &Changes::Everything, &|_, _| 0);
    proxier.applied(&sync);
    let tables = proxier.tables(&sync, Flavour::Legacy)?.save(&SaveOptions::default());
    let lines = |tool| {
        let ops = setup.iter().chain(&sync.ops).filter(|op| op.tool == tool);
        ops.map(|op| op.text.clone() + "\n").collect::<String>()
    };
    let servers = proxier.servers_text();
    Ok(format!(
        "# sysctl -p -\n{}# ip -batch -\n{}# ipvsadm -Sn\n{servers}# ipset save\n{}# iptables-save\n{tables}",
        lines(ipvs::Tool::Sysctl),
        lines(ipvs::Tool::Ip),
        saved_sets(&proxier.sets_text())?,
    ))
}

/// `ipset restore` text as `ipset save` prints it.
fn saved_sets(restore: &str) -> Result<String, String> {
    let mut sets = Sets::default();
    let mut cx = IpsetCx { sets: &mut sets, now: Instant::ZERO, references: &|_| 0 };
    ipset::restore(&mut cx, restore, false).map_err(|error| error.message)?;
    Ok(ipset::save(&sets, None, Instant::ZERO))
}

fn config(args: &Args, mode: Mode, objects: &Objects) -> Result<Config, String> {
    let family = match args.family {
        FamilyArg::Ipv4 => Family::V4,
        FamilyArg::Ipv6 => Family::V6,
    };
    let given = objects.configuration.as_ref();
    let name =
        given.map(|c| c.hostname_override.as_str()).filter(|name| !name.is_empty()).unwrap_or(&args.node);
    let node = objects.nodes.iter().find(|node| node.metadata.name == name);
    let addresses: Vec<IpAddr> = node
        .map(|node| node.status.addresses.iter().filter_map(|a| parse_ip(&a.address)).collect())
        .unwrap_or_default();
    let node_ip =
        args.node_ip.or_else(|| addresses.iter().copied().find(|ip| Family::of(ip) == family)).ok_or_else(
            || format!("no Node {:?} with an address of this family among the objects: give --node-ip", name),
        )?;
    let mut config = Config::new(family, name, node_ip);
    config.node_addresses.extend(addresses.into_iter().filter(|ip| *ip != node_ip));
    config.node_labels = node.map(|node| node.metadata.labels.clone()).unwrap_or_default();
    config.pod_cidrs = node.map(|node| node.spec.pod_cidrs.clone()).unwrap_or_default();
    config.kubernetes = args.kubernetes;
    config.node_port_addresses = config.default_node_port_addresses(mode);
    if let Some(given) = given {
        config.configure(mode, given)?;
    }
    if let Some(scheduler) = &args.ipvs_scheduler {
        config.ipvs.scheduler.clone_from(scheduler);
    }
    config.ipvs.strict_arp |= args.strict_arp;
    config.masquerade_all |= args.masquerade_all;
    match args.cluster_cidr.as_deref() {
        None => {}
        Some("") => config.local_detector = LocalDetector::None,
        Some(cidr) => config.local_detector = LocalDetector::Cidr(cidr.to_owned()),
    }
    Ok(config)
}
