//! From arguments to exit code: the program, for the binary and for the Python module.

use std::io::IsTerminal;
use std::pin::pin;

use clap::error::ErrorKind;
use loadpilot_bus::{Bus, Fault, Options};
use loadpilot_events::build_text;
use tokio::runtime::Builder;
use tracing_subscriber::EnvFilter;

use crate::clock::Clock;
use crate::config::{Config, ConfigError};
use crate::http::{HttpConfig, Interface, Status};
use crate::shell::{Io, run};

/// Number of threads: one for the loop, one so that clock samples do not wait for it.
const THREADS: usize = 2;

/// Default filter of log messages; `RUST_LOG` overrides it. The bus logs, once a minute, what the
/// connector would log at each attempt.
const LOG_FILTER: &str = "info,async_nats=warn,async_nats::connector=off";

/// Exit codes, as everywhere in the product.
const USAGE: i32 = 2;
const INFRASTRUCTURE: i32 = 4;

/// Runs a coordinator until SIGTERM or SIGINT. Returns the exit code: 0 after a signal, 2 for an
/// invalid configuration (0 for the help text), 4 when NATS cannot be used.
///
/// The first of `args` is the program's name; `commit` is the commit that `--version` prints.
pub fn main_from(args: impl Iterator<Item = String>, commit: Option<&str>) -> i32 {
    let config = match Config::read(args, |name| std::env::var(name).ok()) {
        Ok(config) => config,
        Err(ConfigError::Usage(error)) if error.kind() == ErrorKind::DisplayVersion => {
            println!("loadpilot-coordinator {}", build_text(commit));
            return 0;
        }
        Err(ConfigError::Usage(error)) => {
            // A closed output cannot be reported either.
            let _ = error.print();
            return error.exit_code();
        }
        Err(error) => {
            eprintln!("{error}");
            return USAGE;
        }
    };
    if config.is_check {
        println!("the configuration can be used");
        return 0;
    }
    init_logging();
    let runtime = Builder::new_multi_thread()
        .worker_threads(THREADS)
        .enable_all()
        .build();
    let result = match runtime {
        Ok(runtime) => runtime.block_on(coordinate(config)),
        Err(error) => Err(error.to_string()),
    };
    match result {
        Ok(()) => 0,
        Err(why) => {
            eprintln!("loadpilot-coordinator: {why}");
            INFRASTRUCTURE
        }
    }
}

async fn coordinate(config: Config) -> Result<(), String> {
    let mut shutdown = pin!(shutdown_signal().map_err(|error| error.to_string())?);
    // A port in use is reported before anything else happens.
    let listener = config.http.as_ref().map(HttpConfig::bind).transpose()?;
    let text = |fault: Fault| fault.to_string();
    let open = async {
        let bus = Bus::connect(&config.bus).await.map_err(text)?;
        let status = Status::default();
        let interface = match config.http.zip(listener) {
            None => None,
            Some((http, listener)) => {
                let (nats, status) = (http_connection(&config.bus), status.clone());
                let subjects = config.settings.subjects.clone();
                Some(Interface::start(http, listener, nats, subjects, status).await?)
            }
        };
        let io = Io {
            bus,
            clock: Clock::system(),
            settings: config.settings,
            status,
        };
        Ok::<_, String>((io, interface))
    };
    let (io, interface) = tokio::select! {
        opened = open => opened?,
        () = shutdown.as_mut() => return Ok(()),
    };
    let mut coordinating = pin!(run(io, std::future::pending()));
    let result = tokio::select! {
        end = coordinating.as_mut() => end.map_err(text),
        () = shutdown => Ok(()),
    };
    if let Some(interface) = interface {
        // Decisions continue meanwhile: the runs of HTTP callers are stopped by decisions.
        tokio::select! {
            () = interface.end() => {}
            _ = coordinating, if result.is_ok() => {}
        }
    }
    result
}

/// Options of the HTTP interface's own connection, so that it does not delay decisions.
fn http_connection(nats: &Options) -> Options {
    Options {
        name: format!("{}-http", nats.name),
        ..nats.clone()
    }
}

/// Registers the signal handlers at once, so that a signal while connecting counts too.
#[cfg(unix)]
fn shutdown_signal() -> std::io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

#[cfg(not(unix))]
fn shutdown_signal() -> std::io::Result<impl Future<Output = ()>> {
    Ok(async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}

/// Sends log messages to stderr, filtered by `RUST_LOG`; a subscriber set by the embedder stays.
fn init_logging() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(LOG_FILTER));
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .try_init();
}
