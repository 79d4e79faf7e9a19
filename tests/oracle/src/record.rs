//! One line of the log: what was observed of one request.

use std::fmt::Write;

use crate::body::Fnv1a;
use crate::clock::Moment;
use crate::head::{Head, Malformed};

/// The outcome of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Not received whole: the connection ended first, or is still sending.
    Incomplete,
    /// Its bytes break HTTP; it was answered 400 and is not counted as received.
    Malformed(Malformed),
    /// Received whole, not answered when the line was written.
    Open,
    /// The whole answer was handed to the kernel.
    Answered,
    /// The connection broke while the answer was written.
    Aborted,
    /// A rule required a truncated response, which was written.
    Truncated,
    /// A rule required a TCP reset, which was sent.
    Reset,
    /// A rule required no response, and the client gave up.
    Unanswered,
}

impl Outcome {
    fn word(self) -> &'static str {
        match self {
            Self::Incomplete => "incomplete",
            Self::Malformed(_) => "malformed",
            Self::Open => "open",
            Self::Answered => "answered",
            Self::Aborted => "aborted",
            Self::Truncated => "truncated",
            Self::Reset => "reset",
            Self::Unanswered => "unanswered",
        }
    }
}

/// The observations of one request.
#[derive(Debug, Clone)]
pub struct Record {
    /// Number of the request, from 1, in the order of first bytes.
    pub seq: u64,
    /// Number of its connection, from 1, in the order of accepting.
    pub conn: u64,
    /// When its first bytes were read, µs of `CLOCK_REALTIME`.
    pub arrival_us: u64,
    /// Kernel receive time of these bytes, µs of `CLOCK_REALTIME`; see [`crate::clock`].
    pub kernel_us: Option<u64>,
    /// When it ended (see [`Outcome`]), µs of `CLOCK_REALTIME`.
    pub end_us: Option<u64>,
    /// The method, once the head was read.
    pub method: Option<String>,
    /// The request target with its query, once the head was read.
    pub path: Option<String>,
    /// The value of the id header.
    pub id: Option<String>,
    /// Bytes of body content received.
    pub body_len: u64,
    /// Digest of those bytes.
    pub body_digest: Fnv1a,
    /// The status that was answered.
    pub status: Option<u16>,
    /// Its outcome.
    pub outcome: Outcome,
    /// Whether the client had closed its side before the response was written; checked only if a
    /// delay or a freeze held the response back.
    pub client_closed: bool,
    /// All headers, when the server logs them.
    pub headers: Option<Vec<(String, String)>>,
}

impl Record {
    /// A request of which the first bytes were read.
    pub fn begun(seq: u64, conn: u64, arrival: Moment) -> Self {
        Self {
            seq,
            conn,
            arrival_us: arrival.wall_us,
            kernel_us: arrival.kernel_us,
            end_us: None,
            method: None,
            path: None,
            id: None,
            body_len: 0,
            body_digest: Fnv1a::EMPTY,
            status: None,
            outcome: Outcome::Incomplete,
            client_closed: false,
            headers: None,
        }
    }

    /// Notes the head.
    pub fn note_head(&mut self, head: &Head, id_header: &str, with_headers: bool) {
        self.method = Some(head.method.clone());
        self.path = Some(head.path.clone());
        self.id = head.header(id_header).map(str::to_owned);
        self.headers = with_headers.then(|| head.headers.clone());
    }

    /// The line of the log, a JSON object, with its line end.
    pub fn to_line(&self) -> String {
        let mut line = String::with_capacity(320);
        let out = &mut line;
        push_number(out, "{\"seq\":", Some(self.seq));
        push_number(out, ",\"conn\":", Some(self.conn));
        push_number(out, ",\"arrival_us\":", Some(self.arrival_us));
        if self.kernel_us.is_some() {
            push_number(out, ",\"kernel_us\":", self.kernel_us);
        }
        push_number(out, ",\"end_us\":", self.end_us);
        push_text(out, ",\"method\":", self.method.as_deref());
        push_text(out, ",\"path\":", self.path.as_deref());
        push_text(out, ",\"id\":", self.id.as_deref());
        push_number(out, ",\"body_len\":", Some(self.body_len));
        push_text(
            out,
            ",\"body_fnv1a\":",
            Some(&format!("{:016x}", self.body_digest.0)),
        );
        push_number(out, ",\"status\":", self.status.map(u64::from));
        push_text(out, ",\"outcome\":", Some(self.outcome.word()));
        if let Outcome::Malformed(rule) = self.outcome {
            push_text(out, ",\"error\":", Some(rule.word()));
        }
        if self.client_closed {
            out.push_str(",\"client_closed\":true");
        }
        if let Some(headers) = &self.headers {
            out.push_str(",\"headers\":[");
            for (nth, (name, value)) in headers.iter().enumerate() {
                push_text(out, if nth == 0 { "[" } else { ",[" }, Some(name));
                push_text(out, ",", Some(value));
                out.push(']');
            }
            out.push(']');
        }
        out.push_str("}\n");
        line
    }
}

fn push_number(out: &mut String, label: &str, number: Option<u64>) {
    out.push_str(label);
    match number {
        Some(number) => write!(out, "{number}").expect("a String takes every write"),
        None => out.push_str("null"),
    }
}

fn push_text(out: &mut String, label: &str, text: Option<&str>) {
    out.push_str(label);
    match text {
        Some(text) => push_json_string(out, text),
        None => out.push_str("null"),
    }
}

/// Appends `text` as a JSON string (RFC 8259 §7).
pub(crate) fn push_json_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c < ' ' => {
                write!(out, "\\u{:04x}", u32::from(c)).expect("a String takes every write");
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_json_with_every_key_in_order() {
        let arrival = Moment {
            wall_us: 3,
            ..Moment::now()
        };
        let mut record = Record::begun(1, 2, arrival);
        record.path = Some("/\"\\\u{1}\u{e9}".to_owned());
        record.headers = Some(vec![
            ("a".to_owned(), "1".to_owned()),
            ("b".to_owned(), String::new()),
        ]);
        record.outcome = Outcome::Malformed(Malformed::Host);
        assert_eq!(
            record.to_line(),
            "{\"seq\":1,\"conn\":2,\"arrival_us\":3,\"end_us\":null,\"method\":null,\
             \"path\":\"/\\\"\\\\\\u0001\u{e9}\",\"id\":null,\"body_len\":0,\
             \"body_fnv1a\":\"cbf29ce484222325\",\"status\":null,\"outcome\":\"malformed\",\
             \"error\":\"host\",\"headers\":[[\"a\",\"1\"],[\"b\",\"\"]]}\n"
        );
    }
}
