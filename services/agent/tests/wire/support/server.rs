//! A server of raw bytes: it logs the requests that come and knows nothing of how to answer.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::support::peer::Peer;

/// No test waits longer for anything: then it is broken, and says so.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// A request of which the head has come.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// The connection, numbered from 0 in the order of their coming.
    pub(crate) connection: usize,
    pub(crate) path: String,
    /// Number of the arrival, from the id header.
    pub(crate) arrival: u64,
    /// Place of the call in its task, from the id header.
    pub(crate) step: usize,
    /// What the head says of the body's length.
    pub(crate) body_bytes: u64,
}

#[derive(Debug, Default)]
struct Noted {
    seen: Vec<Seen>,
    connections: usize,
    marks: Vec<&'static str>,
    /// What was waited for and never came.
    missed: Option<String>,
}

/// What came, and what the server's threads tell each other.
#[derive(Debug, Default)]
pub(crate) struct Log {
    noted: Mutex<Noted>,
    news: Condvar,
}

impl Log {
    pub(crate) fn note(&self, seen: Seen) {
        self.lock().seen.push(seen);
        self.news.notify_all();
    }

    /// Says that something has happened which others wait for.
    pub(crate) fn mark(&self, mark: &'static str) {
        self.lock().marks.push(mark);
        self.news.notify_all();
    }

    pub(crate) fn wait_for_mark(&self, mark: &'static str) {
        self.wait(mark, |noted| noted.marks.contains(&mark));
    }

    pub(crate) fn wait_for_path(&self, path: &str) {
        self.wait(path, |noted| {
            noted.seen.iter().any(|seen| seen.path == path)
        });
    }

    /// Waits for a request that may have failed to come, much less than a call waits.
    pub(crate) fn wait_a_while_for_path(&self, path: &str) {
        let is_missing = |noted: &mut Noted| !noted.seen.iter().any(|seen| seen.path == path);
        let (news, noted) = (&self.news, self.lock());
        let waited = news.wait_timeout_while(noted, Duration::from_millis(500), is_missing);
        drop(waited.expect("no server thread panicked"));
    }

    fn wait(&self, what: &str, reached: impl Fn(&Noted) -> bool) {
        let noted = self.lock();
        let waited = self
            .news
            .wait_timeout_while(noted, PATIENCE, |noted| !reached(noted));
        let (mut noted, timeout) = waited.expect("no server thread panicked");
        if timeout.timed_out() {
            noted.missed = Some(what.to_owned());
        }
    }

    /// The number of a connection that has come.
    fn connected(&self) -> usize {
        let mut noted = self.lock();
        noted.connections += 1;
        noted.connections - 1
    }

    fn lock(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock().expect("no server thread panicked")
    }
}

/// A listener on loopback, one thread per connection. Dropping it ends the listening; connections
/// end with their clients.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    log: Arc<Log>,
    is_over: Arc<AtomicBool>,
    listening: Option<JoinHandle<()>>,
}

impl Server {
    /// Hands every connection to `serve`, which is done with it when it returns.
    pub(crate) fn start(serve: impl Fn(&mut Peer) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port");
        let address = listener.local_addr().expect("its address");
        let (log, is_over) = (Arc::new(Log::default()), Arc::new(AtomicBool::new(false)));
        let (own_log, own_over) = (Arc::clone(&log), Arc::clone(&is_over));
        let listening = thread::spawn(move || {
            let serve = Arc::new(serve);
            for stream in listener.incoming() {
                if own_over.load(Ordering::SeqCst) {
                    return;
                }
                let stream = stream.expect("a connection");
                let (log, serve) = (Arc::clone(&own_log), Arc::clone(&serve));
                let connection = log.connected();
                thread::spawn(move || {
                    // A client that is gone already leaves nothing to serve.
                    if let Some(mut peer) = Peer::new(stream, connection, log) {
                        serve(&mut peer);
                    }
                });
            }
        });
        Self {
            address,
            log,
            is_over,
            listening: Some(listening),
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        let noted = self.log.lock();
        assert_eq!(noted.missed, None, "the server waited for it in vain");
        noted.seen.clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.log.lock().connections
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        // One more connection, so that it looks.
        drop(TcpStream::connect(self.address));
        if let Some(listening) = self.listening.take() {
            // Its panic has been shown, and this may be another one's unwinding.
            drop(listening.join());
        }
    }
}
