//! The names of calls that tasks in Python make, and the numbers that stand for them here.
//!
//! A number holds on one core; deltas say what it means. Must never grow without end: a task may
//! put anything into a path.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use loadpilot_events::limits::{CALL_NAMES_MAX, OTHER_CALLS};
use loadpilot_events::script::CallName;

use super::program::Call;
use crate::script::Request;

/// Most requests that are kept as they were sent.
const MADE_MAX: usize = 1_024;
/// Longest body of such a request, in bytes.
const MADE_BYTES_MAX: usize = 4 << 10;
/// Most names of calls on one core, whatever their tasks.
const NAMES_MAX: usize = 10_000;

/// What the calls of tasks in Python are called, and their numbers.
#[derive(Debug, Default)]
pub(crate) struct CallNames {
    known: RefCell<BTreeMap<u16, BTreeMap<Arc<str>, CallName>>>,
    count: Cell<usize>,
    /// Requests that were made before, by task: most users make few different ones.
    made: RefCell<HashMap<(u16, Arc<Request>), Made>>,
}

/// A request as it was sent before.
#[derive(Debug, Clone)]
pub(crate) struct Made {
    pub named: CallName,
    pub call: Rc<Call>,
}

impl CallNames {
    /// A request of a task that was made before.
    pub(super) fn made(&self, task: u16, request: &Arc<Request>) -> Option<Made> {
        let made = self.made.borrow();
        made.get(&(task, Arc::clone(request))).cloned()
    }

    /// Keeps a request for the next time; large ones are not worth it.
    pub(super) fn keep(&self, task: u16, request: &Arc<Request>, made: &Made) {
        if request
            .body
            .as_ref()
            .is_some_and(|body| body.len() > MADE_BYTES_MAX)
        {
            return;
        }
        let mut kept = self.made.borrow_mut();
        if kept.len() >= MADE_MAX {
            // A task that never makes the same request again must not keep them all.
            kept.clear();
        }
        kept.insert((task, Arc::clone(request)), made.clone());
    }

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
