//! One exchange as text: the head of the request as the plan defines it, the beginning of the
//! answer as it was received, secrets masked.
//!
//! Only for the first arrivals of a run with `debug_requests`, and for examples of failed calls.
//! Must never contain a secret: secrets of the request are never inserted, those of the answer are
//! masked by name and by value.

use loadpilot_engine::check::is_secret_name;
use loadpilot_events::limits::{FAILURE_BODY_BYTES_MAX, RESPONSE_HEAD_BYTES_MAX};

use super::redaction::{MASK, Redactor, truncate};
use super::template::RequestParts;

/// Which answers are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Shown {
    /// Every answer, even one that did not fail.
    #[default]
    Any,
    /// Failed answers, while examples are wanted.
    Failed {
        /// With any status, since a check will examine it.
        checked: bool,
        /// With a status of 400 to 499.
        http_4xx: bool,
        /// With a status of 500 or above.
        http_5xx: bool,
    },
}

/// The beginning of an answer as it arrives: its head, and the bytes after it up to a limit.
#[derive(Debug, Default)]
pub(crate) struct ResponseHead {
    shown: Shown,
    bytes: Vec<u8>,
}

impl ResponseHead {
    pub(crate) fn new(shown: Shown) -> Self {
        Self {
            shown,
            bytes: Vec::new(),
        }
    }

    /// Whether an answer with this status is shown; `None` if the status is not known yet.
    pub(crate) fn wants(&self, status: Option<u16>) -> bool {
        match (self.shown, status) {
            (Shown::Any, _) | (_, None) => true,
            (Shown::Failed { checked: true, .. }, _) => true,
            (Shown::Failed { http_4xx, .. }, Some(400..500)) => http_4xx,
            (Shown::Failed { http_5xx, .. }, Some(500..)) => http_5xx,
            (Shown::Failed { .. }, Some(_)) => false,
        }
    }

    /// Discards the received bytes.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Adds bytes up to its limit, which cuts off all but the beginning of a body.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        let room = RESPONSE_HEAD_BYTES_MAX.saturating_sub(self.bytes.len());
        self.bytes
            .extend_from_slice(&bytes[..room.min(bytes.len())]);
    }

    /// The beginning of the body, masked; empty if the body is not text.
    pub(crate) fn body(&self, redactor: &Redactor) -> String {
        let Some(end) = self.head_end() else {
            return String::new();
        };
        let (head, body) = self.bytes.split_at(end);
        let head = String::from_utf8_lossy(head).to_ascii_lowercase();
        let body = match head.contains("\ntransfer-encoding: chunked") {
            true => unchunked(body),
            false => body.to_vec(),
        };
        let text = match std::str::from_utf8(&body) {
            Ok(text) => text,
            // The limit may cut a character in two.
            Err(error) if error.error_len().is_none() => {
                std::str::from_utf8(&body[..error.valid_up_to()]).unwrap_or_default()
            }
            Err(_) => return String::new(),
        };
        let is_cut = self.bytes.len() == RESPONSE_HEAD_BYTES_MAX;
        // The end may be the beginning of a secret.
        let unsure = if is_cut { redactor.longest() } else { 0 };
        let masked = masked_body(text, redactor);
        let shown = masked.len().saturating_sub(unsure);
        truncate(&masked, shown.min(FAILURE_BODY_BYTES_MAX)).to_owned()
    }

    /// Where the body begins, after interim heads and the final one.
    fn head_end(&self) -> Option<usize> {
        let mut start = 0;
        loop {
            let rest = &self.bytes[start..];
            let end = |end: &[u8]| {
                let place = rest.windows(end.len()).position(|part| part == end);
                place.map(|place| start + place + end.len())
            };
            let found = [end(b"\r\n\r\n"), end(b"\n\n")]
                .into_iter()
                .flatten()
                .min()?;
            let first = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
            let status = first.split(|byte| *byte == b' ').nth(1);
            if !status.is_some_and(|status| status.starts_with(b"1")) {
                return Some(found);
            }
            start = found;
        }
    }

    /// The lines of the last head, masked.
    pub(crate) fn lines(&self, redactor: &Redactor) -> Vec<String> {
        let text = String::from_utf8_lossy(&self.bytes);
        let mut lines = text.split_inclusive('\n').peekable();
        let mut head: Vec<&str> = Vec::new();
        while let Some(line) = lines.next() {
            let is_cut = !line.ends_with('\n') && self.bytes.len() == RESPONSE_HEAD_BYTES_MAX;
            let line = line.trim_end_matches(['\r', '\n']);
            if !line.is_empty() {
                // A line without its end could show the beginning of a secret.
                head.extend((!is_cut).then_some(line));
                continue;
            }
            // An interim answer is followed by another head, the final one by the body.
            let is_interim = head.first().is_some_and(|first| first.contains(" 1"));
            if !is_interim || lines.peek().is_none() {
                break;
            }
            head.clear();
        }
        masked_answer(&head, redactor)
    }
}

/// The data of chunks, as far as they were received (RFC 9112, section 7.1).
fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut data = Vec::new();
    while let Some(end) = rest.windows(2).position(|part| part == b"\r\n") {
        let size = String::from_utf8_lossy(&rest[..end]);
        let size = size.split(';').next().unwrap_or_default().trim();
        let Ok(size @ 1..) = usize::from_str_radix(size, 16) else {
            break;
        };
        let chunk = &rest[end + 2..];
        data.extend_from_slice(&chunk[..size.min(chunk.len())]);
        rest = chunk.get(size.saturating_add(2)..).unwrap_or_default();
    }
    data
}

/// Masks the values of a run's secrets, and those of JSON members with the name of a secret.
fn masked_body(text: &str, redactor: &Redactor) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    // Each piece ends with a quotation mark that may begin the name of a member.
    while let Some((before, after)) = rest.split_once('"') {
        masked.push_str(before);
        masked.push('"');
        rest = after;
        let Some((name, tail)) = after.split_once('"') else {
            continue;
        };
        let value = tail.trim_start().strip_prefix(':').map(str::trim_start);
        let Some(value) = value.filter(|_| is_secret_name(&name.to_ascii_lowercase())) else {
            continue;
        };
        let end = value_end(value);
        masked.push_str(&format!("{name}\":\"{MASK}\""));
        rest = &value[end..];
    }
    masked.push_str(rest);
    redactor.apply(&masked)
}

/// The end of a JSON value: of a text at its quotation mark, of an array or object at its last
/// bracket, of any other value at a character that follows values. A truncated value extends to the
/// end.
fn value_end(value: &str) -> usize {
    let (mut depth, mut is_text, mut is_escaped) = (0_usize, false, false);
    for (place, sign) in value.char_indices() {
        if is_text {
            is_text = sign != '"' || is_escaped;
            is_escaped = sign == '\\' && !is_escaped;
            if !is_text && depth == 0 {
                return place + 1;
            }
            continue;
        }
        match sign {
            '"' => is_text = place == 0 || depth > 0,
            '[' | '{' => depth += 1,
            ',' | ']' | '}' | '\n' if depth == 0 => return place,
            ']' | '}' if depth == 1 => return place + 1,
            ']' | '}' => depth -= 1,
            _ => {}
        }
    }
    value.len()
}

fn masked_answer(head: &[&str], redactor: &Redactor) -> Vec<String> {
    let mut is_secret = false;
    let mask = |line: &&str| {
        let name = line.split_once(':').map_or("", |(name, _)| name);
        // A line that begins with space continues the one before (RFC 9112, section 5.2).
        if !line.starts_with([' ', '\t']) {
            let name = name.trim().to_ascii_lowercase();
            is_secret = is_secret_name(&name);
        }
        match is_secret {
            true => format!("{name}: {MASK}"),
            false => redactor.apply(line),
        }
    };
    head.iter().map(mask).collect()
}

/// The lines of a request that was sent, secrets masked. `is_secret` says by the name of a header,
/// or of a parameter in the path, whether its value is secret.
pub(crate) fn sent_lines(
    head: &str,
    redactor: &Redactor,
    is_secret: impl Fn(&str) -> bool,
) -> Vec<String> {
    let mask = |line: &str| match line.split_once(':') {
        Some((name, _)) if is_secret(name) => request_line(name, None),
        _ => redactor.apply(line),
    };
    let (first, headers) = head.split_once("\r\n").unwrap_or((head, ""));
    let first = redactor.apply(&masked_query(first, &is_secret));
    let headers = headers.split("\r\n").map(mask);
    std::iter::once(first).chain(headers).collect()
}

/// A request line whose secret parameters are masked.
fn masked_query(line: &str, is_secret: impl Fn(&str) -> bool) -> String {
    let Some((path, rest)) = line.split_once('?') else {
        return line.to_owned();
    };
    let (query, version) = rest.rsplit_once(' ').unwrap_or((rest, ""));
    let parameters = query.split('&').map(|one| match one.split_once('=') {
        Some((name, _)) if is_secret(name) => format!("{name}={MASK}"),
        _ => one.to_owned(),
    });
    let parameters: Vec<String> = parameters.collect();
    format!("{path}?{} {version}", parameters.join("&"))
}

/// The lines of a request with secrets masked and without the id.
pub(crate) fn request_lines(
    parts: &RequestParts<'_>,
    redactor: &Redactor,
    is_secret: impl Fn(&str) -> bool,
) -> Vec<String> {
    let mut lines = vec![
        format!("{} {}", parts.method, parts.path),
        request_line("Host", parts.host.to_str().ok()),
    ];
    for (name, _, value) in &parts.lines {
        let value = value.to_str().ok().filter(|_| !is_secret(name));
        lines.push(request_line(name, value));
    }
    lines.iter().map(|line| redactor.apply(line)).collect()
}

fn request_line(name: &str, value: Option<&str>) -> String {
    format!("{name}: {}", value.unwrap_or(MASK))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(answer: &str) -> Vec<String> {
        let mut seen = ResponseHead::new(Shown::Any);
        answer.bytes().for_each(|byte| seen.add(&[byte]));
        seen.lines(&Redactor::new(["hunter2".to_owned(), String::new()].iter()))
    }

    /// Broken if the text shows a secret or a body.
    #[test]
    fn an_answer_is_shown_without_secrets_and_without_its_body() {
        let answer = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nSET-cookie: id=1\r\n\
                      X-Echo: is hunter2.\r\nContent-Length: 7\r\n\r\nhunter2";
        let expected = [
            "HTTP/1.1 200 OK",
            "SET-cookie: ***",
            "X-Echo: is ***.",
            "Content-Length: 7",
        ];
        assert_eq!(lines(answer), expected);
    }

    /// Broken if the text shows a secret that a target sends under a name of its own.
    #[test]
    fn an_answer_is_masked_where_its_names_say_so() {
        let answer = "HTTP/1.1 200 OK\r\nX-Access-Token: t-1\r\nX-SessionId: s-1\r\n\
                      WWW-Authenticate: Basic\r\nX-Remaining-Tokens: 9\r\nAuthor: Ann\r\n\r\n";
        let expected = [
            "HTTP/1.1 200 OK",
            "X-Access-Token: ***",
            "X-SessionId: ***",
            "WWW-Authenticate: ***",
            "X-Remaining-Tokens: 9",
            "Author: Ann",
        ];
        assert_eq!(lines(answer), expected);
    }

    /// Broken if a body is shown after a head whose lines end in a line feed alone, or if a part
    /// of a secret is shown because of a folded line or of a secret inside another.
    #[test]
    fn other_line_ends_and_folded_lines_show_no_more() {
        let answer = "HTTP/1.1 200 OK\nSet-Cookie: a=1;\n b=2\nX: hunter2hunter2\n\n{\"token\":1}";
        let mut seen = ResponseHead::new(Shown::Any);
        seen.add(answer.as_bytes());
        let redactor = ["hunter2".to_owned(), "hunter2hunter2".to_owned()];
        let expected = ["HTTP/1.1 200 OK", "Set-Cookie: ***", ": ***", "X: ***"];
        assert_eq!(seen.lines(&Redactor::new(redactor.iter())), expected);
    }

    /// Broken if a head without an end grows without limit.
    #[test]
    fn a_head_without_an_end_is_cut() {
        let endless = format!("HTTP/1.1 200 OK\r\nX: {}", "a".repeat(100_000));
        let bytes: usize = lines(&endless).iter().map(String::len).sum();
        assert!(bytes <= RESPONSE_HEAD_BYTES_MAX, "{bytes}");
        assert_eq!(lines(""), Vec::<String>::new());
    }

    fn body(answer: &str) -> String {
        let mut seen = ResponseHead::new(Shown::Any);
        seen.add(answer.as_bytes());
        seen.body(&Redactor::new(["hunter2".to_owned()].iter()))
    }

    /// Broken if a body is not the one that was sent, or shows a secret.
    #[test]
    fn the_beginning_of_a_body_is_shown_without_secrets() {
        let answer = |body: &str| format!("HTTP/1.1 503 Busy\r\nX: y\r\n\r\n{body}");
        assert_eq!(body(&answer("try later")), "try later");
        assert_eq!(body(&answer("")), "");
        assert_eq!(body("HTTP/1.1 503 Busy\r\nX: y"), "", "without its head");
        assert_eq!(body(&answer("your hunter2 is wrong")), "your *** is wrong");
        let json = r#"{"access_token": "a\"b", "error":"no", "keys":[1], "api_key":12,"n":"x"}"#;
        let masked = r#"{"access_token":"***", "error":"no", "keys":[1], "api_key":"***","n":"x"}"#;
        assert_eq!(body(&answer(json)), masked);
        assert_eq!(
            body(&answer(r#"{"password": "cut o"#)),
            r#"{"password":"***""#
        );
        let interim = "HTTP/1.1 100 Continue\r\n\r\n";
        assert_eq!(body(&format!("{interim}{}", answer("later"))), "later");
        let chunked = "HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x\r\nde";
        assert_eq!(body(chunked), "abcde");
        let long = body(&answer(&"é".repeat(10_000)));
        assert_eq!(long, "é".repeat(FAILURE_BODY_BYTES_MAX / 2));
        let padded = format!("{}hunter", "a".repeat(RESPONSE_HEAD_BYTES_MAX - 36));
        let head = format!("HTTP/1.1 500 No\r\nX: {}\r\n\r\n", "b".repeat(7_000));
        let cut = body(&format!("{head}{padded}hunter2"));
        assert!(
            !cut.contains('h'),
            "the end may be the beginning of a secret: {cut}"
        );
        let mut image = ResponseHead::new(Shown::Any);
        image.add(b"HTTP/1.1 500 No\r\n\r\n\x89PNG\xff");
        assert_eq!(image.body(&Redactor::default()), "");
    }

    /// Broken if the text shows a part of a secret that is an array or an object, or hides the text
    /// after it.
    #[test]
    fn a_secret_of_several_values_is_hidden_whole() {
        let shown = |json: &str| body(&format!("HTTP/1.1 500 No\r\n\r\n{json}"));
        for value in [
            r#"["a=1", "b=2"]"#,
            r#"{"id": "a]}", "csrf": ["b", {"c": "\"d}"}]}"#,
            "[]",
            "-1.5e3",
        ] {
            let json = format!(r#"{{"session": {value}, "error": "no"}}"#);
            assert_eq!(
                shown(&json),
                r#"{"session":"***", "error": "no"}"#,
                "{value}"
            );
        }
        let cut = r#"{"error": "no", "cookies": ["a=1", "b=2"#;
        assert_eq!(shown(cut), r#"{"error": "no", "cookies":"***""#);
    }

    /// Broken if an answer is stored that is never shown, or one that failed is not stored.
    #[test]
    fn an_answer_is_kept_by_its_status() {
        let failed = |http_4xx, http_5xx| {
            ResponseHead::new(Shown::Failed {
                checked: false,
                http_4xx,
                http_5xx,
            })
        };
        let examined = ResponseHead::new(Shown::Failed {
            checked: true,
            http_4xx: false,
            http_5xx: false,
        });
        assert!(examined.wants(Some(200)) && examined.wants(Some(404)));
        for status in [None, Some(200), Some(404), Some(500)] {
            assert!(ResponseHead::new(Shown::Any).wants(status));
            let expected = !matches!(status, Some(200 | 500));
            assert_eq!(failed(true, false).wants(status), expected, "{status:?}");
        }
        assert!(failed(false, true).wants(Some(599)) && !failed(false, true).wants(Some(404)));
    }

    /// Broken if the text shows a header of a request whose name or value is secret.
    #[test]
    fn a_sent_request_is_shown_without_secrets() {
        let head =
            "GET /hunter2?a=b&token=x&c HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer x\r\nX-Own: y";
        let redactor = Redactor::new(["hunter2".to_owned()].iter());
        let is_secret = |name: &str| matches!(name, "Authorization" | "X-Own" | "token");
        let expected = [
            "GET /***?a=b&token=***&c HTTP/1.1",
            "Host: h",
            "Authorization: ***",
            "X-Own: ***",
        ];
        assert_eq!(sent_lines(head, &redactor, is_secret), expected);
    }
}
