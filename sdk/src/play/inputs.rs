//! Inputs of a part: random draws, its due time, rows of feeds.
//!
//! The current user draws ([`super::current_user`]). All inputs follow from the seed and the part's
//! [`Occasion`]; nothing but the occasion is stored before the first draw.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use loadpilot_agent::users::script::{Occasion, Source};
use loadpilot_engine::schedule::feed::Feeder;
use loadpilot_engine::schedule::random::{DrawScope, Draws};
use loadpilot_events::Timestamp;
use pyo3::exceptions::{PyLookupError, PyRuntimeError};
use pyo3::prelude::*;

use super::current_user::current;

/// Seed and feeds of a scenario, which its users share.
pub(super) struct Sources {
    seed: u64,
    feeders: RefCell<Vec<Feeder>>,
}

impl Sources {
    pub(super) fn new(source: &Source<'_>) -> Self {
        let feeds = source.feeds.iter().enumerate();
        let feeder = |(index, feed)| Feeder::new(Arc::clone(source.workload), index, feed);
        Self {
            seed: source.workload.seed(),
            feeders: RefCell::new(feeds.map(feeder).collect()),
        }
    }
}

/// Inputs of one user in its current part.
pub(super) struct Inputs {
    sources: Rc<Sources>,
    occasion: Cell<Occasion>,
    /// `None` until the first draw.
    draws: Cell<Option<Draws>>,
}

impl Inputs {
    pub(super) fn new(sources: Rc<Sources>) -> Self {
        let occasion = Occasion {
            whose: DrawScope::Start(0),
            due: Timestamp(0),
        };
        Self {
            sources,
            occasion: Cell::new(occasion),
            draws: Cell::new(None),
        }
    }

    /// Begins a part.
    pub(super) fn begin(&self, occasion: Occasion) {
        self.occasion.set(occasion);
        self.draws.set(None);
    }

    fn next_value(&self) -> u64 {
        let first = || Draws::new(self.sources.seed, self.occasion.get().whose);
        let mut draws = self.draws.get().unwrap_or_else(first);
        let value = draws.next_value();
        self.draws.set(Some(draws));
        value
    }
}

fn of_current<T>(read: impl FnOnce(&Inputs) -> T) -> PyResult<T> {
    let no_user = || {
        PyRuntimeError::new_err(
            "only on_start, tasks, checks and on_stop can draw, take rows and ask when they are \
             due: nothing else belongs to an arrival or a user",
        )
    };
    current(|user| user.map(|user| read(&user.inputs)).ok_or_else(no_user))
}

/// The next value that the current part draws, uniform over 64 bits.
#[pyfunction]
pub(crate) fn drawn() -> PyResult<u64> {
    of_current(Inputs::next_value)
}

/// When the current part is due, in µs since 1970.
#[pyfunction]
pub(crate) fn due_us() -> PyResult<u64> {
    of_current(|inputs| inputs.occasion.get().due.0)
}

/// Row of the current part, from 0, in the feed at this index of the plan.
#[pyfunction]
pub(crate) fn row(feed: usize) -> PyResult<u64> {
    let row = of_current(|inputs| {
        let mut feeders = inputs.sources.feeders.borrow_mut();
        let feeder = feeders.get_mut(feed)?;
        feeder.row(inputs.occasion.get().whose)
    })?;
    row.ok_or_else(|| PyLookupError::new_err("this task takes no rows of it"))
}
