//! Counts of what finished: per core in a [`Tally`], merged in [`Rows`].
//!
//! Rows are a commutative monoid: merging is adding, in any order. Must never lose a count: each is
//! in exactly one delta. Samples of calls are limited in number; those beyond the limit are
//! counted.

use std::collections::BTreeMap;
use std::sync::Arc;

use loadpilot_events::limits::{OTHER_ERRORS, RAISED_MAX, SAMPLES_PER_TICK_MAX};
use loadpilot_events::log::assign::Generation;
use loadpilot_events::log::delta::{AnatomyRow, ArrivalRow, CallRow, LastCall, Phase};
use loadpilot_events::log::exchange::ExchangeSeen;
use loadpilot_events::log::hist::{self, Hist};
use loadpilot_events::log::metrics::MetricValue;
use loadpilot_events::log::outcome::{DropReason, Outcome};
use loadpilot_events::log::samples::Sample;
use loadpilot_events::plan::script::{CallName, RaisedBy};

use crate::bugs::{Bug, bug};
use crate::tally::aggregates::{AnatomySums, ArrivalSums, CallSums, add_counts, merge};
use crate::tally::call_end::{CallEnd, ConnectionUse, Phases};
use crate::tally::metrics::MetricSums;
use crate::tally::row_key::RowKey;

type CallKey = (u32, Generation, u16, Outcome);
/// Due tick, generation, and the call by its position in the plan.
type AnatomyKey = (u32, Generation, u16);

/// Counts that are not closed into a delta yet.
#[derive(Debug, Default)]
pub struct Rows {
    pub(super) arrivals: BTreeMap<RowKey, ArrivalSums>,
    pub(super) calls: BTreeMap<CallKey, CallSums>,
    pub(super) anatomy: BTreeMap<AnatomyKey, AnatomySums>,
    pub(super) names: BTreeMap<u16, CallName>,
    pub(super) raised: BTreeMap<(u16, RaisedBy, String), u64>,
    /// Tracebacks of some of these errors.
    pub(super) traces: BTreeMap<(u16, RaisedBy, String), String>,
    pub(super) metrics: BTreeMap<RowKey, MetricSums>,
    pub(super) exchanges: Vec<ExchangeSeen>,
    pub(super) failures: Vec<ExchangeSeen>,
    pub(super) samples: Vec<Sample>,
    pub(super) samples_dropped: u64,
}

/// The counters of one core.
#[derive(Debug, Default)]
pub struct Tally {
    rows: Rows,
}

impl Tally {
    /// An empty tally.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts an arrival as started: its first call was dispatched.
    pub fn started(&mut self, key: RowKey) {
        self.rows.arrivals.entry(key).or_default().started += 1;
    }

    /// Counts an arrival that will never start.
    pub fn dropped(&mut self, key: RowKey, reason: DropReason) {
        let row = self.rows.arrivals.entry(key).or_default();
        *row.dropped.entry(reason).or_default() += 1;
    }

    /// Counts a started arrival that ended with a call that was not ok.
    pub fn task_error(&mut self, key: RowKey) {
        self.rows.arrivals.entry(key).or_default().task_errors += 1;
    }

    /// Counts an arrival whose task raised an error; it is a task error, too.
    pub fn task_raised(&mut self, key: RowKey, last: LastCall) {
        let row = self.rows.arrivals.entry(key).or_default();
        row.raises.count(last, 1);
    }

    /// Counts a session that begins with an arrival; `follows` says that it takes the place of a
    /// session that is over.
    pub fn session(&mut self, key: RowKey, follows: bool) {
        let sessions = &mut self.rows.arrivals.entry(key).or_default().sessions;
        sessions.started += 1;
        sessions.ended += u64::from(follows);
    }

    /// Counts a call that ended.
    pub fn call(&mut self, end: &CallEnd) {
        let key = (end.tick, end.generation, end.call, end.outcome);
        let row = self.rows.calls.entry(key).or_default();
        row.count += 1;
        let failed = end.outcome.is_error() && bug(Bug::FailuresAtZero);
        hist::record(&mut row.response, if failed { 0 } else { end.response_us });
        hist::record(&mut row.service, end.service_us);
        if let Some(status) = end.status {
            *row.status.entry(status).or_default() += 1;
        }
        if let Some(cause) = end.cause {
            *row.causes.entry(cause).or_default() += 1;
        }
        row.sent_bytes += end.sent_bytes;
        row.received_bytes += end.received_bytes;
        let key = (end.tick, end.generation, end.call);
        self.rows
            .anatomy
            .entry(key)
            .or_default()
            .record(&end.phases);
    }

    /// Counts the gaps between the tokens of a call, which is also counted itself.
    pub fn token_gaps(&mut self, (tick, generation, call): AnatomyKey, gaps: &Hist) {
        let row = self.rows.anatomy.entry((tick, generation, call));
        let phases = &mut row.or_default().phases;
        merge(
            phases.entry(Phase::TokenGap).or_insert_with(hist::anatomy),
            gaps,
        );
    }

    /// Names a call that is not in the plan; needed again after each [`Tally::take`].
    pub fn name(&mut self, name: &CallName) {
        let names = &mut self.rows.names;
        names.entry(name.call).or_insert_with(|| name.clone());
    }

    /// Counts an error that a check or a task raised. Up to [`RAISED_MAX`] texts of a task are
    /// counted one by one, the others together: an error text may contain anything.
    pub fn raised(&mut self, task: u16, by: RaisedBy, text: &str) {
        let raised = &mut self.rows.raised;
        let mut key = (task, by, text.to_owned());
        let of_task = raised.keys().filter(|(other, ..)| *other == task);
        if !raised.contains_key(&key) && of_task.count() >= RAISED_MAX {
            key.2 = OTHER_ERRORS.to_owned();
        }
        *raised.entry(key).or_default() += 1;
    }

    /// The traceback of an error that was just counted; a process reports it once.
    pub fn traced(&mut self, task: u16, by: RaisedBy, text: &str, trace: &str) {
        let key = (task, by, text.to_owned());
        if self.rows.raised.contains_key(&key) {
            self.rows.traces.insert(key, trace.to_owned());
        }
    }

    /// Counts a check of an answer.
    pub fn check(&mut self, key: RowKey, passed: bool) {
        let checks = &mut self.rows.arrivals.entry(key).or_default().checks;
        match passed {
            true => checks.passed += 1,
            false => checks.failed += 1,
        }
    }

    /// Adds to a metric of the scenario.
    pub fn metric(&mut self, key: RowKey, name: &Arc<str>, value: MetricValue) {
        let sums = self.rows.metrics.entry(key).or_default();
        sums.record(name, value);
    }

    /// Adds an exchange that is shown in full.
    pub fn exchange(&mut self, seen: ExchangeSeen) {
        self.rows.exchanges.push(seen);
    }

    /// Adds an example of a failed call.
    pub fn failure(&mut self, seen: ExchangeSeen) {
        self.rows.failures.push(seen);
    }

    /// Adds a sample of a call.
    pub fn sample(&mut self, sample: Sample) {
        if self.rows.samples.len() < SAMPLES_PER_TICK_MAX {
            self.rows.samples.push(sample);
        } else {
            self.rows.samples_dropped += 1;
        }
    }

    /// Takes all counts since the last time.
    #[must_use]
    pub fn take(&mut self) -> Rows {
        std::mem::take(&mut self.rows)
    }
}

impl Rows {
    /// Whether nothing was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.arrivals.is_empty() && self.calls.is_empty() && self.metrics.is_empty()
    }

    /// The calls that ended, by due tick and outcome.
    pub(crate) fn ended(&self) -> impl Iterator<Item = (u32, Outcome, &CallSums)> {
        let calls = self.calls.iter();
        calls.map(|((tick, _, _, outcome), sums)| (*tick, *outcome, sums))
    }

    /// Adds `other`.
    pub fn merge(&mut self, other: Self) {
        for (key, sums) in other.arrivals {
            self.arrivals.entry(key).or_default().add(&sums);
        }
        for (key, sums) in other.calls {
            self.calls.entry(key).or_default().add(&sums);
        }
        for (key, sums) in other.anatomy {
            self.anatomy.entry(key).or_default().add(&sums);
        }
        self.names.extend(other.names);
        add_counts(&mut self.raised, &other.raised);
        self.traces.extend(other.traces);
        for (key, sums) in other.metrics {
            self.metrics.entry(key).or_default().add(&sums);
        }
        self.exchanges.extend(other.exchanges);
        self.failures.extend(other.failures);
        let room = SAMPLES_PER_TICK_MAX.saturating_sub(self.samples.len());
        let without = other.samples.len().saturating_sub(room) as u64;
        self.samples_dropped += other.samples_dropped + without;
        if self.samples.is_empty() {
            self.samples = other.samples;
        } else {
            self.samples.extend(other.samples.into_iter().take(room));
        }
    }
}

impl AnatomySums {
    /// Counts the phases of one call.
    fn record(&mut self, phases: &Phases) {
        let times = [
            (Phase::ScheduleLag, phases.schedule_lag_us),
            (Phase::Queue, phases.queue_us),
            (Phase::Dns, phases.dns_us),
            (Phase::Connect, phases.connect_us),
            (Phase::Tls, phases.tls_us),
            (Phase::FirstByte, phases.first_byte_us),
            (Phase::LastByte, phases.last_byte_us),
            (Phase::FirstToken, phases.first_token_us),
            (Phase::FirstTokenService, phases.first_token_service_us),
        ];
        for (phase, time_us) in times {
            if let Some(us) = time_us {
                hist::record(self.phases.entry(phase).or_insert_with(hist::anatomy), us);
            }
        }
        match phases.connection {
            Some(ConnectionUse::Opened) => self.opened += 1,
            Some(ConnectionUse::Reused) => self.reused += 1,
            None => {}
        }
        self.resent += u64::from(phases.resent);
        let redirects = &phases.redirects;
        self.opened += u64::from(redirects.opened);
        self.reused += u64::from(redirects.reused);
        self.redirects += u64::from(redirects.followed);
        self.redirects_not_followed += u64::from(redirects.is_cut);
    }
}

impl ArrivalSums {
    pub(super) fn row(self, key: RowKey) -> ArrivalRow {
        ArrivalRow {
            tick: key.tick,
            generation: key.generation,
            task: key.task,
            started: self.started,
            dropped: self.dropped,
            task_errors: self.task_errors,
            raises: self.raises,
            checks_passed: self.checks.passed,
            checks_failed: self.checks.failed,
            sessions: self.sessions,
        }
    }
}

impl CallSums {
    pub(super) fn row(self, (tick, generation, call, outcome): CallKey) -> CallRow {
        CallRow {
            tick,
            generation,
            call,
            outcome,
            count: self.count,
            response: hist::encode(&self.response),
            service: hist::encode(&self.service),
            status: self.status,
            causes: self.causes,
            sent_bytes: self.sent_bytes,
            received_bytes: self.received_bytes,
        }
    }
}

impl AnatomySums {
    pub(super) fn row(self, (tick, generation, call): AnatomyKey) -> AnatomyRow {
        let phases = self
            .phases
            .iter()
            .map(|(&phase, hist)| (phase, hist::encode(hist)));
        AnatomyRow {
            tick,
            generation,
            call,
            phases: phases.collect(),
            connections_opened: self.opened,
            connections_reused: self.reused,
            resent: self.resent,
            redirects: self.redirects,
            redirects_not_followed: self.redirects_not_followed,
        }
    }
}
