//! Objects in, packets through: eBPF mode on a node, beside an iptables firewall that it goes past.

#![cfg(feature = "manifest")]

use chainwalk_engine::base::KernelVersion;
use chainwalk_engine::cluster::manifest;
use chainwalk_engine::ebpf::{Config as Programs, Ebpf};
use chainwalk_engine::packet::Family;
use chainwalk_engine::proxy::ebpf::Agent;
use chainwalk_engine::proxy::endpoints::endpoints;
use chainwalk_engine::proxy::service_port::service_ports;
use chainwalk_engine::proxy::{Changes, Config};
use chainwalk_engine::replay::{Facts, Session, line};
use chainwalk_engine::text::ebpf::{lb_list, service_list};
use chainwalk_engine::text::xt::{ParseOptions, parse};
use chainwalk_engine::trace::{Disposition, Level};

const OBJECTS: &str = "
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec:
  type: NodePort
  clusterIP: 10.96.10.20
  ports: [{name: http, port: 80, nodePort: 30080}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, namespace: shop, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{name: http, port: 8080}]
endpoints: [{addresses: [10.244.2.9], nodeName: other}]
";

fn maps(text: &str) -> Ebpf {
    let objects = manifest::parse(text).expect("objects");
    let config = Config::new(Family::V4, "this", "192.168.0.1".parse().expect("an address"));
    let services = objects.services.iter().flat_map(|s| service_ports(s, Family::V4)).collect();
    let endpoints = endpoints(&objects.slices, Family::V4, "this");
    let programs = Programs {
        devices: vec!["eth0".to_owned()],
        node_addresses: vec![config.node_ip],
        ..Programs::default()
    };
    let mut ebpf = Ebpf::new(programs, 7);
    Agent::new(config).sync(&services, &endpoints, &Changes::Everything).write(&mut ebpf);
    ebpf
}

/// A node that rejects everything in INPUT, OUTPUT and FORWARD.
fn node() -> (Session, Facts) {
    let firewall = "*filter\n:INPUT DROP [0:0]\n:FORWARD DROP [0:0]\n:OUTPUT ACCEPT [0:0]\nCOMMIT\n";
    let (ruleset, _) = parse(firewall, &ParseOptions::default());
    let mut session = Session::new(vec![ruleset], KernelVersion::default(), 1);
    session.attach(maps(OBJECTS));
    let facts = Facts {
        addresses: vec!["eth0=192.168.0.1/24".to_owned(), "lxc1=10.244.1.1/24".to_owned()],
        routes: vec!["10.244.2.0/24=192.168.0.2@eth0".to_owned(), "default=192.168.0.254@eth0".to_owned()],
        ..Facts::default()
    };
    (session, facts)
}

#[test]
fn each_kind_of_address_is_a_frontend() {
    let maps = maps(OBJECTS).maps;
    let list = service_list(&maps);
    for line in [
        "1    10.96.10.20:80/TCP      ClusterIP      1 => 10.244.2.9:8080/TCP (active)",
        "2    192.168.0.1:30080/TCP   NodePort       1 => 10.244.2.9:8080/TCP (active)",
        "3    0.0.0.0:30080/TCP       NodePort       1 => 10.244.2.9:8080/TCP (active)",
    ] {
        assert!(list.contains(line), "{list}");
    }
    assert!(lb_list(&maps).contains("0.0.0.0:0 (1) (0) [ClusterIP, non-routable]"));
}

#[test]
fn a_local_process_never_sends_to_the_service() {
    let (mut session, facts) = node();
    let spec = line::parse("tcp 192.168.0.1:40000 > 10.96.10.20:80 in local").expect("a packet");
    session.start(spec, &facts, Level::Matched).expect("a node");
    let ran = &session.sent()[0].ran;
    assert_eq!(ran.end.disposition, Disposition::Sent, "{}", ran.end.because);
    let out = &ran.emitted[0].packet;
    assert_eq!((out.ip.dst.to_string(), out.ports()), ("10.244.2.9".to_owned(), Some((40000, 8080))));
}

#[test]
fn a_node_port_goes_past_the_firewall_and_comes_back() {
    let (mut session, facts) = node();
    let spec = line::parse("tcp 203.0.113.7:40000 > 192.168.0.1:30080 in eth0").expect("a packet");
    session.start(spec, &facts, Level::Full).expect("a node");
    let ran = &session.sent()[0].ran;
    assert_eq!(ran.end.disposition, Disposition::Forwarded, "{}", ran.end.because);
    assert_eq!((ran.trace.rules_evaluated, ran.emitted[0].packet.ip.ttl), (0, 63));
    let reply = line::parse("tcp 10.244.2.9:8080 > 192.168.0.1:40000 in eth0 flags SA").expect("a packet");
    session.send(reply, Level::Full).expect("a packet that can be sent");
    let back = &session.sent()[1].ran.emitted[0].packet;
    assert_eq!(
        (back.ip.src.to_string(), back.ip.dst.to_string(), back.ports()),
        ("192.168.0.1".to_owned(), "203.0.113.7".to_owned(), Some((30080, 40000)))
    );
    // What is not for a service meets the firewall.
    let other = line::parse("tcp 203.0.113.7:40000 > 192.168.0.1:22 in eth0").expect("a packet");
    session.send(other, Level::Full).expect("a packet that can be sent");
    assert!(matches!(session.sent()[2].ran.end.disposition, Disposition::Dropped(_)));
}

#[test]
fn a_change_writes_only_what_it_concerns() {
    let config = Config::new(Family::V4, "this", "192.168.0.1".parse().expect("an address"));
    let mut agent = Agent::new(config);
    let mut ebpf = Ebpf::new(Programs::default(), 1);
    let read = |text: &str| {
        let objects = manifest::parse(text).expect("objects");
        let services = objects.services.iter().flat_map(|s| service_ports(s, Family::V4)).collect();
        (services, endpoints(&objects.slices, Family::V4, "this"))
    };
    let (services, slices) = read(OBJECTS);
    let sync = agent.sync(&services, &slices, &Changes::Everything);
    sync.write(&mut ebpf);
    agent.applied(&sync);
    // It stops being a NodePort Service; the number of what stays, stays.
    let (services, slices) = read(&OBJECTS.replace(", nodePort: 30080", ""));
    let changed = Changes::Services([("shop".to_owned(), "web".to_owned())].into());
    let sync = agent.sync(&services, &slices, &changed);
    assert_eq!((sync.set.len(), sync.removed.len()), (1, 2));
    sync.write(&mut ebpf);
    agent.applied(&sync);
    assert_eq!(service_list(&ebpf.maps).lines().count(), 2);
    let sync = agent.sync(&Default::default(), &slices, &changed);
    sync.write(&mut ebpf);
    agent.applied(&sync);
    assert_eq!((ebpf.maps.services().count(), ebpf.maps.backends().count()), (0, 0));
}
