//! Running the users of one hook, in the order of the hook table.

use super::Netns;
use super::path::{End, Run};
use crate::base::Hook;
use crate::conntrack::{CtCx, CtVerdict, Direction, Manip};
use crate::netfilter::hook::Registration;
use crate::netfilter::{Cx, DevRef, Fib, HookUser, TableName, Verdict, eval};
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
            HookUser::Defrag => self.defrag(run, skb),
            HookUser::Conntrack => {
                function(run, &|| "conntrack".to_owned());
                let verdict = self.ct.track(&mut CtCx { hook, now: self.now, trace: run.trace }, skb);
                // The template of `CT --zone` is used up here: a packet that comes again over lo has none.
                skb.ct_zone = 0;
                ended(verdict)
            }
            HookUser::Confirm => {
                function(run, &|| "conntrack confirm".to_owned());
                let verdict = self.ct.confirm(&mut CtCx { hook, now: self.now, trace: run.trace }, skb);
                ended(verdict)
            }
            HookUser::Table(number) => {
                function(run, &|| self.table_title(number));
                let before = (skb.packet.ip.src, skb.packet.ip.dst, skb.packet.ip.tos, skb.mark);
                let verdict = self.table(run, number, hook, devices, skb);
                self.conclude(run, verdict, hook, number, skb)?;
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
        }
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
        hook: Hook,
        number: u16,
        skb: &mut Skb,
    ) -> Result<(), End> {
        let place = || {
            let table = &self.tables.loaded[usize::from(number)].table;
            format!("{} {}", table.name.name(), hook.chain())
        };
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
                    if run.trace.on() { format!("{why} of {}", place()).into() } else { why.into() };
                Err(End { disposition: Disposition::Dropped(reason), because })
            }
            Verdict::Reject(with) => {
                let because = if run.trace.on() {
                    format!("rejected by a rule of {}", place()).into()
                } else {
                    "rejected by a rule".into()
                };
                self.reject(run, skb, with);
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
        let family = skb.family() as usize;
        for at in 0.. {
            let Some(&number) = self.tables.nat[family].get(at) else { break };
            let verdict = self.table(run, number, hook, devices, skb);
            self.conclude(run, verdict, hook, number, skb)?;
            if !self.ct.nat_pending(skb, manip) {
                return Ok(());
            }
        }
        let verdict =
            self.ct.nat_null_binding(&mut CtCx { hook, now: self.now, trace: run.trace }, skb, manip);
        ended(verdict)
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
