//! Two packets of one flow in flight at once: what confirm does with the second.

use crate::conntrack::testing::{Lab, ip, seg, to, udp};
use crate::conntrack::{CtVerdict, Status};
use crate::packet::{L4, Packet, Skb, proto};
use crate::trace::{DropReason, Trace};

fn start(lab: &mut Lab, packet: Packet) -> Skb {
    let mut skb = Skb::new(packet);
    assert_eq!(lab.in_flight(&mut skb, &mut Trace::default()), CtVerdict::Accept);
    skb
}

fn finish(lab: &mut Lab, mut skb: Skb) -> CtVerdict {
    let verdict = lab.confirm(&mut skb, &mut Trace::default());
    lab.ct.release(&mut skb);
    verdict
}

#[test]
fn udp_twins_share_the_first_ones_entry() {
    let mut lab = Lab::new();
    lab.dnat = vec![(proto::UDP, 53, to(lab.server, 53))];
    let query = udp(lab.client, 5000, lab.vip, 53, 10);
    let first = start(&mut lab, query.clone());
    let second = start(&mut lab, query);
    assert_eq!(lab.ct.count(), 2);
    assert_eq!(finish(&mut lab, first), CtVerdict::Accept);
    assert_eq!(finish(&mut lab, second), CtVerdict::Accept);
    assert_eq!((lab.ct.stats.clash_resolve, lab.ct.stats.insert_failed), (1, 0));
    assert_eq!((lab.ct.count(), lab.lines().len()), (1, 1));
}

/// The DNS story: A and AAAA leave one socket at once and are sent to different pods.
#[test]
fn twins_sent_to_different_backends_both_get_their_answer() {
    let mut lab = Lab::new();
    let query = udp(lab.client, 5000, lab.vip, 53, 10);
    let (a, b) = (ip("10.0.1.2"), ip("10.0.1.3"));
    lab.dnat = vec![(proto::UDP, 53, to(a, 53))];
    let first = start(&mut lab, query.clone());
    lab.dnat = vec![(proto::UDP, 53, to(b, 53))];
    let second = start(&mut lab, query);
    assert_eq!(finish(&mut lab, first), CtVerdict::Accept);
    assert_eq!(finish(&mut lab, second), CtVerdict::Accept);
    assert_eq!(lab.ct.stats.clash_resolve, 1);
    // The loser hides from dumps, and lives for a second.
    assert_eq!((lab.ct.count(), lab.lines().len()), (2, 1));
    for pod in [b, a] {
        let reply = udp(pod, 53, lab.client, 5000, 10);
        let seen = lab.at(900).forward(reply);
        assert_eq!((seen.state(), seen.packet.ip.src), ("ESTABLISHED", lab.vip), "from {pod}");
    }
    lab.at(1001).ct.collect(crate::base::Instant::from_millis(1001));
    assert_eq!(lab.ct.count(), 1);
    assert!(!lab.entry().status.has(Status::NAT_CLASH));
}

#[test]
fn a_tcp_loser_is_dropped_and_counted_twice() {
    let mut lab = Lab::new();
    let syn = || {
        let mut s = seg("S", 1000, 0);
        (s.0.sport, s.0.dport) = (20001, 80);
        crate::conntrack::testing::packet(ip("10.0.0.50"), ip("10.0.0.200"), proto::TCP, L4::Tcp(s.0))
    };
    let first = start(&mut lab, syn());
    let second = start(&mut lab, syn());
    assert_eq!(finish(&mut lab, first), CtVerdict::Accept);
    assert_eq!(finish(&mut lab, second), CtVerdict::Drop(DropReason::InsertFailed));
    assert_eq!((lab.ct.stats.insert_failed, lab.ct.stats.drop), (1, 1));
    // Sent again, the SYN finds the winner.
    assert_eq!(lab.client(seg("S", 1000, 0)).state(), "NEW");
    assert_eq!(lab.ct.count(), 1);
}

#[test]
fn two_sources_that_chose_one_port_before_either_was_confirmed() {
    let mut lab = Lab::new();
    lab.snat = Some(crate::conntrack::testing::to_addr(ip("10.0.1.1")));
    let first = start(&mut lab, udp(ip("10.0.0.50"), 40000, ip("10.0.1.50"), 53, 1));
    let second = start(&mut lab, udp(ip("10.0.0.51"), 40000, ip("10.0.1.50"), 53, 1));
    assert_eq!(finish(&mut lab, first), CtVerdict::Accept);
    assert_eq!(finish(&mut lab, second), CtVerdict::Drop(DropReason::InsertFailed));
    assert_eq!((lab.ct.stats.insert_failed, lab.ct.stats.clash_resolve), (1, 0));
}
