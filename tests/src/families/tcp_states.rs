//! Every cell of the TCP table (kernel.md 2.6): a prelude reaches the state, one probe asks the cell.

use super::{Named, case};

/// Clients reach the server under a virtual address, so that a packet that lost its connection shows by staying
/// untranslated; counters tell which state each packet had.
pub(super) const RULES: &str = "
*mangle
-A PREROUTING -m conntrack --ctstate INVALID
-A PREROUTING -m conntrack --ctstate NEW
-A PREROUTING -m conntrack --ctstate ESTABLISHED
*nat
-A PREROUTING -d 10.96.0.1/32 -p tcp -m tcp --dport 80 -j DNAT --to-destination 10.2.0.2:8080";

const SYN: &str = "c0 10.1.0.2:40000 > 10.96.0.1:80 S seq=1000 win=64240\n";
const SYN_ACK: &str = "s0 10.2.0.2:8080 > 10.1.0.2:40000 SA seq=5000 ack=1001 win=65160\n";
const ACK: &str = "c0 10.1.0.2:40000 > 10.96.0.1:80 A seq=1001 ack=5001 win=64240\n";
const FIN: &str = "c0 10.1.0.2:40000 > 10.96.0.1:80 FA seq=1001 ack=5001 win=64240\n";
const REPLY_ACK: &str = "s0 10.2.0.2:8080 > 10.1.0.2:40000 A seq=5001 ack=1002 win=65160\n";
const REPLY_FIN: &str = "s0 10.2.0.2:8080 > 10.1.0.2:40000 FA seq=5001 ack=1002 win=65160\n";
const LAST_ACK: &str = "c0 10.1.0.2:40000 > 10.96.0.1:80 A seq=1002 ack=5002 win=64240\n";
const RST: &str = "c0 10.1.0.2:40000 > 10.96.0.1:80 R seq=1001 win=0\n";
const REPLY_SYN: &str = "s0 10.2.0.2:8080 > 10.1.0.2:40000 S seq=5000 win=65160\n";

/// State, prelude, next sequence numbers of client and server.
const STATES: &[(&str, &[&str], u32, u32)] = &[
    ("none", &[], 1001, 5001),
    ("syn-sent", &[SYN], 1001, 5001),
    ("syn-recv", &[SYN, SYN_ACK], 1001, 5001),
    ("established", &[SYN, SYN_ACK, ACK], 1001, 5001),
    ("fin-wait", &[SYN, SYN_ACK, ACK, FIN], 1002, 5001),
    ("close-wait", &[SYN, SYN_ACK, ACK, FIN, REPLY_ACK], 1002, 5001),
    ("last-ack", &[SYN, SYN_ACK, ACK, FIN, REPLY_FIN], 1002, 5002),
    ("time-wait", &[SYN, SYN_ACK, ACK, FIN, REPLY_FIN, LAST_ACK], 1002, 5002),
    ("close", &[SYN, SYN_ACK, ACK, RST], 1001, 5001),
    ("syn-sent2", &[SYN, REPLY_SYN], 1001, 5001),
];

const KINDS: &[(&str, &str)] =
    &[("syn", "S"), ("synack", "SA"), ("fin", "FA"), ("ack", "A"), ("rst", "R"), ("none", "-")];

pub(super) fn cases() -> Vec<Named> {
    let mut found = Vec::new();
    for (state, prelude, client, server) in STATES {
        for (kind, flags) in KINDS {
            let syn = flags.contains('S');
            // A new SYN begins where the old connection could not have been.
            let (own, peer) = (if syn { client + 70_000 } else { *client }, *server);
            let probe = format!("c0 10.1.0.2:40000 > 10.96.0.1:80 {flags} seq={own} ack={peer} win=64240");
            found.push(one(state, "original", kind, prelude, &probe));
            let (own, peer) = (if syn { server + 70_000 } else { *server }, *client);
            let probe = format!("s0 10.2.0.2:8080 > 10.1.0.2:40000 {flags} seq={own} ack={peer} win=65160");
            found.push(one(state, "reply", kind, prelude, &probe));
        }
    }
    found.extend(odd_flags());
    found
}

fn one(state: &str, direction: &str, kind: &str, prelude: &[&str], probe: &str) -> Named {
    let purpose = format!("TCP table: {} in the {direction} direction in state {state}", kind.to_uppercase());
    let after = "\nc0 10.1.0.2:40000 > 10.96.0.1:80 A seq=1001 ack=5001 win=64240 len=1";
    case(&format!("tcp-states/{state}-{direction}-{kind}"), &purpose)
        .rules(RULES)
        .packets(&format!("{}{probe}{after}", prelude.concat()))
}

/// The flag sets that are no TCP at all, and the ones that look odd but are legal.
fn odd_flags() -> Vec<Named> {
    [
        "-", "F", "SF", "SR", "FPU", "FSRPAU", "SAF", "RF", "U", "P", "PU", "SU", "FAU", "AU", "SP", "SEC",
        "RP", "AP", "RA",
    ]
    .iter()
    .map(|flags| {
        let name = if *flags == "-" { "null".to_string() } else { flags.to_lowercase() };
        case(
            &format!("tcp-flags/{name}"),
            &format!("flags {flags} as a first packet and on an open connection"),
        )
        .rules(RULES)
        .packets(&format!(
            "c0 10.1.0.2:40001 > 10.96.0.1:80 {flags} seq=1000 ack=0 win=64240
                     {SYN}{SYN_ACK}{ACK}
                     c0 10.1.0.2:40000 > 10.96.0.1:80 {flags} seq=1001 ack=5001 win=64240"
        ))
    })
    .collect()
}
