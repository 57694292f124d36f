//! The `ipvsadm` command, version 1.31: editing, `-L` in its forms, `-S` and `-R`, with the tool's errors and exit codes.
//!
//! `options` reads a command line as the tool does with popt, `addr` reads addresses, `print` writes listings. What
//! services and connections are is in [`crate::ipvs`]. Not emulated and refused by name: `--help`, the
//! synchronisation daemon. Addresses are never resolved to names; ports are, without `-n`, as far as
//! [`crate::netfilter::xt`] knows them.

mod addr;
mod options;
mod print;

use crate::base::Instant;
use crate::ipvs::{DestSpec, Error, Forward, Ipvs, ServiceSpec};
use options::{Command, Parsed};

/// What a run of the tool leaves behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ran {
    pub stdout: String,
    pub stderr: String,
    pub exit_code: u8,
}

/// Why the tool gave up.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fault {
    text: String,
    exit_code: u8,
}

/// Exit code of what the tool finds wrong itself (`fail(2, ...)`), and of what popt or the kernel do.
const WRONG: u8 = 2;
const REFUSED: u8 = 255;

impl Fault {
    fn wrong(text: impl Into<String>) -> Self {
        Self { text: text.into(), exit_code: WRONG }
    }

    fn refused(text: impl Into<String>) -> Self {
        Self { text: text.into(), exit_code: REFUSED }
    }

    fn not_emulated(what: &str) -> Self {
        Self::refused(format!("ipvsadm {what} is not emulated"))
    }
}

impl From<Fault> for Ran {
    fn from(fault: Fault) -> Self {
        Self { stdout: String::new(), stderr: format!("{}\n", fault.text), exit_code: fault.exit_code }
    }
}

impl From<Error> for Fault {
    /// `ipvs_strerror`
    fn from(error: Error) -> Self {
        Self::refused(match error {
            Error::ServiceExists => "Service already exists",
            Error::NoSuchService => "No such service",
            Error::NoSuchScheduler => "Scheduler or persistence engine not found",
            Error::ServiceNotDefined => "Service not defined",
            Error::DestExists => "Destination already exists",
            Error::NoSuchDest => "No such destination",
            Error::OutOfRange => "Numerical result out of range",
            Error::Invalid => "Invalid operation.  Possibly wrong module version, address not unicast, ...",
        })
    }
}

/// Runs a command that only looks: `-L`, `-S`, `-v`. `args` come without the program's name.
pub fn show(ipvs: &Ipvs, now: Instant, args: &[&str]) -> Ran {
    match options::parse(args).and_then(|parsed| look(ipvs, now, &parsed)) {
        Ok(stdout) => Ran { stdout, ..Ran::default() },
        Err(fault) => fault.into(),
    }
}

/// Runs any command. `stdin` is what `-R` reads.
pub fn run(ipvs: &mut Ipvs, now: Instant, args: &[&str], stdin: &str) -> Ran {
    ipvs.advance(now);
    let done = options::parse(args).and_then(|parsed| match parsed.command {
        Command::Restore => return_of_restore(ipvs, now, stdin),
        _ => command(ipvs, now, &parsed),
    });
    match done {
        Ok(ran) => ran,
        Err(fault) => fault.into(),
    }
}

/// The virtual servers as `ipvsadm -Sn` prints them and `ipvsadm -R` reads them.
pub fn save(ipvs: &Ipvs) -> String {
    print::rules(ipvs, true)
}

/// A line that the tool refuses itself ends the run; what the kernel refuses is said, and the next line is read.
fn return_of_restore(ipvs: &mut Ipvs, now: Instant, stdin: &str) -> Result<Ran, Fault> {
    let mut all = Ran::default();
    for line in stdin.lines() {
        let words: Vec<&str> = line.split([' ', '\t']).filter(|word| !word.is_empty()).collect();
        let words = words.strip_prefix(&["ipvsadm"]).unwrap_or(&words);
        if words.is_empty() {
            continue;
        }
        let ran = match options::parse(words).and_then(|parsed| command(ipvs, now, &parsed)) {
            Ok(ran) => ran,
            Err(fault) => {
                let usage = fault.exit_code == WRONG || fault.text.starts_with(options::TRY);
                let ran = Ran::from(fault);
                if usage {
                    all.stderr.push_str(&ran.stderr);
                    all.exit_code = ran.exit_code;
                    return Ok(all);
                }
                ran
            }
        };
        all.stdout.push_str(&ran.stdout);
        all.stderr.push_str(&ran.stderr);
        all.exit_code = ran.exit_code;
    }
    Ok(all)
}

fn command(ipvs: &mut Ipvs, now: Instant, parsed: &Parsed) -> Result<Ran, Fault> {
    match parsed.command {
        Command::List | Command::Save | Command::Version | Command::Restore => {
            return look(ipvs, now, parsed).map(|stdout| Ran { stdout, ..Ran::default() });
        }
        Command::AddService => ipvs.add_service(&service(parsed)?)?,
        Command::EditService => ipvs.edit_service(&service(parsed)?)?,
        Command::DeleteService => ipvs.delete_service(&parsed.key()?, now)?,
        Command::Flush => ipvs.flush(now),
        Command::AddServer => _ = ipvs.add_dest(&parsed.key()?, &dest(parsed)?)?,
        Command::EditServer => ipvs.edit_dest(&parsed.key()?, &dest(parsed)?)?,
        Command::DeleteServer => {
            let (key, dest) = (parsed.key()?, dest(parsed)?);
            ipvs.delete_dest(&key, dest.addr, dest.port, now)?;
        }
        Command::Zero => ipvs.zero(parsed.service.as_ref(), now)?,
        Command::SetTimeouts([tcp, tcp_fin, udp]) => ipvs.config.set_timeouts(tcp, tcp_fin, udp),
    }
    Ok(Ran::default())
}

fn look(ipvs: &Ipvs, now: Instant, parsed: &Parsed) -> Result<String, Fault> {
    match parsed.command {
        Command::Version => Ok("ipvsadm v1.31 2019/12/24 (compiled with popt and IPVS v1.2.1)\n".to_owned()),
        Command::Save => Ok(print::rules(ipvs, parsed.list.numeric)),
        Command::List if parsed.list.connection => Ok(print::connections(ipvs, now, parsed.list.numeric)),
        Command::List if parsed.list.timeout => Ok(print::timeouts(ipvs)),
        // There is never a daemon.
        Command::List if parsed.list.daemon => Ok(String::new()),
        Command::List => match &parsed.service {
            None => Ok(print::all(ipvs, now, &parsed.list)),
            Some(key) => print::one(ipvs, now, &parsed.list, key)
                .ok_or_else(|| Fault { text: "No such service".to_owned(), exit_code: 1 }),
        },
        Command::AddService
        | Command::EditService
        | Command::DeleteService
        | Command::Flush
        | Command::AddServer
        | Command::EditServer
        | Command::DeleteServer
        | Command::Zero
        | Command::SetTimeouts(_)
        | Command::Restore => {
            Err(Fault::refused("this command of ipvsadm changes the node: not to be shown"))
        }
    }
}

fn service(parsed: &Parsed) -> Result<ServiceSpec, Fault> {
    Ok(ServiceSpec {
        key: parsed.key()?,
        scheduler: parsed.scheduler().to_owned(),
        flags: parsed.flags,
        persistence: parsed.persistence(),
        one_packet: parsed.one_packet,
    })
}

fn dest(parsed: &Parsed) -> Result<DestSpec, Fault> {
    let key = parsed.key()?;
    let real = parsed.real.ok_or_else(|| Fault::wrong("illegal real server address[:port] specified"))?;
    // Without NAT the port cannot change; a service by mark has none to compare with.
    let fixed = parsed.forward != Forward::Masq && key.mark() == 0;
    let deletes = parsed.command == Command::DeleteServer;
    let port = if fixed && !deletes { key.port() } else { real.port.unwrap_or(key.port()) };
    Ok(DestSpec {
        addr: real.addr,
        port,
        forward: parsed.forward,
        encapsulation: parsed.encapsulation,
        weight: parsed.weight,
        upper: parsed.upper,
        lower: parsed.lower,
    })
}

#[cfg(test)]
mod tests;
