//! A response as compiled code reads it: each part is parsed on first use, and once.

use std::cell::{Cell, OnceCell};

use memchr::memchr_iter;

use super::body_encoding::Decoded;
use crate::operation::Response;
use crate::values::exceptions::{Exception, Kind, unsupported, value_error};
use crate::values::json;
use crate::values::value::Value;

/// A response with the parts that were parsed so far.
#[derive(Debug)]
pub(crate) struct ResponseView {
    response: Response,
    header_lines: OnceCell<Vec<(String, String)>>,
    /// The decoded body; `None` if it is not encoded.
    decoded: OnceCell<Result<Option<Decoded>, String>>,
    json: OnceCell<Result<Value, Exception>>,
    /// Whether one value of its JSON was read without parsing the rest.
    skimmed: Cell<bool>,
}

impl ResponseView {
    pub(crate) fn new(response: Response) -> Self {
        Self {
            response,
            header_lines: OnceCell::new(),
            decoded: OnceCell::new(),
            json: OnceCell::new(),
            skimmed: Cell::new(false),
        }
    }

    /// Its status code.
    pub(crate) fn status(&self) -> u16 {
        self.response.status
    }

    /// Time from dispatch to the last byte, in µs.
    pub(crate) fn elapsed_us(&self) -> u64 {
        self.response.elapsed_us
    }

    /// The body without its content codings, which are decoded once.
    fn content(&self) -> Result<&[u8], String> {
        match self.decoded.get_or_init(|| self.response.decode()) {
            Ok(Some(decoded)) => Ok(decoded.content()),
            Ok(None) => Ok(&self.response.body),
            Err(why) => Err(why.clone()),
        }
    }

    /// Its body as JSON; errors have the text of Python 3.`minor`.
    ///
    /// # Errors
    /// The body cannot be decoded, or is not JSON.
    pub(crate) fn json(&self, minor: u8) -> Result<Value, Exception> {
        let read = || {
            let content = self.content().map_err(value_error)?;
            json::loads(content, minor)
        };
        self.json.get_or_init(read).clone()
    }

    /// The value at a path of its JSON, on the first access only: from the second access on it is
    /// faster to parse all of it. `None`: use [`ResponseView::json`].
    pub(crate) fn json_at(&self, path: &[json::Step], minor: u8) -> Option<Value> {
        if self.json.get().is_some() || self.skimmed.replace(true) {
            return None;
        }
        json::at(self.content().ok()?, path, minor)
    }

    /// Its body as text, in the charset of its `Content-Type`.
    ///
    /// # Errors
    /// The body cannot be decoded.
    pub(crate) fn text(&self) -> Result<Value, Exception> {
        let content = self.content().map_err(value_error)?;
        let kind = self.header("content-type").unwrap_or_default();
        match charset(&kind.to_ascii_lowercase())? {
            "utf-8" | "utf8" => Ok(Value::text(&String::from_utf8_lossy(content))),
            "iso-8859-1" | "latin-1" | "latin1" => {
                let text: String = content.iter().copied().map(char::from).collect();
                Ok(Value::text(&text))
            }
            "us-ascii" | "ascii" => {
                let sign = |byte: &u8| match byte.is_ascii() {
                    true => char::from(*byte),
                    false => '\u{fffd}',
                };
                Ok(Value::text(&content.iter().map(sign).collect::<String>()))
            }
            _ => Err(unsupported(
                "text in another charset than UTF-8 and Latin-1",
            )),
        }
    }

    /// Value of a header, its lines joined by commas; `name` in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let values = self.header_lines(name);
        (!values.is_empty()).then(|| values.join(", "))
    }

    /// Values of all lines of a header; `name` in lower case.
    pub(crate) fn header_lines(&self, name: &str) -> Vec<&str> {
        let lines = self
            .header_lines
            .get_or_init(|| header_lines(&self.response.head));
        let known = lines.iter().filter(|(known, _)| known == name);
        known.map(|(_, value)| value.as_str()).collect()
    }

    /// Whether it sets cookies.
    pub(crate) fn sets_cookies(&self) -> bool {
        has_header(&self.response.head, "set-cookie")
    }

    /// `raise_for_status()`
    ///
    /// # Errors
    /// The status is 400 or more.
    pub(crate) fn raise_for_status(&self) -> Result<(), Exception> {
        let status = self.status();
        if status < 400 {
            return Ok(());
        }
        let text = format!("the answer has the status {status}");
        Err(Exception::new(Kind::HTTPStatusError, text))
    }
}

/// The charset of a content type in lower case. Unusual notations are left to Python, whose mail
/// parser reads them.
fn charset(kind: &str) -> Result<&str, Exception> {
    let Some((before, rest)) = kind.split_once("charset") else {
        return Ok("utf-8");
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/.+-".contains(c);
    let essence = before.trim_end_matches(' ').strip_suffix(';');
    let is_usual = essence.is_some_and(|essence| essence.chars().all(is_plain));
    let name = rest.strip_prefix('=').unwrap_or_default();
    let inside = name
        .strip_prefix('"')
        .and_then(|name| name.strip_suffix('"'));
    let name = inside.unwrap_or(name);
    match is_usual && !name.is_empty() && name.chars().all(is_plain) {
        true => Ok(name),
        false => Err(unsupported("a charset written in an unusual way")),
    }
}

/// Header lines in Latin-1, names in lower case; a line that begins with a blank continues the one
/// before.
fn header_lines(head: &[u8]) -> Vec<(String, String)> {
    let text: String = head.iter().copied().map(char::from).collect();
    let mut lines: Vec<(String, String)> = Vec::new();
    for line in text.split('\n').skip(1) {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let is_fold = line.is_empty() || line.starts_with([' ', '\t']);
        match (lines.last_mut(), line.split_once(':')) {
            (Some((_, value)), _) if is_fold && !stripped(line).is_empty() => {
                value.push(' ');
                value.push_str(stripped(line));
            }
            (_, Some((name, value))) => {
                lines.push((stripped(name).to_lowercase(), stripped(value).to_owned()));
            }
            _ => {}
        }
    }
    lines
}

/// `text.strip()` of Latin-1 text.
pub(crate) fn stripped(text: &str) -> &str {
    text.trim_matches(|c: char| matches!(c, '\t'..='\r' | '\u{1c}'..=' ' | '\u{85}' | '\u{a0}'))
}

/// Whether a head has a header; `name` in any case.
#[must_use]
pub fn has_header(head: &[u8], name: &str) -> bool {
    let name = name.as_bytes();
    memchr_iter(b'\n', head).any(|end| {
        let line = &head[end + 1..];
        line.get(name.len()) == Some(&b':') && line[..name.len()].eq_ignore_ascii_case(name)
    })
}
