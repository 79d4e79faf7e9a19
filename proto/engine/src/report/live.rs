//! The live view: a cheap fold of the same log, for watching a run.
//!
//! Interval figures are those of each agent's newest window; cumulative ones are everything
//! reported so far. Must never be used for a gate: gates read the closed report.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use loadpilot_events::answers::live::{
    Failing, Gathering, LatencyMs, LoadPhase, Snapshot, TaskSnapshot,
};
use loadpilot_events::answers::report::RunState;
use loadpilot_events::id::{AgentId, Holder};
use loadpilot_events::limits::HIST_COUNTS_LIVE_MAX;
use loadpilot_events::log::admission::RunQueued;
use loadpilot_events::log::cause::Cause;
use loadpilot_events::log::delta::{CallRow, DeltaReported, Gauges, TaskRaises};
use loadpilot_events::log::hist::{self, Hist};
use loadpilot_events::rules::Rules;
use loadpilot_events::units::Timestamp;

use crate::control::{Control, envelope};
use crate::fold::delta_validation::believable;
use crate::fold::project::SeqSet;
use crate::report::failure_reasons::FailureReasons;
use crate::report::figures::percentiles::{ms, percentile_us};
use crate::report::state::run_state;
use crate::schedule::workload::Workload;
use crate::tally::aggregates::{add_counts, merge};
use crate::tally::call_ids::{CallId, CallNames};
use crate::tally::ratio::percent;
use crate::tally::unreached::unconnected;

/// Age, in µs, of an agent's last report up to which it counts as active.
const ACTIVE_US: u64 = 3_000_000;

/// Figures reported so far.
#[derive(Debug, Default)]
pub struct LiveView {
    agents: BTreeMap<Holder, AgentWindow>,
    started: u64,
    dropped: u64,
    /// By task.
    raises: BTreeMap<u16, TaskRaises>,
    /// By call: ended calls, errors among them, latencies.
    calls: BTreeMap<CallId, CallSoFar>,
    ends: Ends,
    room: CountLimit,
}

/// Number of counts in all histograms of the view, which is limited: a few bytes of a delta can
/// claim many counts.
#[derive(Debug, Default)]
struct CountLimit {
    counts: usize,
}

impl CountLimit {
    /// Adds a histogram to another one if the limit allows; returns the growth as a number of
    /// counts.
    fn merge(&mut self, into: &mut Hist, more: &Hist) -> usize {
        let grown = more
            .distinct_values()
            .saturating_sub(into.distinct_values());
        if self.counts + grown > HIST_COUNTS_LIVE_MAX {
            return 0;
        }
        merge(into, more);
        self.counts += grown;
        grown
    }
}

/// Calls that finished so far.
#[derive(Debug, Default)]
struct Ends {
    finished: u64,
    /// Calls that reached no server.
    unconnected: u64,
    causes: BTreeMap<Cause, u64>,
    reasons: FailureReasons,
}

impl Ends {
    fn add(&mut self, row: &CallRow) {
        self.finished += row.count;
        self.unconnected += unconnected(row.outcome, row.count, &row.causes);
        add_counts(&mut self.causes, &row.causes);
        self.reasons.add(row);
    }
}

/// Response and service times of finished calls.
#[derive(Debug)]
struct Latencies {
    response: Hist,
    service: Hist,
}

impl Default for Latencies {
    fn default() -> Self {
        Self {
            response: hist::latency(),
            service: hist::latency(),
        }
    }
}

impl Latencies {
    fn add(&mut self, more: &Self) {
        merge(&mut self.response, &more.response);
        merge(&mut self.service, &more.service);
    }

    /// Adds the calls of a row as far as there is room; returns the growth as a number of counts.
    fn add_within(&mut self, room: &mut CountLimit, more: &Self) -> usize {
        let response = room.merge(&mut self.response, &more.response);
        response + room.merge(&mut self.service, &more.service)
    }
}

/// The newest window of one agent.
#[derive(Debug, Default)]
struct AgentWindow {
    seqs: SeqSet,
    from_us: u64,
    to_us: u64,
    started: u64,
    finished: u64,
    opened: u64,
    reused: u64,
    latencies: Latencies,
    /// Number of counts by which its histograms grew.
    grown: usize,
    gauges: Gauges,
}

#[derive(Debug, Default)]
struct CallSoFar {
    ended: u64,
    errors: u64,
    latencies: Latencies,
}

impl LiveView {
    /// Adds one record of LP_DATA; the report names unreadable ones.
    pub fn add(&mut self, agent: &AgentId, payload: &[u8]) {
        let Ok(delta) = envelope::<DeltaReported>(payload) else {
            return;
        };
        let delta = delta.event;
        if believable(&delta).is_err() {
            return;
        }
        let holder = Holder {
            agent: agent.clone(),
            boot_id: delta.boot_id.clone(),
        };
        let window = self.agents.entry(holder).or_default();
        if !window.seqs.insert(delta.seq) {
            return;
        }
        if delta.to_us > window.to_us {
            self.room.counts -= window.grown;
            window.begin(&delta);
        }
        window.gauges = delta.gauges.clone();
        let in_window = delta.to_us == window.to_us;
        if in_window {
            window.add(&delta);
        }
        for row in &delta.arrivals {
            self.started += row.started;
            self.dropped += row.dropped.values().sum::<u64>();
            self.raises.entry(row.task).or_default().add(row.raises);
        }
        let names = CallNames::of(&delta);
        for row in &delta.calls {
            let call = self.calls.entry(names.call_id(row.call)).or_default();
            call.ended += row.count;
            if !row.outcome.is_finished() {
                continue;
            }
            self.ends.add(row);
            call.errors += if row.outcome.is_error() { row.count } else { 0 };
            let decoded = (hist::decode(&row.response), hist::decode(&row.service));
            let (Ok(response), Ok(service)) = decoded else {
                continue;
            };
            let latencies = Latencies { response, service };
            call.latencies.add_within(&mut self.room, &latencies);
            if in_window {
                window.finished += row.count;
                window.grown += window.latencies.add_within(&mut self.room, &latencies);
            }
        }
    }

    /// The view of the run at `now`, by the reader's clock.
    #[must_use]
    pub fn snapshot(&self, control: &Control, workload: &Workload, now: Timestamp) -> Snapshot {
        let start_at = control.state.start.as_ref().map(|start| start.start_at);
        let elapsed_us = start_at.map_or(0, |start| now.since_us(start));
        let mut interval = Latencies::default();
        let mut cumulative = Latencies::default();
        for window in self.agents.values() {
            interval.add(&window.latencies);
        }
        for call in self.calls.values() {
            cumulative.add(&call.latencies);
        }
        let active = |window: &&AgentWindow| window.to_us + ACTIVE_US >= elapsed_us;
        let active: Vec<&AgentWindow> = self.agents.values().filter(active).collect();
        let opened: u64 = active.iter().map(|window| window.opened).sum();
        let reused: u64 = active.iter().map(|window| window.reused).sum();
        let raises = self.raises(control, |_| true);
        let started = start_at.is_some_and(|start| now >= start);
        let target = if started {
            workload.rate_at(elapsed_us)
        } else {
            0
        };
        Snapshot {
            timestamp_secs: ms(now.0) / 1e3,
            elapsed_secs: ms(elapsed_us) / 1e3,
            duration_secs: ms(workload.duration_us()) / 1e3,
            state: run_state(control),
            queued: queued(control),
            gathering: gathering(control, now),
            paused: control.state.steering.paused_at.is_some(),
            phase: phase(control, workload, started, elapsed_us),
            current_rps: per_second(&active, |window| window.finished),
            arrivals_per_sec: per_second(&active, |window| window.started),
            planned_per_sec: planned_per_sec(workload, &active),
            target_rps: loadpilot_events::Rate(target).as_rps(),
            arrivals_started: self.started,
            arrivals_dropped: self.dropped,
            requests_total: self.calls.values().map(|call| call.ended).sum(),
            errors_total: self.calls.values().map(|call| call.errors).sum::<u64>()
                + raises.more_errors(),
            raised_without_call: raises.without_call,
            failing: self.failing(),
            most_frequent_failure: self.ends.reasons.most_frequent(raises.more_errors()),
            in_flight: active.iter().map(|window| window.gauges.in_flight).sum(),
            waiting: active.iter().map(|window| window.gauges.waiting).sum(),
            oldest_ms: ms(active.iter().map(|w| w.gauges.oldest_us).max().unwrap_or(0)),
            opened_per_sec: per_second(&active, |window| window.opened),
            reused_pct: (opened + reused > 0).then(|| percent(reused, opened + reused)),
            active_workers: u32::try_from(active.len()).unwrap_or(u32::MAX),
            latency: latency_ms(&interval.response),
            latency_cumulative: latency_ms(&cumulative.response),
            service: latency_ms(&interval.service),
            service_cumulative: latency_ms(&cumulative.service),
            tasks: self.tasks(control),
        }
    }

    /// Whether calls have finished, and none of them reached a server.
    #[must_use]
    pub fn is_unreached(&self) -> bool {
        self.ends.finished > 0 && self.ends.unconnected >= self.ends.finished
    }

    fn failing(&self) -> Option<Failing> {
        let causes = self.ends.causes.iter();
        let (&cause, &calls) = causes.max_by_key(|&(cause, count)| (count, Reverse(cause)))?;
        Some(Failing {
            cause,
            why: cause.words().to_owned(),
            calls,
            unreached: self.is_unreached(),
        })
    }

    /// Errors that tasks raised, as far as the rules of the run count them.
    fn raises(&self, control: &Control, keep: impl Fn(usize) -> bool) -> TaskRaises {
        let mut sum = TaskRaises::default();
        let of_tasks = self.raises.iter();
        for (_, more) in of_tasks.filter(|(task, _)| keep(usize::from(**task))) {
            sum.add(*more);
        }
        match control.rules() {
            Rules::V1 => TaskRaises::default(),
            Rules::V2 | Rules::V3 | Rules::V4 => sum,
        }
    }

    fn tasks(&self, control: &Control) -> Vec<TaskSnapshot> {
        let Some(created) = &control.state.created else {
            return Vec::new();
        };
        let mut first_call = 0;
        let mut tasks = Vec::new();
        for (index, task) in created.plan.tasks.iter().enumerate() {
            let calls = first_call..first_call + u16::try_from(task.steps.len()).unwrap_or(0);
            first_call = calls.end;
            let (mut requests, mut errors, mut response) = (0, 0, hist::latency());
            let of_task = self.calls.iter().filter(|(call, _)| match call {
                CallId::Planned(number) => calls.contains(number),
                CallId::Named { task, .. } => usize::from(*task) == index,
            });
            for (_, call) in of_task {
                requests += call.ended;
                errors += call.errors;
                merge(&mut response, &call.latencies.response);
            }
            errors += self.raises(control, |task| task == index).more_errors();
            let latency = latency_ms(&response);
            tasks.push(TaskSnapshot {
                name: task.name.clone(),
                requests,
                errors,
                latency,
            });
        }
        tasks
    }
}

impl AgentWindow {
    /// Begins the window of `delta` without the figures of the one before.
    fn begin(&mut self, delta: &DeltaReported) {
        *self = Self {
            seqs: std::mem::take(&mut self.seqs),
            from_us: delta.from_us,
            to_us: delta.to_us,
            ..Self::default()
        };
    }

    /// Adds arrivals and connections of a delta.
    fn add(&mut self, delta: &DeltaReported) {
        for row in &delta.arrivals {
            self.started += row.started;
        }
        for row in &delta.anatomy {
            self.opened += row.connections_opened;
            self.reused += row.connections_reused;
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    fn rate(&self, count: u64) -> f64 {
        let us = self.to_us.saturating_sub(self.from_us);
        if us == 0 {
            0.0
        } else {
            count as f64 * 1e6 / us as f64
        }
    }
}

/// Planned arrivals per second over the windows of these agents, from their earliest beginning.
#[expect(clippy::cast_precision_loss, reason = "a rate for people")]
fn planned_per_sec(workload: &Workload, windows: &[&AgentWindow]) -> f64 {
    let from_us = windows.iter().map(|window| window.from_us).min();
    let to_us = windows.iter().map(|window| window.to_us).max();
    let (Some(from_us), Some(to_us)) = (from_us, to_us) else {
        return 0.0;
    };
    if workload.users().is_some() || to_us <= from_us {
        return 0.0;
    }
    let planned = workload.first_at_or_after(to_us) - workload.first_at_or_after(from_us);
    planned as f64 * 1e6 / (to_us - from_us) as f64
}

/// Place and reason of a run that waits for its admission.
fn queued(control: &Control) -> Option<String> {
    let waits = run_state(control) == RunState::Waiting;
    let queued = control.state.queued.as_ref().filter(|_| waits);
    queued.map(RunQueued::words)
}

/// Agents that offered capacity to a run without holders.
fn gathering(control: &Control, now: Timestamp) -> Option<Gathering> {
    let state = &control.state;
    let created = state.created.as_deref();
    let created = created.filter(|_| state.generation == 0 && !state.over)?;
    let stays = |holder: &&Holder| !state.resigned.contains_key(*holder);
    let agents: BTreeSet<&AgentId> = state
        .offers
        .keys()
        .filter(stays)
        .map(|holder| &holder.agent)
        .collect();
    Some(Gathering {
        ready: u32::try_from(agents.len()).unwrap_or(u32::MAX),
        want: created.agents.want,
        min: created.agents.min,
        left_secs: ms(created.gather_by.since_us(now)) / 1e3,
    })
}

/// Direction of the offered rate.
pub(crate) fn phase(
    control: &Control,
    workload: &Workload,
    started: bool,
    elapsed_us: u64,
) -> LoadPhase {
    if !started {
        return LoadPhase::Waiting;
    }
    let over = run_state(control) != RunState::Running;
    match workload.slope_at(elapsed_us).filter(|_| !over) {
        None => LoadPhase::Done,
        Some((from, to)) if from < to => LoadPhase::RampUp,
        Some((from, to)) if from > to => LoadPhase::RampDown,
        Some(_) => LoadPhase::Steady,
    }
}

/// Percentiles of a histogram in ms; null when it is empty.
pub(crate) fn latency_ms(hist: &Hist) -> LatencyMs {
    if hist.is_empty() {
        return LatencyMs::default();
    }
    let point = |percent| Some(ms(percentile_us(hist, percent)));
    LatencyMs {
        p50_ms: point(50.0),
        p95_ms: point(95.0),
        p99_ms: point(99.0),
        max_ms: Some(ms(hist.max())),
        min_ms: Some(ms(hist.min())),
        mean_ms: Some(hist.mean() / 1e3),
    }
}

/// Adds up a rate of the agents, from 0: a sum of no floats is -0, which pages would show.
fn per_second(agents: &[&AgentWindow], count: impl Fn(&AgentWindow) -> u64) -> f64 {
    agents
        .iter()
        .fold(0.0, |sum, window| sum + window.rate(count(window)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Broken if the rate of no agents is shown as -0.
    #[test]
    fn the_rate_of_no_agents_is_zero() {
        let rate = per_second(&[], |window| window.finished);
        assert_eq!(rate.to_string(), "0");
    }

    /// Broken if deltas of a hostile agent fill the memory of every reader of a run, or if a long
    /// run is shown without its latency.
    #[test]
    fn histograms_grow_as_far_as_there_is_room() {
        let mut wide = hist::latency();
        hist::record(&mut wide, hist::HIST_US_MAX);
        let growth = wide.distinct_values() - hist::latency().distinct_values();
        let mut room = CountLimit {
            counts: HIST_COUNTS_LIVE_MAX - growth,
        };
        let (mut first, mut second) = (hist::latency(), hist::latency());
        assert_eq!(room.merge(&mut first, &wide), growth);
        assert_eq!(room.merge(&mut second, &wide), 0);
        assert_eq!((first.len(), second.len()), (1, 0));
        assert_eq!(room.merge(&mut first, &wide), 0);
        assert_eq!((first.len(), room.counts), (2, HIST_COUNTS_LIVE_MAX));
    }
}
