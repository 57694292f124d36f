//! The lists and dumps, byte by byte.

use super::*;
use crate::base::Duration;
use crate::ebpf::{Backend, Config, Ebpf, Spec};
use crate::packet::proto;

fn backend(addr: &str, state: BackendState) -> Backend {
    Backend { addr: addr.parse().expect("an address"), port: 6443, proto: proto::TCP, state, weight: 1 }
}

fn spec(kind: Kind) -> Spec {
    Spec { kind, affinity: None, external_local: false, internal_local: false, source_ranges: Vec::new() }
}

fn maps() -> Maps {
    let mut ebpf = Ebpf::new(Config::default(), 1);
    let frontend = |addr: &str, port| Frontend {
        addr: addr.parse().expect("an address"),
        port,
        proto: proto::TCP,
        scope: Scope::External,
    };
    let (one, two) =
        (backend("172.18.0.3", BackendState::Active), backend("172.18.0.4", BackendState::Active));
    ebpf.set(frontend("10.96.0.1", 443), spec(Kind::ClusterIp), &[one, two]);
    let local =
        Spec { external_local: true, affinity: Some(Duration::from_secs(10_800)), ..spec(Kind::NodePort) };
    ebpf.set(frontend("0.0.0.0", 30080), local, &[backend("172.18.0.3", BackendState::Terminating)]);
    ebpf.maps
}

#[test]
fn the_agents_list() {
    let wanted = "\
ID   Frontend            Service Type   Backend
1    10.96.0.1:443/TCP   ClusterIP      1 => 172.18.0.3:6443/TCP (active)
                                        2 => 172.18.0.4:6443/TCP (active)
2    0.0.0.0:30080/TCP   NodePort       1 => 172.18.0.3:6443/TCP (active)
";
    // Backends are shared: the state written last holds everywhere.
    assert_eq!(service_list(&maps()), wanted.replace("3:6443/TCP (active)", "3:6443/TCP (terminating)"));
}

#[test]
fn the_programs_list() {
    let wanted = "\
SERVICE ADDRESS   BACKEND ADDRESS (REVNAT_ID) (SLOT)
0.0.0.0:30080     172.18.0.3:6443 (2) (1)
                  0.0.0.0:0 (2) (0) [NodePort, Local, two-scopes, sessionAffinity]
10.96.0.1:443     172.18.0.3:6443 (1) (1)
                  172.18.0.4:6443 (1) (2)
                  0.0.0.0:0 (1) (0) [ClusterIP, non-routable]
";
    assert_eq!(lb_list(&maps()), wanted);
}

#[test]
fn bytes_of_the_maps() {
    let dump = |name| map_dump(&maps(), MapName::parse(name).expect("a known map"));
    let services = dump("cilium_lb4_services_v2");
    assert!(
        services.contains(
            "key: 0a 60 00 01 01 bb 00 00 06 00 00 00  value: 00 00 00 00 02 00 00 01 00 00 00 00\n"
        ),
        "{services}"
    );
    assert!(
        services.contains(
            "key: 0a 60 00 01 01 bb 02 00 06 00 00 00  value: 02 00 00 00 00 00 00 01 00 00 00 00\n"
        ),
        "{services}"
    );
    assert!(services.ends_with("Found 5 elements\n"), "{services}");
    assert!(
        dump("cilium_lb4_backends_v3")
            .starts_with("key: 01 00 00 00  value: ac 12 00 03 19 2b 06 01 00 00 00 00\n")
    );
    assert_eq!(dump("cilium_lb6_reverse_nat"), "Found 0 elements\n");
    assert_eq!(MapName::parse("cilium_lb4_maglev"), None);
}
