//! Tables of `FIDELITY.md` as data. In the engine's worker only.

use serde::{Deserialize, Serialize};

/// A heading with what stands below it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Section {
    pub title: String,
    /// Paragraphs, with code between backticks.
    pub notes: Vec<String>,
    /// Names of the columns; empty where there is no table.
    pub head: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

/// The ledger.
pub fn sections() -> Vec<Section> {
    parse(include_str!("../../../FIDELITY.md"))
}

fn parse(text: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        if line.starts_with('#') {
            let title = line.trim_start_matches('#').trim().to_owned();
            sections.push(Section { title, ..Section::default() });
            continue;
        }
        let Some(section) = sections.last_mut() else { continue };
        match cells(line) {
            Some(cells) if section.head.is_empty() => section.head = cells,
            // `|---|---|` under the head.
            Some(cells) if cells.iter().all(|cell| cell.starts_with("---")) => {}
            Some(cells) => section.rows.push(cells),
            None => section.notes.push(line.to_owned()),
        }
    }
    sections
}

fn cells(line: &str) -> Option<Vec<String>> {
    let inside = line.strip_prefix('|')?.strip_suffix('|')?;
    Some(inside.split('|').map(|cell| cell.trim().to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use chainwalk_engine::netfilter::ledger::{Kind, rows};

    use super::*;

    #[test]
    fn every_match_and_target_of_the_registry_is_shown() {
        let sections = sections();
        for (kind, title) in [(Kind::Match, "Matches"), (Kind::Target, "Targets")] {
            let section = sections.iter().find(|section| section.title == title).expect("the section");
            let shown: Vec<_> = section.rows.iter().map(|row| row[0].trim_matches('`')).collect();
            let known: Vec<_> = rows()
                .iter()
                .filter(|row| row.kind == kind && row.option.is_none())
                .map(|row| row.name)
                .collect();
            assert_eq!(shown, known);
        }
        assert!(
            sections.iter().all(|section| section.rows.iter().all(|row| row.len() == section.head.len()))
        );
    }
}
