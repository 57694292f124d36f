//! What is assumed about a node of which only nft's rules, or IPVS's servers, are known.

use crate::base::KernelVersion;
use crate::netns::Netns;
use crate::replay::{Facts, Paste, Session, line};
use crate::trace::Level;

const ROUTER: &str = "\
table inet filter {
	chain input {
		type filter hook input priority filter; policy drop;
		iifname { \"lo\", \"lan0\" } accept
	}

	chain forward {
		type filter hook forward priority filter; policy drop;
		iifname \"lan0\" oifname \"wan0\" accept
		ct state established,related accept
	}
}
table ip nat {
	chain prerouting {
		type nat hook prerouting priority dstnat; policy accept;
		ip daddr 203.0.113.9 tcp dport 80 dnat to 10.0.0.2
		fib daddr type local tcp dport vmap { 8080 : jump web }
	}

	chain web {
		meta l4proto tcp dnat to 10.0.0.3:80
	}

	chain postrouting {
		type nat hook postrouting priority srcnat; policy accept;
		ip saddr 172.17.0.0/16 oifname != \"docker0\" masquerade
		oifname \"wan0\" masquerade
	}
}
";

/// The statements assumed, `kind value`, of those that have one.
fn assumed(text: &str, packet: &str) -> Vec<String> {
    let paste = Paste::split(text);
    let mut netns = Netns::new(KernelVersion::default(), 1);
    paste.load_before(&mut netns).expect("servers load");
    let mut session = Session::on(netns, Vec::new());
    paste.load_nft(&mut session).expect("rules load");
    let spec = line::parse(packet).expect("a packet");
    session.start(spec, &Facts::default(), Level::Off).expect("it is sent");
    let with_value = session.assumptions().iter().filter(|assumption| !assumption.value.is_empty());
    with_value.map(|assumption| assumption.value.clone()).collect()
}

#[test]
fn devices_and_the_way_out_come_from_the_rules() {
    let assumed = assumed(ROUTER, "tcp 192.168.1.7:40000 > 93.184.216.34:443 in lan0");
    assert_eq!(
        assumed,
        [
            "docker0=172.17.0.1/16",
            "lan0=192.168.1.1/24",
            "wan0=192.0.2.1/24",
            "0.0.0.0/0=192.0.2.254@wan0",
            "net.ipv4.ip_forward=1"
        ]
    );
}

#[test]
fn a_port_taken_of_local_addresses_makes_the_address_local() {
    let local = assumed(ROUTER, "tcp 198.51.100.7:40000 > 203.0.113.20:8080 in wan0");
    assert!(local.contains(&"wan0=203.0.113.20/24".to_owned()), "{local:?}");
    // An address that a mapping takes needs no device to have it.
    let mapped = assumed(ROUTER, "tcp 198.51.100.7:40000 > 203.0.113.9:80 in wan0");
    assert!(mapped.iter().all(|value| !value.contains("203.0.113.9")), "{mapped:?}");
}

#[test]
fn the_node_has_the_address_that_kube_proxy_takes_node_ports_of() {
    let text = "table ip kube-proxy {\n\tset nodeport-ips {\n\t\ttype ipv4_addr\n\t\telements = { 192.168.10.11 }\n\t}\n\
                \tmap ports {\n\t\ttype inet_service : verdict\n\t\telements = { 30080 : accept }\n\t}\n\
                \tchain services {\n\t\tip daddr @nodeport-ips th dport vmap @ports\n\t}\n\
                \tchain nat-prerouting {\n\t\ttype nat hook prerouting priority dstnat; policy accept;\n\t\tjump services\n\t}\n}\n";
    let assumed = assumed(text, "tcp 198.51.100.7:40000 > 192.168.10.11:30080 in eth0");
    assert!(assumed.contains(&"eth0=192.168.10.11/24".to_owned()), "{assumed:?}");
}

#[test]
fn a_virtual_server_is_an_address_of_the_node() {
    let servers = "-A -t 10.96.0.10:80 -s rr\n-a -t 10.96.0.10:80 -r 10.244.2.7:8080 -m -w 1\n";
    let assumed = assumed(servers, "tcp 10.1.0.2:40000 > 10.96.0.10:80 in eth0");
    assert!(assumed.contains(&"lo=10.96.0.10/32".to_owned()), "{assumed:?}");
    assert!(assumed.contains(&"net.ipv4.ip_forward=1".to_owned()), "{assumed:?}");
}
