//! The transcripts of `../shared/golden-6.18`, read as they were written down and played again on the emulator:
//! `t1` packet by packet, `t2` by port class, `t3` by ICMP code, `t6` by what a listener to nftables' traces hears, `t7`
//! by what reaches either side. The files are not part of the project: without them this is skipped, saying so.

#![expect(clippy::print_stdout, reason = "a test says what it skipped")]

use std::path::Path;

use chainwalk_tests::case::{CaseFile, Run};
use chainwalk_tests::emulator;
use chainwalk_tests::frame::Seen;
use chainwalk_tests::replay::{Case, Interface, Node, Packet, Setup, address, sysctls, text};
use chainwalk_tests::script;

const LIST: &str = "conntrack -L";

fn golden(name: &str) -> Option<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/golden-6.18").join(name);
    let found = std::fs::read_to_string(path).ok();
    if found.is_none() {
        println!("skipped: golden-6.18/{name} is not here");
    }
    found
}

/// The router of the transcripts: clients in 10.0.0.0/24 behind `rc`, servers in 10.0.1.0/24 behind `rs`.
fn run(rules: &str, sysctl: &[(&str, &str)], packets: &[Packet]) -> Run {
    let interface = |name: &str, address: &str| Interface {
        name: name.into(),
        addresses: vec![address.into()],
        ..Interface::default()
    };
    let mut settings = vec![("net.ipv4.ip_forward", "1")];
    settings.extend(sysctl);
    let node = Node {
        interfaces: vec![interface("rc", "10.0.0.1/24"), interface("rs", "10.0.1.1/24")],
        sysctls: sysctls(&settings),
        setup: vec![Setup { run: "iptables-legacy-restore".into(), stdin: format!("{rules}COMMIT\n") }],
        ..Node::default()
    };
    let case = Case {
        format: "chainwalk.replay/1".into(),
        seed: 1,
        node,
        packets: packets.to_vec(),
        draws: Vec::new(),
        show: vec![LIST.into()],
    };
    let file = CaseFile { purpose: String::new(), case, links: Vec::new(), recorded: None };
    emulator::run(&file).expect("everything here is emulated")
}

/// `TCP 10.0.0.50:20001>10.0.0.200:80 [SA] seq=1000 ack=0 win=64240 len=0`
fn packet(text_: &str) -> Option<Packet> {
    let mut words = text_.split_whitespace();
    let proto = words.next()?.to_lowercase();
    let (from, to) = words.next()?.split_once('>')?;
    let end = |text: &str| {
        let (host, port) = text.split_once(':')?;
        Some((address(host), port.parse::<u16>().ok()?))
    };
    let ((src, sport), (dst, dport)) = (end(from)?, end(to)?);
    let mut packet = Packet {
        proto: Some(text(&proto)),
        src: Some(src),
        dst: Some(dst),
        sport: Some(sport),
        dport: Some(dport),
        ..Packet::default()
    };
    for word in words {
        if let Some(flags) = word.strip_prefix('[') {
            packet.flags = Some(flags.trim_end_matches(']').into());
        }
        let Some((name, value)) = word.split_once('=') else { continue };
        let value: u32 = value.parse().ok()?;
        match name {
            "seq" => packet.seq = Some(value),
            "ack" => packet.ack = Some(value),
            "win" => packet.win = Some(value as u16),
            "len" => packet.len = Some(value as u16),
            _ => return None,
        }
    }
    Some(packet)
}

fn letters(flags: Option<&str>) -> Vec<char> {
    let mut letters: Vec<char> = flags.unwrap_or_default().chars().collect();
    letters.sort_unstable();
    letters
}

fn same(wanted: &Packet, seen: &Seen) -> bool {
    wanted.src.map(|a| a.to_string()).as_deref() == Some(&seen.src)
        && wanted.dst.map(|a| a.to_string()).as_deref() == Some(&seen.dst)
        && (wanted.sport, wanted.dport, wanted.seq, wanted.ack, wanted.win)
            == (seen.sport, seen.dport, seen.seq, seen.ack, seen.win)
        && letters(wanted.flags.as_deref()) == letters(seen.flags.as_deref())
        && wanted.len == Some(seen.len)
}

/// Seconds left, and the rest of a connection line.
fn entry(line: &str) -> (i64, String) {
    let words: Vec<&str> = line.split_whitespace().filter(|word| !word.starts_with("use=")).collect();
    let seconds = words.get(2).and_then(|word| word.parse().ok()).unwrap_or(-1);
    let rest = words.iter().enumerate().filter(|(at, _)| *at != 2).map(|(_, word)| *word);
    (seconds, rest.collect::<Vec<_>>().join(" "))
}

#[test]
fn t1_the_tcp_tracker_packet_by_packet() {
    let Some(golden) = golden("t1.out") else { return };
    let rules = "*nat\n-A PREROUTING -d 10.0.0.200/32 -p tcp -m tcp --dport 80 -j DNAT --to-destination 10.0.1.50:8080\n";
    let lines: Vec<&str> = golden.lines().collect();
    let (mut packets, mut compared, mut at_ms, mut section) = (Vec::<Packet>::new(), 0, 0, "");
    for (at, line) in lines.iter().enumerate() {
        if let Some(title) = line.strip_prefix("== ") {
            section = title;
        }
        let Some((tag, sent)) = line.split_once(" sent ") else { continue };
        let mut sent = packet(sent).unwrap_or_else(|| panic!("{line}"));
        let client = sent.src == Some(address("10.0.0.50"));
        sent.input = if client { "rc" } else { "rs" }.into();
        if sent.flags.as_deref().is_some_and(|f| f == "S" || f == "SA") && !section.starts_with("T4") {
            (sent.mss, sent.wscale, sent.sack_ok) = (Some(1460), Some(7), Some(true));
        }
        at_ms += if tag.trim() == "SYN re" { 2000 } else { 20 };
        sent.at_ms = at_ms;
        let port = if client { sent.sport } else { sent.dport };
        packets.push(sent);
        let run = run(rules, &[], &packets);
        let far = if client { "rs" } else { "rc" };
        let seen = &run.packets.last().expect("one was sent").emitted;
        let seen: Vec<&Seen> = seen.iter().filter(|seen| seen.dev == far).collect();
        let wanted = lines[at + 1].split_once("['").and_then(|(head, rest)| {
            head.trim_end().ends_with("->").then(|| packet(rest.split('\'').next().unwrap_or_default()))?
        });
        match &wanted {
            Some(wanted) => assert!(seen.len() == 1 && same(wanted, seen[0]), "{line}\n{wanted:?}\n{seen:?}"),
            None => assert!(seen.is_empty(), "{line}\n{seen:?}"),
        }
        let listed =
            run.show[LIST].lines().find(|line| line.contains(&format!("sport={} ", port.unwrap_or(0))));
        let wanted = lines[at + 2].split_once("ct: ").map_or("", |(_, entry)| entry.trim());
        let (theirs, ours) = (entry(wanted), entry(listed.unwrap_or_default()));
        assert!((theirs.0 - ours.0).abs() <= 1 && theirs.1 == ours.1, "{line}\n{theirs:?}\n{ours:?}");
        compared += 1;
    }
    assert!(compared >= 35, "{compared} packets compared");
}

/// nf_nat_core.c: below 512, 512 to 1023, above.
fn class(port: u16) -> u8 {
    match port {
        0..=511 => 0,
        512..=1023 => 1,
        _ => 2,
    }
}

/// The source ports of the packets that one section of a transcript shows, none where nothing came out.
fn ports(golden: &str, title: &str) -> Vec<Option<u16>> {
    let lines = golden.lines().skip_while(|line| !line.starts_with(&format!("## {title}"))).skip(1);
    lines
        .take_while(|line| !line.starts_with("## "))
        .filter(|line| line.contains('['))
        .filter(|line| !line.contains("src="))
        .map(|line| {
            let first = line.split_once("['")?.1.split('\'').next()?;
            packet(first)?.sport
        })
        .collect()
}

#[test]
fn t2_ports_of_masquerade_by_class() {
    let Some(golden) = golden("t2.out") else { return };
    let plain = "*nat\n-A POSTROUTING -o rs -j MASQUERADE\n";
    let some = |range: &str, proto: &str| {
        format!("*nat\n-A POSTROUTING -o rs -p {proto} -j MASQUERADE --to-ports {range}\n")
    };
    let clients = |ports: &[u16], dport: u16, hosts: std::ops::Range<u8>| -> String {
        let each = ports.iter().flat_map(|port| hosts.clone().map(move |host| (*port, host)));
        each.map(|(port, host)| format!("rc 10.0.0.{host}:{port} > 10.0.1.50:{dport} S seq=1\n")).collect()
    };
    let three = clients(&[33333], 80, 50..53);
    let more = format!(
        "{three}rc 10.0.0.50:33333 > 10.0.1.50:81 S seq=1\nrc 10.0.0.51:33333 > 10.0.1.50:82 S seq=1\n"
    );
    let six = clients(&[35000], 53, 50..56);
    let datagrams = six.replace("rc 10", "rc udp 10").replace(" S seq=1", " len=1");
    let random =
        (0..3).map(|n| format!("rc 10.0.0.50:34000 > 10.0.1.50:{} S seq=1\n", 100 + n)).collect::<String>();
    let low = clients(&[300, 700], 90, 50..53);
    // Title, rules, script, how many packets came before the section, insert_failed.
    let sections: [(&str, String, &str, usize, i64); 6] = [
        ("masq same sport", plain.into(), &three, 0, 0),
        ("same client same sport", plain.into(), &more, 3, 0),
        ("low port clash", plain.into(), &low, 0, 0),
        ("random-fully", plain.replace("MASQUERADE", "MASQUERADE --random-fully"), &random, 0, 0),
        ("to-ports range", some("2000-2003", "udp"), &datagrams, 0, 2),
        ("same with tcp", some("2000-2003", "tcp"), &six, 0, 2),
    ];
    for (title, rules, script, before, failed) in sections {
        let theirs = ports(&golden, title);
        let (sent, _) = script::packets(script);
        let run = run(&rules, &[], &sent);
        let ours: Vec<Option<u16>> =
            run.packets.iter().map(|answer| answer.emitted.first().and_then(|seen| seen.sport)).collect();
        assert_eq!(theirs.len(), ours.len() - before, "{title}");
        for ((sent, theirs), ours) in sent[before..].iter().zip(&theirs).zip(&ours[before..]) {
            let kept = |port: &Option<u16>| *port == sent.sport;
            assert_eq!(kept(theirs), kept(ours), "{title}: {theirs:?} and {ours:?}");
            assert_eq!(theirs.map(class), ours.map(class), "{title}: {theirs:?} and {ours:?}");
        }
        if title.starts_with("same client") {
            assert_eq!((ours[3], ours[4]), (ours[0], ours[1]), "a client keeps its mapping");
            assert_eq!((theirs[0], theirs[1]), (Some(33333), ports(&golden, "masq same sport")[1]));
        }
        if rules.contains("2000-2003") {
            let range = |port: &Option<u16>| port.is_none_or(|port| (2000..=2003).contains(&port));
            assert!(theirs.iter().chain(&ours).all(range), "{title}");
        }
        let counter = run.counters.get("insert_failed").copied().unwrap_or(0);
        assert_eq!(counter, failed, "{title}");
    }
    let rule = "*nat\n-A PREROUTING -p udp -m udp --dport 5300 -j DNAT --to-destination 10.0.1.50:53\n";
    let (sent, _) = script::packets(&"rc udp 10.0.0.50:36000 > 10.0.0.1:5300 len=1\n".repeat(5));
    let mut case = run(rule, &[], &sent);
    assert!(golden.contains("    1    29 DNAT"), "the kernel asked the rule once");
    assert!(case.packets.drain(..).all(|answer| answer.emitted[0].dst == "10.0.1.50"));
}

/// Type and code as tcpdump words them.
fn code(line: &str) -> Option<(u8, u16)> {
    let length = line.rsplit_once("length ")?.1.parse().ok()?;
    let code = match () {
        () if line.contains("ICMP net") && line.contains("admin prohibited") => 9,
        () if line.contains("admin prohibited filter") => 13,
        () if line.contains("ICMP host") && line.contains("admin prohibited") => 10,
        () if line.contains("ICMP net") => 0,
        () if line.contains("ICMP host") => 1,
        () if line.contains("protocol") => 2,
        () if line.contains("port 80 unreachable") => 3,
        () => return None,
    };
    Some((code, length))
}

#[test]
fn t3_codes_of_reject() {
    let Some(golden) = golden("t3.out") else { return };
    let from_router: Vec<&str> =
        golden.lines().filter(|line| line.contains("IP 10.0.0.1 > 10.0.0.2: ICMP")).collect();
    // Two probes a kind, until the rate limit swallowed one of each pair.
    let kinds = [
        ("icmp-net-unreachable", 0),
        ("icmp-host-unreachable", 1),
        ("icmp-port-unreachable", 3),
        ("icmp-proto-unreachable", 2),
        ("icmp-net-prohibited", 9),
        ("icmp-host-prohibited", 10),
        ("icmp-admin-prohibited", 13),
    ];
    for (kind, number) in kinds {
        let rules = format!("*filter\n-A FORWARD -d 10.0.1.2/32 -j REJECT --reject-with {kind}\n");
        // A SYN of Linux has twenty bytes of options, whose sizes the quotation shows.
        let (sent, _) = script::packets("rc udp 10.0.0.2:4000 > 10.0.1.2:80 len=1");
        let run = run(&rules, &[], &sent);
        let answer = &run.packets[0].emitted[0];
        assert_eq!((answer.icmp_type, answer.icmp_code), (Some(3), Some(number)), "{kind}");
        let measured: Vec<_> = from_router.iter().filter_map(|line| code(line)).collect();
        assert!(measured.iter().any(|(code, _)| *code == number), "{kind} was measured");
        if let Some((_, length)) = measured.iter().find(|(code, length)| *code == number && *length < 60) {
            assert_eq!(answer.len + 8, *length, "{kind}: length of the ICMP message");
        }
    }
    let rules = "*filter\n-A FORWARD -d 10.0.1.2/32 -p tcp -j REJECT --reject-with tcp-reset\n";
    let (sent, _) = script::packets("rc 10.0.0.2:58618 > 10.0.1.2:80 S seq=4107003155");
    let seen = &run(rules, &[], &sent).packets[0].emitted[0];
    assert!(
        golden
            .contains("IP 10.0.1.2.80 > 10.0.0.2.58618: Flags [R.], seq 0, ack 4107003156, win 0, length 0")
    );
    assert_eq!((seen.src.as_str(), seen.flags.as_deref()), ("10.0.1.2", Some("RA")));
    assert_eq!((seen.seq, seen.ack, seen.win, seen.len), (Some(0), Some(4_107_003_156), Some(0), 0));
}

#[test]
fn t7_the_reset_of_2019() {
    let Some(golden) = golden("t7.out") else { return };
    let nat = "*nat\n-A PREROUTING -d 10.0.0.200/32 -p tcp -m tcp --dport 80 -j DNAT --to-destination 10.0.1.2:80\n\
               -A PREROUTING -d 10.0.0.200/32 -p udp -j DNAT --to-destination 10.0.1.2\n";
    let drop = format!("{nat}COMMIT\n*filter\n-A FORWARD -m conntrack --ctstate INVALID -j DROP\n");
    let liberal = [("net.netfilter.nf_conntrack_tcp_be_liberal", "1")];
    let (sent, _) = script::packets(
        "rc 10.0.0.2:39852 > 10.0.0.200:80 S seq=1000 win=64240 mss=1460 ws=7 sack
         rs 10.0.1.2:80 > 10.0.0.2:39852 SA seq=5000 ack=1001 win=65160 mss=1460 ws=7 sack
         rc 10.0.0.2:39852 > 10.0.0.200:80 A seq=1001 ack=5001 win=502
         rs 10.0.1.2:80 > 10.0.0.2:39852 A seq=50005001 ack=1001 win=500",
    );
    type Section<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)]);
    let sections: [Section<'_>; 3] =
        [("default", nat, &[]), ("with INVALID drop", &drop, &[]), ("be_liberal=1", nat, &liberal)];
    for (title, rules, sysctl) in sections {
        let at_client = golden
            .lines()
            .skip_while(|line| !line.starts_with(&format!("=== {title}")))
            .find_map(|line| line.trim().strip_prefix("at client wire: "))
            .expect("each section shows the client's wire");
        let theirs = at_client.strip_prefix("['TCP ").and_then(|rest| rest.split(':').next());
        let answers = run(rules, sysctl, &sent).packets;
        let ours = answers[3].emitted.first().map(|seen| seen.src.as_str());
        assert_eq!(theirs, ours, "{title}");
    }
    let (sent, _) = script::packets(
        "rc udp 10.0.0.2:45000 > 10.0.0.200:4444 len=1
         rs icmp 10.0.1.2 > 10.0.0.2 3/3 about=udp,10.0.0.2:45000,10.0.1.2:4444,len=1,ttl=63",
    );
    let run = run(nat, &[], &sent);
    let seen = &run.packets[1].emitted[0];
    let quoted = seen.quoted.as_ref().expect("an error quotes");
    let text = format!(
        "ICMP {}>{} type={} code={} inner=UDP {}:{}>{}:{}",
        seen.src,
        seen.dst,
        seen.icmp_type.unwrap_or(0),
        seen.icmp_code.unwrap_or(0),
        quoted.src,
        quoted.sport.unwrap_or(0),
        quoted.dst,
        quoted.dport.unwrap_or(0),
    );
    assert!(golden.contains(&text), "{text}");
}

/// An IPv4 packet as bytes: TTL 64, not to be fragmented.
fn ipv4(input: &str, id: u16, proto: u8, [from, to]: [[u8; 4]; 2], payload: &[u8]) -> Packet {
    let mut bytes = vec![0x45, 0, 0, 20 + payload.len() as u8];
    bytes.extend(id.to_be_bytes());
    bytes.extend([0x40, 0, 64, proto, 0, 0]);
    bytes.extend(from.into_iter().chain(to));
    let sum: u32 = bytes.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1])).sum();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    bytes[10..12].copy_from_slice(&sum.to_be_bytes());
    bytes.extend(payload);
    Packet {
        input: input.into(),
        mac: Some("92:6d:80:1b:32:2c".into()),
        raw_hex: Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect()),
        ..Packet::default()
    }
}

/// A datagram of one byte between the client and the server of the transcript, without a UDP checksum.
fn datagram(reply: bool, id: u16) -> Packet {
    const PORT: u16 = 51712;
    let ends = [[10, 0, 0, 2], [10, 0, 1, 2]];
    let (input, ports) = if reply { ("rs", [53, PORT]) } else { ("rc", [PORT, 53]) };
    let ends = if reply { [ends[1], ends[0]] } else { ends };
    let [sport, dport] = ports;
    let mut udp: Vec<u8> = [sport, dport, 9, 0].into_iter().flat_map(u16::to_be_bytes).collect();
    udp.push(b'x');
    ipv4(input, id, 17, ends, &udp)
}

/// What `nft monitor trace` prints of these packets.
fn monitored(rules: &str, packets: Vec<Packet>) -> Vec<String> {
    let interface = |name: &str, address: &str, mac: &str| Interface {
        name: name.into(),
        addresses: vec![address.into()],
        mac: Some(mac.into()),
        ..Interface::default()
    };
    let node = Node {
        interfaces: vec![
            interface("rc", "10.0.0.1/24", "ca:8e:82:8f:17:6c"),
            interface("rs", "10.0.1.1/24", "02:00:00:00:02:01"),
        ],
        sysctls: sysctls(&[("net.ipv4.ip_forward", "1")]),
        setup: vec![Setup { run: "nft -f -".into(), stdin: rules.into() }],
        ..Node::default()
    };
    let command = "nft monitor trace";
    let case = Case {
        format: "chainwalk.replay/1".into(),
        seed: 1,
        node,
        packets,
        draws: Vec::new(),
        show: vec![command.into()],
    };
    let file = CaseFile { purpose: String::new(), case, links: Vec::new(), recorded: None };
    let run = emulator::run(&file).expect("everything here is emulated");
    numbered(&run.show[command])
}

/// The traces, with the packets numbered in the order they are first heard of.
fn numbered(text: &str) -> Vec<String> {
    let mut ids: Vec<&str> = Vec::new();
    let traces = text.lines().filter_map(|line| line.strip_prefix("trace id ")?.split_once(' '));
    traces
        .map(|(id, rest)| {
            if !ids.contains(&id) {
                ids.push(id);
            }
            format!("{:?} {rest}", ids.iter().position(|known| *known == id))
        })
        .collect()
}

#[test]
fn t6_what_monitor_trace_hears() {
    let (Some(script), Some(said)) = (golden("t6.sh"), golden("t6.out")) else { return };
    let rules = script.rsplit_once("$K nft -f - <<'N'\n").and_then(|(_, rest)| rest.split_once("\nN\n"));
    let rules = rules.expect("the transcript loads rules").0;
    let packets = [(false, 10572), (true, 1), (false, 10574), (true, 2)];
    let packets = packets.map(|(reply, id)| datagram(reply, id)).to_vec();
    assert_eq!(monitored(rules, packets), numbered(&said));
}
