//! A simulated queue: requests of very different length reach pods through a scheduler of IPVS.
//!
//! Each request is a connection of its own. The scheduler is the engine's, fed with the connections' packets, so what
//! it counts is what a node's counts. Each pod serves one request at a time, in the order of arrival. Requests arrive
//! at random, and independent of each other: a Poisson process. How long one takes is drawn from a truncated Pareto
//! distribution: most are short, a few are long. Both draws use only operations that IEEE 754 defines to the last
//! bit, so every build of the engine sees the same requests.
//!
//! Owns the simulation and its figures. [`draws`] owns the two distributions.

mod draws;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::{Ipv4Addr, SocketAddr};

use chainwalk_engine::base::{Fnv, Instant, KernelVersion};
use chainwalk_engine::ipvs::SchedFlags;
use chainwalk_engine::ipvs::arrivals::{Arrivals, Server};
use chainwalk_engine::ipvs::sched::Spec;
use serde::{Deserialize, Serialize};

use crate::picks::spec;
use draws::{Request, requests};

/// Most requests of a queue.
pub const REQUESTS_MAX: u32 = 200_000;
const PODS_MAX: u32 = 64;
/// Requests between two reports of progress.
const PROGRESS_STEP: u32 = 2_000;
/// The stretch of time that is shown pod by pod: it begins this long before the longest request, µs.
const WINDOW_BEFORE: u64 = 2_000_000;
const WINDOW_STEP: u64 = 500_000;
const WINDOW_SAMPLES: u64 = 40;

/// What a scenario of this kind runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueInput {
    pub schedulers: Vec<String>,
    pub pods: u32,
    pub requests: u32,
    /// Work that arrives, of what all pods together can do, in percent.
    pub load_percent: u32,
    pub shortest_ms: u32,
    pub longest_ms: u32,
    /// How heavy the tail is, 1 to 8: a request is as long as `shortest / u^(tail/8)`, u uniform from 0 to 1, and
    /// drawn anew above the longest. The Pareto distribution's shape is `8 / tail`.
    pub tail: u32,
    pub seed: u64,
    /// Figures that somebody published, to compare with.
    pub published: Vec<Published>,
    /// How far the simulation may be off, in percent; the lesson checker insists.
    pub within_percent: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    pub scheduler: String,
    pub p99_ms: u32,
}

/// What came out. Times are milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Queue {
    pub pods: u32,
    pub requests: u32,
    /// How long requests take by themselves.
    pub alone: Times,
    /// Requests that take longer than a second.
    pub long: u32,
    pub schedulers: Vec<Served>,
    /// Moments at which [`Served::backlog`] is taken, from the start of the run.
    pub window: Vec<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Times {
    pub mean: f64,
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
    pub max: f64,
}

/// How it went with one scheduler.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Served {
    pub name: String,
    pub title: String,
    /// From arrival to answer.
    pub times: Times,
    /// Requests that waited at all.
    pub waited: u32,
    /// Requests that waited although another pod had nothing to do when they came.
    pub beside_idle: u32,
    /// Most requests at one pod.
    pub worst: u32,
    pub published: Option<f64>,
    /// Of the 99th percentile from the published one: 0.05 for five percent too long.
    pub off: Option<f64>,
    /// Requests at each pod at each moment of the window.
    pub backlog: Vec<Vec<u32>>,
}

/// Runs `input`, telling how far it is: `progress(done, total)` in requests of all schedulers.
///
/// # Errors
/// A number or a name that cannot be used; a sentence.
pub fn run_with(input: &QueueInput, progress: &mut dyn FnMut(u32, u32)) -> Result<Queue, String> {
    check(input)?;
    let schedulers = input.schedulers.iter().map(|name| spec(name)).collect::<Result<Vec<_>, _>>()?;
    let requests = requests(input);
    let longest = requests.iter().max_by_key(|request| request.takes).map_or(0, |request| request.at);
    let from = longest.saturating_sub(WINDOW_BEFORE);
    let window: Vec<u64> = (0..WINDOW_SAMPLES).map(|sample| from + sample * WINDOW_STEP).collect();
    let total = input.requests * schedulers.len() as u32;
    let mut served = Vec::with_capacity(schedulers.len());
    for (before, spec) in schedulers.into_iter().enumerate() {
        let before = before as u32 * input.requests;
        let run = serve(spec, input, &requests, &window, &mut |done| progress(before + done, total))?;
        served.push(run);
    }
    let mut alone: Vec<u64> = requests.iter().map(|request| request.takes).collect();
    Ok(Queue {
        pods: input.pods,
        requests: input.requests,
        long: alone.iter().filter(|takes| **takes > 1_000_000).count() as u32,
        alone: times(&mut alone),
        schedulers: served,
        window: window.into_iter().map(ms).collect(),
    })
}

fn check(input: &QueueInput) -> Result<(), String> {
    let rules = [
        ("requests", input.requests, 100, REQUESTS_MAX),
        ("pods", input.pods, 1, PODS_MAX),
        ("load_percent", input.load_percent, 1, 95),
        ("shortest_ms", input.shortest_ms, 1, 60_000),
        ("longest_ms", input.longest_ms, input.shortest_ms + 1, 600_000),
        ("tail", input.tail, 1, 8),
        ("the number of schedulers", input.schedulers.len() as u32, 1, 4),
    ];
    match rules.into_iter().find(|(_, value, least, most)| !(least..=most).contains(&value)) {
        Some((name, value, least, most)) => Err(format!("{name} is {value}: from {least} to {most}")),
        None => Ok(()),
    }
}

/// Takes all requests through one scheduler. Every pod works off what it was given, first come, first served.
fn serve(
    spec: &Spec,
    input: &QueueInput,
    requests: &[Request],
    window: &[u64],
    progress: &mut dyn FnMut(u32),
) -> Result<Served, String> {
    let pods = input.pods as usize;
    let servers: Vec<Server> = (0..pods).map(server).collect();
    let kernel = KernelVersion::default();
    let ipvs = Arrivals::new(spec.name, SchedFlags::default(), &servers, kernel, input.seed);
    let mut ipvs = ipvs.map_err(|error| format!("{}: {error:?}", spec.name))?.without_reasons();
    // When each pod will have worked off what it has, and how many requests that is.
    let mut free_at = vec![0_u64; pods];
    let mut at_pod = vec![0_u32; pods];
    let mut ends: BinaryHeap<Reverse<(u64, usize, usize)>> = BinaryHeap::new();
    let mut backlog = vec![Vec::with_capacity(window.len()); pods];
    let mut samples = window.iter().copied().peekable();
    let mut stays = Vec::with_capacity(requests.len());
    let (mut waited, mut beside_idle, mut worst) = (0, 0, 0);
    for (number, request) in requests.iter().enumerate() {
        if (number as u32).is_multiple_of(PROGRESS_STEP) {
            progress(number as u32);
        }
        loop {
            let end = ends.peek().map(|Reverse((end, ..))| *end).filter(|end| *end <= request.at);
            let sample = samples.peek().copied().filter(|sample| *sample <= request.at);
            match (end, sample) {
                (Some(end), sample) if sample.is_none_or(|sample| end <= sample) => {
                    if let Some(Reverse((end, pod, ended))) = ends.pop() {
                        at_pod[pod] -= 1;
                        ipvs.close(instant(end), client(ended));
                    }
                }
                (_, Some(_)) => {
                    samples.next();
                    backlog.iter_mut().zip(&at_pod).for_each(|(lane, count)| lane.push(*count));
                }
                (_, None) => break,
            }
        }
        let picked = ipvs.open(instant(request.at), client(number));
        let Some(pod) = picked.server else { return Err(format!("{} refuses a request", spec.name)) };
        let starts = free_at[pod].max(request.at);
        waited += u32::from(starts > request.at);
        beside_idle += u32::from(starts > request.at && at_pod.contains(&0));
        let end = starts + request.takes;
        free_at[pod] = end;
        at_pod[pod] += 1;
        worst = worst.max(at_pod[pod]);
        ends.push(Reverse((end, pod, number)));
        stays.push(end - request.at);
    }
    let times = times(&mut stays);
    let published = input.published.iter().find(|published| published.scheduler == spec.name);
    let published = published.map(|published| f64::from(published.p99_ms));
    Ok(Served {
        name: spec.name.to_owned(),
        title: spec.title.to_owned(),
        off: published.map(|published| times.p99 / published - 1.0),
        published,
        times,
        waited,
        beside_idle,
        worst,
        backlog,
    })
}

fn server(pod: usize) -> Server {
    let addr = SocketAddr::from((Ipv4Addr::from_bits(0x0af4_0100 + 10 + pod as u32), 8080));
    Server { addr, weight: 1 }
}

/// Each request has its own client port; a port comes again at another address.
fn client(number: usize) -> SocketAddr {
    const PORTS: usize = 60_000;
    let addr = Ipv4Addr::from_bits(0x0af4_0500 + (number / PORTS) as u32);
    SocketAddr::from((addr, (1024 + number % PORTS) as u16))
}

const fn instant(us: u64) -> Instant {
    Instant(us * 1000)
}

fn ms(us: u64) -> f64 {
    us as f64 / 1000.0
}

/// Percentiles by nearest rank: the smallest value that the share does not exceed.
fn times(us: &mut [u64]) -> Times {
    us.sort_unstable();
    let rank = |percent: usize| us.get((us.len() * percent).div_ceil(100).saturating_sub(1)).copied();
    let at = |percent: usize| ms(rank(percent).unwrap_or(0));
    let sum: u64 = us.iter().sum();
    Times { mean: ms(sum) / us.len().max(1) as f64, p50: at(50), p90: at(90), p99: at(99), max: at(100) }
}

impl Queue {
    /// Equal for equal runs.
    pub fn digest(&self) -> String {
        let mut hash = Fnv::default();
        let mut write = |number: f64| hash.write(&number.to_bits().to_le_bytes());
        for served in &self.schedulers {
            let Times { mean, p50, p90, p99, max } = served.times;
            [mean, p50, p90, p99, max].into_iter().for_each(&mut write);
            [served.waited, served.beside_idle, served.worst].map(f64::from).into_iter().for_each(&mut write);
            served.backlog.iter().flatten().for_each(|count| write(f64::from(*count)));
        }
        format!("{:016x}", hash.finish())
    }
}

#[cfg(test)]
mod tests;
