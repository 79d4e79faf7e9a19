//! What tasks in Python make up, kept within bounds: the names of their calls with the numbers that
//! stand for them here, the requests that they make again and again, the errors that they raise.
//!
//! A number holds on one core; deltas say what it means. Must never grow without end: a task may
//! put anything into a path or a message.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use loadpilot_events::limits::{CALL_NAMES_MAX, OTHER_CALLS, OTHER_ERRORS};
use loadpilot_events::script::CallName;

use super::program::Call;
use crate::script::Request;

/// Most requests that are kept as they were sent.
const MADE_MAX: usize = 1_024;
/// Longest body of such a request, in bytes.
const MADE_BYTES_MAX: usize = 4 << 10;
/// Most names of calls on one core, whatever their tasks.
const NAMES_MAX: usize = 2_000;
/// Most errors of one task that are told apart in a run.
const ERRORS_MAX: usize = 100;

/// What the tasks of one core made up.
#[derive(Debug, Default)]
pub(crate) struct CallNames {
    known: RefCell<BTreeMap<u16, BTreeMap<String, Rc<CallName>>>>,
    count: Cell<usize>,
    /// Requests that were made before, by their task and place in memory, where they stay as long
    /// as they are kept here.
    made: RefCell<HashMap<(u16, usize), Made>>,
    errors: RefCell<BTreeMap<u16, BTreeSet<String>>>,
}

/// A request as it is sent.
#[derive(Debug, Clone)]
pub(crate) struct Made {
    /// What it was made of.
    pub request: Arc<Request>,
    /// What it is called, if it is counted.
    pub named: Option<Rc<CallName>>,
    pub call: Rc<Call>,
}

impl CallNames {
    /// A request of a task that was made before.
    pub(super) fn made(&self, task: u16, request: &Arc<Request>) -> Option<Made> {
        let made = self.made.borrow();
        made.get(&(task, place(request))).cloned()
    }

    /// Keeps a request for the next time; large ones are not worth it.
    pub(super) fn keep(&self, task: u16, made: &Made) {
        let body = made.request.body.as_ref();
        if body.is_some_and(|body| body.len() > MADE_BYTES_MAX) {
            return;
        }
        let mut kept = self.made.borrow_mut();
        if kept.len() >= MADE_MAX {
            // A task that never makes the same request again must not keep them all.
            kept.clear();
        }
        kept.insert((task, place(&made.request)), made.clone());
    }

    /// The number of a call, and what to tell the counters about it; `tasks` is how many there are.
    pub(super) fn number(&self, task: u16, name: &str, tasks: usize) -> Rc<CallName> {
        let mut known = self.known.borrow_mut();
        let of_task = known.entry(task).or_default();
        if let Some(named) = of_task.get(name) {
            return Rc::clone(named);
        }
        // The first numbers are set aside for the calls that are not told apart.
        let is_full = of_task.len() >= CALL_NAMES_MAX || self.count.get() >= NAMES_MAX;
        let (told, number) = match is_full {
            true => (OTHER_CALLS, usize::from(task)),
            false => (name, tasks + self.count.replace(self.count.get() + 1)),
        };
        let named = Rc::new(CallName {
            call: u16::try_from(number).unwrap_or(u16::MAX),
            task,
            name: told.to_owned(),
        });
        if !is_full {
            of_task.insert(name.to_owned(), Rc::clone(&named));
        }
        named
    }

    /// What an error of a task is told as.
    pub(super) fn raised(&self, task: u16, text: &str) -> String {
        let mut errors = self.errors.borrow_mut();
        let known = errors.entry(task).or_default();
        if !known.contains(text) {
            if known.len() >= ERRORS_MAX {
                return OTHER_ERRORS.to_owned();
            }
            known.insert(text.to_owned());
        }
        text.to_owned()
    }
}

fn place(request: &Arc<Request>) -> usize {
    Arc::as_ptr(request).addr()
}
