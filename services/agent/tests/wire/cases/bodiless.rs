//! Responses that end with their head, whatever it says. RFC 9112 6.3, 1.

use loadpilot_events::plan::Method;

use super::{Case, case};

const RULE: &str = "RFC 9112 6.3, 1";
const SURPLUS: &str = "RFC 9112 9.2: a body that cannot be is data without a request";

pub(crate) fn cases() -> Vec<Case> {
    [to_head(), by_status(), surplus()].concat()
}

fn to_head() -> Vec<Case> {
    let fields = [
        ("HEAD, with a length", "content-length: 5\r\n"),
        ("HEAD, in chunks", "transfer-encoding: chunked\r\n"),
        ("HEAD, without framing", ""),
        (
            "HEAD, with a large length",
            "content-length: 1000000000000\r\n",
        ),
    ];
    let mut cases: Vec<Case> = fields
        .iter()
        .map(|(name, fields)| {
            let answer = format!("HTTP/1.1 200 OK\r\n{fields}\r\n");
            case(name, RULE, answer.as_bytes()).to(Method::Head)
        })
        .collect();
    cases.push(
        case(
            "HEAD, to be closed",
            RULE,
            b"HTTP/1.1 404 No\r\ncontent-length: 5\r\nconnection: close\r\n\r\n",
        )
        .to(Method::Head)
        .fresh(404),
    );
    cases
}

fn by_status() -> Vec<Case> {
    let answers: [(&str, u16, &[u8]); 7] = [
        ("204", 204, b"HTTP/1.1 204 No Content\r\n\r\n"),
        (
            "204 with a length",
            204,
            b"HTTP/1.1 204 No Content\r\ncontent-length: 5\r\n\r\n",
        ),
        (
            "204 in chunks",
            204,
            b"HTTP/1.1 204 No Content\r\ntransfer-encoding: chunked\r\n\r\n",
        ),
        (
            "304",
            304,
            b"HTTP/1.1 304 Not Modified\r\netag: \"x\"\r\n\r\n",
        ),
        (
            "304 with a length",
            304,
            b"HTTP/1.1 304 Not Modified\r\ncontent-length: 100\r\n\r\n",
        ),
        (
            "304 in chunks",
            304,
            b"HTTP/1.1 304 Same\r\ntransfer-encoding: chunked\r\n\r\n",
        ),
        (
            "205, which says that it is empty",
            205,
            b"HTTP/1.1 205 R\r\ncontent-length: 0\r\n\r\n",
        ),
    ];
    let answers = answers.iter();
    let mut cases: Vec<Case> = answers
        .map(|(name, status, answer)| case(name, RULE, answer).reused(*status))
        .collect();
    cases.push(
        case("204 to POST", RULE, b"HTTP/1.1 204 No Content\r\n\r\n")
            .to(Method::Post)
            .reused(204),
    );
    cases
}

fn surplus() -> Vec<Case> {
    vec![
        case(
            "HEAD, and a body",
            SURPLUS,
            b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n",
        )
        .to(Method::Head)
        .surplus(b"hello")
        .fresh(200),
        case(
            "204, and a body",
            SURPLUS,
            b"HTTP/1.1 204 No\r\ncontent-length: 5\r\n\r\n",
        )
        .surplus(b"hello")
        .fresh(204),
        case(
            "304, and a body",
            SURPLUS,
            b"HTTP/1.1 304 S\r\ntransfer-encoding: chunked\r\n\r\n",
        )
        .surplus(b"5\r\nhello\r\n0\r\n\r\n")
        .fresh(304),
    ]
}
