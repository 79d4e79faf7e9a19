//! Identity of calls, the same for all deltas of a run.
//!
//! Calls of the plan are identified by their position in it. Calls that a task made in Python have
//! numbers that are valid inside one delta only; they are identified by task and name.

use std::collections::BTreeMap;
use std::sync::Arc;

use loadpilot_events::log::delta::DeltaReported;
use serde::{Deserialize, Serialize};

use crate::tally::cache_codec;

/// A call.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum CallId {
    /// A call of the plan, by its position in the list of calls.
    Planned(u16),
    /// A call of a task that runs in Python.
    Named {
        /// The task, by its position in the plan.
        task: u16,
        /// The name of the call.
        #[serde(with = "cache_codec::shared")]
        name: Arc<str>,
    },
}

/// The meaning of the numbers of calls in one delta.
#[derive(Debug, Default)]
pub struct CallNames(BTreeMap<u16, CallId>);

impl CallNames {
    /// The names of `delta`.
    #[must_use]
    pub fn of(delta: &DeltaReported) -> Self {
        let named = delta.names.iter().map(|named| {
            let name = Arc::from(named.name.as_str());
            let task = named.task;
            (named.call, CallId::Named { task, name })
        });
        Self(named.collect())
    }

    /// The call of a number.
    #[must_use]
    pub fn call_id(&self, number: u16) -> CallId {
        let named = self.0.get(&number).cloned();
        named.unwrap_or(CallId::Planned(number))
    }

    /// Whether the delta names the call.
    #[must_use]
    pub fn has(&self, number: u16) -> bool {
        self.0.contains_key(&number)
    }
}
