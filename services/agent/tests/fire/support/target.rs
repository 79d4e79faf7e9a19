//! A target that counts for itself: plain std threads, no HTTP library, nothing of the product.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// One request as the target received it.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) at: Instant,
    /// Method and path.
    pub(crate) line: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers
            .find(|(own, _)| own == name)
            .map(|(_, value)| value.as_str())
    }

    /// Arrival and step in the id header.
    pub(crate) fn id(&self) -> (u64, usize) {
        let id = self.header("x-id").expect("every request carries its id");
        let mut parts = id.split('/').skip(1);
        let mut part = || parts.next().expect("run, arrival, step");
        let arrival = part().parse().expect("an arrival number");
        (arrival, part().parse().expect("a step number"))
    }
}

/// The target's reaction to a request.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    Answer(u16),
    /// Answers, then closes without having announced it.
    AnswerAndClose,
    /// Closes in an orderly way.
    Close,
    /// Closes with RST.
    Reset,
    /// Announces 10 bytes, sends 3, closes.
    Truncate,
    Garbage,
    /// Answers once the gate is open.
    Wait(Arc<Gate>),
    /// Sends each of these pieces as a chunk, with a pause before each.
    Stream(&'static [&'static str], Duration),
    /// Begins to answer, and sends the rest once the gate is open.
    Begin(Arc<Gate>),
}

/// A gate that is opened once, for all waiting threads.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    pub(crate) fn open(&self) {
        *self.open.lock().expect("no thread panicked with the gate") = true;
        self.opened.notify_all();
    }

    fn pass(&self) {
        let open = self.open.lock().expect("no thread panicked with the gate");
        let passed = self.opened.wait_while(open, |open| !*open);
        drop(passed.expect("no thread panicked with the gate"));
    }
}

#[derive(Default)]
struct Log {
    seen: Mutex<Vec<Seen>>,
    more: Condvar,
    connections: AtomicU64,
    /// Number of connections whose client may have sent something that is not read yet.
    unread: Mutex<i64>,
    read: Condvar,
}

impl Log {
    /// Changes the number of connections with possibly unread data.
    fn read_on(&self, connections: i64) {
        *self.unread.lock().expect("no server thread panicked") += connections;
        self.read.notify_all();
    }
}

pub(crate) struct Target {
    pub(crate) address: SocketAddr,
    log: Arc<Log>,
}

impl Target {
    pub(crate) fn start(act: impl Fn(&Seen) -> Act + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port");
        let address = listener.local_addr().expect("its address");
        let log = Arc::new(Log::default());
        let (own, act) = (Arc::clone(&log), Arc::new(act));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = stream.expect("a connection");
                let (log, act) = (Arc::clone(&own), Arc::clone(&act));
                log.connections.fetch_add(1, Ordering::SeqCst);
                log.read_on(1);
                thread::spawn(move || {
                    serve(&stream, &log, &*act);
                    log.read_on(-1);
                });
            }
        });
        Self { address, log }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.log
            .seen
            .lock()
            .expect("no server thread panicked")
            .clone()
    }

    pub(crate) fn connections(&self) -> u64 {
        self.log.connections.load(Ordering::SeqCst)
    }

    /// Blocks until this number of requests has come.
    pub(crate) fn wait_for(&self, requests: usize) {
        let seen = self.log.seen.lock().expect("no server thread panicked");
        let reached = self.log.more.wait_while(seen, |seen| seen.len() < requests);
        drop(reached.expect("no server thread panicked"));
    }
}

/// The arrival of a request that a test sends by itself.
pub(crate) const MARKER: u64 = u64::MAX;

impl Target {
    /// Blocks until the target has read everything that dead clients have sent. The target sees one
    /// more request, of the arrival [`MARKER`].
    pub(crate) fn wait_until_read(&self) {
        // Connections are accepted in order: once this request is answered, all before it are read.
        let mut last = TcpStream::connect(self.address).expect("an open port");
        let request = format!("GET /last HTTP/1.1\r\nx-id: run/{MARKER}/0\r\n\r\n");
        last.write_all(request.as_bytes())
            .expect("an open connection");
        last.read_exact(&mut [0; 12]).expect("an answer");
        drop(last);
        let unread = self.log.unread.lock().expect("no server thread panicked");
        let read = self.log.read.wait_while(unread, |unread| *unread > 0);
        drop(read.expect("no server thread panicked"));
    }
}

/// An address of this machine without a listener.
pub(crate) fn closed_port() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port");
    listener.local_addr().expect("its address")
}

fn serve(stream: &TcpStream, log: &Log, act: &dyn Fn(&Seen) -> Act) {
    stream.set_nodelay(true).expect("an open socket");
    let mut reader = BufReader::new(stream);
    while let Some(seen) = read_request(&mut reader) {
        let act = act(&seen);
        let is_head = seen.line.starts_with("HEAD ");
        log.seen
            .lock()
            .expect("no server thread panicked")
            .push(seen);
        log.more.notify_all();
        let mut out = stream;
        let written = match act {
            Act::Answer(status) => out.write_all(&answer(status, is_head)),
            Act::AnswerAndClose => {
                let written = out.write_all(&answer(200, is_head));
                drop(written);
                return drop(stream.shutdown(Shutdown::Both));
            }
            Act::Reset => return reset(stream),
            Act::Truncate => {
                drop(out.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc"));
                return;
            }
            Act::Close => return,
            Act::Stream(pieces, pause) => out
                .write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
                .and_then(|()| {
                    for piece in pieces {
                        thread::sleep(pause);
                        write!(out, "{:x}\r\n{piece}\r\n", piece.len())?;
                    }
                    out.write_all(b"0\r\n\r\n")
                }),
            Act::Begin(gate) => {
                drop(out.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc"));
                return gate.pass();
            }
            Act::Garbage => return drop(out.write_all(b"SSH-2.0-OpenSSH_9.9\r\n\r\n")),
            Act::Wait(gate) => {
                // A client that waits for its answer sends nothing more.
                log.read_on(-1);
                gate.pass();
                log.read_on(1);
                out.write_all(&answer(200, is_head))
            }
        };
        if written.is_err() {
            return;
        }
    }
}

fn answer(status: u16, is_head: bool) -> Vec<u8> {
    let body = if is_head { "" } else { "hello" };
    format!("HTTP/1.1 {status} Whatever\r\ncontent-length: 5\r\n\r\n{body}").into_bytes()
}

fn read_request(reader: &mut BufReader<&TcpStream>) -> Option<Seen> {
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let at = Instant::now();
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let header = header.trim_end();
        if header.is_empty() {
            break;
        }
        let (name, value) = header.split_once(": ").expect("a header line");
        headers.push((name.to_ascii_lowercase(), value.to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.map_or(0, |(_, length)| length.parse().expect("a length"));
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let line = line.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
    Some(Seen {
        at,
        line,
        headers,
        body,
    })
}

fn reset(stream: &TcpStream) {
    let linger = libc::linger {
        l_onoff: 1,
        l_linger: 0,
    };
    let size = libc::socklen_t::try_from(size_of::<libc::linger>()).expect("a small struct");
    // SAFETY: the option's value is one `linger`, alive through the call.
    let result = unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            (&raw const linger).cast(),
            size,
        )
    };
    assert_eq!(result, 0, "SO_LINGER is known everywhere");
}
