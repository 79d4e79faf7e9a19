//! One local stack: nats-server, coordinators and agents as children of one process.
//!
//! The supervisor starts them in order, restarts a child that died, and ends all of them on request
//! or when its owner is gone. It must never outlive its owner, leave a child behind, put a secret
//! into an argument list, or read the log that it hosts.
//!
//! The owner writes to stdin (`stop`, or end of file when it died) and reads stdout, where each
//! line is one [`Event`].
//!
//! - [`arguments`]: its command line.
//! - [`stack`]: the loop; [`stdio_protocol`] its inputs and events.
//! - [`folder`], [`disk_limits`]: the folder of the log, and the sizes of its streams.
//! - [`server`], [`listen`]: nats-server, on loopback or for other machines.
//! - [`child`], [`restarts`]: child processes, and how often they may die.

mod arguments;
mod child;
mod disk_limits;
mod folder;
mod listen;
mod restarts;
mod server;
mod stack;
mod stdio_protocol;

use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::PathBuf;

pub use arguments::parse;
pub use listen::{Listen, ProvidedCertificate};
pub use stdio_protocol::{Event, Listening};

/// Configuration of a stack.
#[derive(Debug, Clone)]
pub struct Config {
    /// The folder of the log.
    pub log_folder: LogFolder,
    /// The nats-server to run.
    pub nats_server: PathBuf,
    /// Number of agents, called `agent-1`, `agent-2` and so on.
    pub agents: u32,
    /// Number of coordinators.
    pub coordinators: u32,
    /// Program and first arguments of an agent; `--connect FILE --id NAME` is added,
    /// and `--predecessor-dead` when it is started again.
    pub agent_command: Vec<OsString>,
    /// Program and first arguments of a coordinator; `--connect FILE` and
    /// `--seal-asked-before` the stack's own start are added.
    pub coordinator_command: Vec<OsString>,
    /// Address for other machines; `None`: it listens on loopback only.
    pub listen: Option<Listen>,
}

/// Choice of the folder of the log.
#[derive(Debug, Clone)]
pub enum LogFolder {
    /// The first folder `log-1`, `log-2`, … in this one that no other stack has locked.
    FirstFree(PathBuf),
    /// This folder and no other.
    Exactly(PathBuf),
}

/// How a stack ended. The numbers are the exit codes of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum End {
    /// On request, or because its owner is gone; every child has ended.
    Ended = 0,
    /// It never started, for a reason that the user can fix.
    Refused = 2,
    /// A child died too often, or the system failed.
    Failed = 4,
    /// The given folder belongs to a running stack.
    Busy = 5,
}

/// Why a stack could not start or continue.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StackError {
    /// The user can fix it.
    #[error("{field}: {rule}")]
    Refusal {
        /// What to change.
        field: &'static str,
        /// The rule that it breaks.
        rule: String,
    },
    /// The system failed.
    #[error("{doing}: {source}")]
    Fault {
        /// What was attempted, with the path if there is one.
        doing: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// A child ended more often than [`restarts::PER_MINUTE_MAX`] times a minute.
    #[error("{child} ended {times} times within a minute (last: {because}); its output: {output}")]
    GaveUp {
        /// Its name.
        child: String,
        /// Number of ends within the minute.
        times: usize,
        /// How it ended last.
        because: String,
        /// The end of what it wrote, or where to find it.
        output: String,
    },
    /// nats-server accepted no clients in time.
    #[error("nats-server did not start: {0}")]
    ServerSilent(String),
    /// The folder belongs to a running stack.
    #[error("{} is in use by a running stack", .0.display())]
    Busy(PathBuf),
}

impl StackError {
    pub(crate) fn fault(doing: impl Into<String>, source: std::io::Error) -> Self {
        Self::Fault {
            doing: doing.into(),
            source,
        }
    }
}

/// Runs a stack in this thread until its owner ends it. The owner's commands come from `owner`, its
/// events go to `events`.
///
/// The calling thread must live as long as the stack: children die with the thread that started
/// them.
pub fn supervise(
    config: Config,
    owner: impl Read + Send + 'static,
    events: impl Write + 'static,
) -> End {
    stack::run(config, owner, events)
}

/// The process `loadpilot` starts for a local stack: leaves the terminal's session, so that Ctrl-C
/// reaches the command line only, then supervises over stdin and stdout. Returns the exit code.
#[must_use]
pub fn main(argv: Vec<OsString>) -> i32 {
    let config = match parse(argv) {
        Ok(config) => config,
        Err(error) => {
            let _ = error.print();
            return End::Refused as i32;
        }
    };
    // SAFETY: setsid takes no pointer and touches no memory. It fails only when this process leads
    // its group already, which is what is wanted.
    unsafe { libc::setsid() };
    supervise(config, std::io::stdin(), std::io::stdout()) as i32
}
