//! The last look at a command: options that do not go together, devices a chain cannot know, the target.

use super::options::Global;
use super::rule::{Reader, Seen};
use super::{Missing, Op};
use crate::netfilter::Target;
use crate::netfilter::table::Flavour;
use crate::netfilter::xt::TargetExt;
use crate::text::xt::fault::{Fault, Span};
use crate::text::xt::{known, registry};

impl Reader<'_, '_> {
    pub(super) fn target(&self, ext: Option<TargetExt>) -> Result<(Target, Option<Missing>), Fault> {
        if let Some(ext) = ext {
            return Ok((Target::Ext(ext), None));
        }
        let Some(jump) = &self.jump else { return Ok((Target::None, None)) };
        // The kernel objects to it; there is nothing to keep.
        if !jump.goto && registry::find_target(jump.name, self.cx.family).is_some() {
            return Ok((Target::None, None));
        }
        if !jump.goto {
            match jump.name {
                "ACCEPT" => return Ok((Target::Accept, None)),
                "DROP" => return Ok((Target::Drop, None)),
                "RETURN" => return Ok((Target::Return, None)),
                "QUEUE" => return Ok((Target::Queue, None)),
                _ => {}
            }
        }
        if let Some(id) = (self.cx.chains)(jump.name) {
            return Ok((if jump.goto { Target::Goto(id) } else { Target::Jump(id) }, None));
        }
        let verdict = matches!(jump.name, "ACCEPT" | "DROP" | "RETURN" | "QUEUE");
        let a_target = || verdict || known::is_target(jump.name) || registry::is_target(jump.name);
        // No chain of this name can follow.
        let refused = self.cx.lenient && jump.goto && a_target();
        // nft looks for chains when the table is committed.
        if !refused && (self.cx.lenient || self.cx.flavour == Flavour::Nft && self.cx.restore) {
            return Ok((Target::None, Some((jump.name.into(), jump.span, jump.goto))));
        }
        let message = match (self.cx.flavour, jump.goto) {
            (Flavour::Legacy, true) => format!("goto '{}' is not a chain", jump.name),
            (Flavour::Legacy, false) => {
                format!("Couldn't load target `{}':No such file or directory\n", jump.name)
            }
            (Flavour::Nft, _) => format!("Chain '{}' does not exist", jump.name),
        };
        Err(Fault::parameter(jump.span, message))
    }

    /// Which options go with which command (`options_v_commands`).
    pub(super) fn allowed(&self, op: Op, whole: Span) -> Result<(), Fault> {
        let rule = [Global::Source, Global::Destination, Global::Protocol, Global::Jump, Global::InDev];
        let more = [Global::OutDev, Global::Fragment, Global::Verbose, Global::Exact, Global::Table];
        let allowed = |option: Global| match op {
            Op::Append | Op::Insert | Op::Replace => {
                (rule.contains(&option) || more.contains(&option) || option == Global::Counters)
                    && option != Global::Exact
            }
            Op::Delete | Op::Check => {
                (rule.contains(&option) || more.contains(&option)) && option != Global::Exact
            }
            Op::List => matches!(
                option,
                Global::Numeric | Global::Verbose | Global::Exact | Global::LineNumbers | Global::Table
            ),
            Op::ListRules => matches!(option, Global::Verbose | Global::Table),
            Op::Policy => matches!(option, Global::Verbose | Global::Counters | Global::Table),
            Op::Flush | Op::Zero | Op::NewChain | Op::DeleteChain | Op::RenameChain => {
                matches!(option, Global::Verbose | Global::Table)
            }
            Op::Version | Op::Help => true,
        };
        for option in Seen::ORDER {
            if self.seen.has(option) && !allowed(option) {
                return Err(Fault::parameter(
                    whole,
                    format!("Illegal option `{}' with this command", option.flag()),
                ));
            }
        }
        Ok(())
    }

    /// A device that a built-in chain cannot know (`check_inverse`, `generic_opt_check`).
    pub(super) fn devices_fit(&self) -> Result<(), Fault> {
        let chain = self.out.chain.as_deref().unwrap_or_default();
        let span = self.out.chain_span;
        if matches!(chain, "PREROUTING" | "INPUT") && self.out.rule.head.out_dev.is_some() {
            return Err(Fault::parameter(span, format!("Can't use -o with {chain}\n")));
        }
        if matches!(chain, "POSTROUTING" | "OUTPUT") && self.out.rule.head.in_dev.is_some() {
            return Err(Fault::parameter(span, format!("Can't use -i with {chain}\n")));
        }
        Ok(())
    }
}
