//! Commands in, transcripts out. What is compared was printed by conntrack-tools 1.4.7 on Linux 6.18.44.

use super::{Ran, proc_file, run};
use crate::base::{Instant, KernelVersion};
use crate::conntrack::Conntrack;

const NOW: Instant = Instant(0);

/// Runs a command line and gives what it printed, errors behind `E `, and the exit status if not zero.
fn transcript(ct: &mut Conntrack, line: &str) -> String {
    let args: Vec<&str> = line.split_whitespace().collect();
    let Ran { stdout, stderr, exit_code } = run(ct, NOW, &args);
    let mut out = stdout;
    for line in stderr.lines() {
        out.push_str(&format!("E {}\n", line.replace("conntrack v1.4.7 (conntrack-tools): ", "")));
    }
    if exit_code != 0 {
        out.push_str(&format!("rc={exit_code}\n"));
    }
    out
}

fn table() -> Conntrack {
    let mut ct = Conntrack::new(KernelVersion::V6_18, 1);
    for line in [
        "-I -p tcp -s 10.1.0.1 -d 10.2.0.2 --sport 1000 --dport 80 -t 100 --state ESTABLISHED -u ASSURED,SEEN_REPLY",
        "-I -p udp -s 10.1.0.1 -d 10.2.0.2 --sport 1000 --dport 53 -t 100",
        "-I -p udp -s 10.1.0.3 -d 10.2.0.2 --sport 1000 --dport 53 -t 100 -u SEEN_REPLY -m 5",
        "-I -p udp -s 10.1.0.4 -d 10.2.0.2 --sport 1000 --dport 53 -t 100 --dst-nat 10.9.9.9",
        "-I -p udp -s 10.1.0.5 -d 10.2.0.2 --sport 1000 --dport 53 -t 100 --src-nat 10.9.9.8",
        "-I -p udp -s 10.1.0.6 -d 10.2.0.2 --sport 1000 --dport 53 -t 100 -w 7",
        "-I -p icmp -s 10.1.0.7 -d 10.2.0.2 --icmp-type 8 --icmp-code 0 --icmp-id 9 -t 20",
    ] {
        assert_eq!(transcript(&mut ct, line), "E 1 flow entries have been created.\n", "{line}");
    }
    ct
}

const TCP: &str = "tcp      6 100 ESTABLISHED src=10.1.0.1 dst=10.2.0.2 sport=1000 dport=80 src=10.2.0.2 \
                   dst=10.1.0.1 sport=80 dport=1000 [ASSURED] mark=0 use=1";
const PLAIN: &str = "udp      17 100 src=10.1.0.1 dst=10.2.0.2 sport=1000 dport=53 [UNREPLIED] src=10.2.0.2 \
                     dst=10.1.0.1 sport=53 dport=1000 mark=0 use=1";
const MARKED: &str = "udp      17 100 src=10.1.0.3 dst=10.2.0.2 sport=1000 dport=53 src=10.2.0.2 dst=10.1.0.3 \
                      sport=53 dport=1000 mark=5 use=1";
const DNATED: &str = "udp      17 100 src=10.1.0.4 dst=10.2.0.2 sport=1000 dport=53 [UNREPLIED] src=10.9.9.9 \
                      dst=10.1.0.4 sport=53 dport=1000 mark=0 use=1";
const SNATED: &str = "udp      17 100 src=10.1.0.5 dst=10.2.0.2 sport=1000 dport=53 [UNREPLIED] src=10.2.0.2 \
                      dst=10.9.9.8 sport=53 dport=1000 mark=0 use=1";
const ZONED: &str = "udp      17 100 src=10.1.0.6 dst=10.2.0.2 sport=1000 dport=53 [UNREPLIED] src=10.2.0.2 \
                     dst=10.1.0.6 sport=53 dport=1000 mark=0 zone=7 use=1";
const ICMP: &str = "icmp     1 20 src=10.1.0.7 dst=10.2.0.2 type=8 code=0 id=9 [UNREPLIED] src=10.2.0.2 \
                    dst=10.1.0.7 type=0 code=0 id=9 mark=0 use=1";

#[test]
fn filters_show_what_the_tool_shows() {
    let mut ct = table();
    for (args, wanted) in [
        ("-L", &[TCP, PLAIN, MARKED, DNATED, SNATED, ZONED, ICMP][..]),
        ("-L conntrack -p icmp", &[ICMP]),
        ("-L -p udp -s 10.1.0.3", &[MARKED]),
        ("-L -s 10.1.0.0/29 -p tcp", &[TCP]),
        ("-L -s 10.1.0.8/29", &[]),
        ("-L -d 10.2.0.2 -p tcp", &[TCP]),
        ("-L -p udp --dport 53 --sport 1000", &[PLAIN, MARKED, DNATED, SNATED, ZONED]),
        ("-L -n", &[SNATED]),
        ("-L -g", &[DNATED]),
        ("-L -j", &[DNATED, SNATED]),
        ("-L -n 10.9.9.8", &[SNATED]),
        ("-L -n 10.9.9.7", &[]),
        ("-L -g 10.9.9.9:53", &[DNATED]),
        ("-L -m 5", &[MARKED]),
        ("-L -m 0x4/0x4", &[MARKED]),
        ("-L -m 3/1", &[]),
        ("-L -u ASSURED", &[TCP]),
        ("-L -u UNREPLIED", &[PLAIN, DNATED, SNATED, ZONED, ICMP]),
        ("-L -u SEEN_REPLY", &[TCP, MARKED]),
        ("-L -w 7", &[ZONED]),
        ("-L -p tcp --state ESTABLISHED", &[TCP]),
        ("-L -p tcp --state CLOSE", &[]),
        ("-L -r 10.9.9.9", &[DNATED]),
        ("-L -q 10.1.0.1", &[TCP, PLAIN]),
        ("-L -f ipv6", &[]),
        ("-L dying", &[]),
        ("-L unconfirmed", &[]),
    ] {
        let mut expected = wanted.join("\n");
        if !wanted.is_empty() {
            expected.push('\n');
        }
        expected.push_str(&format!("E {} flow entries have been shown.\n", wanted.len()));
        assert_eq!(transcript(&mut ct, args), expected, "{args}");
    }
}

#[test]
fn mistakes_get_the_tools_words() {
    let help = "E Try `conntrack -h' or 'conntrack --help' for more information.\nrc=2\n";
    let mut ct = table();
    for (args, wanted) in [
        (
            "-I -p udp -s 10.1.0.7 -d 10.2.0.2 --sport 1000 -t 100",
            "you have to specify `--sport' and `--dport'",
        ),
        (
            "-I -p udp -s 10.1.0.7 -d 10.2.0.2 --sport 1000 --dport 4",
            "You need to supply the `--timeout' option for this command",
        ),
        ("-I -p udp -d 10.2.0.2 --sport 1000 --dport 4 -t 1", "you have to specify `--src' and `--dst'"),
        (
            "-I -p tcp -s 10.1.0.8 -d 10.2.0.2 --sport 1000 --dport 80 -t 100",
            "You need to supply the `--state' option for this command",
        ),
        ("-L --dport 53", "unknown option `--dport'"),
        ("-L --dport 70000 -p udp", "unknown option `--dport'"),
        ("-L -z -p icmp", "Can't use -z with filtering parameters"),
        ("-L -p foo", "`foo' unsupported protocol"),
        ("-L -f foo", "`foo' unsupported protocol"),
        ("-L -Q", "unknown option `-Q'"),
        ("-L -s", "option `-s' requires an argument"),
        ("-L -s foo", "Invalid IP address `foo'"),
        ("-L -s 10.0.0.0/40", "Invalid netmask"),
        ("-L -g :8080", "Invalid IP address `'"),
        ("-L -p tcp -f ipv6 -s 10.0.0.1", "mismatched address family"),
        ("-L -D", "Invalid commands combination"),
        ("-L -u FOO", "Bad parameter `FOO'"),
        ("-L -o foo", "Bad parameter `foo'"),
        ("-L -p tcp --state FOO", "unknown TCP state `FOO'"),
        ("-L foo", "unknown type `foo'"),
        ("-E -z", "Illegal option `--zero' with this command"),
        ("-L -t 5", "Illegal option `--timeout' with this command"),
        (
            "-I -p udp -s fd00::1 -d fd00::2 --sport 1 --dport 2 -t 9 -f ipv6",
            "Illegal option `--family' with this command",
        ),
    ] {
        assert_eq!(transcript(&mut ct, args), format!("E {wanted}\n{help}"), "{args}");
    }
    assert_eq!(
        transcript(&mut ct, "-L -o extended,save"),
        "E cannot combine save output with any other output type, use -o save only\nrc=1\n"
    );
}

#[test]
fn entries_are_made_changed_and_deleted() {
    let mut ct = table();
    let again = "-p udp -s 10.1.0.3 -d 10.2.0.2 --sport 1000 --dport 53";
    for (args, wanted) in [
        (
            format!("-I {again} -t 9"),
            "E Operation failed: Such conntrack exists, try -U to update\nrc=1\n".to_owned(),
        ),
        (format!("-A {again} -t 9"), "E 0 flow entries have been added.\n".to_owned()),
        (
            format!("-G {again}"),
            format!("{}\nE 1 flow entries have been shown.\n", MARKED.replace("use=1", "use=2")),
        ),
        (
            "-G -p udp -s 10.1.0.33 -d 10.2.0.2 --sport 1000 --dport 53".to_owned(),
            "E Operation failed: such conntrack doesn't exist\nrc=1\n".to_owned(),
        ),
        (
            "-U -p udp -s 10.1.0.3 -m 77".to_owned(),
            format!(
                "{}\nE 1 flow entries have been updated.\n",
                MARKED.replace("mark=5 use=1", "mark=77 use=2")
            ),
        ),
        ("-U -p udp -s 10.1.0.99 -m 77".to_owned(), "E 0 flow entries have been updated.\nrc=1\n".to_owned()),
        (
            "-D -s 10.1.0.3".to_owned(),
            format!("{}\nE 1 flow entries have been deleted.\n", MARKED.replace("mark=5", "mark=77")),
        ),
        ("-D -s 10.1.0.3".to_owned(), "E 0 flow entries have been deleted.\nrc=1\n".to_owned()),
        ("-C".to_owned(), "6\n".to_owned()),
        (
            "-D -p udp --dport 53".to_owned(),
            format!("{PLAIN}\n{DNATED}\n{SNATED}\n{ZONED}\nE 4 flow entries have been deleted.\n"),
        ),
        ("-C conntrack".to_owned(), "2\n".to_owned()),
        ("-C expect".to_owned(), "0\n".to_owned()),
        ("-F".to_owned(), "E connection tracking table has been emptied.\n".to_owned()),
        ("-C".to_owned(), "0\n".to_owned()),
        (
            "-S".to_owned(),
            "cpu=0   \tfound=0 invalid=0 insert=7 insert_failed=0 drop=0 early_drop=0 error=0 search_restart=0 \
             clash_resolve=0 chaintoolong=0 \n"
                .to_owned(),
        ),
        ("--version".to_owned(), "conntrack v1.4.7 (conntrack-tools)\n".to_owned()),
    ] {
        assert_eq!(transcript(&mut ct, &args), wanted, "{args}");
    }
}

#[test]
fn forms_of_output() {
    let mut ct = Conntrack::new(KernelVersion::V6_18, 1);
    let make = "-p tcp -s 10.1.0.1 -d 10.2.0.2 --sport 1000 --dport 80 -t 99 --state SYN_SENT";
    transcript(&mut ct, &format!("-I {make} --dst-nat 10.9.9.9:8080"));
    let line = "tcp      6 99 SYN_SENT src=10.1.0.1 dst=10.2.0.2 sport=1000 dport=80 [UNREPLIED] src=10.9.9.9 \
                dst=10.1.0.1 sport=8080 dport=1000 mark=0";
    let shown = "E 1 flow entries have been shown.\n";
    assert_eq!(transcript(&mut ct, "-L -o extended"), format!("ipv4     2 {line} use=1\n{shown}"));
    assert_eq!(proc_file(&ct, NOW), format!("ipv4     2 {line} zone=0 use=2\n"));
    assert!(transcript(&mut ct, "-L -o id").starts_with(&format!("{line} use=1 id=")));
    assert_eq!(
        transcript(&mut ct, "-L -o save"),
        format!(
            "-A -t 99 -u UNSET -s 10.1.0.1 -d 10.2.0.2 -g 10.9.9.9 -q 10.1.0.1 -p tcp --sport 1000 --dport 80 \
             --reply-port-src 8080 --reply-port-dst 1000 --state SYN_SENT\n{shown}"
        )
    );
    let xml = transcript(&mut ct, "-L -o xml");
    assert!(xml.starts_with(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<conntrack>\n<flow><meta direction=\"original\"><layer3 \
         protonum=\"2\" protoname=\"ipv4\"><src>10.1.0.1</src><dst>10.2.0.2</dst></layer3><layer4 protonum=\"6\" \
         protoname=\"tcp\"><sport>1000</sport><dport>80</dport></layer4></meta><meta direction=\"reply\">"
    ));
    assert!(xml.contains(
        "<meta direction=\"independent\"><state>SYN_SENT</state><timeout>99</timeout><mark>0</mark><use>1</use><id>"
    ));
    assert!(xml.contains("</id><unreplied/></meta></flow>\n</conntrack>\n"));
}

/// `-o save` writes what `-I` reads.
#[test]
fn a_saved_table_can_be_made_again() {
    let mut ct = table();
    let saved = transcript(&mut ct, "-L -o save");
    let listed = transcript(&mut ct, "-L");
    let mut twin = Conntrack::new(KernelVersion::V6_18, 1);
    for line in saved.lines().filter(|line| line.starts_with("-A")) {
        assert_eq!(transcript(&mut twin, line), "E 1 flow entries have been added.\n", "{line}");
    }
    assert_eq!(transcript(&mut twin, "-L"), listed);
}

#[test]
fn both_families_are_listed_unless_one_is_asked_for() {
    let mut ct = table();
    transcript(&mut ct, "-I -p tcp -s fd00::1 -d fd00::2 --sport 1000 --dport 80 -t 99 --state SYN_SENT");
    let six = "tcp      6 99 SYN_SENT src=fd00::1 dst=fd00::2 sport=1000 dport=80 [UNREPLIED] src=fd00::2 \
               dst=fd00::1 sport=80 dport=1000 mark=0 use=1\n";
    assert!(transcript(&mut ct, "-L").contains(six));
    assert_eq!(transcript(&mut ct, "-L -f ipv6"), format!("{six}E 1 flow entries have been shown.\n"));
    assert!(!transcript(&mut ct, "-L -f ipv4").contains("fd00"));
}
