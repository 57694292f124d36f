//! `cargo xtask serve`: builds the lab and shows it on this machine, with the headers a careful host would send.
//!
//! The server answers GET and HEAD for files of one folder and nothing else. It is for this machine's own browser
//! and for the tests; a public host brings its own.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::build::{self, CONTENT_SECURITY_POLICY, Mode};
use crate::failure::{About, Failure, Result};
use crate::process::say;
use crate::watch;
use crate::workspace::Workspace;

/// A browser sends less than this; more is not one.
const REQUEST_LINE_BYTES: u64 = 16 * 1024;
const READ_TIMEOUT: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) port: u16,
    pub(crate) base: Base,
    pub(crate) dev: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { port: 8080, base: Base("/".to_owned()), dev: false }
    }
}

/// The path under which the site is served: begins and ends with a slash.
#[derive(Debug, Clone)]
pub(crate) struct Base(String);

impl Base {
    pub(crate) fn parse(text: &str) -> Result<Self> {
        if text.starts_with('/') && text.ends_with('/') {
            Ok(Self(text.to_owned()))
        } else {
            Err(Failure::new(format!("--base {text}: it has to begin and end with a slash")))
        }
    }
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    // Taken first: a busy port should be known before minutes of building.
    let listener = listen(options.port)?;
    let mode = if options.dev { Mode::Dev } else { Mode::Web };
    build::run(workspace, mode)?;
    let address = start(listener, workspace.dist(), options.base.clone())?;
    say(&format!("Chainwalk is on http://{address}{}   (Ctrl+C ends it)", options.base.0));
    let mut built = watch::newest_source(workspace)?;
    loop {
        thread::sleep(POLL);
        let newest = watch::newest_source(workspace)?;
        if options.dev && newest > built {
            built = newest;
            match build::run(workspace, mode) {
                Ok(_) => say("built again: reload the page"),
                Err(failure) => say(&failure.to_string()),
            }
        }
    }
}

pub(crate) fn listen(port: u16) -> Result<TcpListener> {
    TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).map_err(|error| {
        Failure::new(format!("port {port}: {error}")).hint("cargo xtask serve --port 0   (any free port)")
    })
}

/// Serves a folder from a thread for the rest of this program's life.
pub(crate) fn start(listener: TcpListener, folder: PathBuf, base: Base) -> Result<SocketAddr> {
    let address = listener.local_addr().about("the server's address")?;
    let site = Arc::new(Site { folder, base });
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let site = Arc::clone(&site);
            // A thread a connection: a page asks for a dozen files.
            thread::spawn(move || site.answer(stream));
        }
    });
    Ok(address)
}

struct Site {
    folder: PathBuf,
    base: Base,
}

/// An answer without its common headers.
struct Reply {
    status: &'static str,
    kind: &'static str,
    location: Option<String>,
    body: Vec<u8>,
}

impl Reply {
    fn text(status: &'static str) -> Self {
        Self { status, kind: "text/plain; charset=utf-8", location: None, body: status.as_bytes().to_vec() }
    }
}

impl Site {
    fn answer(&self, mut stream: TcpStream) {
        let Some((method, target)) = read_request(&stream) else { return };
        let reply = match method.as_str() {
            "GET" | "HEAD" => self.find(&target),
            _ => Reply::text("405 Method Not Allowed"),
        };
        let location = reply.location.map(|to| format!("Location: {to}\r\n")).unwrap_or_default();
        let head = format!(
            "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{location}\
             Content-Security-Policy: {CONTENT_SECURITY_POLICY}\r\nX-Content-Type-Options: nosniff\r\n\
             Referrer-Policy: no-referrer\r\nAccess-Control-Allow-Origin: *\r\n\
             Cross-Origin-Resource-Policy: cross-origin\r\nCache-Control: no-cache\r\nConnection: close\r\n\r\n",
            reply.status,
            reply.kind,
            reply.body.len(),
        );
        let body: &[u8] = if method == "HEAD" { &[] } else { &reply.body };
        // The browser may have gone away; there is nobody to tell.
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
    }

    fn find(&self, target: &str) -> Reply {
        let path = target.split(['?', '#']).next().unwrap_or_default();
        if format!("{path}/") == self.base.0 {
            let location = Some(self.base.0.clone());
            return Reply { location, ..Reply::text("301 Moved Permanently") };
        }
        let Some(inside) = path.strip_prefix(&self.base.0).and_then(decode) else {
            return Reply::text("404 Not Found");
        };
        if inside.split('/').any(|part| part == ".." || part.contains(['\\', '\0'])) {
            return Reply::text("404 Not Found");
        }
        let mut file = self.folder.join(&inside);
        if inside.is_empty() || inside.ends_with('/') {
            file.push("index.html");
        }
        // A missing file is missing: answering with the page instead is how a stale script becomes a white screen.
        match fs::read(&file) {
            Ok(body) => Reply { status: "200 OK", kind: content_type(&file), location: None, body },
            Err(_) => Reply::text("404 Not Found"),
        }
    }
}

fn read_request(stream: &TcpStream) -> Option<(String, String)> {
    stream.set_read_timeout(Some(READ_TIMEOUT)).ok()?;
    let mut reader = BufReader::new(stream.take(REQUEST_LINE_BYTES));
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    // The headers say nothing we need, but closing before they are read would reset the connection.
    let mut line = String::new();
    while reader.read_line(&mut line).ok()? > 2 {
        line.clear();
    }
    let mut words = first.split_whitespace();
    Some((words.next()?.to_owned(), words.next()?.to_owned()))
}

/// Resolves `%41`. `None` when what comes out is not UTF-8.
fn decode(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        match (*first, tail) {
            (b'%', [high, low, after @ ..]) => {
                let digits = [*high, *low];
                bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
                rest = after;
            }
            (byte, _) => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).ok()
}

fn content_type(file: &Path) -> &'static str {
    match file.extension().and_then(|end| end.to_str()).unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "wasm" => "application/wasm",
        "css" => "text/css; charset=utf-8",
        "json" | "webmanifest" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "md" | "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Serves a folder with a page, asks, and gives the whole answer.
    fn ask(base: &str, request_line: &str) -> String {
        // Tests run side by side: a folder each.
        static ASKED: AtomicUsize = AtomicUsize::new(0);
        let number = ASKED.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("chainwalk-serve-{}-{number}", std::process::id()));
        fs::create_dir_all(folder.join("d")).expect("a folder");
        fs::write(folder.join("index.html"), "the page").expect("a file");
        fs::write(folder.join("d/a b.js"), "script").expect("a file");
        let listener = listen(0).expect("a free port");
        let address = start(listener, folder, Base::parse(base).expect("a base")).expect("a server");
        let mut stream = TcpStream::connect(address).expect("a connection");
        write!(stream, "{request_line} HTTP/1.1\r\nHost: x\r\n\r\n").expect("written");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }

    #[test]
    fn files_come_with_their_type_and_the_policy() {
        let answer = ask("/a/b/", "GET /a/b/?x=1");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/html"), "{answer}");
        assert!(
            answer.contains(&format!("Content-Security-Policy: {CONTENT_SECURITY_POLICY}\r\n")),
            "{answer}"
        );
        assert!(answer.ends_with("the page"), "{answer}");
        let answer = ask("/", "GET /d/a%20b.js");
        assert!(answer.contains("text/javascript") && answer.ends_with("script"), "{answer}");
        assert!(ask("/", "HEAD /").ends_with("\r\n\r\n"));
    }

    #[test]
    fn what_is_not_there_is_not_the_page() {
        for line in
            ["GET /missing.js", "GET /../Cargo.toml", "GET /%2e%2e/Cargo.toml", "GET /%ff", "GET nonsense"]
        {
            assert!(ask("/", line).starts_with("HTTP/1.1 404"), "{line}");
        }
        assert!(ask("/a/b/", "GET /index.html").starts_with("HTTP/1.1 404"));
        assert!(ask("/a/b/", "GET /a/b").contains("Location: /a/b/\r\n"));
        assert!(ask("/", "POST /").starts_with("HTTP/1.1 405"));
    }
}
