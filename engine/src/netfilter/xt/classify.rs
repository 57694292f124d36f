//! `-j CLASSIFY`: the class a queueing discipline reads (`xt_CLASSIFY.c`).

use super::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classify {
    class: u32,
}

impl Classify {
    const fn halves(&self) -> (u32, u32) {
        (self.class >> 16, self.class & 0xffff)
    }
}

impl TargetExt for Classify {
    const SPEC: ExtSpec = ExtSpec::new("CLASSIFY", BOTH, "net/netfilter/xt_CLASSIFY.c")
        .hooks(&[Hook::Forward, Hook::Output, Hook::Postrouting])
        .options(&[OptSpec::new("--set-class", Values::One).mandatory()]);

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let (at, opt) = args.require("--set-class")?;
        let half = |text| u16::from_str_radix(text, 16).ok();
        let class = opt.values[0].split_once(':').and_then(|(major, minor)| half(major).zip(half(minor)));
        let Some((major, minor)) = class else {
            return Err(ArgError::at(at, format!("Bad class value \"{}\"", opt.values[0])));
        };
        Ok(Self { class: (u32::from(major) << 16) | u32::from(minor) })
    }

    fn save(&self, out: &mut String) {
        let (major, minor) = self.halves();
        let _ = write!(out, " --set-class {major:04x}:{minor:04x}");
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        let (major, minor) = self.halves();
        let _ = write!(out, " CLASSIFY set {major:x}:{minor:x}");
    }

    fn apply(&self, cx: &mut Cx<'_>, skb: &mut Skb) -> Next {
        let before = skb.priority;
        skb.priority = self.class;
        cx.rewrote("CLASSIFY", "priority", format_args!("{before:#x}"), format_args!("{:#x}", self.class));
        Next::Continue
    }
}
