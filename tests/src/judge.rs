//! Judges a kernel's run of a case: whether the emulator can give the same answers. Does not own what counts as the
//! same (`compare`).

use crate::case::{CaseFile, Run};
use crate::compare::{self, Difference};
use crate::emulator::{self, Refused};

/// Seeds that are tried: one answer in ten thousand is not found among so many if half of all draws give it, nor
/// one in a hundred if a twentieth does.
const SEEDS: u64 = 96;

/// Every difference; none if the emulator gives the kernel's answers with another seed.
///
/// A port that NAT draws may fall on either side of what a rule names (`--dport 1024:30080`), and the kernel drew
/// one of its own. Everything else, to the last counter, still has to be equal for that one seed.
pub fn differences(file: &CaseFile, kernel: &Run) -> Result<Vec<Difference>, Refused> {
    let found = compare::runs(file, kernel, &emulator::run(file)?);
    if found.is_empty() {
        return Ok(found);
    }
    let mut other = file.clone();
    for seed in 1..=SEEDS {
        other.case.seed = file.case.seed.wrapping_add(seed);
        if compare::runs(file, kernel, &emulator::run(&other)?).is_empty() {
            return Ok(Vec::new());
        }
    }
    Ok(found)
}
