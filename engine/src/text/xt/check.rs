//! What the kernel checks when a table is committed, and the tool cannot know before.

use super::build::jumps_to;
use crate::base::Hook;
use crate::netfilter::Target;
use crate::netfilter::rule::{Net, Not};
use crate::netfilter::table::{Flavour, Table};

/// Deepest nesting of nf_tables: a base chain and the chains jumped to below it (`NFT_JUMP_STACK_SIZE`).
const NFT_DEPTH_MAX: usize = 16;

/// A rule the kernel refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Objection {
    /// Line of the rule.
    pub line: u32,
    pub chain: Box<str>,
    pub by: By,
    /// For the reader: what is wrong.
    pub why: String,
}

/// Who objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// The kernel, with the words of this error number.
    Kernel(&'static str),
    /// nf_tables, to the deletion of a chain in use.
    Busy,
    /// The tool itself, while it commits.
    Tool,
}

/// All objections to a table: loops, jumps into built-in chains, nesting, extensions at hooks that are not theirs.
pub(super) fn table(table: &Table, flavour: Flavour) -> Vec<Objection> {
    let mut objections: Vec<Objection> = jumps_to_built_in(table, flavour).collect();
    if flavour == Flavour::Nft {
        objections.extend(not_in_nft(table));
    }
    match walk(table, flavour) {
        Err(objection) => objections.push(objection),
        Ok(hooks) => objections.extend(misplaced(table, &hooks)),
    }
    objections
}

fn objection(table: &Table, chain: usize, rule: usize, errno: &'static str, why: String) -> Objection {
    let chain = &table.chains[chain];
    Objection { line: chain.rules[rule].line, chain: chain.name.clone(), by: By::Kernel(errno), why }
}

fn jumps_to_built_in(table: &Table, flavour: Flavour) -> impl Iterator<Item = Objection> {
    let errno = match flavour {
        Flavour::Legacy => "Invalid argument",
        Flavour::Nft => "Operation not supported",
    };
    table.chains.iter().enumerate().flat_map(move |(at, chain)| {
        chain.rules.iter().enumerate().filter_map(move |(position, rule)| {
            let to = table.chain(jumps_to(rule)?);
            to.base.as_ref()?;
            let why = format!("{errno}: {} is a built-in chain, which no rule can jump to", to.name);
            Some(objection(table, at, position, errno, why))
        })
    })
}

/// What nf_tables' compatibility layer cannot express.
fn not_in_nft(table: &Table) -> impl Iterator<Item = Objection> {
    let any = |test: &Option<Not<Net>>| test.is_some_and(|t| t.inverted && t.value.prefix_len() == Some(0));
    table.chains.iter().enumerate().flat_map(move |(at, chain)| {
        chain.rules.iter().enumerate().filter_map(move |(position, rule)| {
            let (errno, what) = if rule.target == Target::Queue {
                ("No such file or directory", "QUEUE")
            } else if any(&rule.head.src) || any(&rule.head.dst) {
                ("Invalid argument", "an inverted address that is any address")
            } else {
                return None;
            };
            let why = format!("{errno}: the nft flavour has no {what}");
            Some(objection(table, at, position, errno, why))
        })
    })
}

#[derive(Clone, Copy, PartialEq)]
enum Colour {
    New,
    OnPath,
    Done,
}

/// The hooks each chain is reached from, one bit each in the order of [`Hook::ALL`]; or the loop or nesting that
/// stops the walk (`mark_source_chains`, `nft_chain_validate`). A loop that no built-in chain reaches is
/// accepted, as the kernel never looks there.
fn walk(table: &Table, flavour: Flavour) -> Result<Vec<u8>, Objection> {
    let mut hooks = vec![0_u8; table.chains.len()];
    for base in (0..table.chains.len()).filter(|&i| table.chains[i].base.is_some()) {
        let Some(bit) = table.chains[base].base.as_ref().map(|b| 1_u8 << (b.hook as u8)) else { continue };
        let mut colour = vec![Colour::New; table.chains.len()];
        // Levels below each finished chain, itself included.
        let mut depth = vec![1_usize; if flavour == Flavour::Nft { table.chains.len() } else { 0 }];
        // Chain and the next rule to look at.
        let mut path = vec![(base, 0_usize)];
        colour[base] = Colour::OnPath;
        while let Some((chain, at)) = path.last_mut() {
            let (here, position) = (*chain, *at);
            let Some(rule) = table.chains[here].rules.get(position) else {
                colour[here] = Colour::Done;
                hooks[here] |= bit;
                path.pop();
                if let (Some(&(parent, _)), Flavour::Nft) = (path.last(), flavour) {
                    depth[parent] = depth[parent].max(depth[here] + 1);
                }
                continue;
            };
            *at += 1;
            let Some(to) = jumps_to(rule) else { continue };
            let to = to.0 as usize;
            let too_deep = flavour == Flavour::Nft && path.len() + depth[to] > NFT_DEPTH_MAX;
            match colour[to] {
                _ if too_deep => {
                    let why = format!(
                        "Too many links: jumps nest deeper than {NFT_DEPTH_MAX} chains, which nf_tables refuses"
                    );
                    return Err(objection(table, here, position, "Too many links", why));
                }
                Colour::Done => {
                    if flavour == Flavour::Nft {
                        depth[here] = depth[here].max(depth[to] + 1);
                    }
                }
                Colour::New => {
                    colour[to] = Colour::OnPath;
                    path.push((to, 0));
                }
                Colour::OnPath => return Err(a_loop(table, flavour, &path, (here, position), to)),
            }
        }
    }
    Ok(hooks)
}

fn a_loop(
    table: &Table,
    flavour: Flavour,
    path: &[(usize, usize)],
    (chain, rule): (usize, usize),
    to: usize,
) -> Objection {
    let errno = match flavour {
        Flavour::Legacy => "Too many levels of symbolic links",
        Flavour::Nft => "Too many links",
    };
    let from = path.iter().position(|&(c, _)| c == to).unwrap_or(0);
    let mut names: Vec<&str> = path[from..].iter().map(|&(c, _)| &*table.chains[c].name).collect();
    names.push(&table.chains[to].name);
    let why = format!("{errno}: the jumps {} never end", names.join(" -> "));
    objection(table, chain, rule, errno, why)
}

/// Matches and targets in chains reached from hooks where the kernel does not allow them.
fn misplaced(table: &Table, hooks: &[u8]) -> Vec<Objection> {
    let mut found = Vec::new();
    for (at, chain) in table.chains.iter().enumerate() {
        if hooks[at] == 0 {
            continue;
        }
        let from: Vec<Hook> = Hook::ALL.into_iter().filter(|&h| hooks[at] & (1 << (h as u8)) != 0).collect();
        for (position, rule) in chain.rules.iter().enumerate() {
            let matches = rule.matches.iter().map(|b| b.m.check_hooks(&from));
            let target = match &rule.target {
                Target::Ext(target) => {
                    target.check_hooks(&from).and_then(|()| target.check_matches(&rule.matches))
                }
                Target::None
                | Target::Accept
                | Target::Drop
                | Target::Return
                | Target::Queue
                | Target::Jump(_)
                | Target::Goto(_) => Ok(()),
            };
            for error in matches.chain([target]).filter_map(Result::err) {
                found.push(objection(table, at, position, "Invalid argument", error.message));
            }
        }
    }
    found
}
