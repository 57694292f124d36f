//! Links survive the trip, and broken ones give what they still hold.

use super::*;
use crate::protocol::NodeFacts;

fn state() -> SharedState {
    let rules: String = (0..200).map(|n| format!("-A INPUT -p tcp --dport {n} -j ACCEPT\n")).collect();
    SharedState {
        packet: "tcp 10.1.0.2:40000 > 10.96.0.1:80 in eth0".to_owned(),
        follow: vec![Follow::Reply, Follow::Again],
        shown: (1, 14),
        family: FamilyChoice::V6,
        facts: NodeFacts {
            ip_addr: "1: lo\n2: eth0\n".to_owned(),
            ip_route: "default via 10.0.0.254 dev eth0".to_owned(),
            addresses: vec!["eth0=10.0.0.1/24".to_owned()],
            routes: vec!["default=10.0.0.254@eth0".to_owned()],
            sysctls: vec!["net.ipv4.ip_forward=1".to_owned()],
        },
        rules: format!("*filter\n{rules}COMMIT\n# ünï"),
    }
}

#[test]
fn a_state_survives_its_link() {
    for state in [state(), SharedState::default()] {
        assert_eq!(read(&write(&state)), (Some(state), Vec::new()));
    }
}

#[test]
fn a_link_is_short() {
    let link = write(&state());
    assert!(link.len() < 1200, "{} characters", link.len());
    assert!(link.is_ascii());
}

#[test]
fn a_link_cut_anywhere_keeps_what_arrived_and_says_so() {
    let link = write(&state());
    for cut in 0..link.len() {
        let (read, problems) = read(&link[..cut]);
        // The last character or two carry only the end of the compressed stream.
        assert!(!problems.is_empty() || read == Some(state()), "cut at {cut}");
        if let Some(read) = read {
            assert!(state().packet.starts_with(&read.packet), "cut at {cut}: {read:?}");
            assert!(state().rules.starts_with(&read.rules), "cut at {cut}");
        }
    }
    let (half, problems) = read(&link[..link.len() / 2]);
    let half = half.expect("half a link holds the packet");
    assert_eq!(half.packet, state().packet);
    assert!(half.rules.len() > 500, "{} bytes of rules", half.rules.len());
    assert!(problems[0].message.contains("was cut"), "{problems:?}");
}

#[test]
fn other_things_after_the_hash_are_named() {
    for (link, words) in [
        ("", "not a link"),
        ("v9.abc", "another version"),
        ("hello", "not a link"),
        ("v1.", "cut so short"),
        ("v1.!!!", "no link has"),
        ("v1.AAAA", "cut so short"),
    ] {
        let (state, problems) = read(link);
        assert_eq!(state, None, "{link}");
        assert!(problems[0].message.contains(words), "{link}: {problems:?}");
    }
}

#[test]
fn damage_is_noticed() {
    let link = write(&state());
    let mut noticed = 0;
    for at in VERSION.len()..link.len() {
        let mut damaged = link.clone().into_bytes();
        damaged[at] = if damaged[at] == b'A' { b'B' } else { b'A' };
        let damaged = String::from_utf8(damaged).expect("ascii");
        let (read, problems) = read(&damaged);
        assert!(!problems.is_empty() || read == Some(state()), "damage at {at} went unnoticed");
        noticed += usize::from(!problems.is_empty());
    }
    assert!(noticed > link.len() / 2);
}
