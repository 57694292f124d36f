//! Clusters to try. The page knows their names; the manifests are in the engine's worker.

use super::ask::PlanesState;

/// Names in the order they are offered.
pub(super) const NAMES: [&str; 7] = [
    "ClusterIP, 3 endpoints",
    "NodePort, policy Local",
    "Session affinity",
    "Dual stack",
    "Without endpoints",
    "Topology hints",
    "1,000 Services",
];

/// Number of the sample that a first visit begins with.
pub(super) const FIRST: u32 = 0;

const FROM_POD: &str = "tcp 10.244.0.200:40001 > 10.96.10.20:80 in pod0";

/// The page as a sample fills it.
pub(super) fn state(number: usize) -> PlanesState {
    let (text, packet, crowd) = match number {
        1 => (
            include_str!("../../samples/planes/node-port-local.yaml"),
            "tcp 198.51.100.24:40001 > 192.168.10.11:30080 in eth0",
            0,
        ),
        2 => (include_str!("../../samples/planes/affinity.yaml"), FROM_POD, 0),
        3 => (
            include_str!("../../samples/planes/dual-stack.yaml"),
            "tcp [fd00:10:244::200]:40001 > [fd00:10:96::1020]:80 in pod0",
            0,
        ),
        4 => (include_str!("../../samples/planes/no-endpoints.yaml"), FROM_POD, 0),
        5 => (include_str!("../../samples/planes/topology.yaml"), FROM_POD, 0),
        6 => (include_str!("../../samples/planes/cluster-ip.yaml"), FROM_POD, 1_000),
        _ => (include_str!("../../samples/planes/cluster-ip.yaml"), FROM_POD, 0),
    };
    PlanesState {
        text: text.to_owned(),
        crowd,
        node: "node-a".to_owned(),
        plane: 0,
        packet: packet.to_owned(),
        connection: 1,
    }
}
