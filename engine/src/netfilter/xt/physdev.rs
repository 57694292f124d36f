//! `-m physdev`: bridge ports, when br_netfilter hands bridged packets to IP (`xt_physdev.c`).

use super::prelude::*;
use crate::netfilter::IfName;
use crate::netfilter::rule::Not;

/// Longest device name (`IFNAMSIZ` less the terminator).
const NAME_MAX: usize = 15;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Physdev(Box<Fields>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Fields {
    /// Inverted, for each of the three that take no value.
    is_in: Option<bool>,
    is_out: Option<bool>,
    is_bridged: Option<bool>,
    port_in: Option<Not<IfName>>,
    port_out: Option<Not<IfName>>,
}

impl Fields {
    fn each(&self, mut show: impl FnMut(&'static str, bool, Option<&IfName>)) {
        if let Some(inverted) = self.is_in {
            show("--physdev-is-in", inverted, None);
        }
        if let Some(port) = &self.port_in {
            show("--physdev-in", port.inverted, Some(&port.value));
        }
        if let Some(inverted) = self.is_out {
            show("--physdev-is-out", inverted, None);
        }
        if let Some(port) = &self.port_out {
            show("--physdev-out", port.inverted, Some(&port.value));
        }
        if let Some(inverted) = self.is_bridged {
            show("--physdev-is-bridged", inverted, None);
        }
    }

    fn text(&self, out: &mut String) {
        self.each(|option, inverted, name| {
            let _ = write!(out, "{} {option}", bang(inverted));
            if let Some(name) = name {
                let _ = write!(out, " {name}");
            }
        });
    }
}

fn port(args: &Parsed<'_>, option: &str) -> Result<Option<Not<IfName>>, ArgError> {
    let Some((at, opt)) = args.get(option) else { return Ok(None) };
    let text = opt.values[0];
    if text.len() > NAME_MAX {
        let why = format!("interface name `{text}' must be shorter than IFNAMSIZ ({NAME_MAX})");
        return Err(ArgError::at(at, why));
    }
    let (name, prefix) = match text.strip_suffix('+') {
        Some(name) => (name, true),
        None => (text, false),
    };
    Ok(Some(Not { value: IfName { name: name.into(), prefix }, inverted: opt.inverted }))
}

impl MatchExt for Physdev {
    const SPEC: ExtSpec = ExtSpec::new("physdev", BOTH, "net/netfilter/xt_physdev.c").options(&[
        OptSpec::new("--physdev-in", Values::One).negatable(),
        OptSpec::new("--physdev-out", Values::One).negatable(),
        OptSpec::new("--physdev-is-in", Values::None).negatable(),
        OptSpec::new("--physdev-is-out", Values::None).negatable(),
        OptSpec::new("--physdev-is-bridged", Values::None).negatable(),
    ]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        if args.opts.is_empty() {
            return Err(ArgError::whole("PHYSDEV: no physdev option specified"));
        }
        let flag = |option| args.get(option).map(|(_, opt)| opt.inverted);
        Ok(Self(Box::new(Fields {
            is_in: flag("--physdev-is-in"),
            is_out: flag("--physdev-is-out"),
            is_bridged: flag("--physdev-is-bridged"),
            port_in: port(args, "--physdev-in")?,
            port_out: port(args, "--physdev-out")?,
        })))
    }

    fn save(&self, out: &mut String) {
        self.0.text(out);
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        out.push_str(" PHYSDEV match");
        self.0.text(out);
    }

    fn check_hooks(&self, from: &[Hook]) -> Result<(), ArgError> {
        let f = &*self.0;
        let out = f.is_out.is_some() || f.port_out.is_some();
        // The bridge port is not known yet where a local packet leaves.
        if out && f.is_bridged.is_none_or(|inverted| inverted) && from.contains(&Hook::Output) {
            return Err(ArgError::kernel(
                Errno::Inval,
                "physdev: --physdev-out and --physdev-is-out in OUTPUT work for bridged packets only",
            ));
        }
        Ok(())
    }

    fn eval(&self, cx: &mut Cx<'_>, skb: &Skb, _: Option<&mut RuleState>, why: &mut Why) -> MatchResult {
        let f = &*self.0;
        let want = || {
            let mut text = String::new();
            f.text(&mut text);
            text.trim_start().to_owned()
        };
        if skb.phys_in.is_none() && skb.phys_out.is_none() {
            let mut pass = true;
            f.each(|_, inverted, _| pass &= inverted);
            return why.check(pass, "-m physdev", || "not bridged".to_owned(), want).into();
        }
        let name = |dev: Option<_>| dev.map(|d| cx.fib.device_name(d));
        let (dev_in, dev_out) = (name(skb.phys_in), name(skb.phys_out));
        let pass = f.is_bridged.is_none_or(|inverted| dev_out.is_some() != inverted)
            && f.is_in.is_none_or(|inverted| dev_in.is_some() != inverted)
            && f.is_out.is_none_or(|inverted| dev_out.is_some() != inverted)
            && f.port_in
                .as_ref()
                .is_none_or(|port| dev_in.is_none_or(|dev| port.value.matches(Some(dev)) != port.inverted))
            && f.port_out
                .as_ref()
                .is_none_or(|port| dev_out.is_some_and(|dev| port.value.matches(Some(dev)) != port.inverted));
        let have = || format!("in {}, out {}", dev_in.unwrap_or("none"), dev_out.unwrap_or("none"));
        why.check(pass, "-m physdev", have, want).into()
    }
}
