//! A run judged again: by other gates, after another warm-up, or over a part of its time.
//!
//! The question becomes a plan, which the report judges; nothing here compares a figure with a
//! limit. Must never change what was measured.

mod first_breach;

use std::collections::BTreeMap;
use std::ops::Range;

use loadpilot_events::answers::what_if::{WhatIf, WhatIfAnswer};
use loadpilot_events::plan::Plan;
use loadpilot_events::refusal::{Problem, Refusal};

use crate::check;
use crate::fold::index::{Entry, Index, Key};
use crate::fold::project::{Projection, Window, first_measured_tick};
use crate::report::close::judged;
use crate::report::slice::{Indexed, whole_ticks};
use crate::tally::aggregates::{AnatomySums, CallSums};
use crate::tally::packed_histogram::{HistogramSum, Precision};

/// The judgement of the run by other terms.
///
/// # Errors
/// All problems of the question.
pub fn what_if(run: Indexed<'_>, question: &WhatIf) -> Result<WhatIfAnswer, Refusal> {
    let Some(offered) = run.offered() else {
        let rule = "must be a run that was created";
        let problems = vec![Problem::new("run", rule, run.control.run.as_str())];
        return Err(Refusal { problems });
    };
    let mut plan = offered.plan.clone();
    if let Some(thresholds) = &question.thresholds {
        plan.thresholds.clone_from(thresholds);
    }
    plan.warm_up_us = question.warm_up_us.unwrap_or(plan.warm_up_us);
    let ticks = requested_ticks(&plan, question, offered.workload.ticks())?;
    let own = first_measured_tick(offered.plan)..u32::MAX;
    let rewound = (ticks != own).then(|| measured_in(run, &ticks));
    let data = rewound.as_ref().unwrap_or(run.data);
    let report = judged(run.control, data, &plan, &offered.workload, ticks.clone());
    let judged_from_us = report.warm_up.warm_up_us;
    Ok(WhatIfAnswer {
        broke_at_us: first_breach::broke_at_us(run, &plan, &report.verdict, &ticks),
        verdict: report.verdict,
        certificate: report.certificate,
        latency: report.latency,
        judged_to_us: judged_from_us + report.rates.measured_us,
        rates: report.rates,
        arrivals: report.arrivals,
        requests_total: report.requests_total,
        errors_total: report.errors_total,
        error_rate_pct: report.error_rate_pct,
        task_raises: report.task_raises,
        rules: report.run.rules,
        rules_of_run: run.control.rules(),
        judged_from_us,
    })
}

/// The due ticks of a question.
fn requested_ticks(plan: &Plan, question: &WhatIf, end: u32) -> Result<Range<u32>, Refusal> {
    let mut problems: Vec<Problem> = check::plan(plan)
        .into_iter()
        .filter(|problem| {
            ["thresholds", "warm_up"]
                .iter()
                .any(|of| problem.field.starts_with(of))
        })
        .collect();
    let from = whole_ticks("from_us", question.from_us, plan.tick_us, &mut problems);
    let to = whole_ticks("to_us", question.to_us, plan.tick_us, &mut problems);
    let from = from.unwrap_or(0).max(first_measured_tick(plan));
    // The end of the profile is no limit: a run ends there by itself.
    let to = to.filter(|to| *to < end).unwrap_or(u32::MAX);
    if from >= to.min(end) && problems.is_empty() {
        let rule = "must leave at least a tick to be judged";
        let from_us = u64::from(from) * plan.tick_us;
        problems.push(Problem::new("from_us", rule, from_us));
    }
    match problems.is_empty() {
        true => Ok(from..to),
        false => Err(Refusal { problems }),
    }
}

/// The same data with another measured time. Bytes, and phases that no gate and no finding reads,
/// are left out.
fn measured_in(run: Indexed<'_>, ticks: &Range<u32>) -> Projection {
    let mut data = run.data.without_calls();
    let end = run.index.end();
    let until = ticks.end.min(end);
    let windows = [
        (Window::WarmUp, 0..ticks.start.min(end)),
        (Window::Measured, ticks.start..until),
        (Window::WarmUp, until..end),
    ];
    for (window, ticks) in windows {
        for (task, sums) in run.index.metrics(ticks.clone()) {
            let key = (window, task);
            data.metrics.entry(key).or_default().add(sums);
        }
        let mut sums = BTreeMap::new();
        run.index.walk(ticks, |entry| {
            let found = sums
                .entry(entry.key)
                .or_insert_with(|| Found::new(entry.key));
            found.add(&entry);
        });
        for (key, found) in sums {
            found.close(run.index, window, key, &mut data);
        }
    }
    data
}

/// The sums of one key.
struct Found {
    counts: CallSums,
    response: HistogramSum,
    service: HistogramSum,
}

impl Found {
    fn new(key: Key) -> Self {
        let grain = match key {
            Key::Phase { .. } => Precision::Phase,
            Key::Arrivals { .. } | Key::Calls { .. } | Key::Raises { .. } => Precision::Latency,
        };
        Self {
            counts: CallSums::default(),
            response: HistogramSum::new(grain),
            service: HistogramSum::new(grain),
        }
    }

    fn add(&mut self, entry: &Entry<'_>) {
        self.counts.count += entry.count;
        for (code, count) in entry.status() {
            *self.counts.status.entry(code).or_default() += count;
        }
        for (cause, count) in entry.causes() {
            *self.counts.causes.entry(cause).or_default() += count;
        }
        self.response.add(entry.response());
        self.service.add(entry.service());
    }

    fn close(self, index: &Index, window: Window, key: Key, data: &mut Projection) {
        let call_id = |call: u32| index.calls().get(call as usize).cloned();
        match key {
            Key::Calls { call, outcome, .. } => {
                let Some(call_id) = call_id(call) else { return };
                let more = CallSums {
                    response: self.response.hist(),
                    service: self.service.hist(),
                    ..self.counts
                };
                let key = (window, call_id, outcome);
                data.calls.entry(key).or_default().add(&more);
            }
            Key::Phase { call, phase, .. } => {
                let Some(call_id) = call_id(call) else { return };
                let more = AnatomySums {
                    phases: [(phase, self.response.hist())].into(),
                    ..AnatomySums::default()
                };
                data.anatomy
                    .entry((window, call_id))
                    .or_default()
                    .add(&more);
            }
            // These are stored by tick already.
            Key::Arrivals { .. } | Key::Raises { .. } => {}
        }
    }
}
