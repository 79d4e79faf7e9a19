//! Closed sets of the compiled language: literal values, operators, built-in functions.
//!
//! Data only: `loadpilot-script` gives them their meaning.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Literal value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Literal {
    /// None.
    None,
    /// True or False.
    Bool(bool),
    /// Integer.
    Int(i64),
    /// Other number, as decimal text, since some JSON readers lose bits of a float.
    Float(String),
    /// Text.
    Text(String),
    /// List, or a tuple where that makes no difference.
    List(Vec<Literal>),
    /// Dict with text keys, in order.
    Dict(Vec<(String, Literal)>),
}

/// Error type that code may raise, as Python names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "the names are Python's")]
pub enum Raisable {
    AssertionError,
    Exception,
    RuntimeError,
    TypeError,
    ValueError,
}

/// Operator on two values.
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

/// Comparison operator.
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
    /// `is not`, of None, True and False only.
    IsNot,
}

/// Built-in function, or method of a value, which is then the first argument.
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
    /// `a.strip()` or `a.strip(characters)`
    Strip,
    /// `a.lstrip()` or `a.lstrip(characters)`
    Lstrip,
    /// `a.rstrip()` or `a.rstrip(characters)`
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

/// Type of a value.
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

/// Part of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Status code.
    StatusCode,
    /// Whether the status is below 400.
    Ok,
    /// Body as text.
    Text,
    /// Body as JSON.
    Json,
    /// Time from dispatch to the last byte, in ms.
    ElapsedMs,
}

/// Function that waits, each with its own arguments and errors.
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

/// Kind of an own metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Sum of amounts.
    Counter,
    /// Distribution of values.
    Trend,
    /// Share of true values.
    Rate,
}

/// Arguments of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Takes {
    /// The response itself.
    Answer,
    /// Its status code, and its body as JSON, or None when the body is not JSON.
    StatusAndBody,
}

/// Computed part of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Extra {
    /// Fields that are added to the query.
    Params,
    /// Headers.
    Headers,
    /// Body as JSON.
    Json,
    /// Body as a form, or text.
    Data,
    /// Body as text.
    Content,
    /// Name in reports.
    Name,
}
