//! One exchange as text: the head of the request from the plan, the head of the answer from the
//! wire, secrets masked.
//!
//! Only for the first arrivals of a run with `debug_requests`. Must never hold a secret: those of
//! the request are never put in, those of the answer are masked by name and by value.

use loadpilot_engine::check::is_secret_name;
use loadpilot_events::limits::RESPONSE_HEAD_BYTES_MAX;

use super::redaction::{MASK, Redactor};
use super::template::RequestParts;

/// The head of an answer as it comes.
#[derive(Debug, Default)]
pub(crate) struct ResponseHead(Vec<u8>);

impl ResponseHead {
    /// Adds bytes up to its limit, which cuts off bodies but for their beginning.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        let room = RESPONSE_HEAD_BYTES_MAX.saturating_sub(self.0.len());
        self.0.extend_from_slice(&bytes[..room.min(bytes.len())]);
    }

    /// The lines of the last head, masked.
    pub(crate) fn lines(&self, redactor: &Redactor) -> Vec<String> {
        let text = String::from_utf8_lossy(&self.0);
        let mut lines = text.split_inclusive('\n').peekable();
        let mut head: Vec<&str> = Vec::new();
        while let Some(line) = lines.next() {
            let is_cut = !line.ends_with('\n') && self.0.len() == RESPONSE_HEAD_BYTES_MAX;
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
        let mut seen = ResponseHead::default();
        answer.bytes().for_each(|byte| seen.add(&[byte]));
        seen.lines(&Redactor::new(["hunter2".to_owned(), String::new()].iter()))
    }

    /// Broken if a secret or a body could be read in the text.
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

    /// Broken if a secret that a target sends under a name of its own could be read.
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

    /// Broken if a head whose lines end in a line feed alone let the body through, or a folded line
    /// or one secret inside another a secret.
    #[test]
    fn other_line_ends_and_folded_lines_show_no_more() {
        let answer = "HTTP/1.1 200 OK\nSet-Cookie: a=1;\n b=2\nX: hunter2hunter2\n\n{\"token\":1}";
        let mut seen = ResponseHead::default();
        seen.add(answer.as_bytes());
        let redactor = ["hunter2".to_owned(), "hunter2hunter2".to_owned()];
        let expected = ["HTTP/1.1 200 OK", "Set-Cookie: ***", ": ***", "X: ***"];
        assert_eq!(seen.lines(&Redactor::new(redactor.iter())), expected);
    }

    /// Broken if a head without an end grew without one.
    #[test]
    fn a_head_without_an_end_is_cut() {
        let endless = format!("HTTP/1.1 200 OK\r\nX: {}", "a".repeat(100_000));
        let bytes: usize = lines(&endless).iter().map(String::len).sum();
        assert!(bytes <= RESPONSE_HEAD_BYTES_MAX, "{bytes}");
        assert_eq!(lines(""), Vec::<String>::new());
    }
}
