//! A server of raw bytes: it logs requests; the test decides how to answer them.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::support::peer::Peer;

/// Maximum wait for anything; a test that waits longer fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// A request whose head has been received.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// The connection, numbered from 0 in the order of accepting.
    pub(crate) connection: usize,
    pub(crate) path: String,
    /// Number of the arrival, from the id header.
    pub(crate) arrival: u64,
    /// Index of the call in its task, from the id header.
    pub(crate) step: usize,
    /// The length of the body by the head.
    pub(crate) body_bytes: u64,
}

#[derive(Debug, Default)]
struct Noted {
    seen: Vec<Seen>,
    connections: usize,
    marks: Vec<&'static str>,
    /// The event that a test waited for in vain.
    missed: Option<String>,
}

/// The requests, and the marks by which the server's threads wait for each other.
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

    /// Records an event that other threads wait for.
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

    /// Waits for a request that may never come, for a much shorter time than a call waits.
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
    /// Passes every connection to `serve`, which owns it until it returns.
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
                    // A client that is already gone needs no service.
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
        // One more connection wakes the listener.
        drop(TcpStream::connect(self.address));
        if let Some(listening) = self.listening.take() {
            // Its panic has been printed, and this may be part of the unwinding of another one.
            drop(listening.join());
        }
    }
}
