//! One local stack: nats-server, coordinators and agents as children of one process.
//!
//! It owns their lives and nothing else. It starts them in order, starts again what died, and ends
//! all of them when it is told to or when its owner is gone. It must never outlive its owner, leave
//! a child behind, put a secret into an argument list, or look into the log that it hosts.
//!
//! The owner speaks over stdin (`stop`, or end of file when it died) and listens on stdout, where
//! each line is one [`Event`].

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
pub use listen::{Given, Listen};
pub use stdio_protocol::{Event, Listening};

/// What a stack consists of.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where the folder of the log is.
    pub place: Place,
    /// The nats-server to run.
    pub nats_server: PathBuf,
    /// How many agents to run; they are called `agent-1`, `agent-2` and so on.
    pub agents: u32,
    /// How many coordinators to run.
    pub coordinators: u32,
    /// Program and first arguments of an agent; `--connect FILE --id NAME` is added,
    /// and `--predecessor-dead` when it is started again.
    pub agent_command: Vec<OsString>,
    /// Program and first arguments of a coordinator; `--connect FILE` and
    /// `--seal-asked-before` the stack's own start are added.
    pub coordinator_command: Vec<OsString>,
    /// Where other machines reach it; none: nowhere, it listens on loopback.
    pub listen: Option<Listen>,
}

/// Where the folder of the log is.
#[derive(Debug, Clone)]
pub enum Place {
    /// The first folder `log-1`, `log-2`, … in this one that no other stack has locked.
    FirstFree(PathBuf),
    /// This folder and no other.
    Exactly(PathBuf),
}

/// How a stack ended. The numbers are the exit codes of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum End {
    /// It was told to stop, or its owner is gone; every child has ended.
    Ended = 0,
    /// It never started: the owner's user can fix the reason.
    Refused = 2,
    /// It could not be kept alive, or the machine failed it.
    Failed = 4,
    /// The folder it was told to use belongs to a stack that is running.
    Busy = 5,
}

/// Why a stack could not start or go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    /// The user can fix it.
    #[error("{field}: {rule}")]
    Refusal {
        /// What to change.
        field: &'static str,
        /// What would have to hold.
        rule: String,
    },
    /// The world failed.
    #[error("{doing}: {source}")]
    Fault {
        /// What was attempted, with the path if there is one.
        doing: String,
        /// The system's words.
        source: std::io::Error,
    },
    /// A child ended more often than [`restarts::PER_MINUTE_MAX`] times a minute.
    #[error("{child} ended {times} times within a minute (last: {because}); its output: {output}")]
    GaveUp {
        /// Which one.
        child: String,
        /// How often, this time included.
        times: usize,
        /// How it ended last.
        because: String,
        /// The end of what it wrote, or where to find it.
        output: String,
    },
    /// nats-server did not come up.
    #[error("nats-server did not start: {0}")]
    ServerSilent(String),
    /// The folder belongs to a stack that is running.
    #[error("{} is in use by a running stack", .0.display())]
    Busy(PathBuf),
}

impl Trouble {
    pub(crate) fn fault(doing: impl Into<String>, source: std::io::Error) -> Self {
        Self::Fault {
            doing: doing.into(),
            source,
        }
    }
}

/// Runs a stack in this thread until its owner ends it; `owner` is where the owner speaks, `voice`
/// where it listens.
///
/// The calling thread must live as long as the stack: children die with the thread that made them.
pub fn supervise(
    config: Config,
    owner: impl Read + Send + 'static,
    voice: impl Write + 'static,
) -> End {
    stack::run(config, owner, voice)
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
