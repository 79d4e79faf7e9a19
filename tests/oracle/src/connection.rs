//! One connection on one thread: read a request, count it, wait, answer, repeat. Only counted
//! requests are answered, and nothing is read before the response except bytes that came with the
//! request.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread;

use crate::behaviour::{Answer, Manner};
use crate::body::BodyReader;
use crate::clock::Moment;
use crate::head::{Framing, Head, Malformed, parse_head};
use crate::kernel;
use crate::record::Outcome;
use crate::state::Shared;

/// Maximum number of bytes of one read.
const READ_BYTES: usize = 16 * 1024;

/// What happens to the connection next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    KeepAlive,
    Close,
}

/// A request that was received whole.
struct Received {
    seq: u64,
    arrival: Moment,
    /// Arrival of the first request of the server's life.
    first: Moment,
    head: Head,
}

/// One accepted connection.
pub(crate) struct Connection<'a> {
    stream: &'a TcpStream,
    number: u64,
    shared: &'a Shared,
    /// Bytes that were read and not consumed.
    unread: Vec<u8>,
    last_read: Moment,
}

impl<'a> Connection<'a> {
    pub(crate) fn new(stream: &'a TcpStream, number: u64, shared: &'a Shared) -> Self {
        Self {
            stream,
            number,
            shared,
            unread: Vec::new(),
            last_read: Moment::now(),
        }
    }

    /// Serves requests until the connection ends.
    pub(crate) fn serve(&mut self) {
        while let Some(request) = self.receive() {
            if self.answer(&request) == Next::Close {
                break;
            }
        }
    }

    /// Reads one request; `None` at the end of the connection or after a malformed request, which
    /// is logged.
    fn receive(&mut self) -> Option<Received> {
        if self.unread.is_empty() && !self.fill() {
            return None;
        }
        let arrival = self.last_read;
        let seq = self.shared.ledger.begin(self.number, arrival)?;
        match self.read_request(seq) {
            Ok(Some((head, body))) => {
                let first = self.shared.ledger.receive(seq, arrival, |record| {
                    record.body_len = body.content_len();
                    record.body_digest = body.digest();
                })?;
                Some(Received {
                    seq,
                    arrival,
                    first,
                    head,
                })
            }
            Ok(None) => {
                self.shared.ledger.end(seq, Outcome::Incomplete, None);
                None
            }
            Err(rule) => {
                let text = format!("{{\"malformed\":\"{rule}\"}}");
                let bytes = response_head(400, text.len(), true) + &text;
                self.shared.ledger.finishing(seq);
                let _ = self.stream.write_all(bytes.as_bytes());
                self.shared
                    .ledger
                    .end(seq, Outcome::Malformed(rule), Some(400));
                None
            }
        }
    }

    /// Head and body; `Ok(None)` when the connection ended before they were complete.
    fn read_request(&mut self, seq: u64) -> Result<Option<(Head, BodyReader)>, Malformed> {
        let (head, len) = loop {
            if let Some(parsed) = parse_head(&self.unread)? {
                break parsed;
            }
            if !self.fill() {
                return Ok(None);
            }
        };
        self.unread.drain(..len);
        let (id_header, with_headers) = (&self.shared.id_header, self.shared.log_headers);
        self.shared.ledger.note(seq, |record| {
            record.note_head(&head, id_header, with_headers)
        });

        let mut body = BodyReader::new(head.framing);
        let waits = self.unread.is_empty() && head.framing != Framing::Length(0);
        if waits && head.expects_continue {
            let _ = (&mut &*self.stream).write_all(b"HTTP/1.1 100 Continue\r\n\r\n");
        }
        loop {
            let used = body.feed(&self.unread)?;
            self.unread.drain(..used);
            if body.is_complete() {
                return Ok(Some((head, body)));
            }
            if !self.fill() {
                self.shared.ledger.note(seq, |record| {
                    record.body_len = body.content_len();
                    record.body_digest = body.digest();
                });
                return Ok(None);
            }
        }
    }

    /// Waits until the answer is due, gives it and logs the end.
    fn answer(&mut self, request: &Received) -> Next {
        let arrival = request.arrival.mono;
        let answer = self.shared.behaviour().answer(&request.head.path, arrival);
        let (ledger, seq) = (&self.shared.ledger, request.seq);
        if answer.manner == Manner::Silent {
            self.unread.clear();
            while self.fill() {
                self.unread.clear();
            }
            ledger.end(seq, Outcome::Unanswered, None);
            return Next::Close;
        }
        let due = request.arrival.mono + answer.delay;
        if self.shared.freezer.wait(request.first, due) && kernel::peer_closed(self.stream) {
            ledger.note(seq, |record| record.client_closed = true);
        }
        if answer.manner == Manner::Reset {
            ledger.end(seq, Outcome::Reset, None);
            kernel::reset_on_close(self.stream).unwrap_or_else(|e| kernel::die("SO_LINGER", &e));
            return Next::Close;
        }
        let close = answer.close || !request.head.keep_alive;
        let written = self.write(seq, &answer, request.head.method == "HEAD", close);
        let (outcome, next) = match written {
            Err(_) => (Outcome::Aborted, Next::Close),
            Ok(()) if answer.manner == Manner::Truncate => (Outcome::Truncated, Next::Close),
            Ok(()) if close => (Outcome::Answered, Next::Close),
            Ok(()) => (Outcome::Answered, Next::KeepAlive),
        };
        ledger.end(seq, outcome, Some(answer.status));
        next
    }

    fn write(&self, seq: u64, answer: &Answer, bare: bool, close: bool) -> std::io::Result<()> {
        let body = match answer.body_bytes {
            Some(bytes) => vec![b'x'; bytes],
            None => format!("{{\"status\":{}}}", answer.status).into_bytes(),
        };
        let mut bytes = response_head(answer.status, body.len(), close).into_bytes();
        let bare = bare || matches!(answer.status, 204 | 304);
        let mut stream = self.stream;
        let ledger = &self.shared.ledger;
        match answer.manner {
            Manner::Drip(apart) if !bare && !body.is_empty() => {
                stream.write_all(&bytes)?;
                for (nth, byte) in body.iter().enumerate() {
                    thread::sleep(apart);
                    if nth + 1 == body.len() {
                        ledger.finishing(seq);
                    }
                    stream.write_all(&[*byte])?;
                }
            }
            Manner::Truncate => {
                bytes.extend_from_slice(&body[..body.len() / 2]);
                ledger.finishing(seq);
                stream.write_all(&bytes)?;
                stream.shutdown(Shutdown::Write)?;
            }
            _ => {
                if !bare {
                    bytes.extend_from_slice(&body);
                }
                ledger.finishing(seq);
                stream.write_all(&bytes)?;
            }
        }
        Ok(())
    }

    /// Reads more bytes; `false` when there are no more. A reset by the peer is an end too.
    fn fill(&mut self) -> bool {
        let mut chunk = [0; READ_BYTES];
        loop {
            let read = if self.shared.kernel_times {
                kernel::read_timed(self.stream, &mut chunk)
            } else {
                let mut stream = self.stream;
                stream.read(&mut chunk).map(|len| (len, None))
            };
            match read {
                Ok((0, _)) => return false,
                Ok((len, kernel_us)) => {
                    self.last_read = Moment {
                        kernel_us,
                        ..Moment::now()
                    };
                    self.unread.extend_from_slice(&chunk[..len]);
                    return true;
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
    }
}

/// The head of an answer. A 204 has no content length (RFC 9110 §8.6).
fn response_head(status: u16, body_len: usize, close: bool) -> String {
    let mut head = format!("HTTP/1.1 {status} Oracle\r\ncontent-type: application/json\r\n");
    if status != 204 {
        head.push_str(&format!("content-length: {body_len}\r\n"));
    }
    if close {
        head.push_str("connection: close\r\n");
    }
    head.push_str("\r\n");
    head
}
