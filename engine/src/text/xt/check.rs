//! What the kernel checks when a table is committed, and the tool cannot know before.

use crate::netfilter::table::{ChainId, Table};

use super::build::jumps_to;

/// A rule the kernel refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Objection {
    pub chain: ChainId,
    /// Position of the rule in the chain.
    pub rule: usize,
    /// For the reader: what is wrong.
    pub reason: String,
}

/// A way from a built-in chain back into itself (`mark_source_chains`, `nft_chain_validate`). A loop that no
/// built-in chain reaches is accepted, as the kernel never looks there.
pub(super) fn find_loop(table: &Table) -> Option<Objection> {
    #[derive(Clone, Copy, PartialEq)]
    enum Colour {
        New,
        OnPath,
        Done,
    }
    let mut colour = vec![Colour::New; table.chains.len()];
    let bases = (0..table.chains.len()).filter(|&i| table.chains[i].base.is_some());
    for base in bases {
        // Chain and the next rule to look at.
        let mut path = vec![(base, 0_usize)];
        colour[base] = Colour::OnPath;
        while let Some((chain, at)) = path.last_mut() {
            let Some(rule) = table.chains[*chain].rules.get(*at) else {
                colour[*chain] = Colour::Done;
                path.pop();
                continue;
            };
            *at += 1;
            let Some(to) = jumps_to(rule) else { continue };
            let to = to.0 as usize;
            match colour[to] {
                Colour::Done => {}
                Colour::New => {
                    colour[to] = Colour::OnPath;
                    path.push((to, 0));
                }
                Colour::OnPath => {
                    let (chain, rule) = (*chain, *at - 1);
                    let from = path.iter().position(|&(c, _)| c == to).unwrap_or(0);
                    let mut names: Vec<&str> =
                        path[from..].iter().map(|&(c, _)| &*table.chains[c].name).collect();
                    names.push(&table.chains[to].name);
                    let reason = format!(
                        "Too many levels of symbolic links: the jumps {} never end",
                        names.join(" -> ")
                    );
                    return Some(Objection { chain: ChainId(chain as u32), rule, reason });
                }
            }
        }
    }
    None
}
