//! [`HookTable`]: the one place that orders the users of a hook.

pub use crate::base::hook::{Hook, Priority};
use crate::packet::Family;

/// A function that wants to see packets at a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookUser {
    /// `nf_defrag_ipv4`, `nf_defrag_ipv6`.
    Defrag,
    /// `nf_conntrack_in`.
    Conntrack,
    /// A table other than nat, by its index in the namespace.
    Table(u16),
    /// The nat core's dispatcher; nat tables are entries of its private list, the newest first.
    Nat,
    /// `nf_confirm`.
    Confirm,
    /// A base chain of nftables, other than of type nat: its table's number in traces and its position in it.
    Nft { table: u16, chain: u32 },
    /// `ip_vs_out_hook`: answers of balanced connections.
    IpvsReply,
    /// `ip_vs_in_hook`: packets towards virtual services.
    IpvsRequest,
    /// `ip_vs_forward_icmp`: errors that pass through and speak of balanced connections.
    IpvsForwardIcmp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registration {
    pub hook: Hook,
    pub family: Family,
    pub priority: Priority,
    pub user: HookUser,
}

/// Who runs at which hook, in which order.
#[derive(Clone, Debug, Default)]
pub struct HookTable {
    /// By hook and family. Sorted by priority; among equal ones the newest comes first.
    users: [[Vec<Registration>; 2]; 5],
}

impl HookTable {
    /// Adds a user before those of its own priority: the newest runs first (`nf_hook_entries_grow`; seen on
    /// 6.18 with a legacy and an nft filter table). A second identical registration is ignored.
    pub fn register(&mut self, new: Registration) {
        let users = &mut self.users[new.hook as usize][new.family as usize];
        if users.contains(&new) {
            return;
        }
        let at = users.partition_point(|r| r.priority < new.priority);
        users.insert(at, new);
    }

    /// Whether nobody registered for `hook` and `family`.
    pub fn is_empty(&self, hook: Hook, family: Family) -> bool {
        self.users(hook, family).is_empty()
    }

    /// The users of `hook` for `family`, in the order they run.
    pub fn users(&self, hook: Hook, family: Family) -> &[Registration] {
        &self.users[hook as usize][family as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_of_equal_priorities_runs_first() {
        let mut table = HookTable::default();
        let at = |priority, user| Registration { hook: Hook::Forward, family: Family::V4, priority, user };
        table.register(at(Priority::FILTER, HookUser::Table(1)));
        table.register(at(Priority::MANGLE, HookUser::Table(0)));
        table.register(at(Priority::FILTER, HookUser::Table(2)));
        let order: Vec<_> = table.users(Hook::Forward, Family::V4).iter().map(|r| r.user).collect();
        assert_eq!(order, [HookUser::Table(0), HookUser::Table(2), HookUser::Table(1)]);
    }
}
