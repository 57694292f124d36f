//! Chains: made, deleted, renamed.

use std::sync::Arc;

use super::{Apply, missing, unknown};
use crate::base::Hook;
use crate::base::hook::Priority;
use crate::netfilter::nft::Elements;
use crate::netfilter::nft::{
    Base, Chain, ChainKind, Data, NftHook, Policy, SetRef, Statement, TableFamily, Verdict,
};
use crate::text::diag::Place;
use crate::text::nft::check;
use crate::text::nft::fault::{Errno, Fault};
use crate::text::nft::read::op::{By, ChainDecl, Mode, Named, TableId};

impl Apply<'_, '_> {
    pub(super) fn add_chain(&mut self, table: &TableId, chain: &ChainDecl, mode: Mode) -> Result<(), Fault> {
        self.touch(table);
        let family = table.family;
        let base = match &chain.base {
            Some(base) => {
                if let Some(fault) = hook_fault(family, base.kind, base.hook, base.priority, base.place) {
                    return Err(fault);
                }
                Some(Base {
                    kind: base.kind,
                    hook: base.hook,
                    priority: Priority(base.priority),
                    policy: chain.policy.unwrap_or(Policy::Accept),
                    devices: base.devices.clone(),
                    offload: chain.offload,
                })
            }
            None => None,
        };
        let table = self.table(table)?;
        let place = chain.name.place;
        if let Some(known) = table.chains.get_mut(&chain.name.text) {
            if mode == Mode::Create {
                return Err(Fault::kernel(place, Errno::Exists));
            }
            match (&mut known.base, base) {
                (Some(known), Some(new)) => {
                    if (known.kind, known.hook, known.priority) != (new.kind, new.hook, new.priority) {
                        return Err(Fault::kernel(place, Errno::NotSupported));
                    }
                    if let Some(policy) = chain.policy {
                        known.policy = policy;
                    }
                }
                (None, Some(_)) => return Err(Fault::kernel(place, Errno::Exists)),
                (Some(known), None) => {
                    if let Some(policy) = chain.policy {
                        known.policy = policy;
                    }
                }
                (None, None) if chain.policy.is_some() => {
                    return Err(Fault::kernel(place, Errno::NotSupported));
                }
                (None, None) => {}
            }
            return Ok(());
        }
        if base.is_none() && chain.policy.is_some() {
            return Err(Fault::kernel(place, Errno::NotSupported));
        }
        let handle = table.take_handle();
        let name = Arc::clone(&chain.name.text);
        let new = Chain {
            name: Arc::clone(&name),
            handle,
            base,
            rules: Vec::new(),
            comment: chain.comment.clone(),
            anonymous: false,
            line: place.line,
        };
        table.chains.insert(name, new);
        Ok(())
    }

    pub(super) fn delete_chain(&mut self, table: &TableId, by: &By, mode: Mode) -> Result<(), Fault> {
        let at = self.find(table)?;
        let known = &self.ruleset.tables[at];
        let (name, place) = match by {
            By::Name(name) => (Some(Arc::clone(&name.text)), name.place),
            By::Handle(handle, place) => {
                (known.chains.values().find(|c| c.handle == *handle).map(|c| Arc::clone(&c.name)), *place)
            }
        };
        let Some(name) = name.filter(|name| known.chains.contains_key(name)) else {
            return match by {
                By::Name(name) if mode != Mode::Destroy => Err(unknown(name)),
                By::Name(_) | By::Handle(..) => missing(place, mode),
            };
        };
        if check::chain_is_used(known, &self.ruleset.state, &name) {
            return Err(Fault::kernel(place, Errno::Busy));
        }
        let chain = self.table(table)?.chains.shift_remove(&name);
        match chain {
            Some(chain) => self.forget(table, chain.rules),
            None => Ok(()),
        }
    }

    pub(super) fn rename_chain(&mut self, id: &TableId, chain: &Named, to: &Named) -> Result<(), Fault> {
        let at = self.find(id)?;
        let known = &self.ruleset.tables[at];
        let Some(index) = known.chains.get_index_of(&chain.text) else { return Err(unknown(chain)) };
        if known.chains.contains_key(&to.text) {
            return Err(Fault::kernel(chain.place, Errno::Exists));
        }
        let table = self.table(id)?;
        let Some((_, mut moved)) = table.chains.shift_remove_index(index) else { return Ok(()) };
        moved.name = Arc::clone(&to.text);
        table.chains.shift_insert(index, Arc::clone(&to.text), moved);
        let statements = table.chains.values_mut().flat_map(|c| &mut c.rules).flat_map(|r| &mut r.statements);
        for statement in statements {
            rename_target(statement, &chain.text, &to.text);
        }
        let sets: Vec<_> = table.sets.values().map(|set| set.id).collect();
        for id in sets {
            let holds =
                |e: &Elements| e.by_key.values().chain(&e.catch_all).any(|e| leads_to(&e.data, &chain.text));
            if self.ruleset.state.elements(id).is_some_and(holds)
                && let Some(elements) = self.ruleset.state.elements_mut(id)
            {
                rename_in_elements(elements, &chain.text, &to.text);
            }
        }
        Ok(())
    }
}

fn leads_to(data: &Option<Data>, chain: &str) -> bool {
    matches!(data, Some(Data::Verdict(Verdict::Jump(name) | Verdict::Goto(name))) if &**name == chain)
}

fn rename_in_elements(elements: &mut Elements, from: &str, to: &Arc<str>) {
    for element in elements.by_key.values_mut().chain(&mut elements.catch_all) {
        if let Some(Data::Verdict(verdict)) = &mut element.data {
            rename_verdict(verdict, from, to);
        }
    }
}

fn rename_verdict(verdict: &mut Verdict, from: &str, to: &Arc<str>) {
    match verdict {
        Verdict::Jump(name) | Verdict::Goto(name) if &**name == from => *name = Arc::clone(to),
        Verdict::Jump(_) | Verdict::Goto(_) => {}
        Verdict::Accept | Verdict::Drop | Verdict::Continue | Verdict::Return => {}
    }
}

fn rename_target(statement: &mut Statement, from: &str, to: &Arc<str>) {
    match statement {
        Statement::Verdict(verdict) => rename_verdict(verdict, from, to),
        Statement::VerdictMap { map: SetRef::Anonymous(set), .. }
            if set
                .elements
                .by_key
                .values()
                .chain(&set.elements.catch_all)
                .any(|e| leads_to(&e.data, from)) =>
        {
            rename_in_elements(&mut Arc::make_mut(set).elements, from, to);
        }
        _ => {}
    }
}

/// What the tool or the kernel has against a base chain.
fn hook_fault(
    family: TableFamily,
    kind: ChainKind,
    hook: NftHook,
    priority: i32,
    place: Place,
) -> Option<Fault> {
    let unsupported = Some(Fault::kernel(place, Errno::NotSupported));
    let inet = matches!(family, TableFamily::Ip | TableFamily::Ip6 | TableFamily::Inet);
    let known = match (family, hook) {
        (TableFamily::Ip | TableFamily::Ip6 | TableFamily::Bridge, NftHook::Ingress | NftHook::Egress) => {
            false
        }
        (TableFamily::Inet, NftHook::Egress) => false,
        (TableFamily::Arp, hook) => matches!(hook, NftHook::Inet(Hook::Input | Hook::Output)),
        (TableFamily::Netdev, hook) => matches!(hook, NftHook::Ingress | NftHook::Egress),
        _ => true,
    };
    if !known {
        let message = format!("The {} family does not support this hook", family.name());
        return Some(Fault::at(place, message));
    }
    /// A nat chain needs connection tracking to have seen the packet (`nft_chain_nat.c`, `NF_IP_PRI_CONNTRACK`).
    const CONNTRACK: i32 = -200;
    match kind {
        ChainKind::Filter => None,
        ChainKind::Nat if !inet || hook == NftHook::Inet(Hook::Forward) || priority <= CONNTRACK => {
            unsupported
        }
        ChainKind::Nat => match hook {
            NftHook::Inet(_) => None,
            NftHook::Ingress | NftHook::Egress => unsupported,
        },
        ChainKind::Route if inet && hook == NftHook::Inet(Hook::Output) => None,
        ChainKind::Route => unsupported,
    }
}
