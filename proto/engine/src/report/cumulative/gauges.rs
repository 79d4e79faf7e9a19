//! The run at an instant, for systems of metrics: its state, its agents and its timeline.

use std::collections::BTreeMap;

use loadpilot_events::answers::report::RunState;
use loadpilot_events::id::Holder;
use loadpilot_events::units::{Rate, Timestamp};

use super::names::{NAMES_MAX, OTHER};
use super::run_fold::Folded;
use crate::control::Control;
use crate::fold::gauge_windows::NewestWindow;
use crate::fold::progress::ticks_reached;
use crate::report::state::run_state;
use crate::report::timeline::{RunEvent, events};
use crate::schedule::workload::Workload;

/// Age, in µs, of an agent's newest window up to which its gauges are those of now.
const ACTIVE_US: u64 = 3_000_000;
/// Maximum number of events: the newest ones.
pub const EVENTS_MAX: usize = 64;

/// A run at an instant.
#[derive(Debug, Clone)]
pub struct Gauges {
    /// Its state.
    pub state: RunState,
    /// When it started; `None` before that is decided.
    pub start_at: Option<Timestamp>,
    /// When it was sealed or refused.
    pub ended_at: Option<Timestamp>,
    /// Planned rate now, in arrivals per second; 0 in a closed loop.
    pub planned_per_sec: f64,
    /// Number of arrivals in flight, as last reported.
    pub in_flight: u64,
    /// Number of agents that hold shards.
    pub holders: usize,
    /// Load generators, by the name of the agent.
    pub agents: BTreeMap<String, AgentGauges>,
    /// Time since the end of the last tick that all agents have reported, in µs; `None` for a run
    /// that has not started or is over.
    pub log_lag_us: Option<u64>,
    /// The newest events of its timeline, oldest first.
    pub events: Vec<RunEvent>,
}

/// The load generator of one agent in its newest window.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct AgentGauges {
    /// CPU time by time and core, from 0 to 1; `None` when its number of cores is unknown.
    pub cpu_ratio: Option<f64>,
    /// Longest delay of a firing thread behind its own timer, in µs.
    pub stall_us: u64,
    /// Number of open file descriptors.
    pub open_fds: u64,
}

/// The run at `now`; `None` before it is created.
#[must_use]
pub(super) fn gauges(run: Folded<'_>, now: Timestamp) -> Option<Gauges> {
    let control = run.control;
    let state = &control.state;
    let created = state.created.as_ref()?;
    let start_at = state.start.as_ref().map(|start| start.start_at);
    let started_at = start_at.filter(|start| now >= *start);
    let in_progress = started_at.filter(|_| !state.over);
    let elapsed_us = in_progress.map_or(0, |start| now.since_us(start));
    let active: Vec<(&Holder, &NewestWindow)> = match in_progress {
        Some(_) => active(run, elapsed_us).collect(),
        None => Vec::new(),
    };
    let read_us = ticks_reached(control, run.data, created.plan.tick_us)
        .map(|ticks| u64::from(ticks) * created.plan.tick_us);
    Some(Gauges {
        state: run_state(control),
        start_at,
        ended_at: ended_at(control),
        planned_per_sec: match in_progress {
            Some(_) => planned_per_sec(control, elapsed_us),
            None => 0.0,
        },
        in_flight: active
            .iter()
            .map(|(_, window)| window.gauges.in_flight)
            .sum(),
        holders: match state.over {
            true => 0,
            false => state.holdings.len(),
        },
        agents: agents(control, &active),
        log_lag_us: in_progress
            .and(read_us)
            .map(|read_us| elapsed_us.saturating_sub(read_us)),
        events: events(control, EVENTS_MAX),
    })
}

/// The windows of processes that reported recently.
pub(super) fn active(
    run: Folded<'_>,
    elapsed_us: u64,
) -> impl Iterator<Item = (&Holder, &NewestWindow)> {
    let windows = run.newest.iter();
    windows.filter(move |(_, window)| window.to_us.saturating_add(ACTIVE_US) >= elapsed_us)
}

/// Planned arrivals per second at this time of the run; 0 in a closed loop, and while it is paused.
pub(super) fn planned_per_sec(control: &Control, elapsed_us: u64) -> f64 {
    let Some(created) = &control.state.created else {
        return 0.0;
    };
    let steering = &control.state.steering;
    if steering.paused_at.is_some() || control.state.stop.is_some() {
        return 0.0;
    }
    let workload = Workload::new(&created.plan, created.seed).steered(&steering.rates);
    Rate(workload.rate_at(elapsed_us)).as_rps()
}

/// When the run was sealed or refused; `None` while it is not over.
#[must_use]
pub fn ended_at(control: &Control) -> Option<Timestamp> {
    let last = control.records.iter().rev();
    let mut decisions = last
        .map(|(_, parsed)| parsed)
        .filter_map(|parsed| match parsed {
            crate::control::Parsed::Decision(envelope) => Some(envelope.at),
            _ => None,
        });
    decisions.next().filter(|_| control.state.over)
}

/// Gauges by agent; those of processes of one agent, and of agents beyond the first
/// [`NAMES_MAX`], are the maximum.
fn agents(control: &Control, active: &[(&Holder, &NewestWindow)]) -> BTreeMap<String, AgentGauges> {
    let mut agents: BTreeMap<String, AgentGauges> = BTreeMap::new();
    for (holder, window) in active {
        let name = holder.agent.to_string();
        let has_name = agents.contains_key(&name) || agents.len() < NAMES_MAX;
        let name = if has_name { name } else { OTHER.to_owned() };
        let cores = control.state.offers.get(*holder).map(|offer| offer.cores);
        let cpu_ratio = cores.filter(|cores| *cores > 0).map(|cores| {
            let millicores = u32::try_from(window.gauges.cpu_millicores).unwrap_or(u32::MAX);
            f64::from(millicores) / 1e3 / f64::from(cores)
        });
        let known = agents.entry(name).or_default();
        *known = AgentGauges {
            cpu_ratio: match (known.cpu_ratio, cpu_ratio) {
                (Some(one), Some(other)) => Some(one.max(other)),
                (one, other) => one.or(other),
            },
            stall_us: known.stall_us.max(window.gauges.stall_us),
            open_fds: known.open_fds.max(window.gauges.open_fds),
        };
    }
    agents
}
