//! How large `dist/` is as it crosses the network, against the budgets of ARCHITECTURE.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::failure::{About, Failure, Result};
use crate::process::ask;
use crate::workspace::Workspace;
use crate::{tools, watch};

/// A part of the site with a limit. Sizes are after brotli at its highest level; 1 KB is 1,000 bytes.
struct Budget {
    what: &'static str,
    limit_bytes: u64,
    /// Whether a file, by its path inside `dist/`, belongs to this part.
    holds: fn(&Path) -> bool,
    /// The limit is for the sum of the files, or for each file.
    scope: Scope,
}

#[derive(PartialEq)]
enum Scope {
    Sum,
    Each,
}

/// The design wants 250 kB for the page and 500 kB for the engine. The page measured 244, the engine it begins
/// with 486. The engine with every data plane was last measured at 1,093, a quarter of its code the reader of manifests.
const BUDGETS: &[Budget] = &[
    Budget {
        what: "page: WebAssembly of the user interface",
        limit_bytes: 250_000,
        holds: |path| ends_with(path, "wasm") && !is_worker(path),
        scope: Scope::Sum,
    },
    Budget {
        what: "worker: WebAssembly of the engine a page begins with",
        limit_bytes: 500_000,
        holds: |path| ends_with(path, "wasm") && is_worker(path) && !has_planes(path),
        scope: Scope::Sum,
    },
    Budget {
        what: "worker: WebAssembly of the engine with every data plane",
        limit_bytes: 1_100_000,
        holds: |path| ends_with(path, "wasm") && has_planes(path),
        scope: Scope::Sum,
    },
    Budget {
        what: "a page readable before any WebAssembly",
        limit_bytes: 60_000,
        holds: |path| ends_with(path, "html"),
        scope: Scope::Each,
    },
    Budget {
        what: "style sheets, before any WebAssembly",
        limit_bytes: 20_000,
        holds: |path| ends_with(path, "css"),
        scope: Scope::Sum,
    },
];

/// What [`measure`] found.
pub(crate) struct Report {
    pub(crate) checks: usize,
    pub(crate) complaints: Vec<String>,
}

/// Prints the table of sizes and compares it with the budgets.
pub(crate) fn measure(workspace: &Workspace) -> Result<Report> {
    tools::node(workspace)?;
    let dist = workspace.dist();
    let mut report = Report { checks: 0, complaints: Vec::new() };
    println!("{:<44} {:>9} {:>9} {:>9}", "dist/, kB", "raw", "brotli", "limit");
    for budget in BUDGETS {
        let mut total = 0;
        for file in watch::files_under(&dist, &[])? {
            let name = file.strip_prefix(&dist).unwrap_or(&file);
            if !(budget.holds)(name) {
                continue;
            }
            let raw_bytes = fs::metadata(&file).about(file.display())?.len();
            let bytes = brotli_bytes(&file)?;
            let limit = if budget.scope == Scope::Each { kilo(budget.limit_bytes) } else { String::new() };
            println!("  {:<42} {:>9} {:>9} {:>9}", name.display(), kilo(raw_bytes), kilo(bytes), limit);
            if budget.scope == Scope::Each {
                report.check(budget, &name.display().to_string(), bytes);
            }
            total += bytes;
        }
        if budget.scope == Scope::Sum {
            println!("{:<44} {:>9} {:>9} {:>9}", budget.what, "", kilo(total), kilo(budget.limit_bytes));
            report.check(budget, budget.what, total);
        }
    }
    Ok(report)
}

impl Report {
    fn check(&mut self, budget: &Budget, name: &str, bytes: u64) {
        self.checks += 1;
        if bytes > budget.limit_bytes {
            let (size, limit) = (kilo(bytes), kilo(budget.limit_bytes));
            self.complaints.push(format!("{name}: {size} kB after brotli, the budget is {limit} kB"));
        }
    }
}

/// Node.js is here for wasm-opt already, and carries brotli: no compressor has to be compiled.
fn brotli_bytes(file: &Path) -> Result<u64> {
    const PROGRAM: &str = "const z=require('zlib'),b=require('fs').readFileSync(process.argv[1]);console.log(z.brotliCompressSync(b).length)";
    ask(Command::new("node").args(["-e", PROGRAM]).arg(file))
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| Failure::new(format!("node could not compress {}", file.display())))
}

fn kilo(bytes: u64) -> String {
    format!("{}.{}", bytes / 1000, bytes % 1000 / 100)
}

fn ends_with(path: &Path, end: &str) -> bool {
    path.extension().is_some_and(|extension| extension == end)
}

fn is_worker(path: &Path) -> bool {
    path.to_string_lossy().contains("worker")
}

fn has_planes(path: &Path) -> bool {
    path.to_string_lossy().contains("worker-planes")
}
