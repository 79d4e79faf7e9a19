//! The chunked transfer coding, byte by byte (RFC 9112, section 7.1).
//!
//! Strict about line ends and sizes: two readers that disagree about a chunk also disagree about
//! where the next answer begins. Must never store a byte of its input.

use super::piece::{Malformed, Piece};

/// Maximum bytes of all chunk extensions of an answer.
pub(super) const EXTENSION_BYTES_MAX: usize = 16 << 10;
/// Maximum bytes of the trailer section of an answer.
pub(super) const TRAILER_BYTES_MAX: usize = 64 << 10;
/// Number of hex digits of the largest size that fits.
const SIZE_DIGITS_MAX: u8 = 16;

/// How far a chunked body has been read.
#[derive(Debug)]
pub(super) struct Chunks {
    state: State,
    /// Size of the chunk whose header is being read; then the number of data bytes that are left of
    /// it.
    left: u64,
    extension_bytes: usize,
    trailer_bytes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Size {
        digits: u8,
    },
    /// After a size; whitespace is tolerated here.
    SizeEnd,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    TrailerStart,
    TrailerLine,
    LastLf,
    Ended,
}

impl Chunks {
    pub(super) fn new() -> Self {
        Self {
            state: State::Size { digits: 0 },
            left: 0,
            extension_bytes: 0,
            trailer_bytes: 0,
        }
    }

    /// Whether the last byte has been read.
    pub(super) fn ended(&self) -> bool {
        self.state == State::Ended
    }

    /// Reads further bytes and passes data to `take`; returns the bytes after the end.
    ///
    /// # Errors
    /// The bytes are not chunks, or a size, the extensions or the trailers are too long.
    pub(super) fn read<'b>(
        &mut self,
        mut bytes: &'b [u8],
        take: &mut impl FnMut(Piece<'_>),
    ) -> Result<&'b [u8], Malformed> {
        while !self.ended() && !bytes.is_empty() {
            if self.state == State::Data {
                let here = usize::try_from(self.left).unwrap_or(usize::MAX);
                let (data, behind) = bytes.split_at(here.min(bytes.len()));
                take(Piece::Data(data));
                self.left -= data.len() as u64;
                if self.left == 0 {
                    take(Piece::ChunkEnd);
                    self.state = State::DataCr;
                }
                bytes = behind;
            } else {
                self.state = self.step(bytes[0])?;
                bytes = &bytes[1..];
            }
        }
        Ok(bytes)
    }

    fn step(&mut self, byte: u8) -> Result<State, Malformed> {
        Ok(match (self.state, byte) {
            (State::Size { digits }, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                if digits == SIZE_DIGITS_MAX {
                    return Err(Malformed::ChunkSize);
                }
                let digit = char::from(byte).to_digit(16).unwrap_or_default();
                self.left = self.left << 4 | u64::from(digit);
                State::Size { digits: digits + 1 }
            }
            (State::Size { digits: 1.. } | State::SizeEnd | State::Extension, b'\r') => {
                State::SizeLf
            }
            (State::Size { digits: 1.. } | State::SizeEnd, b';') => State::Extension,
            (State::Size { digits: 1.. } | State::SizeEnd, b' ' | b'\t') => {
                self.extension_bytes += 1;
                within(self.extension_bytes, EXTENSION_BYTES_MAX)?;
                State::SizeEnd
            }
            (State::Extension, b'\n') => return Err(Malformed::ChunkSize),
            (State::Extension, _) => {
                self.extension_bytes += 1;
                within(self.extension_bytes, EXTENSION_BYTES_MAX)?;
                State::Extension
            }
            (State::SizeLf, b'\n') if self.left == 0 => State::TrailerStart,
            (State::SizeLf, b'\n') => State::Data,
            (State::DataCr, b'\r') => State::DataLf,
            (State::DataLf, b'\n') => State::Size { digits: 0 },
            (State::TrailerStart, b'\r') => State::LastLf,
            (State::TrailerStart, b'\n') | (State::LastLf, b'\n') => State::Ended,
            (State::TrailerLine, b'\n') => State::TrailerStart,
            (State::TrailerStart | State::TrailerLine, _) => {
                self.trailer_bytes += 1;
                within(self.trailer_bytes, TRAILER_BYTES_MAX)?;
                State::TrailerLine
            }
            _ => return Err(Malformed::ChunkSize),
        })
    }
}

fn within(bytes: usize, most: usize) -> Result<(), Malformed> {
    if bytes > most {
        return Err(Malformed::TooLong);
    }
    Ok(())
}
