//! Opens connections to a target: name resolution, TCP or a Unix socket, a proxy, TLS.
//!
//! Must never block the thread: names are resolved on a blocking thread of the runtime.

use std::cell::{Cell, RefCell};
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use loadpilot_events::log::cause::Cause;
use loadpilot_events::log::outcome::Outcome;
use tokio::net::{TcpStream, UnixStream, lookup_host};
use tokio::sync::Mutex;

use super::error_classification::ErrorClass;
use super::local_addresses::LocalAddresses;
use super::proxy;
use super::stream::Stream;

use crate::fire::clock::MonoTime;
use crate::fire::request::program::Program;
use crate::fire::request::progress::{Progress, Stage, Trace, add_us};
use crate::fire::request::target::{Endpoint, Target};
use crate::fire::request::tls::Offer;

/// Minimum interval between failed name resolutions, in µs: a target whose name does not resolve
/// must not become a load on its name server.
const LOOKUP_AGAIN_US: u64 = 1_000_000;

/// Opens connections to one target of a program.
pub(crate) struct Dialer {
    program: Arc<Program>,
    /// Index of the target.
    target: u16,
    resolved: RefCell<Option<Resolved>>,
    /// Held during a name resolution, so that there is one at a time; time and cause of the last
    /// failure.
    lookup: Mutex<Option<(MonoTime, ErrorClass)>>,
    /// Index of the address that worked last.
    preferred: Cell<usize>,
    local_addresses: LocalAddresses,
}

/// Addresses of the target's name.
#[derive(Debug, Clone)]
struct Resolved {
    addresses: Rc<[SocketAddr]>,
    since: MonoTime,
}

impl Dialer {
    pub(crate) fn new(program: Arc<Program>, target: u16) -> Self {
        Self {
            local_addresses: LocalAddresses::new(&program.targets[usize::from(target)].sources),
            program,
            target,
            resolved: RefCell::new(None),
            lookup: Mutex::new(None),
            preferred: Cell::new(0),
        }
    }

    pub(crate) fn target(&self) -> &Target {
        &self.program.targets[usize::from(self.target)]
    }

    /// Opens a connection, over TLS one that agreed on a protocol of `offer`. Enters its stages in
    /// `progress` and its phases in `trace`.
    ///
    /// # Errors
    /// The step that failed.
    pub(crate) async fn open(
        &self,
        offer: Offer,
        progress: &Progress,
        trace: &mut Trace,
    ) -> Result<Stream, ErrorClass> {
        // Boxed: a call on an open connection need not carry the state for opening one.
        Box::pin(self.open_now(offer, progress, trace)).await
    }

    async fn open_now(
        &self,
        offer: Offer,
        progress: &Progress,
        trace: &mut Trace,
    ) -> Result<Stream, ErrorClass> {
        let begun = MonoTime::now();
        let (host, port) = match &self.target().place {
            Endpoint::Unix(path) => {
                progress.enter_at(Stage::Connecting, begun);
                return self.open_unix(path, trace).await;
            }
            Endpoint::Host(host, port) => (host.as_str(), *port),
        };
        progress.enter_at(Stage::Resolving, begun);
        let addresses = self.addresses(host, port, trace).await?;
        progress.enter(Stage::Connecting);
        let started = MonoTime::now();
        let tcp = self.connect(host, &addresses).await;
        let tcp = self.through_proxy(tcp, progress).await;
        add_us(
            &mut trace.phases.connect_us,
            MonoTime::now().since_us(started),
        );
        let tcp = tcp?;
        // Without it a request of two segments waits for the peer's delayed acknowledgement.
        tcp.set_nodelay(true)
            .map_err(|error| ErrorClass::connecting(&error))?;
        let Some(tls) = &self.target().tls else {
            return Ok(Stream::Tcp(tcp));
        };
        progress.enter(Stage::Securing);
        let started = MonoTime::now();
        let secured = tls.handshake(tcp, offer).await;
        add_us(&mut trace.phases.tls_us, MonoTime::now().since_us(started));
        let stream = secured.map_err(|error| ErrorClass::securing(&error))?;
        let stream = Stream::Tls(Box::new(stream));
        match offer {
            Offer::Http2 if !stream.agreed_on_http2() => {
                Err(ErrorClass::new(Outcome::Tls, Cause::TlsMismatch))
            }
            _ => Ok(stream),
        }
    }

    /// Makes a connection to the proxy one to the target, if there is a proxy.
    async fn through_proxy(
        &self,
        tcp: Result<TcpStream, ErrorClass>,
        progress: &Progress,
    ) -> Result<TcpStream, ErrorClass> {
        let mut tcp = tcp?;
        if let Some(proxy) = &self.target().proxy
            && let Err(refused) = proxy::ask(proxy, &mut tcp).await
        {
            tracing::debug!(answer = ?refused.answer, "not connected by the proxy");
            progress.refused_by_proxy(refused.answer);
            return Err(refused.class);
        }
        Ok(tcp)
    }

    /// Opens a connection that no call waits for.
    ///
    /// # Errors
    /// As [`Dialer::open`].
    pub(crate) async fn open_unused(&self, offer: Offer) -> Result<Stream, ErrorClass> {
        let progress = Progress::new(MonoTime::now());
        self.open(offer, &progress, &mut Trace::default()).await
    }

    /// Resolves the target's name before it is needed.
    pub(crate) async fn resolve(&self) {
        if let Endpoint::Host(host, port) = &self.target().place {
            // A failure here is not reported: the first call tries again and is counted.
            drop(self.addresses(host, *port, &mut Trace::default()).await);
        }
    }

    /// Resolves the target's name, or gives the cached addresses.
    async fn addresses(
        &self,
        host: &str,
        port: u16,
        trace: &mut Trace,
    ) -> Result<Rc<[SocketAddr]>, ErrorClass> {
        let started = MonoTime::now();
        if let Some(addresses) = self.cached(started) {
            return Ok(addresses);
        }
        let found = self.look_up(host, port).await;
        add_us(&mut trace.phases.dns_us, MonoTime::now().since_us(started));
        found
    }

    fn cached(&self, now: MonoTime) -> Option<Rc<[SocketAddr]>> {
        let resolved = self.resolved.borrow().clone()?;
        let stands_us = self.program.connections.resolve_us.unwrap_or(u64::MAX);
        (now.since_us(resolved.since) < stands_us).then_some(resolved.addresses)
    }

    async fn look_up(&self, host: &str, port: u16) -> Result<Rc<[SocketAddr]>, ErrorClass> {
        let mut failed = self.lookup.lock().await;
        let now = MonoTime::now();
        if let Some(addresses) = self.cached(now) {
            return Ok(addresses);
        }
        if let Some((at, class)) = *failed
            && now.since_us(at) < LOOKUP_AGAIN_US
        {
            return Err(class);
        }
        let found = match lookup_host((host, port)).await {
            Ok(found) => self.of_the_family(host, found),
            Err(error) => Err(ErrorClass::resolving(&error)),
        };
        let since = MonoTime::now();
        match &found {
            Ok(addresses) => {
                *self.resolved.borrow_mut() = Some(Resolved {
                    addresses: Rc::clone(addresses),
                    since,
                });
            }
            Err(class) => *failed = Some((since, *class)),
        }
        found
    }

    /// The addresses of the family that the plan names; at least one.
    fn of_the_family(
        &self,
        host: &str,
        found: impl Iterator<Item = SocketAddr>,
    ) -> Result<Rc<[SocketAddr]>, ErrorClass> {
        let ip = self.program.connections.ip;
        let fitting = found.filter(|address| ip.is_none_or(|ip| ip.has(address.ip())));
        let fitting: Rc<[SocketAddr]> = fitting.collect();
        match fitting.is_empty() {
            true => {
                tracing::debug!(host, "no address of the IP family in the plan");
                Err(ErrorClass::new(Outcome::Connect, Cause::NoSuchAddress))
            }
            false => Ok(fitting),
        }
    }

    /// Tries each address of `host` that the policy allows once, beginning with the one that worked
    /// last.
    async fn connect(&self, host: &str, addresses: &[SocketAddr]) -> Result<TcpStream, ErrorClass> {
        let first = self.preferred.get();
        let any_fits = addresses
            .iter()
            .any(|&address| self.local_addresses.fit(address));
        let mut last = None;
        let mut closed = 0;
        for place in (0..addresses.len()).map(|i| (first + i) % addresses.len()) {
            // An address that no local address can reach says nothing about the target.
            if any_fits && !self.local_addresses.fit(addresses[place]) {
                continue;
            }
            if let Err(denied) = self.program.policy.judge(host, addresses[place]) {
                tracing::debug!(host, %denied, "not connected");
                closed += 1;
                continue;
            }
            // If this attempt is cut off by its time-out, the next call begins with the next one.
            self.preferred.set(place + 1);
            match self.local_addresses.connect(addresses[place]).await {
                Ok(stream) => {
                    self.preferred.set(place);
                    return Ok(stream);
                }
                Err(error) => {
                    tracing::debug!(%error, address = %addresses[place], "not connected");
                    last = Some(ErrorClass::connecting(&error));
                }
            }
        }
        Err(last.unwrap_or_else(|| match closed {
            0 => ErrorClass::new(Outcome::Connect, Cause::NoSuchAddress),
            _ => not_allowed(),
        }))
    }

    async fn open_unix(&self, path: &Path, trace: &mut Trace) -> Result<Stream, ErrorClass> {
        let started = MonoTime::now();
        let opened = self.connect_unix(path).await;
        add_us(
            &mut trace.phases.connect_us,
            MonoTime::now().since_us(started),
        );
        opened.map(Stream::Unix)
    }

    /// Judges the path after following every link in it.
    async fn connect_unix(&self, path: &Path) -> Result<UnixStream, ErrorClass> {
        let connecting = |error: io::Error| ErrorClass::connecting(&error);
        let policy = &self.program.policy;
        // A path outside is not even looked at.
        policy.judge_socket(path).map_err(|_| not_allowed())?;
        let real = tokio::fs::canonicalize(path).await.map_err(connecting)?;
        if let Err(denied) = policy.judge_socket(&real) {
            tracing::debug!(path = %path.display(), %denied, "not connected");
            return Err(not_allowed());
        }
        UnixStream::connect(real).await.map_err(connecting)
    }
}

fn not_allowed() -> ErrorClass {
    ErrorClass::new(Outcome::Connect, Cause::NotAllowed)
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

    /// Broken if a name with several addresses were given up at the first that refuses, or if every
    /// later connection tried that one again.
    #[test]
    fn every_address_is_tried_and_the_one_that_works_is_kept() {
        let bind = || TcpListener::bind("127.0.0.1:0").expect("a loopback port");
        let address = |listener: &TcpListener| listener.local_addr().expect("its address");
        let open = bind();
        let addresses = [address(&bind()), address(&open), address(&bind())];
        let plan: Plan = serde_json::from_str(PLAN).expect("a plan");
        let run = RunId::parse("01run").expect("a token");
        let program = Program::compile(&plan, &run, &BTreeMap::new()).expect("a sendable plan");
        let dialer = Dialer::new(Arc::new(program), 0);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            for first in 0..3 {
                dialer.preferred.set(first);
                let stream = dialer
                    .connect("localhost", &addresses)
                    .await
                    .expect("one listens");
                assert_eq!(stream.peer_addr().expect("connected"), addresses[1]);
                assert_eq!(dialer.preferred.get(), 1);
            }
            let closed = [addresses[0], addresses[2]];
            let refused = dialer
                .connect("localhost", &closed)
                .await
                .expect_err("no listener");
            assert_eq!(
                (refused.outcome, refused.cause),
                (Outcome::Connect, Cause::Refused)
            );
        });
    }
}
