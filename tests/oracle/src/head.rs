//! The parser of a request head (RFC 9112). It is strict, so that the oracle reports every error of
//! a client that a lenient server would accept. Works on bytes.

use std::fmt;

/// Maximum size of a head (request line and headers), bytes.
pub const HEAD_BYTES_MAX: usize = 64 * 1024;

/// Why a request is malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malformed {
    /// The head is longer than [`HEAD_BYTES_MAX`].
    HeadTooLong,
    /// Not `METHOD SP target SP version`, or a byte that is not allowed in one of them.
    RequestLine,
    /// Neither `HTTP/1.1` nor `HTTP/1.0`.
    Version,
    /// A header line without a colon, with a bad name, or with a control byte in its value.
    Header,
    /// An HTTP/1.1 request without exactly one `Host`.
    Host,
    /// `Content-Length` that is not one decimal number, or is repeated.
    ContentLength,
    /// `Transfer-Encoding` that is not exactly `chunked`, or comes with `Content-Length`.
    TransferEncoding,
    /// A chunk size line or chunk end that breaks the chunked coding.
    Chunk,
}

impl Malformed {
    /// Its name in the log.
    pub fn word(self) -> &'static str {
        match self {
            Self::HeadTooLong => "head_too_long",
            Self::RequestLine => "request_line",
            Self::Version => "version",
            Self::Header => "header",
            Self::Host => "host",
            Self::ContentLength => "content_length",
            Self::TransferEncoding => "transfer_encoding",
            Self::Chunk => "chunk",
        }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// How the body is delimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// Exactly this many bytes; 0 without a header.
    Length(u64),
    /// Chunked coding.
    Chunked,
}

/// A parsed request head. Text is Latin-1: each byte becomes the character of that number, which is
/// lossless.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The method as sent.
    pub method: String,
    /// The request target as sent, query included.
    pub path: String,
    /// Header names in lower case, values without surrounding blanks, in wire order.
    pub headers: Vec<(String, String)>,
    /// How the body is delimited.
    pub framing: Framing,
    /// Whether the client lets the connection stay open.
    pub keep_alive: bool,
    /// Whether the client waits for `100 Continue` before it sends the body.
    pub expects_continue: bool,
}

impl Head {
    /// The first value of the header `name` (lower case).
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, value)| value.as_str())
    }
}

/// Parses the head at the start of `bytes`. `None` means that more bytes are needed; otherwise the
/// head and its length in bytes.
///
/// # Errors
/// The first rule that the head breaks.
pub fn parse_head(bytes: &[u8]) -> Result<Option<(Head, usize)>, Malformed> {
    let Some(end) = bytes.windows(4).position(|w| w == b"\r\n\r\n") else {
        return if bytes.len() > HEAD_BYTES_MAX {
            Err(Malformed::HeadTooLong)
        } else {
            Ok(None)
        };
    };
    let len = end + 4;
    if len > HEAD_BYTES_MAX {
        return Err(Malformed::HeadTooLong);
    }
    let text: String = bytes[..end].iter().map(|&b| char::from(b)).collect();
    let mut lines = text.split("\r\n");
    let (method, path, old) = parse_request_line(lines.next().unwrap_or_default())?;
    let headers = lines.map(parse_header).collect::<Result<Vec<_>, _>>()?;

    let hosts = values(&headers, "host").count();
    if hosts > 1 || (hosts == 0 && !old) {
        return Err(Malformed::Host);
    }
    let framing = parse_framing(&headers)?;
    let asks = |word: &str| {
        values(&headers, "connection")
            .flat_map(|v| v.split(','))
            .any(|token| token.trim().eq_ignore_ascii_case(word))
    };
    let keep_alive = if old {
        asks("keep-alive")
    } else {
        !asks("close")
    };
    let expects_continue =
        values(&headers, "expect").any(|v| v.eq_ignore_ascii_case("100-continue"));
    Ok(Some((
        Head {
            method,
            path,
            headers,
            framing,
            keep_alive,
            expects_continue,
        },
        len,
    )))
}

fn values<'a>(headers: &'a [(String, String)], name: &'a str) -> impl Iterator<Item = &'a str> {
    headers
        .iter()
        .filter(move |(n, _)| n == name)
        .map(|(_, value)| value.as_str())
}

/// Method, target, and whether the version is 1.0.
fn parse_request_line(line: &str) -> Result<(String, String, bool), Malformed> {
    let parts: Vec<&str> = line.split(' ').collect();
    let [method, path, version] = parts[..] else {
        return Err(Malformed::RequestLine);
    };
    if method.is_empty() || !method.chars().all(is_token_char) {
        return Err(Malformed::RequestLine);
    }
    let known_form = path.starts_with('/') || path == "*" || path.starts_with("http://");
    if !known_form || !path.chars().all(|c| c.is_ascii_graphic()) {
        return Err(Malformed::RequestLine);
    }
    let old = match version {
        "HTTP/1.1" => false,
        "HTTP/1.0" => true,
        _ => return Err(Malformed::Version),
    };
    Ok((method.to_owned(), path.to_owned(), old))
}

fn parse_header(line: &str) -> Result<(String, String), Malformed> {
    let (name, value) = line.split_once(':').ok_or(Malformed::Header)?;
    if name.is_empty() || !name.chars().all(is_token_char) {
        return Err(Malformed::Header);
    }
    let value = value.trim_matches([' ', '\t']);
    if value.chars().any(|c| (c < ' ' && c != '\t') || c == '\x7f') {
        return Err(Malformed::Header);
    }
    Ok((name.to_ascii_lowercase(), value.to_owned()))
}

fn parse_framing(headers: &[(String, String)]) -> Result<Framing, Malformed> {
    let lengths: Vec<&str> = values(headers, "content-length").collect();
    let codings: Vec<&str> = values(headers, "transfer-encoding").collect();
    match (lengths[..].as_ref(), codings[..].as_ref()) {
        ([], []) => Ok(Framing::Length(0)),
        ([], [one]) if one.eq_ignore_ascii_case("chunked") => Ok(Framing::Chunked),
        (_, [_, ..]) => Err(Malformed::TransferEncoding),
        ([one], []) if !one.is_empty() && one.bytes().all(|b| b.is_ascii_digit()) => one
            .parse()
            .map(Framing::Length)
            .map_err(|_| Malformed::ContentLength),
        _ => Err(Malformed::ContentLength),
    }
}

/// `tchar` of RFC 9110 §5.6.2.
fn is_token_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Option<(Head, usize)>, Malformed> {
        parse_head(text.as_bytes())
    }

    #[test]
    fn every_prefix_is_incomplete_and_what_follows_the_head_is_left_alone() {
        let head = "GET /a?b=1 HTTP/1.1\r\nHost: x\r\nX-Request-Id:  7 \r\n\r\n";
        for cut in 0..head.len() {
            assert_eq!(parsed(&head[..cut]), Ok(None), "prefix of {cut} bytes");
        }
        let (got, len) = parsed(&format!("{head}NEXT"))
            .expect("well formed")
            .expect("complete");
        assert_eq!(len, head.len());
        assert_eq!((got.method.as_str(), got.path.as_str()), ("GET", "/a?b=1"));
        assert_eq!(got.header("x-request-id"), Some("7"));
        assert!(got.keep_alive && !got.expects_continue);
        assert_eq!(got.framing, Framing::Length(0));
    }

    #[test]
    fn each_broken_rule_is_named() {
        let cases = [
            ("GET /\r\nHost: x\r\n\r\n", Malformed::RequestLine),
            ("GET  / HTTP/1.1\r\nHost: x\r\n\r\n", Malformed::RequestLine),
            ("GET a HTTP/1.1\r\nHost: x\r\n\r\n", Malformed::RequestLine),
            ("G T / HTTP/1.1\r\nHost: x\r\n\r\n", Malformed::RequestLine),
            (
                "GET /\u{e9} HTTP/1.1\r\nHost: x\r\n\r\n",
                Malformed::RequestLine,
            ),
            (
                "\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
                Malformed::RequestLine,
            ),
            ("GET / HTTP/2.0\r\nHost: x\r\n\r\n", Malformed::Version),
            ("GET / HTTP/1.1\r\n\r\n", Malformed::Host),
            (
                "GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n",
                Malformed::Host,
            ),
            (
                "GET / HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n",
                Malformed::Header,
            ),
            (
                "GET / HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n",
                Malformed::Header,
            ),
            (
                "GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n",
                Malformed::Header,
            ),
            (
                "GET / HTTP/1.1\r\nHost: x\r\nA: b\nc: d\r\n\r\n",
                Malformed::Header,
            ),
            (
                "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
                Malformed::ContentLength,
            ),
            (
                "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: \r\n\r\n",
                Malformed::ContentLength,
            ),
            (
                "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
                Malformed::ContentLength,
            ),
            (
                "GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n",
                Malformed::TransferEncoding,
            ),
            (
                "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\
                 Transfer-Encoding: chunked\r\n\r\n",
                Malformed::TransferEncoding,
            ),
        ];
        for (text, rule) in cases {
            assert_eq!(parsed(text), Err(rule), "{text:?}");
        }
    }

    #[test]
    fn connection_options_follow_the_version() {
        let keep = |version: &str, extra: &str| {
            let text = format!("GET / HTTP/{version}\r\nHost: x\r\n{extra}\r\n");
            parsed(&text)
                .expect("well formed")
                .expect("complete")
                .0
                .keep_alive
        };
        assert!(keep("1.1", ""));
        assert!(!keep("1.1", "Connection: foo, Close\r\n"));
        assert!(!keep("1.0", ""));
        assert!(keep("1.0", "Connection: keep-alive\r\n"));
    }

    #[test]
    fn a_head_without_end_is_refused_at_the_limit() {
        assert_eq!(parse_head(&vec![b'a'; HEAD_BYTES_MAX]), Ok(None));
        assert_eq!(
            parse_head(&vec![b'a'; HEAD_BYTES_MAX + 1]),
            Err(Malformed::HeadTooLong)
        );
    }
}
