//! The first breach of a gate: the tick from which on the gate failed when it was judged over all
//! ticks up to then.

use std::collections::BTreeMap;
use std::ops::Range;

use loadpilot_events::answers::report::Verdict;
use loadpilot_events::log::delta::TaskRaises;
use loadpilot_events::log::hist::{self, Hist};
use loadpilot_events::plan::Plan;
use loadpilot_events::plan::threshold::{Metric, Threshold};

use crate::fold::index::Key;
use crate::report::figures::percentiles::{ms, percentile_us};
use crate::report::figures::task_range::EVERY;
use crate::report::slice::{CallPlaces, Indexed};
use crate::report::verdict::passes;
use crate::tally::packed_histogram::Precision;
use crate::tally::ratio::percent;
use crate::tally::unreached::unconnected;

/// Calls of one task, or of all of them, up to some tick.
struct SoFar {
    finished: u64,
    errors: u64,
    unconnected: u64,
    raises: TaskRaises,
    response: Hist,
}

/// For each gate of `plan` that failed in `verdict`, the due time from which on it failed when it
/// was judged over all ticks up to then.
pub(super) fn broke_at_us(
    run: Indexed<'_>,
    plan: &Plan,
    verdict: &Verdict,
    ticks: &Range<u32>,
) -> Vec<Option<u64>> {
    let gates = plan.thresholds.iter().zip(&verdict.thresholds);
    let failed = |(gate, result): (
        &Threshold,
        &loadpilot_events::answers::report::ThresholdResult,
    )| { !result.passed && is_of_calls(gate.metric) };
    let failed: Vec<bool> = gates.map(failed).collect();
    let mut tasks: BTreeMap<Option<&str>, Vec<usize>> = BTreeMap::new();
    for (gate_index, gate) in plan
        .thresholds
        .iter()
        .enumerate()
        .filter(|(n, _)| failed[*n])
    {
        tasks
            .entry(gate.task.as_deref())
            .or_default()
            .push(gate_index);
    }
    let mut broke = vec![None; plan.thresholds.len()];
    for (task, places) in tasks {
        let gates: Vec<&Threshold> = places.iter().map(|n| &plan.thresholds[*n]).collect();
        let found = of_task(run, plan, task, &gates, ticks);
        for (gate_index, tick) in places.into_iter().zip(found) {
            broke[gate_index] = tick.map(|tick| u64::from(tick) * plan.tick_us);
        }
    }
    broke
}

/// Walks the ticks of one task or user type, or of all of them.
fn of_task(
    run: Indexed<'_>,
    plan: &Plan,
    task: Option<&str>,
    gates: &[&Threshold],
    ticks: &Range<u32>,
) -> Vec<Option<u32>> {
    let places = CallPlaces::of(Some(plan));
    let named = task.map_or(EVERY, |name| plan.tasks_named(name).unwrap_or_default());
    let is_wanted = |call| {
        let (number, _) = places.of_call(call);
        named.contains(&number)
    };
    let wanted: Vec<bool> = run.index.calls().iter().map(is_wanted).collect();
    let mut broke = vec![None; gates.len()];
    let mut so_far = SoFar {
        finished: 0,
        errors: 0,
        unconnected: 0,
        raises: TaskRaises::default(),
        response: hist::latency(),
    };
    for tick in ticks.start..ticks.end.min(run.index.end()) {
        let before = (so_far.finished, so_far.raises);
        run.index.walk(tick..tick + 1, |entry| {
            if let Key::Calls { call, outcome, .. } = entry.key
                && outcome.is_finished()
                && wanted.get(call as usize).copied().unwrap_or(false)
            {
                so_far.finished += entry.count;
                so_far.errors += if outcome.is_error() { entry.count } else { 0 };
                so_far.unconnected += unconnected(outcome, entry.count, &entry.causes().collect());
                so_far.add(entry.response());
            }
            if let Key::Raises {
                task: number, last, ..
            } = entry.key
                && named.contains(&number)
            {
                so_far.raises.count(last, entry.count);
            }
        });
        if (so_far.finished, so_far.raises) == before {
            continue;
        }
        for (gate, broke) in gates.iter().zip(&mut broke) {
            let actual = so_far.of(gate.metric);
            let holds = passes(gate.operator(), actual, gate.limit);
            // Without a call that reached a server, nothing was measured that could break the gate.
            *broke = match actual {
                Some(_) if !holds => broke.or(Some(tick)),
                _ => None,
            };
        }
    }
    broke
}

impl SoFar {
    fn add(&mut self, counts: crate::tally::packed_histogram::Counts<'_>) {
        for (bucket, count) in counts {
            let least = Precision::Latency.least(bucket);
            self.response
                .record_n(least, count)
                .expect("an auto-resizing histogram takes any value");
        }
    }

    /// A figure, as the verdict computes it.
    fn of(&self, metric: Metric) -> Option<f64> {
        match metric {
            Metric::ErrorRate => {
                let errors = self.errors + self.raises.more_errors();
                Some(percent(errors, self.finished + self.raises.without_call))
            }
            #[expect(clippy::cast_precision_loss, reason = "compared with a limit")]
            Metric::TaskErrors => Some(self.raises.total() as f64),
            // The latency of calls that all failed to connect says nothing about a server.
            _ if self.unconnected >= self.finished => None,
            Metric::MeanMs => Some(self.response.mean() / 1e3),
            _ => Some(ms(percentile_us(&self.response, percent_of(metric)?))),
        }
    }
}

/// Whether a metric depends on calls alone.
fn is_of_calls(metric: Metric) -> bool {
    matches!(
        metric,
        Metric::ErrorRate | Metric::TaskErrors | Metric::MeanMs
    ) || percent_of(metric).is_some()
}

fn percent_of(metric: Metric) -> Option<f64> {
    Some(match metric {
        Metric::P50Ms => 50.0,
        Metric::P75Ms => 75.0,
        Metric::P90Ms => 90.0,
        Metric::P95Ms => 95.0,
        Metric::P99Ms => 99.0,
        Metric::P999Ms => 99.9,
        Metric::P9999Ms => 99.99,
        Metric::MaxMs => 100.0,
        _ => return None,
    })
}
