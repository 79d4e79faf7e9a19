//! One record of CSV (RFC 4180), as Python's `csv.reader` reads it with `strict=True`
//! (`Modules/_csv.c`): a line ends with LF, CR or both, and quotes count at the beginning of a
//! field only.

use memchr::{memchr, memchr3};

/// The fields of one record.
#[derive(Debug, Default)]
pub(super) struct Fields {
    text: Vec<u8>,
    /// End of each field in the text.
    ends: Vec<usize>,
}

/// An error in a record, with its byte offset in the record.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Malformed {
    pub(super) at: usize,
    pub(super) what: &'static str,
}

pub(super) const UNCLOSED: &str = "the quotes are not closed before the end of the file";
pub(super) const AFTER_QUOTES: &str = "a comma or the end of the line must follow closing quotes";

impl Fields {
    /// Number of fields; none for an empty line.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The fields of a record that is UTF-8.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(&0).chain(&self.ends);
        let ranges = starts.zip(&self.ends);
        ranges.map(|(&from, &to)| std::str::from_utf8(&self.text[from..to]).unwrap_or_default())
    }

    fn end(&mut self) {
        self.ends.push(self.text.len());
    }
}

/// Reads the record with which `bytes` begin; returns its length with the end of its line. `None`
/// if the record may continue after `bytes`. With `is_all` nothing follows `bytes`, and the result
/// is `None` only if they are empty.
pub(super) fn record(
    bytes: &[u8],
    is_all: bool,
    fields: &mut Fields,
) -> Result<Option<usize>, Malformed> {
    fields.text.clear();
    fields.ends.clear();
    let mut at = 0;
    if matches!(bytes.first(), None | Some(b'\r' | b'\n')) {
        return Ok(line_end(bytes, 0, is_all));
    }
    loop {
        // At the beginning of a field.
        let end = match bytes.get(at) {
            Some(b'"') => quoted(bytes, at, is_all, fields)?,
            _ => {
                let rest = &bytes[at..];
                let found = memchr3(b',', b'\r', b'\n', rest);
                let end = found.or(is_all.then_some(rest.len()));
                end.map(|end| {
                    fields.text.extend_from_slice(&rest[..end]);
                    at + end
                })
            }
        };
        let Some(end) = end else { return Ok(None) };
        fields.end();
        match bytes.get(end) {
            Some(b',') => at = end + 1,
            None => return Ok(Some(end)),
            Some(_) => return Ok(line_end(bytes, end, is_all)),
        }
    }
}

/// Reads a field whose quotes open at `open`; returns the position of its end, `None` if `bytes` do
/// not contain it.
fn quoted(
    bytes: &[u8],
    open: usize,
    is_all: bool,
    fields: &mut Fields,
) -> Result<Option<usize>, Malformed> {
    let mut at = open + 1;
    loop {
        let Some(length) = memchr(b'"', &bytes[at..]) else {
            let what = UNCLOSED;
            return if is_all {
                Err(Malformed { at: open, what })
            } else {
                Ok(None)
            };
        };
        fields.text.extend_from_slice(&bytes[at..at + length]);
        at += length + 1;
        match bytes.get(at) {
            Some(b'"') => {
                fields.text.push(b'"');
                at += 1;
            }
            Some(b',' | b'\r' | b'\n') => return Ok(Some(at)),
            None => return Ok(is_all.then_some(at)),
            Some(_) => {
                let what = AFTER_QUOTES;
                return Err(Malformed { at, what });
            }
        }
    }
}

/// The position after the end of a line at `at`, if the end is known to be complete.
fn line_end(bytes: &[u8], at: usize, is_all: bool) -> Option<usize> {
    match (bytes.get(at)?, bytes.get(at + 1)) {
        (b'\r', Some(b'\n')) => Some(at + 2),
        (b'\r', None) if !is_all => None,
        _ => Some(at + 1),
    }
}
