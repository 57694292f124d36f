//! Anonymous network namespaces, entered by one thread.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use nix::sched::{CloneFlags, CpuSet, sched_getaffinity, sched_setaffinity, setns, unshare};
use nix::unistd::Pid;

/// One network namespace; it lives as long as this handle or anything inside it.
#[derive(Debug)]
pub struct Netns(File);

impl Netns {
    /// Makes a namespace; the calling thread stays where it was.
    pub fn new() -> io::Result<Netns> {
        let home = current()?;
        unshare(CloneFlags::CLONE_NEWNET)?;
        let made = current();
        setns(&home, CloneFlags::CLONE_NEWNET)?;
        made.map(Netns)
    }

    /// Moves the calling thread into the namespace until the guard is dropped.
    pub fn enter(&self) -> io::Result<Inside> {
        let home = current()?;
        setns(&self.0, CloneFlags::CLONE_NEWNET)?;
        Ok(Inside { home })
    }

    /// A path by which another process can name the namespace.
    pub(crate) fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd())
    }
}

/// The calling thread is inside a namespace while this lives.
#[derive(Debug)]
pub struct Inside {
    home: File,
}

impl Drop for Inside {
    fn drop(&mut self) {
        setns(&self.home, CloneFlags::CLONE_NEWNET).expect("a namespace that was left can be entered again");
    }
}

fn current() -> io::Result<File> {
    File::open("/proc/thread-self/ns/net")
}

/// Pins the calling thread to the processor it may use first, so that all softirq work it causes stays in order.
pub(crate) fn pin() -> io::Result<()> {
    let myself = Pid::from_raw(0);
    let allowed = sched_getaffinity(myself)?;
    let mut one = CpuSet::new();
    // Labs of one process spread over the processors by their thread.
    let usable: Vec<usize> =
        (0..CpuSet::count()).filter(|cpu| allowed.is_set(*cpu).unwrap_or(false)).collect();
    if usable.len() > 1 {
        let thread = nix::unistd::gettid().as_raw() as usize;
        one.set(usable[thread % usable.len()])?;
        sched_setaffinity(myself, &one)?;
    }
    Ok(())
}
