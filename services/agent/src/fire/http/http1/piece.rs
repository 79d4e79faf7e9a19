//! Pieces of an HTTP/1.1 answer, and why bytes are not an answer.

/// A piece of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece<'b> {
    /// The status of the final answer, and its whole head.
    Head(u16, &'b [u8]),
    /// Some bytes of the body.
    Data(&'b [u8]),
    /// The end of a chunk of the chunked transfer coding.
    ChunkEnd,
}

/// Why bytes are not an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Malformed {
    #[error("the head is not HTTP/1: {0}")]
    Head(httparse::Error),
    #[error("a status code below 100")]
    Status,
    #[error("an unrequested switch of protocols")]
    Switch,
    #[error("Content-Length is invalid or contradictory")]
    Length,
    #[error("invalid chunked body")]
    ChunkSize,
    #[error("head, number of header lines, chunk extensions or trailers exceed their limit")]
    TooLong,
    #[error("too many interim answers")]
    Interim,
}

impl From<httparse::Error> for Malformed {
    fn from(error: httparse::Error) -> Self {
        match error {
            httparse::Error::TooManyHeaders => Self::TooLong,
            error => Self::Head(error),
        }
    }
}
