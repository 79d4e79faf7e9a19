//! The agent's configuration: flags and environment, read once, checked before anything opens.
//!
//! A bad one lists every mistake. The token comes from a file or the environment, never from a
//! flag: it must never be seen in a list of processes, nor in a message.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Parser;
use loadpilot_events::AgentId;
use loadpilot_events::refusal::{Problem, Refusal};
use loadpilot_events::subject::{DEFAULT_PREFIX, DEFAULT_TENANT, Subjects};
use loadpilot_events::units::{Rate, parse_duration_us, parse_rate};
use serde::Deserialize;

use crate::fire::{RING_BYTES_DEFAULT, RingPlace};
use crate::timing::Timing;

/// What one core is trusted to fire, arrivals per second, unless the operator knows better.
const CAPACITY_PER_CORE_RPS: u64 = 50_000;
/// Most arrivals in flight, unless plan or operator want fewer.
const MAX_IN_FLIGHT: u32 = 10_000;
/// File descriptors that are left for everything but requests.
pub(crate) const SPARE_FDS: u64 = 100;
/// Most firing threads of one agent.
const CORES_MAX: u32 = 1_024;
/// Largest ring that may be asked for, in MiB.
const RING_MIB_MAX: u32 = 4_096;

/// Everything an agent needs to know.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where NATS is.
    pub server: Server,
    /// Who this agent is.
    pub id: AgentId,
    /// The subjects of its tenant.
    pub subjects: Subjects,
    /// First token of every subject.
    pub prefix: String,
    /// What it can offer over all runs together.
    pub capacity: Rate,
    /// Threads that fire requests.
    pub cores: u32,
    /// Most arrivals of one run in flight.
    pub max_in_flight: u32,
    /// File descriptors that this process may open.
    pub fds: u64,
    /// Where what must outlive a kill is kept; `None`: nowhere.
    pub rings: Option<RingPlace>,
    /// Whether whoever starts it knows that its earlier process is dead.
    pub predecessor_dead: bool,
    /// Waits and bounds.
    pub timing: Timing,
}

/// How to reach NATS. `Debug` hides the token.
#[derive(Clone, PartialEq, Eq, Deserialize)]
pub struct Server {
    /// One address or several separated by commas.
    pub url: String,
    /// The token, if the server wants one.
    #[serde(default)]
    pub token: Option<String>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let token = self.token.as_ref().map(|_| "(hidden)");
        f.debug_struct("Server")
            .field("token", &token)
            .finish_non_exhaustive()
    }
}

/// What the world outside gives: read through here, so that tests can give another one.
pub struct World<'a> {
    /// An environment variable.
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// This machine's name.
    pub host: String,
    /// Processors that this process may use.
    pub processors: u32,
    /// File descriptors that this process may open.
    pub fds: u64,
}

/// Fires the shards of load tests that a LoadPilot coordinator assigns to it.
#[derive(Debug, Parser)]
#[command(name = "loadpilot-agent", version)]
struct Flags {
    /// The stack.json of a local stack: address and token of its NATS
    #[arg(long, value_name = "FILE", conflicts_with = "nats_url")]
    connect: Option<PathBuf>,
    /// Address of NATS (or env NATS_URL); the token is taken from env NATS_TOKEN
    #[arg(long, value_name = "URL")]
    nats_url: Option<String>,
    /// Name of this agent, the same at every start (or env AGENT_ID; default: host and process)
    #[arg(long)]
    id: Option<String>,
    /// Highest rate over all runs together, such as 20000 or 500/s [default: 50000 per core]
    #[arg(long, value_name = "RPS")]
    capacity: Option<String>,
    /// Threads that fire requests [default: all processors]
    #[arg(long, value_name = "N")]
    cores: Option<String>,
    /// Tenant: second token of every subject
    #[arg(long, default_value = DEFAULT_TENANT)]
    tenant: String,
    /// First token of every subject
    #[arg(long, default_value = DEFAULT_PREFIX)]
    prefix: String,
    /// Most arrivals of one run in flight [default: 10000, or what file descriptors allow]
    #[arg(long, value_name = "N")]
    max_in_flight: Option<String>,
    /// Folder for what is not stored yet and is to outlive a kill (or env AGENT_STATE_DIR)
    ///
    /// The next process with the same id reports what a killed one left there, so that both must be
    /// given the same id and folder. Without it none are kept.
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
    /// Most MiB of that folder for the calls of each firing thread of a run [default: 8]
    #[arg(long, value_name = "MIB")]
    ring_mib: Option<String>,
    /// The earlier process of this agent is known to be dead: its shards need not wait
    #[arg(long)]
    predecessor_dead: bool,
    /// Time between heartbeats, for tests
    #[arg(long, hide = true, value_name = "DURATION")]
    heartbeat: Option<String>,
    /// Time without an answer after which the agent stops; the lost time less 3 s
    #[arg(long, hide = true, value_name = "DURATION")]
    fence: Option<String>,
    /// Time without a coordinator after which the agent stops
    #[arg(long, hide = true, value_name = "DURATION")]
    no_coordinator: Option<String>,
}

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// Flags that do not exist or do not go together, or a wish for help.
    #[error("{0}")]
    Flags(#[from] clap::Error),
    /// Values that cannot be used: all of them.
    #[error("{0}")]
    Values(#[from] Refusal),
}

impl Config {
    /// Reads flags (program name first) and `world`.
    ///
    /// # Errors
    /// [`Unusable`] with everything that is wrong with the values.
    pub fn read(args: impl Iterator<Item = String>, world: &World<'_>) -> Result<Self, Unusable> {
        let flags = Flags::try_parse_from(args)?;
        let mut desk = Desk::default();
        let server = desk.take(server(&flags, world));
        let id = flags.id.clone().or_else(|| (world.env)("AGENT_ID"));
        let id = id.unwrap_or_else(|| default_id(&world.host));
        let id = desk.take(AgentId::parse(&id).map_err(|problem| at("id", problem)));
        let subjects = desk.take(subjects(&flags));
        let cores = desk.take(cores(&flags, world));
        let per_core = Rate::per_second(CAPACITY_PER_CORE_RPS);
        let capacity = match &flags.capacity {
            Some(text) => desk.take(capacity(text)),
            None => cores.map(|cores| Rate(per_core.0 * u64::from(cores))),
        };
        let max_in_flight = desk.take(max_in_flight(&flags, world));
        let rings = desk.take(rings(&flags, world)).flatten();
        let timing = timing(&flags, &mut desk);
        let parts = (server, id, subjects, capacity, cores, max_in_flight);
        let (Some(server), Some(id), Some(subjects), Some(capacity), Some(cores), Some(in_flight)) =
            parts
        else {
            return Err(desk.refusal().into());
        };
        if !desk.problems.is_empty() {
            return Err(desk.refusal().into());
        }
        Ok(Self {
            server,
            id,
            subjects,
            prefix: flags.prefix,
            capacity,
            cores,
            max_in_flight: in_flight,
            fds: world.fds,
            rings,
            predecessor_dead: flags.predecessor_dead,
            timing,
        })
    }
}

/// Where problems are collected.
#[derive(Default)]
struct Desk {
    problems: Vec<Problem>,
}

impl Desk {
    fn take<T>(&mut self, found: Result<T, Problem>) -> Option<T> {
        found.map_err(|problem| self.problems.push(problem)).ok()
    }

    fn refusal(self) -> Refusal {
        Refusal {
            problems: self.problems,
        }
    }
}

fn at(field: &str, problem: Problem) -> Problem {
    Problem {
        field: field.to_owned(),
        ..problem
    }
}

fn server(flags: &Flags, world: &World<'_>) -> Result<Server, Problem> {
    if let Some(path) = &flags.connect {
        return stack(path);
    }
    let url = flags.nats_url.clone().or_else(|| (world.env)("NATS_URL"));
    let Some(url) = url else {
        let rule = "must be given, or --connect FILE, or env NATS_URL";
        return Err(Problem::new("nats-url", rule, ""));
    };
    Ok(Server {
        url,
        token: (world.env)("NATS_TOKEN").filter(|token| !token.is_empty()),
    })
}

/// Reads a stack file. No message quotes its content: it holds a token.
fn stack(path: &Path) -> Result<Server, Problem> {
    let shown = path.display();
    let problem = |rule: String| Problem::new("connect", rule, shown.to_string());
    let unreadable = |error| problem(format!("must be a readable file ({error})"));
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    if is_open_to_others(path).map_err(unreadable)? {
        return Err(problem(
            "must be readable by its owner only (mode 0600)".to_owned(),
        ));
    }
    serde_json::from_str(&text)
        .map_err(|_| problem("must be JSON with the texts `url` and `token`".to_owned()))
}

#[cfg(unix)]
fn is_open_to_others(path: &Path) -> std::io::Result<bool> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(std::fs::metadata(path)?.permissions().mode() & 0o077 != 0)
}

/// Other systems have no such bits.
#[cfg(not(unix))]
fn is_open_to_others(_path: &Path) -> std::io::Result<bool> {
    Ok(false)
}

fn subjects(flags: &Flags) -> Result<Subjects, Problem> {
    Subjects::new(&flags.prefix, &flags.tenant)
}

fn cores(flags: &Flags, world: &World<'_>) -> Result<u32, Problem> {
    match &flags.cores {
        Some(text) => number("cores", text, CORES_MAX),
        None => Ok(world.processors.clamp(1, CORES_MAX)),
    }
}

fn capacity(text: &str) -> Result<Rate, Problem> {
    let rate = parse_rate("capacity", text)?;
    if rate.0 == 0 {
        return Err(Problem::new("capacity", "must be above 0", text));
    }
    Ok(rate)
}

/// What plan, operator and file descriptors allow; the plan comes later.
fn max_in_flight(flags: &Flags, world: &World<'_>) -> Result<u32, Problem> {
    let allowed = world.fds.saturating_sub(SPARE_FDS);
    let allowed = u32::try_from(allowed).unwrap_or(u32::MAX);
    if allowed == 0 {
        let rule = "must allow more than 100 file descriptors (ulimit -n)";
        return Err(Problem::new("max-in-flight", rule, world.fds));
    }
    match &flags.max_in_flight {
        Some(text) => Ok(number("max-in-flight", text, u32::MAX)?.min(allowed)),
        None => Ok(MAX_IN_FLIGHT.min(allowed)),
    }
}

/// Where calls are kept. That the folder can be used shows when a run is prepared: it may be on a
/// disk that fills up in between.
fn rings(flags: &Flags, world: &World<'_>) -> Result<Option<RingPlace>, Problem> {
    let bytes_max = match &flags.ring_mib {
        Some(text) => u64::from(number("ring-mib", text, RING_MIB_MAX)?) << 20,
        None => RING_BYTES_DEFAULT,
    };
    let from_env = (world.env)("AGENT_STATE_DIR").filter(|path| !path.is_empty());
    let folder = flags
        .state_dir
        .clone()
        .or_else(|| from_env.map(PathBuf::from));
    if let Some(path) = folder
        .as_ref()
        .filter(|path| path.exists() && !path.is_dir())
    {
        return Err(Problem::new(
            "state-dir",
            "must be a directory",
            path.display(),
        ));
    }
    Ok(folder.map(|folder| RingPlace { folder, bytes_max }))
}

fn number(field: &str, text: &str, max: u32) -> Result<u32, Problem> {
    let found = text.trim().parse().ok().filter(|n| (1..=max).contains(n));
    found.ok_or_else(|| {
        Problem::new(
            field,
            format!("must be a whole number from 1 to {max}"),
            text,
        )
    })
}

fn timing(flags: &Flags, desk: &mut Desk) -> Timing {
    let mut timing = Timing::default();
    let places = [
        ("heartbeat", &flags.heartbeat, &mut timing.heartbeat),
        ("fence", &flags.fence, &mut timing.fence),
        (
            "no-coordinator",
            &flags.no_coordinator,
            &mut timing.no_coordinator,
        ),
    ];
    for (field, text, place) in places {
        let parsed = text.as_ref().map(|text| parse_duration_us(field, text));
        if let Some(us) = parsed.and_then(|parsed| desk.take(parsed)) {
            *place = Duration::from_micros(us);
        }
    }
    timing
}

/// Two agents of one machine must not take each other for a restart.
fn default_id(host: &str) -> String {
    let token = |c: char| match c.to_ascii_lowercase() {
        c @ ('a'..='z' | '0'..='9' | '-' | '_') => c,
        _ => '-',
    };
    let host: String = host.chars().take(64).map(token).collect();
    format!("{host}-{}", std::process::id())
}

#[cfg(test)]
mod tests;
