//! Reads an HTTP/1.1 answer from bytes as they arrive: the end of its head, the length of its body,
//! and whether the connection may carry another request (RFC 9112, sections 4, 6, 7 and 9.3).
//!
//! A pure function of the bytes, however they are cut. Must never store more than the beginning of
//! a head, nor read beyond the end of the answer.

use std::mem::MaybeUninit;

use httparse::{Header, ParserConfig, Response, Status};

use super::chunks::Chunks;
use super::piece::{Malformed, Piece};

/// Maximum bytes of one head.
pub(crate) const HEAD_BYTES_MAX: usize = 64 << 10;
/// Maximum number of header lines of one head.
const HEADERS_MAX: usize = 128;
/// Maximum number of interim answers (1xx) before the final one.
const INTERIM_MAX: u8 = 32;

/// How far an answer has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Read {
    /// More bytes belong to it, or it ends only with the connection.
    Unfinished,
    /// Its last byte has been read.
    Complete {
        /// Number of bytes after its end; they belong to no answer.
        surplus: usize,
    },
}

/// One answer being read.
#[derive(Debug)]
pub(crate) struct Answer {
    state: State,
    /// Whether the request was a HEAD: then there is no body, whatever the head says.
    to_head: bool,
    status: u16,
    reusable: bool,
    interim: u8,
    /// The beginning of a head that is not complete yet.
    pub(crate) partial: Vec<u8>,
}

#[derive(Debug)]
enum State {
    Head,
    Length(u64),
    Chunks(Chunks),
    UntilClose,
    Complete,
}

impl Answer {
    /// The state before the first request.
    pub(crate) fn new() -> Self {
        Self {
            state: State::Head,
            to_head: false,
            status: 0,
            reusable: false,
            interim: 0,
            partial: Vec::new(),
        }
    }

    /// Resets everything. The next bytes answer a new request, a HEAD one if `to_head`.
    pub(crate) fn begin(&mut self, to_head: bool) {
        self.state = State::Head;
        self.to_head = to_head;
        self.status = 0;
        self.reusable = false;
        self.interim = 0;
        self.partial.clear();
    }

    /// The status code, once the final head is complete.
    pub(crate) fn status_if_known(&self) -> Option<u16> {
        (self.status != 0).then_some(self.status)
    }

    /// The status code; valid once the answer is complete.
    pub(crate) fn status(&self) -> u16 {
        self.status
    }

    /// Whether the connection may carry another request after this answer.
    pub(crate) fn reusable(&self) -> bool {
        self.reusable
    }

    /// Marks the connection as unusable after this answer, whatever its head said.
    pub(crate) fn spoil(&mut self) {
        self.reusable = false;
    }

    /// Reads further bytes.
    ///
    /// # Errors
    /// The bytes are not an answer; nothing that follows can be understood.
    pub(crate) fn read(&mut self, bytes: &[u8]) -> Result<Read, Malformed> {
        self.read_with(bytes, &mut |_| {})
    }

    /// Reads further bytes, and passes the pieces of the answer to `take`.
    ///
    /// # Errors
    /// As [`Answer::read`].
    pub(crate) fn read_with(
        &mut self,
        mut bytes: &[u8],
        take: &mut impl FnMut(Piece<'_>),
    ) -> Result<Read, Malformed> {
        loop {
            match &mut self.state {
                State::Complete => {
                    let surplus = bytes.len();
                    return Ok(Read::Complete { surplus });
                }
                _ if bytes.is_empty() => return Ok(Read::Unfinished),
                State::Head => match self.read_head(bytes, take)? {
                    Some(behind) => bytes = behind,
                    None => return Ok(Read::Unfinished),
                },
                State::Length(left) => {
                    let here = usize::try_from(*left).unwrap_or(usize::MAX);
                    let (body, behind) = bytes.split_at(here.min(bytes.len()));
                    take(Piece::Data(body));
                    *left -= body.len() as u64;
                    if *left == 0 {
                        self.state = State::Complete;
                    }
                    bytes = behind;
                }
                State::Chunks(chunks) => {
                    bytes = chunks.read(bytes, take)?;
                    if chunks.ended() {
                        self.state = State::Complete;
                    }
                }
                State::UntilClose => {
                    take(Piece::Data(bytes));
                    return Ok(Read::Unfinished);
                }
            }
        }
    }

    /// Whether the end of the connection at this point is the end of the answer.
    pub(crate) fn ends_with_the_connection(&self) -> bool {
        matches!(self.state, State::UntilClose | State::Complete)
    }

    /// Reads further bytes of the head; returns the bytes after it, once it is complete.
    fn read_head<'b>(
        &mut self,
        bytes: &'b [u8],
        take: &mut impl FnMut(Piece<'_>),
    ) -> Result<Option<&'b [u8]>, Malformed> {
        if self.partial.is_empty() {
            if let Some((length, head)) = parse(bytes)? {
                self.take(&head, &bytes[..length], take)?;
                return Ok(Some(&bytes[length..]));
            }
            if bytes.len() >= HEAD_BYTES_MAX {
                return Err(Malformed::TooLong);
            }
            self.partial.extend_from_slice(bytes);
            return Ok(None);
        }
        let before = self.partial.len();
        let room = HEAD_BYTES_MAX - before;
        self.partial
            .extend_from_slice(&bytes[..room.min(bytes.len())]);
        // Only the end of a line can complete a head: without this check, single bytes would cost
        // quadratic time.
        let found = match self.partial[before..].contains(&b'\n') {
            true => parse(&self.partial)?,
            false => None,
        };
        match found {
            Some((length, head)) => {
                // The buffer is not kept for the next answer: except from hostile targets, heads
                // come in one piece.
                let partial = std::mem::take(&mut self.partial);
                self.take(&head, &partial[..length], take)?;
                Ok(Some(&bytes[length - before..]))
            }
            None if self.partial.len() == HEAD_BYTES_MAX => Err(Malformed::TooLong),
            None => Ok(None),
        }
    }

    fn take(
        &mut self,
        head: &Head,
        bytes: &[u8],
        take: &mut impl FnMut(Piece<'_>),
    ) -> Result<(), Malformed> {
        match head.status {
            0..100 => return Err(Malformed::Status),
            101 => return Err(Malformed::Switch),
            100..200 => {
                self.interim += 1;
                if self.interim > INTERIM_MAX {
                    return Err(Malformed::Interim);
                }
                return Ok(());
            }
            _ => {}
        }
        take(Piece::Head(head.status, bytes));
        self.status = head.status;
        let bodiless = self.to_head || matches!(head.status, 204 | 304);
        self.reusable = head.keep_alive;
        self.state = match head.framing {
            _ if bodiless => State::Complete,
            Framing::Length(0) => State::Complete,
            Framing::Length(length) => State::Length(length),
            Framing::Chunked => State::Chunks(Chunks::new()),
            Framing::UntilClose => {
                self.reusable = false;
                State::UntilClose
            }
        };
        Ok(())
    }
}

/// The relevant fields of a head.
#[derive(Debug)]
struct Head {
    status: u16,
    keep_alive: bool,
    framing: Framing,
}

/// How a body ends, if there may be one (RFC 9112, section 6.3).
#[derive(Debug)]
enum Framing {
    Length(u64),
    Chunked,
    UntilClose,
}

/// The head at the beginning of `bytes` and its length; `None` when it is not complete.
fn parse(bytes: &[u8]) -> Result<Option<(usize, Head)>, Malformed> {
    let mut headers = [MaybeUninit::<Header<'_>>::uninit(); HEADERS_MAX];
    let mut response = Response::new(&mut []);
    let mut config = ParserConfig::default();
    // A recipient of an answer reads a folded line as one (RFC 9112, section 5.2).
    config.allow_obsolete_multiline_headers_in_responses(true);
    let parsed = config.parse_response_with_uninit_headers(&mut response, bytes, &mut headers)?;
    let Status::Complete(length) = parsed else {
        return Ok(None);
    };
    let mut facts = HeaderFacts::default();
    for header in response.headers.iter() {
        facts.read(header)?;
    }
    let http_1_1 = response.version == Some(1);
    let head = Head {
        status: response.code.unwrap_or_default(),
        keep_alive: facts.keep_alive(http_1_1),
        framing: facts.framing(),
    };
    Ok(Some((length, head)))
}

/// The framing and the connection settings in the header lines of one head.
#[derive(Debug, Default)]
struct HeaderFacts {
    length: Option<u64>,
    /// Whether the last transfer coding is `chunked`; `None` when there is none.
    chunked: Option<bool>,
    close: bool,
    keep: bool,
}

impl HeaderFacts {
    fn read(&mut self, header: &Header<'_>) -> Result<(), Malformed> {
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        // By length first: most lines need no comparison.
        match header.name.len() {
            10 if is("connection") => {
                for token in tokens(header.value) {
                    self.close |= token.eq_ignore_ascii_case(b"close");
                    self.keep |= token.eq_ignore_ascii_case(b"keep-alive");
                }
            }
            14 if is("content-length") => {
                for token in tokens(header.value) {
                    let length = number(token).ok_or(Malformed::Length)?;
                    if self.length.is_some_and(|before| before != length) {
                        return Err(Malformed::Length);
                    }
                    self.length = Some(length);
                }
                self.length.ok_or(Malformed::Length)?;
            }
            17 if is("transfer-encoding") => {
                if let Some(last) = tokens(header.value).last() {
                    self.chunked = Some(last.eq_ignore_ascii_case(b"chunked"));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// RFC 9112, sections 9.3 and 6.1: an answer with two framings, or with a transfer coding that
    /// HTTP/1.0 does not know, is read, but the connection cannot be trusted after it.
    fn keep_alive(&self, http_1_1: bool) -> bool {
        let dubious = self.chunked.is_some() && (self.length.is_some() || !http_1_1);
        !self.close && !dubious && (http_1_1 || self.keep)
    }

    fn framing(&self) -> Framing {
        match (self.chunked, self.length) {
            (Some(true), _) => Framing::Chunked,
            (Some(false), _) | (None, None) => Framing::UntilClose,
            (None, Some(length)) => Framing::Length(length),
        }
    }
}

/// The elements of a comma-separated list.
fn tokens(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii)
}

fn number(digits: &[u8]) -> Option<u64> {
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests;
