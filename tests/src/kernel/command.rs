//! Runs the real tools in the calling thread's network namespace.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// What a tool printed and how it ended.
#[derive(Debug, Clone)]
pub struct Output {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Output {
    /// Standard output of a tool that succeeded.
    pub fn expect_success(self, what: &str) -> Result<String, String> {
        if self.status == 0 {
            Ok(self.stdout)
        } else {
            Err(format!("{what}: exit {}: {}", self.status, self.stderr.trim()))
        }
    }
}

const FOLDERS: [&str; 6] = ["/usr/sbin", "/sbin", "/usr/local/sbin", "/usr/bin", "/bin", "/usr/local/bin"];

/// Whether a tool is installed.
pub(super) fn exists(name: &str) -> bool {
    FOLDERS.iter().any(|folder| Path::new(folder).join(name).exists())
}

/// Runs one tool to its end.
pub fn tool(name: &str, arguments: &[&str], stdin: &str) -> Result<Output, String> {
    let mut child = Command::new(name)
        .args(arguments)
        .env("PATH", FOLDERS.join(":"))
        .env("LC_ALL", "C")
        // The xtables lock is global on the machine; labs have their own namespaces and need no other's lock.
        .env("XTABLES_LOCKFILE", std::env::temp_dir().join("cw-xtables.lock"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{name}: {error}"))?;
    if let Some(mut pipe) = child.stdin.take() {
        // A tool that stops reading early says why by its exit code.
        let _ = pipe.write_all(stdin.as_bytes());
    }
    let output = child.wait_with_output().map_err(|error| format!("{name}: {error}"))?;
    Ok(Output {
        status: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// Runs a command line of a case (`setup`, `show`); words are separated by blanks, quotes group.
pub(super) fn line(text: &str, stdin: &str) -> Result<Output, String> {
    let words = split(text)?;
    let (name, arguments) = words.split_first().ok_or("an empty command")?;
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    tool(name, &arguments, stdin)
}

fn split(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for letter in text.chars() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, ' ' | '\t' | '\n') => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    if quote.is_some() {
        return Err(format!("unclosed quote in {text:?}"));
    }
    words.extend(word);
    Ok(words)
}
