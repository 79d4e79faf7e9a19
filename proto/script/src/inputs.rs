//! Inputs of a part: random draws, its due time, rows of feeds.
//!
//! All of them follow from the seed and the part's [`Occasion`], by the same laws as in Python
//! (`loadpilot.inputs.random`). Must never make a draw that Python does not make, nor leave one
//! out: the next would differ.

use std::cell::{Cell, RefCell};
use std::fmt::Write as _;
use std::rc::Rc;

use loadpilot_events::Timestamp;
use loadpilot_events::plan::code::Function;

use super::operation::Occasion;
use super::rows::{Row, RowReader};
use super::values::exceptions::{Exception, Kind, type_error, unsupported, value_error};
use super::values::json;
use super::values::operators::item;
use super::values::repr::{repr, str};
use super::values::value::Value;
use loadpilot_engine::schedule::feed::{Feeder, NoRow};
use loadpilot_engine::schedule::random::{DrawScope, Draws};

/// Maximum number of instructions between two operations, and of items of comprehensions: a loop
/// must not occupy a thread.
pub(super) const INSTRUCTIONS_MAX: u32 = 10_000_000;
/// Characters of `rand.text()`.
const LETTERS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
/// Maximum length of `rand.text()`.
const LETTERS_MAX: i128 = 1_000_000;
/// The error of an arrival for which no row is left (`loadpilot.inputs.feeds`).
const ALL_USED: &str = "all rows of the feed are used, and they are unique";
/// End of the range of Python's dates: of the year 9999, in µs since 1970.
const DUE_US_MAX: u64 = 253_402_300_800_000_000;

/// Seed and feeds of a scenario, which its users share.
#[derive(Debug, Default)]
pub struct Sources {
    seed: u64,
    feeders: RefCell<Vec<Feeder>>,
    /// The rows of each feed.
    rows: Vec<Rows>,
    /// Minor version of Python whose errors are raised.
    minor: u8,
}

/// The rows of one feed.
#[derive(Debug)]
enum Rows {
    Held(Vec<Value>),
    InFile {
        reader: Box<dyn RowReader>,
        columns: Vec<Rc<str>>,
    },
}

impl Rows {
    fn in_file(reader: Box<dyn RowReader>) -> Self {
        let columns = reader.columns().iter().map(|name| name.as_str().into());
        Self::InFile {
            columns: columns.collect(),
            reader,
        }
    }

    /// The row at this index; `None` after the last row.
    fn row(&self, index: u64, minor: u8) -> Result<Option<Value>, Exception> {
        let (reader, columns) = match self {
            Self::Held(rows) => {
                let index = usize::try_from(index).ok();
                return Ok(index.and_then(|index| rows.get(index)).cloned());
            }
            Self::InFile { reader, columns } => (reader, columns),
        };
        let row = reader.row(index);
        let row = row.map_err(|why| Exception::new(Kind::FeedError, why))?;
        let value = match row {
            Row::Fields(fields) => {
                let values = fields.iter().map(|field| Value::text(field));
                Value::dict(columns.iter().cloned().zip(values).collect())
            }
            Row::Json(line) => json::loads(line.as_bytes(), minor),
        };
        value.map(Some)
    }
}

impl Sources {
    /// Sources of a run; `rows` are the rows of all feeds as JSON, or empty, and `files` has the
    /// reader of each feed whose rows are in a file instead. Errors have the text of Python
    /// 3.`minor`.
    ///
    /// # Errors
    /// The rows are not JSON lists that compiled code can represent.
    pub fn new(
        seed: u64,
        feeders: Vec<Feeder>,
        rows: &[u8],
        files: Vec<Option<Box<dyn RowReader>>>,
        minor: u8,
    ) -> Result<Self, Exception> {
        let read = match rows.is_empty() {
            true => Value::list(Vec::new())?,
            false => json::loads(rows, minor)?,
        };
        let inner = |value: &Value| match value {
            Value::List(list) => Ok(list.items.clone()),
            _ => Err(unsupported("rows that are no list")),
        };
        let held = inner(&read)?
            .iter()
            .map(inner)
            .collect::<Result<Vec<_>, _>>()?;
        let mut held = held.into_iter();
        let rows = (0..feeders.len()).zip(files.into_iter().chain(std::iter::repeat_with(|| None)));
        // Feeds with a file have an empty list among the rows.
        let rows = rows.map(|(_, file)| (held.next().unwrap_or_default(), file));
        let rows = rows.map(|(held, file)| match file {
            Some(reader) => Rows::in_file(reader),
            None => Rows::Held(held),
        });
        Ok(Self {
            seed,
            rows: rows.collect(),
            feeders: RefCell::new(feeders),
            minor,
        })
    }
}

/// Inputs of one user in its current part.
#[derive(Debug)]
pub(super) struct Inputs {
    sources: Rc<Sources>,
    occasion: Occasion,
    /// `None` until the first draw.
    draws: Cell<Option<Draws>>,
    /// Items that comprehensions iterated over since the last operation.
    pub(super) iterations: Cell<u32>,
}

impl Inputs {
    pub(super) fn new(sources: Rc<Sources>) -> Self {
        Self {
            sources,
            occasion: Occasion {
                whose: DrawScope::Start {
                    user: 0,
                    session: 0,
                },
                due: Timestamp(0),
            },
            draws: Cell::new(None),
            iterations: Cell::new(0),
        }
    }

    /// A part begins.
    pub(super) fn begin(&mut self, occasion: Occasion) {
        self.occasion = occasion;
        self.draws.set(None);
    }

    /// Counts one more item of a comprehension.
    pub(super) fn step(&self) -> Result<(), Exception> {
        self.iterations.set(self.iterations.get() + 1);
        match self.iterations.get() > INSTRUCTIONS_MAX {
            true => Err(unsupported("a loop of more than 10 million steps")),
            false => Ok(()),
        }
    }

    fn next_value(&self) -> u64 {
        let first = || Draws::new(self.sources.seed, self.occasion.whose);
        let mut draws = self.draws.get().unwrap_or_else(first);
        let value = draws.next_value();
        self.draws.set(Some(draws));
        value
    }

    /// `rand.float()`
    pub(super) fn float(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "53 bits")]
        let whole = (self.next_value() >> 11) as f64;
        whole * f64::EPSILON / 2.0
    }

    /// Row of the feed at this index that the part takes.
    pub(super) fn row(&self, feed: u16) -> Result<Value, Exception> {
        let feed = usize::from(feed);
        let mut feeders = self.sources.feeders.borrow_mut();
        let missing = || unsupported("a row that the plan does not have");
        let feeder = feeders.get_mut(feed).ok_or_else(missing)?;
        let index = match feeder.row(self.occasion.whose) {
            Ok(index) => index,
            Err(NoRow::AllUsed) => return Err(Exception::new(Kind::FeedError, ALL_USED)),
            Err(NoRow::NotTaken) => return Err(missing()),
        };
        let rows = self.sources.rows.get(feed).ok_or_else(missing)?;
        rows.row(index, self.sources.minor)?.ok_or_else(missing)
    }

    /// Result of a function of `loadpilot`.
    pub(super) fn called(&self, function: Function, to: &[Value]) -> Result<Value, Exception> {
        match (function, to) {
            (Function::RandInt, [least, most]) => self.int(least, most),
            (Function::RandFloat, []) => Ok(Value::Float(self.float())),
            (Function::RandChoice, [options]) => self.choice(options),
            (Function::RandUuid, []) => Ok(self.uuid()),
            (Function::RandText, [length]) => self.text(length),
            (Function::NowIsoformat, []) => Ok(Value::text(&isoformat(self.due()?))),
            (Function::NowTimestamp, []) => {
                #[expect(clippy::cast_precision_loss, reason = "less than 2^53 until 2255")]
                let us = self.due()? as f64;
                match us < 9e15 {
                    true => Ok(Value::Float(us / 1e6)),
                    false => Err(unsupported("a time after the year 2255")),
                }
            }
            _ => Err(unsupported("a function called with what it does not take")),
        }
    }

    fn due(&self) -> Result<u64, Exception> {
        match self.occasion.due.0 < DUE_US_MAX {
            true => Ok(self.occasion.due.0),
            false => Err(unsupported("a time after the year 9999")),
        }
    }

    /// `rand.int(least, most)`
    fn int(&self, least: &Value, most: &Value) -> Result<Value, Exception> {
        let bound = |value: &Value| match value {
            Value::Int(value) => Ok(*value),
            Value::Bool(value) => Ok(i128::from(*value)),
            other => {
                let shown = repr(other)?;
                let rule = "rand.int() takes two whole numbers, not";
                Err(type_error(format!("{rule} {shown}")))
            }
        };
        let (from, to) = (bound(least)?, bound(most)?);
        let wrong = |rule: &str| {
            let call = format!("rand.int({}, {})", str(least)?, str(most)?);
            Ok::<_, Exception>(value_error(format!("{call}: {rule}")))
        };
        if from > to {
            return Err(wrong("the first must not be above the second")?);
        }
        let width = to
            .checked_sub(from)
            .and_then(|more| u64::try_from(more).ok());
        let Some(width) = width else {
            return Err(wrong("at most 2**64 numbers can be drawn from")?);
        };
        let span = u128::from(width) + 1;
        let drawn = (u128::from(self.next_value()) * span) >> 64;
        let drawn = i128::try_from(drawn).ok();
        let sum = drawn.and_then(|drawn| from.checked_add(drawn));
        let sum = sum.ok_or_else(|| unsupported("a whole number of more than 128 bits"))?;
        Ok(Value::Int(sum))
    }

    /// `rand.choice(options)`
    fn choice(&self, options: &Value) -> Result<Value, Exception> {
        if !options.is_true() {
            return Err(value_error(
                "rand.choice() needs at least one to choose from",
            ));
        }
        let value = self.next_value();
        let index = (u128::from(value) * (options.length()? as u128)) >> 64;
        let index = i128::try_from(index).unwrap_or(i128::MAX);
        item(options, &Value::Int(index))
    }

    /// `rand.uuid()`: of version 4 (RFC 9562, section 5.4).
    fn uuid(&self) -> Value {
        let (high, low) = (self.next_value(), self.next_value());
        let high = high & !0xf000 | 0x4000;
        let low = low & !(0b11 << 62) | (0b10 << 62);
        let (a, b, c) = (high >> 32, high >> 16 & 0xffff, high & 0xffff);
        let (d, e) = (low >> 48, low & 0xffff_ffff_ffff);
        Value::text(&format!("{a:08x}-{b:04x}-{c:04x}-{d:04x}-{e:012x}"))
    }

    /// `rand.text(length)`
    fn text(&self, length: &Value) -> Result<Value, Exception> {
        let length = match length {
            Value::Int(length) => *length,
            Value::Bool(length) => i128::from(*length),
            other => {
                let rule = "object cannot be interpreted as an integer";
                return Err(type_error(format!("'{}' {rule}", other.kind())));
            }
        };
        if length > LETTERS_MAX {
            return Err(unsupported(
                "a text of more than a million letters that are drawn",
            ));
        }
        let letter = |_| {
            let index = (u128::from(self.next_value()) * LETTERS.len() as u128) >> 64;
            char::from(LETTERS[usize::try_from(index).unwrap_or(0)])
        };
        Ok(Value::text(&(0..length).map(letter).collect::<String>()))
    }
}

/// `datetime.isoformat()` in UTC, of µs since 1970: the civil calendar from days, by Howard
/// Hinnant's `civil_from_days` ("chrono-compatible low-level date algorithms").
fn isoformat(us: u64) -> String {
    let (seconds, us) = (us / 1_000_000, us % 1_000_000);
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let leaps = day_of_era / 1_460 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leaps + day_of_era / 36_524) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    let mut text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
    if us > 0 {
        write!(text, ".{us:06}").expect("a String takes what is written");
    }
    text + "+00:00"
}
