//! The first line of a response. RFC 9112 4.

use super::{Case, case};

fn line(name: &str, rule: &'static str, line: &[u8]) -> Case {
    let rest = b"\r\ncontent-length: 5\r\n\r\nhello";
    case(name, rule, &[line, rest].concat())
}

pub(crate) fn cases() -> Vec<Case> {
    [right(), wrong()].concat()
}

fn right() -> Vec<Case> {
    const CLASS: &str = "RFC 9110 15: an unknown status is one of its class";
    vec![
        line(
            "no reason",
            "RFC 9112 4: the reason may be absent",
            b"HTTP/1.1 200 ",
        )
        .reused(200),
        line(
            "no space either",
            "lenient: it moves no border",
            b"HTTP/1.1 200",
        )
        .reused(200),
        line(
            "a reason of words",
            "RFC 9112 4",
            b"HTTP/1.1 404 Not There\tNow",
        )
        .reused(404),
        line(
            "a reason like a line",
            "RFC 9112 4",
            b"HTTP/1.1 200 HTTP/1.1 500 No",
        )
        .reused(200),
        line(
            "a reason beyond ASCII",
            "RFC 9112 4: obs-text",
            b"HTTP/1.1 200 \xe2\x9c\x93 \xff",
        )
        .reused(200),
        line("299", CLASS, b"HTTP/1.1 299 Odd").reused(299),
        line("399", CLASS, b"HTTP/1.1 399 Odd").reused(399),
        line("499", CLASS, b"HTTP/1.1 499 Odd").reused(499),
        line("599", CLASS, b"HTTP/1.1 599 Odd").reused(599),
        // RFC 9110 15: a status above 599 is invalid, and to be treated as if it were a 5xx.
        line("999", "RFC 9110 15", b"HTTP/1.1 999 Denied").reused(999),
        // RFC 9112 2.2 requires servers to accept this in requests; in a response it is one line
        // end too many.
        line(
            "an empty line before",
            "lenient: nothing can stand there",
            b"\r\nHTTP/1.1 200 OK",
        )
        .reused(200),
    ]
}

/// Without a valid status or version there is no response.
fn wrong() -> Vec<Case> {
    let wrong: [(&str, &[u8]); 20] = [
        ("99", b"HTTP/1.1 99 Low"),
        ("099", b"HTTP/1.1 099 Low"),
        ("000", b"HTTP/1.1 000 None"),
        ("1000", b"HTTP/1.1 1000 High"),
        ("a status of letters", b"HTTP/1.1 abc OK"),
        ("a status with a letter", b"HTTP/1.1 2x0 OK"),
        ("a negative status", b"HTTP/1.1 -20 OK"),
        ("a status with a fraction", b"HTTP/1.1 200.1 OK"),
        ("no status", b"HTTP/1.1 OK"),
        ("nothing but the version", b"HTTP/1.1"),
        ("nothing but the version and a space", b"HTTP/1.1 "),
        ("a version in lower case", b"http/1.1 200 OK"),
        ("version 2.0", b"HTTP/2.0 200 OK"),
        ("version 11", b"HTTP/11 200 OK"),
        ("no version", b"HTTP 200 OK"),
        ("another protocol", b"ICY 200 OK"),
        ("a request", b"GET / HTTP/1.1"),
        ("a space before", b" HTTP/1.1 200 OK"),
        ("NUL in the reason", b"HTTP/1.1 200 O\0K"),
        ("CR in the reason", b"HTTP/1.1 200 O\rK"),
    ];
    let wrong = wrong.iter();
    wrong
        .map(|(name, bytes)| line(name, "RFC 9112 2.3 and 4", bytes).broken())
        .collect()
}
