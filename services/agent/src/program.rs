//! The program: reads the configuration, connects, runs the agent, reports the end.

use std::io::IsTerminal as _;
use std::sync::Arc;
use std::time::Duration;

use clap::error::ErrorKind;
use loadpilot_bus::{Bus, Fault, Options};
use loadpilot_events::refusal::Refusal;
use loadpilot_events::{BootId, Holder, build_text};
use tracing_subscriber::EnvFilter;

use crate::fire;
use crate::fleet::agent::{self, Exit};
use crate::process::config::{Config, ConfigError, SPARE_FDS, World};
use crate::process::fd_limits;
use crate::process::liveness_file::LivenessFile;
use crate::process::nats_servers::NatsServers;
use crate::process::shell::Shell;
use crate::process::signals::{self, Shutdown};
use crate::users::script::Scripting;

/// Exit code of a usage error.
const USAGE: i32 = 2;
/// Exit code when NATS is unusable.
const INFRASTRUCTURE: i32 = 4;
/// Default log filter; `RUST_LOG` overrides it. The bus logs, once a minute, what the connector
/// would log at each attempt.
const LOG_FILTER_DEFAULT: &str = "info,async_nats=warn,async_nats::connector=off";
/// Retry delay of the first connection.
const CONNECT_PAUSE: Duration = Duration::from_millis(250);

/// Runs an agent until a signal ends it. `args` begins with the program's name; `commit` is the
/// commit that `--version` prints.
///
/// Returns the exit code: 0 drained and stored · 2 usage · 4 NATS unusable, or not everything
/// could be stored · 130 and 143 ended at once by a signal.
pub fn main_from(args: impl Iterator<Item = String>, commit: Option<&str>) -> i32 {
    main_with(args, commit, None)
}

/// The same with an interpreter for scenarios in Python.
pub fn main_with(
    args: impl Iterator<Item = String>,
    commit: Option<&str>,
    scripting: Option<Arc<dyn Scripting>>,
) -> i32 {
    let env = |name: &str| std::env::var(name).ok();
    let world = World {
        env: &env,
        host: host(),
        processors: processors(),
        fds: fd_limits::raise_limit(),
        has_python: scripting.is_some(),
    };
    let config = match Config::read(args, &world) {
        Ok(config) => config,
        Err(ConfigError::Flags(error)) if error.kind() == ErrorKind::DisplayVersion => {
            println!("loadpilot-agent {}", build_text(commit));
            return 0;
        }
        Err(unusable) => return print_problems(&unusable),
    };
    if config.is_check {
        println!("the configuration can be used");
        return 0;
    }
    let liveness_file = match config.alive_file.as_deref().map(LivenessFile::new) {
        Some(Err(problem)) => {
            let problems = vec![problem];
            return print_problems(&Refusal { problems }.into());
        }
        Some(Ok(file)) => Some(file),
        None => None,
    };
    log_to_stderr();
    fire::tune_allocator();
    if let Err(error) = fd_limits::make_room(u64::from(config.max_in_flight) + SPARE_FDS) {
        tracing::warn!(%error, "new connections may have to wait for the table of open files");
    }
    // One thread for NATS and decisions; firing has its own.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            tracing::error!(%error, "no runtime");
            return INFRASTRUCTURE;
        }
    };
    let end = runtime.block_on(serve(config, scripting, liveness_file));
    // Blocking tasks that hang do not keep the process alive.
    runtime.shutdown_background();
    end
}

async fn serve(
    config: Config,
    scripting: Option<Arc<dyn Scripting>>,
    liveness_file: Option<LivenessFile>,
) -> i32 {
    let mut shutdown = match signals::listen() {
        Ok(shutdown) => shutdown,
        Err(error) => {
            tracing::error!(%error, "no signals");
            return INFRASTRUCTURE;
        }
    };
    let bus = tokio::select! {
        bus = connect(&config) => bus,
        _ = shutdown.wait_for(|state| *state != Shutdown::No) => return 0,
    };
    let ended = match bus {
        Ok(bus) => {
            let shell = Shell {
                liveness_file,
                ..shell(config, scripting, bus)
            };
            look_up_nats_servers(&shell);
            agent::run(shell, shutdown).await
        }
        Err(fault) => Err(fault),
    };
    match ended {
        Ok(Exit::Left) => {
            tracing::info!("left");
            0
        }
        Ok(Exit::NotStored) => {
            tracing::error!("left, but NATS did not take everything in time");
            INFRASTRUCTURE
        }
        Ok(Exit::Killed(code)) => code,
        Err(fault) => {
            tracing::error!(%fault, "ends");
            INFRASTRUCTURE
        }
    }
}

/// Looks up the NATS servers while they are reachable: their addresses are needed for a run that is
/// prepared while a name cannot be resolved.
fn look_up_nats_servers(shell: &Shell) {
    let (servers, policy) = (shell.nats_servers.clone(), shell.targets.clone());
    tokio::spawn(async move {
        if let Err(error) = servers.denied_in(&policy).await {
            tracing::warn!(%error, "no run can be prepared before the name is resolved");
        }
    });
}

/// Retries while the server is unreachable: parts of a fleet start in any order.
async fn connect(config: &Config) -> Result<Bus, Fault> {
    let options = Options {
        name: format!("agent {}", config.id),
        ..config.nats.clone()
    };
    let mut is_logged = false;
    loop {
        match Bus::connect(&options).await {
            Err(fault @ Fault::Unreachable { .. }) => {
                if !std::mem::replace(&mut is_logged, true) {
                    tracing::warn!(%fault, "waits for NATS");
                }
                tokio::time::sleep(CONNECT_PAUSE).await;
            }
            other => return other,
        }
    }
}

fn shell(config: Config, scripting: Option<Arc<dyn Scripting>>, bus: Bus) -> Shell {
    let boot_id = BootId::from_ulid(ulid::Ulid::generate());
    tracing::info!(
        agent = %config.id, boot = %boot_id, cores = config.cores,
        rps = config.capacity.as_rps(), max_in_flight = config.max_in_flight,
        python = config.python && scripting.is_some(), "agent"
    );
    if config.rings.is_none() {
        tracing::info!(
            "no --state-dir: what this process has not reported is lost if it is killed"
        );
    }
    Shell {
        bus,
        home: config.subjects.clone(),
        subjects: config.subjects,
        me: Holder {
            agent: config.id,
            boot_id,
        },
        labels: config.labels,
        predecessor_dead: config.predecessor_dead,
        capacity: config.capacity,
        cores: config.cores,
        max_in_flight: config.max_in_flight,
        fds: config.fds,
        targets: config.targets,
        nats_servers: NatsServers::default(),
        rings: config.rings,
        feeds: config.feeds,
        liveness_file: None,
        scripting: scripting.filter(|_| config.python),
        timeouts: config.timeouts,
    }
}

/// Prints the problems, one line each, and returns the exit code; 0 for help and version.
fn print_problems(unusable: &ConfigError) -> i32 {
    match unusable {
        ConfigError::Flags(error) => {
            // If the terminal is gone, the error cannot be reported.
            let _ = error.print();
            if error.use_stderr() { USAGE } else { 0 }
        }
        ConfigError::Values(refusal) => {
            for problem in &refusal.problems {
                eprintln!("loadpilot-agent: {problem}");
            }
            USAGE
        }
    }
}

/// `RUST_LOG` decides what is shown. A second agent in one process keeps the logging of the first
/// one.
fn log_to_stderr() {
    let filter =
        EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(LOG_FILTER_DEFAULT));
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .try_init();
}

fn processors() -> u32 {
    let found = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    u32::try_from(found).unwrap_or(u32::MAX)
}

#[cfg(unix)]
fn host() -> String {
    let mut name = [0_u8; 256];
    // SAFETY: the buffer is as long as it is said to be.
    let done = unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len()) };
    let len = name
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(name.len());
    let found = String::from_utf8_lossy(&name[..len]).into_owned();
    if done == 0 && !found.is_empty() {
        found
    } else {
        "agent".to_owned()
    }
}

#[cfg(not(unix))]
fn host() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_else(|_| "agent".to_owned())
}
