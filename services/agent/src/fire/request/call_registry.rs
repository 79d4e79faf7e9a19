//! Names, errors and compiled requests of tasks in Python, within bounds.
//!
//! A call that is not in the plan gets a number on first use. The number is valid on one core. No
//! other core of the process uses it, since the cores share deltas, which contain the number's
//! name. Must never grow without limit: a task may put anything into a path or a message.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use loadpilot_events::limits::{CALL_NAMES_MAX, OTHER_CALLS, OTHER_ERRORS};
use loadpilot_events::plan::script::CallName;

use super::program::Call;

/// Maximum number of call names on one core, of all tasks.
const NAMES_MAX: usize = 2_000;
/// Maximum number of distinct errors of one task in a run.
const ERRORS_MAX: usize = 100;

/// Call names and errors of the tasks of one core.
#[derive(Debug)]
pub(crate) struct CallRegistry {
    /// Index of this core among those of its run, and their number.
    core: (u32, u32),
    known: RefCell<BTreeMap<u16, BTreeMap<String, Arc<CallName>>>>,
    count: Cell<usize>,
    errors: RefCell<BTreeMap<u16, BTreeSet<String>>>,
}

/// A request as it is sent.
#[derive(Debug, Clone)]
pub(crate) struct CompiledCall {
    /// Number and name of the call, if the call is counted.
    pub name: Option<Arc<CallName>>,
    pub call: Arc<Call>,
}

/// Cache inside a scenario's request: its compiled calls by task.
#[derive(Debug, Default)]
pub(crate) struct CompiledCalls(Mutex<Vec<(u16, CompiledCall)>>);

impl CompiledCalls {
    /// The compiled call for a task, if there is one.
    pub(crate) fn of(&self, task: u16) -> Option<CompiledCall> {
        let calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = calls.iter().find(|(known, _)| *known == task);
        found.map(|(_, compiled)| compiled.clone())
    }

    /// Stores the compiled call for a task.
    pub(crate) fn keep(&self, task: u16, compiled: &CompiledCall) {
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        calls.push((task, compiled.clone()));
    }
}

impl CallRegistry {
    /// The registry of a core with its index and the number of cores.
    pub(crate) fn new(core: (u32, u32)) -> Self {
        Self {
            core,
            known: RefCell::default(),
            count: Cell::new(0),
            errors: RefCell::default(),
        }
    }

    /// The next free number; `None` when none is left.
    fn next_number(&self, tasks: usize) -> Option<u16> {
        let (core, cores) = self.core;
        let count = self.count.get();
        let number = count
            .checked_mul(cores as usize)?
            .checked_add(tasks + core as usize)?;
        let number = u16::try_from(number).ok().filter(|_| count < NAMES_MAX)?;
        self.count.set(count + 1);
        Some(number)
    }

    /// Number and name of a call; `tasks` is the number of tasks. Beyond the limits it is the
    /// collective call of its task.
    pub(crate) fn number(&self, task: u16, name: &str, tasks: usize) -> Arc<CallName> {
        let mut known = self.known.borrow_mut();
        let of_task = known.entry(task).or_default();
        if let Some(call_name) = of_task.get(name) {
            return Arc::clone(call_name);
        }
        // The first numbers are reserved for the collective calls of the tasks.
        let number = match of_task.len() < CALL_NAMES_MAX {
            true => self.next_number(tasks),
            false => None,
        };
        let (call, counted_as) = number.map_or((task, OTHER_CALLS), |number| (number, name));
        let call_name = Arc::new(CallName {
            call,
            task,
            name: counted_as.to_owned(),
        });
        if number.is_some() {
            of_task.insert(name.to_owned(), Arc::clone(&call_name));
        }
        call_name
    }

    /// The text under which an error of a task is counted, and whether it is new.
    pub(crate) fn raised(&self, task: u16, text: &str) -> (String, bool) {
        let mut errors = self.errors.borrow_mut();
        let known = errors.entry(task).or_default();
        if known.contains(text) {
            return (text.to_owned(), false);
        }
        if known.len() >= ERRORS_MAX {
            return (OTHER_ERRORS.to_owned(), false);
        }
        known.insert(text.to_owned());
        (text.to_owned(), true)
    }
}
