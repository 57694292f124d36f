//! What people paste: the output of several tools, one behind the other.
//!
//! Owns: which lines are whose, and loading them into a node. The readers are in [`crate::text`]; each is given a text
//! in which the lines of the others are empty, and what a shell adds is blank, so that every place it names is a
//! place of the paste.
//!
//! | lines | told by |
//! |---|---|
//! | `iptables-save` | everything else: `*filter`, `:INPUT`, `-A INPUT` |
//! | `nft list ruleset` | blocks in braces, beginning with `table` |
//! | commands of `nft` | `add table`, `insert rule`, `flush ruleset`, also behind `nft`; `define` |
//! | `ipset save` | `create NAME TYPE:TYPE`, `add NAME ...` |
//! | `ipvsadm -Sn` | `-A -t`, `-a -t` and their kin, also behind `ipvsadm` |
//! | `ipvsadm -Ln` | the listing's heading, and what follows it |
//! | `sysctl`, `ip -batch` | `net.ipv4.ip_forward = 1`, `link add ...`, `address add ...`, `route add ...` |

mod servers;
mod shell;

use std::borrow::Cow;

use super::{Session, setup};
use crate::base::PLANES;
use crate::netfilter::nft;
use crate::netns::Netns;
use crate::text::diag::{Diag, Place, Severity};
use shell::Command;

/// Whose a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Iptables,
    Nft,
    Sets,
    Servers,
    Node,
    /// A command that shows what follows, a heading.
    Nobody,
}

/// A paste, its lines told apart.
#[derive(Clone, Debug)]
pub struct Paste<'t> {
    iptables: Option<Cow<'t, str>>,
    nft: Option<String>,
    sets: Option<String>,
    servers: Option<String>,
    node: Option<String>,
    notes: Vec<Diag>,
}

impl<'t> Paste<'t> {
    /// Tells the lines of `text` apart. A text of iptables alone, which can be long, is not copied.
    pub fn split(text: &'t str) -> Self {
        let mut split = Split::default();
        let mut owners = Vec::new();
        for (number, line) in (1..).zip(text.split_inclusive('\n')) {
            owners.push(split.line(number, line));
        }
        let is = |owner: Owner| owners.iter().any(|(of, _)| *of == Some(owner));
        let mut paste =
            Self { iptables: None, nft: None, sets: None, servers: None, node: None, notes: split.notes };
        if owners.iter().all(|(of, _)| of.is_none_or(|of| of == Owner::Iptables)) {
            paste.iptables = Some(Cow::Borrowed(text));
            return paste;
        }
        let of = |owner: Owner| {
            is(owner).then(|| {
                let mut part = String::new();
                for (line, (of, clean)) in text.split_inclusive('\n').zip(&owners) {
                    // iptables' comments tell its reader something.
                    if *of == Some(owner) || (of.is_none() && owner == Owner::Iptables) {
                        part.push_str(clean.as_deref().unwrap_or(line));
                    } else {
                        part.push('\n');
                    }
                }
                part
            })
        };
        paste.iptables = of(Owner::Iptables).map(Cow::Owned);
        paste.nft = of(Owner::Nft);
        paste.sets = of(Owner::Sets);
        paste.servers = of(Owner::Servers);
        paste.node = of(Owner::Node);
        paste
    }

    /// The text for the reader of iptables; none when no line is for it.
    pub fn iptables(&self) -> Option<&str> {
        self.iptables.as_deref()
    }

    /// Whether it takes a build with [`PLANES`] to load it.
    pub fn needs_planes(&self) -> bool {
        self.nft.is_some() || self.servers.is_some()
    }

    /// Remarks on lines that no reader gets.
    pub fn notes(&self) -> &[Diag] {
        &self.notes
    }

    /// Loads what rules may ask, before the tables: settings, addresses, sets, virtual servers.
    ///
    /// # Errors
    /// The line that a tool refuses, in its words.
    pub fn load_before(&self, netns: &mut Netns) -> Result<(), Diag> {
        for (line, text) in (1..).zip(self.node.iter().flat_map(|node| node.lines())) {
            let text = text.trim();
            let command = match text.split_once('=') {
                _ if text.is_empty() => continue,
                Some((name, value)) if is_setting(name) => format!("sysctl {}={}", name.trim(), value.trim()),
                _ => format!("ip {text}"),
            };
            setup(netns, &command, "").map_err(|error| {
                let len = text.chars().count() as u32;
                diag(Severity::Error, Place { line, column: 1, len }, error.message)
            })?;
        }
        if let Some(sets) = &self.sets {
            setup(netns, "ipset restore", sets).map_err(|error| about_line(&error.message))?;
        }
        match &self.servers {
            Some(servers) if PLANES => servers::load(netns, servers),
            Some(_) | None => Ok(()),
        }
    }

    /// Loads nftables' part beside what a session holds, and starts over. Tables that iptables-nft keeps, and whose
    /// rules are among the lines of iptables too, are left out; a remark names them.
    ///
    /// # Errors
    /// What nft refuses: then nothing of its part is loaded.
    pub fn load_nft(&self, session: &mut Session) -> Result<Vec<Diag>, Diag> {
        let Some(text) = self.nft.as_ref().filter(|_| PLANES) else { return Ok(Vec::new()) };
        let kept: Vec<_> = session
            .netns()
            .tables()
            .iter()
            .map(|loaded| match loaded.table.family {
                crate::packet::Family::V4 => (nft::TableFamily::Ip, loaded.table.name.name()),
                crate::packet::Family::V6 => (nft::TableFamily::Ip6, loaded.table.name.name()),
            })
            .collect();
        let mut notes = Vec::new();
        session.load_nft_without(text, |table| {
            let twice = kept.contains(&(table.family, &*table.name)) && is_iptables(table);
            if twice {
                let line = table.chains.values().map(|chain| chain.line).min().unwrap_or(1);
                let name = format!("table {} {}", table.family.name(), table.name);
                let message = format!(
                    "{name} is that of iptables-nft and stands among the lines of iptables too: left out here"
                );
                notes.push(diag(Severity::Warning, Place { line, column: 1, len: 0 }, message));
            }
            twice
        })?;
        Ok(notes)
    }
}

/// Whether every base chain of the table has the name that iptables gives it.
fn is_iptables(table: &nft::Table) -> bool {
    table.base_chains().all(|(chain, base)| match base.hook {
        nft::NftHook::Inet(hook) => *chain.name == *hook.chain(),
        nft::NftHook::Ingress | nft::NftHook::Egress => false,
    })
}

fn diag(severity: Severity, place: Place, message: impl Into<String>) -> Diag {
    let Place { line, column, len } = place;
    Diag { severity, line, column, len, message: message.into() }
}

/// `Error in line 7: ...` is about that line.
fn about_line(message: &str) -> Diag {
    let number = message.split_once("line ").and_then(|(_, rest)| rest.split_once(':'));
    let line = number.and_then(|(number, _)| number.trim().parse().ok()).unwrap_or(1);
    diag(Severity::Error, Place { line, column: 1, len: 0 }, message)
}

/// Where splitting stands.
#[derive(Debug, Default)]
struct Split {
    /// Between `*filter` and `COMMIT`.
    in_table: bool,
    /// Braces of nftables that are open.
    depth: usize,
    /// The line before ends with a backslash.
    goes_on: bool,
    /// Behind the heading of `ipvsadm -L`.
    in_listing: bool,
    /// Whose the lines before were.
    current: Option<Owner>,
    notes: Vec<Diag>,
}

/// Words that begin a command of nftables and nothing else.
const NFT_VERBS: [&str; 14] = [
    "table", "insert", "replace", "delete", "destroy", "reset", "rename", "list", "define", "undefine",
    "redefine", "include", "chain", "rule",
];
/// What nftables adds, creates and flushes; other words behind `add` and `flush` are names of sets of ipset.
const NFT_NOUNS: [&str; 17] = [
    "table",
    "chain",
    "rule",
    "set",
    "map",
    "element",
    "counter",
    "quota",
    "limit",
    "ct",
    "flowtable",
    "synproxy",
    "secmark",
    "ruleset",
    "meter",
    "vmap",
    "tunnel",
];

impl Split {
    /// Whose a line is, and the line as its reader gets it where that differs. Nobody owns a comment or a blank line.
    fn line(&mut self, number: u32, line: &str) -> (Option<Owner>, Option<String>) {
        let trimmed = line.trim_start();
        let mut words = trimmed.split_ascii_whitespace();
        let first = words.next().unwrap_or_default();
        if self.depth > 0 || self.goes_on {
            self.count_braces(line);
            return (Some(Owner::Nft), None);
        }
        if first.is_empty() || (first.starts_with('#') && shell::command(line).is_none()) {
            return (None, None);
        }
        let begins_block = first == "table" && trimmed.trim_end().ends_with('{');
        if self.in_table && !begins_block {
            self.in_table = first != "COMMIT";
            return (Some(Owner::Iptables), None);
        }
        self.in_table = false;
        let (owner, clean) = match shell::command(line) {
            Some(command) => self.command(number, &command),
            None => (self.owner(first, words.next().unwrap_or_default(), trimmed), None),
        };
        if owner == Owner::Nft {
            self.count_braces(clean.as_deref().unwrap_or(line));
        }
        self.in_listing &= matches!(owner, Owner::Servers | Owner::Nobody);
        if owner != Owner::Nobody {
            self.current = Some(owner);
        }
        (Some(owner), clean)
    }

    /// A line with a tool's name in front.
    fn command(&mut self, number: u32, command: &Command<'_>) -> (Owner, Option<String>) {
        let shows = command.shows();
        match command.tool {
            _ if shows => (Owner::Nobody, None),
            "nft" if command.reads_file() => {
                let message = "what nft reads from a file is not in this text: paste what the file holds";
                let place = Place { line: number, column: command.column, len: command.len };
                self.notes.push(diag(Severity::Warning, place, message));
                (Owner::Nobody, None)
            }
            "nft" => (Owner::Nft, Some(command.without_shell())),
            "ipset" => (Owner::Sets, Some(command.without_tool())),
            _ => (Owner::Servers, Some(command.without_tool())),
        }
    }

    fn owner(&mut self, first: &str, second: &str, line: &str) -> Owner {
        if first.starts_with('*') {
            self.in_table = true;
            return Owner::Iptables;
        }
        if line.starts_with("IP Virtual Server version") || line.starts_with("Prot LocalAddress:Port") {
            self.in_listing = true;
            // The heading tells the reader of servers that a listing follows.
            return Owner::Servers;
        }
        if self.in_listing && matches!(first, "TCP" | "UDP" | "SCTP" | "FWM" | "->") {
            return Owner::Servers;
        }
        match first {
            _ if first.starts_with('-') && servers::is_service(second) => Owner::Servers,
            "create" if is_set_type(line) => Owner::Sets,
            "create" => Owner::Nft,
            "add" | "flush" if NFT_NOUNS.contains(&second) => Owner::Nft,
            "add" | "flush" => Owner::Sets,
            "link" | "address" | "addr" | "route" if second == "add" => Owner::Node,
            word if is_setting(word) && line.contains('=') => Owner::Node,
            word if NFT_VERBS.contains(&word) => Owner::Nft,
            word if word.starts_with(['-', ':', '[']) => Owner::Iptables,
            "COMMIT" => Owner::Iptables,
            _ if line.split_ascii_whitespace().any(is_iptables_tool) => Owner::Iptables,
            // A block that begins with a slip, and what is left of one.
            _ if line.trim_end().ends_with('{') || first.starts_with('}') => Owner::Nft,
            _ => self.current.unwrap_or(Owner::Iptables),
        }
    }

    /// Braces outside of quotes and comments.
    fn count_braces(&mut self, line: &str) {
        let mut is_quoted = false;
        for c in line.chars() {
            match c {
                '"' => is_quoted = !is_quoted,
                '#' if !is_quoted => break,
                '{' if !is_quoted => self.depth += 1,
                '}' if !is_quoted => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
        self.goes_on = line.trim_end_matches(['\n', '\r']).ends_with('\\');
    }
}

/// `net.ipv4.ip_forward`
fn is_setting(word: &str) -> bool {
    word.starts_with("net.")
}

/// `iptables`, `/sbin/ip6tables-save`, ...
fn is_iptables_tool(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    name.starts_with("iptables") || name.starts_with("ip6tables")
}

/// `create NAME TYPE ...`, as `ipset save` begins each set.
fn is_set_type(line: &str) -> bool {
    let kind = line.split_ascii_whitespace().nth(2).and_then(|kind| kind.split_once(':'));
    kind.is_some_and(|(kind, _)| matches!(kind, "hash" | "bitmap" | "list"))
}

#[cfg(test)]
mod tests;
