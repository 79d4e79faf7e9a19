//! JSON as Python's `json` module reads it, to the words of its errors (CPython, `Modules/_json.c`
//! and `Lib/json/decoder.py`).

use std::borrow::Cow;
use std::rc::Rc;

use super::exceptions::{Exception, Kind, unsupported};
use super::value::{DEPTH_MAX, Value};

/// The first version of Python 3 that has words of its own for a comma too many.
const TRAILING_COMMA_MINOR: u8 = 13;

/// `json.loads(content)`, by the words of Python 3.`minor`.
///
/// # Errors
/// What Python raises, without a line; and where only Python could go on.
pub fn loads(content: &[u8], minor: u8) -> Result<Value, Exception> {
    Reader::new(decoded(content)?, minor).whole(Wanted::All)
}

/// `json.loads(content)[…][…]`, where a way leads to: all of it is checked, and nothing is made of
/// what lies beside the way. `None`: this raises an error, which reading all of it tells.
#[must_use]
pub fn at(content: &[u8], way: &[Step], minor: u8) -> Option<Value> {
    let mut reader = Reader::new(decoded(content).ok()?, minor);
    reader.whole(Wanted::At(way)).ok()?;
    reader.found
}

/// One subscript of a way into JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A key of a dict.
    Key(Rc<str>),
    /// A place in a list, from its beginning.
    Place(usize),
}

/// What of a value is wanted while it is read.
#[derive(Clone, Copy)]
enum Wanted<'w> {
    All,
    At(&'w [Step]),
    Nothing,
}

impl<'w> Wanted<'w> {
    fn is_all(self) -> bool {
        matches!(self, Self::All)
    }

    /// The same of an inner value, and whether the way leads there.
    fn inside(self, is_it: impl Fn(&Step) -> bool) -> (Self, bool) {
        match self {
            Self::All => (Self::All, false),
            Self::At([next, further @ ..]) if is_it(next) => (Self::At(further), true),
            Self::At(_) | Self::Nothing => (Self::Nothing, false),
        }
    }
}

/// The text of `content`, by `json.detect_encoding`.
fn decoded(content: &[u8]) -> Result<&str, Exception> {
    const MARK: &[u8] = b"\xef\xbb\xbf";
    let is_wide = match content {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => true,
        [0, 0, 0xfe, 0xff, ..] => true,
        [a, b, _, _, ..] | [a, b] => *a == 0 || *b == 0,
        _ => false,
    };
    if is_wide {
        return Err(unsupported("JSON that is not UTF-8"));
    }
    utf8(content.strip_prefix(MARK).unwrap_or(content))
}

/// `content.decode()`; the words are those of Python's decoder.
pub(crate) fn utf8(content: &[u8]) -> Result<&str, Exception> {
    let error = match std::str::from_utf8(content) {
        Ok(text) => return Ok(text),
        Err(error) => error,
    };
    let at = error.valid_up_to();
    let rest = &content[at..];
    if matches!(rest, [0xed, 0xa0..=0xbf, 0x80..=0xbf, ..]) {
        return Err(unsupported("JSON with lone surrogates"));
    }
    let is_start = matches!(rest[0], 0xc2..=0xf4);
    let (length, why) = match error.error_len() {
        None => (rest.len(), "unexpected end of data"),
        Some(1) if !is_start => (1, "invalid start byte"),
        Some(length) => (length, "invalid continuation byte"),
    };
    let text = match length {
        1 => format!(
            "'utf-8' codec can't decode byte 0x{:02x} in position {at}: {why}",
            rest[0]
        ),
        _ => {
            let last = at + length - 1;
            format!("'utf-8' codec can't decode bytes in position {at}-{last}: {why}")
        }
    };
    Err(Exception::new(Kind::UnicodeDecodeError, text))
}

/// A reader at a place in a text; places are bytes until they are told.
struct Reader<'a> {
    text: &'a str,
    at: usize,
    minor: u8,
    depth: u16,
    /// What stands at the end of the way.
    found: Option<Value>,
}

/// What functions give that read a value of which nothing is wanted.
const UNMADE: Value = Value::None;

impl<'a> Reader<'a> {
    fn new(text: &'a str, minor: u8) -> Self {
        Self {
            text,
            at: 0,
            minor,
            depth: 0,
            found: None,
        }
    }

    fn whole(&mut self, wanted: Wanted<'_>) -> Result<Value, Exception> {
        self.skip();
        let value = self.value(wanted)?;
        self.skip();
        match self.at == self.text.len() {
            true => Ok(value),
            false => Err(self.wrong("Extra data", self.at)),
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// `JSONDecodeError` with its place, in characters.
    fn wrong(&self, what: &str, at: usize) -> Exception {
        let before = &self.text[..at];
        let lines = before.bytes().filter(|&byte| byte == b'\n').count();
        let line_start = before.rfind('\n').map_or(0, |place| place + 1);
        let column = before[line_start..].chars().count() + 1;
        let place = before.chars().count();
        let text = format!("{what}: line {} column {column} (char {place})", lines + 1);
        Exception::new(Kind::JSONDecodeError, text)
    }

    fn value(&mut self, wanted: Wanted<'_>) -> Result<Value, Exception> {
        if let Wanted::At([]) = wanted {
            self.found = Some(self.value(Wanted::All)?);
            return Ok(UNMADE);
        }
        match self.peek() {
            None => Err(self.wrong("Expecting value", self.at)),
            Some(b'"') => {
                self.at += 1;
                let text = self.string()?;
                Ok(match wanted.is_all() {
                    true => Value::Text(text.into()),
                    false => UNMADE,
                })
            }
            Some(b'{') => self.nested(wanted, Self::object),
            Some(b'[') => self.nested(wanted, Self::array),
            Some(b'0'..=b'9') => self.number(wanted),
            Some(_) => self.word(wanted),
        }
    }

    fn word(&mut self, wanted: Wanted<'_>) -> Result<Value, Exception> {
        let words = [
            ("null", Value::None),
            ("true", Value::Bool(true)),
            ("false", Value::Bool(false)),
            ("NaN", Value::Float(f64::NAN)),
            ("Infinity", Value::Float(f64::INFINITY)),
            ("-Infinity", Value::Float(f64::NEG_INFINITY)),
        ];
        let rest = &self.text.as_bytes()[self.at..];
        let mut words = words.into_iter();
        match words.find(|(word, _)| rest.starts_with(word.as_bytes())) {
            Some((word, value)) => {
                self.at += word.len();
                Ok(value)
            }
            None => self.number(wanted),
        }
    }

    fn nested<'w>(
        &mut self,
        wanted: Wanted<'w>,
        read: fn(&mut Self, Wanted<'w>) -> Result<Value, Exception>,
    ) -> Result<Value, Exception> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(unsupported("JSON nested deeper than 200"));
        }
        self.at += 1;
        self.skip();
        let value = read(self, wanted)?;
        self.depth -= 1;
        Ok(value)
    }

    fn object(&mut self, wanted: Wanted<'_>) -> Result<Value, Exception> {
        let mut entries: Vec<(Rc<str>, Value)> = Vec::new();
        let made = |entries| match wanted.is_all() {
            true => Value::dict(entries),
            false => Ok(UNMADE),
        };
        if self.peek() == Some(b'}') {
            self.at += 1;
            return made(entries);
        }
        loop {
            if self.peek() != Some(b'"') {
                let what = "Expecting property name enclosed in double quotes";
                return Err(self.wrong(what, self.at));
            }
            self.at += 1;
            let key = self.string()?;
            self.skip();
            if self.peek() != Some(b':') {
                return Err(self.wrong("Expecting ':' delimiter", self.at));
            }
            self.at += 1;
            self.skip();
            let is_it = |step: &Step| matches!(step, Step::Key(wanted) if **wanted == *key);
            let value = self.inner(wanted, is_it)?;
            if wanted.is_all() {
                entries.push((key.into(), value));
            }
            if self.is_last(b'}', "object")? {
                return made(entries);
            }
        }
    }

    fn array(&mut self, wanted: Wanted<'_>) -> Result<Value, Exception> {
        let mut items = Vec::new();
        let made = |items| match wanted.is_all() {
            true => Value::list(items),
            false => Ok(UNMADE),
        };
        if self.peek() == Some(b']') {
            self.at += 1;
            return made(items);
        }
        for place in 0.. {
            let value = self.inner(wanted, |step| *step == Step::Place(place))?;
            if wanted.is_all() {
                items.push(value);
            }
            if self.is_last(b']', "array")? {
                break;
            }
        }
        made(items)
    }

    /// A value in another one.
    fn inner(
        &mut self,
        wanted: Wanted<'_>,
        is_it: impl Fn(&Step) -> bool,
    ) -> Result<Value, Exception> {
        let (wanted, is_on_the_way) = wanted.inside(is_it);
        if is_on_the_way {
            // The last one under a key counts, and what an earlier one held is nothing.
            self.found = None;
        }
        self.value(wanted)
    }

    /// Goes on behind the end of what is read, or to its next part.
    fn is_last(&mut self, end: u8, what: &str) -> Result<bool, Exception> {
        self.skip();
        let at = self.at;
        match self.peek() {
            Some(byte) if byte == end => {
                self.at += 1;
                Ok(true)
            }
            Some(b',') => {
                self.at += 1;
                self.skip();
                if self.minor >= TRAILING_COMMA_MINOR && self.peek() == Some(end) {
                    let what = format!("Illegal trailing comma before end of {what}");
                    return Err(self.wrong(&what, at));
                }
                Ok(false)
            }
            _ => Err(self.wrong("Expecting ',' delimiter", at)),
        }
    }

    fn digits(&mut self) -> bool {
        let from = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at > from
    }

    fn number(&mut self, wanted: Wanted<'_>) -> Result<Value, Exception> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => {
                self.digits();
            }
            _ => return Err(self.wrong("Expecting value", start)),
        }
        let mut is_whole = true;
        let end = self.at;
        if self.peek() == Some(b'.') {
            self.at += 1;
            match self.digits() {
                true => is_whole = false,
                false => self.at = end,
            }
        }
        let end = self.at;
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            match self.digits() {
                true => is_whole = false,
                false => self.at = end,
            }
        }
        if !wanted.is_all() {
            return Ok(UNMADE);
        }
        let text = &self.text[start..self.at];
        match is_whole {
            true => {
                // Most are short, and short ones are read faster.
                let short = text.parse::<i64>().map(i128::from);
                let value = short.or_else(|_| text.parse()).map(Value::Int);
                value.map_err(|_| unsupported("a whole number of more than 128 bits"))
            }
            false => Ok(Value::Float(text.parse().unwrap_or(f64::NAN))),
        }
    }

    /// The rest of a string, behind its first quote.
    fn string(&mut self) -> Result<Cow<'a, str>, Exception> {
        let begin = self.at - 1;
        let mut out = Cow::Borrowed("");
        loop {
            let from = self.at;
            let special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
            let bytes = &self.text.as_bytes()[from..];
            let Some(length) = bytes.iter().position(special) else {
                return Err(self.wrong("Unterminated string starting at", begin));
            };
            // Copies nothing while there is nothing else.
            out += &self.text[from..from + length];
            self.at = from + length;
            match bytes[length] {
                b'"' => {
                    self.at += 1;
                    return Ok(out);
                }
                b'\\' => out.to_mut().push(self.escape(begin)?),
                _ => return Err(self.wrong("Invalid control character at", self.at)),
            }
        }
    }

    /// What an escape stands for; it begins here.
    fn escape(&mut self, begin: usize) -> Result<char, Exception> {
        let at = self.at;
        let Some(what) = self.text[at + 1..].chars().next() else {
            return Err(self.wrong("Unterminated string starting at", begin));
        };
        self.at += 2;
        Ok(match what {
            '"' | '\\' | '/' => what,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => return self.unicode(),
            _ => return Err(self.wrong("Invalid \\escape", at)),
        })
    }

    fn unicode(&mut self) -> Result<char, Exception> {
        let first = self.hex(self.at - 1)?;
        if let Some(c) = char::from_u32(first) {
            return Ok(c);
        }
        let lone = || unsupported("JSON with lone surrogates");
        if first >= 0xdc00 || !self.text[self.at..].starts_with("\\u") {
            return Err(lone());
        }
        self.at += 2;
        let second = self.hex(self.at - 1)?;
        let low = second.checked_sub(0xdc00).filter(|&low| low < 0x400);
        let c = low.and_then(|low| char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + low));
        c.ok_or_else(lone)
    }

    /// Four digits and at least one more character, as the module wants it.
    fn hex(&mut self, told: usize) -> Result<u32, Exception> {
        let bytes = self.text.as_bytes();
        let digits = bytes.get(self.at..self.at + 4);
        let is_hex = |digits: &&[u8]| digits.iter().all(u8::is_ascii_hexdigit);
        let has_more = bytes.len() > self.at + 4;
        match digits.filter(is_hex).filter(|_| has_more) {
            Some(digits) => {
                self.at += 4;
                let value = |value: u32, digit: &u8| {
                    value * 16 + char::from(*digit).to_digit(16).unwrap_or(0)
                };
                Ok(digits.iter().fold(0, value))
            }
            None => Err(self.wrong("Invalid \\uXXXX escape", told)),
        }
    }
}
