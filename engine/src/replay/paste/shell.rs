//! Commands as they stand in a terminal or a script: a prompt, `sudo`, the tool's name, and the shell's quoting.

use super::NFT_VERBS;

/// A line that runs one of the tools.
#[derive(Clone, Copy, Debug)]
pub(super) struct Command<'l> {
    line: &'l str,
    pub(super) tool: &'l str,
    /// Bytes of the line before what the tool is told.
    told_from: usize,
    /// Column of the tool's name, from 1, and the length of the command, in characters.
    pub(super) column: u32,
    pub(super) len: u32,
}

const TOOLS: [&str; 3] = ["nft", "ipset", "ipvsadm"];

/// The command of a line, if it is one: `nft ...`, `sudo nft ...`, `root@node:~# nft ...`.
pub(super) fn command(line: &str) -> Option<Command<'_>> {
    let line = line.trim_end();
    let mut from = line.len() - line.trim_start().len();
    let mut rest = &line[from..];
    loop {
        let word = rest.split_ascii_whitespace().next()?;
        let tool = word.rsplit('/').next().unwrap_or(word);
        if let Some(tool) = TOOLS.into_iter().find(|known| *known == tool) {
            let column = line[..from].chars().count() as u32 + 1;
            let len = rest.chars().count() as u32;
            let told = rest[word.len()..].trim_start();
            let command = Command { line, tool, told_from: line.len() - told.len(), column, len };
            // Behind a `#` may stand a sentence about the tool.
            return (!line[..from].contains('#') || command.is_likely()).then_some(command);
        }
        // A prompt ends with one of its signs; nothing but prompts and sudo stands in front.
        if word != "sudo" && !word.ends_with(['#', '$', '%', '>']) && !word.starts_with('[') {
            return None;
        }
        let next = rest[word.len()..].trim_start();
        from = line.len() - next.len();
        rest = next;
    }
}

impl Command<'_> {
    fn told(&self) -> &str {
        &self.line[self.told_from..]
    }

    /// Whether the tool would understand how it begins.
    fn is_likely(&self) -> bool {
        let word = self.told().split_ascii_whitespace().next().unwrap_or_default();
        let word = word.trim_start_matches(['\'', '"']);
        match self.tool {
            "nft" => {
                word.starts_with('-')
                    || NFT_VERBS.contains(&word)
                    || matches!(word, "add" | "create" | "flush")
            }
            "ipset" => {
                word.starts_with('-') || matches!(word, "create" | "add" | "save" | "list" | "restore")
            }
            _ => word.starts_with('-'),
        }
    }

    /// Whether it only shows what follows in the paste.
    pub(super) fn shows(&self) -> bool {
        let mut words = self.told().split_ascii_whitespace();
        match self.tool {
            "nft" => {
                words.find(|word| !word.starts_with('-')).is_none_or(|word| word == "list")
                    && !self.reads_file()
            }
            "ipset" => matches!(words.next(), Some("save" | "-S" | "list" | "-L" | "restore" | "-R")),
            _ => match words.next() {
                Some(word) if word.starts_with("--") => matches!(word, "--list" | "--save" | "--restore"),
                Some(word) => word.starts_with("-L") || word.starts_with("-l") || word.starts_with("-S"),
                None => true,
            },
        }
    }

    /// `nft -f FILE`
    pub(super) fn reads_file(&self) -> bool {
        self.told()
            .split_ascii_whitespace()
            .take_while(|word| word.starts_with('-'))
            .any(|word| word == "--file" || (!word.starts_with("--") && word.ends_with('f')))
    }

    /// The line with blanks for all but what the tool is told.
    pub(super) fn without_tool(&self) -> String {
        format!("{}{}\n", blanks(&self.line[..self.told_from]), self.told())
    }

    /// The same without the shell's quoting: a backslash in front of a sign, single quotes, double quotes around
    /// everything.
    pub(super) fn without_shell(&self) -> String {
        let told = self.told();
        let is_wrapped = told.len() > 1 && told.starts_with('"') && told.ends_with('"') && {
            let inside = &told[1..told.len() - 1];
            !inside.replace("\\\"", "").contains('"')
        };
        let mut text = blanks(&self.line[..self.told_from]);
        let mut chars = told.chars().peekable();
        let (mut at, last) = (0, told.chars().count().saturating_sub(1));
        while let Some(c) = chars.next() {
            text.push(match c {
                '\'' => ' ',
                '"' if is_wrapped && (at == 0 || at == last) => ' ',
                '\\' if chars.peek().is_some_and(|next| ";{}\"$()<>&|*!".contains(*next)) => ' ',
                c => c,
            });
            at += 1;
        }
        text.push('\n');
        text
    }
}

/// As many blanks as the text has characters.
fn blanks(text: &str) -> String {
    " ".repeat(text.chars().count())
}
