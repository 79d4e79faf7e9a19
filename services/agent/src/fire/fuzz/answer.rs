//! Properties of the reader of answers, for any bytes, however they are cut.

use super::cuts::ways;
use crate::fire::http::http1::answer::{Answer, HEAD_BYTES_MAX, Read};
use crate::fire::http::http1::piece::{Malformed, Piece};

/// How an answer was read.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Reading {
    end: End,
    body: Vec<u8>,
    /// Bytes of the body before each end of a chunk.
    chunk_ends: Vec<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum End {
    /// After `at` bytes, which the next answer would follow.
    Complete {
        at: usize,
        status: u16,
        reusable: bool,
    },
    /// In a body that the end of the connection ends.
    UntilClose {
        status: u16,
    },
    InHead,
    InBody,
    Malformed(Malformed),
}

/// # Panics
/// The bytes are read in two ways, or the reader keeps more than a head.
pub fn answer(bytes: &[u8]) {
    // A connection reads no more at once, and a head may be no longer.
    let bytes = &bytes[..bytes.len().min(HEAD_BYTES_MAX)];
    // One reader for all cuts: what it keeps of one answer must not affect the next.
    let mut answer = Answer::new();
    for to_head in [false, true] {
        let whole = read_parts(&mut answer, to_head, &[bytes]);
        for parts in ways(bytes) {
            let cut = read_parts(&mut answer, to_head, &parts);
            // An unfinished line is checked only when its end has come.
            let postponed = matches!(whole.end, End::Malformed(_)) && cut.end == End::InHead;
            assert!(cut == whole || postponed, "{whole:?} whole, {cut:?} cut");
        }
    }
}

fn read_parts(answer: &mut Answer, to_head: bool, parts: &[&[u8]]) -> Reading {
    answer.begin(to_head);
    let (mut body, mut chunk_ends, mut fed) = (Vec::new(), Vec::new(), 0);
    let mut has_head = false;
    let mut end = None;
    for part in parts {
        let read = answer.read_with(part, &mut |piece| match piece {
            Piece::Head(..) => has_head = true,
            Piece::Data(data) => body.extend_from_slice(data),
            Piece::ChunkEnd => chunk_ends.push(body.len()),
        });
        fed += part.len();
        let kept = (answer.partial.len(), answer.partial.capacity());
        assert!(
            kept.0 <= HEAD_BYTES_MAX && kept.1 <= 2 * HEAD_BYTES_MAX,
            "{kept:?} bytes kept"
        );
        match read {
            Ok(Read::Unfinished) => {}
            Ok(Read::Complete { surplus }) => {
                assert!(surplus <= part.len(), "{surplus} bytes of {}", part.len());
                end = Some(End::Complete {
                    at: fed - surplus,
                    status: answer.status(),
                    reusable: answer.reusable(),
                });
                break;
            }
            Err(malformed) => {
                end = Some(End::Malformed(malformed));
                break;
            }
        }
    }
    assert!(
        body.len() <= fed,
        "{} bytes of a body out of {fed}",
        body.len()
    );
    assert!(!to_head || body.is_empty(), "a body in an answer to HEAD");
    let end = end.unwrap_or_else(|| {
        let again = answer.read(&[]);
        assert_eq!(again, Ok(Read::Unfinished), "complete without a report");
        match has_head {
            false => End::InHead,
            true if answer.ends_with_the_connection() => {
                assert!(!answer.reusable(), "a connection that has to end is kept");
                End::UntilClose {
                    status: answer.status(),
                }
            }
            true => End::InBody,
        }
    });
    Reading {
        end,
        body,
        chunk_ends,
    }
}
