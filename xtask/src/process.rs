//! Running other programs: their output is kept in a log, the person sees one line with the elapsed time, and the
//! last lines of the log when something went wrong.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use crate::failure::{About, Failure, Result};
use crate::workspace::Workspace;

/// How long a program may be silent towards the person before we say that it is still running.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Lines of the log shown when a program fails.
const TAIL_LINES: usize = 60;

/// What a captured program printed, both streams in order of arrival.
#[derive(Debug)]
pub(crate) struct Captured {
    pub(crate) lines: Vec<String>,
    pub(crate) success: bool,
}

/// Runs a program without input to its end. `title` is what the person reads; `log` names the log file.
pub(crate) fn capture(
    workspace: &Workspace,
    title: &str,
    log: &str,
    command: &mut Command,
) -> Result<Captured> {
    let folder = workspace.state();
    fs::create_dir_all(&folder).about(folder.display())?;
    let path = folder.join(format!("{log}.log"));
    let mut file = File::create(&path).about(path.display())?;

    say(&format!("{title} ..."));
    let started = Instant::now();
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .about(format!("cannot start {program}"))?;

    let (sender, receiver) = mpsc::channel();
    let readers = [
        child.stdout.take().map(|stream| forward(stream, sender.clone())),
        child.stderr.take().map(|stream| forward(stream, sender.clone())),
    ];
    drop(sender);

    let mut lines: Vec<String> = Vec::new();
    let mut last_said = Instant::now();
    loop {
        match receiver.recv_timeout(HEARTBEAT) {
            Ok(line) => {
                writeln!(file, "{line}").about(path.display())?;
                lines.push(line);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if last_said.elapsed() >= HEARTBEAT {
            let doing = lines.iter().rev().map(|line| line.trim()).find(|line| !line.is_empty());
            say(&format!("  {:>4} s  {}", started.elapsed().as_secs(), doing.unwrap_or("still running")));
            last_said = Instant::now();
        }
    }
    for reader in readers.into_iter().flatten() {
        reader.join().map_err(|_| Failure::new(format!("lost the output of {program}")))?;
    }
    let success = child.wait().about(&program)?.success();
    let took = started.elapsed().as_secs_f64();
    if success {
        say(&format!("{title}: done in {took:.1} s"));
    } else {
        for line in &lines[lines.len().saturating_sub(TAIL_LINES)..] {
            eprintln!("  | {line}");
        }
        say(&format!("{title}: FAILED after {took:.1} s (whole output: {})", relative(workspace, &path)));
    }
    Ok(Captured { lines, success })
}

/// As [`capture`], for steps where nothing can follow a failure.
pub(crate) fn must(workspace: &Workspace, title: &str, log: &str, command: &mut Command) -> Result<Captured> {
    let captured = capture(workspace, title, log, command)?;
    if captured.success { Ok(captured) } else { Err(Failure::new(format!("{title}: failed"))) }
}

/// The standard output of a quick question, or `None` when it could not be asked or was answered with an error.
pub(crate) fn ask(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Progress goes to standard error, so that results can be piped.
pub(crate) fn say(line: &str) {
    eprintln!("{line}");
}

fn forward(stream: impl Read + Send + 'static, sender: Sender<String>) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        let mut reader = BufReader::new(stream);
        let mut bytes = Vec::new();
        while reader.read_until(b'\n', &mut bytes).is_ok_and(|count| count > 0) {
            let line = String::from_utf8_lossy(&bytes);
            // The receiver lives until every sender is gone, so this cannot fail before the end.
            let _ = sender.send(line.trim_end_matches(['\r', '\n']).to_owned());
            bytes.clear();
        }
    })
}

fn relative(workspace: &Workspace, path: &std::path::Path) -> String {
    path.strip_prefix(workspace.root()).unwrap_or(path).display().to_string()
}
