//! The next change of the rate of a run that holds gates, from its measurements so far.
//!
//! Each part is judged by the same rules as in the report of the run when it is over.

use std::ops::Range;

use loadpilot_events::answers::what_if::WhatIf;
use loadpilot_events::log::steer::hold::HoldWindow;
use loadpilot_events::plan::threshold::{Metric, Threshold};
use loadpilot_events::units::Rate;

use super::what_if;
use crate::control::hold::{Measured, WINDOW_TICKS, next_rate};
use crate::fold::progress::ticks_reached;
use crate::fold::project::first_measured_tick;
use crate::report::slice::Indexed;

/// Share of errors, in percent, above which a rate fails without a held gate for errors.
const ERRORS_PCT: f64 = 1.0;

/// The rate to which a run that goes on is changed next, and the measurement that says so. `None`
/// while there is nothing to change.
#[must_use]
pub fn next_change(run: Indexed<'_>) -> Option<(Rate, HoldWindow)> {
    let state = &run.control.state;
    let steering = &state.steering;
    let plan = &state.created.as_ref()?.plan;
    let goes_on = state.start.is_some() && state.stop.is_none() && !state.over;
    let is_idle = !steering.awaits_answer() && steering.paused_at.is_none();
    if plan.hold.is_empty() || !goes_on || !is_idle {
        return None;
    }
    let change = steering.rates.last();
    let piece = plan.profile.pieces.first()?;
    let rate = change.map_or(piece.from, |change| change.rate);
    let from = change.map_or(0, |change| change.from_tick);
    let from = from.max(first_measured_tick(plan));
    let from = from.max(first_tick_resumed(run, plan.tick_us));
    let to = ticks_reached(run.control, run.data, plan.tick_us)?;
    let ticks = to.checked_sub(from).filter(|ticks| *ticks > 0)?;
    let judged = |ticks| window(run, rate, &plan.hold, plan.tick_us, ticks);
    let window = judged(from.max(to.saturating_sub(WINDOW_TICKS))..to)?;
    let newest = judged(to - 1..to)?;
    let measured = Measured {
        window: &window,
        newest: &newest,
        ticks,
    };
    let next = next_rate(&steering.holds, &measured, steering.rate_limit)?;
    let decisive = measured.decisive().clone();
    Some((next, decisive))
}

/// The first tick without a pause: an agent learns of the end of a pause a moment later.
fn first_tick_resumed(run: Indexed<'_>, tick_us: u64) -> u32 {
    let state = &run.control.state;
    let start = state.start.as_ref();
    let resumed = state.steering.resumed_at.zip(start);
    resumed.map_or(0, |(at, start)| {
        let ticks = at.since_us(start.start_at).div_ceil(tick_us) + 1;
        u32::try_from(ticks).unwrap_or(u32::MAX)
    })
}

/// The gates that a rate must pass. Without a gate for errors, a target that rejects most requests
/// quickly would pass at any rate.
fn judged_gates(hold: &[Threshold]) -> Vec<Threshold> {
    let of_errors = Threshold {
        metric: Metric::ErrorRate,
        task: None,
        limit: ERRORS_PCT,
        operator: None,
        own: None,
    };
    let is_held = hold.iter().any(|gate| gate.metric == Metric::ErrorRate);
    let more = (!is_held).then_some(of_errors);
    hold.iter().cloned().chain(more).collect()
}

/// The measurement of some ticks at one rate.
fn window(
    run: Indexed<'_>,
    rate: Rate,
    gates: &[Threshold],
    tick_us: u64,
    ticks: Range<u32>,
) -> Option<HoldWindow> {
    let us = |tick: u32| u64::from(tick) * tick_us;
    let question = WhatIf {
        thresholds: Some(judged_gates(gates)),
        from_us: Some(us(ticks.start)),
        to_us: Some(us(ticks.end)),
        ..WhatIf::default()
    };
    let answer = what_if(run, &question).ok()?;
    let results = &answer.verdict.thresholds;
    let failed = results.iter().find(|result| !result.passed);
    let shown = failed.or_else(|| results.first())?;
    let mut window = HoldWindow {
        rate,
        from_us: us(ticks.start),
        to_us: us(ticks.end),
        planned: answer.rates.planned,
        started: answer.rates.started,
        calls: answer.requests_total,
        passed: failed.is_none(),
        key: shown.key.clone(),
        limit: shown.limit,
        actual: shown.actual,
    };
    window.passed &= !window.is_short();
    Some(window)
}
