//! The configuration: read once from arguments and environment before anything is opened. A bad
//! one names every mistake. The token must never be printed.

use clap::Parser;
use loadpilot_bus::{InvalidSetting, NatsFlags, Options};
use loadpilot_engine::check::target_policy::TargetPolicy;
use loadpilot_engine::control::decide::Policy;
use loadpilot_events::refusal::Problem;
use loadpilot_events::units::parse_duration_us;
use loadpilot_events::wire::subject::{DEFAULT_PREFIX, DEFAULT_TENANT, Subjects};
use loadpilot_events::{RunId, Timestamp};
use thiserror::Error;

use crate::http::{HttpArgs, HttpConfig};
use crate::legacy_flags;

/// Says which targets the agents open when no flag does.
const TARGETS_VARIABLE: &str = "COORDINATOR_ALLOW_TARGET";
/// Decides what happens next in the load tests of one tenant. Any number may run at once.
#[derive(Parser)]
#[command(name = "loadpilot-coordinator", version)]
struct Args {
    #[command(flatten)]
    nats: NatsFlags,
    /// Refuse runs that need Python on agents: nobody's code runs there then, only requests.
    ///
    /// Say it to all coordinators of a tenant: any of them decides.
    #[arg(long)]
    compiled_only: bool,
    /// What the agents of this fleet open of link-local, cloud metadata and other addresses that
    /// are closed everywhere, or unix:/folder; repeatable (or env COORDINATOR_ALLOW_TARGET, by
    /// commas).
    ///
    /// Plans that name such an address are refused otherwise. Each agent has the last word.
    #[arg(long, value_name = "CIDR|HOST|unix:DIR")]
    allow_target: Vec<String>,
    /// Say what is wrong with flags and environment, and start nothing.
    #[arg(long)]
    check_config: bool,
    #[command(flatten)]
    http: HttpArgs,
    /// DrawScope runs.
    #[arg(long, default_value = DEFAULT_TENANT)]
    tenant: String,
    /// The first token of every subject.
    #[arg(long, default_value = DEFAULT_PREFIX)]
    prefix: String,
    /// Seal the unfinished runs that were asked for before this instant (µs since the Unix epoch),
    /// instead of going on with them: a local stack names its own start.
    #[arg(long, value_name = "MICROSECONDS")]
    seal_asked_before: Option<u64>,
    /// Go on with this one of them all the same.
    #[arg(long, value_name = "RUN", requires = "seal_asked_before")]
    spare: Option<String>,
    /// An agent that is not heard for this long is lost [default: 10s]
    #[arg(long, value_name = "DURATION")]
    lost_after: Option<String>,
    /// Agents that hear nothing stop by themselves after this long: what they are given as --fence
    /// [default: 7s]
    #[arg(long, value_name = "DURATION")]
    fence_after: Option<String>,
    /// Agents that know of decisions which they cannot get stop by themselves after this long
    /// [default: 2s]
    #[arg(long, value_name = "DURATION")]
    behind_after: Option<String>,
    /// Room between a decision and the tick at which it takes effect [default: 1s]
    #[arg(long, value_name = "DURATION")]
    takeover_room: Option<String>,
    /// A command that is not heard for this long is gone, and its run stops [default: 10s]
    #[arg(long, value_name = "DURATION")]
    owner_gone_after: Option<String>,
    /// How long agents may take to get ready [default: 15s]
    #[arg(long, value_name = "DURATION")]
    ready_within: Option<String>,
    /// How long agents may take to say their last words [default: 15s]
    #[arg(long, value_name = "DURATION")]
    finish_within: Option<String>,
    /// How long a run waits for an agent when it has none left [default: 30s]
    #[arg(long, value_name = "DURATION")]
    nobody_for: Option<String>,
}

/// What a coordinator is to do.
#[derive(Debug, Clone)]
pub struct Config {
    /// How to reach the server.
    pub bus: Options,
    /// DrawScope runs it decides, and by which times.
    pub settings: Settings,
    /// Where it takes runs over HTTP, if it does.
    pub http: Option<HttpConfig>,
    /// Whether this is all that was asked for: nothing is to be started.
    pub is_check: bool,
}

/// What the loop needs of the configuration.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The subjects of the tenant.
    pub subjects: Subjects,
    /// The times by which the fleet lives.
    pub policy: Policy,
    /// Unfinished runs that were asked for before this instant are sealed, not continued.
    pub seal_asked_before: Option<Timestamp>,
    /// But this one is continued.
    pub spared: Option<RunId>,
}

/// Everything that is wrong with the configuration.
#[derive(Debug, Error)]
pub enum Mistakes {
    /// The arguments cannot be parsed, or ask for help.
    #[error(transparent)]
    Usage(#[from] clap::Error),
    /// Their values are wrong.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Values(Vec<Problem>),
}

impl Config {
    /// Reads the configuration from `args` (the first is the program's name) and `env`.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn read(
        args: impl IntoIterator<Item = String>,
        env: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, Mistakes> {
        let args: Vec<String> = args.into_iter().collect();
        let mut problems = legacy_flags::problems(&args);
        if !problems.is_empty() {
            return Err(Mistakes::Values(problems));
        }
        let args = Args::try_parse_from(args)?;
        let bus = connection(&args, &env, &mut problems);
        let http = HttpConfig::read(&args.http, &env, &mut problems);
        let policy = Policy {
            targets: targets(&args, &env, &mut problems),
            ..policy(&args, &mut problems)
        };
        let subjects = Subjects::new(&args.prefix, &args.tenant);
        let subjects = subjects.map_err(|problem| problems.push(problem)).ok();
        let spared = args.spare.as_deref().map(RunId::parse).transpose();
        let spared = spared.map_err(|problem| problems.push(problem)).ok();
        match (bus, subjects, spared) {
            (Some(bus), Some(subjects), Some(spared)) if problems.is_empty() => {
                let seal_asked_before = args.seal_asked_before.map(Timestamp);
                let settings = Settings {
                    subjects,
                    policy,
                    seal_asked_before,
                    spared,
                };
                Ok(Self {
                    bus,
                    settings,
                    http,
                    is_check: args.check_config,
                })
            }
            _ => Err(Mistakes::Values(problems)),
        }
    }
}

fn connection(
    args: &Args,
    env: impl Fn(&str) -> Option<String>,
    problems: &mut Vec<Problem>,
) -> Option<Options> {
    match args.nats.read(env) {
        Ok(options) => Some(Options {
            name: "loadpilot-coordinator".to_owned(),
            prefix: args.prefix.clone(),
            ..options
        }),
        Err(invalid) => {
            let problem =
                |one: InvalidSetting| Problem::new(format!("--{}", one.flag), one.rule, one.found);
            problems.extend(invalid.into_iter().map(problem));
            None
        }
    }
}

fn targets(
    args: &Args,
    env: impl Fn(&str) -> Option<String>,
    problems: &mut Vec<Problem>,
) -> TargetPolicy {
    let from_env = env(TARGETS_VARIABLE).unwrap_or_default();
    let policy = TargetPolicy::local();
    let allowed = match args.allow_target.is_empty() {
        // What a flag says goes before all of the environment.
        false => policy.allow(
            "--allow-target",
            args.allow_target.iter().map(String::as_str),
        ),
        true => {
            let words = from_env.split([',', ' ']).filter(|word| !word.is_empty());
            policy.allow(TARGETS_VARIABLE, words)
        }
    };
    allowed.unwrap_or_else(|wrong| {
        problems.extend(wrong);
        TargetPolicy::local()
    })
}

fn policy(args: &Args, problems: &mut Vec<Problem>) -> Policy {
    let mut policy = Policy {
        compiled_only: args.compiled_only,
        ..Policy::default()
    };
    let given = [
        ("--lost-after", &args.lost_after, &mut policy.lost_us),
        ("--fence-after", &args.fence_after, &mut policy.fence_us),
        ("--behind-after", &args.behind_after, &mut policy.behind_us),
        (
            "--takeover-room",
            &args.takeover_room,
            &mut policy.takeover_us,
        ),
        (
            "--owner-gone-after",
            &args.owner_gone_after,
            &mut policy.owner_us,
        ),
        ("--ready-within", &args.ready_within, &mut policy.ready_us),
        (
            "--finish-within",
            &args.finish_within,
            &mut policy.finish_us,
        ),
        ("--nobody-for", &args.nobody_for, &mut policy.no_holder_us),
    ];
    for (flag, text, time_us) in given {
        let Some(text) = text else { continue };
        match parse_duration_us(flag, text) {
            Ok(us) if us > 0 => *time_us = us,
            Ok(_) => problems.push(Problem::new(flag, "must be longer than 0", text)),
            Err(problem) => problems.push(problem),
        }
    }
    if policy.fence_us >= policy.lost_us {
        let rule = "must be shorter than --lost-after: a lost agent must have stopped by then";
        problems.push(Problem::new(
            "--fence-after",
            rule,
            format!("{} µs", policy.fence_us),
        ));
    }
    policy
}

#[cfg(test)]
mod tests;
