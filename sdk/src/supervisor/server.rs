//! nats-server as a child: its configuration and its output.
//! Must never start without a token, nor listen off loopback without TLS.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{ChildStderr, Command};
use tokio::sync::mpsc::UnboundedSender;

use super::child::Child;
use super::child_name::ChildName;
use super::error::StackError;
use super::folder::Folder;
use super::input::Input;
use super::listen::{Listen, Open};

/// Line of the server when it accepts clients, after JetStream's recovery.
const READY: &[u8] = b"Server is ready";

/// Text before the reason in the server's line about a failed write to disk. From that line on
/// until its restart, the server stores nothing in the stream and acknowledges nothing to
/// publishers.
const WRITE_ERROR: &str = "critical write error: ";

/// Maximum bytes of the server's output that are stored.
const OUTPUT_BYTES_MAX: usize = 8 << 20;

/// Maximum bytes that JetStream may reserve on disk: twice the sum of all assets of a log at their
/// limits. Those limits already follow the free disk space.
const STORE_BYTES_MAX: u64 = 8 << 30;

/// Maximum bytes that JetStream may reserve in memory. Only the server itself needs memory: all
/// assets are on disk.
const MEMORY_BYTES_MAX: u64 = 16 << 20;

/// Number of bytes of a child's output to show when it fails.
const TAIL_BYTES: u64 = 600;

/// Address and token of the server.
pub(super) struct Server {
    port: u16,
    pub(super) token: String,
    /// Its address for other machines, if it has one.
    pub(super) open: Option<Open>,
}

impl Server {
    /// Chooses a free port on loopback and a new token, or opens it to other machines.
    pub(super) fn choose(listen: Option<&Listen>, folder: &Folder) -> Result<Self, StackError> {
        if let Some(listen) = listen {
            let open = listen.open(folder)?;
            return Ok(Self {
                port: open.port,
                token: open.token.clone(),
                open: Some(open),
            });
        }
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .and_then(|listener| listener.local_addr())
            .map_err(|error| StackError::fault("a free port on loopback", error))?
            .port();
        Ok(Self {
            port,
            token: super::folder::secret()?,
            open: None,
        })
    }

    pub(super) fn url(&self) -> String {
        match &self.open {
            Some(open) => open.local_url.clone(),
            None => format!("nats://127.0.0.1:{}", self.port),
        }
    }

    /// Writes the configuration and starts the server; `Input::ServerReady` follows.
    pub(super) fn start(
        &self,
        program: &Path,
        folder: &Folder,
        fresh: bool,
        inputs: UnboundedSender<Input>,
    ) -> Result<Child, StackError> {
        folder.write(
            &folder.server_file(),
            self.configuration(folder.path()).as_bytes(),
        )?;
        let output = folder.output(&ChildName::Server.to_string(), fresh)?;
        let mut command = Command::new(program);
        command.arg("--config").arg(folder.server_file());
        command.stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let (child, _, stderr) = Child::start(ChildName::Server, &mut command, inputs.clone())
            .map_err(|error| StackError::fault(format!("start {}", program.display()), error))?;
        if let Some(stderr) = stderr {
            tokio::spawn(watch_output(stderr, output, inputs));
        }
        Ok(child)
    }

    fn configuration(&self, folder: &Path) -> String {
        // JSON's quoting is valid here: the format is a superset of it.
        let quoted = |path: &Path| serde_json::Value::from(path.to_string_lossy());
        let store = quoted(&folder.join("store"));
        let (host, tls) = match &self.open {
            None => ("127.0.0.1", String::new()),
            Some(open) => {
                let (cert, key) = (quoted(&open.cert), quoted(&open.key));
                let tls = format!("tls {{ cert_file: {cert}, key_file: {key}, timeout: 5 }}\n");
                (open.bind.as_str(), tls)
            }
        };
        format!(
            "listen: \"{host}:{}\"\n\
             {tls}\
             authorization {{ token: \"{}\" }}\n\
             jetstream {{\n\
             \x20 store_dir: {store}\n\
             \x20 max_mem: {MEMORY_BYTES_MAX}\n\
             \x20 max_file: {STORE_BYTES_MAX}\n\
             \x20 sync_interval: always\n\
             }}\n",
            self.port, self.token,
        )
    }
}

/// Copies the server's output into its file, up to a limit, and watches for its state.
async fn watch_output(stderr: ChildStderr, mut output: File, inputs: UnboundedSender<Input>) {
    let mut lines = BufReader::new(stderr);
    let mut line = Vec::new();
    let mut room = OUTPUT_BYTES_MAX;
    let mut is_unavailable = false;
    while let Ok(length @ 1..) = lines.read_until(b'\n', &mut line).await {
        if line.windows(READY.len()).any(|part| part == READY) {
            // The receiver is gone once the stack has ended.
            let _ = inputs.send(Input::ServerReady);
        }
        let text = String::from_utf8_lossy(&line);
        if let Some((_, reason)) = text.split_once(WRITE_ERROR)
            && !std::mem::replace(&mut is_unavailable, true)
        {
            let reason = reason.trim_end().to_owned();
            let _ = inputs.send(Input::LogUnavailable { reason });
        }
        // The pipe is drained even when nothing can be stored, or the server would block on it.
        if length <= room && output.write_all(&line).is_ok() {
            room -= length;
        } else {
            room = 0;
        }
        line.clear();
    }
}

/// End of a child's output, for the message about its failure.
pub(super) fn tail(path: &Path) -> String {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
        let mut bytes = Vec::new();
        file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    match read() {
        Ok(bytes) if !bytes.is_empty() => String::from_utf8_lossy(&bytes).trim().to_owned(),
        _ => format!("nothing in {}", path.display()),
    }
}
