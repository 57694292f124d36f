//! `FIDELITY.md` says what the registries and the recorded cases say.

use std::path::Path;

#[test]
fn the_ledger_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../FIDELITY.md");
    let wanted = chainwalk_tests::fidelity::page().expect("every case reads");
    if std::env::var_os("CHAINWALK_UPDATE").is_some() {
        std::fs::write(&path, &wanted).expect("the file can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = found.lines().zip(wanted.lines()).find(|(found, wanted)| found != wanted);
    assert!(
        found == wanted,
        "FIDELITY.md is out of date, from {differs:?}; CHAINWALK_UPDATE=1 cargo test -p chainwalk-tests --test fidelity"
    );
}
