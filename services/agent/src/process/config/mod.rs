//! The agent's configuration: flags and environment, read once, checked before anything opens.
//!
//! An invalid configuration lists every problem. No message contains the token.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use loadpilot_bus::{InvalidSetting, NatsFlags, Options};
use loadpilot_engine::check::target_policy::TargetPolicy;
use loadpilot_events::limits;
use loadpilot_events::refusal::{Problem, Refusal};
use loadpilot_events::units::{Rate, parse_duration_us, parse_rate};
use loadpilot_events::wire::subject::{DEFAULT_PREFIX, DEFAULT_TENANT, Subjects};
use loadpilot_events::{AgentId, Capability};

use crate::fire::{RING_BYTES_DEFAULT, RingSettings};
use crate::process::timeouts::Timeouts;

/// Default rate of one core, in arrivals per second.
const CAPACITY_PER_CORE_RPS: u64 = 50_000;
/// Default maximum of arrivals in flight.
const MAX_IN_FLIGHT: u32 = 10_000;
/// Number of file descriptors reserved for everything except requests.
pub(crate) const SPARE_FDS: u64 = 100;
/// Maximum number of firing threads of one agent.
const CORES_MAX: u32 = 1_024;
/// Maximum size of a ring, in MiB.
const RING_MIB_MAX: u32 = 4_096;

/// Validated configuration of an agent.
#[derive(Debug, Clone)]
pub struct Config {
    /// Settings of the NATS server.
    pub nats: Options,
    /// Id of this agent.
    pub id: AgentId,
    /// The subjects of its tenant.
    pub subjects: Subjects,
    /// Maximum rate over all runs together.
    pub capacity: Rate,
    /// Number of firing threads.
    pub cores: u32,
    /// Maximum number of arrivals of one run in flight.
    pub max_in_flight: u32,
    /// File descriptors that this process may open.
    pub fds: u64,
    /// Targets that it may connect to.
    pub targets: TargetPolicy,
    /// Folder of the rings and of the spool; `None`: neither is written.
    pub rings: Option<RingSettings>,
    /// Folders in which files of rows are looked up.
    pub feeds: Vec<PathBuf>,
    /// Whether it takes scenarios in Python.
    pub python: bool,
    /// Labels that its operator set.
    pub labels: BTreeSet<Capability>,
    /// Whether the earlier process of this agent is known to be dead.
    pub predecessor_dead: bool,
    /// File to touch whenever a coordinator answers.
    pub alive_file: Option<PathBuf>,
    /// Whether only the configuration is to be checked.
    pub is_check: bool,
    /// Timeouts, intervals and limits.
    pub timeouts: Timeouts,
}

/// Environment of the process; tests substitute their own.
pub struct World<'a> {
    /// An environment variable.
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// This machine's name.
    pub host: String,
    /// Number of processors that this process may use.
    pub processors: u32,
    /// File descriptors that this process may open.
    pub fds: u64,
    /// Whether this program contains a Python interpreter.
    pub has_python: bool,
}

/// Fires the shards of load tests that a LoadPilot coordinator assigns to it.
#[derive(Parser)]
#[command(name = "loadpilot-agent", version)]
struct Flags {
    #[command(flatten)]
    nats: NatsFlags,
    /// The same as --nats-url nats://HOST:PORT (or env COORDINATOR)
    #[arg(long, value_name = "HOST:PORT", conflicts_with_all = ["connect", "nats_url"])]
    coordinator: Option<String>,
    /// Name of this agent, the same at every start (or env AGENT_ID; default: host and process)
    #[arg(long, visible_alias = "agent-id")]
    id: Option<String>,
    /// What runs may ask of their agents (run --need zone=eu); repeatable
    #[arg(long, value_name = "KEY=VALUE")]
    label: Vec<String>,
    /// Take scenarios in Python, or do not start where this program has none in it
    #[arg(long, conflicts_with = "no_python")]
    python: bool,
    /// Take compiled scenarios only
    #[arg(long)]
    no_python: bool,
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
    /// Folder with files of rows, named as in the folder of the scenario; repeatable (or env
    /// AGENT_FEEDS, by colons)
    ///
    /// A file is used only if its size and SHA-256 are those of the run. Files of up to 64 MiB need
    /// not be there: the object store brings them.
    #[arg(long, value_name = "DIR")]
    feeds: Vec<PathBuf>,
    /// What agents may connect to beside public addresses: a network such as 10.1.0.0/16, an
    /// address, a host name, or unix:/folder; repeatable (or env AGENT_ALLOW_TARGET, by commas)
    ///
    /// Loopback, private, link-local and cloud metadata addresses and Unix sockets are closed
    /// unless this opens them; cloud metadata only if it names the address itself. The NATS server
    /// of the agent is always closed.
    #[arg(long, value_name = "CIDR|HOST|unix:DIR")]
    allow_target: Vec<String>,
    /// Accept plans with a proxy (or env AGENT_ALLOW_PROXY=true)
    ///
    /// The agent judges the proxy's own address only: what lies behind the proxy is open to every
    /// plan that names it.
    #[arg(long)]
    allow_proxy: bool,
    /// This agent belongs to a stack of the user's own machine: loopback and private networks are
    /// open to it
    #[arg(long, hide = true)]
    local_stack: bool,
    /// A file that is touched whenever a coordinator has answered: for health checks
    ///
    /// An agent that is of use touches it every second (--heartbeat). In a folder that exists, best
    /// one in memory.
    #[arg(long, value_name = "FILE")]
    alive_file: Option<PathBuf>,
    /// Say what is wrong with flags and environment, and start nothing
    #[arg(long)]
    check_config: bool,
    /// The earlier process of this agent is known to be dead: its shards need not wait
    #[arg(long)]
    predecessor_dead: bool,
    /// Time between heartbeats [default: 1s]
    #[arg(long, value_name = "DURATION")]
    heartbeat: Option<String>,
    /// Time without an answer after which it stops by itself [default: 7s]
    ///
    /// Less than the coordinators' --lost-after, and known to them as --fence-after.
    #[arg(long, value_name = "DURATION")]
    fence: Option<String>,
    /// Time without a coordinator after which it stops by itself [default: 60s]
    #[arg(long, value_name = "DURATION")]
    no_coordinator: Option<String>,
    /// Time after SIGTERM for other agents to take its shards over (or env AGENT_HAND_OVER)
    /// [default: 30s; 0s: it does not wait]
    ///
    /// It serves its shards until then, so that no arrival is lost. A process that ends it must
    /// give it this time, that of the longest call, and ten seconds.
    #[arg(long, value_name = "DURATION")]
    hand_over: Option<String>,
}

/// Why the configuration is invalid.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// Unknown or conflicting flags, or a request for help or version.
    #[error("{0}")]
    Flags(#[from] clap::Error),
    /// All invalid values.
    #[error("{0}")]
    Values(#[from] Refusal),
}

impl Config {
    /// Reads flags (program name first) and `world`.
    ///
    /// # Errors
    /// [`ConfigError`] with all invalid values.
    pub fn read(
        args: impl Iterator<Item = String>,
        world: &World<'_>,
    ) -> Result<Self, ConfigError> {
        let flags = Flags::try_parse_from(args)?;
        let mut problems = Problems::default();
        let nats = nats(&flags, world, &mut problems);
        let id = flags.id.clone().or_else(|| (world.env)("AGENT_ID"));
        let id = id.unwrap_or_else(|| default_id(&world.host));
        let id = problems.take(AgentId::parse(&id).map_err(|problem| at("id", problem)));
        let subjects = problems.take(subjects(&flags));
        let cores = problems.take(cores(&flags, world));
        let per_core = Rate::per_second(CAPACITY_PER_CORE_RPS);
        let capacity = match &flags.capacity {
            Some(text) => problems.take(capacity(text)),
            None => cores.map(|cores| Rate(per_core.0 * u64::from(cores))),
        };
        let max_in_flight = problems.take(max_in_flight(&flags, world));
        let rings = problems.take(rings(&flags, world)).flatten();
        let feeds = problems.take(feeds(&flags, world)).unwrap_or_default();
        let alive_file = problems.take(alive_file(&flags)).flatten();
        let python = problems.take(python(&flags, world)).unwrap_or_default();
        let targets = targets(&flags, world, &mut problems);
        let labels = labels(&flags, &mut problems);
        let timeouts = timeouts(&flags, world, &mut problems);
        let parts = (nats, id, subjects, capacity, cores, max_in_flight);
        let (Some(nats), Some(id), Some(subjects), Some(capacity), Some(cores), Some(in_flight)) =
            parts
        else {
            return Err(problems.refusal().into());
        };
        if !problems.list.is_empty() {
            return Err(problems.refusal().into());
        }
        Ok(Self {
            targets: targets.with_own_server(&nats.url),
            nats,
            id,
            subjects,
            capacity,
            cores,
            max_in_flight: in_flight,
            fds: world.fds,
            rings,
            feeds,
            python,
            labels,
            predecessor_dead: flags.predecessor_dead,
            alive_file,
            is_check: flags.check_config,
            timeouts,
        })
    }
}

/// Collects the problems of all settings.
#[derive(Default)]
struct Problems {
    list: Vec<Problem>,
}

impl Problems {
    fn take<T>(&mut self, found: Result<T, Problem>) -> Option<T> {
        found.map_err(|problem| self.list.push(problem)).ok()
    }

    fn refusal(self) -> Refusal {
        Refusal {
            problems: self.list,
        }
    }
}

fn at(field: &str, problem: Problem) -> Problem {
    Problem {
        field: field.to_owned(),
        ..problem
    }
}

/// The NATS server; `--coordinator` and `COORDINATOR` are other names for its address.
fn nats(flags: &Flags, world: &World<'_>, problems: &mut Problems) -> Option<Options> {
    let env = |name: &str| (world.env)(name).filter(|value| !value.is_empty());
    let url = |address: String| format!("nats://{address}");
    let env = |name: &str| match (name, &flags.coordinator) {
        ("NATS_URL", Some(address)) => Some(url(address.clone())),
        ("NATS_URL", None) => env("NATS_URL").or_else(|| env("COORDINATOR").map(url)),
        _ => env(name),
    };
    match flags.nats.read(env) {
        Ok(options) => Some(Options {
            prefix: flags.prefix.clone(),
            ..options
        }),
        Err(invalid) => {
            let problem = |one: InvalidSetting| Problem::new(one.flag, one.rule, one.found);
            problems.list.extend(invalid.into_iter().map(problem));
            None
        }
    }
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

/// Whether the agent takes scenarios in Python: if it can, unless a flag says otherwise.
fn python(flags: &Flags, world: &World<'_>) -> Result<bool, Problem> {
    if flags.python && !world.has_python {
        let rule = "must be left out: this program has no Python in it, `loadpilot agent` has";
        return Err(Problem::new("python", rule, "--python"));
    }
    Ok(world.has_python && !flags.no_python)
}

fn labels(flags: &Flags, problems: &mut Problems) -> BTreeSet<Capability> {
    let few = flags.label.len() <= limits::NEEDS_MAX;
    let many = Problem::new("label", "must be at most 20", flags.label.len());
    problems.take(if few { Ok(()) } else { Err(many) });
    let read = |text: &String| problems.take(Capability::label("label", text));
    flags.label.iter().filter_map(read).collect()
}

/// The limit by flag and file descriptors; that of the plan applies later.
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

/// Folder and size of the rings. Whether the folder is writable is checked when a run is prepared:
/// the disk may fill up in between.
fn rings(flags: &Flags, world: &World<'_>) -> Result<Option<RingSettings>, Problem> {
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
    Ok(folder.map(|folder| RingSettings { folder, bytes_max }))
}

/// Folders of files of rows.
fn feeds(flags: &Flags, world: &World<'_>) -> Result<Vec<PathBuf>, Problem> {
    let from_env = (world.env)("AGENT_FEEDS").unwrap_or_default();
    let folders = match flags.feeds.is_empty() {
        false => flags.feeds.clone(),
        true => std::env::split_paths(&from_env)
            .filter(|path| !path.as_os_str().is_empty())
            .collect(),
    };
    match folders.iter().find(|path| !path.is_dir()) {
        None => Ok(folders),
        Some(path) => Err(Problem::new("feeds", "must be a directory", path.display())),
    }
}

/// Checks the path only. The agent creates the file later, so that a check of the configuration
/// leaves no file behind.
fn alive_file(flags: &Flags) -> Result<Option<PathBuf>, Problem> {
    let Some(path) = &flags.alive_file else {
        return Ok(None);
    };
    let folder = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    if path.is_dir() || folder.is_some_and(|folder| !folder.is_dir()) {
        let rule = "must be a file in a folder that exists";
        return Err(Problem::new("alive-file", rule, path.display()));
    }
    Ok(Some(path.clone()))
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

fn targets(flags: &Flags, world: &World<'_>, problems: &mut Problems) -> TargetPolicy {
    let base = || match flags.local_stack {
        true => TargetPolicy::local(),
        false => TargetPolicy::fleet(),
    };
    let from_env = (world.env)(targets::VARIABLE).unwrap_or_default();
    let policy = targets::read(base(), &flags.allow_target, &from_env);
    let policy = policy.unwrap_or_else(|found| {
        problems.list.extend(found);
        base()
    });
    let proxies = targets::allows_proxies((world.env)(targets::PROXY_VARIABLE));
    match flags.allow_proxy || problems.take(proxies).unwrap_or(false) {
        true => policy.with_proxies(),
        false => policy,
    }
}

fn timeouts(flags: &Flags, world: &World<'_>, problems: &mut Problems) -> Timeouts {
    let mut timeouts = Timeouts::default();
    let mut hand_over = flags.hand_over.clone();
    if flags.local_stack {
        // The agents of a stack end together: no agent is left to take over.
        timeouts.hand_over = Duration::ZERO;
    } else {
        hand_over = hand_over.or_else(|| (world.env)("AGENT_HAND_OVER"));
    }
    let places = [
        ("heartbeat", &flags.heartbeat, &mut timeouts.heartbeat),
        ("fence", &flags.fence, &mut timeouts.fence),
        (
            "no-coordinator",
            &flags.no_coordinator,
            &mut timeouts.no_coordinator,
        ),
        ("hand-over", &hand_over, &mut timeouts.hand_over),
    ];
    for (field, text, place) in places {
        let parsed = text.as_ref().map(|text| parse_duration_us(field, text));
        if let Some(us) = parsed.and_then(|parsed| problems.take(parsed)) {
            *place = Duration::from_micros(us);
        }
    }
    timeouts
}

/// Host and process id, so that two agents of one machine have different ids.
fn default_id(host: &str) -> String {
    let token = |c: char| match c.to_ascii_lowercase() {
        c @ ('a'..='z' | '0'..='9' | '-' | '_') => c,
        _ => '-',
    };
    let host: String = host.chars().take(64).map(token).collect();
    format!("{host}-{}", std::process::id())
}

mod targets;
#[cfg(test)]
mod tests;
