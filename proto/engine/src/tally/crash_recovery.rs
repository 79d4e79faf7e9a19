//! The deltas that a killed process left open, closed by a later process of its agent.
//!
//! Two things survive a kill: the [`Checkpoint`] of the process, which says how far deltas were
//! closed, and each event that its threads recorded since, numbered per thread. A [`Watermark`] of
//! the checkpoint is the boundary: events up to it are in a delta, later ones are in none. Recovery
//! must never count an event twice, must give the same deltas each time, and must name what is
//! missing rather than guess it.

use std::collections::BTreeSet;
use std::sync::Arc;

use loadpilot_events::id::BootId;
use loadpilot_events::log::delta::{DeltaReported, Gauges, LastCall, Totals};
use loadpilot_events::log::evt::{TailLost, TailReported};
use loadpilot_events::log::metrics::MetricValue;
use loadpilot_events::log::outcome::{DropReason, Outcome};
use loadpilot_events::log::samples::Sample;
use loadpilot_events::plan::script::{CallName, RaisedBy};
use serde::{Deserialize, Serialize};

use crate::bugs::{Bug, bug};
use crate::tally::{CallEnd, Ledger, Phases, RowKey, Tally};

/// The events of one thread that are closed into deltas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Watermark {
    /// Number of times that the thread was harvested.
    pub turn: u32,
    /// The number of its last event.
    pub number: u64,
    /// Number of its events up to then that were not recorded since the ring was full.
    pub unrecorded: u64,
}

impl Watermark {
    /// Whether the event of this number is in a delta.
    #[must_use]
    pub fn covers(&self, number: u64) -> bool {
        number <= self.number
    }

    /// Whether an event that belongs to this harvest is in a delta.
    #[must_use]
    pub fn covers_turn(&self, turn: u32) -> bool {
        turn <= self.turn
    }

    /// The later watermark.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        if self.turn < other.turn { other } else { self }
    }
}

/// How far a process had closed deltas.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Sequence number of the last delta; 0 before the first.
    pub last_seq: u64,
    /// End of its window, in µs after the start.
    pub to_us: u64,
    /// Totals of all deltas.
    pub totals: Totals,
    /// The watermark of each thread.
    pub marks: Vec<Watermark>,
}

/// An event that a thread recorded in its tally.
#[derive(Debug, Clone)]
pub enum TallyEvent {
    /// An arrival started.
    Started(RowKey),
    /// An arrival will never start.
    Dropped(RowKey, DropReason),
    /// A started arrival ended with a call that was not ok.
    TaskError(RowKey),
    /// The task of an arrival raised an error.
    TaskRaised(RowKey, LastCall),
    /// A check looked at an answer.
    Check(RowKey, bool),
    /// A session began with an arrival, and whether it followed another in its place.
    Session(RowKey, bool),
    /// An arrival added to a metric of the scenario.
    Metric(RowKey, Arc<str>, MetricValue),
    /// A task or a check raised an error.
    Raised(u16, RaisedBy, String),
    /// The name of a call that is not in the plan.
    Name(CallName),
    /// A call ended.
    Call(CallEnd),
    /// A call as a sample.
    Sample(Sample),
}

/// A call in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InFlight {
    /// The row that counts its arrival.
    pub key: RowKey,
    /// Identity of its arrival among those of this thread.
    pub arrival: (u64, u64),
    /// The call, as in [`CallEnd`].
    pub call: u16,
    /// From due to dispatch, in µs: the only known part of its latency.
    pub waited_us: u64,
    /// As in [`Phases`].
    pub schedule_lag_us: Option<u64>,
}

/// Contents of one thread's ring after a kill.
#[derive(Debug, Clone, Default)]
pub struct Thread {
    /// Its events that are in no delta, in any order.
    pub events: Vec<TallyEvent>,
    /// Its calls in flight.
    pub in_flight: Vec<InFlight>,
    /// Number of events that were not recorded since the ring was full, in all.
    pub unrecorded: u64,
    /// The time of its last entry, in µs after the start.
    pub last_us: u64,
}

/// The deltas and the fact that are published for a killed process.
#[derive(Debug, Clone, PartialEq)]
pub struct Tail {
    /// Its last deltas, numbered after those that it sent.
    pub deltas: Vec<DeltaReported>,
    /// The fact to publish when these are stored.
    pub reported: TailReported,
}

/// Closes the remains of the process `boot_id`: its checkpoint and its threads, each with its
/// contents or the reason why it is unreadable.
#[must_use]
pub fn close(boot_id: BootId, checkpoint: &Checkpoint, threads: &[Result<Thread, String>]) -> Tail {
    let read = || threads.iter().flatten();
    let last_us = read().map(|thread| thread.last_us).max().unwrap_or(0);
    let to_us = last_us.max(checkpoint.to_us);
    let lost = missing(checkpoint, threads).map(|reason| TailLost {
        from_us: checkpoint.to_us,
        to_us,
        reason,
    });
    // A window with missing events is not claimed: it stays a visible hole.
    let window_us = if lost.is_some() {
        checkpoint.to_us
    } else {
        to_us
    };
    let used = u64::from(bug(Bug::TailReusesNumbers));
    let last_seq = checkpoint.last_seq.saturating_sub(used);
    let mut ledger = Ledger::resume(boot_id, last_seq, checkpoint.totals.clone());
    let (mut deltas, mut indeterminate) = (Vec::new(), 0);
    for thread in read() {
        // Each thread has deltas of its own: the number of a call outside the plan is valid on its
        // thread only.
        let mut tally = Tally::new();
        let events = thread.events.iter().filter(|_| !bug(Bug::TailForgotten));
        events.for_each(|events| tell(&mut tally, events));
        break_off(&mut tally, &thread.in_flight);
        indeterminate += thread.in_flight.len() as u64;
        let (rows, gauges) = (tally.take(), Gauges::default());
        deltas.extend(ledger.close(rows, checkpoint.to_us, window_us, gauges));
    }
    let reported = TailReported {
        final_seq: ledger.last_seq(),
        totals: ledger.totals().clone(),
        indeterminate,
        lost,
    };
    Tail { deltas, reported }
}

fn tell(tally: &mut Tally, events: &TallyEvent) {
    match events {
        TallyEvent::Started(key) => tally.started(*key),
        TallyEvent::Dropped(key, reason) => tally.dropped(*key, *reason),
        TallyEvent::TaskError(key) => tally.task_error(*key),
        TallyEvent::TaskRaised(key, last) => tally.task_raised(*key, *last),
        TallyEvent::Check(key, passed) => tally.check(*key, *passed),
        TallyEvent::Session(key, follows) => tally.session(*key, *follows),
        TallyEvent::Metric(key, name, value) => tally.metric(*key, name, *value),
        TallyEvent::Raised(task, by, text) => tally.raised(*task, *by, text),
        TallyEvent::Name(name) => tally.name(name),
        TallyEvent::Call(end) => tally.call(end),
        TallyEvent::Sample(sample) => tally.sample(*sample),
    }
}

/// The end of a call in flight is unknown, and its arrival counts as failed.
fn break_off(tally: &mut Tally, in_flight: &[InFlight]) {
    let mut arrivals = BTreeSet::new();
    for call in in_flight {
        tally.call(&CallEnd {
            tick: call.key.tick,
            generation: call.key.generation,
            call: call.call,
            outcome: Outcome::Indeterminate,
            response_us: call.waited_us,
            service_us: 0,
            status: None,
            cause: None,
            sent_bytes: 0,
            received_bytes: 0,
            phases: Phases {
                schedule_lag_us: call.schedule_lag_us,
                queue_us: call
                    .schedule_lag_us
                    .map(|lag_us| call.waited_us.saturating_sub(lag_us)),
                ..Phases::default()
            },
        });
        if arrivals.insert((call.key.generation, call.arrival)) {
            tally.task_error(call.key);
        }
    }
}

/// Why events may be missing, in words.
fn missing(checkpoint: &Checkpoint, threads: &[Result<Thread, String>]) -> Option<String> {
    if let Some(reason) = threads.iter().find_map(|thread| thread.as_ref().err()) {
        return Some(reason.clone());
    }
    let marks = checkpoint.marks.iter().map(|mark| mark.unrecorded);
    let marks = marks.chain(std::iter::repeat(0));
    let unrecorded = threads.iter().flatten().zip(marks);
    let unrecorded = unrecorded.map(|(thread, closed)| thread.unrecorded.saturating_sub(closed));
    match unrecorded.sum() {
        0_u64 => None,
        count => Some(format!("{count} records found no room in its rings")),
    }
}
