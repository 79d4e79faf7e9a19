//! Deltas: what finished since the last delta. Subject `….delta.<agent>`.
//!
//! A delta is rows that add up, never a snapshot; folding the same one twice must be prevented by
//! its identity `(run, agent, boot_id, seq)`, which is the fold's work.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::defaults::is_default;
use crate::id::BootId;
use crate::log::assign::Generation;
use crate::log::cause::Cause;
use crate::log::exchange::ExchangeSeen;
use crate::log::hist::EncodedHistogram;
use crate::log::metrics::MetricRow;
use crate::log::outcome::{DropReason, Outcome};
use crate::log::samples::EncodedSamples;
use crate::plan::script::{CallName, RaisedRow};

/// What finished since the last delta of this process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeltaReported {
    /// Which process of the agent.
    pub boot_id: BootId,
    /// 1, 2, 3 … within the process and run.
    pub seq: u64,
    /// What it covers begins here, in µs after the start (completion time, not due time).
    pub from_us: u64,
    /// What it covers ends here, in µs after the start.
    pub to_us: u64,
    /// Arrivals by due tick, generation and task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arrivals: Vec<ArrivalRow>,
    /// Calls by due tick, generation, call and outcome.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallRow>,
    /// Where the time of calls went.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub anatomy: Vec<AnatomyRow>,
    /// What the calls of a scenario in Python are called: every number of a call in this delta that
    /// the plan does not have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<CallName>,
    /// What checks and tasks in Python raised.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub raised: Vec<RaisedRow>,
    /// What the scenario added to metrics of its own, by due tick, generation, task and metric.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<MetricRow>,
    /// Exchanges written out, where the plan asks for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exchanges: Vec<ExchangeSeen>,
    /// Calls of `calls` one by one, as far as the plan asks for them.
    #[serde(default, skip_serializing_if = "EncodedSamples::is_empty")]
    pub samples: EncodedSamples,
    /// Calls that the plan asks for one by one and that found no room.
    #[serde(default, skip_serializing_if = "is_default")]
    pub samples_dropped: u64,
    /// Everything this process counted in this run up to and including this delta.
    pub totals: Totals,
    /// How the generator itself fares.
    pub gauges: Gauges,
}

/// Arrivals of one task that were due in one tick.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArrivalRow {
    /// The due tick; in a closed loop the tick in which the user was ready for it.
    pub tick: u32,
    /// The generation under which the agent held the shard at the due tick.
    pub generation: Generation,
    /// The task, by its place in the plan.
    pub task: u16,
    /// Started: its first call was dispatched.
    #[serde(default, skip_serializing_if = "is_default")]
    pub started: u64,
    /// Never started, by reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dropped: BTreeMap<DropReason, u64>,
    /// Started, and not every call of it was ok, or it raised an error.
    #[serde(default, skip_serializing_if = "is_default")]
    pub task_errors: u64,
    /// Those among them whose task raised an error. Absent in deltas of earlier agents.
    #[serde(default, skip_serializing_if = "TaskRaises::is_none")]
    pub raises: TaskRaises,
    /// Checks of a scenario in Python that looked at an answer and passed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub checks_passed: u64,
    /// Checks that looked at an answer and failed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub checks_failed: u64,
}

/// How the last call of an arrival had ended when its task raised an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LastCall {
    /// It was ok: from rules 2 on it counts as failed.
    Ok,
    /// It was not, so that it counts as failed already, or was cut off.
    Failed,
    /// The task made no call: from rules 2 on it counts as one that failed.
    Absent,
}

impl LastCall {
    /// All of them, in the order in which caches and rings number them.
    pub const ALL: [Self; 3] = [Self::Ok, Self::Failed, Self::Absent];
}

/// Arrivals whose task raised an error, by how the last call of each had ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TaskRaises {
    /// Its last call was ok; that one counts as failed (`task_error`).
    #[serde(default, skip_serializing_if = "is_default")]
    pub after_ok: u64,
    /// Its last call had failed or was cut off; it is not counted a second time.
    #[serde(default, skip_serializing_if = "is_default")]
    pub after_failed: u64,
    /// It made no call: one more finished call that failed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub without_call: u64,
}

impl TaskRaises {
    /// Counts `count` more.
    pub fn count(&mut self, last: LastCall, count: u64) {
        match last {
            LastCall::Ok => self.after_ok += count,
            LastCall::Failed => self.after_failed += count,
            LastCall::Absent => self.without_call += count,
        }
    }

    /// How many there are of one kind.
    #[must_use]
    pub fn of(&self, last: LastCall) -> u64 {
        match last {
            LastCall::Ok => self.after_ok,
            LastCall::Failed => self.after_failed,
            LastCall::Absent => self.without_call,
        }
    }

    /// Adds `more` to these.
    pub fn add(&mut self, more: Self) {
        for last in LastCall::ALL {
            self.count(last, more.of(last));
        }
    }

    /// All arrivals whose task raised.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.after_ok + self.after_failed + self.without_call
    }

    /// Errors that no failed call stands for.
    #[must_use]
    pub fn more_errors(&self) -> u64 {
        self.after_ok + self.without_call
    }

    /// Whether no task raised.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.total() == 0
    }
}

/// Calls that ended alike and whose arrivals were due in one tick.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallRow {
    /// The due tick of the arrival, for every call of its task: so that warm-up and generation
    /// judge an arrival as a whole.
    pub tick: u32,
    /// The generation under which the agent held the shard at the arrival's due tick.
    pub generation: Generation,
    /// The call, by its place in the plan's list of calls, or as [`DeltaReported::names`] says.
    pub call: u16,
    /// How they ended.
    pub outcome: Outcome,
    /// How many; equals the count of both histograms for finished outcomes.
    pub count: u64,
    /// End − due, in µs, corrected.
    pub response: EncodedHistogram,
    /// End − dispatch, in µs, uncorrected.
    pub service: EncodedHistogram,
    /// Answers by status code.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub status: BTreeMap<u16, u64>,
    /// Those without a complete answer, by cause.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub causes: BTreeMap<Cause, u64>,
    /// Bytes written, headers included.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sent_bytes: u64,
    /// Bytes read, headers included where the engine sees them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub received_bytes: u64,
}

/// A phase of a call.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// From due until the pacer reached the arrival: the generator's own lateness.
    ScheduleLag,
    /// From there until dispatch: waiting for a slot.
    Queue,
    /// Name resolution.
    Dns,
    /// TCP connect.
    Connect,
    /// TLS handshake.
    Tls,
    /// From the request being written to the first byte of the answer.
    FirstByte,
    /// From the first to the last byte of the answer.
    LastByte,
    /// Streamed answers: from due to the first token, corrected.
    FirstToken,
    /// Streamed answers: from dispatch to the first token, uncorrected.
    FirstTokenService,
    /// Streamed answers: from one token to the next.
    TokenGap,
}

/// Where the time of the calls of one due tick went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AnatomyRow {
    /// The due tick of the arrival.
    pub tick: u32,
    /// The generation, as in [`CallRow`].
    pub generation: Generation,
    /// The call, as in [`CallRow`].
    pub call: u16,
    /// One histogram per phase that took place, in µs, two significant digits.
    pub phases: BTreeMap<Phase, EncodedHistogram>,
    /// Connections opened for these calls.
    #[serde(default, skip_serializing_if = "is_default")]
    pub connections_opened: u64,
    /// Calls that used an open connection.
    #[serde(default, skip_serializing_if = "is_default")]
    pub connections_reused: u64,
    /// Calls whose request was sent a second time on another connection.
    #[serde(default, skip_serializing_if = "is_default")]
    pub resent: u64,
}

/// Cumulative counters of one process in one run: the checksum of its rows.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Totals {
    /// Arrivals started.
    pub started: u64,
    /// Arrivals dropped, by reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dropped: BTreeMap<DropReason, u64>,
    /// Calls ended, by outcome.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub calls: BTreeMap<Outcome, u64>,
}

impl Totals {
    /// All dropped arrivals.
    #[must_use]
    pub fn dropped_total(&self) -> u64 {
        self.dropped.values().sum()
    }

    /// All ended calls.
    #[must_use]
    pub fn calls_total(&self) -> u64 {
        self.calls.values().sum()
    }
}

/// How the generator fares; the newest one wins. Only what is said to be of a window adds up, and
/// of several deltas of one window only the first one has it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Gauges {
    /// Arrivals in flight.
    pub in_flight: u64,
    /// Arrivals waiting for a slot.
    pub waiting: u64,
    /// Age, from due, of the oldest arrival in flight or waiting, in µs.
    pub oldest_us: u64,
    /// CPU time of the process in this window, in thousandths of one core.
    pub cpu_millicores: u64,
    /// CPU use of its busiest firing thread in this window, in thousandths of that core.
    pub busiest_core_permille: u64,
    /// The longest that a firing thread was late for its own timer in this window, in µs.
    pub stall_us: u64,
    /// Open file descriptors.
    pub open_fds: u64,
    /// TCP segments that the kernel of the agent's machine sent again in this window, for whomever.
    #[serde(default, skip_serializing_if = "is_default")]
    pub retransmits: u64,
    /// Connections that found the queue of a listener on the agent's machine full in this window:
    /// of interest when the target is there.
    #[serde(default, skip_serializing_if = "is_default")]
    pub listen_overflows: u64,
}
