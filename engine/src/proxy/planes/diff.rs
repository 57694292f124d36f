//! What a sync changed: rows added, removed, and changed in place.
//!
//! Two rows are the same one changed when they stand in the same holder and have the same origin: the rule for
//! an endpoint keeps its identity while its probability changes.

use super::Shared;
use super::book::Book;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    Added,
    Removed,
    /// The row stood there with another text.
    Changed {
        was: String,
    },
}

/// A row as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    pub row: Shared,
    pub change: Option<Change>,
}

/// Longest pair of lists, as a product, that is compared exactly; longer ones are equal at their ends, which
/// is what an edit of one Service among thousands leaves.
const EXACT_MAX: usize = 250_000;

/// Rows of `now`, with what `before` had and `now` has not among them. Without `before` nothing is lit.
pub(super) fn shown(before: Option<&Book>, now: &Book) -> Vec<Shown> {
    let plain = |row: &Shared| Shown { row: row.clone(), change: None };
    let Some(before) = before else {
        return now.holders().into_iter().flat_map(|(_, rows)| rows).map(plain).collect();
    };
    let mut out = Vec::new();
    let new = now.holders();
    let old = before.holders();
    let mut gone = old.iter().filter(|(holder, _)| now.rows_of(holder).is_empty()).peekable();
    for (holder, rows) in &new {
        // Holders that are gone stand where they stood: before the first that sorts behind them.
        while let Some((_, old_rows)) = gone.next_if(|(gone, _)| gone < holder) {
            out.extend(
                old_rows.iter().map(|row| Shown { row: (*row).clone(), change: Some(Change::Removed) }),
            );
        }
        compare(&before.rows_of(holder), rows, &mut out);
    }
    for (_, rows) in gone {
        out.extend(rows.iter().map(|row| Shown { row: (*row).clone(), change: Some(Change::Removed) }));
    }
    out
}

fn compare(old: &[&Shared], new: &[&Shared], out: &mut Vec<Shown>) {
    let same = |(a, b): &(&&Shared, &&Shared)| a.text == b.text;
    let head = old.iter().zip(new).take_while(same).count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(same).count();
    let (old_mid, new_mid) = (&old_rest[..old_rest.len() - tail], &new_rest[..new_rest.len() - tail]);
    let plain = |row: &&Shared| Shown { row: (*row).clone(), change: None };
    out.extend(new[..head].iter().map(plain));
    middle(old_mid, new_mid, out);
    out.extend(new[new.len() - tail..].iter().map(plain));
}

/// Lists whose ends differ.
fn middle(old: &[&Shared], new: &[&Shared], out: &mut Vec<Shown>) {
    let kept = if old.len() * new.len() <= EXACT_MAX { longest_common(old, new) } else { Vec::new() };
    let (mut from_old, mut from_new) = (0, 0);
    for (at_old, at_new) in kept.into_iter().chain([(old.len(), new.len())]) {
        replaced(&old[from_old..at_old], &new[from_new..at_new], out);
        if let Some(row) = new.get(at_new) {
            out.push(Shown { row: (*row).clone(), change: None });
        }
        (from_old, from_new) = (at_old + 1, at_new + 1);
    }
}

/// Between two rows that stayed: pairs of the same origin are changes, the rest came or went.
fn replaced(old: &[&Shared], new: &[&Shared], out: &mut Vec<Shown>) {
    let mut left: Vec<&Shared> = old.to_vec();
    for row in new {
        let change = match left.iter().position(|old| old.origin == row.origin) {
            Some(at) => {
                // What stood before the partner and found none is gone.
                let partner = left.remove(at);
                Change::Changed { was: partner.text.clone() }
            }
            None => Change::Added,
        };
        out.push(Shown { row: (*row).clone(), change: Some(change) });
    }
    out.extend(left.into_iter().map(|row| Shown { row: row.clone(), change: Some(Change::Removed) }));
}

/// Positions of a longest common subsequence, by text.
fn longest_common(old: &[&Shared], new: &[&Shared]) -> Vec<(usize, usize)> {
    let width = new.len() + 1;
    let mut best = vec![0_u32; (old.len() + 1) * width];
    for a in (0..old.len()).rev() {
        for b in (0..new.len()).rev() {
            best[a * width + b] = if old[a].text == new[b].text {
                best[(a + 1) * width + b + 1] + 1
            } else {
                best[(a + 1) * width + b].max(best[a * width + b + 1])
            };
        }
    }
    let (mut a, mut b, mut pairs) = (0, 0, Vec::new());
    while a < old.len() && b < new.len() {
        if old[a].text == new[b].text {
            pairs.push((a, b));
            (a, b) = (a + 1, b + 1);
        } else if best[(a + 1) * width + b] >= best[a * width + b + 1] {
            a += 1;
        } else {
            b += 1;
        }
    }
    pairs
}
