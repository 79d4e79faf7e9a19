//! Files of rows: CSV and JSON lines, checked in one pass and read again a row at a time.
//!
//! - [`checker`]: checks the bytes of a file in order and indexes its rows.
//! - [`index`]: finds the block of bytes that contains a row.
//! - `csv`: one record of CSV, as Python's `csv` reads it with `strict=True`.
//!
//! Bytes are arguments: nothing here opens a file. Memory must never grow with the rows by more
//! than an entry of the index for [`index::ROWS_MAX`] of them.

pub mod checker;
mod csv;
pub mod index;

use std::fmt::{self, Debug, Display};

use loadpilot_events::plan::script::RowForm;

use self::csv::Fields;

/// Maximum number of bytes of a row, as it is written.
pub const ROW_BYTES_MAX: usize = 16 << 20;
/// Byte order mark with which a UTF-8 file may begin.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// A row as the file has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Row {
    /// Fields of CSV, as many as there are columns.
    Fields(Vec<String>),
    /// A line with one JSON value.
    Json(String),
}

/// Rows that are read as they are needed.
pub trait RowReader: Debug {
    /// The row at this index, from 0.
    ///
    /// # Errors
    /// Why it cannot be read, for the author of the scenario.
    fn row(&self, place: u64) -> Result<Row, String>;

    /// Names of the columns; empty for JSON lines.
    fn columns(&self) -> &[String];
}

/// An error in a file of rows, with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misread {
    /// Line, from 1; `None` for the whole file.
    pub line: Option<u64>,
    /// Column of the line in characters, from 1; `None` for the whole line.
    pub column: Option<u64>,
    /// What is wrong.
    pub what: String,
}

impl Misread {
    fn at(line: u64, column: u64, what: impl Into<String>) -> Self {
        Self {
            line: Some(line),
            column: Some(column),
            what: what.into(),
        }
    }

    fn on(line: u64, what: impl Into<String>) -> Self {
        Self {
            line: Some(line),
            column: None,
            what: what.into(),
        }
    }

    /// An error of the whole file.
    #[must_use]
    pub fn whole(what: impl Into<String>) -> Self {
        Self {
            line: None,
            column: None,
            what: what.into(),
        }
    }
}

impl Display for Misread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, self.column) {
            (Some(line), Some(column)) => write!(f, "line {line}, column {column}: ")?,
            (Some(line), None) => write!(f, "line {line}: ")?,
            _ => {}
        }
        f.write_str(&self.what)
    }
}

/// The row at position `skip` of `bytes`, which begin with a row; `None` if it is missing,
/// incomplete or malformed: then the bytes are not those that were checked.
#[must_use]
pub fn row_in(bytes: &[u8], skip: u64, form: RowForm, columns: usize) -> Option<Row> {
    match form {
        RowForm::Csv => fields_in(bytes, skip, columns),
        RowForm::JsonLines => {
            let lines = bytes.split(|&byte| byte == b'\n').map(std::str::from_utf8);
            let mut lines = lines.filter(|line| !line.is_ok_and(is_blank));
            let line = lines.nth(usize::try_from(skip).ok()?)?.ok()?;
            Some(Row::Json(line.to_owned()))
        }
    }
}

fn fields_in(mut bytes: &[u8], skip: u64, columns: usize) -> Option<Row> {
    let mut fields = Fields::default();
    let mut before = 0;
    loop {
        let length = csv::record(bytes, true, &mut fields).ok()??;
        if !fields.is_empty() {
            if before == skip {
                std::str::from_utf8(&bytes[..length]).ok()?;
                let found: Vec<String> = fields.texts().map(str::to_owned).collect();
                return (found.len() == columns).then_some(Row::Fields(found));
            }
            before += 1;
        }
        bytes = &bytes[length..];
    }
}

/// Whether a line is nothing but what `str.strip()` of Python removes.
fn is_blank(line: &str) -> bool {
    line.chars().all(is_space)
}

fn is_space(letter: char) -> bool {
    letter.is_whitespace() || matches!(letter, '\x1c'..='\x1f')
}
