//! Errors that compiled code raises, as in Python.

use loadpilot_events::log::cause::Cause;
use loadpilot_events::log::outcome::Outcome;
use loadpilot_events::plan::code::Raisable;

/// An error that was raised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exception {
    /// Its type.
    pub kind: Kind,
    /// Its text.
    pub text: String,
    /// The line that raised it; 0 until known.
    pub line: u32,
    /// Lines of the comprehensions around it that are functions of their own, inner ones first.
    pub(crate) via: Vec<u32>,
}

/// Types of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are Python's")]
pub enum Kind {
    AssertionError,
    AttributeError,
    Exception,
    FeedError,
    HTTPStatusError,
    IndexError,
    JSONDecodeError,
    KeyError,
    OverflowError,
    RedirectError,
    RequestError,
    RuntimeError,
    TypeError,
    UnboundLocalError,
    UnicodeDecodeError,
    ValueError,
    ZeroDivisionError,
    /// A limit of compiled code, or a response that only Python can read; not a type of Python's.
    CompiledError,
}

impl Kind {
    /// Its name in Python.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AssertionError => "AssertionError",
            Self::AttributeError => "AttributeError",
            Self::Exception => "Exception",
            Self::FeedError => "FeedError",
            Self::HTTPStatusError => "HTTPStatusError",
            Self::IndexError => "IndexError",
            Self::JSONDecodeError => "JSONDecodeError",
            Self::KeyError => "KeyError",
            Self::OverflowError => "OverflowError",
            Self::RedirectError => "RedirectError",
            Self::RequestError => "RequestError",
            Self::RuntimeError => "RuntimeError",
            Self::TypeError => "TypeError",
            Self::UnboundLocalError => "UnboundLocalError",
            Self::UnicodeDecodeError => "UnicodeDecodeError",
            Self::ValueError => "ValueError",
            Self::ZeroDivisionError => "ZeroDivisionError",
            Self::CompiledError => "CompiledError",
        }
    }

    /// Whether it is a subclass of `ValueError`.
    #[must_use]
    pub fn is_value_error(self) -> bool {
        matches!(
            self,
            Self::ValueError | Self::JSONDecodeError | Self::UnicodeDecodeError
        )
    }
}

impl From<Raisable> for Kind {
    fn from(error: Raisable) -> Self {
        match error {
            Raisable::AssertionError => Self::AssertionError,
            Raisable::Exception => Self::Exception,
            Raisable::RuntimeError => Self::RuntimeError,
            Raisable::TypeError => Self::TypeError,
            Raisable::ValueError => Self::ValueError,
        }
    }
}

impl Exception {
    /// An error without a line.
    #[must_use]
    pub fn new(kind: Kind, text: impl Into<String>) -> Self {
        Self {
            kind,
            text: text.into(),
            line: 0,
            via: Vec::new(),
        }
    }

    /// Adds a function that was called on this line.
    pub(crate) fn via(mut self, line: u32) -> Self {
        self.via.push(line);
        self
    }

    /// Sets its line, unless known.
    #[must_use]
    pub fn at(mut self, line: u32) -> Self {
        if self.line == 0 {
            self.line = line;
        }
        self
    }
}

/// `TypeError`.
pub(crate) fn type_error(text: impl Into<String>) -> Exception {
    Exception::new(Kind::TypeError, text)
}

/// `ValueError`.
pub(crate) fn value_error(text: impl Into<String>) -> Exception {
    Exception::new(Kind::ValueError, text)
}

/// `CompiledError`: compiled code cannot do what Python would.
#[must_use]
pub(crate) fn unsupported(what: &str) -> Exception {
    let advice = "compiled code cannot go on as Python would; write @scenario(compile=False)";
    Exception::new(Kind::CompiledError, format!("{what}: {advice}"))
}

/// `RequestError`.
pub(crate) fn request_error(outcome: Outcome, cause: Option<Cause>) -> Exception {
    let cause = cause.and_then(|cause| serde_json::to_value(cause).ok());
    let text = match cause.as_ref().and_then(serde_json::Value::as_str) {
        Some(cause) => format!("{}: {cause}", outcome.name()),
        None => outcome.name().to_owned(),
    };
    Exception::new(Kind::RequestError, text)
}
