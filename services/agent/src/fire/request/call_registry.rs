//! What tasks in Python make up, kept within bounds: the names of their calls with the numbers that
//! stand for them here, the errors that they raise; and requests as they are sent, kept in
//! themselves.
//!
//! A number holds on one core, and means nothing else on any other of its process, since they share
//! deltas, which say what it means. Must never grow without end: a task may put anything into a
//! path or a message.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use loadpilot_events::limits::{CALL_NAMES_MAX, OTHER_CALLS, OTHER_ERRORS};
use loadpilot_events::plan::script::CallName;

use super::program::Call;

/// Most names of calls on one core, whatever their tasks.
const NAMES_MAX: usize = 2_000;
/// Most errors of one task that are told apart in a run.
const ERRORS_MAX: usize = 100;

/// What the tasks of one core made up.
#[derive(Debug)]
pub(crate) struct CallRegistry {
    /// The place of this core among those of its run, and how many these are.
    place: (u32, u32),
    known: RefCell<BTreeMap<u16, BTreeMap<String, Arc<CallName>>>>,
    count: Cell<usize>,
    errors: RefCell<BTreeMap<u16, BTreeSet<String>>>,
}

/// A request as it is sent.
#[derive(Debug, Clone)]
pub(crate) struct CompiledCall {
    /// What it is called, if it is counted.
    pub name: Option<Arc<CallName>>,
    pub call: Arc<Call>,
}

/// What was made of a request, by the task that asked for it. Says nothing about the request: two
/// that ask for the same are equal.
#[derive(Debug, Default)]
pub struct CompiledCalls(Mutex<Vec<(u16, CompiledCall)>>);

impl CompiledCalls {
    /// As it is sent for a task, if it was before.
    pub(crate) fn of(&self, task: u16) -> Option<CompiledCall> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.iter().find(|(known, _)| *known == task);
        found.map(|(_, made)| made.clone())
    }

    /// Keeps how it is sent for a task.
    pub(crate) fn keep(&self, task: u16, made: &CompiledCall) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push((task, made.clone()));
    }
}

impl PartialEq for CompiledCalls {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for CompiledCalls {}

impl CallRegistry {
    /// Of a core at this place among so many.
    pub(crate) fn new(place: (u32, u32)) -> Self {
        Self {
            place,
            known: RefCell::default(),
            count: Cell::new(0),
            errors: RefCell::default(),
        }
    }

    /// The number of the next name; none when there are no more.
    fn next_number(&self, tasks: usize) -> Option<u16> {
        let (place, cores) = self.place;
        let count = self.count.get();
        let number = count
            .checked_mul(cores as usize)?
            .checked_add(tasks + place as usize)?;
        let number = u16::try_from(number).ok().filter(|_| count < NAMES_MAX)?;
        self.count.set(count + 1);
        Some(number)
    }

    /// The number of a call, and what to tell the counters about it; `tasks` is how many there are.
    pub(crate) fn number(&self, task: u16, name: &str, tasks: usize) -> Arc<CallName> {
        let mut known = self.known.borrow_mut();
        let of_task = known.entry(task).or_default();
        if let Some(named) = of_task.get(name) {
            return Arc::clone(named);
        }
        // The first numbers are set aside for the calls that are not told apart.
        let number = match of_task.len() < CALL_NAMES_MAX {
            true => self.next_number(tasks),
            false => None,
        };
        let (call, told) = number.map_or((task, OTHER_CALLS), |number| (number, name));
        let named = Arc::new(CallName {
            call,
            task,
            name: told.to_owned(),
        });
        if number.is_some() {
            of_task.insert(name.to_owned(), Arc::clone(&named));
        }
        named
    }

    /// What an error of a task is told as, and whether for the first time.
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
