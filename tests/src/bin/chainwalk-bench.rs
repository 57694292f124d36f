//! `chainwalk-bench`: measures the budgets of the design. `cargo xtask bench` builds and runs it.

use std::process::ExitCode;

use chainwalk_tests::bench::dump::Dump;

const HELP: &str = "\
Measures the budgets of the design.

usage: chainwalk-bench                             measure every row
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
        _ => {
            print!("{HELP}");
            ExitCode::from(2)
        }
    }
}
