//! Places in long lines, which are found by marks, against counting every character.

use super::*;
use crate::text::xt::words::span;

/// A long line whose characters have one to four bytes.
fn long() -> String {
    "ab \u{e9}\u{2013} \u{1f980}c".repeat(700)
}

#[test]
fn places_in_a_long_line_are_those_that_counting_gives() {
    let text = long();
    let line = Line::trimmed(&text, 7);
    for (at, (byte, c)) in text.char_indices().enumerate() {
        let place = line.place(span(byte, byte + c.len_utf8()));
        assert_eq!(place, Place { line: 7, column: at as u32 + 1, len: 1 });
    }
    let (end, last) = (text.len(), text.chars().count() as u32);
    assert_eq!(line.place(span(end, end)), Place { line: 7, column: last + 1, len: 0 });
    assert_eq!(line.place(line.whole()).len, last);
}

#[test]
fn a_place_inside_a_character_is_that_of_the_character() {
    let text = long();
    let line = Line::exact(&text, 1);
    for (byte, c) in text.char_indices().skip(2_000) {
        for inside in 1..c.len_utf8() {
            assert_eq!(line.place(span(byte + inside, byte + inside)), line.place(span(byte, byte)));
        }
    }
}

#[test]
fn parts_of_an_edited_line_remember_where_they_came_from() {
    let text = long();
    let dashes: Vec<_> =
        text.match_indices('\u{2013}').map(|(at, dash)| (at..at + dash.len(), "--")).collect();
    let edited = Line::exact(&text, 3).edited(&dashes);
    let original: Vec<char> = text.chars().collect();
    for (at, crab) in edited.text.match_indices('\u{1f980}') {
        let part = edited.part(at..at + crab.len() + 1);
        let place = part.place(span(crab.len(), crab.len() + 1));
        assert_eq!(original[place.column as usize - 1], 'c', "{place:?}");
        assert_eq!(place, edited.place(span(at + crab.len(), at + crab.len() + 1)));
    }
}
