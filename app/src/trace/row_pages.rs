//! Pages of rows that have arrived.

use std::collections::BTreeMap;
use std::rc::Rc;

use chainwalk_engine::view::{RuleRow, RuleWindow};
use yew::Reducible;

use crate::rows::PAGE_ROWS;

/// Pages by number.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Pages {
    pages: BTreeMap<u32, Rc<RuleWindow>>,
}

impl Pages {
    /// The row at `index`, counted from 0, if its page has arrived.
    pub(super) fn row(&self, index: u32) -> Option<&RuleRow> {
        self.pages.get(&(index / PAGE_ROWS))?.rows.get((index % PAGE_ROWS) as usize)
    }
}

impl Reducible for Pages {
    type Action = (u32, Rc<RuleWindow>);

    fn reduce(self: Rc<Self>, (page, window): Self::Action) -> Rc<Self> {
        let mut pages = Rc::unwrap_or_clone(self);
        pages.pages.insert(page, window);
        Rc::new(pages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_across_pages() {
        let row = |number| RuleRow {
            number,
            text: String::new(),
            target: String::new(),
            comment: String::new(),
            counts: true,
            packets: 0,
            bytes: 0,
            line: 0,
            fate: chainwalk_engine::view::RuleFate::NotReached,
            checks: Vec::new(),
            not_emulated: Vec::new(),
        };
        let window = |from: u32, len: u32| RuleWindow {
            from,
            total: 150,
            rows: (0..len).map(|at| row(from + at + 1)).collect(),
        };
        let pages = Rc::new(Pages::default()).reduce((1, Rc::new(window(100, 50))));
        assert_eq!(pages.row(99), None);
        assert_eq!(pages.row(100).map(|row| row.number), Some(101));
        let pages = pages.reduce((0, Rc::new(window(0, 100))));
        assert_eq!(pages.row(99).map(|row| row.number), Some(100));
        assert_eq!(pages.row(150), None);
    }
}
