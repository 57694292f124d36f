//! What the tool prints: entries in its forms, statistics, events.

use std::fmt::Write;

use super::options::Output;
use crate::base::Instant;
use crate::conntrack::line::{LineForm, family_columns, proto_name};
use crate::conntrack::{Acct, Conntrack, CtEvent, Entry, EventKind, L4Part, Proto, Stats, Status, Tuple};
use crate::packet::{CtRef, Family, proto};

/// The entries, a line each.
pub(super) fn entries(ct: &Conntrack, list: &[CtRef], now: Instant, output: Output) -> String {
    let mut out = String::new();
    if output.xml {
        out.push_str("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<conntrack>\n");
    }
    for at in list {
        let Some(entry) = ct.entry(*at) else { continue };
        if output.xml {
            out.push_str(&xml(entry, id(*at), now));
        } else if output.save {
            out.push_str(&save(entry, now));
        } else {
            if output.extended {
                out.push_str(family_columns(entry.original.family()));
                out.push(' ');
            }
            out.push_str(&entry.line(now));
            if output.id {
                // Writing to a String cannot fail, here and below.
                let _ = write!(out, " id={}", id(*at));
            }
        }
        out.push('\n');
    }
    if output.xml && !list.is_empty() {
        out.push_str("</conntrack>\n");
    }
    out
}

/// A number that stays with the entry. The kernel hashes addresses of its memory; any number is one it may
/// show.
fn id(at: CtRef) -> u32 {
    (at.slot ^ at.generation.rotate_left(16)).wrapping_mul(0x9e37_79b1) | 1
}

pub(super) fn statistics(stats: &Stats) -> String {
    let mut line = String::from("cpu=0   \t");
    for (name, value) in stats.fields() {
        let _ = write!(line, "{name}={value} ");
    }
    line.push('\n');
    line
}

/// A line of `conntrack -E`. With `extended` the family comes first; `timestamp` is the wall clock's time to
/// prefix, in seconds and microseconds since the epoch.
pub fn event_line(event: &CtEvent, extended: bool, timestamp: Option<(u64, u32)>) -> String {
    let mut line = match timestamp {
        Some((secs, micros)) => format!("[{secs}.{micros:06}]\t"),
        None => String::new(),
    };
    line.push_str(event.kind.tag());
    line.push(' ');
    if extended {
        line.push_str(family_columns(event.entry.original.family()));
        line.push(' ');
    }
    let form = match event.kind {
        EventKind::New | EventKind::Update => LineForm::Event,
        EventKind::Destroy => LineForm::Destroy,
    };
    let _ = event.entry.write(&mut line, form, event.at);
    line
}

/// `/proc/net/nf_conntrack`.
pub fn proc_file(ct: &Conntrack, now: Instant) -> String {
    let mut out = String::new();
    for entry in ct.entries(now) {
        let _ = write!(out, "{} ", family_columns(entry.original.family()));
        let _ = entry.write(&mut out, LineForm::Proc, now);
        out.push('\n');
    }
    out
}

/// `-o save`: the command that makes the entry again.
fn save(e: &Entry, now: Instant) -> String {
    let mut flags: Vec<&str> = Vec::new();
    for (bit, name) in [
        (Status::ASSURED, "ASSURED"),
        (Status::SEEN_REPLY, "SEEN_REPLY"),
        (Status::FIXED_TIMEOUT, "FIXED_TIMEOUT"),
    ] {
        if e.status.has(bit) {
            flags.push(name);
        }
    }
    let flags = if flags.is_empty() { "UNSET".to_owned() } else { flags.join(",") };
    let reply_src = if e.status.has(Status::DST_NAT) { "-g" } else { "-r" };
    let reply_dst = if e.status.has(Status::SRC_NAT) { "-n" } else { "-q" };
    let mut out = format!(
        "-A -t {} -u {flags} -s {} -d {} {reply_src} {} {reply_dst} {} -p ",
        e.remaining(now).as_secs(),
        e.original.src,
        e.original.dst,
        e.reply.src,
        e.reply.dst,
    );
    match proto_name(e.original.proto) {
        "unknown" => out.push_str(&e.original.proto.to_string()),
        name => out.push_str(name),
    }
    let _ = match (e.original.l4, e.reply.l4) {
        (L4Part::Ports { src, dst }, L4Part::Ports { src: back_src, dst: back_dst }) => write!(
            out,
            " --sport {src} --dport {dst} --reply-port-src {back_src} --reply-port-dst {back_dst}"
        ),
        (L4Part::Icmp { id, kind, code }, _) => {
            let name = if e.original.proto == proto::ICMP { "icmp" } else { "icmpv6" };
            write!(out, " --{name}-type {kind} --{name}-code {code} --{name}-id {id}")
        }
        (L4Part::Gre { src_key, dst_key }, L4Part::Gre { src_key: back_src, dst_key: back_dst }) => write!(
            out,
            " --srckey {src_key} --dstkey {dst_key} --reply-key-src {back_src} --reply-key-dst {back_dst}"
        ),
        _ => Ok(()),
    };
    if let (Proto::Tcp(_), Some(state)) = (&e.proto, e.state_name()) {
        let _ = write!(out, " --state {state}");
    }
    if e.mark != 0 {
        let _ = write!(out, " -m {}", e.mark);
    }
    if e.zone != 0 {
        let _ = write!(out, " -w {}", e.zone);
    }
    out
}

/// `-o xml`.
fn xml(e: &Entry, id: u32, now: Instant) -> String {
    let mut out = String::from("<flow>");
    for (name, tuple, acct) in
        [("original", &e.original, e.acct.map(|a| a[0])), ("reply", &e.reply, e.acct.map(|a| a[1]))]
    {
        xml_side(&mut out, name, tuple, acct);
    }
    out.push_str("<meta direction=\"independent\">");
    if let Some(state) = e.state_name() {
        let _ = write!(out, "<state>{state}</state>");
    }
    let _ = write!(out, "<timeout>{}</timeout><mark>{}</mark>", e.remaining(now).as_secs(), e.mark);
    if e.zone != 0 {
        let _ = write!(out, "<zone>{}</zone>", e.zone);
    }
    let _ = write!(out, "<use>1</use><id>{id}</id>");
    if e.status.has(Status::ASSURED) {
        out.push_str("<assured/>");
    }
    if !e.status.has(Status::SEEN_REPLY) {
        out.push_str("<unreplied/>");
    }
    out.push_str("</meta></flow>");
    out
}

fn xml_side(out: &mut String, name: &str, tuple: &Tuple, acct: Option<Acct>) {
    let (number, family) = match tuple.family() {
        Family::V4 => (2, "ipv4"),
        Family::V6 => (10, "ipv6"),
    };
    let _ = write!(
        out,
        "<meta direction=\"{name}\"><layer3 protonum=\"{number}\" protoname=\"{family}\"><src>{}</src>\
         <dst>{}</dst></layer3><layer4 protonum=\"{}\" protoname=\"{}\">",
        tuple.src,
        tuple.dst,
        tuple.proto,
        proto_name(tuple.proto),
    );
    let _ = match tuple.l4 {
        L4Part::Ports { src, dst } => write!(out, "<sport>{src}</sport><dport>{dst}</dport>"),
        L4Part::Gre { src_key, dst_key } => {
            write!(out, "<srckey>0x{src_key:x}</srckey><dstkey>0x{dst_key:x}</dstkey>")
        }
        L4Part::Icmp { .. } | L4Part::None => Ok(()),
    };
    out.push_str("</layer4>");
    if let Some(Acct { packets, bytes }) = acct {
        let _ = write!(out, "<counters><packets>{packets}</packets><bytes>{bytes}</bytes></counters>");
    }
    out.push_str("</meta>");
}
