//! From arguments to exit code: the story of the program, for the binary and for Python alike.

use std::io::IsTerminal;

use loadpilot_bus::{Bus, Fault};
use tokio::runtime::Builder;
use tracing_subscriber::EnvFilter;

use crate::clock::Clock;
use crate::config::{Config, Mistakes};
use crate::shell::{Io, run};

/// Threads of a coordinator: one for the loop, one so that clock samples do not wait for it.
const THREADS: usize = 2;

/// What is told unless `RUST_LOG` says otherwise.
const TELL: &str = "info,async_nats=warn";

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
    let shutdown = asked_to_end().map_err(|error| error.to_string())?;
    let serve = async {
        let bus = Bus::connect(&config.bus).await?;
        let io = Io {
            bus,
            clock: Clock::system(),
            settings: config.settings,
        };
        run(io, std::future::pending()).await
    };
    tokio::select! {
        end = serve => end.map_err(|fault: Fault| fault.to_string()),
        () = shutdown => Ok(()),
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
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(TELL));
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .try_init();
}
