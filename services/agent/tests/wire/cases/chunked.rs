//! Bodies in chunks.

use super::{Case, Next, case};

const HEAD: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

fn body(name: &str, rule: &'static str, body: &str) -> Case {
    case(name, rule, format!("{HEAD}{body}").as_bytes())
}

/// A response of one chunk whose head has further lines.
fn head(name: &str, rule: &'static str, fields: &str) -> Case {
    let answer = format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\n5\r\nhello\r\n0\r\n\r\n");
    case(name, rule, answer.as_bytes())
}

pub(crate) fn cases() -> Vec<Case> {
    [right(), wrong(), codings(), both(), surplus()].concat()
}

fn right() -> Vec<Case> {
    let right = [
        ("one chunk", "7.1", "5\r\nhello\r\n0\r\n\r\n"),
        ("no chunk", "7.1", "0\r\n\r\n"),
        (
            "three chunks",
            "7.1",
            "1\r\nh\r\n3\r\nell\r\n1\r\no\r\n0\r\n\r\n",
        ),
        ("upper case", "7.1: HEXDIG", "A\r\n0123456789\r\n0\r\n\r\n"),
        ("lower case", "7.1: HEXDIG", "a\r\n0123456789\r\n0\r\n\r\n"),
        (
            "two digits",
            "7.1: 1*HEXDIG",
            "1a\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\n\r\n",
        ),
        (
            "leading zeros",
            "7.1: 1*HEXDIG",
            "0005\r\nhello\r\n0\r\n\r\n",
        ),
        (
            "a last chunk of many zeros",
            "7.1: 1*(\"0\")",
            "5\r\nhello\r\n0000\r\n\r\n",
        ),
        ("an extension", "7.1.1", "5;a\r\nhello\r\n0\r\n\r\n"),
        (
            "an extension with a value",
            "7.1.1",
            "5;a=b\r\nhello\r\n0;c=d\r\n\r\n",
        ),
        (
            "a quoted extension",
            "7.1.1",
            "5;a=\"b;c\"\r\nhello\r\n0\r\n\r\n",
        ),
        (
            "spaces about an extension",
            "7.1.1: BWS",
            "5 ; a = b\r\nhello\r\n0\r\n\r\n",
        ),
        // Not in the grammar, but some servers pad, and every reading finds the same end of the
        // line.
        ("a padded size", "lenient", "5   \r\nhello\r\n0\r\n\r\n"),
        ("a trailer", "7.1.2", "5\r\nhello\r\n0\r\nx-sum: 1\r\n\r\n"),
        (
            "trailers",
            "7.1.2",
            "5\r\nhello\r\n0\r\nx-sum: 1\r\nx-more:\r\n\r\n",
        ),
        (
            "a length in a trailer",
            "6.5.1",
            "5\r\nhello\r\n0\r\ncontent-length: 9\r\n\r\n",
        ),
        ("line ends as data", "7.1", "4\r\n\r\n\r\n\r\n0\r\n\r\n"),
        (
            "data like a last chunk",
            "7.1",
            "5\r\n0\r\n\r\n\r\n0\r\n\r\n",
        ),
    ];
    let right = right.iter();
    right
        .map(|(name, rule, bytes)| body(name, rule, bytes).reused(200))
        .collect()
}

/// RFC 9112 7.1: chunks outside of the grammar cannot be framed.
fn wrong() -> Vec<Case> {
    let wrong = [
        ("no size", "\r\nhello\r\n0\r\n\r\n"),
        ("no size but an extension", ";a=b\r\nhello\r\n0\r\n\r\n"),
        ("a size in letters", "five\r\nhello\r\n0\r\n\r\n"),
        ("a size with a sign", "+5\r\nhello\r\n0\r\n\r\n"),
        ("a negative size", "-5\r\nhello\r\n0\r\n\r\n"),
        ("a size with a prefix", "0x5\r\nhello\r\n0\r\n\r\n"),
        ("a size after a space", " 5\r\nhello\r\n0\r\n\r\n"),
        ("two sizes", "5 5\r\nhello\r\n0\r\n\r\n"),
        (
            "a size of 17 digits",
            "10000000000000005\r\nhello\r\n0\r\n\r\n",
        ),
        (
            "a size of 17 digits, all f",
            "fffffffffffffffff\r\nhello\r\n0\r\n\r\n",
        ),
        ("data longer than its size", "5\r\nhello!\r\n0\r\n\r\n"),
        (
            "data shorter than its size",
            "5\r\nhel\r\n0\r\n\r\n0\r\n\r\n",
        ),
        ("no line end after the data", "5\r\nhello0\r\n\r\n"),
        // RFC 9112 2.2 lets a lone LF end only lines of the head: here two readers would disagree
        // about the framing.
        ("LF after the size", "5\nhello\r\n0\r\n\r\n"),
        ("LF in an extension", "5;a\nhello\r\n0\r\n\r\n"),
        ("LF after the data", "5\r\nhello\n0\r\n\r\n"),
        ("CR without LF after the size", "5\rhello\r\n0\r\n\r\n"),
        ("CR without LF after the data", "5\r\nhello\r0\r\n\r\n"),
    ];
    let wrong = wrong.iter();
    wrong
        .map(|(name, bytes)| body(name, "RFC 9112 7.1", bytes).broken())
        .collect()
}

fn codings() -> Vec<Case> {
    vec![
        head("in any case", "RFC 9112 7", "Transfer-Encoding: CHUNKED").reused(200),
        head(
            "chunked last",
            "RFC 9112 6.3, 4",
            "transfer-encoding: gzip, chunked",
        )
        .reused(200),
        head(
            "chunked last, over two lines",
            "RFC 9110 5.3",
            "transfer-encoding: gzip\r\ntransfer-encoding: chunked",
        )
        .reused(200),
        head(
            "an empty element",
            "RFC 9110 5.6.1.2",
            "transfer-encoding: , chunked",
        )
        .reused(200),
        head(
            "chunked not last",
            "RFC 9112 6.3, 4",
            "transfer-encoding: chunked, gzip",
        )
        .closes()
        .fresh(200),
        head(
            "no chunked at all",
            "RFC 9112 6.3, 4",
            "transfer-encoding: gzip",
        )
        .closes()
        .fresh(200),
        head(
            "a word that holds chunked",
            "RFC 9112 6.3, 4",
            "transfer-encoding: xchunked",
        )
        .closes()
        .fresh(200),
        case(
            "from a server of 1.0",
            "RFC 9112 6.1: faulty framing, and to be closed after it was processed, if it was",
            b"HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        )
        .answered_or_broken(200, Next::Fresh),
    ]
}

/// Transfer-Encoding overrides Content-Length, and the connection cannot be trusted afterwards:
/// a proxy in between may have read it the other way.
fn both() -> Vec<Case> {
    const RULE: &str = "RFC 9112 6.3, 3 and 6.1: possibly response splitting";
    vec![
        head(
            "a length before",
            RULE,
            "content-length: 5\r\ntransfer-encoding: chunked",
        )
        .fresh(200),
        head(
            "a length after",
            RULE,
            "transfer-encoding: chunked\r\ncontent-length: 99",
        )
        .fresh(200),
        head(
            "a length of 0",
            RULE,
            "content-length: 0\r\ntransfer-encoding: chunked",
        )
        .fresh(200),
    ]
}

fn surplus() -> Vec<Case> {
    const RULE: &str = "RFC 9112 9.2: data without a request is no answer";
    let body = |name, bytes| body(name, RULE, bytes);
    vec![
        body("a chunk after the last one", "0\r\n\r\n")
            .surplus(b"5\r\nhello\r\n0\r\n\r\n")
            .fresh(200),
        body(
            "an answer after the trailers",
            "5\r\nhello\r\n0\r\nx: y\r\n\r\n",
        )
        .surplus(b"HTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n")
        .fresh(200),
    ]
}
