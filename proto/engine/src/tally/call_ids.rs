//! Which call a row is about, the same for all deltas of a run.
//!
//! Calls of the plan are known by their place in it. Those that a task made in Python have numbers
//! that hold inside one delta only, and are known by their task and their name.

use std::collections::BTreeMap;
use std::sync::Arc;

use loadpilot_events::log::delta::DeltaReported;
use serde::{Deserialize, Serialize};

use crate::tally::cache_codec;

/// A call.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum CallId {
    /// By its place in the plan's list of calls.
    Planned(u16),
    /// By its name in a task that runs in Python.
    Named {
        /// The task, by its place in the plan.
        task: u16,
        /// What it is called.
        #[serde(with = "cache_codec::shared")]
        name: Arc<str>,
    },
}

/// What the numbers of calls mean in one delta.
#[derive(Debug, Default)]
pub struct CallNames(BTreeMap<u16, CallId>);

impl CallNames {
    /// Of `delta`.
    #[must_use]
    pub fn of(delta: &DeltaReported) -> Self {
        let named = delta.names.iter().map(|named| {
            let name = Arc::from(named.name.as_str());
            let task = named.task;
            (named.call, CallId::Named { task, name })
        });
        Self(named.collect())
    }

    /// The call that `number` stands for.
    #[must_use]
    pub fn call_id(&self, number: u16) -> CallId {
        let named = self.0.get(&number).cloned();
        named.unwrap_or(CallId::Planned(number))
    }

    /// Whether the delta names it.
    #[must_use]
    pub fn has(&self, number: u16) -> bool {
        self.0.contains_key(&number)
    }
}
