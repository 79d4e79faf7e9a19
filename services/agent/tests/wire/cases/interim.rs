//! Interim responses, which come before the final one. RFC 9110 15.2.

use loadpilot_events::plan::Method;

use super::{Case, case};

const FINAL: &str = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";

pub(crate) fn cases() -> Vec<Case> {
    [before_the_answer(), instead_of_it()].concat()
}

fn before_the_answer() -> Vec<Case> {
    let interim = [
        ("100", "HTTP/1.1 100 Continue\r\n\r\n"),
        ("100 without a reason", "HTTP/1.1 100 \r\n\r\n"),
        (
            "103",
            "HTTP/1.1 103 Early Hints\r\nlink: </a.css>; rel=preload\r\n\r\n",
        ),
        ("102 twice", "HTTP/1.1 102 P\r\n\r\nHTTP/1.1 102 P\r\n\r\n"),
        (
            "100, 102 and 103",
            "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 102 P\r\n\r\nHTTP/1.1 103 E\r\na: b\r\n\r\n",
        ),
        ("199, which is unassigned", "HTTP/1.1 199 What\r\n\r\n"),
        // RFC 9112 6.3, 1: the response ends with its head.
        (
            "100 with a length",
            "HTTP/1.1 100 Continue\r\ncontent-length: 5\r\n\r\n",
        ),
        (
            "100 in chunks",
            "HTTP/1.1 100 Continue\r\ntransfer-encoding: chunked\r\n\r\n",
        ),
    ];
    let rule = "RFC 9110 15.2: any number may come, and unknown ones are ignored";
    let interim = interim.iter();
    let mut cases: Vec<Case> = interim
        .map(|(name, interim)| case(name, rule, format!("{interim}{FINAL}").as_bytes()).reused(200))
        .collect();
    let to_post = format!("HTTP/1.1 100 Continue\r\n\r\n{FINAL}");
    cases.push(case("100 to POST", rule, to_post.as_bytes()).to(Method::Post));
    let to_head = "HTTP/1.1 103 E\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n";
    cases.push(case("103 to HEAD", rule, to_head.as_bytes()).to(Method::Head));
    cases
}

fn instead_of_it() -> Vec<Case> {
    const SWITCH: &str = "RFC 9110 7.8: no protocol was offered to switch to";
    vec![
        case(
            "100 and the end",
            "RFC 9112 8",
            b"HTTP/1.1 100 Continue\r\n\r\n",
        )
        .closes()
        .broken(),
        case(
            "101 and the end",
            SWITCH,
            b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        )
        .closes()
        .broken(),
        case(
            "101, to a protocol",
            SWITCH,
            b"HTTP/1.1 101 S\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
        )
        .broken(),
        case(
            "101 and an answer",
            SWITCH,
            format!("HTTP/1.1 101 S\r\n\r\n{FINAL}").as_bytes(),
        )
        .broken(),
    ]
}
