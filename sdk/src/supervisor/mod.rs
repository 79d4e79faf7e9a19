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
mod child_name;
mod config;
mod disk_limits;
mod error;
mod folder;
mod input;
mod listen;
mod restarts;
mod server;
mod stack;
mod stdio_protocol;

use std::ffi::OsString;
use std::io::{Read, Write};

pub use arguments::parse;
pub use config::Config;
pub use error::End;
pub use folder::LogFolder;
pub use listen::{Listen, ProvidedCertificate};
pub use stdio_protocol::{Event, Listening};

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
    // SAFETY: setsid takes no pointer and touches no memory. It fails only when this process
    // already leads its group, which is the state that is needed.
    unsafe { libc::setsid() };
    supervise(config, std::io::stdin(), std::io::stdout()) as i32
}
