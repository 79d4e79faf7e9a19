//! A target for every kind of connection: plain, with TLS or through a Unix socket, in HTTP/1.1 or
//! HTTP/2. It counts for itself and shares nothing with the product.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use h2::server::{Builder, SendResponse};
use h2::{Reason, RecvStream};
use http::{HeaderMap, Method, Response};
use tokio::io::{
    AsyncBufReadExt, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
};
use tokio::net::{TcpListener, UnixListener};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::{HandshakeKind, ServerConfig};

pub(crate) use crate::support::call::{Act, Call};

/// Maximum wait for something that must happen.
const PATIENCE: Duration = Duration::from_secs(10);

/// The kind of connection on which the target listens.
pub(crate) enum Transport {
    Http1,
    Http2(Builder),
    Unix(PathBuf),
    /// The protocol negotiated by ALPN, otherwise HTTP/1.1.
    Tls(ServerConfig),
}

/// A connection as the target saw it.
#[derive(Debug, Clone, Default)]
pub(crate) struct PeerConnection {
    pub(crate) from: Option<SocketAddr>,
    pub(crate) server_name: Option<String>,
    pub(crate) agreed_on: Option<String>,
    pub(crate) client_certificates: Vec<Vec<u8>>,
    /// Whether the handshake resumed the TLS session of an earlier connection.
    pub(crate) resumed: bool,
    pub(crate) calls: u32,
    pub(crate) at_a_time: u32,
    pub(crate) most_at_a_time: u32,
    pub(crate) closed: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) calls: Vec<Call>,
    pub(crate) connections: Vec<PeerConnection>,
    /// The reason with which each unanswered call gave up.
    pub(crate) given_up: Vec<Reason>,
    /// Number of accepted connections, with or without a handshake.
    pub(crate) accepted: u32,
}

#[derive(Default)]
struct Log {
    seen: Mutex<Seen>,
    more: Condvar,
}

impl Log {
    fn note<T>(&self, what: impl FnOnce(&mut Seen) -> T) -> T {
        let noted = what(&mut self.seen());
        self.more.notify_all();
        noted
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().expect("no target panicked with its log")
    }
}

type Decide = dyn Fn(&Call) -> Act + Send + Sync;

/// The state that all connections of a target share.
struct PeerState {
    log: Log,
    decide: Box<Decide>,
}

pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    state: Arc<PeerState>,
}

impl Peer {
    /// Starts a target on a thread of its own. For a call of HTTP/2, `decide` is called before its
    /// body has come.
    pub(crate) fn start(
        transport: Transport,
        decide: impl Fn(&Call) -> Act + Send + Sync + 'static,
    ) -> Self {
        let state = Arc::new(PeerState {
            log: Log::default(),
            decide: Box::new(decide),
        });
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a loopback port");
        listener.set_nonblocking(true).expect("an open socket");
        let address = listener.local_addr().expect("its address");
        let unix = match &transport {
            Transport::Unix(path) => {
                Some(std::os::unix::net::UnixListener::bind(path).expect("a path"))
            }
            _ => None,
        };
        let own = Arc::clone(&state);
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(async move {
                match unix {
                    Some(unix) => accept_unix(unix, own).await,
                    None => {
                        let listener = TcpListener::from_std(listener).expect("a listener");
                        accept(listener, transport, own).await;
                    }
                }
            });
        });
        Self { address, state }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.state.log.seen()
    }

    pub(crate) fn connections(&self) -> u64 {
        self.seen().connections.len() as u64
    }

    /// Number of requests with each id.
    pub(crate) fn ids(&self) -> Vec<String> {
        let mut ids: Vec<String> = self
            .seen()
            .calls
            .iter()
            .map(|c| c.id().to_owned())
            .collect();
        ids.sort();
        ids
    }

    /// Whether each of this number of arrivals of one step came once.
    pub(crate) fn assert_once_each(&self, arrivals: u64) {
        let ids = self.ids();
        let wanted = (0..arrivals).map(|n| format!("{}/{n}/0", crate::support::cores::RUN));
        let wanted: BTreeSet<String> = wanted.collect();
        assert_eq!(ids.len() as u64, arrivals, "lost or sent twice");
        assert_eq!(ids.into_iter().collect::<BTreeSet<_>>(), wanted);
    }

    /// Blocks until `wanted` is true of the requests received.
    ///
    /// # Panics
    /// After the maximum wait.
    pub(crate) fn wait_until(&self, what: &str, wanted: impl Fn(&Seen) -> bool) {
        let (seen, waited) = self
            .state
            .log
            .more
            .wait_timeout_while(self.seen(), PATIENCE, |seen| !wanted(seen))
            .expect("no target panicked with its log");
        assert!(!waited.timed_out(), "never {what}: {:?}", seen.connections);
    }

    /// Blocks until every connection has been closed by the other side.
    pub(crate) fn wait_until_all_closed(&self) {
        self.wait_until("closed", |seen| seen.connections.iter().all(|m| m.closed));
    }
}

async fn accept(listener: TcpListener, transport: Transport, state: Arc<PeerState>) {
    let acceptor = match &transport {
        Transport::Tls(config) => Some(TlsAcceptor::from(Arc::new(config.clone()))),
        _ => None,
    };
    let builder = match transport {
        Transport::Http2(builder) => Some(builder),
        _ => None,
    };
    loop {
        let (tcp, from) = listener.accept().await.expect("a connection");
        tcp.set_nodelay(true).expect("an open socket");
        state.log.note(|seen| seen.accepted += 1);
        let peer_connection = PeerConnection {
            from: Some(from),
            ..PeerConnection::default()
        };
        let state = Arc::clone(&state);
        match (&builder, &acceptor) {
            (Some(builder), _) => drop(tokio::spawn(serve2(
                tcp,
                builder.clone(),
                peer_connection,
                state,
            ))),
            (None, None) => drop(tokio::spawn(serve1(tcp, peer_connection, state))),
            (None, Some(acceptor)) => {
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    if let Ok(stream) = acceptor.accept(tcp).await {
                        let (_, tls) = stream.get_ref();
                        let certificates = tls.peer_certificates().unwrap_or_default();
                        let agreed_on = tls.alpn_protocol().map(String::from_utf8_lossy);
                        let peer_connection = PeerConnection {
                            server_name: tls.server_name().map(ToOwned::to_owned),
                            agreed_on: agreed_on.map(String::from),
                            client_certificates: certificates.iter().map(|c| c.to_vec()).collect(),
                            resumed: tls.handshake_kind() == Some(HandshakeKind::Resumed),
                            ..peer_connection
                        };
                        match peer_connection.agreed_on.as_deref() {
                            Some("h2") => {
                                serve2(stream, Builder::new(), peer_connection, state).await
                            }
                            _ => serve1(stream, peer_connection, state).await,
                        }
                    }
                });
            }
        }
    }
}

async fn accept_unix(listener: std::os::unix::net::UnixListener, state: Arc<PeerState>) {
    listener.set_nonblocking(true).expect("an open socket");
    let listener = UnixListener::from_std(listener).expect("a listener");
    loop {
        let (stream, _) = listener.accept().await.expect("a connection");
        state.log.note(|seen| seen.accepted += 1);
        tokio::spawn(serve1(
            stream,
            PeerConnection::default(),
            Arc::clone(&state),
        ));
    }
}

impl PeerState {
    fn add_connection(&self, peer_connection: PeerConnection) -> usize {
        self.log.note(|seen| {
            seen.connections.push(peer_connection);
            seen.connections.len() - 1
        })
    }

    fn begin(&self, call: &Call) {
        self.log.note(|seen| {
            let peer_connection = &mut seen.connections[call.connection];
            peer_connection.calls += 1;
            peer_connection.at_a_time += 1;
            peer_connection.most_at_a_time = peer_connection
                .most_at_a_time
                .max(peer_connection.at_a_time);
        });
    }

    /// Must be called before the end of the response: the other side may start a new call then.
    fn end(&self, connection: usize) {
        self.log
            .note(|seen| seen.connections[connection].at_a_time -= 1);
    }

    fn close(&self, connection: usize) {
        self.log
            .note(|seen| seen.connections[connection].closed = true);
    }
}

async fn serve1(
    io: impl AsyncRead + AsyncWrite + Unpin,
    peer_connection: PeerConnection,
    state: Arc<PeerState>,
) {
    let connection = state.add_connection(peer_connection);
    let mut io = BufReader::new(io);
    while let Some(call) = read1(&mut io, connection).await {
        let act = (state.decide)(&call);
        state.begin(&call);
        state.log.note(|seen| seen.calls.push(call));
        let act = match act {
            Act::RedirectLater(mut gate, to) => {
                let opened = gate.wait_for(|open| *open).await;
                opened.expect("the gate's sender lives");
                Act::Redirect(302, to)
            }
            other => other,
        };
        let answer = match act {
            Act::Wait(mut gate) => {
                gate.wait_for(|open| *open)
                    .await
                    .expect("the gate's sender lives");
                "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello".to_owned()
            }
            Act::Answer(status) => {
                format!("HTTP/1.1 {status} Whatever\r\ncontent-length: 5\r\n\r\nhello")
            }
            Act::Redirect(status, to) => {
                let head = format!("HTTP/1.1 {status} Elsewhere\r\nlocation: {to}\r\n");
                format!("{head}content-length: 5\r\n\r\nhello")
            }
            other => panic!("HTTP/1.1 has no {other:?} here"),
        };
        state.end(connection);
        if io.write_all(answer.as_bytes()).await.is_err() || io.flush().await.is_err() {
            break;
        }
    }
    state.close(connection);
}

/// One request, its body of a given length.
async fn read1(io: &mut (impl AsyncBufReadExt + Unpin), connection: usize) -> Option<Call> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if io.read_line(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    let mut lines = head.trim_end().lines();
    let mut first = lines.next()?.split(' ');
    let method = first.next()?.parse().expect("a method");
    let uri = first.next()?.parse().expect("a path");
    let headers = lines.map(|line| {
        let (name, value) = line.split_once(": ").expect("a header line");
        let name = http::header::HeaderName::try_from(name).expect("a name");
        (name, value.parse().expect("a value"))
    });
    let mut call = Call {
        connection,
        method,
        uri,
        headers: headers.collect(),
        body: Vec::new(),
    };
    let length = call.header("content-length").unwrap_or("0");
    let length = length.parse().expect("a length");
    call.body.resize(length, 0);
    io.read_exact(&mut call.body).await.ok()?;
    Some(call)
}

async fn serve2(
    io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    builder: Builder,
    peer_connection: PeerConnection,
    state: Arc<PeerState>,
) {
    let connection = state.add_connection(peer_connection);
    if let Ok(mut requests) = builder.handshake::<_, Bytes>(io).await {
        while let Some(Ok((request, respond))) = requests.accept().await {
            let (head, body) = request.into_parts();
            let call = Call {
                connection,
                method: head.method,
                uri: head.uri,
                headers: head.headers,
                body: Vec::new(),
            };
            let act = (state.decide)(&call);
            state.begin(&call);
            if matches!(act, Act::Last) {
                requests.graceful_shutdown();
            }
            tokio::spawn(answer2(call, act, body, respond, Arc::clone(&state)));
        }
    }
    state.close(connection);
}

async fn answer2(
    mut call: Call,
    act: Act,
    body: RecvStream,
    mut respond: SendResponse<Bytes>,
    state: Arc<PeerState>,
) {
    let connection = call.connection;
    let is_head = call.method == Method::HEAD;
    if !matches!(act, Act::Early | Act::Silent | Act::Reset(_)) {
        call.body = read_body(body).await;
    }
    state.log.note(|seen| seen.calls.push(call));
    if let Act::Wait(gate) = &act {
        let opened = gate.clone().wait_for(|open| *open).await.is_ok();
        assert!(opened, "the gate's sender lives");
    }
    let gave_up = match act {
        Act::Silent => poll_fn(|cx| respond.poll_reset(cx)).await.ok(),
        _ => None,
    };
    state.end(connection);
    match act {
        Act::Silent => state.log.note(|seen| seen.given_up.extend(gave_up)),
        Act::Reset(reason) => respond.send_reset(reason),
        Act::Answer(204) => drop(respond.send_response(head(204), true)),
        Act::Answer(status) if is_head => {
            let mut head = head(status);
            head.headers_mut().insert("content-length", 5.into());
            drop(respond.send_response(head, true));
        }
        Act::Trailers => {
            let stream = respond.send_response(head(200), false);
            let mut stream = stream.expect("an open stream");
            let sent = stream.send_data(Bytes::from_static(b"hello"), false);
            sent.expect("an open stream");
            let mut trailers = HeaderMap::new();
            trailers.insert("x-checksum", "right".parse().expect("a value"));
            stream.send_trailers(trailers).expect("an open stream");
        }
        Act::Pieces => {
            let stream = respond.send_response(head(200), false);
            let mut stream = stream.expect("an open stream");
            for (piece, is_last) in [("one", false), ("two", false), ("", true)] {
                let sent = stream.send_data(Bytes::from_static(piece.as_bytes()), is_last);
                sent.expect("an open stream");
            }
        }
        Act::Endless => {
            let stream = respond.send_response(head(200), false);
            let mut stream = stream.expect("an open stream");
            for event in ["data: one\n\n", "data: two\n\n", "data: three\n\n"] {
                let sent = stream.send_data(Bytes::from_static(event.as_bytes()), false);
                sent.expect("an open stream");
            }
            let gave_up = poll_fn(|cx| stream.poll_reset(cx)).await.ok();
            state.log.note(|seen| seen.given_up.extend(gave_up));
        }
        Act::Early => {
            // Dropping the rest of the request refuses it, with NO_ERROR.
            answer_with(&mut respond, head(200), Bytes::from_static(b"hello"));
        }
        Act::Redirect(status, to) => {
            let mut head = head(status);
            let to = to.parse().expect("a header value");
            head.headers_mut().insert("location", to);
            if is_head {
                drop(respond.send_response(head, true));
                return;
            }
            answer_with(&mut respond, head, Bytes::from_static(b"hello"));
        }
        Act::Large(bytes) => answer_with(&mut respond, head(200), vec![b'x'; bytes].into()),
        Act::Answer(status) => {
            answer_with(&mut respond, head(status), Bytes::from_static(b"hello"));
        }
        Act::RedirectLater(..) => panic!("HTTP/2 has no such act here"),
        Act::Last | Act::Wait(_) => {
            answer_with(&mut respond, head(200), Bytes::from_static(b"hello"));
        }
    }
}

fn head(status: u16) -> Response<()> {
    let head = Response::builder().status(status);
    head.body(()).expect("a status")
}

fn answer_with(respond: &mut SendResponse<Bytes>, head: Response<()>, body: Bytes) {
    // The agent may have given up the call.
    if let Ok(mut stream) = respond.send_response(head, false) {
        drop(stream.send_data(body, true));
    }
}

async fn read_body(mut body: RecvStream) -> Vec<u8> {
    let mut all = Vec::new();
    while let Some(Ok(data)) = body.data().await {
        all.extend_from_slice(&data);
        drop(body.flow_control().release_capacity(data.len()));
    }
    all
}
