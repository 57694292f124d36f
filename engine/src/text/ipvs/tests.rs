//! The tool by its transcripts: commands in, what it printed and its exit code out.

use super::*;
use crate::base::KernelVersion;
use crate::ipvs::IpvsCx;
use crate::ipvs::arrivals::segment;
use crate::packet::{L4, Packet, Skb, TcpFlags, Udp, proto};
use crate::trace::Trace;

/// Commands whose answer is another one here: what is not emulated, and the order of `--nosort`, which is that of a random
/// hash in the kernel.
const ELSEWHERE: [&str; 4] =
    ["--start-daemon master", "-Ln --nosort", "-Ln --nosort --stats", "-A -u 10.0.0.10:80 --pe sip"];

/// Runs a transcript: `$ ipvsadm ARGS`, or `$ restore` with its input up to `<<<`; then output and `rc=`.
fn replay(transcript: &str) -> usize {
    let mut ipvs = Ipvs::new(KernelVersion::V6_12, 1);
    let (mut compared, mut differ) = (0, Vec::new());
    for block in transcript.split("$ ").skip(1) {
        let (line, rest) = block.split_once('\n').expect("a command");
        let (stdin, rest) = match line {
            "restore" => rest.split_once("<<<\n").expect("input"),
            _ => ("", rest),
        };
        let at = rest.rfind("rc=").expect("an exit code");
        let (output, code) = (&rest[..at], rest[at + 3..].trim());
        let args: Vec<&str> = match line {
            "restore" => vec!["-R"],
            _ => line.strip_prefix("ipvsadm").expect("the tool").split_whitespace().collect(),
        };
        let ran = run(&mut ipvs, Instant::ZERO, &args, stdin);
        if ELSEWHERE.contains(&args.join(" ").as_str()) {
            continue;
        }
        let both = format!("{}{}", ran.stderr, ran.stdout);
        let ours = format!("{both}rc={}", ran.exit_code);
        let theirs = format!("{output}rc={code}");
        if ours != theirs {
            differ.push(format!("ipvsadm {}\n--- ours\n{ours}\n--- theirs\n{theirs}", args.join(" ")));
        }
        compared += 1;
    }
    assert!(differ.is_empty(), "{}", differ.join("\n\n"));
    compared
}

#[test]
fn every_command_answers_as_the_tool_did() {
    assert!(replay(include_str!("tests/commands.txt")) > 90);
    assert!(replay(include_str!("tests/more.txt")) > 60);
}

fn edit(ipvs: &mut Ipvs, line: &str) {
    let args: Vec<&str> = line.split_whitespace().collect();
    let ran = run(ipvs, Instant::ZERO, &args, "");
    assert_eq!((ran.exit_code, ran.stderr.as_str()), (0, ""), "{line}");
}

/// What the transcript's sender sent: five SYNs and ACKs of TCP, one datagram.
fn traffic(ipvs: &mut Ipvs) {
    let at = |text: &str| text.parse().expect("an address and a port");
    let web = at("10.96.0.1:80");
    let mut packets = vec![
        segment(at("10.1.0.5:40000"), web, TcpFlags::SYN),
        segment(at("10.1.0.5:40001"), web, TcpFlags::SYN),
        segment(at("10.1.0.5:40001"), web, TcpFlags::ACK),
        segment(at("10.1.0.6:40001"), web, TcpFlags::SYN),
    ];
    let mut datagram = segment(at("10.1.0.7:40001"), at("10.96.0.2:53"), TcpFlags::SYN).packet;
    datagram.ip.proto = proto::UDP;
    datagram.l4 = L4::Udp(Udp::new(40001, 53, Vec::new()));
    packets.push(Skb::new(Packet { ..datagram }));
    for skb in packets {
        let mut trace = Trace::default();
        let mut cx = IpvsCx { now: Instant::ZERO, trace: &mut trace, old_conntrack: false, from_self: false };
        ipvs.request(&mut cx, &skb, &mut Vec::new());
    }
}

/// Asked of 6.12: connections of a persistent service, and how long they live.
#[test]
fn connections_are_listed_as_the_tool_does() {
    let mut ipvs = Ipvs::new(KernelVersion::V6_12, 1);
    edit(&mut ipvs, "-A -t 10.96.0.1:80 -s rr -p 300");
    edit(&mut ipvs, "-a -t 10.96.0.1:80 -r 10.0.0.1:8080 -m");
    edit(&mut ipvs, "-a -t 10.96.0.1:80 -r 10.0.0.2:8080 -m");
    edit(&mut ipvs, "-A -u 10.96.0.2:53 -s rr");
    edit(&mut ipvs, "-a -u 10.96.0.2:53 -r 10.0.0.1:53 -m");
    traffic(&mut ipvs);
    let now = Instant::from_millis(900);
    let listed = show(&ipvs, now, &["-Lnc"]).stdout;
    assert_eq!(
        listed,
        "IPVS connection entries\n\
         pro expire state       source             virtual            destination\n\
         TCP 04:59  ASSURED     10.1.0.5:0         10.96.0.1:80       10.0.0.2:8080\n\
         TCP 00:59  SYN_RECV    10.1.0.5:40000     10.96.0.1:80       10.0.0.2:8080\n\
         TCP 14:59  ESTABLISHED 10.1.0.5:40001     10.96.0.1:80       10.0.0.2:8080\n\
         TCP 04:59  NONE        10.1.0.6:0         10.96.0.1:80       10.0.0.1:8080\n\
         TCP 00:59  SYN_RECV    10.1.0.6:40001     10.96.0.1:80       10.0.0.1:8080\n\
         UDP 04:59  UDP         10.1.0.7:40001     10.96.0.2:53       10.0.0.1:53\n"
    );
    assert!(show(&ipvs, now, &["-Lc"]).stdout.contains("10.96.0.2:domain   10.0.0.1:domain\n"));
    assert!(show(&ipvs, now, &["-Ln", "--persistent-conn"]).stdout.contains(
        "TCP  10.96.0.1:80 rr persistent 300\n\
         \x20 -> 10.0.0.1:8080                1         1           1          0         \n\
         \x20 -> 10.0.0.2:8080                1         1           2          0         \n"
    ));
    // Counters show when the estimator has looked.
    let line = "TCP  10.96.0.1:80                        3        4        0      160        0\n";
    assert!(!show(&ipvs, now, &["-Ln", "--stats"]).stdout.contains(line));
    let later = Instant::from_millis(2100);
    assert!(show(&ipvs, later, &["-Ln", "--stats"]).stdout.contains(line));
    let rate = "TCP  10.96.0.1:80                        0        0        0       15        0\n";
    assert!(show(&ipvs, Instant::from_millis(4100), &["-Ln", "--rate"]).stdout.contains(rate));
}

#[test]
fn saved_rules_read_back_to_the_same() {
    let mut ipvs = Ipvs::new(KernelVersion::V6_12, 1);
    for line in [
        "-A -t 10.0.0.1:80 -s rr",
        "-a -t 10.0.0.1:80 -r 10.1.0.1:8080 -m -w 0",
        "-a -t 10.0.0.1:80 -r 10.1.0.2 -i --tun-type gue --tun-port 6080 --tun-csum",
        "-A -t 10.0.0.2:0 -p 100 -M 255.255.255.0",
        "-A -u [fd00::1]:53 -s sh -b sh-port -o -p 30 -M 64",
        "-A -f 7 -6 -s mh -b mh-fallback",
        "-a -f 7 -6 -r fd00::9 -m -w 4",
        "-A --sctp-service 10.0.0.9:9 -s lblcr",
    ] {
        edit(&mut ipvs, line);
    }
    let saved = save(&ipvs);
    let mut again = Ipvs::new(KernelVersion::V6_12, 1);
    assert_eq!(run(&mut again, Instant::ZERO, &["-R"], &saved), Ran::default());
    assert_eq!(save(&again), saved);
    assert!(saved.contains("-A -u [fd00::1]:53 -s sh -p 30 -M 64 -o -b sh-port\n"), "{saved}");
}

#[test]
fn large_numbers_are_shortened_unless_exact() {
    assert_eq!(print::large(99_999_999, false), " 99999999");
    assert_eq!(print::large(100_000_000, false), "  100000K");
    assert_eq!(print::large(123_456_789_012, false), "  123456M");
    assert_eq!(print::large(123_456_789_012, true), "123456789012");
}

/// No line, however broken, does more than be refused.
#[test]
fn mutated_lines_never_panic() {
    let seeds = [
        "-A -t 10.0.0.1:80 -s sh -b sh-port -p 30 -M 255.0.0.0",
        "-a -t [fd00::1]:80 -r 1.2.3.4:5 -i -w 3 -x 9",
        "--set 1 2 3",
        "-Lnc --exact",
    ];
    let mut rng = crate::base::Rng::named(1, "ipvsadm");
    let mut ipvs = Ipvs::new(KernelVersion::V6_12, 1);
    for _ in 0..20_000 {
        let mut bytes = seeds[rng.below(4) as usize].as_bytes().to_vec();
        for _ in 0..=rng.below(3) {
            let at = rng.below(bytes.len() as u32) as usize;
            match rng.below(3) {
                0 => _ = bytes.remove(at),
                1 => bytes[at] = rng.next_u32() as u8,
                _ => bytes.insert(at, b"- :0]=,\xe9"[rng.below(8) as usize]),
            }
        }
        let line = String::from_utf8_lossy(&bytes).into_owned();
        run(&mut ipvs, Instant::ZERO, &["-R"], &line);
    }
}
