//! The tokens of a streamed answer: where each one ends, and when it arrived.
//!
//! A pure function of the bytes, however they are cut, and of the instants at which they arrived.
//! Must never store a byte of them, nor a time for each: gaps go into a histogram.

use loadpilot_events::log::hist::{self, Hist};
use loadpilot_events::plan::Stream;

use crate::fire::clock::MonoTime;

/// The times of the tokens of one answer after another.
#[derive(Debug)]
pub(crate) struct Tokens {
    cutter: Cutter,
    first: Option<MonoTime>,
    last: Option<MonoTime>,
    gaps: Hist,
    /// Number of further tokens that still count.
    left: u64,
}

/// Finds the ends of tokens.
#[derive(Debug, Clone, Copy)]
enum Cutter {
    Sse(Event),
    Lines {
        is_empty: bool,
    },
    /// The transport reports their ends.
    Chunks,
}

impl Tokens {
    /// Before the first answer.
    pub(crate) fn new() -> Self {
        Self {
            cutter: Cutter::Chunks,
            first: None,
            last: None,
            gaps: hist::anatomy(),
            left: 0,
        }
    }

    /// Resets everything for another answer, of which at most `tokens_max` tokens count.
    pub(crate) fn begin(&mut self, stream: Stream, tokens_max: Option<u32>) {
        self.cutter = match stream {
            Stream::Sse => Cutter::Sse(Event::default()),
            Stream::Lines => Cutter::Lines { is_empty: true },
            Stream::Chunks => Cutter::Chunks,
        };
        (self.first, self.last) = (None, None);
        self.gaps.reset();
        self.left = tokens_max.map_or(u64::MAX, u64::from);
    }

    /// Whether the maximum number of tokens has arrived.
    pub(crate) fn is_full(&self) -> bool {
        self.left == 0
    }

    /// When the first token was complete.
    pub(crate) fn first(&self) -> Option<MonoTime> {
        self.first
    }

    /// Gaps in µs, one for each token but the first.
    pub(crate) fn gaps(&self) -> &Hist {
        &self.gaps
    }

    /// Takes bytes of the body that arrived at `now`; returns the bytes up to the last counted
    /// token.
    pub(crate) fn data<'b>(&mut self, bytes: &'b [u8], now: MonoTime) -> &'b [u8] {
        for (place, byte) in bytes.iter().enumerate() {
            if self.is_full() {
                return &bytes[..place];
            }
            let is_end = match &mut self.cutter {
                Cutter::Sse(event) => event.ends_with(*byte),
                Cutter::Lines { is_empty } => line_ends(is_empty, *byte),
                Cutter::Chunks => return bytes,
            };
            if is_end {
                self.token(now);
            }
        }
        bytes
    }

    /// The transport reports the end of a chunk at `now`.
    pub(crate) fn chunk_end(&mut self, now: MonoTime) {
        if matches!(self.cutter, Cutter::Chunks) && !self.is_full() {
            self.token(now);
        }
    }

    fn token(&mut self, now: MonoTime) {
        self.left -= 1;
        self.first.get_or_insert(now);
        if let Some(last) = self.last.replace(now) {
            hist::record(&mut self.gaps, now.since_us(last));
        }
    }
}

/// Whether `byte` ends a line that is not empty.
fn line_ends(is_empty: &mut bool, byte: u8) -> bool {
    let ended = byte == b'\n' && !*is_empty;
    *is_empty = match byte {
        b'\n' => true,
        b'\r' => *is_empty,
        _ => false,
    };
    ended
}

/// A server-sent event being read (WHATWG HTML, section 9.2.6).
#[derive(Debug, Clone, Copy, Default)]
struct Event {
    /// Number of bytes of this line's field name that match `data`; a larger value once the line's
    /// kind is decided.
    matched: u8,
    /// The line is not empty.
    has_bytes: bool,
    /// A data line has ended.
    has_data: bool,
    after_cr: bool,
    /// Number of bytes of a byte order mark at the beginning of the answer; [`NO_MARK`] when over.
    mark: u8,
}

/// The field name of a data line; a colon or the end of the line must follow.
const DATA: &[u8] = b"data";
/// Byte order mark, which an answer may begin with.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// The answer began without a mark, or the mark is over.
const NO_MARK: u8 = u8::MAX;
/// The line is a data line.
const IS_DATA: u8 = 5;
/// The line is another one.
const IS_OTHER: u8 = 6;

impl Event {
    /// Whether `byte` ends an event that carries data.
    fn ends_with(&mut self, byte: u8) -> bool {
        match std::mem::replace(&mut self.mark, NO_MARK) {
            at if BYTE_ORDER_MARK.get(usize::from(at)) == Some(&byte) => {
                self.mark = at + 1;
                return false;
            }
            // A partial mark is the beginning of a line without data.
            1 | 2 => (self.has_bytes, self.matched) = (true, IS_OTHER),
            _ => {}
        }
        let after_cr = std::mem::replace(&mut self.after_cr, byte == b'\r');
        match byte {
            // CRLF is one line end.
            b'\n' if after_cr => false,
            b'\r' | b'\n' => self.line_end(),
            _ => {
                self.has_bytes = true;
                self.matched = match self.matched {
                    IS_DATA | IS_OTHER => self.matched,
                    4 if byte == b':' => IS_DATA,
                    n if DATA.get(usize::from(n)) == Some(&byte) => n + 1,
                    _ => IS_OTHER,
                };
                false
            }
        }
    }

    fn line_end(&mut self) -> bool {
        if !std::mem::take(&mut self.has_bytes) {
            return std::mem::take(&mut self.has_data);
        }
        // A line with a name only has an empty value.
        self.has_data |= matches!(std::mem::take(&mut self.matched), 4 | IS_DATA);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The instants at which tokens end when byte i arrives at i µs, in pieces of `piece` bytes.
    fn ends(stream: Stream, text: &str, piece: usize) -> (Option<u64>, u64, u64) {
        let origin = MonoTime::from_ns(0);
        let mut tokens = Tokens::new();
        tokens.begin(stream, None);
        for (i, bytes) in text.as_bytes().chunks(piece).enumerate() {
            tokens.data(bytes, origin.plus_us(i as u64));
        }
        let first = tokens.first().map(|at| at.since_us(origin));
        (first, tokens.gaps().len(), tokens.gaps().max())
    }

    /// Broken if comments, names or an unfinished event count as an event, if an event is missed
    /// because of its line ends, or if the cuts between the bytes make a difference.
    #[test]
    fn events_are_those_that_a_browser_would_dispatch() {
        let cases = [
            ("data: a\n\n", 1),
            ("data: a\r\n\r\n", 1),
            ("data: a\r\rdata: b\r\r", 2),
            ("data:a\ndata:b\n\ndata\n\n", 2),
            (": keep-alive\n\ndata: x\n\n", 1),
            ("event: ping\nid: 7\n\ndata: x\n\n", 1),
            ("event: token\ndata: {\"a\":1}\n\n\n\n", 1),
            ("database: no\n\nDATA: no\n\n dat: no\n\n", 0),
            ("data: unfinished\n", 0),
            ("retry: 10\ndata: a\r\n\n", 1),
            ("\u{feff}data: a\n\ndata: b\n\n", 2),
            ("", 0),
        ];
        for (text, events) in cases {
            for piece in 1..=text.len().max(1) {
                let (first, gaps, _) = ends(Stream::Sse, text, piece);
                let counted = u64::from(first.is_some()) + gaps;
                assert_eq!(counted, events, "{text:?} in pieces of {piece}");
            }
        }
    }

    /// Broken if an empty line counts, or one without an end.
    #[test]
    fn lines_that_say_something_are_tokens() {
        let (first, gaps, longest) = ends(Stream::Lines, "{}\n\r\n\n{\"a\":1}\r\nrest", 1);
        // The ends lie at bytes 2 and 14.
        assert_eq!((first, gaps, longest), (Some(2), 1, 12));
    }

    /// Broken if an answer inherits the times of the one before it.
    #[test]
    fn each_answer_has_its_own_times() {
        let mut tokens = Tokens::new();
        let at = |us: u64| MonoTime::from_ns(0).plus_us(us);
        tokens.begin(Stream::Chunks, None);
        tokens.data(b"no end here", at(1));
        assert_eq!(tokens.first(), None);
        tokens.chunk_end(at(5));
        tokens.chunk_end(at(9));
        assert_eq!((tokens.first(), tokens.gaps().max()), (Some(at(5)), 4));
        tokens.begin(Stream::Sse, None);
        tokens.chunk_end(at(20));
        tokens.data(b"a\n\ndata: x\n\n", at(30));
        assert_eq!((tokens.first(), tokens.gaps().len()), (Some(at(30)), 0));
    }

    /// Broken if more tokens count than the maximum, or if bytes after the last counted one are
    /// stored.
    #[test]
    fn nothing_matters_behind_the_last_token_that_does() {
        let mut tokens = Tokens::new();
        let at = |us: u64| MonoTime::from_ns(0).plus_us(us);
        let text = b"data: a\n\n: no\ndata: b\n\ndata: c\n\n";
        for (most, kept) in [(1, 9), (2, 23), (3, 32), (4, 32)] {
            for piece in 1..=text.len() {
                tokens.begin(Stream::Sse, Some(most));
                let pieces = text.chunks(piece);
                let taken: usize = pieces.map(|part| tokens.data(part, at(1)).len()).sum();
                assert_eq!(
                    (taken, tokens.is_full()),
                    (kept, most < 4),
                    "{most} by {piece}"
                );
                assert_eq!(tokens.gaps().len() + 1, u64::from(most.min(3)));
            }
        }
        tokens.begin(Stream::Chunks, Some(1));
        assert_eq!(tokens.data(b"whole", at(1)), b"whole");
        tokens.chunk_end(at(2));
        assert!(tokens.data(b"more", at(3)).is_empty());
        tokens.chunk_end(at(4));
        assert_eq!((tokens.first(), tokens.gaps().len()), (Some(at(2)), 0));
    }
}
