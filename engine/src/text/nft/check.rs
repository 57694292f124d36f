//! What the kernel checks before it takes a batch: jumps, their depth, and whether statements stand where they may.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::fault::Errno;
use crate::base::Hook;
use crate::netfilter::nft::{
    Base, ChainKind, Data, Elements, Expr, FibResult, MetaKey, NatKind, NftHook, NftState, RtKey, SetData,
    SetRef, Statement, Table, TableFamily, Verdict,
};

/// `NFT_JUMP_STACK_SIZE`.
const DEPTH_MAX: u32 = 16;

/// Checks every walk from the base chains of a table (`nft_table_validate`).
pub(super) fn table(table: &Table, state: &NftState) -> Result<(), Errno> {
    for (chain, base) in table.base_chains() {
        let mut walk = Walk { table, state, base, deepest: BTreeMap::new() };
        walk.chain(&chain.name, 0)?;
    }
    Ok(())
}

/// The walk from one base chain.
struct Walk<'r> {
    table: &'r Table,
    state: &'r NftState,
    base: &'r Base,
    /// The deepest level each chain was walked at: walking it again higher up tells nothing new.
    deepest: BTreeMap<Arc<str>, u32>,
}

impl Walk<'_> {
    fn chain(&mut self, name: &Arc<str>, level: u32) -> Result<(), Errno> {
        if level == DEPTH_MAX {
            return Err(Errno::TooManyLinks);
        }
        if self.deepest.get(name).is_some_and(|seen| *seen >= level) {
            return Ok(());
        }
        self.deepest.insert(Arc::clone(name), level);
        let table = self.table;
        let Some(chain) = table.chains.get(name) else { return Err(Errno::NoEntry) };
        if level > 0 && chain.base.is_some() {
            return Err(Errno::NotSupported);
        }
        for statement in chain.rules.iter().flat_map(|r| &r.statements) {
            may_stand(statement, table.family, self.base)?;
            match statement {
                Statement::Verdict(verdict) => self.verdict(verdict, level)?,
                Statement::VerdictMap { map: SetRef::Anonymous(set), .. } => {
                    self.elements(&set.elements, level)?
                }
                Statement::VerdictMap { map: SetRef::Named(set), .. } => {
                    let elements = table.sets.get(set).and_then(|set| self.state.elements(set.id));
                    if let Some(elements) = elements {
                        self.elements(elements, level)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn elements(&mut self, elements: &Elements, level: u32) -> Result<(), Errno> {
        for element in elements.by_key.values().chain(&elements.catch_all) {
            if let Some(Data::Verdict(verdict)) = &element.data {
                self.verdict(verdict, level)?;
            }
        }
        Ok(())
    }

    fn verdict(&mut self, verdict: &Verdict, level: u32) -> Result<(), Errno> {
        match verdict {
            Verdict::Jump(to) | Verdict::Goto(to) => self.chain(to, level + 1),
            Verdict::Accept | Verdict::Drop | Verdict::Continue | Verdict::Return => Ok(()),
        }
    }
}

/// Whether a statement may be reached from a base chain.
fn may_stand(statement: &Statement, family: TableFamily, base: &Base) -> Result<(), Errno> {
    use Hook::{Forward, Input, Output, Postrouting, Prerouting};
    let at = |hooks: &[Hook]| matches!(base.hook, NftHook::Inet(hook) if hooks.contains(&hook));
    let inet = matches!(family, TableFamily::Ip | TableFamily::Ip6 | TableFamily::Inet);
    let mut fits = match statement {
        Statement::Nat(nat) => {
            base.kind == ChainKind::Nat
                && match nat.kind {
                    NatKind::Dnat | NatKind::Redirect => at(&[Prerouting, Output]),
                    NatKind::Snat => at(&[Postrouting, Input]),
                    NatKind::Masquerade => at(&[Postrouting]),
                }
        }
        Statement::Reject(_) => !inet || at(&[Prerouting, Input, Forward, Output]),
        Statement::Foreign { name: "tproxy", .. } => at(&[Prerouting]),
        Statement::Foreign { name: "synproxy", .. } => at(&[Input, Forward]),
        Statement::Foreign { name: "flow", .. } => at(&[Forward]),
        _ => true,
    };
    statement.visit(&mut |expr| {
        fits &= match expr {
            Expr::Fib { keys, result } => {
                let by_hook = match result {
                    FibResult::Oif | FibResult::OifName | FibResult::Present => {
                        at(&[Prerouting, Input, Forward])
                    }
                    FibResult::Type if keys.iif => at(&[Prerouting, Input, Forward]),
                    FibResult::Type if keys.oif => at(&[Output, Postrouting, Forward]),
                    FibResult::Type => true,
                };
                by_hook || !inet
            }
            Expr::Rt { key: RtKey::Mtu, .. } => at(&[Forward, Output, Postrouting]),
            Expr::Meta(MetaKey::Secpath) => at(&[Prerouting, Input, Forward]),
            _ => true,
        };
    });
    if fits { Ok(()) } else { Err(Errno::NotSupported) }
}

/// What statements ask of the sets they name.
pub(super) fn needs(statements: &[Statement], table: &Table) -> Result<(), Errno> {
    for statement in statements {
        let Statement::SetElement { set, timeout, .. } = statement else { continue };
        let Some(set) = table.sets.get(set) else { return Err(Errno::NoEntry) };
        if set.flags.interval || set.flags.constant || (timeout.is_some() && !set.flags.timeout) {
            return Err(Errno::NotSupported);
        }
    }
    Ok(())
}

/// Whether a rule or an element leads to a chain.
pub(super) fn chain_is_used(table: &Table, state: &NftState, name: &str) -> bool {
    let leads = |verdict: &Verdict| match verdict {
        Verdict::Jump(to) | Verdict::Goto(to) => &**to == name,
        Verdict::Accept | Verdict::Drop | Verdict::Continue | Verdict::Return => false,
    };
    let holds = |elements: &Elements| {
        elements
            .by_key
            .values()
            .chain(&elements.catch_all)
            .any(|e| matches!(&e.data, Some(Data::Verdict(verdict)) if leads(verdict)))
    };
    let own = |chain: &str| chain == name;
    table.chains.values().filter(|c| !own(&c.name)).flat_map(|c| &c.rules).flat_map(|r| &r.statements).any(
        |s| match s {
            Statement::Verdict(verdict) => leads(verdict),
            Statement::VerdictMap { map: SetRef::Anonymous(set), .. } => holds(&set.elements),
            _ => false,
        },
    ) || table
        .sets
        .values()
        .filter(|set| set.data == SetData::Verdict)
        .any(|set| state.elements(set.id).is_some_and(holds))
}
