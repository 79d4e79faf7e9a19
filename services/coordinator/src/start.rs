//! From arguments to exit code: the story of the program, for the binary and for Python alike.

use std::io::IsTerminal;
use std::pin::pin;

use loadpilot_bus::{Bus, Fault, Options};
use tokio::runtime::Builder;
use tracing_subscriber::EnvFilter;

use crate::clock::Clock;
use crate::config::{Config, Mistakes};
use crate::http::{HttpConfig, Interface, Status};
use crate::shell::{Io, run};

/// Threads of a coordinator: one for the loop, one so that clock samples do not wait for it.
const THREADS: usize = 2;

/// What is told unless `RUST_LOG` says otherwise.
const LOG_FILTER: &str = "info,async_nats=warn";

/// Exit codes, as everywhere in the product.
const USAGE: i32 = 2;
const INFRASTRUCTURE: i32 = 4;

/// Runs a coordinator until SIGTERM or SIGINT and returns the exit code: 0 when it was ended, 2
/// for a bad configuration (or the help text's own code), 4 when NATS cannot be used.
///
/// The first of `args` is the program's name.
pub fn main_from(args: impl Iterator<Item = String>) -> i32 {
    let config = match Config::read(args, |name| std::env::var(name).ok()) {
        Ok(config) => config,
        Err(Mistakes::Usage(error)) => {
            // Nothing can be said where this cannot be said.
            let _ = error.print();
            return error.exit_code();
        }
        Err(mistakes) => {
            eprintln!("{mistakes}");
            return USAGE;
        }
    };
    if config.is_check {
        println!("the configuration can be used");
        return 0;
    }
    listen_to_tracing();
    let runtime = Builder::new_multi_thread()
        .worker_threads(THREADS)
        .enable_all()
        .build();
    let ended = match runtime {
        Ok(runtime) => runtime.block_on(coordinate(config)),
        Err(error) => Err(error.to_string()),
    };
    match ended {
        Ok(()) => 0,
        Err(why) => {
            eprintln!("loadpilot-coordinator: {why}");
            INFRASTRUCTURE
        }
    }
}

async fn coordinate(config: Config) -> Result<(), String> {
    let mut shutdown = pin!(asked_to_end().map_err(|error| error.to_string())?);
    // A port that is taken is told before anything is done.
    let listener = config.http.as_ref().map(HttpConfig::bind).transpose()?;
    let told = |fault: Fault| fault.to_string();
    let open = async {
        let bus = Bus::connect(&config.bus).await.map_err(told)?;
        let status = Status::default();
        let interface = match config.http.zip(listener) {
            None => None,
            Some((http, listener)) => {
                let (nats, status) = (beside(&config.bus), status.clone());
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
    let ended = tokio::select! {
        end = coordinating.as_mut() => end.map_err(told),
        () = shutdown => Ok(()),
    };
    if let Some(interface) = interface {
        // Decisions go on meanwhile: the runs of callers are to be stopped in order.
        tokio::select! {
            () = interface.end() => {}
            _ = coordinating, if ended.is_ok() => {}
        }
    }
    ended
}

/// The same server for the HTTP interface, which must not hold up what is decided.
fn beside(nats: &Options) -> Options {
    Options {
        name: format!("{}-http", nats.name),
        ..nats.clone()
    }
}

/// Listens at once, so that a signal during the connect counts too.
#[cfg(unix)]
fn asked_to_end() -> std::io::Result<impl Future<Output = ()>> {
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
fn asked_to_end() -> std::io::Result<impl Future<Output = ()>> {
    Ok(async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}

/// Messages go to stderr; `RUST_LOG` chooses which. Whoever embeds this may have chosen already.
fn listen_to_tracing() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(LOG_FILTER));
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .try_init();
}
