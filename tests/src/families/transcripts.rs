//! The measured transcripts (`golden-6.18`: c1, t1, t2, t3, t7) as cases, recorded again here.

use super::tcp_states::RULES;
use super::{Named, case};

pub(super) fn cases() -> Vec<Named> {
    vec![
        c1(),
        c1_close(),
        t1(),
        t1_strays(),
        t1_retransmits(),
        t2_clients(),
        t2_ports(),
        t2_first_packet(),
        t3(),
        t7("", "leak"),
        t7("*filter\n-A FORWARD -m conntrack --ctstate INVALID -j DROP", "drop-invalid"),
        t7_liberal(),
        t7_icmp(),
    ]
}

fn c1() -> Named {
    case("transcript/c1-udp", "conntrack entries of UDP: unreplied, replied, and assured after two seconds")
        .rules("*nat\n-A PREROUTING -d 10.96.0.100/32 -p udp -m udp --dport 53 -j DNAT --to-destination 10.2.0.2:53\n-A POSTROUTING -o s0 -j MASQUERADE")
        .packets(
            "c0 udp 10.1.0.2:40000 > 10.96.0.100:5353 len=1
             c0 udp 10.1.0.2:40001 > 10.96.0.100:53 len=1
             s0 udp 10.2.0.2:53 > 10.2.0.1:40001 len=20
             c0 udp 10.1.0.2:40002 > 10.96.0.100:53 len=1
             s0 udp 10.2.0.2:53 > 10.2.0.1:40002 len=20
             @2200 c0 udp 10.1.0.2:40001 > 10.96.0.100:53 len=1
             s0 udp 10.2.0.2:53 > 10.2.0.1:40001 len=20",
        )
}

fn c1_close() -> Named {
    case("transcript/c1-tcp", "a whole TCP connection through DNAT and masquerade, and a refused one")
        .rules("*nat\n-A PREROUTING -d 10.96.0.100/32 -p tcp -m tcp --dport 8080 -j DNAT --to-destination 10.2.0.2:80\n-A POSTROUTING -o s0 -j MASQUERADE")
        .packets(
            "c0 10.1.0.2:41000 > 10.96.0.100:8080 S seq=1000 win=64240 mss=1460 ws=7 sack
             s0 10.2.0.2:80 > 10.2.0.1:41000 SA seq=5000 ack=1001 win=65160 mss=1460 ws=7 sack
             c0 10.1.0.2:41000 > 10.96.0.100:8080 A seq=1001 ack=5001 win=502
             c0 10.1.0.2:41000 > 10.96.0.100:8080 PA seq=1001 ack=5001 win=502 len=2
             s0 10.2.0.2:80 > 10.2.0.1:41000 A seq=5001 ack=1003 win=510
             s0 10.2.0.2:80 > 10.2.0.1:41000 PA seq=5001 ack=1003 win=510 len=30
             c0 10.1.0.2:41000 > 10.96.0.100:8080 A seq=1003 ack=5031 win=502
             c0 10.1.0.2:41000 > 10.96.0.100:8080 FA seq=1003 ack=5031 win=502
             s0 10.2.0.2:80 > 10.2.0.1:41000 FA seq=5031 ack=1004 win=510
             c0 10.1.0.2:41000 > 10.96.0.100:8080 A seq=1004 ack=5032 win=502
             c0 10.1.0.2:41001 > 10.96.0.100:8081 S seq=1000 win=64240
             s0 10.96.0.100:8081 > 10.2.0.1:41001 RA seq=0 ack=1001 win=0",
        )
}

fn t1() -> Named {
    case("transcript/t1-window", "probes of the TCP tracker on one connection through a DNAT router")
        .rules(RULES)
        .packets(
            "c0 10.1.0.2:20001 > 10.96.0.1:80 S seq=1000 win=64240 mss=1460 ws=7 sack
             s0 10.2.0.2:8080 > 10.1.0.2:20001 SA seq=5000 ack=1001 win=65160 mss=1460 ws=7 sack
             c0 10.1.0.2:20001 > 10.96.0.1:80 A seq=1001 ack=5001 win=502
             s0 10.2.0.2:8080 > 10.1.0.2:20001 PA seq=5001 ack=1001 win=509 len=1000
             c0 10.1.0.2:20001 > 10.96.0.1:80 A seq=1001 ack=6001 win=502
             c0 10.1.0.2:20001 > 10.96.0.1:80 PA seq=4294768297 ack=6001 win=502 len=10
             s0 10.2.0.2:8080 > 10.1.0.2:20001 PA seq=10005001 ack=1001 win=509 len=10
             s0 10.2.0.2:8080 > 10.1.0.2:20001 A seq=6001 ack=501001 win=509
             c0 10.1.0.2:20001 > 10.96.0.1:80 A seq=1001 ack=4294873297 win=502
             s0 10.2.0.2:8080 > 10.1.0.2:20001 R seq=5500 win=0
             s0 10.2.0.2:8080 > 10.1.0.2:20001 R seq=6501 win=0
             c0 10.1.0.2:20001 > 10.96.0.1:80 PA seq=1001 ack=6001 win=502 len=10
             c0 10.1.0.2:20001 > 10.96.0.1:80 S seq=900000 win=64240 mss=1460 ws=7 sack
             s0 10.2.0.2:8080 > 10.1.0.2:20001 A seq=6001 ack=1011 win=509
             c0 10.1.0.2:20001 > 10.96.0.1:80 R seq=1011 win=0",
        )
}

fn t1_strays() -> Named {
    case("transcript/t1-strays", "packets without an entry and packets that are no TCP").rules(RULES).packets(
        "s0 10.2.0.2:8080 > 10.1.0.2:20004 SA seq=5000 ack=1001
             c0 10.1.0.2:20004 > 10.96.0.1:80 FA seq=5000 ack=1001
             c0 10.1.0.2:20004 > 10.96.0.1:80 R seq=5000
             c0 10.1.0.2:20004 > 10.96.0.1:80 SF seq=5000
             c0 10.1.0.2:20004 > 10.96.0.1:80 - seq=5000",
    )
}

fn t1_retransmits() -> Named {
    let again = "c0 10.1.0.2:20005 > 10.96.0.1:80 PA seq=1001 ack=5001 win=502 len=5\n".repeat(5);
    case("transcript/t1-retransmits", "SYN and data sent again, a closed window, an open one")
        .rules(RULES)
        .packets(&format!(
            "c0 10.1.0.2:20005 > 10.96.0.1:80 S seq=1000 win=64240 mss=1460 ws=7 sack
         @2000 c0 10.1.0.2:20005 > 10.96.0.1:80 S seq=1000 win=64240 mss=1460 ws=7 sack
         s0 10.2.0.2:8080 > 10.1.0.2:20005 SA seq=5000 ack=1001 win=65160 mss=1460 ws=7 sack
         c0 10.1.0.2:20005 > 10.96.0.1:80 A seq=1001 ack=5001 win=502
         {again}
         s0 10.2.0.2:8080 > 10.1.0.2:20005 A seq=5001 ack=1006 win=0
         s0 10.2.0.2:8080 > 10.1.0.2:20005 A seq=5001 ack=1006 win=500"
        ))
}

fn t2_clients() -> Named {
    case(
        "transcript/t2-clients",
        "three clients with one source port behind masquerade, then other ports of the server",
    )
    .rules("*nat\n-A POSTROUTING -o s0 -j MASQUERADE")
    .packets(
        "c0 10.1.0.50:33333 > 10.2.0.2:80 S seq=50000
             c0 10.1.0.51:33333 > 10.2.0.2:80 S seq=51000
             c0 10.1.0.52:33333 > 10.2.0.2:80 S seq=52000
             c0 10.1.0.50:33333 > 10.2.0.2:81 S seq=1
             c0 10.1.0.51:33333 > 10.2.0.2:82 S seq=1",
    )
}

fn t2_ports() -> Named {
    case("transcript/t2-port-range", "four ports for six clients: two are lost at confirm")
        .rules("*nat\n-A POSTROUTING -o s0 -p udp -j MASQUERADE --to-ports 2000-2003")
        .packets(
            "c0 udp 10.1.0.50:35000 > 10.2.0.2:53 len=1
             c0 udp 10.1.0.51:35000 > 10.2.0.2:53 len=1
             c0 udp 10.1.0.52:35000 > 10.2.0.2:53 len=1
             c0 udp 10.1.0.53:35000 > 10.2.0.2:53 len=1
             c0 udp 10.1.0.54:35000 > 10.2.0.2:53 len=1
             c0 udp 10.1.0.55:35000 > 10.2.0.2:53 len=1",
        )
}

fn t2_first_packet() -> Named {
    case("transcript/t2-first-packet", "five datagrams of one flow, one hit on the nat rule")
        .rules("*nat\n-A PREROUTING -p udp -m udp --dport 5300 -j DNAT --to-destination 10.2.0.50:53")
        .packets(&"c0 udp 10.1.0.50:36000 > 10.1.0.1:5300 len=1\n".repeat(5))
}

fn t3() -> Named {
    let mut rules = String::from("*filter\n");
    let kinds = [
        "icmp-net-unreachable",
        "icmp-host-unreachable",
        "icmp-port-unreachable",
        "icmp-proto-unreachable",
        "icmp-net-prohibited",
        "icmp-host-prohibited",
        "icmp-admin-prohibited",
    ];
    let mut script = String::new();
    for (index, kind) in kinds.iter().enumerate() {
        rules += &format!("-A FORWARD -p tcp -m tcp --dport {} -j REJECT --reject-with {kind}\n", 80 + index);
        script += &format!("c0 10.1.0.{}:4000 > 10.2.0.2:{} S seq=1000\n", 10 + index, 80 + index);
    }
    rules += "-A FORWARD -p tcp -m tcp --dport 90 -j REJECT --reject-with tcp-reset\n-A FORWARD -p tcp -m tcp --dport 91 -j DROP";
    script += "c0 10.1.0.20:4000 > 10.2.0.2:90 S seq=1000\nc0 10.1.0.20:4000 > 10.2.0.2:91 S seq=1000";
    case("transcript/t3-reject", "what each kind of REJECT puts on the wire").rules(&rules).packets(&script)
}

const RESET: &str = "c0 10.1.0.2:40000 > 10.96.0.1:80 S seq=1000 win=64240 mss=1460 ws=7 sack
s0 10.2.0.2:8080 > 10.1.0.2:40000 SA seq=5000 ack=1001 win=65160 mss=1460 ws=7 sack
c0 10.1.0.2:40000 > 10.96.0.1:80 A seq=1001 ack=5001 win=502
c0 10.1.0.2:40000 > 10.96.0.1:80 PA seq=1001 ack=5001 win=502 len=5
s0 10.2.0.2:8080 > 10.1.0.2:40000 PA seq=5001 ack=1006 win=510 len=29
c0 10.1.0.2:40000 > 10.96.0.1:80 A seq=1006 ack=5030 win=502
s0 10.2.0.2:8080 > 10.1.0.2:40000 A seq=50005030 ack=1006 win=500
# the client's stack answers the stranger
c0 10.1.0.2:40000 > 10.2.0.2:8080 R seq=1006 win=0
c0 10.1.0.2:40000 > 10.96.0.1:80 PA seq=1006 ack=5030 win=502 len=5
# the server has closed
s0 10.2.0.2:8080 > 10.1.0.2:40000 R seq=5030 win=0";

fn t7(filter: &str, name: &str) -> Named {
    case(
        &format!("transcript/t7-{name}"),
        "the reset of 2019: an INVALID reply leaks untranslated, or is dropped",
    )
    .rules(&format!("{RULES}\n{filter}"))
    .packets(RESET)
}

fn t7_liberal() -> Named {
    case("transcript/t7-liberal", "the reset of 2019 does not happen with tcp_be_liberal")
        .rules(RULES)
        .sysctl("net.netfilter.nf_conntrack_tcp_be_liberal", "1")
        .packets(RESET)
}

fn t7_icmp() -> Named {
    case("transcript/t7-icmp", "a closed UDP port behind DNAT: the client sees the address it asked")
        .rules("*nat\n-A PREROUTING -d 10.96.0.1/32 -p udp -j DNAT --to-destination 10.2.0.2")
        .packets(
            "c0 udp 10.1.0.2:45000 > 10.96.0.1:4444 len=1
             s0 icmp 10.2.0.2 > 10.1.0.2 3/3 about=udp,10.1.0.2:45000,10.2.0.2:4444,len=1,ttl=63",
        )
}
