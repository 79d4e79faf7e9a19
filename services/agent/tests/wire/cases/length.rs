//! Bodies whose length is in the head.

use super::{Case, case};

const PLAIN: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";

/// A response of five bytes with this content-length.
fn says(name: &str, rule: &'static str, value: &str) -> Case {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length:{value}\r\n\r\nhello");
    case(name, rule, head.as_bytes())
}

pub(crate) fn cases() -> Vec<Case> {
    [right(), wrong(), surplus()].concat()
}

fn right() -> Vec<Case> {
    vec![
        case("five bytes", "RFC 9112 6.3, 6", PLAIN).reused(200),
        case(
            "an empty body",
            "RFC 9112 6.3, 6",
            b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
        )
        .reused(200),
        case(
            "an error has a body like any other answer",
            "RFC 9112 6.3, 6",
            b"HTTP/1.1 404 Not Found\r\ncontent-length: 4\r\n\r\ngone",
        )
        .reused(404),
        case(
            "a name in any case",
            "RFC 9110 5.1",
            b"HTTP/1.1 500 Oh\r\ncOnTeNt-LeNgTh: 5\r\n\r\nhello",
        )
        .reused(500),
        case(
            "a body that looks like an answer",
            "RFC 9112 6.3, 6",
            b"HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\nHTTP/1.1 500 No\r\na: b\r\n\r\nhello",
        )
        .reused(200),
        says("spaces around it", "RFC 9112 5.1: OWS", " \t 5 \t").reused(200),
        says("no space before it", "RFC 9112 5.1: OWS", "5").reused(200),
        says("leading zeros", "RFC 9110 8.6: 1*DIGIT", " 0005").reused(200),
        says("a list of one length", "RFC 9112 6.3, 5", " 5, 5").reused(200),
        says(
            "two equal lines",
            "RFC 9112 6.3, 5",
            " 5\r\nContent-Length: 5",
        )
        .reused(200),
        case(
            "many bytes",
            "RFC 9112 6.3, 6",
            &[
                b"HTTP/1.1 200 OK\r\ncontent-length: 300000\r\n\r\n".as_slice(),
                &[b'x'; 300_000],
            ]
            .concat(),
        )
        .uncut()
        .reused(200),
    ]
}

/// RFC 9112 6.3, 5: an invalid length is an unrecoverable error; the connection must be closed.
fn wrong() -> Vec<Case> {
    let wrong = [
        ("a list of two lengths", " 5, 6"),
        ("two differing lines", " 5\r\nContent-Length: 6"),
        (
            "two differing lines, the first one longer",
            " 7\r\ncontent-length: 5",
        ),
        ("a list with a hole", " 5, , 5"),
        ("a sign", " +5"),
        ("a negative one", " -5"),
        ("letters", " five"),
        ("a hexadecimal one", " 0x5"),
        ("a fraction", " 5.0"),
        ("two words", " 5 5"),
        ("nothing", " "),
        ("a length of 2⁶⁴", " 18446744073709551616"),
        ("a length that is 5 modulo 2⁶⁴", " 18446744073709551621"),
        (
            "a length of a hundred digits",
            concat!(
                " 9999999999999999999999999999999999999999999999999",
                "999999999999999999999999999999999999999999999999999"
            ),
        ),
        ("a good one and a bad one", " 5\r\ncontent-length: x"),
    ];
    let wrong = wrong.iter();
    wrong
        .map(|(name, value)| says(name, "RFC 9112 6.3, 5", value).broken())
        .collect()
}

/// The response is complete and counts. The bytes after it belong to no request, so that the
/// connection cannot be trusted any more.
fn surplus() -> Vec<Case> {
    const RULE: &str = "RFC 9112 9.2: data without a request is no answer";
    let surplus: [(&str, &[u8]); 6] = [
        ("one byte", b"x"),
        ("an empty line", b"\r\n"),
        ("noise", b"\0\xff\xfegarbage"),
        ("half a status line", b"HTTP/1.1 20"),
        (
            "an answer",
            b"HTTP/1.1 404 No\r\ncontent-length: 2\r\n\r\nno",
        ),
        ("an interim answer", b"HTTP/1.1 100 Continue\r\n\r\n"),
    ];
    let surplus = surplus.iter();
    surplus
        .map(|(name, surplus)| {
            let name = format!("{name} after the body");
            case(&name, RULE, PLAIN).surplus(surplus).fresh(200)
        })
        .collect()
}
