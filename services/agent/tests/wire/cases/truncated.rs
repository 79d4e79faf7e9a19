//! Responses whose connection ends too early. They count as incomplete (RFC 9112, section 8).

use loadpilot_events::plan::Method;

use super::{Case, case};

const LENGTH: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";
const CHUNKS: &[u8] =
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nx: y\r\n\r\n";
const INTERIM: &[u8] = b"HTTP/1.1 103 E\r\na: b\r\n\r\nHTTP/1.1 204 No\r\n\r\n";

/// Each of these responses, cut off after every number of bytes that does not complete it.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (what, answer) in [
        ("a length", LENGTH),
        ("chunks", CHUNKS),
        ("interim", INTERIM),
    ] {
        cases.extend((0..answer.len()).map(|bytes| ended(what, &answer[..bytes])));
    }
    let head = LENGTH.len() - "hello".len();
    let to_head = ended("HEAD", &LENGTH[..head - 1]).to(Method::Head);
    let to_post = ended("POST", &LENGTH[..head]).to(Method::Post);
    cases.extend([to_head, to_post]);
    let large = case(
        "18 EB and the end",
        "RFC 9112 8",
        b"HTTP/1.1 200 OK\r\ncontent-length: 18000000000000000000\r\n\r\nhello",
    );
    cases.push(large.closes().broken());
    cases
}

fn ended(what: &str, bytes: &[u8]) -> Case {
    let name = format!("{what}, ended after {} bytes", bytes.len());
    // Cut in two as well, it would be tested once for each pair of bytes.
    case(&name, "RFC 9112 8", bytes).closes().uncut().broken()
}
