//! The `ipset` command, version 7.17: `restore`, `save`, `list` and the editing commands, with the tool's errors.
//!
//! `words` splits a line, `element` reads and prints elements, `create` reads set options, `print` writes `save`
//! and `list`. What a set is and does is in [`crate::netfilter::set`]. Not emulated: XML and JSON output, skbinfo,
//! resolving host names.

mod create;
mod element;
mod print;

#[cfg(test)]
mod tests;

pub use print::{list, save};

use crate::base::Instant;
use crate::netfilter::set::{AddExt, Element, Kind, Place, SetError, Sets};
use crate::text::xt::CliError;

/// Longest set name (`IPSET_MAXNAMELEN` less the terminator).
const NAME_MAX: usize = 31;
/// Longest timeout in seconds (`IPSET_MAX_TIMEOUT`, `UINT_MAX` milliseconds).
const TIMEOUT_MAX: u64 = 2_147_483;
/// Longest comment (`IPSET_MAX_COMMENT_SIZE`).
const COMMENT_MAX: usize = 255;

/// Everything a command looks at.
pub struct IpsetCx<'a> {
    pub sets: &'a mut Sets,
    pub now: Instant,
    /// How many rules refer to a set.
    pub references: &'a dyn Fn(&str) -> u32,
}

impl std::fmt::Debug for IpsetCx<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IpsetCx").field("sets", &self.sets).field("now", &self.now).finish_non_exhaustive()
    }
}

/// Why a command ends, before it is put into the tool's frame.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Fault {
    /// `Syntax error: ...` or the kernel's refusal: exit code 1.
    Refused(String),
    /// A command that cannot be read: exit code 2, with a hint at the help.
    Usage(String),
    /// `test` found nothing: exit code 1, its line on standard error.
    NotInSet(String),
}

impl Fault {
    fn syntax(message: impl std::fmt::Display) -> Self {
        Self::Refused(format!("Syntax error: {message}"))
    }
}

impl From<SetError> for Fault {
    fn from(error: SetError) -> Self {
        Self::Refused(error.to_string())
    }
}

/// Runs one command, the words behind `ipset`, and returns what it prints.
pub fn run(cx: &mut IpsetCx<'_>, args: &[&str]) -> Result<String, CliError> {
    command(cx, args, None).map_err(|fault| frame(fault, None))
}

/// Runs the lines of `ipset restore`; those before a failure stay done.
pub fn restore(cx: &mut IpsetCx<'_>, text: &str, exist: bool) -> Result<(), CliError> {
    for (number, line) in (1_u32..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') || line == "COMMIT" {
            continue;
        }
        let words = words(line);
        let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
        if exist {
            words.insert(0, "-exist");
        }
        command(cx, &words, Some(number)).map_err(|fault| frame(fault, Some(number)))?;
    }
    Ok(())
}

fn frame(fault: Fault, line: Option<u32>) -> CliError {
    let at = line.map_or(String::new(), |n| format!("Error in line {n}: "));
    match fault {
        Fault::Refused(message) => {
            CliError { message: format!("ipset v7.17: {at}{message}\n"), exit_code: 1 }
        }
        Fault::Usage(message) => CliError {
            message: format!("ipset v7.17: {message}\nTry `ipset help' for more information.\n"),
            exit_code: 2,
        },
        Fault::NotInSet(message) => CliError { message: format!("{message}\n"), exit_code: 1 },
    }
}

/// Words of a line, double quotes removed.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted, mut started) = (Vec::new(), String::new(), false, false);
    for c in line.chars() {
        match c {
            '"' => (quoted, started) = (!quoted, true),
            c if c.is_whitespace() && !quoted => {
                if std::mem::take(&mut started) {
                    words.push(std::mem::take(&mut word));
                }
            }
            c => {
                word.push(c);
                started = true;
            }
        }
    }
    if started {
        words.push(word);
    }
    words
}

fn command(cx: &mut IpsetCx<'_>, args: &[&str], line: Option<u32>) -> Result<String, Fault> {
    let (mut exist, mut at) = (false, 0);
    while let Some(arg) = args.get(at) {
        match *arg {
            "-exist" | "--exist" | "-!" => exist = true,
            "-q" | "-quiet" | "--quiet" => {}
            _ => break,
        }
        at += 1;
    }
    let args = &args[at..];
    let Some((&verb, rest)) = args.split_first() else {
        return Err(Fault::Usage("No command specified.".to_owned()));
    };
    let verb = match verb.trim_start_matches('-') {
        "N" | "create" | "new" => "create",
        "A" | "add" => "add",
        "D" | "del" => "del",
        "T" | "test" => "test",
        "X" | "destroy" => "destroy",
        "F" | "flush" => "flush",
        "E" | "e" | "rename" => "rename",
        "W" | "w" | "swap" => "swap",
        "L" | "list" => "list",
        "S" | "s" | "save" => "save",
        _ => return Err(Fault::Usage(format!("No command specified: unknown argument {verb}"))),
    };
    let one = |n: usize| {
        let ordinal = if n == 0 { "first" } else { "second" };
        let missing = || Fault::Usage(format!("Missing {ordinal} mandatory argument to command {verb}"));
        rest.get(n).copied().ok_or_else(missing)
    };
    match verb {
        "create" => {
            let (name, kind) = (checked(one(0)?)?, one(1)?);
            let params = create::parse(name, kind, &rest[2..])?;
            cx.sets.create(name, params, exist)?;
        }
        "add" | "del" | "test" => return element(cx, verb, checked(one(0)?)?, one(1)?, &rest[2..], exist),
        "destroy" => match rest.first() {
            Some(name) => cx.sets.destroy(name, (cx.references)(name) > 0)?,
            None => cx.sets.destroy_all(|name| (cx.references)(name) > 0)?,
        },
        "flush" => match rest.first() {
            Some(name) => cx.sets.get_mut(name)?.flush(),
            None => cx.sets.flush_all(),
        },
        "rename" => {
            let (from, to) = (one(0)?, checked(one(1)?)?);
            cx.sets.rename(from, to, (cx.references)(from) > 0)?;
        }
        "swap" => cx.sets.swap(one(0)?, one(1)?)?,
        "save" if line.is_none() => return saved(cx, rest),
        "list" if line.is_none() => return listed(cx, rest),
        _ => return Err(Fault::Usage(format!("Command `{verb}' is invalid in restore mode."))),
    }
    Ok(String::new())
}

/// A set name of a length the kernel takes.
fn checked(name: &str) -> Result<&str, Fault> {
    if name.len() > NAME_MAX {
        return Err(Fault::syntax(format!("setname '{name}' is longer than {NAME_MAX} characters")));
    }
    Ok(name)
}

fn saved(cx: &IpsetCx<'_>, rest: &[&str]) -> Result<String, Fault> {
    match rest.first() {
        Some(name) if cx.sets.get(name).is_none() => Err(SetError::Missing.into()),
        only => Ok(save(cx.sets, only.copied(), cx.now)),
    }
}

fn listed(cx: &IpsetCx<'_>, rest: &[&str]) -> Result<String, Fault> {
    let (mut terse, mut names_only, mut only) = (false, false, None);
    for arg in rest {
        match *arg {
            "-t" | "-terse" | "--terse" => terse = true,
            "-n" | "-name" | "--name" => names_only = true,
            option if option.starts_with('-') => {
                return Err(Fault::Usage(format!("Unknown argument: `{option}'")));
            }
            name => only = Some(name),
        }
    }
    if let Some(name) = only
        && cx.sets.get(name).is_none()
    {
        return Err(SetError::Missing.into());
    }
    if names_only {
        return Ok(cx.sets.names().iter().map(|name| format!("{name}\n")).collect());
    }
    Ok(list(cx.sets, only, terse, cx.now, cx.references))
}

/// `add`, `del` and `test`.
fn element(
    cx: &mut IpsetCx<'_>,
    verb: &str,
    name: &str,
    text: &str,
    options: &[&str],
    exist: bool,
) -> Result<String, Fault> {
    let params = cx.sets.get(name).ok_or(SetError::Missing)?.params.clone();
    if params.kind == Kind::ListSet {
        return member(cx, verb, name, text, options, exist);
    }
    let elements = element::parse(&params, text)?;
    let ext = extensions(options)?.0;
    let now = cx.now;
    if verb == "test" {
        let within = elements.first().is_some_and(|e| contains(cx.sets, name, e, now));
        return if within {
            Ok(format!("Warning: {text} is in set {name}.\n"))
        } else {
            Err(Fault::NotInSet(format!("{text} is NOT in set {name}.")))
        };
    }
    let set = cx.sets.get_mut(name)?;
    for element in elements {
        if verb == "add" {
            set.add(element, &ext, exist, now)?;
        } else {
            set.del(element, exist, now)?;
        }
    }
    Ok(String::new())
}

fn contains(sets: &mut Sets, name: &str, element: &Element, now: Instant) -> bool {
    sets.get_mut(name).is_ok_and(|set| set.find(element, now, |_| true).is_some_and(|data| !data.nomatch))
}

fn member(
    cx: &mut IpsetCx<'_>,
    verb: &str,
    list: &str,
    member: &str,
    options: &[&str],
    exist: bool,
) -> Result<String, Fault> {
    let (ext, place) = extensions(options)?;
    match verb {
        "add" => cx.sets.add_member(list, member, place, &ext, exist, cx.now)?,
        "del" => cx.sets.del_member(list, member, exist)?,
        _ => {
            if cx.sets.get(member).is_none() {
                return Err(SetError::MemberMissing.into());
            }
            let within = cx.sets.get(list).is_some_and(|s| s.members(cx.now).any(|m| &*m.name == member));
            return if within {
                Ok(format!("Warning: {member} is in set {list}.\n"))
            } else {
                Err(Fault::NotInSet(format!("{member} is NOT in set {list}.")))
            };
        }
    }
    Ok(String::new())
}

/// What stands behind an element: `timeout 5 comment "x"`.
fn extensions<'a>(options: &[&'a str]) -> Result<(AddExt, Place<'a>), Fault> {
    let mut ext = AddExt::default();
    let mut place = Place::End;
    let mut options = options.iter();
    while let Some(&option) = options.next() {
        let mut value = || {
            options
                .next()
                .copied()
                .ok_or_else(|| Fault::Usage(format!("Missing mandatory argument of option `{option}'")))
        };
        match option {
            "timeout" => ext.timeout = Some(create::number(value()?, TIMEOUT_MAX)? as u32),
            "packets" => ext.packets = Some(create::number(value()?, u64::MAX)?),
            "bytes" => ext.bytes = Some(create::number(value()?, u64::MAX)?),
            "comment" => {
                let text = value()?;
                if text.contains('"') {
                    return Err(Fault::syntax("\" character is not permitted in comments"));
                }
                if text.len() > COMMENT_MAX {
                    return Err(Fault::syntax("Comment is longer than the maximum allowed 255 characters"));
                }
                ext.comment = Some(text.into());
            }
            "nomatch" => ext.nomatch = true,
            "before" => place = Place::Before(value()?),
            "after" => place = Place::After(value()?),
            _ => return Err(Fault::Usage(format!("Unknown argument: `{option}'"))),
        }
    }
    Ok((ext, place))
}
