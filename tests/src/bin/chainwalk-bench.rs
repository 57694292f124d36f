//! `chainwalk-bench`: measures the budgets of the design. `cargo xtask bench` builds and runs it.

use std::process::ExitCode;

use chainwalk_portable::dump::Dump;
use chainwalk_portable::rows::rows;
use chainwalk_tests::bench::{kernel, row::Row};

const HELP: &str = "\
Measures the budgets of the design.

usage: chainwalk-bench                             measure every row, and the kernel beside them
       chainwalk-bench only WORDS                  measure the engine's rows that contain WORDS
       chainwalk-bench dump SERVICES ENDPOINTS     print a kube-proxy node's iptables-save of that size
";

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
        [] => measure("", true),
        ["only", words] => measure(words, false),
        _ => {
            print!("{HELP}");
            ExitCode::from(2)
        }
    }
}

/// Prints the table; fails when a budget is exceeded.
#[expect(clippy::print_stdout, reason = "a command line talks to its user")]
fn measure(only: &str, ask_kernel: bool) -> ExitCode {
    println!("{:<66} {:>10} {:>10} {:>6}", "", "limit", "median", "ratio");
    let mut kept = true;
    for row in rows().iter().filter(|row| row.what.contains(only)) {
        let row = Row::engine(row);
        println!("{row}");
        kept &= row.kept();
    }
    if ask_kernel {
        match kernel::rows(&[1, 5_000, 20_000]) {
            Ok(rows) => rows.iter().for_each(|row| println!("{row}")),
            Err(error) => println!("the kernel was not asked: {error}"),
        }
    }
    if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
