//! Where eBPF programs are asked: at a socket's connect, and at a device before the IP layer sees a packet.

use super::Netns;
use super::inet::LOOPBACK;
use super::path::{End, Run};
use crate::base::PLANES;
use crate::ebpf::tc::TcCx;
use crate::ebpf::{From, Verdict};
use crate::packet::{DevId, Skb};
use crate::trace::{Change, Disposition, DropReason, TraceKind};

impl Netns {
    /// The cgroup programs: a local process connects or sends.
    pub(super) fn ebpf_connect(&mut self, run: &mut Run<'_>, skb: &mut Skb) -> Result<(), End> {
        let Some(ebpf) = self.ebpf.as_mut().filter(|_| PLANES) else { return Ok(()) };
        ebpf.connect(&mut skb.packet, self.now, run.trace).map_err(|errno| {
            End::dropped(DropReason::NoRoute, format!("the process gets {}: no backend", errno.name()))
        })
    }

    /// The program at a device. None: the stack goes on, perhaps with a translated packet.
    pub(super) fn ebpf_ingress(
        &mut self,
        run: &mut Run<'_>,
        skb: &mut Skb,
        dev: DevId,
    ) -> Result<Option<End>, End> {
        if !PLANES || dev == LOOPBACK {
            return Ok(None);
        }
        let Some(mut ebpf) = self.ebpf.take() else { return Ok(None) };
        let devices = ebpf.config.devices.clone();
        let leads_out = |dev: DevId| devices.iter().any(|name| **name == *self.inet.device(dev).name);
        let way_out = |addr| {
            let route = self.inet.route_output(addr).ok()?;
            leads_out(route.dst.dev).then_some(route.src)
        };
        let verdict = ebpf.tc(
            &mut skb.packet,
            &mut TcCx {
                now: self.now,
                from: if leads_out(dev) { From::Outside } else { From::Pod },
                trace: run.trace,
                way_out: &way_out,
            },
        );
        self.ebpf = Some(ebpf);
        match verdict {
            Verdict::Pass => Ok(None),
            Verdict::Drop(why) => Err(End::dropped(DropReason::Rule, format!("dropped by eBPF: {why}"))),
            Verdict::Redirect => self.ebpf_redirect(run, skb),
        }
    }

    /// `bpf_fib_lookup` and `bpf_redirect`: past netfilter, out through the device of the route. A packet for the node
    /// itself goes up the stack.
    fn ebpf_redirect(&mut self, run: &mut Run<'_>, skb: &mut Skb) -> Result<Option<End>, End> {
        let to = skb.packet.ip.dst;
        let route = self
            .inet
            .route_output(to)
            .map_err(|_| End::dropped(DropReason::NoRoute, "eBPF: no route (DROP_NO_FIB)"))?;
        if route.dst.local {
            return Ok(None);
        }
        let ttl = skb.packet.ip.ttl;
        if ttl <= 1 {
            return Err(End::dropped(DropReason::TtlExceeded, "eBPF: TTL exceeded (DROP_TTL_EXCEEDED)"));
        }
        skb.packet.ip.ttl = ttl - 1;
        run.trace.record(self.now, || TraceKind::Rewrite {
            by: "eBPF redirect".to_owned(),
            changes: vec![Change { field: "ttl", before: ttl.to_string(), after: (ttl - 1).to_string() }],
        });
        skb.dst = Some(route.dst);
        self.emit(run, skb)?;
        let dev = &self.inet.device(route.dst.dev).name;
        let because = format!("left through {dev}, redirected by eBPF past netfilter").into();
        Ok(Some(End { disposition: Disposition::Forwarded, because }))
    }
}
