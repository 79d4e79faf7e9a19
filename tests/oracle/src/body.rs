//! The body of a request as a stream: counted and hashed, not stored, so that its size needs no
//! limit. Works on bytes; [`crate::connection`] reads the socket.

use crate::head::{Framing, Malformed};

/// Maximum number of hexadecimal digits of a chunk size: 15 digits cannot overflow 64 bits.
const CHUNK_DIGITS_MAX: u8 = 15;

/// FNV-1a, 64 bits (Fowler, Noll, Vo; parameters of draft-eastlake-fnv §2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fnv1a(pub u64);

impl Fnv1a {
    /// The digest of no bytes.
    pub const EMPTY: Self = Self(0xcbf2_9ce4_8422_2325);

    /// Adds bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Number of bytes left of a plain body or of a chunk.
    Data {
        left: u64,
        chunked: bool,
    },
    Size {
        value: u64,
        digits: u8,
    },
    Extension {
        value: u64,
    },
    SizeLf {
        value: u64,
    },
    DataCr,
    DataLf,
    Trailer {
        empty: bool,
    },
    TrailerLf {
        empty: bool,
    },
    Done,
}

/// Reads the bytes after a head until the body is complete.
#[derive(Debug)]
pub struct BodyReader {
    state: State,
    len: u64,
    digest: Fnv1a,
}

impl BodyReader {
    /// A reader for a body delimited by `framing`.
    pub fn new(framing: Framing) -> Self {
        let state = match framing {
            Framing::Length(0) => State::Done,
            Framing::Length(left) => State::Data {
                left,
                chunked: false,
            },
            Framing::Chunked => State::Size {
                value: 0,
                digits: 0,
            },
        };
        Self {
            state,
            len: 0,
            digest: Fnv1a::EMPTY,
        }
    }

    /// Whether the whole body was taken.
    pub fn is_complete(&self) -> bool {
        self.state == State::Done
    }

    /// Bytes of content taken so far, without chunk framing.
    pub fn content_len(&self) -> u64 {
        self.len
    }

    /// The digest of the content taken so far.
    pub fn digest(&self) -> Fnv1a {
        self.digest
    }

    /// Takes bytes up to the end of the body; returns how many it took.
    ///
    /// # Errors
    /// [`Malformed::Chunk`] when the chunked coding is invalid.
    pub fn feed(&mut self, input: &[u8]) -> Result<usize, Malformed> {
        let mut at = 0;
        while at < input.len() && !self.is_complete() {
            if let State::Data { left, chunked } = self.state {
                let room = usize::try_from(left).unwrap_or(usize::MAX);
                let part = &input[at..input.len().min(at.saturating_add(room))];
                self.digest.add(part);
                self.len += part.len() as u64;
                at += part.len();
                self.state = match (left - part.len() as u64, chunked) {
                    (0, true) => State::DataCr,
                    (0, false) => State::Done,
                    (left, _) => State::Data { left, chunked },
                };
            } else {
                self.state = framing_step(self.state, input[at])?;
                at += 1;
            }
        }
        Ok(at)
    }
}

/// One byte of chunk framing (RFC 9112 §7.1).
fn framing_step(state: State, byte: u8) -> Result<State, Malformed> {
    Ok(match (state, byte) {
        (State::Size { value, digits: 1.. }, b'\r') => State::SizeLf { value },
        (State::Size { value, digits: 1.. }, b';') => State::Extension { value },
        (State::Size { value, digits }, _) if digits < CHUNK_DIGITS_MAX => {
            let digit = char::from(byte).to_digit(16).ok_or(Malformed::Chunk)?;
            State::Size {
                value: value * 16 + u64::from(digit),
                digits: digits + 1,
            }
        }
        (State::Extension { value }, b'\r') => State::SizeLf { value },
        (State::Extension { value }, _) if byte != b'\n' => State::Extension { value },
        (State::SizeLf { value: 0 }, b'\n') => State::Trailer { empty: true },
        (State::SizeLf { value }, b'\n') => State::Data {
            left: value,
            chunked: true,
        },
        (State::DataCr, b'\r') => State::DataLf,
        (State::DataLf, b'\n') => State::Size {
            value: 0,
            digits: 0,
        },
        (State::Trailer { empty }, b'\r') => State::TrailerLf { empty },
        (State::Trailer { .. }, _) if byte != b'\n' => State::Trailer { empty: false },
        (State::TrailerLf { empty: true }, b'\n') => State::Done,
        (State::TrailerLf { empty: false }, b'\n') => State::Trailer { empty: true },
        _ => return Err(Malformed::Chunk),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(bytes: &[u8]) -> Fnv1a {
        let mut digest = Fnv1a::EMPTY;
        digest.add(bytes);
        digest
    }

    #[test]
    fn fnv_agrees_with_the_published_vectors() {
        // draft-eastlake-fnv, appendix of test vectors.
        assert_eq!(digest(b""), Fnv1a(0xcbf2_9ce4_8422_2325));
        assert_eq!(digest(b"a"), Fnv1a(0xaf63_dc4c_8601_ec8c));
        assert_eq!(digest(b"foobar"), Fnv1a(0x8594_4171_f739_67e8));
    }

    #[test]
    fn a_body_is_the_same_however_it_is_cut() {
        let wire =
            b"4;x=y\r\nWiki\r\n5\r\npedia\r\nE\r\n in\r\n\r\nchunks.\r\n0\r\nT: 1\r\n\r\nNEXT";
        let content = b"Wikipedia in\r\n\r\nchunks.";
        for step in 1..wire.len() {
            let mut body = BodyReader::new(Framing::Chunked);
            let mut taken = 0;
            for part in wire.chunks(step) {
                let took = body.feed(part).expect("well formed");
                taken += took;
                if took < part.len() {
                    break;
                }
            }
            assert!(body.is_complete(), "step {step}");
            assert_eq!(&wire[taken..], b"NEXT", "step {step}");
            assert_eq!(
                (body.content_len(), body.digest()),
                (content.len() as u64, digest(content))
            );
        }
    }

    #[test]
    fn a_plain_body_ends_at_its_length() {
        let mut body = BodyReader::new(Framing::Length(5));
        assert_eq!(body.feed(b"abc"), Ok(3));
        assert!(!body.is_complete());
        assert_eq!(body.feed(b"deNEXT"), Ok(2));
        assert!(body.is_complete());
        assert_eq!(body.digest(), digest(b"abcde"));
        assert!(BodyReader::new(Framing::Length(0)).is_complete());
    }

    #[test]
    fn broken_chunks_are_refused() {
        let too_long = "1".repeat(16);
        for wire in [
            "\r\n",
            "g\r\n",
            "3\n",
            "3\r\nabcd\r\n",
            "3\r\nabc\n",
            &too_long,
            "0\r\n\n",
        ] {
            let mut body = BodyReader::new(Framing::Chunked);
            assert_eq!(
                body.feed(wire.as_bytes()),
                Err(Malformed::Chunk),
                "{wire:?}"
            );
        }
    }
}
