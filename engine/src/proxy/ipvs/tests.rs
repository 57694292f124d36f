//! What a change of endpoints, of options, or of the node's life does to virtual servers.

use super::*;
use crate::base::Instant;
use crate::cluster::objects::{
    EndpointPort, EndpointSlice, EndpointSpec, Metadata, SERVICE_NAME_LABEL, Service, ServicePortSpec,
    ServiceSpec, SessionAffinity,
};
use crate::proxy::Tracker;

fn service(protocol: Protocol) -> Service {
    let port = ServicePortSpec { port: 80, protocol, ..Default::default() };
    Service {
        metadata: Metadata { name: "web".into(), namespace: "shop".into(), ..Default::default() },
        spec: ServiceSpec { cluster_ip: "10.96.0.1".into(), ports: vec![port], ..Default::default() },
        ..Default::default()
    }
}

fn slice(protocol: Protocol, addresses: &[&str]) -> EndpointSlice {
    let labels = BTreeMap::from([(SERVICE_NAME_LABEL.to_owned(), "web".to_owned())]);
    let endpoint = |addr: &&str| EndpointSpec { addresses: vec![(*addr).to_owned()], ..Default::default() };
    EndpointSlice {
        metadata: Metadata { name: "web-1".into(), namespace: "shop".into(), labels, ..Default::default() },
        ports: vec![EndpointPort { name: Some(String::new()), protocol, port: Some(8080) }],
        endpoints: addresses.iter().map(endpoint).collect(),
        ..Default::default()
    }
}

struct Lab {
    tracker: Tracker,
    proxier: Proxier,
}

impl Lab {
    fn new(protocol: Protocol, addresses: &[&str]) -> Self {
        let config = Config::new(Family::V4, "node-a", [172, 18, 0, 2].into());
        let mut tracker = Tracker::new(Family::V4, "node-a");
        tracker.set_service(&service(protocol));
        tracker.set_slice(slice(protocol, addresses));
        Self { tracker, proxier: Proxier::new(config) }
    }

    /// Syncs and returns the commands of `ipvsadm`.
    fn sync(&mut self, connections: u64) -> Vec<String> {
        let changes = self.tracker.changes(Instant::ZERO, true);
        let (services, endpoints) = (self.tracker.services(), self.tracker.endpoints());
        let sync = self.proxier.sync(services, endpoints, &changes, &|_, _| connections);
        self.proxier.applied(&sync);
        self.tracker.synced(&changes, true, Instant::ZERO);
        texts(&sync.ops, Tool::Ipvsadm)
    }
}

fn texts(ops: &[Op], tool: Tool) -> Vec<String> {
    ops.iter().filter(|op| op.tool == tool).map(|op| op.text.clone()).collect()
}

#[test]
fn a_removed_endpoint_with_connections_waits_at_weight_0() {
    let mut lab = Lab::new(Protocol::Tcp, &["10.244.0.1", "10.244.0.2"]);
    assert_eq!(
        lab.sync(0),
        [
            "-A -t 10.96.0.1:80 -s rr",
            "-a -t 10.96.0.1:80 -r 10.244.0.1:8080 -m -w 1",
            "-a -t 10.96.0.1:80 -r 10.244.0.2:8080 -m -w 1"
        ]
    );
    assert_eq!(lab.sync(0), [""; 0], "nothing changed");
    lab.tracker.set_slice(slice(Protocol::Tcp, &["10.244.0.1"]));
    assert_eq!(lab.sync(3), ["-e -t 10.96.0.1:80 -r 10.244.0.2:8080 -m -w 0"]);
    assert_eq!(lab.proxier.review(&|_, _| 1), []);
    assert!(lab.proxier.servers_text().contains("-r 10.244.0.2:8080 -m -w 0\n"));
    let ops = lab.proxier.review(&|_, _| 0);
    assert_eq!(texts(&ops, Tool::Ipvsadm), ["-d -t 10.96.0.1:80 -r 10.244.0.2:8080"]);
    assert_eq!(lab.proxier.review(&|_, _| 0), []);
}

#[test]
fn one_that_comes_back_is_deleted_and_made_anew() {
    let mut lab = Lab::new(Protocol::Tcp, &["10.244.0.1", "10.244.0.2"]);
    lab.sync(0);
    lab.tracker.set_slice(slice(Protocol::Tcp, &["10.244.0.1"]));
    lab.sync(1);
    lab.tracker.set_slice(slice(Protocol::Tcp, &["10.244.0.1", "10.244.0.2"]));
    assert_eq!(
        lab.sync(1),
        ["-d -t 10.96.0.1:80 -r 10.244.0.2:8080", "-a -t 10.96.0.1:80 -r 10.244.0.2:8080 -m -w 1"]
    );
    assert_eq!(lab.proxier.review(&|_, _| 0), []);
}

#[test]
fn udp_and_sctp_do_not_wait() {
    for (protocol, option) in [(Protocol::Udp, "-u"), (Protocol::Sctp, "--sctp-service")] {
        let mut lab = Lab::new(protocol, &["10.244.0.1"]);
        lab.sync(0);
        lab.tracker.set_slice(slice(protocol, &[]));
        assert_eq!(lab.sync(9), [format!("-d {option} 10.96.0.1:80 -r 10.244.0.1:8080")]);
    }
}

#[test]
fn a_deleted_service_takes_its_address_and_entries_along() {
    let mut lab = Lab::new(Protocol::Tcp, &["10.244.0.1"]);
    lab.sync(0);
    lab.tracker.delete_service("shop", "web");
    let changes = lab.tracker.changes(Instant::ZERO, true);
    let (services, endpoints) = (lab.tracker.services(), lab.tracker.endpoints());
    let sync = lab.proxier.sync(services, endpoints, &changes, &|_, _| 5);
    assert_eq!(texts(&sync.ops, Tool::Ipvsadm), ["-D -t 10.96.0.1:80"]);
    assert_eq!(texts(&sync.ops, Tool::Ip), ["address del 10.96.0.1/32 dev kube-ipvs0"]);
    assert_eq!(
        texts(&sync.ops, Tool::Ipset),
        ["del KUBE-CLUSTER-IP 10.96.0.1,tcp:80", "del KUBE-IPVS-IPS 10.96.0.1"]
    );
    assert!(!sync.input.contains("KUBE-CLUSTER-IP dst,dst -j ACCEPT"));
}

#[test]
fn affinity_and_the_hashing_of_ports_are_options() {
    let mut lab = Lab::new(Protocol::Tcp, &[]);
    lab.sync(0);
    let mut sticky = service(Protocol::Tcp);
    sticky.spec.session_affinity = SessionAffinity::ClientIP;
    lab.tracker.set_service(&sticky);
    assert_eq!(lab.sync(0), ["-E -t 10.96.0.1:80 -s rr -p 10800"]);
    lab.proxier.config.ipvs.scheduler = "mh".into();
    lab.tracker.force_full();
    assert_eq!(lab.sync(0), ["-E -t 10.96.0.1:80 -s mh -p 10800 -b mh-port"]);
    assert_eq!(
        lab.proxier.virtual_servers().map(|(_, server, _)| server.flags()).collect::<Vec<_>>(),
        [0x11]
    );
}

#[test]
fn a_restart_corrects_weights_and_deletes_strangers_it_may() {
    let mut lab = Lab::new(Protocol::Tcp, &["10.244.0.1"]);
    let key = |addr: [u8; 4]| VirtualKey { addr: addr.into(), port: 80, protocol: Protocol::Tcp };
    let real = |addr: [u8; 4], weight| (SocketAddr::new(addr.into(), 8080), weight);
    lab.proxier.config.ipvs.exclude_cidrs =
        crate::proxy::addresses::parse_cidr("192.0.2.0/24").into_iter().collect();
    lab.proxier.adopt([
        (key([10, 96, 0, 1]), BTreeMap::from([real([10, 244, 0, 1], 0), real([10, 244, 0, 7], 1)])),
        (key([10, 96, 0, 9]), BTreeMap::new()),
        (key([192, 0, 2, 1]), BTreeMap::new()),
    ]);
    assert_eq!(
        lab.sync(0),
        [
            "-E -t 10.96.0.1:80 -s rr",
            "-e -t 10.96.0.1:80 -r 10.244.0.1:8080 -m -w 1",
            "-d -t 10.96.0.1:80 -r 10.244.0.7:8080",
            "-D -t 10.96.0.9:80"
        ]
    );
}

#[test]
fn setup_follows_the_configuration() {
    let mut config = Config::new(Family::V6, "node-a", [0xfd00, 0, 0, 0, 0, 0, 0, 2].into());
    config.ipvs.strict_arp = true;
    config.ipvs.timeouts_seconds = [900, 0, 30];
    let setup = Proxier::new(config).setup();
    assert_eq!(
        texts(&setup, Tool::Sysctl),
        [
            "net.ipv4.vs.conntrack = 1",
            "net.ipv4.vs.expire_nodest_conn = 1",
            "net.ipv4.vs.expire_quiescent_template = 1",
            "net.ipv4.ip_forward = 1",
            "net.ipv4.conf.all.arp_ignore = 1",
            "net.ipv4.conf.all.arp_announce = 2"
        ]
    );
    assert_eq!(texts(&setup, Tool::Ipvsadm), ["--set 900 0 30"]);
    assert_eq!(texts(&setup, Tool::Ip), ["link add kube-ipvs0 type dummy"]);
    let sets = texts(&setup, Tool::Ipset);
    assert_eq!(sets.len(), IpSet::ALL.len());
    assert_eq!(sets[1], "create KUBE-6-CLUSTER-IP hash:ip,port family inet6 hashsize 1024 maxelem 65536");
}
