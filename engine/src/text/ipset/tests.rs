//! A transcript of the real tool, replayed.

use super::*;

/// Splits `text` like the shell that made the transcript; its arguments hold no quotes of their own, save the
/// comments, which are marked in the transcript by what they contain.
fn words_of(line: &str) -> Vec<String> {
    match line.split_once(" comment a") {
        Some((head, tail)) => {
            let mut words: Vec<String> = head.split(' ').map(str::to_owned).collect();
            words.push("comment".to_owned());
            words.push(format!("a{tail}"));
            words
        }
        None => line.split(' ').filter(|w| !w.is_empty()).map(str::to_owned).collect(),
    }
}

/// Elements of a hash come in any order, and its seed is random.
fn canonical(text: &str) -> String {
    let mut lines: Vec<String> = text
        .lines()
        .map(|l| match l.split_once(" initval ") {
            Some((head, _)) => head.to_owned(),
            None => l.to_owned(),
        })
        .collect();
    lines.sort();
    lines.join("\n")
}

/// ipset 7.17 on Linux 6.18, one command after the other (`transcript.txt`).
#[test]
fn a_transcript_of_the_tool_agrees() {
    let mut sets = Sets::default();
    let none = |_: &str| 0;
    let (mut wrong, mut seen) = (String::new(), 0);
    for block in include_str!("transcript.txt").split("$ ipset ").skip(1) {
        let (line, rest) = block.split_once('\n').unwrap();
        // Options of the engine's own limits, and time that passes between two real commands.
        if line.contains("skbinfo") || line.starts_with("version") || line.starts_with("save t") {
            continue;
        }
        seen += 1;
        let (text, code) = rest.rsplit_once("  rc=").unwrap();
        let text: String = text.lines().map(|l| format!("{}\n", l.trim_start())).collect();
        let words = words_of(line);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let quiet = words.contains(&"-q");
        let mut cx = IpsetCx { sets: &mut sets, now: Instant::ZERO, references: &none };
        let (mine, mine_code) = match run(&mut cx, &words) {
            Ok(out) => (out, 0),
            Err(e) => (e.message.replace("Try `ipset help' for more information.\n", ""), e.exit_code),
        };
        let same = quiet || canonical(&mine) == canonical(&text);
        if !same || mine_code.to_string() != code.trim() {
            wrong.push_str(&format!(
                "ipset {line}\nengine ({mine_code}):\n{mine}tool ({}):\n{text}\n",
                code.trim()
            ));
        }
    }
    assert!(wrong.is_empty(), "of {seen} commands these differ:\n{wrong}");
    assert!(seen > 100, "{seen}");
}

/// `save | restore | save` is the identity.
#[test]
fn a_save_restores() {
    let text = "create a hash:ip family inet hashsize 1024 maxelem 65536 timeout 60 counters comment bucketsize 12 initval 0x00000001\n\
        add a 10.0.0.1 timeout 30 packets 5 bytes 6 comment \"x y\"\n\
        create b hash:net family inet6 hashsize 64 maxelem 1000 bucketsize 12 initval 0x36f03513\n\
        add b fd00::/64\n\
        add b fd00:0:0:1::/64 nomatch\n\
        create c hash:ip,port,net family inet hashsize 1024 maxelem 65536 bucketsize 12 initval 0x2339673a\n\
        add c 10.0.0.1,tcp:80,10.0.0.0/8\n\
        add c 10.0.0.3,icmp:fragmentation-needed,10.5.5.5\n\
        add c 10.0.0.5,gre:0,10.0.0.0/8\n\
        create d bitmap:port range 0-65535\n\
        add d 80\n\
        create e hash:net,iface family inet hashsize 1024 maxelem 65536 bucketsize 12 initval 0x4aeaa12e\n\
        add e 10.1.0.0/16,physdev:eth1\n\
        add e 10.1.2.3,eth2 nomatch\n\
        create f list:set size 8\n\
        add f b\n\
        add f a\n";
    let mut sets = Sets::default();
    let none = |_: &str| 0;
    let mut cx = IpsetCx { sets: &mut sets, now: Instant::ZERO, references: &none };
    restore(&mut cx, text, false).unwrap();
    assert_eq!(save(&sets, None, Instant::ZERO), text);
}

#[test]
fn a_restore_names_the_line_that_failed() {
    let mut sets = Sets::default();
    let none = |_: &str| 0;
    let mut cx = IpsetCx { sets: &mut sets, now: Instant::ZERO, references: &none };
    let error =
        restore(&mut cx, "create a hash:ip\nadd a 10.0.0.1\n\n# x\nadd a 10.0.0.1\n", false).unwrap_err();
    assert_eq!(
        error.message,
        "ipset v7.17: Error in line 5: Element cannot be added to the set: it's already added\n"
    );
    assert_eq!(error.exit_code, 1);
}

/// Seen with ipset 7.17 on Linux 6.18: a reference counts before the new name is looked at.
#[test]
fn a_set_in_use_keeps_its_name() {
    let mut sets = Sets::default();
    let by_rule = |name: &str| u32::from(name == "ruled");
    let mut cx = IpsetCx { sets: &mut sets, now: Instant::ZERO, references: &by_rule };
    let text =
        "create listed hash:ip\ncreate ruled hash:ip\ncreate free hash:ip\ncreate l list:set\nadd l listed\n";
    restore(&mut cx, text, false).unwrap();
    let in_use = "ipset v7.17: Set cannot be renamed: it is in use by another system\n";
    let exists = "ipset v7.17: Set cannot be renamed: a set with the new name already exists\n";
    for (from, to, message) in [
        ("listed", "new", in_use),
        ("listed", "free", in_use),
        ("ruled", "new", in_use),
        ("free", "ruled", exists),
    ] {
        assert_eq!(run(&mut cx, &["rename", from, to]).unwrap_err().message, message, "{from} {to}");
    }
    run(&mut cx, &["rename", "free", "new"]).unwrap();
    assert_eq!(cx.sets.names(), ["listed", "ruled", "new", "l"]);
}
