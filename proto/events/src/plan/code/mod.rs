//! Tasks, hooks and checks as data: what a scenario compiles to when they look at answers.
//!
//! A small closed language. What its words mean is `loadpilot-engine`'s `eval`: exactly what Python
//! means by them, to the words of its errors. Nothing here can do more than compute, ask for
//! requests and rest. Must never hold a secret, and nothing that could change while a run goes on.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::method::Method;
use crate::plan::object::Object;
use crate::plan::script::Feed;

mod operators;

pub use operators::{Binary, Comparison, Function, Kind, Literal, Metric, Part, Pause, Raisable};

/// A scenario whose users any agent can play, with or without Python.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Code {
    /// The file that it was compiled from, as errors name it: `shop.py`.
    pub file: String,
    /// The minor version of the Python 3 that compiled it: errors use its words.
    pub python_minor: u8,
    /// Virtual users over all agents, each with one arrival at a time; in a closed loop as many as
    /// that has.
    pub users: u32,
    /// Names of further request headers whose values are secret, in lower case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secret_headers: Vec<String>,
    /// What every user has from its class, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub constants: BTreeMap<String, Literal>,
    /// The data that its tasks and users take rows of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub feeds: Vec<Feed>,
    /// The rows of those: a JSON list of a list for each, kept beside the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<Object>,
    /// The preparation of a user; it alone gives a user something of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_start: Option<Routine>,
    /// The clean-up of a user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_stop: Option<Routine>,
    /// What each task of the plan does, in the plan's order.
    pub tasks: Vec<TaskCode>,
    /// Lines that errors show, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<Line>,
}

/// A line of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// Its number, from 1.
    pub number: u32,
    /// What stands there, without the blanks around it.
    pub text: String,
}

/// What a task does, and what is then said of its last answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskCode {
    /// The task itself.
    pub body: Routine,
    /// Its check, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<Check>,
}

/// What looks at the last answer of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// What its first locals are.
    pub takes: Takes,
    /// What it says; it can ask for nothing.
    pub body: Routine,
}

/// What a check is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Takes {
    /// The answer itself.
    Answer,
    /// Its status code, and its body as JSON, or None when it is none.
    StatusAndBody,
}

/// One function: its local variables and what it does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Routine {
    /// The names of its local variables; elsewhere they are numbers, from 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locals: Vec<String>,
    /// What it does, one after the other.
    pub does: Vec<Statement>,
}

/// One statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Statement {
    /// Asks for a request and waits for its answer.
    Send(Box<Send>),
    /// Rests.
    Sleep {
        /// How long, in µs.
        us: u64,
    },
    /// Rests for a time that is computed.
    Rest {
        /// In which way.
        how: Pause,
        /// What it is given.
        times: Vec<Expression>,
        /// The line.
        line: u32,
    },
    /// Adds to a metric of the scenario's own.
    Measure {
        /// Its kind; no other has its name.
        kind: Metric,
        /// What it is called.
        name: String,
        /// What is added; absent: 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<Expression>,
        /// The line.
        line: u32,
    },
    /// Gives a local variable a value.
    Set {
        /// Its number.
        local: u16,
        /// The value.
        to: Expression,
    },
    /// Gives the user something of its own.
    Keep {
        /// What it is called.
        name: String,
        /// The value.
        value: Expression,
    },
    /// Computes something and forgets it, but for its errors.
    Do(Expression),
    /// Goes one of several ways.
    If {
        /// The first of them whose test is true is gone.
        ways: Vec<Way>,
        /// What is done when there is none.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        otherwise: Vec<Statement>,
    },
    /// Does the same for each item of a list, key of a dict or character of a text.
    For {
        /// The local variable that holds it.
        local: u16,
        /// Whose.
        over: Expression,
        /// What is done.
        does: Vec<Statement>,
        /// The line.
        line: u32,
    },
    /// Does the same so many times, counting from 0.
    Repeat {
        /// The local variable that counts.
        local: u16,
        /// How many times.
        times: u32,
        /// What is done.
        does: Vec<Statement>,
    },
    /// Does the same as long as a test is true.
    While {
        /// The test.
        test: Expression,
        /// What is done.
        does: Vec<Statement>,
    },
    /// Asks for several requests at a time and waits for all of their answers.
    Batch {
        /// A list of dicts with the parts of each: `method`, `path`, and those of [`Extra`].
        requests: Expression,
        /// The names of the steps that they are made in, as those of [`Send`].
        #[serde(default, skip_serializing_if = "String::is_empty")]
        steps: String,
        /// The local variable that gets the answers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answers: Option<u16>,
        /// The line.
        line: u32,
    },
    /// Takes one of several answers.
    Pick {
        /// The local variable that holds them.
        from: u16,
        /// Which; from the end when it is negative.
        place: i64,
        /// The local variable that gets it.
        answer: u16,
        /// The line.
        line: u32,
    },
    /// Does the same for each of several answers.
    Each {
        /// The local variable that holds it.
        answer: u16,
        /// The local variable that holds them.
        from: u16,
        /// What is done.
        does: Vec<Statement>,
    },
    /// What a function does that was called here: [`Statement::Return`] ends this alone.
    Within {
        /// What it does.
        does: Vec<Statement>,
        /// The line of the call.
        line: u32,
    },
    /// Leaves the loop that it is in.
    Break,
    /// Goes on with the next round of the loop that it is in.
    Continue,
    /// Raises AssertionError unless a test is true.
    Assert {
        /// The test.
        test: Expression,
        /// What the error says; its line when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        says: Option<Expression>,
        /// The line.
        line: u32,
    },
    /// Raises an error.
    Raise {
        /// Its kind.
        kind: Raisable,
        /// What it says; its line when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        says: Option<Expression>,
        /// The line.
        line: u32,
    },
    /// Raises HTTPStatusError when an answer has a status of 400 or more.
    RaiseForStatus {
        /// The local variable that holds the answer.
        local: u16,
        /// The line.
        line: u32,
    },
    /// Ends the function.
    Return,
}

/// One way that a branch can go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Way {
    /// When it is gone.
    pub test: Expression,
    /// What is done then.
    pub does: Vec<Statement>,
}

/// A request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Send {
    /// Its method.
    pub method: Method,
    /// Its path, and a query if it is written with it.
    pub path: Expression,
    /// What else was given, in the order in which it is computed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub given: Vec<Given>,
    /// Instead of the plan's time-out, in µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_us: Option<u64>,
    /// Whether it goes on to where a redirect leads.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub follows: bool,
    /// The names of the steps that it is made in, each with what stands behind it: `checkout / `.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub steps: String,
    /// The local variable that gets the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<u16>,
    /// The line.
    pub line: u32,
}

/// A part of a request beside its method and path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Given {
    /// Which.
    pub what: Extra,
    /// Its value.
    pub value: Expression,
}

/// The parts of a request that can be computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Extra {
    /// Fields that are added to the query.
    Params,
    /// Headers.
    Headers,
    /// The body as JSON.
    Json,
    /// The body as a form, or text.
    Data,
    /// The body as text.
    Content,
    /// What reports call it.
    Name,
}

/// Something with a value. A line is where Python would say that it raised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Expression {
    /// A value as it is written.
    Literal(Literal),
    /// A local variable.
    Local {
        /// Its number.
        local: u16,
        /// The line.
        line: u32,
    },
    /// Something of the user's own, or of its class.
    Own {
        /// What it is called.
        name: String,
        /// The line.
        line: u32,
    },
    /// A list of these.
    List(Vec<Expression>),
    /// A dict of these, in order.
    Dict(Vec<Entry>),
    /// The texts of these, joined: an f-string.
    Join(Vec<Expression>),
    /// An operation on two values.
    Binary {
        /// Which.
        operator: Binary,
        /// On its left.
        left: Box<Expression>,
        /// On its right.
        right: Box<Expression>,
        /// The line.
        line: u32,
    },
    /// The number with the other sign.
    Negate {
        /// Of what.
        of: Box<Expression>,
        /// The line.
        line: u32,
    },
    /// Whether it is not true.
    Not(Box<Expression>),
    /// Whether each stands so to the next: `0 < a < 9`.
    Compare {
        /// The first.
        first: Box<Expression>,
        /// The others.
        others: Vec<Compared>,
        /// The line.
        line: u32,
    },
    /// The first that is not true, else the last.
    And(Vec<Expression>),
    /// The first that is true, else the last.
    Or(Vec<Expression>),
    /// One of two.
    Choose {
        /// When it is the first.
        test: Box<Expression>,
        /// The first.
        then: Box<Expression>,
        /// The other.
        otherwise: Box<Expression>,
    },
    /// An item of a list, a value of a dict, a character of a text.
    Item {
        /// Of what.
        of: Box<Expression>,
        /// Which.
        key: Box<Expression>,
        /// The line.
        line: u32,
    },
    /// A part of a list or a text.
    Slice {
        /// Of what.
        of: Box<Expression>,
        /// Its begin; None for that of the whole.
        from: Box<Expression>,
        /// Its end; the same.
        to: Box<Expression>,
        /// The line.
        line: u32,
    },
    /// A number as text: `{x:04d}` and `{x:.2f}` of an f-string.
    Format {
        /// The number.
        of: Box<Expression>,
        /// Digits after the point; absent: it must be whole.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        digits: Option<u8>,
        /// The least width.
        width: u8,
        /// Whether zeros fill it, behind the sign.
        zeros: bool,
        /// The line.
        line: u32,
    },
    /// `[item for local in over if test]`
    Comprehension {
        /// The local variable that holds each; nothing else does.
        local: u16,
        /// Over what.
        over: Box<Expression>,
        /// What has to be true for an item to be taken.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        test: Option<Box<Expression>>,
        /// The item.
        item: Box<Expression>,
        /// The line.
        line: u32,
    },
    /// What one of Python's own functions returns.
    Call {
        /// Which.
        function: Function,
        /// What it is given.
        to: Vec<Expression>,
        /// The line.
        line: u32,
    },
    /// Whether a value is of one of these types.
    IsInstance {
        /// The value.
        of: Box<Expression>,
        /// The types.
        kinds: Vec<Kind>,
    },
    /// A part of an answer.
    Answer {
        /// The local variable that holds it.
        local: u16,
        /// Which.
        part: Part,
        /// The line.
        line: u32,
    },
    /// The row of a feed that this arrival takes, in hooks this user.
    Row {
        /// The feed, by its place.
        feed: u16,
    },
    /// A header of an answer.
    Header {
        /// The local variable that holds the answer.
        local: u16,
        /// The name of the header.
        name: String,
        /// What stands for it when there is none; absent: that is a KeyError.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        otherwise: Option<Box<Expression>>,
        /// The line.
        line: u32,
    },
}

/// A key and its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// The value.
    pub value: Expression,
}

/// How one value stands to the next, and that one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Compared {
    /// How.
    pub how: Comparison,
    /// To what.
    pub to: Expression,
}
