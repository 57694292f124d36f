//! Running the users of one hook, in the order of the hook table.

use std::net::IpAddr;
use std::sync::Arc;

use super::Netns;
use super::path::{End, Run};
use crate::base::{Hook, PLANES};
use crate::conntrack::{CtCx, CtVerdict, Direction, Manip};
use crate::netfilter::hook::Registration;
use crate::netfilter::nft::ChainKind;
use crate::netfilter::nft::eval::TABLE_BASE;
use crate::netfilter::{Cx, DevRef, Fib, HookUser, TableName, Verdict, eval, nft};
use crate::packet::{CtInfo, DevId, Skb};
use crate::trace::{Disposition, DropReason, TraceKind};

impl Netns {
    /// Every user of `hook`, until one ends the packet.
    pub(super) fn hook(&mut self, run: &mut Run<'_>, hook: Hook, skb: &mut Skb) -> Result<(), End> {
        let family = skb.family();
        run.trace.record(self.now, || TraceKind::Hook { hook });
        // Devices are those at the hook's begin: a re-route inside OUTPUT shows at the next hook.
        let (indev, outdev) = match hook {
            Hook::Prerouting | Hook::Input => (skb.indev, None),
            Hook::Forward | Hook::Postrouting => (skb.indev, skb.dst.map(|d| d.dev)),
            Hook::Output => (None, skb.dst.map(|d| d.dev)),
        };
        skb.outdev = outdev;
        let devices = (indev, outdev);
        for at in 0.. {
            let Some(user) = self.hooks.users(hook, family).get(at).copied() else { break };
            self.user(run, user, devices, skb)?;
        }
        Ok(())
    }

    fn user(
        &mut self,
        run: &mut Run<'_>,
        who: Registration,
        devices: (Option<DevId>, Option<DevId>),
        skb: &mut Skb,
    ) -> Result<(), End> {
        let Registration { hook, priority, user, .. } = who;
        let function = |run: &mut Run<'_>, name: &dyn Fn() -> String| {
            run.trace.record(self.now, || TraceKind::Function { name: name(), priority });
        };
        match user {
            // Nobody registers them.
            HookUser::Nft { .. }
            | HookUser::IpvsReply
            | HookUser::IpvsRequest
            | HookUser::IpvsForwardIcmp
                if !PLANES =>
            {
                Ok(())
            }
            HookUser::Defrag => self.defrag(run, skb),
            HookUser::Conntrack => {
                function(run, &|| "conntrack".to_owned());
                if skb.ct_zone_by_mark {
                    skb.ct_zone = skb.mark as u16;
                }
                let verdict = self.ct.track(&mut CtCx { hook, now: self.now, trace: run.trace }, skb);
                // The template of a `CT` rule is used up here: a packet that comes again over lo has none.
                (skb.ct_zone, skb.ct_zone_by_mark, skb.ct_template, skb.ct_events) = (0, false, false, None);
                ended(verdict)
            }
            HookUser::Confirm => {
                function(run, &|| "conntrack confirm".to_owned());
                let verdict = self.ct.confirm(&mut CtCx { hook, now: self.now, trace: run.trace }, skb);
                ended(verdict)
            }
            HookUser::Nft { table, chain } => {
                function(run, &|| self.nft_title(table));
                self.nft_chain(run, hook, (table, chain), devices, skb)
            }
            HookUser::Table(number) => {
                function(run, &|| self.table_title(number));
                let before = (skb.packet.ip.src, skb.packet.ip.dst, skb.packet.ip.tos, skb.mark);
                let verdict = self.table(run, number, hook, devices, skb);
                self.conclude(run, verdict, &|this| this.table_place(number, hook), skb)?;
                let after = (skb.packet.ip.src, skb.packet.ip.dst, skb.packet.ip.tos, skb.mark);
                let mangle = self.tables.loaded[usize::from(number)].table.name == TableName::Mangle;
                if hook == Hook::Output && mangle && before != after {
                    self.reroute(run, skb)?;
                }
                Ok(())
            }
            HookUser::Nat => {
                function(run, &|| "nat".to_owned());
                self.nat(run, hook, devices, skb)
            }
            HookUser::IpvsReply => {
                function(run, &|| "ipvs reply".to_owned());
                self.ipvs_reply(run, hook, skb)
            }
            HookUser::IpvsRequest => {
                function(run, &|| "ipvs request".to_owned());
                self.ipvs_request(run, hook, skb)
            }
            HookUser::IpvsForwardIcmp => {
                function(run, &|| "ipvs forward icmp".to_owned());
                self.ipvs_forward_icmp(run, skb)
            }
        }
    }

    fn table_place(&self, number: u16, hook: Hook) -> String {
        let table = &self.tables.loaded[usize::from(number)].table;
        format!("{} {}", table.name.name(), hook.chain())
    }

    fn nft_title(&self, number: u16) -> String {
        let table = self.nft_table(number);
        table.map_or_else(|| "nft".to_owned(), |t| format!("nft {} {}", t.family.name(), t.name))
    }

    fn nft_place(&self, number: u16, chain: u32) -> String {
        let Some(table) = self.nft_table(number) else { return String::new() };
        let chain = table.chains.get_index(chain as usize).map_or("", |(name, _)| name);
        format!("{} {} {chain}", table.family.name(), table.name)
    }

    /// A base chain of nftables at its hook.
    fn nft_chain(
        &mut self,
        run: &mut Run<'_>,
        hook: Hook,
        (number, chain): (u16, u32),
        devices: (Option<DevId>, Option<DevId>),
        skb: &mut Skb,
    ) -> Result<(), End> {
        let kind = self.nft_table(number).and_then(|t| {
            let (_, chain) = t.chains.get_index(chain as usize)?;
            Some(chain.base.as_ref()?.kind)
        });
        let before = routed_by(skb);
        let verdict = self.nft_verdict(run, hook, (number, chain), devices, skb);
        self.conclude(run, verdict, &|this| this.nft_place(number, chain), skb)?;
        // `nf_route_table_hook4`, `..._hook6`.
        if hook == Hook::Output && kind == Some(ChainKind::Route) && before != routed_by(skb) {
            self.reroute(run, skb)?;
        }
        Ok(())
    }

    fn nft_verdict(
        &mut self,
        run: &mut Run<'_>,
        hook: Hook,
        (number, chain): (u16, u32),
        (indev, outdev): (Option<DevId>, Option<DevId>),
        skb: &mut Skb,
    ) -> Verdict {
        let at = usize::from(number - TABLE_BASE);
        let ruleset = &mut self.tables.nft.ruleset;
        let Some(table) = ruleset.tables.get(at).map(Arc::clone) else { return Verdict::Accept };
        let inet = &self.inet;
        let named = |id: DevId| DevRef { id, name: inet.device_name(id) };
        let mut cx = Cx {
            hook,
            family: skb.family(),
            indev: indev.map(named),
            outdev: outdev.map(named),
            now: self.now,
            epoch_secs: self.epoch_secs,
            kernel: inet.kernel,
            fib: inet,
            ct: &mut self.ct,
            shared: &mut self.shared,
            assume: run.assume,
            trace: run.trace,
        };
        nft::eval::run(&table, number, chain, &mut ruleset.state, &mut cx, skb)
    }

    fn table_title(&self, number: u16) -> String {
        let table = &self.tables.loaded[usize::from(number)].table;
        format!("iptables {}", table.name.name())
    }

    /// One table at one hook.
    fn table(
        &mut self,
        run: &mut Run<'_>,
        number: u16,
        hook: Hook,
        (indev, outdev): (Option<DevId>, Option<DevId>),
        skb: &mut Skb,
    ) -> Verdict {
        let loaded = &mut self.tables.loaded[usize::from(number)];
        let inet = &self.inet;
        let named = |id: DevId| DevRef { id, name: inet.device_name(id) };
        let mut cx = Cx {
            hook,
            family: loaded.table.family,
            indev: indev.map(named),
            outdev: outdev.map(named),
            now: self.now,
            epoch_secs: self.epoch_secs,
            kernel: inet.kernel,
            fib: inet,
            ct: &mut self.ct,
            shared: &mut self.shared,
            assume: run.assume,
            trace: run.trace,
        };
        eval::run(&loaded.table, number, &mut loaded.state, &mut cx, skb)
    }

    /// What a table's verdict means for the packet.
    fn conclude(
        &mut self,
        run: &mut Run<'_>,
        verdict: Verdict,
        place: &dyn Fn(&Self) -> String,
        skb: &mut Skb,
    ) -> Result<(), End> {
        match verdict {
            Verdict::Accept => Ok(()),
            Verdict::Drop(reason) => {
                let why = match reason {
                    DropReason::Rule => "dropped by a rule",
                    DropReason::Policy => "dropped by the policy",
                    DropReason::Hotdrop => "dropped by a match",
                    _ => "dropped",
                };
                let because =
                    if run.trace.on() { format!("{why} of {}", place(self)).into() } else { why.into() };
                Err(End { disposition: Disposition::Dropped(reason), because })
            }
            Verdict::Reject(with) => {
                let because = if run.trace.on() {
                    format!("rejected by a rule of {}", place(self)).into()
                } else {
                    "rejected by a rule".into()
                };
                self.tables.nft.ruleset.state.monitor.answer_begins();
                self.reject(run, skb, with);
                self.tables.nft.ruleset.state.monitor.answer_ends();
                Err(End { disposition: Disposition::Rejected, because })
            }
            Verdict::Queue => Err(End {
                disposition: Disposition::Stolen,
                because: "queued to user space, where nobody listens".into(),
            }),
            Verdict::Stolen => Err(End {
                disposition: Disposition::Stolen,
                because: "taken over by a target that is not emulated".into(),
            }),
        }
    }

    /// `nf_nat_inet_fn`: asks the nat tables once a connection and manipulation, then applies the mapping.
    fn nat(
        &mut self,
        run: &mut Run<'_>,
        hook: Hook,
        devices: (Option<DevId>, Option<DevId>),
        skb: &mut Skb,
    ) -> Result<(), End> {
        if skb.ct.is_none() {
            return Ok(());
        }
        let manip = match hook {
            Hook::Prerouting | Hook::Output => Manip::Dst,
            Hook::Input | Hook::Forward | Hook::Postrouting => Manip::Src,
        };
        let fresh = matches!(skb.ct_info, CtInfo::New | CtInfo::Related | CtInfo::RelatedReply);
        if fresh && self.ct.nat_pending(skb, manip) {
            self.ask_nat_tables(run, hook, manip, devices, skb)?;
        }
        let before = skb.packet.ip.dst;
        let verdict = self.ct.nat_apply(&mut CtCx { hook, now: self.now, trace: run.trace }, skb);
        ended(verdict)?;
        match hook {
            // The route was chosen for another destination.
            Hook::Prerouting if skb.packet.ip.dst != before => skb.dst = None,
            Hook::Output if self.moved(skb) => self.reroute(run, skb)?,
            Hook::Prerouting | Hook::Input | Hook::Forward | Hook::Output | Hook::Postrouting => {}
        }
        Ok(())
    }

    /// Whether the packet's destination is another one than its sender dialled.
    fn moved(&self, skb: &Skb) -> bool {
        let dir = if skb.ct_info.is_reply() { Direction::Reply } else { Direction::Original };
        let entry = skb.ct.and_then(|at| self.ct.entry(at));
        entry.is_some_and(|e| e.tuple(dir).dst != e.tuple(dir.other()).src)
    }

    fn ask_nat_tables(
        &mut self,
        run: &mut Run<'_>,
        hook: Hook,
        manip: Manip,
        devices: (Option<DevId>, Option<DevId>),
        skb: &mut Skb,
    ) -> Result<(), End> {
        let family = skb.family();
        for at in 0.. {
            let Some(user) = self.tables.nat.users(hook, family).get(at).map(|r| r.user) else { break };
            match user {
                HookUser::Table(number) => {
                    let verdict = self.table(run, number, hook, devices, skb);
                    self.conclude(run, verdict, &|this| this.table_place(number, hook), skb)?;
                }
                HookUser::Nft { table, chain } if PLANES => {
                    let verdict = self.nft_verdict(run, hook, (table, chain), devices, skb);
                    self.conclude(run, verdict, &|this| this.nft_place(table, chain), skb)?;
                }
                HookUser::Defrag
                | HookUser::Conntrack
                | HookUser::Nat
                | HookUser::Nft { .. }
                | HookUser::Confirm
                | HookUser::IpvsReply
                | HookUser::IpvsRequest
                | HookUser::IpvsForwardIcmp => {}
            }
            if !self.ct.nat_pending(skb, manip) {
                return Ok(());
            }
        }
        let verdict =
            self.ct.nat_null_binding(&mut CtCx { hook, now: self.now, trace: run.trace }, skb, manip);
        ended(verdict)
    }
}

/// What a route may depend on: addresses, mark, TOS; for IPv6 hop limit and flow label instead.
fn routed_by(skb: &Skb) -> (IpAddr, IpAddr, u32, u8, u32) {
    let ip = &skb.packet.ip;
    match ip.src {
        IpAddr::V4(_) => (ip.src, ip.dst, skb.mark, ip.tos, 0),
        IpAddr::V6(_) => (ip.src, ip.dst, skb.mark, ip.ttl, ip.flow_label),
    }
}

fn ended(verdict: CtVerdict) -> Result<(), End> {
    match verdict {
        CtVerdict::Accept => Ok(()),
        CtVerdict::Drop(reason) => Err(End {
            disposition: Disposition::Dropped(reason),
            because: match reason {
                DropReason::InsertFailed => "conntrack could not insert the entry: its tuple is taken",
                DropReason::TableFull => "nf_conntrack: table full, dropping packet",
                DropReason::NoAddress => "MASQUERADE found no address on the device",
                _ => "dropped by connection tracking",
            }
            .into(),
        }),
    }
}
