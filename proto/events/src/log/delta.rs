//! Deltas: what finished since the last delta. Subject `….delta.<agent>`.
//!
//! A delta is rows that add up, never a snapshot. Its identity `(run, agent, boot_id, seq)` lets
//! the fold skip a delta that it has folded already.

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
    /// Process of the agent.
    pub boot_id: BootId,
    /// Number of the delta within the process and run: 1, 2, 3 …
    pub seq: u64,
    /// Begin of the interval covered, by completion time, in µs after the start.
    pub from_us: u64,
    /// End of the interval covered, by completion time, in µs after the start.
    pub to_us: u64,
    /// Arrivals by due tick, generation and task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arrivals: Vec<ArrivalRow>,
    /// Calls by due tick, generation, call and outcome.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallRow>,
    /// Time of calls by phase.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub anatomy: Vec<AnatomyRow>,
    /// Names of calls made in Python: one for each call number of this delta that is not in the
    /// plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<CallName>,
    /// Errors that checks and tasks raised in Python.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub raised: Vec<RaisedRow>,
    /// Values of own metrics by due tick, generation, task and metric.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<MetricRow>,
    /// Debug exchanges, if the plan requests them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exchanges: Vec<ExchangeSeen>,
    /// Examples of calls that failed: the first of each call and outcome.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<ExchangeSeen>,
    /// Samples: calls of `calls` stored one by one, if the plan requests them.
    #[serde(default, skip_serializing_if = "EncodedSamples::is_empty")]
    pub samples: EncodedSamples,
    /// Number of requested samples that found no room.
    #[serde(default, skip_serializing_if = "is_default")]
    pub samples_dropped: u64,
    /// Everything that this process counted in the run, including this delta.
    pub totals: Totals,
    /// State of the load generator.
    pub gauges: Gauges,
}

/// Arrivals of one task that were due in one tick.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArrivalRow {
    /// Due tick; in a closed loop the tick in which the user became ready.
    pub tick: u32,
    /// Generation under which the agent held the shard at the due tick.
    pub generation: Generation,
    /// Index of the task in the plan.
    pub task: u16,
    /// Number of arrivals whose first call was dispatched.
    #[serde(default, skip_serializing_if = "is_default")]
    pub started: u64,
    /// Number of arrivals that never started, by reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dropped: BTreeMap<DropReason, u64>,
    /// Number of started arrivals that raised an error or had a call that was not ok.
    #[serde(default, skip_serializing_if = "is_default")]
    pub task_errors: u64,
    /// Those of `task_errors` whose task raised an error. Absent in deltas of earlier agents.
    #[serde(default, skip_serializing_if = "TaskRaises::is_none")]
    pub raises: TaskRaises,
    /// Number of Python checks that examined a response and passed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub checks_passed: u64,
    /// Number of Python checks that examined a response and failed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub checks_failed: u64,
    /// Sessions that began with one of these arrivals. Absent without sessions.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sessions: SessionCounts,
}

/// Sessions in the places of a closed loop, as the target sees them: after the loss of an agent the
/// rest of a session counts as one of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SessionCounts {
    /// Number of sessions that began.
    pub started: u64,
    /// Number of sessions that were over when the next one of their place began.
    pub ended: u64,
}

impl SessionCounts {
    /// Adds the counts of `more`.
    pub fn add(&mut self, more: Self) {
        self.started += more.started;
        self.ended += more.ended;
    }
}

/// How the last call of an arrival ended before its task raised an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LastCall {
    /// The call was ok. From rules 2 on it counts as failed, because its task raised.
    Ok,
    /// The call failed, which counts already, or it was cut off.
    Failed,
    /// The task made no call. From rules 2 on it adds one failed call.
    Absent,
}

impl LastCall {
    /// All variants, in the order in which caches and rings number them.
    pub const ALL: [Self; 3] = [Self::Ok, Self::Failed, Self::Absent];
}

/// Number of arrivals whose task raised an error, by how their last call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TaskRaises {
    /// The last call was ok; it counts as failed (`task_error`).
    #[serde(default, skip_serializing_if = "is_default")]
    pub after_ok: u64,
    /// The last call had failed or was cut off; it is not counted a second time.
    #[serde(default, skip_serializing_if = "is_default")]
    pub after_failed: u64,
    /// The task made no call; each counts as one more finished call that failed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub without_call: u64,
}

impl TaskRaises {
    /// Adds `count` arrivals of one kind.
    pub fn count(&mut self, last: LastCall, count: u64) {
        match last {
            LastCall::Ok => self.after_ok += count,
            LastCall::Failed => self.after_failed += count,
            LastCall::Absent => self.without_call += count,
        }
    }

    /// Number of arrivals of one kind.
    #[must_use]
    pub fn of(&self, last: LastCall) -> u64 {
        match last {
            LastCall::Ok => self.after_ok,
            LastCall::Failed => self.after_failed,
            LastCall::Absent => self.without_call,
        }
    }

    /// Adds the counts of `more`.
    pub fn add(&mut self, more: Self) {
        for last in LastCall::ALL {
            self.count(last, more.of(last));
        }
    }

    /// Number of all arrivals whose task raised.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.after_ok + self.after_failed + self.without_call
    }

    /// Number of errors beyond those of failed calls.
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

/// Calls with one outcome whose arrivals were due in one tick.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallRow {
    /// Due tick of the arrival, the same for every call of its task, so that warm-up and generation
    /// apply to an arrival as a whole.
    pub tick: u32,
    /// Generation under which the agent held the shard at the arrival's due tick.
    pub generation: Generation,
    /// Index of the call in the plan's list of calls, or a number of [`DeltaReported::names`].
    pub call: u16,
    /// How the calls ended.
    pub outcome: Outcome,
    /// Number of calls; for finished outcomes equal to the count of both histograms.
    pub count: u64,
    /// Response time, end − due, in µs: corrected.
    pub response: EncodedHistogram,
    /// Service time, end − dispatch, in µs: uncorrected.
    pub service: EncodedHistogram,
    /// Number of responses by status code.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub status: BTreeMap<u16, u64>,
    /// Number of calls without a complete response, by cause.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub causes: BTreeMap<Cause, u64>,
    /// Bytes written, headers included.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sent_bytes: u64,
    /// Bytes read, headers included where the HTTP engine sees them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub received_bytes: u64,
}

/// Phase of a call.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// From due until the pacer reached the arrival: lateness of the load generator.
    ScheduleLag,
    /// From there until dispatch: the wait for a slot.
    Queue,
    /// Name resolution.
    Dns,
    /// TCP connect.
    Connect,
    /// TLS handshake.
    Tls,
    /// From the written request to the first byte of the response.
    FirstByte,
    /// From the first to the last byte of the response.
    LastByte,
    /// Streamed responses: from due to the first token, corrected.
    FirstToken,
    /// Streamed responses: from dispatch to the first token, uncorrected.
    FirstTokenService,
    /// Streamed responses: from one token to the next.
    TokenGap,
}

/// Time by phase of the calls of one due tick.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AnatomyRow {
    /// Due tick of the arrival.
    pub tick: u32,
    /// Generation, as in [`CallRow`].
    pub generation: Generation,
    /// Call, as in [`CallRow`].
    pub call: u16,
    /// Histogram of each phase that took place, in µs, two significant digits.
    pub phases: BTreeMap<Phase, EncodedHistogram>,
    /// Number of connections opened for these calls.
    #[serde(default, skip_serializing_if = "is_default")]
    pub connections_opened: u64,
    /// Number of calls on a connection that was already open.
    #[serde(default, skip_serializing_if = "is_default")]
    pub connections_reused: u64,
    /// Number of calls whose request was sent a second time on another connection.
    #[serde(default, skip_serializing_if = "is_default")]
    pub resent: u64,
    /// Number of redirects followed within these calls.
    #[serde(default, skip_serializing_if = "is_default")]
    pub redirects: u64,
    /// Number of calls that ended with a redirect, although the plan follows redirects: it was
    /// beyond the limit, or led to another origin.
    #[serde(default, skip_serializing_if = "is_default")]
    pub redirects_not_followed: u64,
}

/// Cumulative counters of one process in one run: the checksum of its rows.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Totals {
    /// Number of arrivals started.
    pub started: u64,
    /// Number of arrivals dropped, by reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dropped: BTreeMap<DropReason, u64>,
    /// Number of calls ended, by outcome.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub calls: BTreeMap<Outcome, u64>,
}

impl Totals {
    /// Number of all dropped arrivals.
    #[must_use]
    pub fn dropped_total(&self) -> u64 {
        self.dropped.values().sum()
    }

    /// Number of all ended calls.
    #[must_use]
    pub fn calls_total(&self) -> u64 {
        self.calls.values().sum()
    }
}

/// State of the load generator; the newest delta wins. Only values of an interval add up, and of
/// several deltas of one interval only the first contains them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Gauges {
    /// Number of arrivals in flight.
    pub in_flight: u64,
    /// Number of arrivals waiting for a slot.
    pub waiting: u64,
    /// Age, from due, of the oldest arrival in flight or waiting, in µs.
    pub oldest_us: u64,
    /// CPU time of the process in this interval, in thousandths of one core.
    pub cpu_millicores: u64,
    /// CPU use of the busiest firing thread in this interval, in thousandths of its core.
    pub busiest_core_permille: u64,
    /// Longest delay of a firing thread behind its own timer in this interval, in µs.
    pub stall_us: u64,
    /// Number of open file descriptors.
    pub open_fds: u64,
    /// Number of TCP segments that the agent's machine retransmitted in this interval, of all its
    /// processes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub retransmits: u64,
    /// Number of connections in this interval that found a full listener queue on the agent's
    /// machine; relevant when the target runs there.
    #[serde(default, skip_serializing_if = "is_default")]
    pub listen_overflows: u64,
}
