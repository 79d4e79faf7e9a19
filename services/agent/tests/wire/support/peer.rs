//! One connection of the server, as a script drives it.
//!
//! What it writes may come in vain: a client that has hung up is part of every test, so that no
//! write is an error here.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::server::{Log, PATIENCE, Seen};
use crate::support::socket::{self, ClientEnd};

/// The answer to every request that only asks whether the engine still works. Its status is like
/// no other here, so that it cannot be mistaken for what belongs to another request.
pub(crate) const PROBE: &[u8] =
    b"HTTP/1.1 203 Probe\r\ncontent-length: 5\r\nconnection: close\r\n\r\nprobe";

/// How long a piece may lie unread before the next one follows.
const UNREAD_MAX: Duration = Duration::from_millis(50);

/// How long news may take to the other end.
const UNDERWAY_MAX: Duration = Duration::from_millis(500);

/// A flood ends here, should the client swallow all of it.
const FLOOD_MAX_BYTES: usize = 64 << 30;

pub(crate) struct Peer {
    /// None once the connection was reset from here.
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

    /// Whether fewer than `number` connections came before it.
    pub(crate) fn is_one_of_the_first(&self, number: usize) -> bool {
        self.connection < number
    }

    fn stream(&self) -> &TcpStream {
        let reader = self.reader.as_ref();
        reader.expect("nothing is said after a reset").get_ref()
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

    /// Reads so many bytes and forgets them; whether they came.
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

    /// Says the pieces one by one, each when the one before has been read.
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

    /// Ends the stream, and leaves it to the client to close.
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

    /// Answers a probe and hangs up.
    pub(crate) fn answer_probe(&mut self) {
        self.say_pieces_and_finish(&[PROBE]);
        self.watch();
    }

    /// Waits until the client has read all that was said.
    pub(crate) fn wait_until_read(&self) {
        if let Some(client) = ClientEnd::find(self.client) {
            client.wait_until_read(UNDERWAY_MAX);
        }
    }

    /// Waits until what was said or done last has come to the client's socket.
    pub(crate) fn wait_until_arrived(&self) {
        if let Some(client) = ClientEnd::find(self.client) {
            client.wait_until_arrived(UNDERWAY_MAX);
        }
    }

    /// Logs what still comes, without an answer, until the client closes.
    pub(crate) fn watch(&mut self) {
        while self.request().is_some() {}
    }

    /// Says `bytes` again and again until the client hangs up.
    pub(crate) fn flood(&mut self, bytes: &[u8]) {
        self.flood_for(PATIENCE, bytes);
    }

    /// Says `bytes` again and again for so long.
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

    /// Says `bytes` again and again, one each `pause`, until the client hangs up.
    pub(crate) fn drip(&mut self, bytes: &[u8], pause: Duration) {
        let stream = self.stream();
        stream
            .set_read_timeout(Some(pause))
            .expect("an open socket");
        for byte in bytes.iter().cycle() {
            let heard = (&mut &*stream).read(&mut [0]);
            let hung_up = match heard {
                Ok(_) => true,
                Err(error) => error.kind() != io::ErrorKind::WouldBlock,
            };
            if hung_up || (&mut &*stream).write_all(&[*byte]).is_err() {
                return;
            }
        }
    }

    /// Says the last bytes, waits until they were read, and resets the connection.
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
