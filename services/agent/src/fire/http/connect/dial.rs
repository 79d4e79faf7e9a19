//! Opens connections to a target: name resolution, TCP or a Unix socket, a proxy, TLS.
//!
//! Must never block the thread: names are resolved on a blocking thread of the runtime.

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use loadpilot_events::log::cause::Cause;
use loadpilot_events::log::outcome::Outcome;
use tokio::net::{TcpStream, UnixStream, lookup_host};
use tokio::sync::Mutex;

use super::address_order::AddressOrder;
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
/// must not put load on its name server.
const LOOKUP_AGAIN_US: u64 = 1_000_000;

/// Opens connections to one target of a program.
pub(crate) struct Dialer {
    program: Arc<Program>,
    /// Index of the target.
    target: u16,
    resolved: RefCell<Option<Resolved>>,
    /// Held during a name resolution, so that only one runs at a time; contains time and cause of
    /// the last failure.
    lookup: Mutex<Option<(MonoTime, ErrorClass)>>,
    order: AddressOrder,
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
        let plan_target = &program.targets[usize::from(target)];
        Self {
            local_addresses: LocalAddresses::new(&plan_target.sources),
            order: AddressOrder::new(plan_target.first_address()),
            program,
            target,
            resolved: RefCell::new(None),
            lookup: Mutex::new(None),
        }
    }

    pub(crate) fn target(&self) -> &Target {
        &self.program.targets[usize::from(self.target)]
    }

    /// Opens a connection; over TLS, one that agreed on a protocol of `offer`. Records its stages
    /// in `progress` and its phases in `trace`.
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

    /// Turns a connection to the proxy into one to the target, if there is a proxy.
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

    /// Resolves the target's name, or returns the cached addresses.
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

    /// The addresses of the family that the plan requires; at least one.
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

    /// Tries each address of `host` that the policy allows once, in the order of this connection.
    async fn connect(&self, host: &str, addresses: &[SocketAddr]) -> Result<TcpStream, ErrorClass> {
        let mut failed: Option<ErrorClass> = None;
        for address in self.order.next(self.allowed(host, addresses)) {
            let attempt = self.order.attempt(address);
            match self.local_addresses.connect(address).await {
                Ok(stream) => {
                    attempt.succeeded();
                    return Ok(stream);
                }
                Err(error) => {
                    tracing::debug!(%error, %address, "not connected");
                    let class = ErrorClass::connecting(&error);
                    attempt.failed(class);
                    // A shortage on this machine also explains the failures of the other addresses.
                    failed = match failed {
                        Some(first) if first.outcome == Outcome::Local => failed,
                        Some(_) if class.outcome != Outcome::Local => failed,
                        _ => Some(class),
                    };
                }
            }
        }
        Err(failed.unwrap_or_else(|| match addresses.is_empty() {
            true => ErrorClass::new(Outcome::Connect, Cause::NoSuchAddress),
            false => not_allowed(),
        }))
    }

    /// The addresses that the policy allows and that a local address can reach. An address of
    /// another family says nothing about the target.
    fn allowed(&self, host: &str, addresses: &[SocketAddr]) -> Vec<SocketAddr> {
        let fits = |address: &SocketAddr| self.local_addresses.fit(*address);
        let any_fits = addresses.iter().any(fits);
        let mut allowed = addresses.to_vec();
        allowed.retain(|address| {
            let denied = self.program.policy.judge(host, *address).err();
            if let Some(denied) = &denied {
                tracing::debug!(host, %denied, "not connected");
            }
            denied.is_none() && (fits(address) || !any_fits)
        });
        allowed
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

    fn program(sources: &[&str]) -> Arc<Program> {
        let mut plan: Plan = serde_json::from_str(PLAN).expect("a plan");
        plan.connections.sources = sources.iter().map(ToString::to_string).collect();
        let run = RunId::parse("01run").expect("a token");
        let program = Program::compile(&plan, &run, &BTreeMap::new());
        Arc::new(program.expect("a sendable plan"))
    }

    fn bind() -> TcpListener {
        TcpListener::bind("127.0.0.1:0").expect("a loopback port")
    }

    fn address(listener: &TcpListener) -> SocketAddr {
        listener.local_addr().expect("its address")
    }

    fn block_on(future: impl Future<Output = ()>) {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build().expect("a runtime");
        runtime.block_on(future);
    }

    async fn reached(dialer: &Dialer, addresses: &[SocketAddr]) -> SocketAddr {
        let stream = dialer.connect("localhost", addresses).await;
        stream.expect("one listens").peer_addr().expect("connected")
    }

    async fn failed(dialer: &Dialer, addresses: &[SocketAddr]) -> (Outcome, Cause) {
        let class = dialer.connect("localhost", addresses).await;
        let class = class.expect_err("no listener");
        (class.outcome, class.cause)
    }

    /// Broken if all connections go to one address of a name, if all cores begin with the same
    /// address, or if a name is given up at the first address that refuses.
    #[test]
    fn connections_go_to_the_addresses_in_turn() {
        let listeners = [bind(), bind(), bind()];
        let addresses = listeners.each_ref().map(address);
        let program = program(&[]);
        block_on(async {
            let dialers = [(); 3].map(|()| Dialer::new(Arc::clone(&program), 0));
            for _ in 0..3 {
                let mut turn = Vec::new();
                for dialer in &dialers {
                    turn.push(reached(dialer, &addresses).await);
                }
                turn.sort_unstable();
                turn.dedup();
                assert_eq!(turn.len(), 3, "cores share the addresses");
            }
            let mut own = Vec::new();
            for _ in 0..3 {
                own.push(reached(&dialers[0], &addresses).await);
            }
            own.sort_unstable();
            own.dedup();
            assert_eq!(own.len(), 3, "a core takes them in turn");

            let [one, other, closed] = [addresses[0], addresses[1], address(&bind())];
            for _ in 0..6 {
                assert_ne!(reached(&dialers[0], &[one, closed, other]).await, closed);
            }
            let class = failed(&dialers[0], &[closed]).await;
            assert_eq!(class, (Outcome::Connect, Cause::Refused));
        });
    }

    /// Broken if a fault of this machine is reported as one of the target that follows it, or if
    /// the cause is that of an address that is tried only because the first one failed.
    #[test]
    fn the_cause_is_a_local_one_or_that_of_the_first_address() {
        let closed = [address(&bind()), address(&bind())];
        block_on(async {
            // In turn; 203.0.113.7 is not an address of this machine.
            for sources in [["203.0.113.7", "127.0.0.2"], ["127.0.0.2", "203.0.113.7"]] {
                let dialer = Dialer::new(program(&sources), 0);
                let class = failed(&dialer, &closed).await;
                assert_eq!(class, (Outcome::Local, Cause::NoPorts), "{sources:?}");
            }
            // The system denies a connection to a broadcast address.
            let broadcast = "255.255.255.255:1".parse().expect("an address");
            let mut dialer = Dialer::new(program(&[]), 0);
            dialer.order = AddressOrder::new(0);
            let class = failed(&dialer, &[closed[0], broadcast]).await;
            assert_eq!(class, (Outcome::Connect, Cause::Refused));
        });
    }
}
