//! A recorded load as a profile: the arrivals of each second, from a file or a past run, at a
//! scale.
//!
//! [`Recording`] takes a file line by line, so that its memory does not grow with the file. It must
//! never panic, and names line and column of what it cannot read.
//!
//! - `row`: one line, parsed
//! - [`timestamp`]: instants as logs and exports write them

mod row;
pub mod timestamp;

use std::collections::BTreeMap;

use loadpilot_events::limits::{CURVE_VALUES_MAX, RATE_MAX_URPS};
use loadpilot_events::plan::{Piece, Profile, Shape};
use loadpilot_events::refusal::Problem;
use loadpilot_events::units::{Rate, SECOND_US};

pub use self::row::SCALE_ONE;
use self::row::{Columns, Form};

/// Maximum length of a line, in bytes.
pub const LINE_BYTES_MAX: usize = 64 * 1024;

/// A part of a line that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misread {
    /// Line of the file, from 1 on.
    pub line: u64,
    /// Column of the line in characters, from 1 on.
    pub column: usize,
    /// Rule that the text violates ("must be …").
    pub rule: String,
    /// The text.
    pub value: String,
}

impl Misread {
    /// The problem, at its place in `file`.
    #[must_use]
    pub fn problem(&self, file: &str) -> Problem {
        let place = format!("{file}:{}:{}", self.line, self.column);
        Problem::new(place, &self.rule, self.value.escape_debug())
    }
}

/// The arrivals of each second, counted from the lines of a file.
#[derive(Debug, Default)]
pub struct Recording {
    lines: u64,
    form: Option<Form>,
    /// Arrivals of each second since the Unix epoch, or since 0, in millionths.
    counts: BTreeMap<u64, u64>,
}

impl Recording {
    /// Takes the next line, with or without its line break. The first line that is not empty
    /// decides the format of the file: two columns, an access log, or timestamps.
    ///
    /// # Errors
    /// The place of what cannot be read.
    pub fn line(&mut self, line: &[u8]) -> Result<(), Misread> {
        self.lines += 1;
        let line = match self.lines {
            1 => line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line),
            _ => line,
        };
        let line = line.trim_ascii_end();
        if line.len() > LINE_BYTES_MAX {
            let rule = format!("must be a line of at most {LINE_BYTES_MAX} bytes");
            return Err(self.misread(&line[..LINE_BYTES_MAX], LINE_BYTES_MAX, &rule, b"more"));
        }
        if line.is_empty() {
            return Ok(());
        }
        let is_first = self.form.is_none();
        let form = *self.form.get_or_insert_with(|| Form::of(line));
        match form {
            Form::Columns(columns) if is_first && columns.is_header(line) => Ok(()),
            Form::Columns(columns) => self.row(columns, line),
            Form::AccessLog | Form::Timestamps => {
                let second = form.second(line).map_err(|at| self.at(line, at))?;
                self.add(second, SCALE_ONE)
                    .map_err(|rule| self.misread(line, 0, rule, line))
            }
        }
    }

    /// The arrivals of each second from the first to the last, in millionths.
    ///
    /// # Errors
    /// When no line had any.
    pub fn counts(self) -> Result<Vec<u64>, Misread> {
        let (Some(first), Some(last)) = (self.counts.keys().next(), self.counts.keys().next_back())
        else {
            let rule = "must have a line with arrivals: second,count, or a timestamp";
            return Err(self.misread(b"", 0, rule, b"the end of the file"));
        };
        let count = |second| self.counts.get(&second).copied().unwrap_or(0);
        Ok((*first..=*last).map(count).collect())
    }

    /// Takes a row of two columns.
    fn row(&mut self, columns: Columns, line: &[u8]) -> Result<(), Misread> {
        let (second, count) = columns.row(line).map_err(|at| self.at(line, at))?;
        if let Some((last, _)) = self.counts.last_key_value()
            && second <= *last
        {
            let rule = format!("must be after the second of the row before, {last}");
            return Err(self.misread(line, 0, &rule, line));
        }
        self.add(second, count)
            .map_err(|rule| self.misread(line, 0, rule, line))
    }

    fn add(&mut self, second: u64, count: u64) -> Result<(), &'static str> {
        let first = self.counts.keys().next().map_or(second, |first| *first);
        let last = self.counts.keys().next_back().map_or(second, |last| *last);
        if last.max(second) - first.min(second) >= CURVE_VALUES_MAX as u64 {
            return Err("must be within 11 days of all other lines");
        }
        let all = self.counts.entry(second).or_insert(0);
        *all = all.saturating_add(count);
        if *all > RATE_MAX_URPS {
            return Err("must make at most 10,000,000 arrivals in its second");
        }
        Ok(())
    }

    fn at(&self, line: &[u8], wrong: row::Wrong) -> Misread {
        let value = line.get(wrong.place..wrong.end).unwrap_or(b"");
        self.misread(line, wrong.place, wrong.rule, value)
    }

    fn misread(&self, line: &[u8], place: usize, rule: &str, value: &[u8]) -> Misread {
        let before = line.get(..place).unwrap_or(line);
        Misread {
            line: self.lines.max(1),
            column: String::from_utf8_lossy(before).chars().count() + 1,
            rule: rule.to_owned(),
            value: String::from_utf8_lossy(value).into_owned(),
        }
    }
}

/// The profile with these arrivals, in millionths, in each second, times a scale in millionths. The
/// rate is constant within a second. A remainder below a millionth of an arrival is carried into
/// the next second.
#[must_use]
pub fn profile(counts: &[u64], scale_ppm: u64) -> Profile {
    let (mut sum, mut before) = (0_u128, 0_u128);
    let rates = counts.iter().map(|count| {
        sum += u128::from(*count) * u128::from(scale_ppm);
        let until = sum / u128::from(SCALE_ONE);
        let rate = until - std::mem::replace(&mut before, until);
        Rate(u64::try_from(rate).unwrap_or(u64::MAX))
    });
    let pieces = rates.map(|rate| Piece {
        duration_us: SECOND_US,
        from: rate,
        to: rate,
    });
    Profile {
        shape: Shape::Replay,
        pieces: pieces.collect(),
    }
}
