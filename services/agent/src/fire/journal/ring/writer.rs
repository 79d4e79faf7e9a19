//! Records in the ring of a core, if it has one, everything that the core's tally counts.
//!
//! Must never allocate, except for a new text.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use loadpilot_engine::tally::crash_recovery::Watermark;
use loadpilot_engine::tally::{CallEnd, Phases, RowKey};
use loadpilot_events::log::delta::LastCall;
use loadpilot_events::log::metrics::MetricValue;
use loadpilot_events::log::outcome::DropReason;
use loadpilot_events::plan::script::{CallName, RaisedBy};

use super::event::{RingEvent, RingEventKind};
use super::{EpochEnd, Ring};
use crate::fire::arrival_id::Arrival;
use crate::fire::clock::MonoTime;
use crate::fire::journal::record::CallRecord;

/// Records each call of a core in its ring, if it has one.
#[derive(Debug)]
pub(crate) struct Recorder {
    ring: Option<RefCell<Ring>>,
    start: Cell<Option<MonoTime>>,
    seats: Cell<u32>,
    /// Seats that are free again.
    free_seats: RefCell<Vec<u32>>,
    /// Whether the start of an arrival is recorded as an event; otherwise its first call implies
    /// it.
    records_starts: bool,
}

impl Recorder {
    pub(crate) fn new(ring: Option<Ring>, records_starts: bool) -> Self {
        Self {
            ring: ring.map(RefCell::new),
            start: Cell::new(None),
            seats: Cell::new(0),
            free_seats: RefCell::default(),
            records_starts,
        }
    }

    /// Sets the instant from which times are counted.
    pub(crate) fn start_at(&self, start: MonoTime) {
        self.start.set(Some(start));
    }

    /// µs from the start to `at`; 0 before the start is known.
    pub(crate) fn since_start_us(&self, at: MonoTime) -> u64 {
        self.start.get().map_or(0, |start| at.since_us(start))
    }

    /// A seat for a task of the runtime that performs one call after another.
    pub(crate) fn take_seat(&self) -> u32 {
        let free = self.free_seats.borrow_mut().pop();
        free.unwrap_or_else(|| self.seats.replace(self.seats.get().saturating_add(1)))
    }

    /// Frees a seat whose last call has ended.
    pub(crate) fn release_seat(&self, seat: u32) {
        self.free_seats.borrow_mut().push(seat);
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
            arrival: arrival.id,
            epoch: if self.records_starts { 0 } else { ring.epoch },
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

    /// The call has ended; it is counted later.
    pub(crate) fn hold(&self, seat: u32, begun: Option<CallRecord>, end: &CallEnd) {
        if let (Some(ring), Some(begun)) = (&self.ring, begun) {
            ring.borrow_mut().hold(seat, &begun.with_end(end));
        }
    }

    /// An arrival of a user has started.
    pub(crate) fn started(&self, key: RowKey) {
        self.record_event(key, RingEventKind::Started);
    }

    /// An arrival will never start.
    pub(crate) fn dropped(&self, key: RowKey, reason: DropReason) {
        self.record_event(key, RingEventKind::Dropped(reason));
    }

    /// A started arrival ended, and not every call succeeded.
    pub(crate) fn task_error(&self, key: RowKey) {
        self.record_event(key, RingEventKind::TaskError);
    }

    /// The task of an arrival raised an error.
    pub(crate) fn task_raised(&self, key: RowKey, last: LastCall) {
        self.record_event(key, RingEventKind::TaskRaised(last));
    }

    /// A check examined an answer of an arrival.
    pub(crate) fn check(&self, key: RowKey, passed: bool) {
        self.record_event(key, RingEventKind::Check { passed });
    }

    /// A session began with an arrival; `follows` if it took the place of another one.
    pub(crate) fn session(&self, key: RowKey, follows: bool) {
        self.record_event(key, RingEventKind::Session { follows });
    }

    /// An arrival added a sample to an own metric.
    pub(crate) fn metric(&self, key: RowKey, name: &Arc<str>, value: MetricValue) {
        if let Some(ring) = &self.ring {
            let ring = &mut *ring.borrow_mut();
            match ring.texts.metric(&ring.map, name) {
                Some(text) => ring.append_event(&RingEvent {
                    key,
                    kind: RingEventKind::Metric { text, value },
                }),
                None => ring.count_unrecorded(),
            }
        }
    }

    /// An arrival raised an error.
    pub(crate) fn raised(&self, key: RowKey, by: RaisedBy, words: &str) {
        if let Some(ring) = &self.ring {
            let ring = &mut *ring.borrow_mut();
            match ring.texts.raised(&ring.map, (key.task, by), words) {
                Some(text) => ring.append_event(&RingEvent {
                    key,
                    kind: RingEventKind::Raised { text },
                }),
                None => ring.count_unrecorded(),
            }
        }
    }

    /// Stores the name of a call that is not in the plan.
    pub(crate) fn name(&self, name: &CallName) {
        if let Some(ring) = &self.ring {
            let ring = &mut *ring.borrow_mut();
            ring.texts.call(&ring.map, name);
        }
    }

    fn record_event(&self, key: RowKey, kind: RingEventKind) {
        if let Some(ring) = &self.ring {
            ring.borrow_mut().append_event(&RingEvent { key, kind });
        }
    }

    /// The call has ended and is counted.
    pub(crate) fn end(&self, seat: u32, begun: Option<CallRecord>, end: &CallEnd) {
        if let (Some(ring), Some(begun)) = (&self.ring, begun) {
            ring.borrow_mut().end(seat, &begun.with_end(end));
        }
    }

    /// Ends the epoch: calls that ended by now are harvested.
    pub(crate) fn end_epoch(&self) -> EpochEnd {
        let ring = self.ring.as_ref();
        ring.map(|ring| ring.borrow_mut().end_epoch())
            .unwrap_or_default()
    }

    /// The records up to `mark` are in a delta: the ring may reuse their space.
    pub(crate) fn close(&self, mark: Watermark) {
        if let Some(ring) = &self.ring {
            ring.borrow_mut().close(mark);
        }
    }
}
