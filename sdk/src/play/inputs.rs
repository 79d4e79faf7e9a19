//! Inputs of a part: random draws, its due time, rows of feeds.
//!
//! All inputs follow from the seed and the part's [`Occasion`]; nothing but the occasion is stored
//! before the first draw.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use loadpilot_agent::users::script::{Occasion, Source};
use loadpilot_engine::schedule::feed::{Feeder, NoRow};
use loadpilot_engine::schedule::random::{DrawScope, Draws};
use loadpilot_events::Timestamp;

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
            whose: DrawScope::Start {
                user: 0,
                session: 0,
            },
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

    /// The next random value, uniform over 64 bits.
    pub(super) fn next_value(&self) -> u64 {
        let first = || Draws::new(self.sources.seed, self.occasion.get().whose);
        let mut draws = self.draws.get().unwrap_or_else(first);
        let value = draws.next_value();
        self.draws.set(Some(draws));
        value
    }

    /// When the part is due.
    pub(super) fn due(&self) -> Timestamp {
        self.occasion.get().due
    }

    /// Row of the part, from 0, in the feed at this index of the plan.
    pub(super) fn row(&self, feed: usize) -> Result<u64, NoRow> {
        let mut feeders = self.sources.feeders.borrow_mut();
        let feeder = feeders.get_mut(feed).ok_or(NoRow::NotTaken)?;
        feeder.row(self.occasion.get().whose)
    }
}
