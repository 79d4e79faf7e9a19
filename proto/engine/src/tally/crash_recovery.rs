//! What a killed process left, closed into deltas of its own by whoever comes after it.
//!
//! The process kept two things where a kill cannot reach them: its [`Checkpoint`], how far deltas were
//! closed, and every single thing that it told its tally since, numbered on each thread. A [`Watermark`]
//! of the books is the boundary: up to it everything is in a delta, beyond it nothing is. Must
//! never count anything twice, must give the same deltas each time it is asked, and must name what
//! is missing rather than guess it.

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

/// Up to where what a thread told is closed into deltas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Watermark {
    /// How often the thread was harvested.
    pub turn: u32,
    /// The number of the last thing that it told.
    pub number: u64,
    /// How many things it told by then that found no room beside the others.
    pub unrecorded: u64,
}

impl Watermark {
    /// Whether the thing of this number is in a delta.
    #[must_use]
    pub fn covers(&self, number: u64) -> bool {
        number <= self.number
    }

    /// Whether what began in this turn, and had to be told then, is in a delta.
    #[must_use]
    pub fn covers_turn(&self, turn: u32) -> bool {
        turn <= self.turn
    }

    /// The later one.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        if self.turn < other.turn { other } else { self }
    }
}

/// How far a process had closed deltas.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The last delta; 0 before the first.
    pub last_seq: u64,
    /// Where its window ends, in µs after the start.
    pub to_us: u64,
    /// Everything in deltas.
    pub totals: Totals,
    /// Of each thread.
    pub marks: Vec<Watermark>,
}

/// One thing that a thread told its tally.
#[derive(Debug, Clone)]
pub enum TallyEvent {
    /// An arrival started.
    Started(RowKey),
    /// An arrival will never start.
    Dropped(RowKey, DropReason),
    /// A started arrival ended, and not all of it went well.
    TaskError(RowKey),
    /// The task of an arrival raised an error.
    TaskRaised(RowKey, LastCall),
    /// A check looked at an answer.
    Check(RowKey, bool),
    /// An arrival added to a metric of the scenario's own.
    Metric(RowKey, Arc<str>, MetricValue),
    /// Something was raised in a task.
    Raised(u16, RaisedBy, String),
    /// What a call is called.
    Name(CallName),
    /// A call ended.
    Call(CallEnd),
    /// A call is told by itself, too.
    Sample(Sample),
}

/// A call in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InFlight {
    /// Where its arrival is counted.
    pub key: RowKey,
    /// What tells its arrival from others of this thread.
    pub arrival: (u64, u64),
    /// The call, as in [`CallEnd`].
    pub call: u16,
    /// From due to dispatch, in µs: all that is known of its latency.
    pub waited_us: u64,
    /// As in [`Phases`].
    pub schedule_lag_us: Option<u64>,
}

/// What one thread left.
#[derive(Debug, Clone, Default)]
pub struct Thread {
    /// Everything that it told and that is in no delta, in any order.
    pub told: Vec<TallyEvent>,
    /// Its calls in flight.
    pub in_flight: Vec<InFlight>,
    /// How many things it told found no room, in all.
    pub unrecorded: u64,
    /// Its last sign of life, in µs after the start.
    pub last_us: u64,
}

/// What is to be published of a killed process.
#[derive(Debug, Clone, PartialEq)]
pub struct Tail {
    /// Its last deltas, numbered on.
    pub deltas: Vec<DeltaReported>,
    /// Its last words, to be stated when those are stored.
    pub reported: TailReported,
}

/// Closes what the process `boot_id` left: its books, and its threads or why one cannot be read.
#[must_use]
pub fn close(boot_id: BootId, books: &Checkpoint, threads: &[Result<Thread, String>]) -> Tail {
    let read = || threads.iter().flatten();
    let last_us = read().map(|thread| thread.last_us).max().unwrap_or(0);
    let to_us = last_us.max(books.to_us);
    let lost = missing(books, threads).map(|reason| TailLost {
        from_us: books.to_us,
        to_us,
        reason,
    });
    // A window of which something is missing is not claimed: it stays a hole for everybody to see.
    let window_us = if lost.is_some() { books.to_us } else { to_us };
    let used = u64::from(bug(Bug::TailReusesNumbers));
    let last_seq = books.last_seq.saturating_sub(used);
    let mut ledger = Ledger::resume(boot_id, last_seq, books.totals.clone());
    let (mut deltas, mut indeterminate) = (Vec::new(), 0);
    for thread in read() {
        // Each in deltas of its own: the number of a call that the plan does not have holds on its
        // thread.
        let mut tally = Tally::new();
        let told = thread.told.iter().filter(|_| !bug(Bug::TailForgotten));
        told.for_each(|told| tell(&mut tally, told));
        break_off(&mut tally, &thread.in_flight);
        indeterminate += thread.in_flight.len() as u64;
        let (rows, gauges) = (tally.take(), Gauges::default());
        deltas.extend(ledger.close(rows, books.to_us, window_us, gauges));
    }
    let reported = TailReported {
        final_seq: ledger.last_seq(),
        totals: ledger.totals().clone(),
        indeterminate,
        lost,
    };
    Tail { deltas, reported }
}

fn tell(tally: &mut Tally, told: &TallyEvent) {
    match told {
        TallyEvent::Started(key) => tally.started(*key),
        TallyEvent::Dropped(key, reason) => tally.dropped(*key, *reason),
        TallyEvent::TaskError(key) => tally.task_error(*key),
        TallyEvent::TaskRaised(key, last) => tally.task_raised(*key, *last),
        TallyEvent::Check(key, passed) => tally.check(*key, *passed),
        TallyEvent::Metric(key, name, value) => tally.metric(*key, name, *value),
        TallyEvent::Raised(task, by, text) => tally.raised(*task, *by, text),
        TallyEvent::Name(name) => tally.name(name),
        TallyEvent::Call(end) => tally.call(end),
        TallyEvent::Sample(sample) => tally.sample(*sample),
    }
}

/// Nobody knows how calls in flight ended, nor will their arrivals end well.
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

/// Why something may be missing, for people.
fn missing(books: &Checkpoint, threads: &[Result<Thread, String>]) -> Option<String> {
    if let Some(reason) = threads.iter().find_map(|thread| thread.as_ref().err()) {
        return Some(reason.clone());
    }
    let marks = books.marks.iter().map(|mark| mark.unrecorded);
    let marks = marks.chain(std::iter::repeat(0));
    let unrecorded = threads.iter().flatten().zip(marks);
    let unrecorded = unrecorded.map(|(thread, closed)| thread.unrecorded.saturating_sub(closed));
    match unrecorded.sum() {
        0_u64 => None,
        count => Some(format!("{count} records found no room in its rings")),
    }
}
