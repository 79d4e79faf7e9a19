//! The pen of a core: whatever its tally is told goes into its ring as well, if it has one.
//!
//! Must never allocate but for a text that is new.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use loadpilot_engine::tally::crash_recovery::Watermark;
use loadpilot_engine::tally::{CallEnd, Phases, RowKey};
use loadpilot_events::log::delta::LastCall;
use loadpilot_events::log::metrics::MetricValue;
use loadpilot_events::log::outcome::DropReason;
use loadpilot_events::plan::script::{CallName, RaisedBy};

use super::{Note, Noted, Ring};
use crate::fire::arrival::arrival_runner::Arrival;
use crate::fire::clock::MonoTime;
use crate::fire::journal::record::CallRecord;

/// What a turn of the ring says.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Turned {
    /// Up to where calls are harvested; `None` without a ring.
    pub mark: Option<Watermark>,
    /// Calls that found no room since the turn before.
    pub unrecorded: u64,
}

/// Notes each call of a core in its ring, if it has one.
#[derive(Debug)]
pub(crate) struct Recorder {
    ring: Option<RefCell<Ring>>,
    start: Cell<Option<MonoTime>>,
    seats: Cell<u32>,
    /// Those among them that somebody has left.
    left: RefCell<Vec<u32>>,
    /// Whether starts of arrivals are noted by themselves; else the first call of each tells.
    notes_starts: bool,
}

impl Recorder {
    pub(crate) fn new(ring: Option<Ring>, notes_starts: bool) -> Self {
        Self {
            ring: ring.map(RefCell::new),
            start: Cell::new(None),
            seats: Cell::new(0),
            left: RefCell::default(),
            notes_starts,
        }
    }

    /// Times are counted from here.
    pub(crate) fn start_at(&self, start: MonoTime) {
        self.start.set(Some(start));
    }

    /// µs from the start to `at`; 0 before anybody said when that is.
    pub(crate) fn since_start_us(&self, at: MonoTime) -> u64 {
        self.start.get().map_or(0, |start| at.since_us(start))
    }

    /// A place for whoever performs one call after another.
    pub(crate) fn seat(&self) -> u32 {
        let left = self.left.borrow_mut().pop();
        left.unwrap_or_else(|| self.seats.replace(self.seats.get().saturating_add(1)))
    }

    /// Such a place is free for somebody else: its last call has ended.
    pub(crate) fn leave(&self, seat: u32) {
        self.left.borrow_mut().push(seat);
    }

    /// A call is about to be sent.
    pub(crate) fn begin(
        &self,
        seat: u32,
        arrival: &Arrival,
        call: u16,
        (due, dispatched): (MonoTime, MonoTime),
        phases: &Phases,
    ) -> Option<CallRecord> {
        let mut ring = self.ring.as_ref()?.borrow_mut();
        let start = self.start.get()?;
        let record = CallRecord {
            arrival: arrival.name,
            turn: if self.notes_starts { 0 } else { ring.turn },
            tick: arrival.key.tick,
            generation: arrival.key.generation,
            call,
            due_us: due.since_us(start),
            dispatched_us: dispatched.since_us(start),
            schedule_lag_us: phases.schedule_lag_us,
            ended: None,
        };
        ring.begin(seat, &record);
        Some(record)
    }

    /// That call has ended; it is counted later.
    pub(crate) fn hold(&self, seat: u32, begun: Option<CallRecord>, end: &CallEnd) {
        if let (Some(ring), Some(begun)) = (&self.ring, begun) {
            ring.borrow_mut().hold(seat, &begun.with_end(end));
        }
    }

    /// An arrival of a user has started.
    pub(crate) fn started(&self, key: RowKey) {
        self.note(key, Noted::Started);
    }

    /// An arrival will never start.
    pub(crate) fn dropped(&self, key: RowKey, reason: DropReason) {
        self.note(key, Noted::Dropped(reason));
    }

    /// A started arrival ended, and not all of it went well.
    pub(crate) fn task_error(&self, key: RowKey) {
        self.note(key, Noted::TaskError);
    }

    /// The task of an arrival raised an error.
    pub(crate) fn task_raised(&self, key: RowKey, last: LastCall) {
        self.note(key, Noted::TaskRaised(last));
    }

    /// A check looked at an answer of an arrival.
    pub(crate) fn check(&self, key: RowKey, passed: bool) {
        self.note(key, Noted::Check { passed });
    }

    /// An arrival added to a metric of the scenario's own.
    pub(crate) fn metric(&self, key: RowKey, name: &Arc<str>, value: MetricValue) {
        if let Some(ring) = &self.ring {
            let ring = &mut *ring.borrow_mut();
            match ring.texts.metric(&ring.map, name) {
                Some(text) => ring.note(&Note {
                    key,
                    what: Noted::Metric { text, value },
                }),
                None => ring.note_unrecorded(),
            }
        }
    }

    /// An arrival raised something.
    pub(crate) fn raised(&self, key: RowKey, by: RaisedBy, words: &str) {
        if let Some(ring) = &self.ring {
            let ring = &mut *ring.borrow_mut();
            match ring.texts.raised(&ring.map, (key.task, by), words) {
                Some(text) => ring.note(&Note {
                    key,
                    what: Noted::Raised { text },
                }),
                None => ring.note_unrecorded(),
            }
        }
    }

    /// What a call is called that is not in the plan.
    pub(crate) fn name(&self, name: &CallName) {
        if let Some(ring) = &self.ring {
            let ring = &mut *ring.borrow_mut();
            ring.texts.call(&ring.map, name);
        }
    }

    fn note(&self, key: RowKey, what: Noted) {
        if let Some(ring) = &self.ring {
            ring.borrow_mut().note(&Note { key, what });
        }
    }

    /// That call has ended.
    pub(crate) fn end(&self, seat: u32, begun: Option<CallRecord>, end: &CallEnd) {
        if let (Some(ring), Some(begun)) = (&self.ring, begun) {
            ring.borrow_mut().end(seat, &begun.with_end(end));
        }
    }

    /// What ended by now is harvested.
    pub(crate) fn turn(&self) -> Turned {
        let ring = self.ring.as_ref();
        ring.map(|ring| ring.borrow_mut().turn())
            .unwrap_or_default()
    }

    /// What was harvested up to `mark` is in a delta.
    pub(crate) fn close(&self, mark: Watermark) {
        if let Some(ring) = &self.ring {
            ring.borrow_mut().close(mark);
        }
    }
}
