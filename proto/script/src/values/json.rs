//! `json.loads`, with CPython's error texts (`Modules/_json.c` and `Lib/json/decoder.py`), and the
//! lookup of one value without building the rest.

use std::borrow::Cow;
use std::rc::Rc;

use super::exceptions::{Exception, Kind, unsupported};
use super::value::{DEPTH_MAX, Value};

/// First minor version of Python 3 with an error text of its own for a trailing comma.
const TRAILING_COMMA_MINOR: u8 = 13;

/// `json.loads(content)`; errors have the text of Python 3.`minor`.
///
/// # Errors
/// The same as in Python, without a line; `CompiledError` where only Python can read the content.
pub(crate) fn loads(content: &[u8], minor: u8) -> Result<Value, Exception> {
    Reader::new(decoded(content)?, minor).whole(Build::All)
}

/// Checks that `json.loads(content)` returns a value, also a value that only Python can represent.
///
/// # Errors
/// The same as in Python; `CompiledError` for what nests too deep.
pub(crate) fn check(content: &str, minor: u8) -> Result<(), Exception> {
    let mut reader = Reader::new(content, minor);
    reader.replaces_lone = true;
    reader.whole(Build::Nothing).map(drop)
}

/// `json.loads(content)[…][…]`: checks all of the content and builds only the value at the path.
/// `None` if that raises an error; [`loads`] returns it.
#[must_use]
pub(crate) fn at(content: &[u8], path: &[Step], minor: u8) -> Option<Value> {
    let mut reader = Reader::new(decoded(content).ok()?, minor);
    reader.whole(Build::At(path)).ok()?;
    reader.found
}

/// One subscript of a path into JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// A key of a dict.
    Key(Rc<str>),
    /// An index of a list, from its beginning.
    Index(usize),
}

/// What to build of a value while it is read.
#[derive(Clone, Copy)]
enum Build<'w> {
    All,
    At(&'w [Step]),
    Nothing,
}

impl<'w> Build<'w> {
    fn is_all(self) -> bool {
        matches!(self, Self::All)
    }

    /// What to build of an inner value, and whether the path leads there.
    fn inside(self, matches: impl Fn(&Step) -> bool) -> (Self, bool) {
        match self {
            Self::All => (Self::All, false),
            Self::At([next, further @ ..]) if matches(next) => (Self::At(further), true),
            Self::At(_) | Self::Nothing => (Self::Nothing, false),
        }
    }
}

/// The text of `content`, decoded as by `json.detect_encoding`.
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

/// `content.decode()`, with the error texts of Python's decoder.
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

/// A reader of JSON text; positions are in bytes, in errors in characters.
struct Reader<'a> {
    text: &'a str,
    at: usize,
    minor: u8,
    depth: u16,
    /// Whether lone surrogates are replaced, which is done in a value that is not built.
    replaces_lone: bool,
    /// The value at the end of the path.
    found: Option<Value>,
}

/// Returned for a value that is read and not built.
const NOT_BUILT: Value = Value::None;

impl<'a> Reader<'a> {
    fn new(text: &'a str, minor: u8) -> Self {
        Self {
            text,
            at: 0,
            minor,
            depth: 0,
            replaces_lone: false,
            found: None,
        }
    }

    fn whole(&mut self, build: Build<'_>) -> Result<Value, Exception> {
        self.skip();
        let value = self.value(build)?;
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

    /// `JSONDecodeError` with its position, in characters.
    fn wrong(&self, what: &str, at: usize) -> Exception {
        let before = &self.text[..at];
        let lines = before.bytes().filter(|&byte| byte == b'\n').count();
        let line_start = before.rfind('\n').map_or(0, |place| place + 1);
        let column = before[line_start..].chars().count() + 1;
        let place = before.chars().count();
        let text = format!("{what}: line {} column {column} (char {place})", lines + 1);
        Exception::new(Kind::JSONDecodeError, text)
    }

    fn value(&mut self, build: Build<'_>) -> Result<Value, Exception> {
        if let Build::At([]) = build {
            self.found = Some(self.value(Build::All)?);
            return Ok(NOT_BUILT);
        }
        match self.peek() {
            None => Err(self.wrong("Expecting value", self.at)),
            Some(b'"') => {
                self.at += 1;
                let text = self.string()?;
                Ok(match build.is_all() {
                    true => Value::Text(text.into()),
                    false => NOT_BUILT,
                })
            }
            Some(b'{') => self.nested(build, Self::object),
            Some(b'[') => self.nested(build, Self::array),
            Some(b'0'..=b'9') => self.number(build),
            Some(_) => self.word(build),
        }
    }

    fn word(&mut self, build: Build<'_>) -> Result<Value, Exception> {
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
            None => self.number(build),
        }
    }

    fn nested<'w>(
        &mut self,
        build: Build<'w>,
        read: fn(&mut Self, Build<'w>) -> Result<Value, Exception>,
    ) -> Result<Value, Exception> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(unsupported("JSON nested deeper than 200"));
        }
        self.at += 1;
        self.skip();
        let value = read(self, build)?;
        self.depth -= 1;
        Ok(value)
    }

    fn object(&mut self, build: Build<'_>) -> Result<Value, Exception> {
        let mut entries: Vec<(Rc<str>, Value)> = Vec::new();
        let built = |entries| match build.is_all() {
            true => Value::dict(entries),
            false => Ok(NOT_BUILT),
        };
        if self.peek() == Some(b'}') {
            self.at += 1;
            return built(entries);
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
            let matches = |step: &Step| matches!(step, Step::Key(known) if **known == *key);
            let value = self.inner(build, matches)?;
            if build.is_all() {
                entries.push((key.into(), value));
            }
            if self.is_last(b'}', "object")? {
                return built(entries);
            }
        }
    }

    fn array(&mut self, build: Build<'_>) -> Result<Value, Exception> {
        let mut items = Vec::new();
        let built = |items| match build.is_all() {
            true => Value::list(items),
            false => Ok(NOT_BUILT),
        };
        if self.peek() == Some(b']') {
            self.at += 1;
            return built(items);
        }
        for place in 0.. {
            let value = self.inner(build, |step| *step == Step::Index(place))?;
            if build.is_all() {
                items.push(value);
            }
            if self.is_last(b']', "array")? {
                break;
            }
        }
        built(items)
    }

    /// Reads an item of a list or dict.
    fn inner(
        &mut self,
        build: Build<'_>,
        matches: impl Fn(&Step) -> bool,
    ) -> Result<Value, Exception> {
        let (build, is_on_path) = build.inside(matches);
        if is_on_path {
            // Of equal keys the last one counts.
            self.found = None;
        }
        self.value(build)
    }

    /// Skips the end of a list or dict, or the comma before its next item.
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

    fn number(&mut self, build: Build<'_>) -> Result<Value, Exception> {
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
        if !build.is_all() {
            return Ok(NOT_BUILT);
        }
        let text = &self.text[start..self.at];
        match is_whole {
            true => {
                // Most numbers are short, and `i64` parses faster.
                let short = text.parse::<i64>().map(i128::from);
                let value = short.or_else(|_| text.parse()).map(Value::Int);
                value.map_err(|_| unsupported("a whole number of more than 128 bits"))
            }
            false => Ok(Value::Float(text.parse().unwrap_or(f64::NAN))),
        }
    }

    /// Reads the rest of a string after its first quote.
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
            // Copies nothing unless there is an escape.
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

    /// Reads an escape sequence.
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
        let replaced = self.replaces_lone.then_some(char::REPLACEMENT_CHARACTER);
        let lone = || replaced.ok_or_else(|| unsupported("JSON with lone surrogates"));
        if first >= 0xdc00 || !self.text[self.at..].starts_with("\\u") {
            return lone();
        }
        let after_first = self.at;
        self.at += 2;
        let second = self.hex(self.at - 1)?;
        let low = second.checked_sub(0xdc00).filter(|&low| low < 0x400);
        let c = low.and_then(|low| char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + low));
        c.map_or_else(
            || {
                self.at = after_first;
                lone()
            },
            Ok,
        )
    }

    /// Reads four hexadecimal digits, after which Python requires one more character.
    fn hex(&mut self, at: usize) -> Result<u32, Exception> {
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
            None => Err(self.wrong("Invalid \\uXXXX escape", at)),
        }
    }
}
