//! `-j LOG`: a line in the kernel log (`xt_LOG.c`, `nf_log_syslog.c`). No effect on the packet.

use super::prelude::*;
use crate::trace::TraceKind;

mod line;

pub(in crate::netfilter) use line::packet_line;

/// `XT_LOG_*`, in the order they are printed.
const FLAGS: [(&str, u8); 5] = [
    ("--log-tcp-sequence", 0x01),
    ("--log-tcp-options", 0x02),
    ("--log-ip-options", 0x04),
    ("--log-uid", 0x08),
    ("--log-macdecode", 0x20),
];

/// Names of `xt_LOG`'s level option with their numbers; a name may be cut short if only one fits.
const LEVELS: [(&str, u8); 9] = [
    ("alert", 1),
    ("crit", 2),
    ("debug", 7),
    ("emerg", 0),
    ("error", 3),
    ("info", 6),
    ("notice", 5),
    ("panic", 0),
    ("warning", 4),
];

/// Level when none is given (`LOG_DEFAULT_LEVEL`).
const LEVEL: u8 = 4;
/// Longest prefix; a longer one is cut.
const PREFIX_MAX: usize = 29;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    prefix: Box<str>,
    level: u8,
    flags: u8,
}

/// The longest start of `text` of at most `max` bytes.
pub(super) fn cut(text: &str, max: usize) -> &str {
    let mut end = text.len().min(max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// A prefix option: not empty, cut at `max` bytes (`XTTYPE_STRING`).
pub(super) fn prefix(args: &Parsed<'_>, option: &str, max: usize) -> Result<Box<str>, ArgError> {
    match args.get(option) {
        None => Ok("".into()),
        Some((at, opt)) if opt.values[0].is_empty() => {
            Err(ArgError::at(at, "Argument must have a minimum length of 1 characters"))
        }
        Some((_, opt)) => Ok(cut(opt.values[0], max).into()),
    }
}

fn level(at: usize, text: &str) -> Result<u8, ArgError> {
    let unknown = || ArgError::at(at, format!("log level \"{text}\" unknown"));
    if let Some(n) = parse_number(text, 7) {
        return Ok(n as u8);
    }
    LEVELS.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|l| l.1).ok_or_else(unknown)
}

impl TargetExt for Log {
    const SPEC: ExtSpec = ExtSpec::new("LOG", BOTH, "net/netfilter/xt_LOG.c")
        .options(&[
            OptSpec::new("--log-prefix", Values::One),
            OptSpec::new("--log-level", Values::One),
            OptSpec::new("--log-tcp-sequence", Values::None),
            OptSpec::new("--log-tcp-options", Values::None),
            OptSpec::new("--log-ip-options", Values::None),
            OptSpec::new("--log-uid", Values::None),
            OptSpec::new("--log-macdecode", Values::None),
        ])
        .simplified("the log line leaves out MAC addresses and the packet quoted in an ICMP error");

    fn parse(args: &Parsed<'_>) -> Result<Self, ArgError> {
        let level = match args.get("--log-level") {
            None => LEVEL,
            Some((at, opt)) => level(at, opt.values[0])?,
        };
        let flags = FLAGS.iter().filter(|(option, _)| args.has(option)).map(|f| f.1).sum();
        Ok(Self { prefix: prefix(args, "--log-prefix", PREFIX_MAX)?, level, flags })
    }

    fn save(&self, out: &mut String) {
        if !self.prefix.is_empty() {
            out.push_str(" --log-prefix ");
            save_string(out, &self.prefix);
        }
        if self.level != LEVEL {
            let _ = write!(out, " --log-level {}", self.level);
        }
        for (option, bit) in FLAGS {
            if self.flags & bit != 0 {
                let _ = write!(out, " {option}");
            }
        }
    }

    fn list(&self, out: &mut String, _: ListFlags) {
        let _ = write!(out, " LOG flags {} level {}", self.flags, self.level);
        if !self.prefix.is_empty() {
            let _ = write!(out, " prefix \"{}\"", self.prefix);
        }
    }

    fn apply(&self, cx: &mut Cx<'_>, skb: &mut Skb) -> Next {
        if cx.trace.on() {
            let text = packet_line(cx, skb, &self.prefix, self.flags);
            cx.trace.record(cx.now, || TraceKind::Note { text: format!("kernel log: {text}") });
        }
        Next::Continue
    }
}
