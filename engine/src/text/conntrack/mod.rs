//! The conntrack tool (conntrack-tools 1.4.7): its commands, its filters, what it prints.
//!
//! Owns the command line and the output forms; the line of an entry is [`crate::conntrack::line`]. Of the
//! tables, `conntrack` is emulated; `dying` and `unconfirmed` are empty between packets, `expect` because no
//! helper is. Not emulated and refused by name: `-o ktimestamp`, `-o labels`, labels, secmarks, batch files.

mod options;
mod print;

pub use print::{event_line, proc_file};

use crate::base::{Duration, Instant};
use crate::conntrack::{Conntrack, NewEntry};
use crate::packet::CtRef;
use options::{Command, Parsed, Table};

/// What a run of the tool leaves behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ran {
    pub stdout: String,
    pub stderr: String,
    pub exit_code: u8,
}

/// How the tool starts what it says on standard error.
const VERSION: &str = "conntrack v1.4.7 (conntrack-tools)";

/// Why the tool gave up: its words, and whether it points to `--help`.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Failure {
    /// The command line is wrong: exit status 2.
    Usage(String),
    /// The kernel, or the tool half-way, refused: exit status 1.
    Refused(String),
}

impl From<Failure> for Ran {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Usage(text) => Self {
                stderr: format!(
                    "{VERSION}: {text}\nTry `conntrack -h' or 'conntrack --help' for more information.\n"
                ),
                exit_code: 2,
                ..Self::default()
            },
            Failure::Refused(text) => {
                Self { stderr: format!("{VERSION}: {text}\n"), exit_code: 1, ..Self::default() }
            }
        }
    }
}

/// Runs a command that only looks: `-L`, `-G`, `-S`, `-C`, `--version`. `args` come without the program's name.
pub fn show(ct: &Conntrack, now: Instant, args: &[&str]) -> Ran {
    match options::parse(args).and_then(|parsed| look(ct, now, &parsed)) {
        Ok(ran) => ran,
        Err(failure) => failure.into(),
    }
}

/// Runs any command but `-E`, whose events [`event_line`] prints.
pub fn run(ct: &mut Conntrack, now: Instant, args: &[&str]) -> Ran {
    let parsed = match options::parse(args) {
        Ok(parsed) => parsed,
        Err(failure) => return failure.into(),
    };
    let ran = match parsed.command {
        Command::Delete => Ok(delete(ct, now, &parsed)),
        Command::Flush => {
            if parsed.table == Table::Conntrack {
                ct.flush(now);
            }
            Ok(said("connection tracking table has been emptied."))
        }
        Command::Create | Command::Add => create(ct, now, &parsed),
        Command::Update => Ok(update(ct, now, &parsed)),
        Command::List
        | Command::Get
        | Command::Count
        | Command::Statistics
        | Command::Events
        | Command::Version => look(ct, now, &parsed),
    };
    ran.unwrap_or_else(Ran::from)
}

fn said(text: &str) -> Ran {
    Ran { stderr: format!("{VERSION}: {text}\n"), ..Ran::default() }
}

fn look(ct: &Conntrack, now: Instant, parsed: &Parsed) -> Result<Ran, Failure> {
    match parsed.command {
        Command::Version => Ok(Ran { stdout: format!("{VERSION}\n"), ..Ran::default() }),
        Command::Count => {
            let count = if parsed.table == Table::Expect { 0 } else { ct.count() };
            Ok(Ran { stdout: format!("{count}\n"), ..Ran::default() })
        }
        Command::Statistics => Ok(Ran { stdout: print::statistics(&ct.stats), ..Ran::default() }),
        Command::List if parsed.table == Table::Expect => Ok(said("0 expectations have been shown.")),
        Command::List => {
            let found = select(ct, now, parsed);
            let mut ran = said(&format!("{} flow entries have been shown.", found.len()));
            ran.stdout = print::entries(ct, &found, now, parsed.output);
            Ok(ran)
        }
        Command::Get => {
            let found = select(ct, now, parsed);
            let Some(first) = found.first() else {
                return Err(Failure::Refused("Operation failed: such conntrack doesn't exist".to_owned()));
            };
            let mut ran = said("1 flow entries have been shown.");
            // The tool itself holds a reference while it looks.
            ran.stdout = print::entries(ct, &[*first], now, parsed.output).replace(" use=1", " use=2");
            Ok(ran)
        }
        Command::Events => Err(Failure::Refused("events are streamed, not listed".to_owned())),
        Command::Delete | Command::Flush | Command::Create | Command::Add | Command::Update => {
            Err(Failure::Refused("this command changes the table; only looking is possible here".to_owned()))
        }
    }
}

/// The live entries that pass the filter.
fn select(ct: &Conntrack, now: Instant, parsed: &Parsed) -> Vec<CtRef> {
    if parsed.table != Table::Conntrack {
        return Vec::new();
    }
    ct.refs(now).filter(|at| ct.entry(*at).is_some_and(|e| parsed.filter.matches(e))).collect()
}

fn delete(ct: &mut Conntrack, now: Instant, parsed: &Parsed) -> Ran {
    let found = select(ct, now, parsed);
    let stdout = print::entries(ct, &found, now, parsed.output);
    for at in &found {
        ct.kill(*at, now);
    }
    let mut ran = said(&format!("{} flow entries have been deleted.", found.len()));
    if !found.is_empty() {
        ran.stdout = stdout;
    }
    ran.exit_code = u8::from(found.is_empty());
    ran
}

fn update(ct: &mut Conntrack, now: Instant, parsed: &Parsed) -> Ran {
    // With -U, the mark and the timeout are what to set, not what to look for.
    let filter = parsed.filter.without_mark();
    let found: Vec<CtRef> =
        ct.refs(now).filter(|at| ct.entry(*at).is_some_and(|e| filter.matches(e))).collect();
    for at in &found {
        if let Some((mark, mask)) = parsed.filter.mark {
            let old = ct.entry(*at).map_or(0, |e| e.mark);
            ct.set_mark(*at, (old & !mask) | mark);
        }
        if let (Some(secs), Some(entry)) = (parsed.timeout, ct.entry_mut(*at)) {
            entry.expires = now + Duration::from_secs(u64::from(secs));
        }
    }
    let mut ran = said(&format!("{} flow entries have been updated.", found.len()));
    ran.stdout = print::entries(ct, &found, now, parsed.output).replace(" use=1", " use=2");
    ran.exit_code = u8::from(found.is_empty());
    ran
}

fn create(ct: &mut Conntrack, now: Instant, parsed: &Parsed) -> Result<Ran, Failure> {
    let (original, reply) = parsed.tuples()?;
    let secs = parsed.timeout.ok_or_else(|| {
        Failure::Usage("You need to supply the `--timeout' option for this command".to_owned())
    })?;
    let new = NewEntry {
        original,
        reply,
        timeout: Duration::from_secs(u64::from(secs)),
        status: parsed.filter.status.map_or_else(Default::default, |wanted| wanted.set),
        mark: parsed.filter.mark.map_or(0, |(mark, _)| mark),
        zone: parsed.filter.zone.unwrap_or(0),
        tcp_state: parsed.filter.state,
    };
    let made = ct.insert_entry(new, now);
    match (parsed.command, made) {
        (Command::Add, made) => Ok(said(&format!("{} flow entries have been added.", u8::from(made)))),
        (_, true) => Ok(said("1 flow entries have been created.")),
        (_, false) => {
            Err(Failure::Refused("Operation failed: Such conntrack exists, try -U to update".to_owned()))
        }
    }
}

#[cfg(test)]
mod tests;
