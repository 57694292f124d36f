//! `cargo xtask conformance --ipvs`: asks a kernel that knows IPVS, where this machine's does not.
//!
//! A Debian kernel is downloaded as a package and booted under QEMU without any device but a serial line; its whole system
//! is an archive in memory with busybox, the network tools of this machine and the conformance program, which compares the
//! cases of `tests/cases/ipvs` as it does on the host. With `--record` it stores the answers. Needs no root and no KVM.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::failure::{About, Failure, Result};
use crate::process::{ask, must, say};
use crate::workspace::Workspace;

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
for case in cases/*.json; do ./conformance $case; done 2>&1
RECORD
echo ===END
poweroff -f
"#;
const RECORD: &str = "for case in cases/*.json; do ./conformance record $case; done 2>&1\necho ===FILES; tar c cases | gzip | \
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
    let image = workspace.state().join("guest.cpio");
    fs::write(&image, archive(workspace, &kernel, record)?).about(image.display())?;
    let mut qemu = Command::new("qemu-system-x86_64");
    qemu.args([
        "-cpu",
        "max",
        "-m",
        "1024",
        "-nographic",
        "-no-reboot",
        "-net",
        "none",
        "-append",
        "console=ttyS0 quiet panic=-1",
    ])
    .arg("-kernel")
    .arg(kernel.join(format!("boot/vmlinuz-{RELEASE}")))
    .arg("-initrd")
    .arg(&image);
    let ran = must(workspace, &format!("Linux {RELEASE} under QEMU"), "guest", &mut qemu)?;
    let inside =
        ran.lines.iter().map(|line| line.trim_end()).skip_while(|line| !line.ends_with(BEGIN)).skip(1);
    let inside: Vec<&str> = inside.take_while(|line| *line != END).collect();
    if inside.is_empty() {
        return Err(Failure::new("the guest did not come up").hint("less target/xtask/guest.log"));
    }
    let files = inside.iter().position(|line| *line == FILES).unwrap_or(inside.len());
    inside[..files].iter().for_each(|line| println!("{line}"));
    if record {
        let encoded: Vec<&str> = inside[files..].iter().copied().filter(|line| *line != FILES).collect();
        store(workspace, &encoded.join("\n"))?;
    }
    let agrees =
        inside[..files].iter().all(|line| !line.contains("differences") || line.ends_with(": 0 differences"));
    Ok(if agrees { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn check_tools() -> Result<()> {
    let known = |tool: &&str| find(tool).is_some();
    let outside = ["qemu-system-x86_64", "busybox", "xz", "dpkg-deb", "apt-get", "ldd"];
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
    if folder.join("boot").exists() {
        return Ok(folder);
    }
    let package = format!("linux-image-{RELEASE}");
    let fetch = format!(
        "apt-get download {package} && dpkg-deb -x {package}_*.deb {} && rm {package}_*.deb",
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
fn archive(workspace: &Workspace, kernel: &Path, record: bool) -> Result<Vec<u8>> {
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
    for path in files_below(&workspace.root().join("tests/cases/ipvs"))? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        cpio.file(&format!("work/cases/{name}"), 0o644, &fs::read(&path).about(path.display())?);
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

/// An absolute path as it is named in the archive.
fn inside(path: &Path) -> String {
    path.to_string_lossy().trim_start_matches('/').to_owned()
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

/// An archive in the "newc" form that Linux unpacks into its first file system.
#[derive(Default)]
struct Cpio {
    bytes: Vec<u8>,
    made: Vec<String>,
}

impl Cpio {
    fn folder(&mut self, path: &str) {
        if path.is_empty() || self.made.iter().any(|known| known == path) {
            return;
        }
        if let Some((parent, _)) = path.rsplit_once('/') {
            self.folder(parent);
        }
        self.made.push(path.to_owned());
        self.entry(path, 0o040_755, &[]);
    }

    fn file(&mut self, path: &str, mode: u32, content: &[u8]) {
        if self.made.iter().any(|known| known == path) {
            return;
        }
        if let Some((parent, _)) = path.rsplit_once('/') {
            self.folder(parent);
        }
        self.made.push(path.to_owned());
        self.entry(path, 0o100_000 | mode, content);
    }

    /// A program or library, with the libraries it loads.
    fn program(&mut self, path: &Path, place: &str) -> Result<()> {
        self.file(place, 0o755, &fs::read(path).about(path.display())?);
        let libraries = ask(Command::new("ldd").arg(path)).unwrap_or_default();
        for library in libraries.split_whitespace().filter(|word| word.starts_with('/')) {
            self.file(&inside(Path::new(library)), 0o755, &fs::read(library).about(library)?);
        }
        Ok(())
    }

    fn entry(&mut self, path: &str, mode: u32, content: &[u8]) {
        let number = self.made.len();
        let (size, name_size) = (content.len(), path.len() + 1);
        // Magic, inode, mode, owner, group, links, time, size, four device numbers, length of the name, no checksum.
        let header = format!(
            "070701{number:08x}{mode:08x}{:08x}{:08x}{:08x}{:08x}{size:08x}{:08x}{:08x}{:08x}{:08x}{name_size:08x}{:08x}",
            0, 0, 1, 0, 0, 0, 0, 0, 0
        );
        self.bytes.extend_from_slice(header.as_bytes());
        self.bytes.extend_from_slice(path.as_bytes());
        self.bytes.push(0);
        self.align();
        self.bytes.extend_from_slice(content);
        self.align();
    }

    fn align(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[]);
        self.bytes
    }
}
