//! Which connections are used again. RFC 9112 9.3.

use super::{Case, case};

pub(crate) fn cases() -> Vec<Case> {
    [with_connection_header(), old(), until_the_end()].concat()
}

/// A response of five bytes with one more header line.
fn with(name: &str, rule: &'static str, version: &str, fields: &str) -> Case {
    let answer = format!("HTTP/{version} 200 OK\r\ncontent-length: 5\r\n{fields}\r\n\r\nhello");
    case(name, rule, answer.as_bytes())
}

fn with_connection_header() -> Vec<Case> {
    const RULE: &str = "RFC 9112 9.3 and 9.6";
    let close = [
        ("close", "connection: close"),
        ("close, in any case", "Connection: CLOSE"),
        ("close, in a list", "connection: keep-alive, close"),
        ("close, first in a list", "connection: close,x-hop"),
        (
            "close, in the second line",
            "connection: x-hop\r\nconnection: close",
        ),
        (
            "close, in the first line",
            "connection: close\r\nconnection: keep-alive",
        ),
    ];
    let close = close.iter();
    let mut cases: Vec<Case> = close
        .map(|(name, fields)| with(name, RULE, "1.1", fields).fresh(200))
        .collect();
    let both = with("close, and closed", RULE, "1.1", "connection: close");
    cases.push(both.closes().fresh(200));
    cases.push(
        with("closed without a word", "RFC 9112 9.5", "1.1", "x: y")
            .closes()
            .fresh(200),
    );
    cases.push(with("keep-alive", RULE, "1.1", "connection: keep-alive").reused(200));
    cases.push(with("another option", RULE, "1.1", "connection: x-hop").reused(200));
    cases.push(
        case(
            "close, and chunks",
            RULE,
            b"HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        )
        .fresh(200),
    );
    let gone = b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n";
    cases.push(case("close, and no body", RULE, gone).fresh(204));
    cases
}

fn old() -> Vec<Case> {
    const RULE: &str = "RFC 9112 9.3: a server of 1.0 closes unless it says keep-alive";
    vec![
        with("1.0", RULE, "1.0", "x: y").fresh(200),
        with("1.0, closed", RULE, "1.0", "x: y").closes().fresh(200),
        with("1.0, keep-alive", RULE, "1.0", "connection: keep-alive").reused(200),
        with("1.0, Keep-Alive", RULE, "1.0", "Connection: Keep-Alive").reused(200),
        with(
            "1.0, close beats keep-alive",
            RULE,
            "1.0",
            "connection: keep-alive, close",
        )
        .fresh(200),
        case("1.0, until the end", RULE, b"HTTP/1.0 200 OK\r\n\r\nhello")
            .closes()
            .fresh(200),
        case(
            "1.0, keep-alive until the end",
            "RFC 9112 6.3, 8: no length, whatever the connection is said to be",
            b"HTTP/1.0 200 OK\r\nconnection: keep-alive\r\n\r\nhello",
        )
        .closes()
        .fresh(200),
    ]
}

fn until_the_end() -> Vec<Case> {
    const RULE: &str = "RFC 9112 6.3, 8";
    let long = [b"HTTP/1.1 200 OK\r\n\r\n".as_slice(), &[b'x'; 100_000]].concat();
    vec![
        case("until the end", RULE, b"HTTP/1.1 200 OK\r\n\r\nhello")
            .closes()
            .fresh(200),
        case("until the end, and empty", RULE, b"HTTP/1.1 200 OK\r\n\r\n")
            .closes()
            .fresh(200),
        case("until the end, and long", RULE, &long)
            .uncut()
            .closes()
            .fresh(200),
        case(
            "until the end, and said so",
            RULE,
            b"HTTP/1.1 503 Busy\r\nconnection: close\r\n\r\nhello",
        )
        .closes()
        .fresh(503),
        case(
            "until the end, with what looks like an answer",
            RULE,
            b"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n",
        )
        .closes()
        .fresh(200),
    ]
}
