//! Errors in a part of a run, by task and call.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::RunId;
use crate::log::cause::Cause;
use crate::log::delta::TaskRaises;
use crate::log::exchange::ExchangeSeen;
use crate::log::outcome::Outcome;
use crate::plan::script::Raised;

/// Maximum number of distinct error texts of a task in one answer.
pub const RAISED_SHOWN_MAX: usize = 50;

/// Calls of a slice that were not ok, by how they ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Errors {
    /// Id of the run.
    pub run: RunId,
    /// Tasks, in the order of the plan.
    pub tasks: Vec<TaskErrors>,
    /// Examples of failed calls in the whole run: the first of each call and outcome.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<FailureExample>,
}

/// A call that failed, as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailureExample {
    /// Name of the task.
    pub task: String,
    /// Name of the call.
    pub call: String,
    /// Request and response.
    pub exchange: ExchangeSeen,
}

/// Errors of one task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskErrors {
    /// Name of the task.
    pub task: String,
    /// Number of finished calls of the slice; by rules 2 plus one for each time that the task
    /// raised without a call.
    pub finished: u64,
    /// Number of those that were not ok; by rules 2 including the last call of each arrival that
    /// raised.
    pub errors: u64,
    /// Number of arrivals of the slice that raised an error. Null without any, by rules 1, and
    /// where calls or outcomes are selected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_raises: Option<TaskRaises>,
    /// Calls of the plan in order, then those made in Python by name.
    pub calls: Vec<CallErrors>,
    /// Errors that the task and its check raised, the most frequent first, in the whole run: the
    /// log does not contain their times.
    pub raised: Vec<Raised>,
    /// Number of further distinct texts.
    pub raised_more: u64,
}

/// Errors of one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallErrors {
    /// Name of the call.
    pub call: String,
    /// Number of finished calls of the slice.
    pub finished: u64,
    /// Number of those that were not ok.
    pub errors: u64,
    /// Number of calls by outcome, ok and unfinished ones included.
    pub outcomes: BTreeMap<Outcome, u64>,
    /// Number of calls without a complete response, by outcome and cause.
    pub causes: BTreeMap<Outcome, BTreeMap<Cause, u64>>,
    /// Number of responses by outcome and status code.
    pub status: BTreeMap<Outcome, BTreeMap<u16, u64>>,
}
