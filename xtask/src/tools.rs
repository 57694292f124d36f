//! The tools that a build or a test needs: where each lives, how to see that it is there, how to get it.
//!
//! Rust tools and npm packages go into the cache, in folders named after their version, so an upgrade never meets an
//! old copy. Debian packages are installed only by root; anyone else gets the command to run.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{About, Failure, Result};
use crate::process::{ask, capture, must};
use crate::workspace::Workspace;

pub(crate) const WASM_TARGET: &str = "wasm32-unknown-unknown";
/// 0.22 needs a newer Rust than the one this workspace states.
const TRUNK_VERSION: &str = "0.21.14";

/// A program that Debian packages, with the package that brings it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packaged {
    program: &'static str,
    package: &'static str,
}

const NODE: &[Packaged] =
    &[Packaged { program: "node", package: "nodejs" }, Packaged { program: "npm", package: "npm" }];
/// Drives pages.
const BROWSER: &[Packaged] = &[
    Packaged { program: "chromium", package: "chromium" },
    Packaged { program: "chromedriver", package: "chromium-driver" },
];
/// Asks this machine's kernel.
const NETFILTER: &[Packaged] = &[
    Packaged { program: "ip", package: "iproute2" },
    Packaged { program: "iptables-legacy-save", package: "iptables" },
    Packaged { program: "nft", package: "nftables" },
    Packaged { program: "conntrack", package: "conntrack" },
    Packaged { program: "ipset", package: "ipset" },
];

/// rustfmt or clippy.
pub(crate) fn rust_component(workspace: &Workspace, name: &str) -> Result<()> {
    let program = if name == "rustfmt" { "rustfmt" } else { "cargo-clippy" };
    // The proxies of rustup exist for absent components too, so ask for the version.
    if ask(Command::new(program).arg("--version")).is_some() {
        return Ok(());
    }
    rustup(workspace, &format!("Rust component {name}"), &["component", "add", name])
}

/// The standard library for the browser's target.
pub(crate) fn wasm_target(workspace: &Workspace) -> Result<()> {
    let folder = ask(Command::new("rustc").args(["--print", "target-libdir", "--target", WASM_TARGET]));
    if folder.is_some_and(|folder| Path::new(&folder).is_dir()) {
        return Ok(());
    }
    rustup(workspace, &format!("Rust target {WASM_TARGET}"), &["target", "add", WASM_TARGET])
}

/// The bindings generator and test runner, of exactly the version of the library in `Cargo.lock`.
pub(crate) fn wasm_bindgen(workspace: &Workspace) -> Result<PathBuf> {
    let version = workspace.locked_version("wasm-bindgen")?;
    // Without --locked: the lock file in that package names a crate version that mirrors may lack.
    let install =
        Install { package: "wasm-bindgen-cli", program: "wasm-bindgen", flags: &[], opt_level: "1" };
    cargo_install(workspace, &install, &version)
}

/// The builder of the browser application.
pub(crate) fn trunk(workspace: &Workspace) -> Result<PathBuf> {
    // Without its default features it cannot download, which is what we want: it gets every tool from us.
    let flags = &["--locked", "--no-default-features"];
    let install = Install { package: "trunk", program: "trunk", flags, opt_level: "0" };
    cargo_install(workspace, &install, TRUNK_VERSION)
}

/// The packages of `xtask/npm` (wasm-opt, the browser driver, the accessibility checker). Gives `node_modules`.
pub(crate) fn npm_packages(workspace: &Workspace) -> Result<PathBuf> {
    let source = workspace.root().join("xtask/npm");
    let lock = fs::read(source.join("package-lock.json")).about("xtask/npm/package-lock.json")?;
    let folder = workspace.cache().join(format!("npm-{:016x}", fnv1a(&lock)));
    let modules = folder.join("node_modules");
    // Written by npm at the end of an install, so an interrupted one does not count.
    if modules.join(".package-lock.json").is_file() {
        return Ok(modules);
    }
    packaged(workspace, NODE)?;
    fs::create_dir_all(&folder).about(folder.display())?;
    for name in ["package.json", "package-lock.json"] {
        fs::copy(source.join(name), folder.join(name)).about(name)?;
    }
    let mut command = Command::new("npm");
    command.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(&folder);
    if !capture(workspace, "npm packages (wasm-opt, playwright-core, axe-core)", "npm", &mut command)?.success
    {
        return Err(Failure::new("the npm packages could not be installed (no network?)")
            .hint("npm ci --ignore-scripts   in a copy of xtask/npm; see the log above"));
    }
    Ok(modules)
}

/// Chromium and its driver.
pub(crate) fn browser(workspace: &Workspace) -> Result<()> {
    packaged(workspace, BROWSER)
}

/// Node.js alone.
pub(crate) fn node(workspace: &Workspace) -> Result<()> {
    packaged(workspace, &NODE[..1])
}

/// The tools that ask the kernel.
pub(crate) fn netfilter(workspace: &Workspace) -> Result<()> {
    packaged(workspace, NETFILTER)
}

/// `PATH` with these folders in front.
pub(crate) fn path_with(folders: &[&Path]) -> Result<OsString> {
    let current = env::var_os("PATH").unwrap_or_default();
    env::join_paths(folders.iter().map(|path| path.to_path_buf()).chain(env::split_paths(&current)))
        .map_err(|error| Failure::new(format!("PATH: {error}")))
}

/// The full path of a program. The system folders are searched too: Debian keeps them from ordinary users.
pub(crate) fn locate(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .chain(["/usr/sbin", "/sbin"].map(PathBuf::from))
        .map(|folder| folder.join(program))
        .find(|candidate| candidate.is_file())
}

pub(crate) fn is_root() -> bool {
    ask(Command::new("id").arg("-u")).as_deref() == Some("0")
}

fn rustup(workspace: &Workspace, what: &str, arguments: &[&str]) -> Result<()> {
    let hint = format!("rustup {}", arguments.join(" "));
    if locate("rustup").is_none() {
        return Err(Failure::new(format!("{what} is missing, and there is no rustup to add it")).hint(hint));
    }
    let added = capture(workspace, what, "rustup", Command::new("rustup").args(arguments))?;
    if added.success {
        Ok(())
    } else {
        Err(Failure::new(format!("{what} could not be added (no network?)")).hint(hint))
    }
}

/// A program that cargo installs.
struct Install {
    package: &'static str,
    program: &'static str,
    flags: &'static [&'static str],
    /// These programs run for seconds and compile for minutes, so we trade the former for the latter.
    opt_level: &'static str,
}

fn cargo_install(workspace: &Workspace, install: &Install, version: &str) -> Result<PathBuf> {
    let Install { package, program, flags, opt_level } = install;
    let folder = workspace.cache().join(format!("{package}-{version}"));
    let bin = folder.join("bin");
    if bin.join(program).is_file() {
        return Ok(bin);
    }
    let mut command = Command::new("cargo");
    command.args(["install", package, "--version", version, "--root"]).arg(&folder).args(*flags);
    // It stays after an interruption, so that the next attempt goes on where this one stopped.
    let target = workspace.cache_created()?.join("build");
    command.env("CARGO_TARGET_DIR", &target).current_dir(workspace.cache());
    command.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", opt_level).env("CARGO_PROFILE_RELEASE_LTO", "off");
    command.env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
    let title = format!("{package} {version} (a few minutes, once)");
    if capture(workspace, &title, package, &mut command)?.success {
        fs::remove_dir_all(&target).about(target.display())?;
        return Ok(bin);
    }
    Err(Failure::new(format!("{package} {version} could not be installed (no network?)")).hint(format!(
        "cargo install {package} --version {version} {} --root {}",
        flags.join(" "),
        folder.display()
    )))
}

fn packaged(workspace: &Workspace, wanted: &[Packaged]) -> Result<()> {
    let missing: Vec<&str> = wanted
        .iter()
        .filter(|packaged| locate(packaged.program).is_none())
        .map(|packaged| packaged.package)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names = missing.join(" ");
    let hint = format!("sudo apt-get update && sudo apt-get install -y --no-install-recommends {names}");
    if locate("apt-get").is_none() || !is_root() {
        return Err(Failure::new(format!("missing: {names}; installing it needs root")).hint(hint));
    }
    let apt = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        command
    };
    let unreachable =
        |_| Failure::new(format!("missing: {names}; could not be installed")).hint(hint.clone());
    must(workspace, "apt-get update", "apt-update", &mut apt(&["update"])).map_err(unreachable)?;
    let mut arguments = vec!["install", "-y", "--no-install-recommends"];
    arguments.extend(&missing);
    must(workspace, &format!("Debian packages: {names}"), "apt-install", &mut apt(&arguments))
        .map_err(unreachable)?;
    Ok(())
}

/// A name for a folder that changes with its content; not a defence against anyone.
pub(crate) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Major version of Node.js in Debian 12, the oldest release that the tools of xtask are installed on.
    const DEBIAN_NODE_MAJOR: u32 = 18;

    #[test]
    fn npm_packages_run_on_debians_node() {
        let lock =
            fs::read(Workspace::find().expect("a workspace").root().join("xtask/npm/package-lock.json"));
        let lock: serde_json::Value = serde_json::from_slice(&lock.expect("the lock file")).expect("JSON");
        let packages = lock["packages"].as_object().expect("a list of packages");
        let asking: Vec<(&String, &str)> = packages
            .iter()
            .filter_map(|(name, package)| Some((name, package["engines"]["node"].as_str()?)))
            .collect();
        assert!(!asking.is_empty(), "no package says which Node.js it needs");
        for (name, wanted) in asking {
            let least = wanted.strip_prefix(">=").and_then(|version| version.split('.').next()?.parse().ok());
            let least: u32 =
                least.unwrap_or_else(|| panic!("{name} wants Node.js {wanted:?}: not understood"));
            assert!(
                least <= DEBIAN_NODE_MAJOR,
                "{name} wants Node.js {wanted}, Debian 12 has {DEBIAN_NODE_MAJOR}"
            );
        }
    }
}
