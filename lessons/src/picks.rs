//! Every scheduler of IPVS on the same arrivals: who gets each connection, by what score, and why.
//!
//! The choices, the counts behind them and the reasons are the engine's. Owns the bookkeeping around it.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use chainwalk_engine::base::{Duration, Fnv, Instant, KernelVersion};
use chainwalk_engine::ipvs::SchedFlags;
use chainwalk_engine::ipvs::arrivals::{Arrivals, Picked, Server};
use chainwalk_engine::ipvs::sched::{SPECS, Spec};
use serde::{Deserialize, Serialize};

/// Most arrivals of a scenario: each is a row of a table that somebody reads.
pub const ARRIVALS_MAX: usize = 100;
/// Most servers: each has a score for every arrival.
const SERVERS_MAX: usize = 8;

/// What a scenario of this kind runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PicksInput {
    /// Names as after `ipvsadm -s`; all that the kernel has when empty.
    pub schedulers: Vec<String>,
    pub servers: Vec<ServerInput>,
    pub arrivals: Vec<Arrival>,
    /// Weights that change on the way.
    pub changes: Vec<Change>,
    /// Seconds for which clients stick to their server; 0 for not at all.
    pub persistent_s: u32,
    /// Sysctls of IPVS and their values.
    pub sysctls: BTreeMap<String, String>,
    pub seed: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerInput {
    /// What figures call it.
    pub name: String,
    /// Address and port.
    pub addr: String,
    pub weight: u32,
}

/// A connection: it begins at `at_ms` and is closed by its server `for_ms` later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arrival {
    pub at_ms: u64,
    /// Address and port of the client.
    pub from: String,
    pub for_ms: u64,
}

/// A server gets another weight.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    pub at_ms: u64,
    /// Its name.
    pub server: String,
    pub weight: u32,
}

/// What came out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picks {
    pub servers: Vec<String>,
    pub arrivals: Vec<Arrival>,
    pub schedulers: Vec<Scheduled>,
}

/// One scheduler's choices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scheduled {
    pub name: String,
    pub title: String,
    /// Its rule in one sentence.
    pub rule: String,
    pub picks: Vec<Pick>,
    /// Connections that each server got, in the order of [`Picks::servers`].
    pub counts: Vec<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pick {
    /// `refused` when there was none.
    pub server: String,
    /// What the chosen server was judged by; empty when the scheduler was not asked.
    pub score: String,
    pub because: String,
    /// What each server was judged by, in the order of [`Picks::servers`]; empty for those not looked at.
    pub scores: Vec<String>,
}

/// Runs `input`.
///
/// # Errors
/// An address, a name or a number that cannot be used; a sentence.
pub fn run(input: &PicksInput) -> Result<Picks, String> {
    if input.arrivals.is_empty() || input.arrivals.len() > ARRIVALS_MAX {
        return Err(format!("{} arrivals: there are 1 to {ARRIVALS_MAX}", input.arrivals.len()));
    }
    if input.servers.is_empty() || input.servers.len() > SERVERS_MAX {
        return Err(format!("{} servers: there are 1 to {SERVERS_MAX}", input.servers.len()));
    }
    let schedulers: Vec<&Spec> = match input.schedulers.as_slice() {
        [] => SPECS.iter().collect(),
        names => names.iter().map(|name| spec(name)).collect::<Result<_, _>>()?,
    };
    let schedulers = schedulers.into_iter().map(|spec| scheduled(spec, input));
    Ok(Picks {
        servers: input.servers.iter().map(|server| server.name.clone()).collect(),
        arrivals: input.arrivals.clone(),
        schedulers: schedulers.collect::<Result<_, _>>()?,
    })
}

/// The registry's row of a scheduler.
pub(crate) fn spec(name: &str) -> Result<&'static Spec, String> {
    SPECS.iter().find(|spec| spec.name == name).ok_or_else(|| {
        let known: Vec<&str> = SPECS.iter().map(|spec| spec.name).collect();
        format!("no scheduler is called `{name}` (there are: {})", known.join(", "))
    })
}

/// What happens, in the order of time; at one moment weights change first, then connections end, then others begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Weigh(usize),
    Close(usize),
    Open(usize),
}

fn scheduled(spec: &Spec, input: &PicksInput) -> Result<Scheduled, String> {
    let address =
        |text: &str| text.parse::<SocketAddr>().map_err(|_| format!("`{text}` is not ADDRESS:PORT"));
    let servers = input.servers.iter().map(|s| Ok(Server { addr: address(&s.addr)?, weight: s.weight }));
    let servers: Vec<Server> = servers.collect::<Result<_, String>>()?;
    let clients = input.arrivals.iter().map(|arrival| address(&arrival.from));
    let clients: Vec<SocketAddr> = clients.collect::<Result<_, _>>()?;
    let refused = |error| format!("{}: {error:?}", spec.name);
    let kernel = KernelVersion::default();
    let mut ipvs =
        Arrivals::new(spec.name, SchedFlags::default(), &servers, kernel, input.seed).map_err(refused)?;
    if input.persistent_s > 0 {
        ipvs.stick(Duration::from_secs(u64::from(input.persistent_s))).map_err(refused)?;
    }
    for (name, value) in &input.sysctls {
        ipvs.sysctl(name, value).map_err(|error| format!("{name} = {value}: {error}"))?;
    }
    let mut events: BTreeMap<(u64, Event), ()> = BTreeMap::new();
    for (at, arrival) in input.arrivals.iter().enumerate() {
        events.insert((arrival.at_ms, Event::Open(at)), ());
        events.insert((arrival.at_ms + arrival.for_ms, Event::Close(at)), ());
    }
    for (at, change) in input.changes.iter().enumerate() {
        events.insert((change.at_ms, Event::Weigh(at)), ());
    }
    let mut picks: Vec<Option<Pick>> = vec![None; clients.len()];
    let mut counts = vec![0; servers.len()];
    for (at_ms, event) in events.into_keys() {
        let now = Instant::from_millis(at_ms);
        match event {
            Event::Open(at) => {
                let picked = ipvs.open(now, clients[at]);
                if let Some(server) = picked.server {
                    counts[server] += 1;
                }
                picks[at] = Some(pick(picked, input));
            }
            Event::Close(at) => ipvs.close(now, clients[at]),
            Event::Weigh(at) => {
                let change = &input.changes[at];
                let server = input.servers.iter().position(|server| server.name == change.server);
                let server = server.ok_or_else(|| format!("no server is called `{}`", change.server))?;
                ipvs.weigh(server, change.weight).map_err(refused)?;
            }
        }
    }
    Ok(Scheduled {
        name: spec.name.to_owned(),
        title: spec.title.to_owned(),
        rule: spec.rule.to_owned(),
        picks: picks.into_iter().flatten().collect(),
        counts,
    })
}

fn pick(picked: Picked, input: &PicksInput) -> Pick {
    let server = picked.server.and_then(|at| input.servers.get(at));
    let score_of = |name: &ServerInput| {
        let found = picked.candidates.iter().find(|candidate| candidate.server.to_string() == name.addr);
        found.and_then(|candidate| candidate.score.clone()).unwrap_or_default()
    };
    let asked = !picked.candidates.is_empty();
    Pick {
        server: server.map_or_else(|| "refused".to_owned(), |server| server.name.clone()),
        score: server.map(score_of).unwrap_or_default(),
        scores: input.servers.iter().map(score_of).collect(),
        because: if asked {
            picked.because
        } else {
            "the client's template decides; the scheduler is not asked".to_owned()
        },
    }
}

impl Picks {
    /// Equal for equal runs.
    pub fn digest(&self) -> String {
        let mut hash = Fnv::default();
        for pick in self.schedulers.iter().flat_map(|scheduled| &scheduled.picks) {
            for word in [&pick.server, &pick.because].into_iter().chain(&pick.scores) {
                hash.write(word.as_bytes());
                hash.write(&[0]);
            }
        }
        format!("{:016x}", hash.finish())
    }
}

#[cfg(test)]
mod tests;
