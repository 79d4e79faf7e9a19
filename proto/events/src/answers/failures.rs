//! What went wrong in a part of a run, call by call.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::RunId;
use crate::log::cause::Cause;
use crate::log::delta::TaskRaises;
use crate::log::outcome::Outcome;
use crate::plan::script::Raised;

/// Most different texts of a task that an answer holds.
pub const RAISED_TOLD_MAX: usize = 50;

/// How the calls of a slice ended that were not ok.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Errors {
    /// Of which run.
    pub run: RunId,
    /// By task, in the order of the plan.
    pub tasks: Vec<TaskErrors>,
}

/// What went wrong in one task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskErrors {
    /// Its name.
    pub task: String,
    /// Finished calls of the slice; by rules 2 also one for each time that it raised without a
    /// call.
    pub finished: u64,
    /// Those that were not ok; by rules 2 also the last one of each arrival that raised.
    pub errors: u64,
    /// Arrivals of the slice in which it raised; null when there were none, by rules 1, and where
    /// calls or outcomes are picked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_raises: Option<TaskRaises>,
    /// By call: those of the plan in order, then those made in Python by name.
    pub calls: Vec<CallErrors>,
    /// What its checks and itself raised, the most frequent first, in the whole run: the log does
    /// not say when.
    pub raised: Vec<Raised>,
    /// How many more different texts there are.
    pub raised_more: u64,
}

/// What went wrong in one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallErrors {
    /// Its name.
    pub call: String,
    /// Finished calls of the slice.
    pub finished: u64,
    /// Those that were not ok.
    pub errors: u64,
    /// How they ended, ok and unfinished ones too.
    pub outcomes: BTreeMap<Outcome, u64>,
    /// Why those without a complete answer had none.
    pub causes: BTreeMap<Outcome, BTreeMap<Cause, u64>>,
    /// Answers by outcome and status code.
    pub status: BTreeMap<Outcome, BTreeMap<u16, u64>>,
}
