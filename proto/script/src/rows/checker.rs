//! Checks a file of rows in one pass, as its bytes are read: every row is well formed, and an index
//! says where some of them begin.

use loadpilot_events::plan::script::RowForm;

use super::csv::{self, Fields, Malformed};
use super::index::Index;
use super::{MARK, Misread, ROW_BYTES_MAX, is_blank, is_space};
use crate::values::exceptions::Kind;
use crate::values::json;
use crate::values::repr::repr;
use crate::values::value::Value;

/// Maximum nesting of a row for compiled code.
const DEPTH_MAX: u16 = 20;
/// Version of the texts of Python's errors; only positions are used.
const PYTHON_MINOR: u8 = 13;

/// Content of a file of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    /// How it is written.
    pub form: RowForm,
    /// Names of its columns; empty for JSON lines.
    pub columns: Vec<String>,
    /// Its rows.
    pub index: Index,
    /// Why compiled code cannot represent one of its rows: the predicate of a sentence about the
    /// row.
    pub python_only: Option<&'static str>,
}

/// The check of one file.
#[derive(Debug)]
pub struct Checker {
    contents: Contents,
    /// Bytes of a row that is not complete yet.
    pending: Vec<u8>,
    /// Offset of the first of them.
    offset: u64,
    /// Their first line.
    line: u64,
    /// Whether the beginning of the file, where a byte order mark may be, was read.
    is_begun: bool,
    fields: Fields,
}

impl Checker {
    /// Begins with the first byte of a file.
    #[must_use]
    pub fn new(form: RowForm) -> Self {
        Self {
            contents: Contents {
                form,
                columns: Vec::new(),
                index: Index::default(),
                python_only: None,
            },
            pending: Vec::new(),
            offset: 0,
            line: 1,
            is_begun: false,
            fields: Fields::default(),
        }
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    /// The first row that is wrong.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), Misread> {
        if self.pending.is_empty() && self.is_begun {
            let used = self.rows(bytes, false)?;
            self.pending.extend_from_slice(&bytes[used..]);
        } else {
            let mut pending = std::mem::take(&mut self.pending);
            pending.extend_from_slice(bytes);
            let used = self.rows(&pending, false)?;
            pending.drain(..used);
            self.pending = pending;
        }
        match self.pending.len() > ROW_BYTES_MAX {
            true => Err(self.too_long()),
            false => Ok(()),
        }
    }

    /// The file ends.
    ///
    /// # Errors
    /// Its last row is wrong, or it has no rows.
    pub fn finish(mut self) -> Result<Contents, Misread> {
        let pending = std::mem::take(&mut self.pending);
        let used = self.rows(&pending, true)?;
        debug_assert_eq!(used, pending.len());
        match self.contents.index.is_empty() {
            true if self.contents.columns.is_empty() => Err(Misread::whole("is empty")),
            true => Err(Misread::whole("has no rows")),
            false => Ok(self.contents),
        }
    }

    fn too_long(&self) -> Misread {
        let what = "has a row of more than 16 MiB; are there quotes that are not closed?";
        Misread::on(self.line, what)
    }

    /// Takes the complete rows at the beginning of `bytes`; returns their length.
    fn rows(&mut self, bytes: &[u8], is_all: bool) -> Result<usize, Misread> {
        let mut used = 0;
        if !self.is_begun {
            if bytes.len() < MARK.len() && !is_all {
                return Ok(0);
            }
            self.is_begun = true;
            used = if bytes.starts_with(MARK) {
                MARK.len()
            } else {
                0
            };
            self.offset += used as u64;
        }
        while used < bytes.len() {
            let rest = &bytes[used..];
            let length = match self.contents.form {
                RowForm::Csv => self.record(rest, is_all)?,
                RowForm::JsonLines => self.json_line(rest, is_all)?,
            };
            let Some(length) = length else { break };
            used += length;
            self.offset += length as u64;
        }
        Ok(used)
    }

    /// Takes a record of CSV; returns its length if it is complete.
    fn record(&mut self, bytes: &[u8], is_all: bool) -> Result<Option<usize>, Misread> {
        let read = csv::record(bytes, is_all, &mut self.fields);
        let length = match read {
            Ok(Some(length)) => length,
            Ok(None) => return Ok(None),
            Err(Malformed { at, what }) => {
                // An error before this position is reported first.
                self.text(&bytes[..at])?;
                return Err(self.misread(&bytes[..at], what));
            }
        };
        if length > ROW_BYTES_MAX {
            return Err(self.too_long());
        }
        let record = &bytes[..length];
        self.text(record)?;
        let count = self.fields.len();
        if count > 0 && self.contents.columns.is_empty() {
            self.contents.columns = self.header()?;
        } else if count > 0 {
            let columns = self.contents.columns.len();
            if count != columns {
                let fields = if count == 1 { "field" } else { "fields" };
                let what = format!("has {count} {fields}, but the header has {columns}");
                return Err(Misread::on(self.line, what));
            }
            let from = self.offset;
            self.contents.index.add(from, from + length as u64);
        }
        self.line += line_ends(record);
        Ok(Some(length))
    }

    /// The names of the columns, from the first record.
    fn header(&self) -> Result<Vec<String>, Misread> {
        let names = self.fields.texts().map(|name| name.trim_matches(is_space));
        let names: Vec<String> = names.map(str::to_owned).collect();
        if names.iter().any(String::is_empty) {
            let what = "the header must name every column (one has no name)";
            return Err(Misread::on(self.line, what));
        }
        let mut sorted: Vec<&String> = names.iter().collect();
        sorted.sort();
        let is_twice = |name: &&String| {
            let place = sorted.partition_point(|one| one < name);
            sorted.get(place + 1) == Some(name)
        };
        if let Some(twice) = names.iter().find(is_twice) {
            let shown = repr(&Value::text(twice)).unwrap_or_default();
            return Err(Misread::on(
                self.line,
                format!("the header names {shown} twice"),
            ));
        }
        Ok(names)
    }

    /// Takes a line with a JSON value; returns its length if it is complete.
    fn json_line(&mut self, bytes: &[u8], is_all: bool) -> Result<Option<usize>, Misread> {
        let end = memchr::memchr(b'\n', bytes);
        let Some(length) = end.map(|end| end + 1).or(is_all.then_some(bytes.len())) else {
            return Ok(None);
        };
        if length > ROW_BYTES_MAX {
            return Err(self.too_long());
        }
        let text = self.text(&bytes[..end.unwrap_or(length)])?;
        if !is_blank(text) {
            self.json(text)?;
            let from = self.offset;
            self.contents.index.add(from, from + length as u64);
        }
        self.line += 1;
        Ok(Some(length))
    }

    fn json(&mut self, text: &str) -> Result<(), Misread> {
        if text.starts_with('\u{feff}') {
            return Err(Misread::at(
                self.line,
                1,
                "is not JSON: it begins with a byte order mark",
            ));
        }
        let mut read =
            json::loads(text.as_bytes(), PYTHON_MINOR).map(|value| not_in_code(&value, 0));
        if read
            .as_ref()
            .is_err_and(|refused| refused.kind != Kind::JSONDecodeError)
        {
            let why = "uses a value that only Python reads";
            read = json::check(text, PYTHON_MINOR).map(|()| Some(why));
        }
        let refused = match read {
            Ok(why) => {
                self.contents.python_only = self.contents.python_only.or(why);
                return Ok(());
            }
            Err(refused) => refused,
        };
        // "…: line 1 column 3 (char 2)"
        let place = refused.text.rsplit_once(": line 1 column ");
        let (what, place) = place.unwrap_or((&refused.text, ""));
        let column = place
            .split(' ')
            .next()
            .and_then(|column| column.parse().ok());
        let what = format!("is not JSON: {what}");
        Err(Misread::at(self.line, column.unwrap_or(1), what))
    }

    /// `bytes`, which begin with a line, as text without NUL.
    fn text<'b>(&self, bytes: &'b [u8]) -> Result<&'b str, Misread> {
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let what = "is not UTF-8; save the file as UTF-8";
            self.misread(&bytes[..error.valid_up_to()], what)
        })?;
        match memchr::memchr(0, bytes) {
            Some(at) => Err(self.misread(&bytes[..at], "has a NUL character")),
            None => Ok(text),
        }
    }

    /// The error `what` at the position after the bytes `before` of the current row.
    fn misread(&self, before: &[u8], what: &str) -> Misread {
        let start = before
            .iter()
            .rposition(|byte| matches!(byte, b'\r' | b'\n'));
        let start = start.map_or(0, |at| at + 1);
        let letters = String::from_utf8_lossy(&before[start..]).chars().count();
        let line = self.line + line_ends(before);
        Misread::at(line, letters as u64 + 1, what)
    }
}

/// Number of lines that end in `bytes`: with LF, CR or both.
fn line_ends(bytes: &[u8]) -> u64 {
    let ends = memchr::memchr2_iter(b'\r', b'\n', bytes);
    let is_second = |at: &usize| *at > 0 && bytes[*at] == b'\n' && bytes[*at - 1] == b'\r';
    ends.filter(|at| !is_second(at)).count() as u64
}

/// Why compiled code cannot represent a value.
fn not_in_code(value: &Value, depth: u16) -> Option<&'static str> {
    match value {
        Value::List(_) | Value::Dict(_) if depth == DEPTH_MAX => Some("nests deeper than 20"),
        Value::Int(whole) if i64::try_from(*whole).is_err() => {
            Some("uses a whole number of more than 64 bits")
        }
        Value::Float(real) if !real.is_finite() => Some("uses a number that is not finite"),
        Value::List(list) => {
            let mut items = list.items.iter();
            items.find_map(|item| not_in_code(item, depth + 1))
        }
        Value::Dict(dict) => {
            let mut entries = dict.entries().iter();
            entries.find_map(|(_, item)| not_in_code(item, depth + 1))
        }
        _ => None,
    }
}
