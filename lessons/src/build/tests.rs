//! The shipped lessons hold; each class of problem is found; the authoring guide lists what there is.

use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::expr::FUNCTIONS;

fn content() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("content")
}

#[test]
fn every_shipped_lesson_holds() {
    let built = build(&content()).expect("the content folder is readable");
    assert!(built.problems.is_empty(), "\n{}", built.report());
    assert!(built.lessons.len() >= 2, "{} lessons", built.lessons.len());
    for (lesson, page) in built.lessons.iter().zip(&built.pages) {
        println!("{}: page {} bytes", lesson.entry.id, page.len());
    }
}

#[test]
fn the_guide_lists_every_class_and_function() {
    let guide = fs::read_to_string(content().with_file_name("README.md")).expect("the guide is there");
    for class in Class::ALL {
        assert!(guide.contains(&format!("| `{}` | ", class.name())), "no row for {}", class.name());
    }
    for (name, takes, gives) in FUNCTIONS {
        let row = format!("| `{name}` | {takes} | {gives} |");
        assert!(guide.contains(&row), "no row {row}");
    }
    for kind in source::KINDS {
        assert!(guide.contains(&format!("\n### {kind}\n")), "no section for {kind}");
    }
}

/// A small lesson in which every rule is kept.
const GOOD: &str = r#"+++
id = "tiny"
title = "Tiny"
summary = "A lesson for the checker's own tests."
minutes = 5
sources = [{ title = "none" }]
+++

A packet arrives.

```scenario id=run
title = "One packet"
packets = [{ in = "a0", src = "10.1.0.2", dst = "10.2.0.2", proto = "udp", sport = 4000, dport = 53, len = 4 }]
[node]
interfaces = [{ name = "a0", addresses = ["10.1.0.1/24"] }, { name = "b0", addresses = ["10.2.0.1/24"] }]
sysctls = { "net.ipv4.ip_forward" = "1" }
setup = [{ run = "iptables-legacy-restore", stdin_file = "node.rules" }]
```

```predict id=one run=run
ask = "What happens?"
[[option]]
say = "It is forwarded."
holds = "run.packets[0].verdict == 'forwarded'"
expected = true
because = "To `{{run.packets[0].emitted[0].dst}}`."
[[option]]
say = "It is dropped."
holds = "run.packets[0].verdict == 'dropped'"
because = "No rule drops it."
[[option]]
say = "It is delivered."
holds = "run.packets[0].verdict == 'delivered'"
because = "The address is not the node's."
```

## Why

The TTL goes down to {{run.packets[0].emitted[0].ttl}}.

```console run=run
$ iptables-legacy-save -t filter | grep -c 10.9.9.9
1
```

```figure run=run packet=0 show=river
caption = "It crosses the node."
```

PREDICT

```scenario id=many
title = "Written by hand"
[spread]
rules = "many.rules"
client = "10.244.1.5"
service = "10.96.10.20:80"
connections = 2000
seed = 1
```

```task id=fair run=many
ask = "Make it fair."
check = "after.uniform.fits"
hint = ["Half of the rest."]
done = "Fair."
[[never]]
if = "len(after.endpoints) < 3"
say = "A pod is gone."
[[solution]]
probabilities = ["0.3333333333", "0.5", ""]
[[wrong]]
probabilities = ["0.3333333333", "0.9", ""]
[[wrong]]
probabilities = ["0.3333333333", "0.5", ""]
dropped = [0]
says = "A pod is gone."
```

```interview
prompt = "Say it."
say = ["It is forwarded."]
```
"#;

fn good() -> String {
    let mut text = GOOD.to_owned();
    let from = text.find("```predict id=one").expect("it is above");
    let to = text.find("## Why").expect("it is above");
    let question = text[from..to].to_owned();
    let more = question.replace("id=one", "id=two") + &question.replace("id=one", "id=three");
    text = text.replace("PREDICT", &more);
    text
}

/// Builds one lesson with that text in a folder of its own.
fn built(name: &str, text: &str) -> Built {
    let dir = std::env::temp_dir().join(format!("chainwalk-lessons-{}-{name}", std::process::id()));
    let lesson = dir.join("01-part/01-tiny");
    fs::create_dir_all(&lesson).expect("the temporary folder is writable");
    fs::write(lesson.join("lesson.md"), text).expect("writable");
    fs::write(lesson.join("node.rules"), "*filter\n-A FORWARD -d 10.9.9.9/32 -j DROP\nCOMMIT\n")
        .expect("writable");
    let by_hand = content().join("01-path/02-chain-probabilities/by-hand.rules");
    fs::copy(by_hand, lesson.join("many.rules")).expect("the shipped rules are there");
    let built = build(&dir).expect("readable");
    fs::remove_dir_all(&dir).expect("removable");
    built
}

#[test]
fn a_lesson_that_keeps_every_rule_has_no_problems() {
    let built = built("good", &good());
    assert_eq!(built.report(), "");
    assert_eq!(built.lessons.len(), 1);
    assert!(built.stale.is_empty());
}

/// Replaces `from` by `to` in the good lesson and expects this class and these words.
#[track_caller]
fn refuses(from: &str, to: &str, class: Class, words: &str) {
    let text = good();
    assert!(text.contains(from), "the good lesson has no {from:?}");
    let built = built(class.name(), &text.replacen(from, to, 1));
    let found =
        built.problems.iter().find(|problem| problem.class == class && problem.to_string().contains(words));
    assert!(found.is_some(), "expected [{}] {words:?}, got:\n{}", class.name(), built.report());
    assert!(built.lessons.is_empty(), "a lesson with a problem is not written");
}

#[test]
fn front_matter_is_checked() {
    use Class::FrontMatter;
    refuses("+++\nid", "id", FrontMatter, "begins with a line `+++`");
    refuses("minutes = 5", "minutes = 500", FrontMatter, "3 to 60");
    refuses("minutes = 5", "minutes = five", FrontMatter, ":5:");
    refuses("\"tiny\"", "\"other\"", FrontMatter, "the folder is called `tiny`");
    refuses("minutes = 5", "minutes = 5\nrequires = [\"x\"]", FrontMatter, "not an earlier lesson");
    refuses("[{ title = \"none\" }]", "[]", FrontMatter, "`sources` is empty");
}

#[test]
fn blocks_are_checked() {
    use Class::{BlockSyntax, ScenarioFailed, ScenarioUnused, UnknownReference};
    refuses("say = [\"It is forwarded.\"]\n```", "say = [\"x\"]", BlockSyntax, "never closed");
    refuses("caption =", "captoin =", BlockSyntax, "captoin");
    refuses("show=river", "show=lake", BlockSyntax, "no figure `lake`");
    refuses("```figure run=run", "```figure", BlockSyntax, "needs `run=...`");
    refuses("id=two", "id=one", BlockSyntax, "two blocks have the id `one`");
    refuses("```figure run=run", "```figure run=ran", UnknownReference, "no scenario has the id `ran`");
    refuses("emitted[0].ttl", "emitted[0].tll", UnknownReference, "no member `tll`");
    refuses("node.rules", "none.rules", ScenarioFailed, "none.rules");
    refuses("node.rules", "../node.rules", ScenarioFailed, "plain name");
    refuses("```figure run=run packet=0", "```figure run=run packet=7", UnknownReference, "no packet 7");
    refuses(
        "## Why",
        "```scenario id=idle\ntitle = \"x\"\nlike = \"run\"\n```\n## Why",
        ScenarioUnused,
        "`idle`",
    );
}

#[test]
fn outcomes_are_checked() {
    refuses("\n1\n```", "\n2\n```", Class::TranscriptDiffers, "- 2\n    + 1");
    refuses(
        "== 'forwarded'",
        "== 'stolen'",
        Class::NotOneAnswer,
        "exactly one option must hold; these do: []",
    );
    refuses(
        "because = \"No rule drops it.\"",
        "because = \"\"",
        Class::NotOneAnswer,
        "option 2 gives no reason",
    );
    refuses("\nexpected = true", "", Class::AnswerMoved, "0 options are marked");
    let twice = "\"run.packets[0].verdict == 'dropped'\"\nexpected = true";
    refuses("\"run.packets[0].verdict == 'dropped'\"", twice, Class::AnswerMoved, "2 options are marked");
    refuses(
        "== 'forwarded'\"\nexpected = true\nbecause = \"To",
        "== 'dropped'\"\nexpected = true\nbecause = \"x\"\n[[option]]\nsay = \"It goes on.\"\nholds = \"true\"\nbecause = \"To",
        Class::AnswerMoved,
        "the engine says option 2; the lesson is written around option 1",
    );
    refuses("goes down to", "goes down to 63, that is", Class::LiteralNumber, "`63` is written out");
    refuses(
        "check = \"after.uniform.fits\"",
        "check = \"not after.uniform.fits\"",
        Class::TaskStartPasses,
        "",
    );
    refuses("\"0.5\", \"\"]\n[[wrong]]", "\"0.8\", \"\"]\n[[wrong]]", Class::TaskSolutionFails, "solution 1");
    refuses("\"0.9\"", "\"0.5\"", Class::TaskWrongPasses, "wrong attempt 1 is accepted");
    refuses("says = \"A pod is gone.\"", "says = \"Two pods\"", Class::TaskWrongPasses, "not with");
}

#[test]
fn shape_is_checked() {
    refuses("```predict id=three", "```quiz id=three", Class::TooFewPredictions, "2 predictions");
    refuses("A packet arrives.", "## First\n\nA packet arrives.", Class::ExplainsFirst, ":9:");
    refuses("```interview", "```text", Class::NoInterview, "");
    refuses("It crosses the node.", &"words ".repeat(15_000), Class::PageTooLarge, "bytes; at most");
}

#[test]
fn update_writes_what_the_engine_prints() {
    let text = good().replace("\n1\n```", "\nwrong\n```");
    let built = built("update", &text);
    assert_eq!(built.stale.len(), 1);
    assert_eq!(built.stale[0].1, good());
}
