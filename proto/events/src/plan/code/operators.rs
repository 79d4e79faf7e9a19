//! Closed sets of the compiled language: literal values, operators, built-in functions.
//!
//! Data only: `loadpilot-script` gives them their meaning.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A value as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Literal {
    /// None.
    None,
    /// True or False.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Another number, in decimal: text, since not every reader of JSON reads each bit of it.
    Float(String),
    /// Text.
    Text(String),
    /// A list, or a tuple where that makes no difference.
    List(Vec<Literal>),
    /// A dict with texts as keys, in order.
    Dict(Vec<(String, Literal)>),
}

/// Errors that code may raise by name, as Python calls them: what they say is what they were given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "the names are Python's")]
pub enum Raisable {
    AssertionError,
    Exception,
    RuntimeError,
    TypeError,
    ValueError,
}

/// Operations on two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Binary {
    /// `+`
    Add,
    /// `+=`
    AddInPlace,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `//`
    FloorDivide,
    /// `%`
    Modulo,
    /// `/`
    Divide,
}

/// How two values can stand to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    Unequal,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    More,
    /// `>=`
    AtLeast,
    /// `in`
    In,
    /// `not in`
    NotIn,
    /// `is`, of None, True and False only.
    Is,
    /// `is not`, the same.
    IsNot,
}

/// Python's own functions, and methods of its values, which are then the first they are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Function {
    /// `len(a)`
    Len,
    /// `str(a)`
    Str,
    /// `repr(a)`, and `!r` of an f-string
    Repr,
    /// `int(a)`
    Int,
    /// `bool(a)`
    Bool,
    /// `a.get(key)` or `a.get(key, otherwise)` of a dict
    Get,
    /// `a.lower()`
    Lower,
    /// `a.upper()`
    Upper,
    /// `a.strip()` or `a.strip(signs)`
    Strip,
    /// `a.lstrip()`, the same
    Lstrip,
    /// `a.rstrip()`, the same
    Rstrip,
    /// `a.split()` or `a.split(separator)`
    Split,
    /// `a.startswith(b)`
    Startswith,
    /// `a.endswith(b)`
    Endswith,
    /// `a.replace(old, new)`
    Replace,
    /// `a.join(texts)`
    Join,
    /// `rand.int(least, most)`
    RandInt,
    /// `rand.float()`
    RandFloat,
    /// `rand.choice(options)`
    RandChoice,
    /// `rand.uuid()`
    RandUuid,
    /// `rand.text(length)`
    RandText,
    /// `now().isoformat()`
    NowIsoformat,
    /// `now().timestamp()`
    NowTimestamp,
}

/// Types that a value can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum Kind {
    Bool,
    Int,
    Float,
    Str,
    List,
    Dict,
}

/// Parts of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Its status code.
    StatusCode,
    /// Whether that is below 400.
    Ok,
    /// Its body as text.
    Text,
    /// Its body as JSON.
    Json,
    /// From dispatch to its last byte, in ms.
    ElapsedMs,
}

/// Ways to rest, each with what it makes of the time that it is given, and with its own errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pause {
    /// `self.wait(least)` or `self.wait(least, most)`
    Wait,
    /// `time.sleep(seconds)`
    TimeSleep,
    /// `await asyncio.sleep(seconds)`
    AsyncioSleep,
}

/// Kinds of metrics of a scenario's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// A sum of amounts.
    Counter,
    /// A distribution of values.
    Trend,
    /// A share of values that are true.
    Rate,
}
