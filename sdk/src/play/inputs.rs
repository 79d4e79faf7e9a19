//! What a part of a scenario is given: values to draw, the time at which it is due, rows of feeds.
//!
//! Whoever's turn it is draws ([`super::current_user`]). All of it follows from the
//! seed and from whose the part is. Must never cost anything but to remember whose that is, until
//! somebody asks.

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

/// What the users of a scenario have in common.
pub(super) struct Sources {
    seed: u64,
    feeders: RefCell<Vec<Feeder>>,
}

impl Sources {
    pub(super) fn new(source: &Source<'_>) -> Self {
        let feeds = source.feeds.iter().enumerate();
        let feeder = |(place, feed)| Feeder::new(Arc::clone(source.workload), place, feed);
        Self {
            seed: source.workload.seed(),
            feeders: RefCell::new(feeds.map(feeder).collect()),
        }
    }
}

/// What one user is given.
pub(super) struct Given {
    sources: Rc<Sources>,
    occasion: Cell<Occasion>,
    /// Once something was drawn.
    draws: Cell<Option<Draws>>,
}

impl Given {
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

    /// A part begins.
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

fn of_current<T>(read: impl FnOnce(&Given) -> T) -> PyResult<T> {
    let nobody = || {
        PyRuntimeError::new_err(
            "only on_start, tasks, checks and on_stop can draw, take rows and ask when they are \
             due: nothing else belongs to an arrival or a user",
        )
    };
    current(|turn| turn.map(|turn| read(&turn.given)).ok_or_else(nobody))
}

/// The next value that the current part draws, uniform over 64 bits.
#[pyfunction]
pub(crate) fn drawn() -> PyResult<u64> {
    of_current(Given::next_value)
}

/// When the current part is due, in µs since 1970.
#[pyfunction]
pub(crate) fn due_us() -> PyResult<u64> {
    of_current(|given| given.occasion.get().due.0)
}

/// The row of the current part, from 0, of the feed at a place of the plan.
#[pyfunction]
pub(crate) fn row(feed: usize) -> PyResult<u64> {
    let row = of_current(|given| {
        let mut feeders = given.sources.feeders.borrow_mut();
        let feeder = feeders.get_mut(feed)?;
        feeder.row(given.occasion.get().whose)
    })?;
    row.ok_or_else(|| PyLookupError::new_err("this task takes no rows of it"))
}
