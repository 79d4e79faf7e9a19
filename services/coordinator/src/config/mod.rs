//! The configuration: read once from flags and environment, before anything opens. An invalid
//! configuration lists all problems. No message contains the token.

use clap::Parser;
use loadpilot_bus::{InvalidSetting, Limits, NatsFlags, Options};
use loadpilot_engine::check::target_policy::TargetPolicy;
use loadpilot_engine::control::decide::Policy;
use loadpilot_engine::control::tenants::Tenants;
use loadpilot_events::refusal::Problem;
use loadpilot_events::units::parse_duration_us;
use loadpilot_events::wire::subject::{DEFAULT_PREFIX, DEFAULT_TENANT, Subjects};
use loadpilot_events::{RunId, TenantId, Timestamp};
use thiserror::Error;

use crate::http::{HttpArgs, HttpConfig};
use crate::legacy_flags;
use crate::tenants;

/// Variable with the targets that agents allow, if no flag names one.
const TARGETS_VARIABLE: &str = "COORDINATOR_ALLOW_TARGET";
/// Variable with the storage of the log, if no flag sets it.
const STORAGE_VARIABLE: &str = "COORDINATOR_LOG_STORAGE";
/// Minimum storage of the log in bytes: its smallest part then has room for some secrets.
const STORAGE_MIN: u64 = 128 << 20;

/// Decides the next steps of the load tests of one tenant, or of all that share a fleet. Any number
/// of coordinators may run.
#[derive(Parser)]
#[command(name = "loadpilot-coordinator", version)]
struct Args {
    #[command(flatten)]
    nats: NatsFlags,
    /// Refuse runs that need Python on agents: no user's code runs there, only requests.
    ///
    /// Give it to all coordinators of a tenant: any of them decides.
    #[arg(long)]
    compiled_only: bool,
    /// Accept plans for targets that are closed by default: link-local, cloud metadata or other
    /// addresses, or unix:/folder; repeatable (or env COORDINATOR_ALLOW_TARGET, by commas).
    ///
    /// Each agent still refuses a target that it does not open itself.
    #[arg(long, value_name = "CIDR|HOST|unix:DIR")]
    allow_target: Vec<String>,
    /// Storage that the streams of the log may take together, such as 1GiB, when this coordinator
    /// creates them; at least 128MiB (or env COORDINATOR_LOG_STORAGE) [default: 2.6GiB]
    ///
    /// For an account that allows less. Streams that exist keep their sizes. It counts before the
    /// sizes of a --connect file, whose number of copies stays.
    #[arg(long, value_name = "SIZE")]
    log_storage: Option<String>,
    /// List all problems of flags and environment, and start nothing.
    #[arg(long)]
    check_config: bool,
    /// File of the tenants that share the fleet (TOML): a table [tenants.NAME] for each, with its
    /// targets and limits.
    ///
    /// Runs of other tenants are refused, and so are runs that need Python on agents. --tenant
    /// names the tenant of the fleet's own coordinators and agents. Give it to all coordinators.
    #[arg(long, value_name = "FILE")]
    tenants: Option<String>,
    #[command(flatten)]
    http: HttpArgs,
    /// Tenant: second token of every subject.
    #[arg(long, default_value = DEFAULT_TENANT)]
    tenant: String,
    /// First token of every subject.
    #[arg(long, default_value = DEFAULT_PREFIX)]
    prefix: String,
    /// Seal unfinished runs that were requested before this instant (µs since the Unix epoch)
    /// instead of continuing them: a local stack gives its own start.
    #[arg(long, value_name = "MICROSECONDS")]
    seal_asked_before: Option<u64>,
    /// Continue this run, although it was requested before that instant.
    #[arg(long, value_name = "RUN", requires = "seal_asked_before")]
    spare: Option<String>,
    /// Time without a heartbeat after which an agent is lost [default: 10s]
    #[arg(long, value_name = "DURATION")]
    lost_after: Option<String>,
    /// Time without a message after which agents stop by themselves: the same as their --fence
    /// [default: 7s]
    #[arg(long, value_name = "DURATION")]
    fence_after: Option<String>,
    /// Time after which agents that cannot read a decision stop by themselves [default: 2s]
    #[arg(long, value_name = "DURATION")]
    behind_after: Option<String>,
    /// Time between a decision and the tick at which it takes effect [default: 1s]
    #[arg(long, value_name = "DURATION")]
    takeover_room: Option<String>,
    /// Time without a heartbeat of a command after which its run stops [default: 10s]
    #[arg(long, value_name = "DURATION")]
    owner_gone_after: Option<String>,
    /// Timeout for agents to get ready [default: 15s]
    #[arg(long, value_name = "DURATION")]
    ready_within: Option<String>,
    /// Timeout for agents to report their final totals [default: 15s]
    #[arg(long, value_name = "DURATION")]
    finish_within: Option<String>,
    /// Timeout for a new agent when a run has none left [default: 30s]
    #[arg(long, value_name = "DURATION")]
    nobody_for: Option<String>,
}

/// Validated configuration of a coordinator.
#[derive(Debug, Clone)]
pub struct Config {
    /// Settings of the NATS server.
    pub bus: Options,
    /// Settings of the loop.
    pub settings: Settings,
    /// Settings of the HTTP interface; `None`: it is off.
    pub http: Option<HttpConfig>,
    /// Whether only the configuration is to be checked.
    pub is_check: bool,
}

/// Settings of the loop.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The subjects of the tenant.
    pub subjects: Subjects,
    /// Timeouts and rules of the decisions.
    pub policy: Policy,
    /// Unfinished runs that were requested before this instant are sealed, not continued.
    pub seal_asked_before: Option<Timestamp>,
    /// Exception: this run is continued.
    pub spared: Option<RunId>,
}

impl Settings {
    /// Whether several tenants share the fleet.
    pub(crate) fn is_shared(&self) -> bool {
        self.policy.tenants.is_some()
    }

    /// The tenants, if their runs are admitted before they are created.
    pub(crate) fn admits(&self) -> Option<&Tenants> {
        let tenants = self.policy.tenants.as_ref();
        tenants.filter(|tenants| tenants.limits_admission())
    }

    /// Whether the fleet serves `tenant`.
    pub(crate) fn serves(&self, tenant: &TenantId) -> bool {
        match &self.policy.tenants {
            Some(tenants) => tenants.rules.contains_key(tenant),
            None => tenant == self.subjects.tenant_id(),
        }
    }
}

/// Why the configuration is invalid.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// Unknown or conflicting flags, or a request for help or version.
    #[error(transparent)]
    Usage(#[from] clap::Error),
    /// All invalid values.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Values(Vec<Problem>),
}

impl Config {
    /// Reads `args` (program name first) and `env`.
    ///
    /// # Errors
    /// [`ConfigError`] with all invalid values.
    pub fn read(
        args: impl IntoIterator<Item = String>,
        env: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        let args: Vec<String> = args.into_iter().collect();
        let mut problems = legacy_flags::problems(&args);
        if !problems.is_empty() {
            return Err(ConfigError::Values(problems));
        }
        let args = Args::try_parse_from(args)?;
        let bus = connection(&args, &env, &mut problems);
        let http = HttpConfig::read(&args.http, &env, &mut problems);
        let tenants = args.tenants.as_deref().map(tenants::read).transpose();
        let tenants = tenants.unwrap_or_else(|found| {
            problems.extend(found);
            None
        });
        let policy = Policy {
            // A tenant's code would have access to the credentials with which agents serve all
            // tenants.
            compiled_only: args.compiled_only || tenants.is_some(),
            tenants,
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
            _ => Err(ConfigError::Values(problems)),
        }
    }
}

/// Reads a size such as 500MiB, in whole bytes.
fn parse_size(field: &str, text: &str) -> Result<u64, Problem> {
    let rule = "must be a size such as 500MiB, with one of MiB, GiB, MB, GB";
    let invalid = || Problem::new(field, rule, text);
    let digits = text.trim_end_matches(|sign: char| sign.is_ascii_alphabetic());
    let unit = match text.get(digits.len()..) {
        Some("MiB") => 1 << 20,
        Some("GiB") => 1 << 30,
        Some("MB") => 1_000_000,
        Some("GB") => 1_000_000_000,
        _ => return Err(invalid()),
    };
    let number: u64 = digits.trim_end().parse().map_err(|_| invalid())?;
    number.checked_mul(unit).ok_or_else(invalid)
}

fn connection(
    args: &Args,
    env: impl Fn(&str) -> Option<String>,
    problems: &mut Vec<Problem>,
) -> Option<Options> {
    let storage = args.log_storage.clone().or_else(|| {
        let is_set = |text: &String| !text.is_empty();
        env(STORAGE_VARIABLE).filter(is_set)
    });
    let limits = storage.map(|text| {
        let total = parse_size("--log-storage", &text);
        let total = total.and_then(|total| match total {
            STORAGE_MIN.. => Ok(total),
            _ => Err(Problem::new(
                "--log-storage",
                "must be at least 128MiB",
                &text,
            )),
        });
        total.map(Limits::within)
    });
    let limits = limits.transpose().unwrap_or_else(|problem| {
        problems.push(problem);
        None
    });
    match args.nats.read(env) {
        Ok(options) => Some(Options {
            name: "loadpilot-coordinator".to_owned(),
            prefix: args.prefix.clone(),
            limits: limits.map_or(options.limits, |sizes| Limits {
                replicas: options.limits.replicas,
                ..sizes
            }),
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
        // A flag replaces the whole variable.
        false => policy.allow(
            "--allow-target",
            args.allow_target.iter().map(String::as_str),
        ),
        true => {
            let words = from_env.split([',', ' ']).filter(|word| !word.is_empty());
            policy.allow(TARGETS_VARIABLE, words)
        }
    };
    allowed.unwrap_or_else(|invalid| {
        problems.extend(invalid);
        TargetPolicy::local()
    })
}

fn policy(args: &Args, problems: &mut Vec<Problem>) -> Policy {
    let mut policy = Policy::default();
    let flags = [
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
    for (flag, text, time_us) in flags {
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
