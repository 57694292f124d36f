//! `cargo xtask conformance --ipvs`: asks a kernel that knows IPVS, where this machine's does not.
//!
//! A Debian kernel is downloaded as a package and booted under QEMU without any device but a serial line; its whole system
//! is an archive in memory with busybox, the network tools of this machine and the conformance program, which compares the
//! cases of `tests/cases/ipvs` as it does on the host. Each case has to be answered for and to agree. With `--record` the
//! answers are stored. Needs no root and no KVM: emulated, the guest takes a minute.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::failure::{About, Failure, Result};
use crate::process::{must, say};
use crate::workspace::Workspace;

use cpio::{Cpio, inside};

mod cpio;

/// The kernel that the stored cases were recorded on.
const RELEASE: &str = "6.12.117+deb12-cloud-amd64";
const TOOLS: [&str; 13] = [
    "ip",
    "ipvsadm",
    "ipset",
    "conntrack",
    "nft",
    "iptables-legacy",
    "iptables-legacy-restore",
    "iptables-legacy-save",
    "iptables-nft",
    "iptables-nft-restore",
    "iptables-nft-save",
    "ip6tables-legacy",
    "ip6tables-legacy-restore",
];
const INSTALL: &str = "apt-get install -y --no-install-recommends qemu-system-x86 busybox-static xz-utils ipvsadm ipset \
                       conntrack nftables iptables iproute2";
/// Extensions of iptables, which it loads by name.
const XTABLES: &str = "/usr/lib/x86_64-linux-gnu/xtables";
/// Parts of the module tree that networking needs.
const MODULES: [&str; 5] = ["net", "lib", "crypto", "drivers/net/veth", "drivers/net/dummy"];
/// What the guest may take in all, in seconds: emulated, it takes 40 for 40 cases, and
/// 400 to record them. Behind it `timeout` ends QEMU.
const GUEST_SECONDS: &str = "1200";
/// Lines of the serial console between which the answers stand.
const BEGIN: &str = "===BEGIN";
const FILES: &str = "===FILES";
const END: &str = "===END";

const INIT: &str = r#"#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/usr/sbin:/usr/bin:/bin:/sbin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
echo 1 > /proc/sys/kernel/printk
mkdir -p /run /tmp /sbin; ln -s /bin/modprobe /sbin/modprobe
depmod
for module in ip_vs ip_vs_rr ip_vs_wrr ip_vs_lc ip_vs_wlc ip_vs_lblc ip_vs_lblcr ip_vs_dh ip_vs_sh ip_vs_sed ip_vs_nq ip_vs_fo \
  ip_vs_ovf ip_vs_mh ip_vs_twos veth dummy ip_tables iptable_filter iptable_mangle iptable_nat iptable_raw ip6_tables \
  ip6table_filter xt_mark xt_MASQUERADE xt_conntrack xt_set xt_addrtype ipt_REJECT nf_conntrack_netlink ip_set_hash_ip \
  ip_set_hash_ipport xt_comment nf_tables nft_compat af_packet
do modprobe $module; done 2>/dev/null
/usr/sbin/ip link set lo up
cd /work
echo ===BEGIN
echo Linux $(uname -r)
for case in cases/*.json; do timeout 120 ./conformance $case || echo $case: failed with $?; done 2>&1
RECORD
echo ===END
poweroff -f
"#;
const RECORD: &str = "for case in cases/*.json; do timeout 120 ./conformance record $case; done 2>&1\necho ===FILES; tar c cases | gzip | \
                      base64; echo ===FILES";

/// Boots the guest and shows what differs.
pub(crate) fn run(workspace: &Workspace, record: bool) -> Result<ExitCode> {
    check_tools()?;
    let kernel = kernel(workspace)?;
    let build = ["build", "--profile", "fast", "-p", "chainwalk-tests", "--bin", "conformance"];
    must(
        workspace,
        "build the conformance program",
        "guest-build",
        Command::new("cargo").args(build).current_dir(workspace.root()),
    )?;
    let cases = cases(workspace)?;
    let image = workspace.state().join("guest.cpio");
    fs::write(&image, archive(workspace, &kernel, &cases, record)?).about(image.display())?;
    let mut qemu = Command::new("timeout");
    qemu.args([GUEST_SECONDS, "qemu-system-x86_64", "-cpu", "max", "-m", "1024", "-nographic", "-no-reboot"])
        .args(["-net", "none", "-append", "console=ttyS0 quiet panic=-1", "-kernel"])
        .arg(kernel.join(format!("boot/vmlinuz-{RELEASE}")))
        .arg("-initrd")
        .arg(&image);
    let ran = must(workspace, &format!("Linux {RELEASE} under QEMU"), "guest", &mut qemu);
    fs::remove_file(&image).about(image.display())?;
    let ran = ran?;
    let inside =
        ran.lines.iter().map(|line| line.trim_end()).skip_while(|line| !line.ends_with(BEGIN)).skip(1);
    let inside: Vec<&str> = inside.take_while(|line| *line != END).collect();
    if inside.is_empty() {
        return Err(Failure::new("the guest did not come up").hint("less target/xtask/guest.log"));
    }
    let files = inside.iter().position(|line| *line == FILES).unwrap_or(inside.len());
    let said = &inside[..files];
    said.iter().for_each(|line| println!("{line}"));
    let Account { agree, packets } = account(said);
    println!("{agree} of {} cases agree, {packets} packets", cases.len());
    if record {
        let encoded: Vec<&str> = inside[files..].iter().copied().filter(|line| *line != FILES).collect();
        store(workspace, &encoded.join("\n"))?;
    }
    Ok(if agree == cases.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The stored cases of IPVS.
fn cases(workspace: &Workspace) -> Result<Vec<PathBuf>> {
    let mut cases = files_below(&workspace.root().join("tests/cases/ipvs"))?;
    cases.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
    if cases.is_empty() { Err(Failure::new("tests/cases/ipvs holds no case")) } else { Ok(cases) }
}

/// What the guest's answers come to.
#[derive(Debug, PartialEq, Eq)]
struct Account {
    /// Cases without a difference.
    agree: usize,
    /// Packets in the cases that were answered for.
    packets: usize,
}

/// Reads `CASE: N differences in P packets`; what does not read so agrees with nothing.
fn account(said: &[&str]) -> Account {
    let counted = |line: &&str| {
        let (_, counts) = line.rsplit_once(": ")?;
        let (differences, packets) = counts.strip_suffix(" packets")?.split_once(" differences in ")?;
        Some((differences.parse::<usize>().ok()?, packets.parse::<usize>().ok()?))
    };
    let cases: Vec<(usize, usize)> = said.iter().filter_map(counted).collect();
    Account {
        agree: cases.iter().filter(|(differences, _)| *differences == 0).count(),
        packets: cases.iter().map(|(_, packets)| packets).sum(),
    }
}

fn check_tools() -> Result<()> {
    let known = |tool: &&str| find(tool).is_some();
    let outside = ["qemu-system-x86_64", "busybox", "xz", "dpkg-deb", "apt-get", "ldd", "timeout"];
    match outside.iter().chain(&TOOLS).find(|tool| !known(tool)) {
        None => Ok(()),
        Some(tool) => Err(Failure::new(format!("{tool} is not installed")).hint(INSTALL)),
    }
}

/// Where a program lies; links are followed.
fn find(tool: &str) -> Option<PathBuf> {
    let folders = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];
    folders.iter().map(|folder| Path::new(folder).join(tool)).find(|path| path.exists())
}

/// The unpacked kernel package in the cache.
fn kernel(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.cache_created()?.join(format!("linux-{RELEASE}"));
    if folder.exists() {
        return Ok(folder);
    }
    let package = format!("linux-image-{RELEASE}");
    // Under its name it is complete.
    let fetch = format!(
        "rm -rf {package}.part && apt-get download {package} && dpkg-deb -x {package}_*.deb {package}.part && \
         rm {package}_*.deb && mv {package}.part {}",
        folder.display()
    );
    must(
        workspace,
        &format!("download {package}"),
        "guest-kernel",
        Command::new("sh").args(["-c", &fetch]).current_dir(workspace.cache()),
    )
    .map_err(|failure| {
        failure.hint(format!("apt-get update && apt-cache search linux-image-6.12 # wanted: {package}"))
    })?;
    Ok(folder)
}

/// The guest's whole system.
fn archive(workspace: &Workspace, kernel: &Path, cases: &[PathBuf], record: bool) -> Result<Vec<u8>> {
    let mut cpio = Cpio::default();
    let init = INIT.replace("RECORD\n", &if record { format!("{RECORD}\n") } else { String::new() });
    for folder in ["proc", "sys", "dev", "work/cases", "tmp"] {
        cpio.folder(folder);
    }
    cpio.file("init", 0o755, init.as_bytes());
    for tool in TOOLS.iter().chain(&["busybox"]) {
        let path =
            find(tool).ok_or_else(|| Failure::new(format!("{tool} is not installed")).hint(INSTALL))?;
        let place = if *tool == "busybox" { "bin/busybox".to_owned() } else { format!("usr/sbin/{tool}") };
        cpio.program(&path, &place)?;
    }
    for path in files_below(Path::new(XTABLES))? {
        cpio.program(&path, &inside(&path))?;
    }
    let program = workspace.root().join("target/fast/conformance");
    cpio.program(&program, "work/conformance")?;
    for path in cases {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        cpio.file(&format!("work/cases/{name}"), 0o644, &fs::read(path).about(path.display())?);
    }
    for name in ["protocols", "services"] {
        cpio.file(&format!("etc/{name}"), 0o644, &fs::read(Path::new("/etc").join(name)).unwrap_or_default());
    }
    let tree = kernel.join("lib/modules").join(RELEASE);
    for part in MODULES {
        for path in files_below(&tree.join("kernel").join(part))?.into_iter().chain(single(&tree, part)) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let Some(stem) = name.strip_suffix(".xz").or(Some(&name)).filter(|n| n.ends_with(".ko")) else {
                continue;
            };
            let bytes = if name.ends_with(".xz") {
                unpacked(&path)?
            } else {
                fs::read(&path).about(path.display())?
            };
            cpio.file(&format!("lib/modules/{RELEASE}/{stem}"), 0o644, &bytes);
        }
    }
    Ok(cpio.finish())
}

/// A module that is named without its ending.
fn single(tree: &Path, part: &str) -> Option<PathBuf> {
    [".ko", ".ko.xz"]
        .iter()
        .map(|ending| tree.join("kernel").join(format!("{part}{ending}")))
        .find(|path| path.exists())
}

fn unpacked(path: &Path) -> Result<Vec<u8>> {
    let output = Command::new("xz").arg("-dc").arg(path).output().about("xz")?;
    Ok(output.stdout)
}

/// Files of a folder and those below it, sorted; none when it is not there.
fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let (mut found, mut pending) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(next) = pending.pop() {
        let Ok(entries) = fs::read_dir(&next) else { continue };
        for entry in entries {
            let path = entry.about(next.display())?.path();
            if path.is_dir() { pending.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    Ok(found)
}

/// Unpacks what the guest sent over the serial line into `tests/cases/ipvs`.
fn store(workspace: &Workspace, encoded: &str) -> Result<()> {
    let sent = workspace.state().join("guest-cases.b64");
    fs::write(&sent, encoded).about(sent.display())?;
    let line = format!("base64 -d {} | tar xz --strip-components=1 -C tests/cases/ipvs", sent.display());
    must(
        workspace,
        "store the answers",
        "guest-store",
        Command::new("sh").args(["-c", &line]).current_dir(workspace.root()),
    )?;
    say("recorded: look at the difference before you keep it");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_case_that_was_compared_agrees() {
        let said = [
            "Linux 6.12",
            "cases/a.json: 0 differences in 3 packets",
            "cases/b.json: 1 differences in 4 packets",
            "  packet 2: 0 differences",
            "cases/c.json: cannot run ipvsadm",
            "cases/c.json: failed with 1",
        ];
        assert_eq!(account(&said), Account { agree: 1, packets: 7 });
    }
}
