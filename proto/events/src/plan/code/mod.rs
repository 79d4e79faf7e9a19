//! Compiled code: tasks, hooks and checks as data, for scenarios that examine responses.
//!
//! A small closed language with the meaning of Python, to the words of its errors;
//! `loadpilot-script` plays it. Code can compute, send requests and wait, and nothing else. It
//! holds no secret and does not change during a run.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::method::Method;
use crate::plan::object::Object;
use crate::plan::script::Feed;

mod operators;
mod user_types;

pub use operators::{
    Binary, Comparison, Extra, Function, Kind, Literal, Metric, Part, Pause, Raisable, Takes,
};

pub use user_types::TypeCode;

/// Scenario that any agent can play, with or without Python.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Code {
    /// File that was compiled, as errors name it: `shop.py`.
    pub file: String,
    /// Minor version of the Python 3 that compiled it; its errors have the words of that version.
    pub python_minor: u8,
    /// Number of users over all agents; each has one arrival at a time. In a closed loop: the
    /// plan's `users`.
    pub users: u32,
    /// Names of further request headers with secret values, in lower case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secret_headers: Vec<String>,
    /// Attributes of the class, which every user has, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub constants: BTreeMap<String, Literal>,
    /// Feeds of its tasks and users.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub feeds: Vec<Feed>,
    /// Rows of the feeds in the object store: a JSON list with one list for each feed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<Object>,
    /// Preparation of a user; only it sets attributes of a user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_start: Option<Routine>,
    /// Clean-up of a user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_stop: Option<Routine>,
    /// Code of each task, in the order of the plan.
    pub tasks: Vec<TaskCode>,
    /// Source lines that errors show, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<Line>,
    /// Own code of each user type of a mix, in the order of the plan; constants, hooks and lines
    /// are then here only. Absent: no mix.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<TypeCode>,
}

/// One source line of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// Number of the line, from 1.
    pub number: u32,
    /// Text of the line, without surrounding blanks.
    pub text: String,
}

/// Code of a task and of its check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskCode {
    /// The task itself.
    pub body: Routine,
    /// Check of the task. Absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<Check>,
}

/// Check of the last response of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// Arguments of the check: its first local variables.
    pub takes: Takes,
    /// Code of the check; it sends no request.
    pub body: Routine,
}

/// One function: its local variables and its statements.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Routine {
    /// Names of its local variables; statements refer to them by index, from 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locals: Vec<String>,
    /// Statements, in order.
    pub does: Vec<Statement>,
}

/// One statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Statement {
    /// Sends a request and waits for its response.
    Send(Box<Send>),
    /// Waits for a fixed time.
    Sleep {
        /// Duration in µs.
        us: u64,
    },
    /// Waits for a computed time.
    Rest {
        /// Function that waits.
        how: Pause,
        /// Arguments of the function.
        times: Vec<Expression>,
        /// Line number.
        line: u32,
    },
    /// Adds a value to an own metric.
    Measure {
        /// Kind of the metric; one kind per name.
        kind: Metric,
        /// Name of the metric.
        name: String,
        /// Value to add. Absent: 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<Expression>,
        /// Line number.
        line: u32,
    },
    /// Sets a local variable.
    Set {
        /// Index of the variable.
        local: u16,
        /// Value.
        to: Expression,
    },
    /// Sets an attribute of the user.
    Keep {
        /// Name of the attribute.
        name: String,
        /// Value.
        value: Expression,
    },
    /// Evaluates an expression for its errors only.
    Do(Expression),
    /// Executes the first branch whose test is true.
    If {
        /// Branches, in order.
        ways: Vec<Way>,
        /// Statements when no test is true.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        otherwise: Vec<Statement>,
    },
    /// Loops over the items of a list, the keys of a dict or the characters of a text.
    For {
        /// Index of the loop variable.
        local: u16,
        /// What the loop iterates over.
        over: Expression,
        /// Statements of the loop.
        does: Vec<Statement>,
        /// Line number.
        line: u32,
    },
    /// Loops a fixed number of times, counting from 0.
    Repeat {
        /// Index of the variable that counts.
        local: u16,
        /// Number of times.
        times: u32,
        /// Statements of the loop.
        does: Vec<Statement>,
    },
    /// Loops while a test is true.
    While {
        /// Test.
        test: Expression,
        /// Statements of the loop.
        does: Vec<Statement>,
    },
    /// Sends several requests concurrently and waits for all their responses.
    Batch {
        /// List of dicts with the parts of each request: `method`, `path`, and those of [`Extra`].
        requests: Expression,
        /// Names of the enclosing steps, as in [`Send`].
        #[serde(default, skip_serializing_if = "String::is_empty")]
        steps: String,
        /// Index of the variable that receives the responses. Absent: none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answers: Option<u16>,
        /// Line number.
        line: u32,
    },
    /// Takes one of several responses.
    Pick {
        /// Index of the variable that holds the responses.
        from: u16,
        /// Index of the response; from the end when negative.
        place: i64,
        /// Index of the variable that receives it.
        answer: u16,
        /// Line number.
        line: u32,
    },
    /// Loops over several responses.
    Each {
        /// Index of the loop variable.
        answer: u16,
        /// Index of the variable that holds the responses.
        from: u16,
        /// Statements of the loop.
        does: Vec<Statement>,
    },
    /// Body of a function that was called here; [`Statement::Return`] ends only this body.
    Within {
        /// Statements of the function.
        does: Vec<Statement>,
        /// Line number of the call.
        line: u32,
    },
    /// Leaves the enclosing loop.
    Break,
    /// Continues with the next iteration of the enclosing loop.
    Continue,
    /// Raises AssertionError unless a test is true.
    Assert {
        /// Test.
        test: Expression,
        /// Message of the error. Absent: its line.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        says: Option<Expression>,
        /// Line number.
        line: u32,
    },
    /// Raises an error.
    Raise {
        /// Type of the error.
        kind: Raisable,
        /// Message of the error. Absent: its line.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        says: Option<Expression>,
        /// Line number.
        line: u32,
    },
    /// Raises HTTPStatusError when a response has a status of 400 or more.
    RaiseForStatus {
        /// Index of the variable that holds the response.
        local: u16,
        /// Line number.
        line: u32,
    },
    /// Ends the function.
    Return,
}

/// One branch of an `if`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Way {
    /// Condition of the branch.
    pub test: Expression,
    /// Statements of the branch.
    pub does: Vec<Statement>,
}

/// One request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Send {
    /// HTTP method.
    pub method: Method,
    /// Path, with a query if it is part of the text.
    pub path: Expression,
    /// Other arguments, in the order of their evaluation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub given: Vec<Given>,
    /// Timeout in µs. Absent: the plan's timeout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_us: Option<u64>,
    /// Whether redirects are followed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub follows: bool,
    /// Names of the enclosing steps, each with its separator: `checkout / `.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub steps: String,
    /// Index of the variable that receives the response. Absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<u16>,
    /// Line number.
    pub line: u32,
}

/// Argument of a request beside its method and path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Given {
    /// Which argument.
    pub what: Extra,
    /// Value.
    pub value: Expression,
}

/// Expression with a value. Its line is where Python would report an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Expression {
    /// Literal value.
    Literal(Literal),
    /// Local variable.
    Local {
        /// Index of the variable.
        local: u16,
        /// Line number.
        line: u32,
    },
    /// Attribute of the user or of its class.
    Own {
        /// Name of the attribute.
        name: String,
        /// Line number.
        line: u32,
    },
    /// List of these items.
    List(Vec<Expression>),
    /// Dict of these entries, in order.
    Dict(Vec<Entry>),
    /// f-string: the joined texts of these parts.
    Join(Vec<Expression>),
    /// Operation on two values.
    Binary {
        /// Operator.
        operator: Binary,
        /// Left operand.
        left: Box<Expression>,
        /// Right operand.
        right: Box<Expression>,
        /// Line number.
        line: u32,
    },
    /// Arithmetic negation.
    Negate {
        /// Operand.
        of: Box<Expression>,
        /// Line number.
        line: u32,
    },
    /// Logical negation.
    Not(Box<Expression>),
    /// Chained comparison: `0 < a < 9`.
    Compare {
        /// First operand.
        first: Box<Expression>,
        /// Other operands with their operators.
        others: Vec<Compared>,
        /// Line number.
        line: u32,
    },
    /// The first value that is not true, otherwise the last.
    And(Vec<Expression>),
    /// The first value that is true, otherwise the last.
    Or(Vec<Expression>),
    /// Conditional expression.
    Choose {
        /// Condition.
        test: Box<Expression>,
        /// Value when it is true.
        then: Box<Expression>,
        /// Value when it is false.
        otherwise: Box<Expression>,
    },
    /// Item of a list, value of a dict or character of a text.
    Item {
        /// Container.
        of: Box<Expression>,
        /// Index or key.
        key: Box<Expression>,
        /// Line number.
        line: u32,
    },
    /// Slice of a list or a text.
    Slice {
        /// List or text.
        of: Box<Expression>,
        /// Begin; None for the begin of the whole.
        from: Box<Expression>,
        /// End; None for the end of the whole.
        to: Box<Expression>,
        /// Line number.
        line: u32,
    },
    /// Formatted number: `{x:04d}` and `{x:.2f}` of an f-string.
    Format {
        /// Number.
        of: Box<Expression>,
        /// Number of digits after the point. Absent: the number must be an integer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        digits: Option<u8>,
        /// Minimum width in characters.
        width: u8,
        /// Whether zeros pad it, behind the sign.
        zeros: bool,
        /// Line number.
        line: u32,
    },
    /// List comprehension: `[item for local in over if test]`.
    Comprehension {
        /// Index of the loop variable, which has no other use.
        local: u16,
        /// What the comprehension iterates over.
        over: Box<Expression>,
        /// Condition for an item. Absent: all items.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        test: Option<Box<Expression>>,
        /// Item.
        item: Box<Expression>,
        /// Line number.
        line: u32,
    },
    /// Result of a built-in function.
    Call {
        /// Function.
        function: Function,
        /// Arguments.
        to: Vec<Expression>,
        /// Line number.
        line: u32,
    },
    /// Whether a value has one of these types.
    IsInstance {
        /// Value.
        of: Box<Expression>,
        /// Types.
        kinds: Vec<Kind>,
    },
    /// Part of a response.
    Answer {
        /// Index of the variable that holds the response.
        local: u16,
        /// Part of it.
        part: Part,
        /// Line number.
        line: u32,
    },
    /// Feed row of this arrival; in hooks of this user.
    Row {
        /// Index of the feed.
        feed: u16,
    },
    /// Header of a response.
    Header {
        /// Index of the variable that holds the response.
        local: u16,
        /// Name of the header.
        name: String,
        /// Value without such a header. Absent: a KeyError.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        otherwise: Option<Box<Expression>>,
        /// Line number.
        line: u32,
    },
}

/// Entry of a dict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Key.
    pub key: String,
    /// Value.
    pub value: Expression,
}

/// Operand of a chained comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Compared {
    /// Operator before the operand.
    pub how: Comparison,
    /// Operand.
    pub to: Expression,
}
