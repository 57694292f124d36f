//! Gives the crate what WebAssembly cannot read at run time: the cases of `tests/cases`, and the digests that
//! `chainwalk-digests` printed natively (a file named by CHAINWALK_DIGESTS; none when the variable is not set).

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=../cases");
    println!("cargo::rerun-if-env-changed=CHAINWALK_DIGESTS");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));

    let native = match env::var_os("CHAINWALK_DIGESTS") {
        Some(path) => {
            println!("cargo::rerun-if-changed={}", path.display());
            fs::read_to_string(path)?
        }
        None => String::new(),
    };
    fs::write(out.join("native.txt"), native)?;

    let folder = std::path::absolute("../cases")?;
    let mut cases = Vec::new();
    if folder.is_dir() {
        collect(&folder, &mut cases)?;
    }
    cases.sort();
    let mut list = String::from("&[\n");
    for path in cases {
        let name = path.strip_prefix(&folder).expect("collected below it").display().to_string();
        writeln!(list, "    ({name:?}, include_str!({:?})),", path.display().to_string())
            .expect("writing to a String cannot fail");
    }
    list.push_str("]\n");
    fs::write(out.join("cases.rs"), list)
}

fn collect(folder: &Path, into: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, into)?;
        } else if path.extension().is_some_and(|end| end == "json") {
            into.push(path);
        }
    }
    Ok(())
}
