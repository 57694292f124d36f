//! The case folder: complete, recorded, and confirmed by this machine's kernel where it can be asked.

use std::path::PathBuf;
use std::sync::Mutex;

use chainwalk_tests::emulator::Refused;
use chainwalk_tests::{case, compare, emulator, families, kernel};

/// Labs that run side by side; more would only wait for the processors.
const WORKERS: usize = 2;

fn files() -> Vec<PathBuf> {
    case::list(&case::folder()).expect("the case folder is part of the crate")
}

#[test]
fn every_hand_written_case_is_stored_and_recorded() {
    let mut stale = Vec::new();
    for named in families::all() {
        let path = case::folder().join(format!("{}.json", named.path));
        match case::load(&path) {
            Ok(file) if file.recorded.is_some() => {
                if (&file.purpose, &file.case, &file.links)
                    != (&named.file.purpose, &named.file.case, &named.file.links)
                {
                    stale.push(named.path);
                }
            }
            _ => stale.push(named.path),
        }
    }
    assert!(stale.is_empty(), "run `cargo run -p chainwalk-tests --bin conformance -- write`: {stale:?}");
}

#[test]
fn the_emulator_gives_the_recorded_answers() {
    let (mut same, mut refused, mut problems) = (0, Vec::new(), Vec::new());
    for path in files() {
        let file = case::load(&path).expect("a stored case reads");
        let recorded = file.recorded.as_ref().expect("a stored case is recorded");
        match emulator::run(&file) {
            Ok(run) => {
                let found = compare::runs(&file, &recorded.run, &run);
                same += usize::from(found.is_empty());
                problems
                    .extend(found.into_iter().map(|difference| format!("{}: {difference}", path.display())));
            }
            Err(Refused::NotEmulated(what)) => refused.push(format!("{}: {what}", path.display())),
            Err(Refused::Failed(why)) => problems.push(format!("{}: {why}", path.display())),
        }
    }
    println!("{same} cases agree, {} are not emulated:\n{}", refused.len(), refused.join("\n"));
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Asks up to three times until the answers agree: a busy machine stretches pauses, and the kernel draws ports at
/// random. What really differs, differs every time.
fn settle<T>(mut ask: impl FnMut() -> Vec<T>) -> Vec<T> {
    let mut found = ask();
    for _ in 0..2 {
        if found.is_empty() {
            break;
        }
        found = ask();
    }
    found
}

#[test]
fn this_kernel_still_gives_the_recorded_answers() {
    if let Some(reason) = kernel::unavailable() {
        println!("skipped: {reason}");
        return;
    }
    let files: Vec<PathBuf> = files();
    let recorded_elsewhere = |file: &case::CaseFile| {
        file.recorded.as_ref().is_none_or(|recorded| recorded.kernel != kernel::release())
    };
    let next = Mutex::new(files.iter());
    let problems = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                loop {
                    let Some(path) = next.lock().expect("no worker panics").next() else { return };
                    let file = case::load(path).expect("a stored case reads");
                    if recorded_elsewhere(&file) {
                        continue;
                    }
                    let recorded = file.recorded.as_ref().expect("checked above");
                    let found = settle(|| match kernel::run(&file) {
                        Ok(run) => compare::runs(&file, &recorded.run, &run),
                        Err(error) => panic!("{}: {error}", path.display()),
                    });
                    problems.lock().expect("no worker panics").extend(
                        found.into_iter().map(|difference| format!("{}: {difference}", path.display())),
                    );
                }
            });
        }
    });
    let problems = problems.into_inner().expect("no worker panics");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    println!("{} cases confirmed by kernel {}", files.len(), kernel::release());
}
