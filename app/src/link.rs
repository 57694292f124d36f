//! The whole state of the Trace page in the part of a link after `#/s/`.
//!
//! `v1.` and base64url (no padding) over raw deflate over text. The text's first line carries the length and a
//! checksum of the rest; the rest is `key value` lines, shortest first and the ruleset last, so that a link
//! that was cut in half still gives the packet and the first rules. Never sent to a server: it is a fragment.

use std::io::{Read, Write};

use chainwalk_engine::base::Fnv;
use chainwalk_engine::view::{ProblemView, Severity};
use data_encoding::BASE64URL_NOPAD;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

use crate::protocol::{FamilyChoice, Follow, SharedState, TEXT_LIMIT_BYTES};

const VERSION: &str = "v1.";
const MAGIC: &str = "chainwalk.state/1";

/// Longest link offered; longer ones are cut by chat programs and mail, so a file is offered instead.
pub const LINK_LIMIT_CHARS: usize = 32_000;

/// Writes the part of a link after `#/s/`.
pub fn write(state: &SharedState) -> String {
    seal(&print(state))
}

/// Packs a text with its length and checksum.
pub fn seal(body: &str) -> String {
    let text = format!("{MAGIC} {} {:016x}\n{body}", body.len(), Fnv::of(body.as_bytes()));
    let mut deflate = DeflateEncoder::new(Vec::new(), Compression::best());
    // Writing into memory does not fail.
    let packed = deflate.write_all(text.as_bytes()).and_then(|()| deflate.finish()).unwrap_or_default();
    format!("{VERSION}{}", BASE64URL_NOPAD.encode(&packed))
}

/// Reads what can be read, and says what could not.
pub fn read(link: &str) -> (Option<SharedState>, Vec<ProblemView>) {
    let (body, problems) = open(link);
    (body.map(|body| parse(&body)), problems)
}

/// Unpacks the text of a link, as far as it arrived.
pub fn open(link: &str) -> (Option<String>, Vec<ProblemView>) {
    let Some(encoded) = link.strip_prefix(VERSION) else {
        let other = link.starts_with('v') && link.contains('.');
        let message = if other {
            "This link was made by another version of Chainwalk."
        } else {
            "This is not a link to a run: it should begin with \"v1.\" after \"#/s/\"."
        };
        return (None, vec![problem(link, 0, message, "Ask for the link again, copied whole.")]);
    };
    let (packed, bad_at) = decode(encoded);
    let text = inflate(&packed);
    let mut problems = Vec::new();
    if let Some(at) = bad_at {
        let message = "The link holds a character that no link has; the part before it was read.";
        problems.push(problem(link, VERSION.len() + at, message, ""));
    }
    let Some((header, body)) = text.split_once('\n') else {
        let message = "The link is cut so short that nothing of it can be read.";
        problems.push(problem(link, link.len(), message, "Ask for the link again, copied whole."));
        return (None, problems);
    };
    let mut words = header.split(' ');
    let is_state = words.next() == Some(MAGIC);
    let len = words.next().and_then(|word| word.parse::<usize>().ok());
    let (true, Some(len)) = (is_state, len) else {
        problems.push(problem(link, 0, "The link does not hold a run of Chainwalk.", ""));
        return (None, problems);
    };
    if body.len() < len {
        let message =
            format!("The link was cut: {} of {len} bytes arrived. What arrived was kept.", body.len());
        problems.push(problem(link, link.len(), &message, "Ask for the link again, copied whole."));
    } else if words.next() != Some(&format!("{:016x}", Fnv::of(body.as_bytes()))) {
        problems.push(problem(link, 0, "The link was changed on its way; what it says may be wrong.", ""));
    }
    (Some(body.to_owned()), problems)
}

fn problem(link: &str, at: usize, message: &str, hint: &str) -> ProblemView {
    let chars: Vec<char> = link.chars().collect();
    let at = at.min(chars.len());
    let from = at.saturating_sub(40);
    let excerpt: String = chars[from..(at + 20).min(chars.len())].iter().collect();
    ProblemView {
        severity: Severity::Error,
        line: 1,
        column: at as u32 + 1,
        len: 1,
        message: message.to_owned(),
        hint: hint.to_owned(),
        excerpt,
        excerpt_column: (at - from) as u32,
    }
}

/// Bytes of the longest readable beginning, and where reading stopped if that is not the end.
fn decode(encoded: &str) -> (Vec<u8>, Option<usize>) {
    let is_alphabet = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let bad_at = encoded.bytes().position(|byte| !is_alphabet(byte));
    let good = &encoded[..bad_at.unwrap_or(encoded.len())];
    // A cut can leave one character, or bits that belong to the next byte: whole groups of four always decode.
    let bytes = BASE64URL_NOPAD
        .decode(good.as_bytes())
        .or_else(|_| BASE64URL_NOPAD.decode(&good.as_bytes()[..good.len() / 4 * 4]))
        .unwrap_or_default();
    (bytes, bad_at)
}

/// Text of the longest readable beginning.
fn inflate(packed: &[u8]) -> String {
    let mut reader = DeflateDecoder::new(packed).take(TEXT_LIMIT_BYTES + (1 << 20));
    let mut text = Vec::new();
    let mut part = [0; 4096];
    // An error is a cut or damaged stream; what came before it is good.
    while let Ok(read @ 1..) = reader.read(&mut part) {
        text.extend_from_slice(&part[..read]);
    }
    match String::from_utf8(text) {
        Ok(text) => text,
        Err(error) => {
            let good = error.utf8_error().valid_up_to();
            String::from_utf8_lossy(&error.as_bytes()[..good]).into_owned()
        }
    }
}

fn print(state: &SharedState) -> String {
    let mut body = String::new();
    let mut line = |key: &str, value: &str| {
        if !value.is_empty() {
            body.push_str(&format!("{key} {value}\n"));
        }
    };
    line("packet", &state.packet.replace('\n', " "));
    let follow: Vec<_> = state.follow.iter().map(|follow| word(*follow)).collect();
    line("follow", &follow.join(" "));
    line("shown", &format!("{} {}", state.shown.0, state.shown.1));
    match state.family {
        FamilyChoice::Auto => {}
        FamilyChoice::V4 => line("family", "4"),
        FamilyChoice::V6 => line("family", "6"),
    }
    for (key, values) in
        [("addr", &state.facts.addresses), ("route", &state.facts.routes), ("sysctl", &state.facts.sysctls)]
    {
        for value in values {
            line(key, &value.replace('\n', " "));
        }
    }
    for (key, text) in
        [("ip-addr", &state.facts.ip_addr), ("ip-route", &state.facts.ip_route), ("rules", &state.rules)]
    {
        if !text.is_empty() {
            body.push_str(&format!("{key} {}\n{text}\n", text.len()));
        }
    }
    body
}

fn word(follow: Follow) -> &'static str {
    match follow {
        Follow::Reply => "reply",
        Follow::Again => "again",
    }
}

fn parse(mut body: &str) -> SharedState {
    let mut state = SharedState::default();
    while !body.is_empty() {
        let (line, rest) = body.split_once('\n').unwrap_or((body, ""));
        body = rest;
        let (key, value) = line.split_once(' ').unwrap_or((line, ""));
        match key {
            "packet" => state.packet = value.to_owned(),
            "follow" => {
                let known = |word| match word {
                    "reply" => Some(Follow::Reply),
                    "again" => Some(Follow::Again),
                    _ => None,
                };
                state.follow = value.split(' ').filter_map(known).collect();
            }
            "shown" => {
                let mut numbers = value.split(' ').map(|word| word.parse().unwrap_or(0));
                state.shown = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
            }
            "family" => state.family = if value == "6" { FamilyChoice::V6 } else { FamilyChoice::V4 },
            "addr" => state.facts.addresses.push(value.to_owned()),
            "route" => state.facts.routes.push(value.to_owned()),
            "sysctl" => state.facts.sysctls.push(value.to_owned()),
            "ip-addr" => state.facts.ip_addr = take(&mut body, value),
            "ip-route" => state.facts.ip_route = take(&mut body, value),
            "rules" => state.rules = take(&mut body, value),
            // A later version's key: what it says cannot be shown here.
            _ => {}
        }
    }
    state
}

/// Takes a text of `len` bytes and its line feed off `body`; less when the link was cut.
pub fn take(body: &mut &str, len: &str) -> String {
    let mut len = len.parse::<usize>().unwrap_or(0).min(body.len());
    while !body.is_char_boundary(len) {
        len -= 1;
    }
    let (text, rest) = body.split_at(len);
    *body = rest.strip_prefix('\n').unwrap_or(rest);
    text.to_owned()
}

#[cfg(test)]
mod tests;
