//! Pastes of several tools: whose each line is, what is loaded, where a refusal stands.

use super::*;
use crate::base::KernelVersion;
use crate::replay::show;
use crate::text::xt::{ParseOptions, Ruleset, parse};

const SETS: &str = "create bad hash:ip family inet\nadd bad 192.0.2.7\n";
const TABLES: &str = "*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -m set --match-set bad src -j DROP\nCOMMIT\n";
const LISTING: &str = "table inet fw {\n\tchain input {\n\t\ttype filter hook input priority filter; policy drop;\n\
                       \t\tiif \"lo\" accept # { not a brace\n\t\tlog prefix \"{ \" drop\n\t}\n}\n";
const SERVERS: &str = "-A -t 10.96.0.10:80 -s rr\n-a -t 10.96.0.10:80 -r 10.244.1.10:8080 -m -w 1\n";

fn node() -> Netns {
    Netns::new(KernelVersion::default(), 1)
}

/// Loads a paste as the page does.
fn load(text: &str) -> Result<(Session, Vec<Diag>), Diag> {
    let paste = Paste::split(text);
    let mut netns = node();
    paste.load_before(&mut netns)?;
    let rulesets: Vec<Ruleset> =
        paste.iptables().map(|text| parse(text, &ParseOptions::default()).0).into_iter().collect();
    let mut session = Session::on(netns, rulesets);
    let mut notes = paste.notes().to_vec();
    notes.extend(paste.load_nft(&mut session)?);
    Ok((session, notes))
}

fn names(session: &Session) -> Vec<String> {
    let xt = session.netns().tables().iter().map(|loaded| loaded.table.name.name().to_owned());
    let nft = session.netns().nft().tables.iter().map(|t| format!("{} {}", t.family.name(), t.name));
    xt.chain(nft).collect()
}

#[test]
fn a_text_of_iptables_alone_is_not_copied() {
    let comment = "# nft is not used here, ipset neither\n\n*nat\nCOMMIT\n";
    for text in [TABLES, "-A INPUT -j DROP\n", comment, "", "what is this?"] {
        let paste = Paste::split(text);
        assert!(matches!(paste.iptables, Some(Cow::Borrowed(_))), "{text}");
        assert!(paste.nft.is_none() && paste.sets.is_none() && paste.servers.is_none(), "{text}");
    }
}

#[test]
fn each_tool_gets_its_lines_where_they_stand() {
    let text = format!("{SETS}{TABLES}{LISTING}{SERVERS}");
    let paste = Paste::split(&text);
    let lines = |part: Option<&str>| -> Vec<usize> {
        let lines = part.expect("a part").lines().enumerate();
        lines.filter(|(_, line)| !line.trim().is_empty()).map(|(at, _)| at + 1).collect()
    };
    assert_eq!(lines(paste.sets.as_deref()), [1, 2]);
    assert_eq!(lines(paste.iptables()), [3, 4, 5, 6]);
    assert_eq!(lines(paste.nft.as_deref()), [7, 8, 9, 10, 11, 12, 13]);
    assert_eq!(lines(paste.servers.as_deref()), [14, 15]);
}

#[test]
fn a_mixture_is_loaded_whole() {
    let (session, notes) =
        load(&format!("{SETS}{TABLES}{LISTING}{SERVERS}")).expect("every tool takes its part");
    assert_eq!(notes, []);
    assert_eq!(names(&session), ["filter", "inet fw"]);
    let shown = show(session.netns(), "ipset save").expect("ipset lists");
    assert!(shown.contains("add bad 192.0.2.7"), "{shown}");
    assert_eq!(show(session.netns(), "ipvsadm -Sn").expect("ipvsadm lists"), SERVERS);
}

#[test]
fn commands_are_read_behind_prompts_and_quotes() {
    let text = "root@node:~# nft add table inet x\n\
                $ sudo nft 'add chain inet x in { type filter hook input priority 0; policy drop; }'\n\
                nft add chain inet x out { type filter hook output priority 0 \\; }\n\
                nft add rule inet x in tcp dport { 22, 80 } accept\n\
                nft \"add rule inet x in drop\"\n\
                # nft list ruleset\n\
                [root@node ~]# ipvsadm -A -t 10.0.0.1:80 -s wlc\n\
                # ipvsadm -Ln\n";
    let (session, notes) = load(text).unwrap_or_else(|diag| panic!("{diag}"));
    assert_eq!(notes, []);
    let table = &session.netns().nft().tables[0];
    let rules: Vec<_> = table.chains.values().map(|chain| chain.rules.len()).collect();
    assert_eq!(rules, [2, 0]);
    assert_eq!(table.chains["in"].rules[0].line, 4);
    assert_eq!(show(session.netns(), "ipvsadm -Sn").expect("ipvsadm lists"), "-A -t 10.0.0.1:80 -s wlc\n");
}

#[test]
fn commands_without_the_tools_name_are_told_by_what_they_add() {
    let text = "flush ruleset\ndefine wan = eth0\nadd table ip t\nadd set ip t s { type ipv4_addr; }\n\
                create s hash:net\nadd s 10.0.0.0/8\nadd element ip t s { 10.0.0.1 }\nflush s\n";
    let paste = Paste::split(text);
    assert_eq!(paste.sets.as_deref(), Some("\n\n\n\ncreate s hash:net\nadd s 10.0.0.0/8\n\nflush s\n"));
    let (session, _) = load(text).unwrap_or_else(|diag| panic!("{diag}"));
    assert_eq!(names(&session), ["ip t"]);
}

#[test]
fn a_listing_of_servers_is_read_as_what_it_shows() {
    let text = "IP Virtual Server version 1.2.1 (size=4096)\n\
                Prot LocalAddress:Port Scheduler Flags\n  -> RemoteAddress:Port           Forward Weight ActiveConn InActConn\n\
                TCP  10.96.0.10:80 wrr persistent 360 mask 255.255.255.0\n  \
                  -> 10.244.1.10:8080             Masq    3      1          0         \n  \
                  -> 10.244.2.7:8080              Route   0      0          0         \n\
                UDP  10.96.0.10:53 rr ops\n\
                FWM  7 IPv6 sh (sh-fallback,sh-port)\n  -> [fd00::1]:0                  Masq    1      0          0\n\
                TCP  [fd00:96::a]:443 rr\n";
    let (session, _) = load(text).unwrap_or_else(|diag| panic!("{diag}"));
    let saved = show(session.netns(), "ipvsadm -Sn").expect("ipvsadm lists");
    assert_eq!(
        saved,
        "-A -t 10.96.0.10:80 -s wrr -p 360 -M 255.255.255.0\n\
         -a -t 10.96.0.10:80 -r 10.244.1.10:8080 -m -w 3\n\
         -a -t 10.96.0.10:80 -r 10.244.2.7:80 -g -w 0\n\
         -A -u 10.96.0.10:53 -s rr -o\n\
         -A -t [fd00:96::a]:443 -s rr\n\
         -A -f 7 -6 -s sh -b sh-fallback,sh-port\n\
         -a -f 7 -6 -r [fd00::1]:0 -m -w 1\n"
    );
}

#[test]
fn refusals_stand_where_the_paste_has_them() {
    let place = |diag: Diag| (diag.line, diag.column, diag.message);
    let wrong = |text: &str| place(load(text).map(|_| ()).expect_err("a tool refuses it"));
    assert_eq!(wrong(&SETS.replace("192.0.2.7", "192.0.2.700")).0, 2);
    let (line, column, message) =
        wrong(&format!("{TABLES}{}", LISTING.replace("policy drop", "policy dorp")));
    assert_eq!((line, column), (7, 50), "{message}");
    let (line, column, message) = wrong("*filter\nCOMMIT\n$ nft add rule inet x in accept\n");
    assert_eq!((line, column), (3, 21), "{message}");
    let (line, column, message) = wrong("tabel inet x {\n}\n");
    assert_eq!((line, column), (1, 1), "{message}");
    assert_eq!(
        wrong(&SERVERS.replace("-s rr", "-s best")),
        (1, 24, "Scheduler or persistence engine not found".to_owned())
    );
    assert_eq!(
        wrong(&SERVERS.replace(":8080", ":808080")),
        (2, 24, "illegal real server address[:port] specified".to_owned())
    );
    assert_eq!(wrong(&format!("{SERVERS}{SERVERS}")), (3, 7, "Service already exists".to_owned()));
    assert_eq!(wrong("  ipvsadm -a -t 10.0.0.9:80 -r 10.0.0.1\n").0, 1);
    let stats = "Prot LocalAddress:Port               Conns   InPkts\nTCP  10.0.0.1:80                         0        0\n";
    assert_eq!(wrong(stats), (2, 1, "cannot read this line of the listing".to_owned()));
}

#[test]
fn tables_of_iptables_nft_count_once() {
    let listing = "table ip filter {\n\tchain INPUT {\n\t\ttype filter hook input priority filter; policy accept;\n\t}\n}\n";
    let (session, notes) = load(&format!("{TABLES}{listing}").replace(" -m set --match-set bad src", ""))
        .unwrap_or_else(|diag| panic!("{diag}"));
    assert_eq!(names(&session), ["filter"]);
    assert_eq!((notes.len(), notes[0].line, notes[0].severity), (1, 6, Severity::Warning));
    // A table of one's own with that name is another matter.
    let own = listing.replace("INPUT", "mine");
    let (session, notes) = load(&format!("{TABLES}{own}").replace(" -m set --match-set bad src", ""))
        .unwrap_or_else(|diag| panic!("{diag}"));
    assert_eq!((names(&session).len(), notes.len()), (2, 0));
}

#[test]
fn settings_and_addresses_come_with_the_rest() {
    let text = format!(
        "net.ipv4.vs.conntrack = 1\nlink add kube-ipvs0 type dummy\naddress add 10.96.0.10/32 dev kube-ipvs0\n{SERVERS}"
    );
    let (session, _) = load(&text).unwrap_or_else(|diag| panic!("{diag}"));
    assert_eq!(session.netns().sysctl("net.ipv4.vs.conntrack"), Some(1));
    assert!(session.netns().inet.is_own("10.96.0.10".parse().expect("an address")));
    let wrong = load(&text.replace("dev kube-ipvs0", "dev nowhere")).map(|_| ()).expect_err("no such device");
    assert_eq!((wrong.line, wrong.column), (3, 1));
}

#[test]
fn what_a_file_holds_is_asked_for() {
    let (session, notes) =
        load(&format!("nft -f /etc/nftables.conf\n{LISTING}")).unwrap_or_else(|d| panic!("{d}"));
    assert_eq!(names(&session), ["inet fw"]);
    assert_eq!((notes[0].line, notes[0].severity), (1, Severity::Warning), "{notes:?}");
}
