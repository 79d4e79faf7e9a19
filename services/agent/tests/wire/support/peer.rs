//! The server's end of one connection, driven by a script.
//!
//! Its writes may fail: a client that closes the connection is part of every test, so that no write
//! is an error here.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::server::{Log, PATIENCE, Seen};
use crate::support::socket::{self, ClientEnd};

/// The response to every request that only checks whether the engine still works. No other response
/// here has its status, so that it cannot be mistaken for the response to another request.
pub(crate) const PROBE: &[u8] =
    b"HTTP/1.1 203 Probe\r\ncontent-length: 5\r\nconnection: close\r\n\r\nprobe";

/// Maximum time that a piece may be unread before the next one follows.
const UNREAD_MAX: Duration = Duration::from_millis(50);

/// Maximum time for data to reach the other end.
const UNDERWAY_MAX: Duration = Duration::from_millis(500);

/// Maximum size of a flood, if the client accepts all of it.
const FLOOD_MAX_BYTES: usize = 64 << 30;

pub(crate) struct Peer {
    /// `None` after this end has reset the connection.
    reader: Option<BufReader<TcpStream>>,
    client: SocketAddr,
    connection: usize,
    pub(crate) log: Arc<Log>,
}

impl Peer {
    pub(crate) fn new(stream: TcpStream, connection: usize, log: Arc<Log>) -> Option<Self> {
        stream.set_nodelay(true).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        Some(Self {
            client: stream.peer_addr().ok()?,
            reader: Some(BufReader::new(stream)),
            connection,
            log,
        })
    }

    /// Whether it is one of the first `number` connections.
    pub(crate) fn is_one_of_the_first(&self, number: usize) -> bool {
        self.connection < number
    }

    fn stream(&self) -> &TcpStream {
        let reader = self.reader.as_ref();
        reader.expect("nothing is sent after a reset").get_ref()
    }

    /// The next request with its body; `None` when the client has closed.
    pub(crate) fn request(&mut self) -> Option<Seen> {
        let seen = self.request_head()?;
        let mut body = vec![0; usize::try_from(seen.body_bytes).expect("a small body")];
        self.reader.as_mut()?.read_exact(&mut body).ok()?;
        Some(seen)
    }

    /// The next request without its body, which the caller leaves unread.
    pub(crate) fn request_head(&mut self) -> Option<Seen> {
        let line = self.line()?;
        let mut seen = Seen {
            connection: self.connection,
            path: line.split(' ').nth(1).expect("a request line").to_owned(),
            arrival: 0,
            step: 0,
            body_bytes: 0,
        };
        loop {
            let header = self.line()?;
            let Some((name, value)) = header.split_once(": ") else {
                break;
            };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => seen.body_bytes = value.parse().expect("a length"),
                "x-id" => {
                    let mut id = value.split('/').skip(1).map(|part| part.parse().ok());
                    let mut part = || id.next().flatten().expect("run, arrival, step");
                    (seen.arrival, seen.step) = (part(), part() as usize);
                }
                _ => {}
            }
        }
        self.log.note(seen.clone());
        Some(seen)
    }

    /// Reads and discards this number of bytes; returns whether they came.
    pub(crate) fn skip(&mut self, bytes: u64) -> bool {
        let Some(reader) = &mut self.reader else {
            return false;
        };
        let skipped = io::copy(&mut reader.take(bytes), &mut io::sink());
        skipped.is_ok_and(|skipped| skipped == bytes)
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let bytes = self.reader.as_mut()?.read_line(&mut line).ok()?;
        (bytes > 0).then(|| line.trim_end().to_owned())
    }

    pub(crate) fn say(&mut self, bytes: &[u8]) {
        drop(self.stream().write_all(bytes));
    }

    /// Sends the pieces one by one, each when the one before has been read.
    pub(crate) fn say_pieces(&mut self, pieces: &[&[u8]]) {
        let Some((last, others)) = pieces.split_last() else {
            return;
        };
        self.say_slowly(others);
        self.say(last);
    }

    /// As [`Peer::say_pieces`]; the end of the stream comes with the last piece.
    pub(crate) fn say_pieces_and_finish(&mut self, pieces: &[&[u8]]) {
        let (last, others) = pieces.split_last().expect("an answer, if an empty one");
        self.say_slowly(others);
        drop(socket::send_and_finish(self.stream(), last));
    }

    /// Ends the stream; the client closes the connection.
    pub(crate) fn finish(&mut self) {
        self.say_pieces_and_finish(&[b""]);
    }

    fn say_slowly(&mut self, pieces: &[&[u8]]) {
        if pieces.is_empty() {
            return;
        }
        let Some(client) = ClientEnd::find(self.client) else {
            return;
        };
        for piece in pieces {
            self.say(piece);
            client.wait_until_read(UNREAD_MAX);
        }
    }

    /// Answers a probe and closes the connection.
    pub(crate) fn answer_probe(&mut self) {
        self.say_pieces_and_finish(&[PROBE]);
        self.watch();
    }

    /// Waits until the client has read everything that was sent.
    pub(crate) fn wait_until_read(&self) {
        if let Some(client) = ClientEnd::find(self.client) {
            client.wait_until_read(UNDERWAY_MAX);
        }
    }

    /// Waits until the last bytes, or the end, have reached the client's socket.
    pub(crate) fn wait_until_arrived(&self) {
        if let Some(client) = ClientEnd::find(self.client) {
            client.wait_until_arrived(UNDERWAY_MAX);
        }
    }

    /// Logs further requests, without an answer, until the client closes.
    pub(crate) fn watch(&mut self) {
        while self.request().is_some() {}
    }

    /// Sends `bytes` again and again until the client closes the connection.
    pub(crate) fn flood(&mut self, bytes: &[u8]) {
        self.flood_for(PATIENCE, bytes);
    }

    /// Sends `bytes` again and again for this time.
    pub(crate) fn flood_for(&mut self, duration: Duration, bytes: &[u8]) {
        let times = (64 * 1024 / bytes.len()).max(1);
        let wave = bytes.repeat(times);
        let begin = Instant::now();
        for _ in 0..FLOOD_MAX_BYTES / wave.len() {
            if begin.elapsed() >= duration || self.stream().write_all(&wave).is_err() {
                return;
            }
        }
    }

    /// Sends `bytes` again and again, with a `pause` after each byte, until the client closes the
    /// connection.
    pub(crate) fn drip(&mut self, bytes: &[u8], pause: Duration) {
        let stream = self.stream();
        stream
            .set_read_timeout(Some(pause))
            .expect("an open socket");
        for byte in bytes.iter().cycle() {
            let read = (&mut &*stream).read(&mut [0]);
            let hung_up = match read {
                Ok(_) => true,
                Err(error) => error.kind() != io::ErrorKind::WouldBlock,
            };
            if hung_up || (&mut &*stream).write_all(&[*byte]).is_err() {
                return;
            }
        }
    }

    /// Sends the last bytes, waits until they were read, and resets the connection.
    pub(crate) fn say_and_reset(&mut self, bytes: &[u8]) {
        self.say(bytes);
        self.wait_until_read();
        self.reset();
    }

    /// Closes with a reset, now.
    pub(crate) fn reset(&mut self) {
        if let Some(reader) = self.reader.take() {
            socket::reset_on_close(reader.get_ref());
        }
    }
}
