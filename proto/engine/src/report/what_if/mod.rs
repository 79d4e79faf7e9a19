//! A run judged again: by other gates, after another warm-up, or over a part of its time.
//!
//! The question becomes a plan, which the report judges; nothing here compares a figure with a
//! limit. Must never change what was measured.

mod first_breach;
mod hold;

pub use hold::next_change;

use std::collections::BTreeSet;
use std::ops::Range;

use loadpilot_events::answers::what_if::{WhatIf, WhatIfAnswer};
use loadpilot_events::plan::Plan;
use loadpilot_events::plan::threshold::Threshold;
use loadpilot_events::refusal::{Problem, Refusal};

use crate::check;
use crate::fold::project::first_measured_tick;
use crate::report::close::judged;
use crate::report::slice::{Indexed, whole_ticks};
use crate::report::verdict::verdict;
use crate::report::window::{Rest, measured_in};

/// The verdict and the certificate of the run by the terms of the question.
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
    let rewound = (ticks != own).then(|| measured_in(run, &ticks, Rest::WarmUp));
    let data = rewound.as_ref().unwrap_or(run.data);
    let mut report = judged(run.control, data, &plan, &offered.workload, ticks.clone());
    if gates(&plan) != gates(offered.plan) {
        // Breaches and held rates of the run's own gates are not part of the answer.
        (report.run.breach, report.run.held) = (None, None);
        report.verdict = verdict(&plan, &report);
    }
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

/// The thresholds of a plan as text, in any order.
fn gates(plan: &Plan) -> BTreeSet<String> {
    let words = |gate: &Threshold| format!("{} {} {}", gate.key(), gate.operator(), gate.limit);
    plan.thresholds.iter().map(words).collect()
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
