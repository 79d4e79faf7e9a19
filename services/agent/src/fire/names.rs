//! The names of calls that tasks in Python make, and the numbers that stand for them here.
//!
//! A number holds on one core; deltas say what it means. Must never grow without end: a task may
//! put anything into a path.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

use loadpilot_events::limits::{CALL_NAMES_MAX, OTHER_CALLS};
use loadpilot_events::script::CallName;

/// Most names of calls on one core, whatever their tasks.
const NAMES_MAX: usize = 10_000;

/// What the calls of tasks in Python are called, and their numbers.
#[derive(Debug, Default)]
pub(crate) struct CallNames {
    known: RefCell<BTreeMap<u16, BTreeMap<Arc<str>, CallName>>>,
    count: Cell<usize>,
}

impl CallNames {
    /// The number of a call, and what to tell the counters about it; `tasks` is how many there are.
    pub(super) fn number(&self, task: u16, name: &str, tasks: usize) -> CallName {
        let mut known = self.known.borrow_mut();
        let of_task = known.entry(task).or_default();
        if let Some(name) = of_task.get(name) {
            return name.clone();
        }
        // The first numbers are set aside for the calls that are not told apart.
        let is_full = of_task.len() >= CALL_NAMES_MAX || self.count.get() >= NAMES_MAX;
        let (name, number) = match is_full {
            true => (OTHER_CALLS, usize::from(task)),
            false => (name, tasks + self.count.replace(self.count.get() + 1)),
        };
        let named = CallName {
            call: u16::try_from(number).unwrap_or(u16::MAX),
            task,
            name: name.to_owned(),
        };
        if !is_full {
            of_task.insert(Arc::from(name), named.clone());
        }
        named
    }
}
