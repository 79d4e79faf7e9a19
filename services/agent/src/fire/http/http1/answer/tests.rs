//! The reader of answers, without a socket: neither its input nor how that is cut may break it.

use proptest::prelude::*;

use super::*;

/// Answers to a GET that end with their last byte, and their status codes.
const WHOLE: [(&str, u16); 7] = [
    ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200),
    (
        "HTTP/1.1 404 Not Found\r\nServer: x\r\ncontent-length: 3, 3\r\n\r\nabc",
        404,
    ),
    ("HTTP/1.1 204 No Content\r\ncontent-length: 9\r\n\r\n", 204),
    (
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx",
        200,
    ),
    (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n\
         5;name=\"v\"\r\nhello\r\n00A\r\n0123456789\r\n0\r\nTrailer: 1\r\n\r\n",
        200,
    ),
    (
        "HTTP/1.0 200 OK\nconnection: Keep-Alive\ncontent-length: 2\n\nok",
        200,
    ),
    (
        "\r\nHTTP/1.1 301\r\ncontent-length: 0\r\nlocation:\r\n /folded\r\n\r\n",
        301,
    ),
];

fn fed(parts: &[&[u8]]) -> Result<(Read, u16, bool), Malformed> {
    let mut answer = Answer::new();
    answer.begin(false);
    let mut progress = Read::Unfinished;
    for part in parts {
        progress = answer.read(part)?;
    }
    Ok((progress, answer.status(), answer.reusable()))
}

/// Broken if what an answer means depended on how the network cut it up.
#[test]
fn an_answer_is_the_same_however_it_is_cut() {
    for (text, status) in WHOLE {
        let bytes = text.as_bytes();
        let complete = (Read::Complete { surplus: 0 }, status, true);
        assert_eq!(fed(&[bytes]), Ok(complete), "{text}");
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(fed(&single), Ok(complete), "{text} byte by byte");
        for cut in 1..bytes.len() {
            let (head, tail) = bytes.split_at(cut);
            assert_eq!(fed(&[head, tail]), Ok(complete), "{text} cut at {cut}");
            let (progress, ..) = fed(&[head]).expect("a beginning of an answer");
            assert_eq!(progress, Read::Unfinished, "{text} without {tail:?}");
        }
    }
}

/// Broken if bytes behind an answer were taken for a part of it.
#[test]
fn what_lies_behind_an_answer_is_told() {
    for (text, status) in WHOLE {
        let with_more = [text.as_bytes(), b"HTTP/1.1 200 OK"].concat();
        let complete = (Read::Complete { surplus: 15 }, status, true);
        assert_eq!(fed(&[&with_more]), Ok(complete), "{text}");
    }
}

/// Broken if a head with too many lines were taken for something else than HTTP.
#[test]
fn a_head_with_too_many_lines_is_too_long() {
    for (lines, expected) in [
        (HEADERS_MAX, Ok(())),
        (HEADERS_MAX + 1, Err(Malformed::TooLong)),
    ] {
        let mut head = "HTTP/1.1 204 No Content\r\n".to_owned();
        head.extend((0..lines).map(|n| format!("x-{n}: 1\r\n")));
        head.push_str("\r\n");
        assert_eq!(fed(&[head.as_bytes()]).map(|_| ()), expected, "{lines}");
    }
}

proptest! {
    /// Broken if any bytes could make the reader panic, keep more than a head, or read the same
    /// bytes in two ways.
    #[test]
    fn no_bytes_are_read_in_two_ways(
        place in 0..WHOLE.len(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3u8), 0..6),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
    ) {
        let mut bytes = WHOLE[place].0.as_bytes().to_vec();
        for (at, byte, kind) in edits {
            let at = at.index(bytes.len());
            match kind {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => bytes.truncate(at.max(1)),
            }
        }
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
        cuts.sort_unstable();
        let ends = cuts.iter().copied().chain([bytes.len()]);
        let begins = [0].into_iter().chain(cuts.iter().copied());
        let parts: Vec<&[u8]> = begins.zip(ends).map(|(from, to)| &bytes[from..to]).collect();
        let whole = fed(&[&bytes]);
        let cut = fed(&parts);
        match (whole, cut) {
            (Ok(whole), Ok(cut)) => prop_assert_eq!(comparable(whole), comparable(cut)),
            (Err(_), Err(_)) => {}
            // An unfinished line is checked when its end has come.
            (Err(_), Ok((Read::Unfinished, ..))) => {}
            (whole, cut) => prop_assert!(false, "{whole:?} whole, {cut:?} cut"),
        }
    }
}

/// Surplus is counted per part, so only its presence compares.
fn comparable((progress, status, reusable): (Read, u16, bool)) -> (bool, u16, bool) {
    (progress != Read::Unfinished, status, reusable)
}
