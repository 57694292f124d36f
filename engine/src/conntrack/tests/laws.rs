//! Laws that hold whatever comes: no panic, nothing leaks, answers find their way back, equal seeds give
//! equal runs.

use crate::base::{Instant, KernelVersion, Rng};
use crate::conntrack::testing::{LINUX_SYN, Lab, icmp, ip, packet, seg, to, to_addr, udp};
use crate::conntrack::{CtVerdict, NatFlags, NatRange};
use crate::packet::{L4, Packet, Skb, proto};
use crate::trace::{Level, Trace};

const FLAGS: [&str; 10] = ["S", "SA", "A", "PA", "FA", "R", "RA", "SF", "", "FPU"];

fn any_packet(rng: &mut Rng, lab: &Lab) -> Packet {
    let hosts = [lab.client, lab.vip, lab.server, ip("10.0.1.1"), ip("10.0.0.77")];
    let mut host = || hosts[rng.below(5) as usize];
    let (src, dst) = (host(), host());
    let ports = [20001, 80, 8080, 53, 53_001];
    let (sport, dport) = (ports[rng.below(5) as usize], ports[rng.below(5) as usize]);
    match rng.below(10) {
        0..=5 => {
            let flags = FLAGS[rng.below(10) as usize];
            let near = [1000, 1001, 5000, 5001, rng.next_u32()];
            let (seq, ack) = (near[rng.below(5) as usize], near[rng.below(5) as usize]);
            let mut s = seg(flags, seq, ack).win(rng.next_u32() as u16).len(rng.below(3) as usize * 500);
            if rng.below(2) == 0 {
                s = s.opts(&LINUX_SYN);
            }
            if rng.below(20) == 0 {
                s = s.opts(&[5, 255, 3, 0, 1]);
            }
            (s.0.sport, s.0.dport) = (sport, dport);
            packet(src, dst, proto::TCP, L4::Tcp(s.0))
        }
        6 | 7 => udp(src, sport, dst, dport, 4),
        8 => {
            let bytes = (0..rng.below(60)).map(|_| rng.next_u32() as u8).collect();
            icmp(src, dst, rng.below(20) as u8, 0, 7, bytes)
        }
        _ => {
            let bytes: Vec<u8> = (0..rng.below(24)).map(|_| rng.next_u32() as u8).collect();
            let number = [proto::GRE, proto::UDPLITE, proto::ESP, proto::TCP, 200][rng.below(5) as usize];
            let l4 = if rng.below(4) == 0 { L4::Truncated(bytes) } else { L4::Raw(bytes) };
            packet(src, dst, number, l4)
        }
    }
}

fn any_mapping(rng: &mut Rng, lab: &mut Lab) {
    lab.snat = match rng.below(5) {
        0 => None,
        1 => Some(to_addr(ip("10.0.1.1"))),
        2 => Some(NatRange { ports: Some((2000, 2001)), ..to_addr(ip("10.0.1.1")) }),
        3 => Some(NatRange {
            flags: NatFlags { random_fully: true, ..NatFlags::default() },
            ..to_addr(ip("10.0.1.1"))
        }),
        _ => Some(NatRange { addrs: Some((ip("10.0.1.1"), ip("10.0.1.9"))), ..NatRange::default() }),
    };
    lab.dnat = vec![(proto::TCP, 80, to(lab.server, 8080)), (proto::UDP, 53, to_addr(lab.server))];
}

/// Plays `steps` random packets, some of them interleaved, and returns what was emitted as text.
fn play(kernel: KernelVersion, seed: u64, steps: u64) -> (Lab, String) {
    let mut lab = Lab::with_kernel(kernel);
    let mut rng = Rng::new(seed);
    lab.set("max", 64).set("buckets", 32);
    lab.ct.listen(true);
    let mut held: Vec<Skb> = Vec::new();
    let mut told = String::new();
    for step in 0..steps {
        lab.at(step * 400);
        any_mapping(&mut rng, &mut lab);
        let mut skb = Skb::new(any_packet(&mut rng, &lab));
        let mut trace = Trace::new(if step % 3 == 0 { Level::Full } else { Level::Off });
        let verdict = lab.in_flight(&mut skb, &mut trace);
        told.push_str(&format!("{verdict:?} {:?} {:?}\n", skb.ct_info, skb.packet));
        if verdict == CtVerdict::Accept && rng.below(4) == 0 {
            held.push(skb);
        } else {
            if verdict == CtVerdict::Accept && rng.below(8) != 0 {
                let _ = lab.confirm(&mut skb, &mut trace);
            }
            lab.ct.release(&mut skb);
        }
        if held.len() > 3 {
            let mut skb = held.swap_remove(rng.below(3) as usize);
            let _ = lab.confirm(&mut skb, &mut trace);
            lab.ct.release(&mut skb);
        }
        if step % 97 == 96 {
            lab.ct.flush(lab.now);
        }
    }
    for mut skb in held {
        lab.ct.release(&mut skb);
    }
    told.push_str(&format!("{:?}\n{:?}\n", lab.ct.stats, lab.lines()));
    (lab, told)
}

#[test]
fn nothing_leaks_and_nothing_panics() {
    for kernel in KernelVersion::ALL {
        for seed in 0..8 {
            let (mut lab, _) = play(kernel, seed, 600);
            let far = Instant(lab.now.0 + 10_u64.pow(15));
            lab.ct.collect(far);
            assert_eq!(lab.ct.count(), 0, "kernel {kernel} seed {seed}");
            assert_eq!(lab.ct.entries(far).count(), 0, "kernel {kernel} seed {seed}");
        }
    }
}

#[test]
fn equal_seeds_give_equal_runs() {
    for seed in 0..4 {
        let (first, second) =
            (play(KernelVersion::V6_18, seed, 400).1, play(KernelVersion::V6_18, seed, 400).1);
        assert!(first == second, "seed {seed}");
    }
}

#[test]
fn both_tuples_of_every_entry_lead_to_it() {
    for seed in 0..8 {
        let (mut lab, _) = play(KernelVersion::V6_18, seed, 500);
        for at in lab.ct.refs(lab.now).collect::<Vec<_>>() {
            let entry = lab.ct.entry(at).expect("listed").clone();
            for tuple in [entry.original, entry.reply] {
                let found = lab.ct.find(&tuple, entry.zone, lab.now).map(|(at, _)| at);
                assert_eq!(found, Some(at), "seed {seed}: {tuple:?}");
            }
            let mapped = entry.original.invert() != Some(entry.reply);
            let flagged = entry.status.has(super::super::Status::SRC_NAT.with(super::super::Status::DST_NAT));
            assert_eq!(mapped, flagged, "seed {seed}: {}", entry.line(lab.now));
        }
    }
}
