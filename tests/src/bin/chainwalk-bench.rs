//! `chainwalk-bench`: measures the budgets of the design. `cargo xtask bench` builds and runs it.

use std::process::ExitCode;

use chainwalk_portable::dump::Dump;
use chainwalk_portable::rows;
use chainwalk_tests::bench::browser::Browser;
use chainwalk_tests::bench::{kernel, row::Row};

const HELP: &str = "\
Measures the budgets of the design.

usage: chainwalk-bench                             measure every row natively, and the kernel beside them
       chainwalk-bench --browser FILE              the same beside what tests/browser/bench.mjs printed
       chainwalk-bench only WORDS                  measure the engine's rows that contain WORDS
       chainwalk-bench dump SERVICES ENDPOINTS     print a kube-proxy node's iptables-save of that size
";

/// Rules in the kernel's rows.
const KERNEL_RULES: [u32; 3] = [1, 5_000, 20_000];

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line talks to its user")]
fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["dump", services, endpoints] => match (services.parse(), endpoints.parse()) {
            (Ok(services), Ok(endpoints)) => {
                print!("{}", Dump { services, endpoints }.text());
                ExitCode::SUCCESS
            }
            _ => {
                eprintln!("chainwalk-bench: SERVICES and ENDPOINTS are numbers");
                ExitCode::from(2)
            }
        },
        [] => measure_all(&Browser::default()),
        ["--browser", file] => match std::fs::read_to_string(file) {
            Ok(text) => measure_all(&Browser::read(&text)),
            Err(error) => {
                eprintln!("chainwalk-bench: {file}: {error}");
                ExitCode::from(2)
            }
        },
        ["only", words] => exit(measure(words, &Browser::default())),
        _ => {
            print!("{HELP}");
            ExitCode::from(2)
        }
    }
}

/// Every table; fails when a budget is exceeded.
#[expect(clippy::print_stdout, reason = "a command line talks to its user")]
fn measure_all(browser: &Browser) -> ExitCode {
    let megabytes =
        |bytes: Option<u64>| bytes.map_or("-".to_owned(), |bytes| format!("{} MB", bytes / 1_000_000));
    // First, while the memory of the rows is not yet there to be used again.
    let native = resident().map(|_| rows::million(|| resident().unwrap_or_default()));
    let mut kept = measure("", browser);
    println!(
        "{:<64} {:>8} {:>8} {:>5} {:>8}",
        "conntrack: memory for a million connections",
        "-",
        megabytes(native),
        "-",
        megabytes(browser.memory)
    );
    if !browser.page.is_empty() {
        println!("\n{:<64} {:>8} {:>8}", "the page, in Chromium", "limit", "median");
        browser.page.iter().for_each(|row| println!("{row}"));
        kept &= browser.page.iter().all(Row::kept);
    }
    println!("\n{:<64} {:>8} {:>8}", "this machine's kernel, wall time", "", "median");
    match kernel::rows(&KERNEL_RULES) {
        Ok(rows) => rows.iter().for_each(|row| println!("{row}")),
        Err(error) => println!("the kernel was not asked: {error}"),
    }
    exit(kept)
}

/// The engine's rows that contain `only`; whether all budgets are kept.
#[expect(clippy::print_stdout, reason = "a command line talks to its user")]
fn measure(only: &str, browser: &Browser) -> bool {
    println!("{}", Row::heading());
    let mut kept = true;
    for row in rows::rows().iter().filter(|row| row.what.contains(only)) {
        let row = Row { wasm: browser.wasm(row.what), ..Row::engine(row) };
        println!("{row}");
        kept &= row.kept();
    }
    kept
}

/// Bytes of memory that the program holds.
fn resident() -> Option<u64> {
    const PAGE_BYTES: u64 = 4096;
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    text.split(' ').nth(1)?.parse::<u64>().ok().map(|pages| pages * PAGE_BYTES)
}

fn exit(kept: bool) -> ExitCode {
    if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
