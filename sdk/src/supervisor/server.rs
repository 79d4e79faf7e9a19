//! nats-server as a child: its configuration, and how one knows that it answers.
//! Must never start without a token, nor listen off loopback without TLS.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{ChildStderr, Command};
use tokio::sync::mpsc::UnboundedSender;

use super::Trouble;
use super::child::{Child, Who};
use super::folder::Folder;
use super::listen::{Listen, Open};
use super::stack::News;

/// What the server writes when it accepts clients, JetStream's recovery included.
const READY: &[u8] = b"Server is ready";

/// What it writes, before the reason, when the disk refused a write; that stream then takes nothing
/// more for as long as the server runs, and publishers get no answer.
const BROKEN: &str = "critical write error: ";

/// Most that is kept of what the server writes, in bytes.
const OUTPUT_BYTES_MAX: usize = 8 << 20;

/// What JetStream may reserve on disk: all assets of a log with their limits, and as much again,
/// since the limits themselves already follow the free disk.
const STORE_BYTES_MAX: u64 = 8 << 30;

/// Our assets are all on disk; the server wants some memory for its own bookkeeping.
const MEMORY_BYTES_MAX: u64 = 16 << 20;

/// How much of a child's output is shown when it fails.
const TAIL_BYTES: u64 = 600;

/// Where the server listens and what it demands.
pub(super) struct Server {
    port: u16,
    pub(super) token: String,
    /// How other machines reach it, if they may.
    pub(super) open: Option<Open>,
}

impl Server {
    /// Chooses a free port on loopback and a new token, or opens it to other machines.
    pub(super) fn choose(listen: Option<&Listen>, folder: &Folder) -> Result<Self, Trouble> {
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
            .map_err(|error| Trouble::fault("a free port on loopback", error))?
            .port();
        Ok(Self {
            port,
            token: super::folder::secret()?,
            open: None,
        })
    }

    pub(super) fn url(&self) -> String {
        match &self.open {
            Some(open) => open.near.clone(),
            None => format!("nats://127.0.0.1:{}", self.port),
        }
    }

    /// Writes the configuration and starts the server; `News::ServerReady` follows.
    pub(super) fn start(
        &self,
        program: &Path,
        folder: &Folder,
        fresh: bool,
        news: UnboundedSender<News>,
    ) -> Result<Child, Trouble> {
        folder.write(
            &folder.server_file(),
            self.configuration(folder.path()).as_bytes(),
        )?;
        let output = folder.output(&Who::Server.to_string(), fresh)?;
        let mut command = Command::new(program);
        command.arg("--config").arg(folder.server_file());
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let (child, stderr) = Child::start(Who::Server, &mut command, news.clone())
            .map_err(|error| Trouble::fault(format!("start {}", program.display()), error))?;
        if let Some(stderr) = stderr {
            tokio::spawn(keep(stderr, output, news));
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

/// Copies what the server writes into its file, up to a limit, and tells when it is ready.
async fn keep(stderr: ChildStderr, mut output: File, news: UnboundedSender<News>) {
    let mut lines = BufReader::new(stderr);
    let mut line = Vec::new();
    let mut room = OUTPUT_BYTES_MAX;
    let mut is_broken = false;
    while let Ok(length @ 1..) = lines.read_until(b'\n', &mut line).await {
        if line.windows(READY.len()).any(|part| part == READY) {
            // Nobody listens any more once the stack has ended.
            let _ = news.send(News::ServerReady);
        }
        let told = String::from_utf8_lossy(&line);
        if let Some((_, reason)) = told.split_once(BROKEN)
            && !std::mem::replace(&mut is_broken, true)
        {
            let reason = reason.trim_end().to_owned();
            let _ = news.send(News::LogBroken { reason });
        }
        // The pipe is drained even when nothing can be kept, or the server would block on it.
        if length <= room && output.write_all(&line).is_ok() {
            room -= length;
        } else {
            room = 0;
        }
        line.clear();
    }
}

/// The end of a child's output, for the message that reports its failure.
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
