//! Configuration of a stack.

use std::ffi::OsString;
use std::path::PathBuf;

use super::folder::LogFolder;
use super::listen::Listen;

/// Configuration of a stack.
#[derive(Debug, Clone)]
pub struct Config {
    /// The folder of the log.
    pub log_folder: LogFolder,
    /// Path of nats-server.
    pub nats_server: PathBuf,
    /// Number of agents, called `agent-1`, `agent-2` and so on.
    pub agents: u32,
    /// Number of coordinators.
    pub coordinators: u32,
    /// Program and first arguments of an agent; `--connect FILE --id NAME` is added, and
    /// `--predecessor-dead` when it is restarted.
    pub agent_command: Vec<OsString>,
    /// Program and first arguments of a coordinator; `--connect FILE` and
    /// `--seal-asked-before` the stack's own start are added.
    pub coordinator_command: Vec<OsString>,
    /// Address for other machines; `None`: it listens on loopback only.
    pub listen: Option<Listen>,
}

impl Config {
    /// Whether the stack only reads its log.
    pub(super) const fn is_reader(&self) -> bool {
        self.agents + self.coordinators == 0
    }
}
