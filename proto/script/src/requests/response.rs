//! An answer as code sees it: read only as far as something looks at it, and then once.

use std::cell::{Cell, OnceCell};
use std::io::Read as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use memchr::memchr_iter;

use crate::values::exceptions::{Halt, Kind, beyond, value_error};
use crate::values::json;
use crate::values::value::Value;

/// Most bytes of a body when it is decoded: a few of them can stand for very many.
const DECODED_BYTES_MAX: u64 = 64 << 20;

/// Bytes that count against a total for as long as this lives.
#[derive(Debug, Default)]
pub struct Counted {
    total: Option<&'static AtomicUsize>,
    bytes: usize,
}

impl Counted {
    /// Counts some more, which the total has already.
    pub fn add(&mut self, total: &'static AtomicUsize, bytes: usize) {
        self.total = Some(total);
        self.bytes += bytes;
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        if let Some(total) = self.total {
            total.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    /// Its status code.
    pub status: u16,
    /// Its head as it came.
    pub head: Vec<u8>,
    /// Its body as it came.
    pub body: Vec<u8>,
    /// From dispatch to its last byte, in µs.
    pub elapsed_us: u64,
    /// What the body takes of a total.
    pub counted: Counted,
    lines: OnceCell<Vec<(String, String)>>,
    json: OnceCell<Result<Value, Halt>>,
    /// Whether something in its JSON was looked up without making the rest.
    skimmed: Cell<bool>,
}

impl Answer {
    /// What was heard.
    #[must_use]
    pub fn new(status: u16, head: Vec<u8>, body: Vec<u8>, elapsed_us: u64) -> Self {
        Self {
            status,
            head,
            body,
            elapsed_us,
            counted: Counted::default(),
            lines: OnceCell::new(),
            json: OnceCell::new(),
            skimmed: Cell::new(false),
        }
    }

    /// Its body as JSON, by the words of Python 3.`minor`.
    ///
    /// # Errors
    /// That it is none.
    pub fn json(&self, minor: u8) -> Result<Value, Halt> {
        let read = || {
            json::loads(
                &decoded(&self.head, &self.body).map_err(value_error)?,
                minor,
            )
        };
        self.json.get_or_init(read).clone()
    }

    /// What a way into its JSON leads to, as long as nobody has looked at the JSON: a second look
    /// is worth making all of it. `None`: [`Answer::json`] knows.
    #[must_use]
    pub fn json_at(&self, way: &[json::Step], minor: u8) -> Option<Value> {
        if self.json.get().is_some() || self.skimmed.replace(true) {
            return None;
        }
        json::at(&decoded(&self.head, &self.body).ok()?, way, minor)
    }

    /// Its body as text, by the charset that it names.
    ///
    /// # Errors
    /// That it cannot be decoded.
    pub fn text(&self) -> Result<Value, Halt> {
        let content = decoded(&self.head, &self.body).map_err(value_error)?;
        let kind = self.header("content-type").unwrap_or_default();
        match charset(&kind.to_ascii_lowercase())? {
            "utf-8" | "utf8" => Ok(Value::text(&String::from_utf8_lossy(&content))),
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
            _ => Err(beyond("text in another charset than UTF-8 and Latin-1")),
        }
    }

    /// The value of a header, several lines of it joined by a comma; `name` in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<String> {
        let values = self.header_lines(name);
        (!values.is_empty()).then(|| values.join(", "))
    }

    /// The values of all lines of a header; `name` in lower case.
    #[must_use]
    pub fn header_lines(&self, name: &str) -> Vec<&str> {
        let lines = self.lines.get_or_init(|| lines(&self.head));
        let known = lines.iter().filter(|(known, _)| known == name);
        known.map(|(_, value)| value.as_str()).collect()
    }

    /// What `raise_for_status()` does.
    ///
    /// # Errors
    /// That the status is 400 or more.
    pub fn raise_for_status(&self) -> Result<(), Halt> {
        if self.status < 400 {
            return Ok(());
        }
        let text = format!("the answer has the status {}", self.status);
        Err(Halt::new(Kind::HTTPStatusError, text))
    }
}

/// The charset of a content type in lower case. What is written in another way than most write it
/// is read by Python's mail parser alone.
fn charset(kind: &str) -> Result<&str, Halt> {
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
        false => Err(beyond("a charset written in an unusual way")),
    }
}

/// Header lines in Latin-1, names in lower case; a line that begins with a blank goes on with the
/// one before.
fn lines(head: &[u8]) -> Vec<(String, String)> {
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

/// `text.strip()`, of text in Latin-1.
pub(crate) fn stripped(text: &str) -> &str {
    text.trim_matches(|c: char| matches!(c, '\t'..='\r' | '\u{1c}'..=' ' | '\u{85}' | '\u{a0}'))
}

/// The body without the encoding that the head names (RFC 9110, section 8.4).
///
/// # Errors
/// Why it cannot be decoded.
pub fn decoded<'a>(head: &[u8], body: &'a [u8]) -> Result<std::borrow::Cow<'a, [u8]>, String> {
    use std::borrow::Cow;
    if body.is_empty() {
        // Of HEAD and of 304, whatever their heads say.
        return Ok(Cow::Borrowed(body));
    }
    let coding = last_header(head, "content-encoding").unwrap_or_default();
    let plain: Box<dyn std::io::Read> = match coding.as_str() {
        "" | "identity" => return Ok(Cow::Borrowed(body)),
        "gzip" | "x-gzip" => Box::new(MultiGzDecoder::new(body)),
        // What is called deflate is zlib, except where it is not.
        "deflate" if ZlibDecoder::new(body).read(&mut [0]).is_ok() => {
            Box::new(ZlibDecoder::new(body))
        }
        "deflate" => Box::new(DeflateDecoder::new(body)),
        other => {
            return Err(format!(
                "the answer is encoded as {other}, which is not decoded here"
            ));
        }
    };
    let mut decoded = Vec::new();
    let read = plain.take(DECODED_BYTES_MAX + 1).read_to_end(&mut decoded);
    read.map_err(|error| format!("the answer is not {coding}: {error}"))?;
    if decoded.len() as u64 > DECODED_BYTES_MAX {
        return Err(format!(
            "the answer is longer than 64 MiB when its {coding} is decoded"
        ));
    }
    Ok(Cow::Owned(decoded))
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

/// The last value of a header, in lower case.
fn last_header(head: &[u8], name: &str) -> Option<String> {
    if !has_header(head, name) {
        return None;
    }
    let lines = head.split(|&byte| byte == b'\n').skip(1);
    let values = lines.filter_map(|line| {
        let (found, value) = line.split_at_checked(name.len())?;
        let value = value.strip_prefix(b":")?;
        let is_it = found.eq_ignore_ascii_case(name.as_bytes());
        is_it.then(|| String::from_utf8_lossy(value).trim().to_ascii_lowercase())
    });
    values.last()
}
