//! What owner and supervisor say to each other: JSON lines out, words in.
//! Must never say a secret: the token is in the stack file.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;

use serde::Serialize;
use tokio::sync::mpsc::UnboundedSender;

use super::listen::Open;
use super::stack::News;

/// Longest line that is read from the owner, in bytes.
const LINE_BYTES_MAX: u64 = 4096;

/// One line on the supervisor's stdout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The server answers and every other child has been started.
    Ready {
        /// Where the server listens; the token is in the stack file.
        url: String,
        /// A file of mode 0600 that holds all one needs to connect.
        stack_file: PathBuf,
        /// The folder of this log, with the children's output.
        log_dir: PathBuf,
        /// How other machines reach the stack, if they may.
        #[serde(skip_serializing_if = "Option::is_none")]
        listening: Option<Listening>,
    },
    /// A child died and was started again; the server's restart is told when it answers again.
    Restarted {
        /// `nats-server`, `coordinator`, `agent-2`.
        child: String,
        /// Its new process id.
        pid: u32,
        /// How the one before ended.
        because: String,
    },
    /// The server runs and cannot write to its disk: nothing is stored any more. It stays so until
    /// the server is started again on a disk that can be written to.
    LogUnavailable {
        /// What the disk said.
        reason: String,
    },
    /// The folder belongs to a stack that is running; connect to that one.
    Busy {
        /// That stack's file. It may be about to appear.
        stack_file: PathBuf,
    },
    /// The stack could not start or cannot go on; nothing of it is left running.
    Failed {
        /// What happened, for the user.
        reason: String,
    },
}

/// What another machine needs to take part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Listening {
    /// Where it connects.
    pub url: String,
    /// The file that holds the token.
    pub token_file: PathBuf,
    /// The certificate to trust, if its machine does not do so anyway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cacert: Option<PathBuf>,
    /// SHA-256 of that certificate, if it was made here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
}

impl Listening {
    pub(super) fn of(open: &Open) -> Self {
        Self {
            url: open.far.clone(),
            token_file: open.token_file.clone(),
            cacert: open.cacert.clone(),
            fingerprint: open.fingerprint.clone(),
        }
    }
}

/// Where the owner listens.
pub(super) struct Voice<W>(pub(super) W);

impl<W: Write> Voice<W> {
    /// Says `event`; false when nobody listens any more.
    pub(super) fn say(&mut self, event: &Event) -> bool {
        let mut line = match serde_json::to_vec(event) {
            Ok(line) => line,
            // A path that is no UTF-8 cannot be said; the owner chose it and would wait for ever.
            Err(_) => return false,
        };
        line.push(b'\n');
        self.0
            .write_all(&line)
            .and_then(|()| self.0.flush())
            .is_ok()
    }
}

/// Reads the owner's words in a thread of its own, which ends with the process: a blocked read on
/// a pipe cannot be taken back.
pub(super) fn listen(owner: impl Read + Send + 'static, news: UnboundedSender<News>) {
    std::thread::spawn(move || {
        let mut owner = BufReader::new(owner);
        loop {
            let mut line = String::new();
            let heard = match owner.by_ref().take(LINE_BYTES_MAX).read_line(&mut line) {
                Ok(0) | Err(_) => News::OwnerGone,
                Ok(_) if line.trim_end() == "stop" => News::Stop,
                Ok(_) => continue,
            };
            // What follows `stop` means nothing: the owner may go while the stack ends in order.
            let last = matches!(heard, News::OwnerGone | News::Stop);
            if news.send(heard).is_err() || last {
                return;
            }
        }
    });
}
