//! The `nft` command of a case: set-up with a text or one command, and listings.

use super::show;
use crate::netns::Netns;
use crate::text::nft::{ListOptions, Refusal};

/// What the command line says.
#[derive(Debug, Default)]
struct Line {
    options: ListOptions,
    /// `-f`: the text is on standard input.
    reads: bool,
    /// `-c`: nothing is done.
    check: bool,
    /// The command, where it stands on the line.
    command: String,
}

/// `nft -f -` with `stdin`, or one command; what it prints.
pub(super) fn run(netns: &mut Netns, line: &str, stdin: &str) -> Result<String, Box<Refusal>> {
    let line = read(line).map_err(refused)?;
    let text = if line.reads { stdin } else { &line.command };
    let mut ruleset = netns.nft().clone();
    let printed = crate::text::nft::run(&mut ruleset, text, netns.now, line.options)?;
    if !line.check {
        netns.set_nft(ruleset);
    }
    Ok(printed)
}

/// `nft list ...`, and `nft monitor trace` as if it had listened from the beginning: what does not change anything.
pub(super) fn list(netns: &Netns, line: &str) -> Result<String, String> {
    let line = read(line)?;
    if line.command.split_whitespace().eq(["monitor", "trace"]) {
        return Ok(crate::text::nft::trace(netns.nft()));
    }
    if line.reads || !line.command.trim_start().starts_with("list") {
        return Err("of nft only `list` and `monitor trace` can be shown".to_owned());
    }
    let mut ruleset = netns.nft().clone();
    crate::text::nft::run(&mut ruleset, &line.command, netns.now, line.options)
        .map_err(|refusal| refusal.error.message.trim_end().to_owned())
}

fn refused(message: String) -> Box<Refusal> {
    use crate::text::diag::{Diag, Severity};
    use crate::text::xt::CliError;
    let diag = Diag { severity: Severity::Error, line: 1, column: 1, len: 0, message: message.clone() };
    Box::new(Refusal { diag, error: CliError { message, exit_code: 1 } })
}

fn read(line: &str) -> Result<Line, String> {
    let mut read = Line::default();
    let mut words = show::spans(line).into_iter().skip(1).peekable();
    while let Some(option) = words.next_if(|word| word.starts_with('-')) {
        match option {
            "-f" | "--file" => match words.next() {
                Some("-" | "/dev/stdin") => read.reads = true,
                Some(file) => return Err(format!("nft -f {file}: only standard input (-) can be read")),
                None => return Err("nft -f: a file is missing".to_owned()),
            },
            "--check" => read.check = true,
            "--handle" => read.options.handles = true,
            "--json" => read.options.json = true,
            "--terse" => read.options.terse = true,
            "--stateless" => read.options.stateless = true,
            "--numeric-priority" => read.options.numeric_priority = true,
            letters if !letters.starts_with("--") => {
                for letter in letters.chars().skip(1) {
                    match letter {
                        'a' => read.options.handles = true,
                        'c' => read.check = true,
                        'j' => read.options.json = true,
                        's' => read.options.stateless = true,
                        't' => read.options.terse = true,
                        'y' => read.options.numeric_priority = true,
                        _ => return Err(format!("option -{letter} of nft is not emulated")),
                    }
                }
            }
            other => return Err(format!("option {other} of nft is not emulated")),
        }
    }
    let rest: Vec<&str> = words.map(unquoted).collect();
    read.command = rest.join(" ");
    Ok(read)
}

/// A word without the shell's quotes around it.
fn unquoted(word: &str) -> &str {
    let inside = |quote| word.strip_prefix(quote).and_then(|word| word.strip_suffix(quote));
    inside('\'').or_else(|| inside('"')).unwrap_or(word)
}
