//! How a table of slots shares clients out over servers, and how many clients change theirs when one server leaves.
//!
//! The tables are the engine's: those of IPVS for `sh`, `dh` and `mh`, and Maglev's as eBPF load balancing fills it. Owns the
//! counting.

use std::net::SocketAddr;

use chainwalk_engine::base::{Fnv, Instant, KernelVersion};
use chainwalk_engine::ebpf::maglev::{self, TABLE_SIZE};
use chainwalk_engine::ebpf::{Backend, BackendId, BackendState, Config};
use chainwalk_engine::ipvs::SchedFlags;
use chainwalk_engine::ipvs::arrivals::{Arrivals, Server};
use chainwalk_engine::packet::proto;
use serde::{Deserialize, Serialize};

use crate::picks::ServerInput;

/// Fewest and most servers: one has to stay, and each is a row of a figure.
const SERVERS: std::ops::RangeInclusive<usize> = 2..=10;

/// What a scenario of this kind runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeavingInput {
    pub tables: Vec<Kind>,
    pub servers: Vec<ServerInput>,
    /// Name of the server that leaves.
    pub leaves: String,
}

/// Who fills the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Sh,
    Dh,
    Mh,
    /// Cilium's, for eBPF.
    Maglev,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Sh => "sh",
            Self::Dh => "dh",
            Self::Mh => "mh",
            Self::Maglev => "maglev",
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::Sh => "IPVS sh",
            Self::Dh => "IPVS dh",
            Self::Mh => "IPVS mh",
            Self::Maglev => "eBPF, Maglev",
        }
    }
}

/// What came out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leaving {
    pub servers: Vec<String>,
    pub leaves: String,
    pub tables: Vec<Shared>,
}

/// One table before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shared {
    pub name: String,
    pub title: String,
    pub slots: u32,
    /// Slots of each server, in the order of [`Leaving::servers`].
    pub before: Vec<u32>,
    pub after: Vec<u32>,
    /// Slots of the server that leaves: their clients have to go elsewhere.
    pub freed: u32,
    /// Slots that changed from one staying server to another: their clients need not have.
    pub moved: u32,
}

/// Runs `input`.
///
/// # Errors
/// An address, a name or a number that cannot be used; a sentence.
pub fn run(input: &LeavingInput) -> Result<Leaving, String> {
    if !SERVERS.contains(&input.servers.len()) {
        let (least, most) = (SERVERS.start(), SERVERS.end());
        return Err(format!("{} servers: there are {least} to {most}", input.servers.len()));
    }
    let leaves = input.servers.iter().position(|server| server.name == input.leaves);
    let leaves = leaves.ok_or_else(|| format!("no server is called `{}`", input.leaves))?;
    let servers = input.servers.iter().map(|server| {
        let addr = server.addr.parse::<SocketAddr>();
        let addr = addr.map_err(|_| format!("`{}` is not ADDRESS:PORT", server.addr))?;
        Ok(Server { addr, weight: server.weight })
    });
    let servers: Vec<Server> = servers.collect::<Result<_, String>>()?;
    let tables = input.tables.iter().map(|kind| {
        let [before, after] = match kind {
            Kind::Maglev => maglev_tables(&servers, leaves),
            Kind::Sh | Kind::Dh | Kind::Mh => ipvs_tables(kind.name(), &servers, leaves)?,
        };
        Ok(shared(*kind, &before, &after, servers.len(), leaves))
    });
    Ok(Leaving {
        servers: input.servers.iter().map(|server| server.name.clone()).collect(),
        leaves: input.leaves.clone(),
        tables: tables.collect::<Result<_, String>>()?,
    })
}

/// The server of each slot, before and after.
fn ipvs_tables(scheduler: &str, servers: &[Server], leaves: usize) -> Result<[Vec<usize>; 2], String> {
    let refused = |error| format!("{scheduler}: {error:?}");
    let kernel = KernelVersion::default();
    let mut ipvs = Arrivals::new(scheduler, SchedFlags::default(), servers, kernel, 1).map_err(refused)?;
    let before = ipvs.slots();
    ipvs.remove(leaves, Instant::ZERO).map_err(refused)?;
    Ok([before, ipvs.slots()])
}

fn maglev_tables(servers: &[Server], leaves: usize) -> [Vec<usize>; 2] {
    let backends = servers.iter().enumerate().map(|(at, server)| {
        let backend = Backend {
            addr: server.addr.ip(),
            port: server.addr.port(),
            proto: proto::TCP,
            state: BackendState::Active,
            weight: u16::try_from(server.weight).unwrap_or(u16::MAX),
        };
        (BackendId(at as u32), backend)
    });
    let mut backends: Vec<_> = backends.collect();
    let fill = |backends: &[(BackendId, Backend)]| {
        let table = maglev::table(backends, TABLE_SIZE, Config::default().seed);
        table.into_iter().map(|id| id.0 as usize).collect()
    };
    let before = fill(&backends);
    backends.remove(leaves);
    [before, fill(&backends)]
}

fn shared(kind: Kind, before: &[usize], after: &[usize], servers: usize, leaves: usize) -> Shared {
    let count = |slots: &[usize]| {
        (0..servers).map(|server| slots.iter().filter(|slot| **slot == server).count() as u32).collect()
    };
    let moved = before.iter().zip(after).filter(|(old, new)| **old != leaves && old != new).count();
    Shared {
        name: kind.name().to_owned(),
        title: kind.title().to_owned(),
        slots: before.len() as u32,
        before: count(before),
        after: count(after),
        freed: before.iter().filter(|slot| **slot == leaves).count() as u32,
        moved: moved as u32,
    }
}

impl Leaving {
    /// Equal for equal runs.
    pub fn digest(&self) -> String {
        let mut hash = Fnv::default();
        for table in &self.tables {
            hash.write(table.name.as_bytes());
            let counts =
                table.before.iter().chain(&table.after).chain([&table.slots, &table.freed, &table.moved]);
            counts.for_each(|count| hash.write(&count.to_le_bytes()));
        }
        format!("{:016x}", hash.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(weights: &[u32]) -> LeavingInput {
        let servers = (1..).zip(weights).map(|(host, weight)| ServerInput {
            name: format!("S{host}"),
            addr: format!("10.0.0.{host}:80"),
            weight: *weight,
        });
        LeavingInput {
            tables: vec![Kind::Sh, Kind::Dh, Kind::Mh, Kind::Maglev],
            servers: servers.collect(),
            leaves: "S3".to_owned(),
        }
    }

    #[test]
    fn every_slot_has_a_server_before_and_after() {
        let leaving = run(&input(&[1; 5])).expect("it runs");
        for table in &leaving.tables {
            assert_eq!(table.before.iter().sum::<u32>(), table.slots, "{}", table.name);
            assert_eq!(table.after.iter().sum::<u32>(), table.slots, "{}", table.name);
            assert_eq!((table.freed, table.after[2]), (table.before[2], 0), "{}", table.name);
        }
        let slots: Vec<u32> = leaving.tables.iter().map(|table| table.slots).collect();
        assert_eq!(slots, [256, 256, 4093, TABLE_SIZE]);
    }

    /// `sh` deals slots out in turn: of those of the four that stay, slot n had server n mod 5, and then gets that at n mod 4.
    #[test]
    fn sh_moves_what_arithmetic_says_and_maglev_little() {
        let leaving = run(&input(&[1; 5])).expect("it runs");
        let staying = [0, 1, 3, 4];
        let moved = (0..256).filter(|n| n % 5 != 2 && staying[n % 4] != n % 5).count() as u32;
        let of = |name: &str| leaving.tables.iter().find(|table| table.name == name).expect("it ran");
        assert_eq!(of("sh").moved, moved);
        for name in ["mh", "maglev"] {
            assert!(of(name).moved * 20 < of(name).slots, "{name}: {:?}", of(name));
        }
        assert_eq!(leaving.digest(), run(&input(&[1; 5])).expect("it runs").digest());
    }

    #[test]
    fn what_cannot_run_is_said() {
        assert!(run(&input(&[1])).is_err_and(|why| why.contains("1 servers")));
        let unknown = LeavingInput { leaves: "X".to_owned(), ..input(&[1; 3]) };
        assert!(run(&unknown).is_err_and(|why| why.contains("`X`")));
    }
}
