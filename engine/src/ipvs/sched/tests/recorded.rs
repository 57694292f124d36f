//! The same packets as a kernel got: the same servers, and the same counts at the end.

use crate::base::KernelVersion;
use crate::ipvs::ServiceKey;
use crate::ipvs::sched::{SPECS, SchedFlags};
use crate::ipvs::testing::{Bench, at};
use crate::packet::{TcpFlags, proto};

const RECORDED: &str = include_str!("linux-6.12.117.txt");

/// The place of a server in the kernel's order is the last digit of its address.
fn run(head: &str, packets: &str) -> (Vec<(String, char)>, String) {
    let [name, weights, flags, vip] = head.split(' ').collect::<Vec<_>>()[..] else { panic!("{head}") };
    let weights: Vec<u32> = weights.split(',').map(|w| w.parse().expect("a weight")).collect();
    let known = SPECS.iter().flat_map(|spec| spec.flags).find(|(flag, _)| *flag == flags);
    let mut bench = Bench::with(name, &weights, KernelVersion::V6_12, |spec| {
        spec.key = ServiceKey::address(proto::TCP, vip.parse().expect("an address"), 80);
        spec.flags = known.map_or(SchedFlags::default(), |(_, flag)| *flag);
    });
    let mut chosen = Vec::new();
    for packet in packets.split(' ') {
        let (kind, rest) = packet.split_at(1);
        let client = rest.split('>').next().expect("a client");
        assert_eq!(at(client).to_string(), client);
        match kind {
            "S" => {
                let server = bench.syn(client);
                let place = server.strip_prefix("10.0.0.").and_then(|s| s.chars().next()).unwrap_or('-');
                chosen.push((client.to_owned(), place));
            }
            "A" => _ = bench.tcp(client, TcpFlags::ACK),
            "R" => _ = bench.tcp(client, TcpFlags::RST),
            other => panic!("{other}"),
        }
    }
    let service = bench.ipvs.service(&bench.key).expect("the service");
    let counts: Vec<String> =
        bench.ipvs.dests(service).map(|d| format!("{}/{}", d.active, d.inactive)).collect();
    (chosen, counts.join(" "))
}

#[test]
fn every_scheduler_chooses_as_the_kernel_did() {
    let lines: Vec<&str> = RECORDED.lines().filter(|line| !line.starts_with('#')).collect();
    let mut compared = 0;
    for case in lines.chunks(3) {
        let [head, packets, counts] = case else { panic!("{case:?}") };
        let (chosen, counted) = run(head, packets);
        let recorded = packets.split(' ').filter_map(|p| p.strip_prefix('S'));
        let ours: String = chosen.iter().map(|(_, place)| *place).collect();
        let mut theirs = String::new();
        let mut ended_early = false;
        for (entry, (client, place)) in recorded.zip(&chosen) {
            let (_, kernels) = entry.split_once('>').expect("a server");
            // An entry that is missing was refused, unless a reset ended it before the table was read.
            let reset = packets.split(' ').any(|p| p.strip_prefix('R') == Some(client));
            ended_early |= kernels == "?" && reset;
            theirs.push(match kernels {
                "?" if reset => *place,
                "?" => '-',
                server => server.chars().next().expect("a digit"),
            });
            compared += 1;
        }
        assert_eq!(ours, theirs, "{head}");
        if !ended_early {
            assert_eq!(counted, *counts, "{head}");
        }
    }
    assert!(compared > 900, "{compared} choices");
}
