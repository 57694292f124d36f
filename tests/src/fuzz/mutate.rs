//! Ways to damage a text: as people do when they copy it, and as an enemy would.

use chainwalk_engine::base::Rng;

/// A long text is cut to a window of so many lines: more inputs a second, the same grammar.
const WINDOW_LINES: u32 = 40;
const MUTATIONS_MAX: u32 = 6;

/// Pieces that stand at the borders of what the readers accept.
const TOKENS: &[&str] = &[
    "",
    " ",
    "\t",
    "\r\n",
    "\n\n",
    "\0",
    "\u{feff}",
    "\u{2019}",
    "\u{201c}",
    "\u{2013}",
    "\"",
    "'",
    "\\",
    "!",
    "! !",
    "-",
    "--",
    "-A",
    "-I INPUT 0",
    "-D INPUT 1",
    "-j",
    "-g",
    "-m",
    "-p",
    "-p 256",
    "-p -1",
    "-s 0.0.0.0/33",
    "-s ::/129",
    "-s 1.2.3.4/255.0.255.0",
    "-d a.example",
    "-i eth+",
    "-i aaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "--dport 65536",
    "--dport 1:",
    "--dport :",
    "--dports 1,2,3",
    "--mark 0x100000000",
    "--mark 1/",
    "--probability 1.5",
    "--probability nan",
    "--every 0",
    "--limit 0/s",
    "--ctstate",
    "--ctstate NEW,,",
    "--comment \"",
    "--to-destination :0",
    "--to-destination 1.2.3.4-1.2.3.3",
    "COMMIT",
    "*nat",
    "*nat2",
    ":A - [0:0]",
    ":INPUT DROP [18446744073709551616:0]",
    "[0:0]",
    "[1",
    "#",
    "4294967295",
    "18446744073709551615",
    "-1",
    "0x",
    "1e9",
    "/",
    ":",
    ",",
    "dev",
    "via",
    "src",
    "inet6",
    "inet 1.2.3.4/24",
    "default",
    "{",
    "}",
    "[",
    "]",
    "null",
    "\"at_ms\": -1",
    "\"raw_hex\": \"4\"",
    "\u{10ffff}",
    "e\u{301}",
];

/// One to [`MUTATIONS_MAX`] mutations of a window of `base`.
pub fn mutate(rng: &mut Rng, base: &str, other: &str) -> String {
    let mut text = window(rng, base);
    for _ in 0..=rng.below(MUTATIONS_MAX) {
        text = once(rng, &text, other);
    }
    text
}

fn window(rng: &mut Rng, text: &str) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    // Structured input without lines, and short texts, stay whole.
    if lines.len() as u32 <= WINDOW_LINES || text.starts_with('{') {
        return text.to_owned();
    }
    let start = rng.below(lines.len() as u32) as usize;
    // Rules mean little without the table they are in.
    let head = lines[..start].iter().rev().find(|line| line.starts_with('*')).copied().unwrap_or_default();
    let end = lines.len().min(start + WINDOW_LINES as usize);
    [head, &lines[start..end].concat()].concat()
}

fn once(rng: &mut Rng, text: &str, other: &str) -> String {
    match rng.below(10) {
        0 => insert(text, place(rng, text), TOKENS[rng.below(TOKENS.len() as u32) as usize]),
        1 => replace_word(rng, text),
        2 => remove(rng, text),
        3 => text[..place(rng, text)].to_owned(),
        4 => change_lines(rng, text, |lines, at, _| lines.insert(at, lines[at])),
        5 => change_lines(rng, text, |lines, at, _| {
            lines.remove(at);
        }),
        6 => change_lines(rng, text, |lines, at, to| lines.swap(at, to)),
        7 => flip_case(rng, text),
        8 => {
            let piece = &other[place(rng, other)..];
            let piece = &piece[..place(rng, piece)];
            insert(text, place(rng, text), piece)
        }
        _ => byte(rng, text),
    }
}

/// A position between two characters.
fn place(rng: &mut Rng, text: &str) -> usize {
    let mut at = rng.below(text.len() as u32 + 1) as usize;
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

fn insert(text: &str, at: usize, piece: &str) -> String {
    [&text[..at], piece, &text[at..]].concat()
}

fn remove(rng: &mut Rng, text: &str) -> String {
    let (one, two) = (place(rng, text), place(rng, text));
    // Mostly small holes: a large one leaves nothing to read.
    let (start, end) = (one.min(two), one.max(two));
    let mut end = end.min(start + rng.below(24) as usize);
    while !text.is_char_boundary(end) {
        end += 1;
    }
    [&text[..start], &text[end..]].concat()
}

fn replace_word(rng: &mut Rng, text: &str) -> String {
    let at = place(rng, text);
    let start = text[..at]
        .rfind(char::is_whitespace)
        .map_or(0, |space| space + text[space..].chars().next().map_or(0, char::len_utf8));
    let end = text[at..].find(char::is_whitespace).map_or(text.len(), |space| at + space);
    [&text[..start], TOKENS[rng.below(TOKENS.len() as u32) as usize], &text[end..]].concat()
}

fn change_lines(rng: &mut Rng, text: &str, change: impl FnOnce(&mut Vec<&str>, usize, usize)) -> String {
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    if lines.is_empty() {
        return text.to_owned();
    }
    let count = lines.len() as u32;
    change(&mut lines, rng.below(count) as usize, rng.below(count) as usize);
    lines.concat()
}

fn flip_case(rng: &mut Rng, text: &str) -> String {
    let at = place(rng, text);
    let end = text[at..].find(char::is_whitespace).map_or(text.len(), |space| at + space);
    [&text[..at], &text[at..end].to_uppercase(), &text[end..]].concat()
}

/// One byte becomes another; what is no longer UTF-8 becomes the replacement character, as in a paste.
fn byte(rng: &mut Rng, text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    if !bytes.is_empty() {
        let at = rng.below(bytes.len() as u32) as usize;
        bytes[at] = rng.below(256) as u8;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_give_equal_texts() {
        let base =
            "*nat\n-A PREROUTING -p tcp --dport 80 -j DNAT --to-destination 1.2.3.4:80\u{2019}\nCOMMIT\n";
        let all = |seed| (0..500).map(|_| mutate(&mut Rng::new(seed), base, base)).collect::<Vec<_>>();
        assert_eq!(all(1), all(1));
        let mut rng = Rng::new(3);
        let different = (0..500).filter(|_| mutate(&mut rng, base, base) != base).count();
        assert!(different > 450, "{different} of 500 inputs differ from what they were made of");
    }
}
