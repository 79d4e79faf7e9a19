//! Protocol between owner and supervisor: JSON lines on stdout, commands on stdin.
//! Must never write a secret: the token is in the stack file.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;

use serde::Serialize;
use tokio::sync::mpsc::UnboundedSender;

use super::input::Input;
use super::listen::Open;

/// Maximum bytes of a line from the owner.
const LINE_BYTES_MAX: u64 = 4096;

/// One line on the supervisor's stdout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The server answers and every other child has been started.
    Ready {
        /// URL of the server; the token is in the stack file.
        url: String,
        /// File of mode 0600 with address and token.
        stack_file: PathBuf,
        /// The folder of this log, with the children's output.
        log_dir: PathBuf,
        /// Address for other machines; `None`: the stack listens on loopback only.
        #[serde(skip_serializing_if = "Option::is_none")]
        listening: Option<Listening>,
    },
    /// A child died and was restarted; of the server reported when it accepts clients again.
    Restarted {
        /// `nats-server`, `coordinator`, `agent-2`.
        child: String,
        /// Its new process id.
        pid: u32,
        /// Exit code or signal of the process before.
        because: String,
    },
    /// The server runs and cannot write to its disk: nothing is stored until it is restarted on a
    /// writable disk.
    LogUnavailable {
        /// The error of the disk.
        reason: String,
    },
    /// The folder belongs to a running stack: connect to that one.
    Busy {
        /// File of that stack.
        stack_file: PathBuf,
    },
    /// The stack could not start or cannot continue; no process of it is left.
    Failed {
        /// The error, for the user.
        reason: String,
    },
}

/// Address and identity of a stack, for other machines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Listening {
    /// URL of the server.
    pub url: String,
    /// The file that holds the token.
    pub token_file: PathBuf,
    /// Certificate to trust; `None`: machines trust it already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cacert: Option<PathBuf>,
    /// SHA-256 of that certificate, if it is a generated one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
}

impl Listening {
    pub(super) fn of(open: &Open) -> Self {
        Self {
            url: open.remote_url.clone(),
            token_file: open.token_file.clone(),
            cacert: open.cacert.clone(),
            fingerprint: open.fingerprint.clone(),
        }
    }
}

/// Writes events for the owner.
pub(super) struct EventWriter<W>(pub(super) W);

impl<W: Write> EventWriter<W> {
    /// Writes `event`; false if the owner no longer reads.
    pub(super) fn write(&mut self, event: &Event) -> bool {
        let mut line = match serde_json::to_vec(event) {
            Ok(line) => line,
            // A path that is not UTF-8 has no JSON form, and the owner would wait for it for ever.
            Err(_) => return false,
        };
        line.push(b'\n');
        self.0
            .write_all(&line)
            .and_then(|()| self.0.flush())
            .is_ok()
    }
}

/// Reads the owner's commands in a thread of its own, which ends with the process: a blocked read
/// of a pipe cannot be cancelled.
pub(super) fn listen(owner: impl Read + Send + 'static, inputs: UnboundedSender<Input>) {
    std::thread::spawn(move || {
        let mut owner = BufReader::new(owner);
        loop {
            let mut line = String::new();
            let input = match owner.by_ref().take(LINE_BYTES_MAX).read_line(&mut line) {
                Ok(0) | Err(_) => Input::OwnerGone,
                Ok(_) if line.trim_end() == "stop" => Input::Stop,
                Ok(_) => continue,
            };
            // Input after `stop` is ignored: the owner may exit while the stack shuts down.
            let last = matches!(input, Input::OwnerGone | Input::Stop);
            if inputs.send(input).is_err() || last {
                return;
            }
        }
    });
}
