//! The lines of a head. RFC 9112 5.

use super::{Case, Next, case};

/// A response of five bytes with one more header line.
fn with(name: &str, rule: &'static str, field: &[u8]) -> Case {
    let begin = b"HTTP/1.1 200 OK\r\n".as_slice();
    let end = b"\r\ncontent-length: 5\r\n\r\nhello".as_slice();
    case(name, rule, &[begin, field, end].concat())
}

pub(crate) fn cases() -> Vec<Case> {
    [values(), line_ends(), folds(), names(), amounts()].concat()
}

fn values() -> Vec<Case> {
    vec![
        with("an empty value", "RFC 9110 5.5", b"x-a:").reused(200),
        with("spaces about a value", "RFC 9112 5.1", b"x-a: \t b \t ").reused(200),
        with(
            "a value beyond ASCII",
            "RFC 9110 5.5: obs-text",
            b"x-a: \xc3\xa4\xff",
        )
        .reused(200),
        with("a value with colons", "RFC 9110 5.5", b"x-a: b: c:d").reused(200),
        with(
            "every sign in a name",
            "RFC 9110 5.6.2",
            b"!#$%&'*+-.^_`|~09azAZ: b",
        )
        .reused(200),
        with(
            "one name twice",
            "RFC 9110 5.3",
            b"set-cookie: a\r\nset-cookie: b",
        )
        .reused(200),
        // The RFC says reject or replace: a client that rejects cannot misread what follows.
        with("NUL in a value", "RFC 9110 5.5", b"x-a: b\0c").broken(),
        with(
            "CR in a value",
            "RFC 9112 2.2",
            b"x-a: b\rcontent-length: 3",
        )
        .broken(),
    ]
}

fn line_ends() -> Vec<Case> {
    const RULE: &str = "RFC 9112 2.2: a lone LF may end a line of the head";
    vec![
        case(
            "LF everywhere",
            RULE,
            b"HTTP/1.1 200 OK\ncontent-length: 5\n\nhello",
        )
        .reused(200),
        case(
            "LF after the status",
            RULE,
            b"HTTP/1.1 200 OK\ncontent-length: 5\r\n\r\nhello",
        )
        .reused(200),
        case(
            "LF after a field",
            RULE,
            b"HTTP/1.1 200 OK\r\ncontent-length: 5\n\r\nhello",
        )
        .reused(200),
        case(
            "LF as the empty line",
            RULE,
            b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\nhello",
        )
        .reused(200),
        case(
            "CR everywhere",
            "RFC 9112 2.2",
            b"HTTP/1.1 200 OK\rcontent-length: 5\r\rhello",
        )
        .closes()
        .broken(),
    ]
}

/// A user agent must read a folded line as one with spaces.
fn folds() -> Vec<Case> {
    const RULE: &str = "RFC 9112 5.2";
    vec![
        with("a fold", RULE, b"x-a: b\r\n c").reused(200),
        with("a fold by a tab", RULE, b"x-a: b\r\n\tc").reused(200),
        with("two folds", RULE, b"x-a: b\r\n c\r\n  d").reused(200),
        with(
            "a fold that hides a field",
            RULE,
            b"x-a: b\r\n content-length: 3",
        )
        .reused(200),
        case(
            "a folded length",
            RULE,
            b"HTTP/1.1 200 OK\r\ncontent-length:\r\n 5\r\n\r\nhello",
        )
        .reused(200),
        case(
            "folded chunks",
            RULE,
            b"HTTP/1.1 200 OK\r\ntransfer-encoding:\r\n chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        )
        .reused(200),
        case(
            "a length folded in two",
            "RFC 9112 5.2 and 6.3, 5: two words are no length",
            b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n 5\r\n\r\nhello, here I am",
        )
        .broken(),
        // The first line of the head cannot be folded: a client rejects it, or drops the line
        // unread.
        with(
            "a fold of the status line",
            "RFC 9112 2.2",
            b" transfer-encoding: chunked",
        )
        .broken(),
    ]
}

fn names() -> Vec<Case> {
    const RULE: &str = "RFC 9112 5.1: no space before the colon";
    vec![
        // Proxies must strip the space and servers refuse it. A client may accept the field or
        // refuse the response, but it must not ignore the field.
        case(
            "a length before a space",
            RULE,
            b"HTTP/1.1 200 OK\r\ncontent-length : 5\r\n\r\nhello",
        )
        .answered_or_broken(200, Next::Reused),
        case(
            "chunks before a space",
            RULE,
            b"HTTP/1.1 200 OK\r\ntransfer-encoding : chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        )
        .answered_or_broken(200, Next::Reused),
        with("a name before a space", RULE, b"x-a : b").answered_or_broken(200, Next::Reused),
        with("a name of two words", "RFC 9110 5.1: token", b"x a: b").broken(),
        with("no name", "RFC 9110 5.1: token", b": b").broken(),
        with("no colon", "RFC 9112 5", b"x-a").broken(),
        with("a name with NUL", "RFC 9110 5.1: token", b"x\0a: b").broken(),
        with("a name beyond ASCII", "RFC 9110 5.1: token", b"\xc3\xa4: b").broken(),
        with("a name in parentheses", "RFC 9110 5.1: token", b"(x): b").broken(),
    ]
}

/// RFC 9110 2.3: a limit where the RFC sets none, large enough for real servers.
fn amounts() -> Vec<Case> {
    let lines = |number: usize| {
        let lines: Vec<String> = (0..number).map(|n| format!("x-{n}: a value")).collect();
        lines.join("\r\n").into_bytes()
    };
    let value = |bytes: usize| [b"x-a: ".as_slice(), &vec![b'b'; bytes]].concat();
    vec![
        with("64 fields", "RFC 9110 5.4", &lines(64))
            .uncut()
            .reused(200),
        with("a value of 8 KiB", "RFC 9110 5.4", &value(8 * 1024))
            .uncut()
            .reused(200),
        with("50,000 fields", "RFC 9110 5.4", &lines(50_000))
            .uncut()
            .broken(),
        with("a value of 4 MiB", "RFC 9110 5.4", &value(4 << 20))
            .uncut()
            .broken(),
    ]
}
