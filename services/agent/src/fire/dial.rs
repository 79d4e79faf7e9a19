//! From a target to a connection: name resolution once per run, TCP, TLS.
//!
//! Must never block the thread: names are resolved on a thread of the runtime's own.

use std::cell::{Cell, RefCell};
use std::error::Error as StdError;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::{TcpStream, lookup_host};
use tokio::sync::Mutex;

use super::clock::MonoTime;
use super::program::Program;
use super::stream::Stream;
use super::wire::{Broken, Trace};

/// How long a failed name resolution stands before it is tried again: a target whose name does not
/// resolve must not become a load on its name server.
const LOOKUP_AGAIN: Duration = Duration::from_secs(1);

/// Opens connections to the target of one program.
pub(crate) struct Dial {
    program: Arc<Program>,
    /// Kept for the whole run once they are known.
    addresses: RefCell<Option<Rc<[SocketAddr]>>>,
    /// Held while names are resolved, so that it happens once; when it failed last.
    lookup: Mutex<Option<Instant>>,
    /// The address that worked last.
    preferred: Cell<usize>,
}

impl Dial {
    pub(crate) fn new(program: Arc<Program>) -> Self {
        Self {
            program,
            addresses: RefCell::new(None),
            lookup: Mutex::new(None),
            preferred: Cell::new(0),
        }
    }

    /// A new connection; notes the time of each phase in `trace`.
    ///
    /// # Errors
    /// Which step of it failed.
    pub(crate) async fn open(&self, trace: &mut Trace) -> Result<Stream, Broken> {
        let addresses = self.addresses(trace).await?;
        let started = MonoTime::now();
        let tcp = self.connect(&addresses).await;
        trace.phases.connect_us = Some(MonoTime::now().since_us(started));
        let tcp = tcp?;
        // Without it a request of two segments waits for the peer's delayed acknowledgement.
        tcp.set_nodelay(true).map_err(|error| refused(&error))?;
        let Some(tls) = &self.program.target.tls else {
            return Ok(Stream::Plain(tcp));
        };
        let started = MonoTime::now();
        let secured = tls.connector.connect(tls.name.clone(), tcp).await;
        trace.phases.tls_us = Some(MonoTime::now().since_us(started));
        match secured {
            Ok(stream) => Ok(Stream::Tls(Box::new(stream))),
            Err(error) if is_local(&error) => Err(Broken::Local),
            Err(error) => {
                tracing::debug!(%error, "TLS handshake failed");
                Err(Broken::Tls)
            }
        }
    }

    /// Resolves the target's name, or recalls it.
    ///
    /// # Errors
    /// When there is no address.
    pub(crate) async fn addresses(&self, trace: &mut Trace) -> Result<Rc<[SocketAddr]>, Broken> {
        if let Some(known) = self.known() {
            return Ok(known);
        }
        let started = MonoTime::now();
        let found = self.look_up().await;
        trace.phases.dns_us = Some(MonoTime::now().since_us(started));
        found
    }

    fn known(&self) -> Option<Rc<[SocketAddr]>> {
        self.addresses.borrow().clone()
    }

    async fn look_up(&self) -> Result<Rc<[SocketAddr]>, Broken> {
        let mut failed_at = self.lookup.lock().await;
        if let Some(known) = self.known() {
            return Ok(known);
        }
        if failed_at.is_some_and(|at| at.elapsed() < LOOKUP_AGAIN) {
            return Err(Broken::Connect);
        }
        let target = &self.program.target;
        let found: io::Result<Rc<[SocketAddr]>> =
            match lookup_host((target.host.as_str(), target.port)).await {
                Ok(found) => Ok(found.collect()),
                Err(error) => Err(error),
            };
        match found {
            Ok(found) if !found.is_empty() => {
                *self.addresses.borrow_mut() = Some(Rc::clone(&found));
                Ok(found)
            }
            Ok(_) => {
                *failed_at = Some(Instant::now());
                Err(Broken::Connect)
            }
            Err(error) => {
                *failed_at = Some(Instant::now());
                tracing::debug!(%error, host = target.host, "name not resolved");
                Err(refused(&error))
            }
        }
    }

    /// Tries each address once, beginning with the one that worked last.
    async fn connect(&self, addresses: &[SocketAddr]) -> Result<TcpStream, Broken> {
        let first = self.preferred.get();
        let mut last = Broken::Connect;
        for place in (0..addresses.len()).map(|i| (first + i) % addresses.len()) {
            // If this attempt is cut off by its time-out, the next call begins with the next one.
            self.preferred.set(place + 1);
            match TcpStream::connect(addresses[place]).await {
                Ok(stream) => {
                    self.preferred.set(place);
                    return Ok(stream);
                }
                Err(error) => {
                    tracing::debug!(%error, address = %addresses[place], "not connected");
                    last = refused(&error);
                }
            }
        }
        Err(last)
    }
}

fn refused(error: &io::Error) -> Broken {
    if is_local(error) {
        Broken::Local
    } else {
        Broken::Connect
    }
}

/// Whether this machine, not the target, is to blame: no ports, file descriptors or memory left.
fn is_local(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EMFILE | libc::ENFILE | libc::EADDRNOTAVAIL | libc::ENOMEM | libc::ENOBUFS)
    )
}

/// What broke a connection that was open, by the first I/O error in the chain.
pub(crate) fn broken_by(error: &(dyn StdError + 'static)) -> Broken {
    let chain = std::iter::successors(Some(error), |&error| error.source());
    let mut io = chain.filter_map(|error| error.downcast_ref::<io::Error>());
    if io.any(is_local) {
        Broken::Local
    } else {
        Broken::Io
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::net::TcpListener;

    use loadpilot_events::id::RunId;
    use loadpilot_events::plan::Plan;

    use super::*;

    const PLAN: &str = r#"{
        "schema": "loadpilot.plan/1", "scenario": "Dial", "target": "http://localhost:1",
        "profile": {"shape": "constant", "pieces": []}, "tasks": [],
        "warm_up_us": 0, "timeout_us": 1, "max_wait_us": 1, "max_lateness_us": 1, "tick_us": 1
    }"#;

    /// Broken if a name with several addresses were given up at the first that refuses, or if
    /// every later connection tried that one again.
    #[test]
    fn every_address_is_tried_and_the_one_that_works_is_kept() {
        let bind = || TcpListener::bind("127.0.0.1:0").expect("a loopback port");
        let address = |listener: &TcpListener| listener.local_addr().expect("its address");
        let open = bind();
        let addresses = [address(&bind()), address(&open), address(&bind())];
        let plan: Plan = serde_json::from_str(PLAN).expect("a plan");
        let run = RunId::parse("01run").expect("a token");
        let program = Program::compile(&plan, &run, &BTreeMap::new()).expect("a sendable plan");
        let dial = Dial::new(Arc::new(program));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            for first in 0..3 {
                dial.preferred.set(first);
                let stream = dial.connect(&addresses).await.expect("one listens");
                assert_eq!(stream.peer_addr().expect("connected"), addresses[1]);
                assert_eq!(dial.preferred.get(), 1);
            }
            let closed = [addresses[0], addresses[2]];
            let refused = dial.connect(&closed).await.expect_err("nobody listens");
            assert_eq!(refused, Broken::Connect);
        });
    }

    /// Broken if a lack of this machine were blamed on the target, or the other way round.
    #[test]
    fn what_this_machine_lacks_is_local() {
        let lacks = [
            libc::EMFILE,
            libc::ENFILE,
            libc::EADDRNOTAVAIL,
            libc::ENOMEM,
            libc::ENOBUFS,
        ];
        for code in lacks {
            let error = io::Error::from_raw_os_error(code);
            assert_eq!(refused(&error), Broken::Local, "{error}");
            assert_eq!(broken_by(&error), Broken::Local, "{error}");
        }
        for code in [libc::ECONNREFUSED, libc::ENETUNREACH, libc::ETIMEDOUT] {
            let error = io::Error::from_raw_os_error(code);
            assert_eq!(refused(&error), Broken::Connect, "{error}");
        }
        let reset = io::Error::from_raw_os_error(libc::ECONNRESET);
        assert_eq!(broken_by(&reset), Broken::Io);
    }
}
