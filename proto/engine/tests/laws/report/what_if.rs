//! A run judged again: judged by its own plan, its verdict stays the same.

use loadpilot_engine::fold::project::first_measured_tick;
use loadpilot_engine::report::report;
use loadpilot_engine::report::what_if::what_if;
use loadpilot_events::answers::report::Report;
use loadpilot_events::answers::what_if::WhatIf;
use loadpilot_events::log::req::{Breach, StopRequested};
use loadpilot_events::plan::Plan;
use loadpilot_events::plan::threshold::{Metric, Threshold};
use loadpilot_events::rules::Rules;
use proptest::prelude::*;

use crate::fold::projection::fold;
use crate::report::slices::Whole;
use crate::rules::dice::Dice;
use crate::support::history::History;

fn gate(metric: Metric, limit: f64, task: Option<String>) -> Threshold {
    Threshold {
        metric,
        task,
        limit,
        operator: None,
        own: None,
    }
}

fn gates(plan: &Plan, dice: &mut Dice) -> Vec<Threshold> {
    let task = plan.tasks[0].name.clone();
    let mut limit = |most: u64| dice.pick(0..most) as f64;
    vec![
        gate(Metric::P50Ms, limit(2_000), None),
        gate(Metric::P95Ms, limit(2_000), Some(task)),
        gate(Metric::ErrorRate, limit(40), None),
        gate(Metric::AchievedRps, limit(100), None),
        gate(Metric::DroppedRate, limit(30), None),
        gate(Metric::MaxMs, limit(2_000), None),
    ]
}

/// The report of the same history under another plan.
fn under(seed: u64, change: impl Fn(&mut Plan)) -> Report {
    let mut whole = Whole::of(&History::new(seed), &[]);
    let created = whole
        .control
        .state
        .created
        .as_mut()
        .expect("it was created");
    change(&mut created.plan);
    whole.take(&History::new(seed).data);
    report(&whole.control, &whole.data).expect("the run is known")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// Broken if a question that changes nothing changes the answer.
    #[test]
    fn an_empty_question_gives_the_report(seed: u64) {
        let history = History::new(seed);
        let whole = Whole::of(&history, &history.data);
        let found = fold(&history, &history.control, &history.data);
        let answer = what_if(whole.run(), &WhatIf::default()).expect("it is sound");
        prop_assert_eq!(answer.verdict, found.verdict);
        prop_assert_eq!(answer.certificate, found.certificate);
        prop_assert_eq!(answer.latency, found.latency);
        prop_assert_eq!(answer.rates, found.rates);
        prop_assert_eq!(answer.arrivals, found.arrivals);
        prop_assert_eq!(answer.error_rate_pct, found.error_rate_pct);
        prop_assert_eq!(answer.task_raises, found.task_raises);
    }

    /// Broken if the report of a run with rules 1 is judged by rules 2, or if its what-if does not
    /// name both rules.
    #[test]
    fn a_run_of_older_rules_keeps_its_report(seed: u64) {
        let history = History::new(seed);
        let mut whole = Whole::of(&history, &[]);
        let created = whole.control.state.created.as_mut().expect("it was created");
        created.rules = Rules::V1;
        whole.take(&history.data);
        let found = report(&whole.control, &whole.data).expect("the run is known");
        let now = fold(&history, &history.control, &history.data);
        prop_assert_eq!(found.task_raises, None);
        let raises = now.task_raises.unwrap_or_default();
        prop_assert_eq!(found.errors_total + raises.more_errors(), now.errors_total);
        let of_rules = |reason: &&String| reason.contains("raised") || reason.contains("started");
        prop_assert_eq!(found.verdict.reasons.iter().find(of_rules), None);
        let answer = what_if(whole.run(), &WhatIf::default()).expect("it is sound");
        prop_assert_eq!((answer.rules, answer.rules_of_run), (Rules::CURRENT, Rules::V1));
        prop_assert!(answer.errors_total >= now.errors_total);
        prop_assert_eq!(answer.rates, now.rates);
    }

    /// Broken if a what-if with another warm-up and other gates differs from the report of a plan
    /// that has them.
    #[test]
    fn a_question_is_answered_as_by_a_plan_of_its_own(seed: u64) {
        let history = History::new(seed);
        let whole = Whole::of(&history, &history.data);
        let dice = &mut Dice::new(!seed);
        let ticks = u64::from(history.workload.ticks());
        let warm_up_us = dice.pick(0..ticks) * history.plan.tick_us;
        let thresholds = gates(&history.plan, dice);
        let expected = under(seed, |plan| {
            plan.warm_up_us = warm_up_us;
            plan.thresholds.clone_from(&thresholds);
        });
        let question = WhatIf {
            thresholds: Some(thresholds.clone()),
            warm_up_us: Some(warm_up_us),
            ..WhatIf::default()
        };
        let answer = what_if(whole.run(), &question).expect("it is sound");
        prop_assert_eq!(&answer.verdict, &expected.verdict);
        prop_assert_eq!(&answer.certificate, &expected.certificate);
        prop_assert_eq!(&answer.latency, &expected.latency);
        prop_assert_eq!(&answer.rates, &expected.rates);
        prop_assert_eq!(answer.requests_total, expected.requests_total);
        prop_assert_eq!(answer.errors_total, expected.errors_total);
        // The same time, given as a window.
        let question = WhatIf {
            thresholds: Some(thresholds),
            warm_up_us: Some(0),
            from_us: Some(warm_up_us),
            to_us: Some(ticks * history.plan.tick_us),
            ..WhatIf::default()
        };
        let again = what_if(whole.run(), &question).expect("it is sound");
        prop_assert_eq!(&again.verdict, &answer.verdict);
        prop_assert_eq!(&again.rates, &answer.rates);
    }

    /// A gate broke in the first tick such that the run fails it when it is judged up to that
    /// tick, and also when it is judged up to any later one.
    #[test]
    fn a_gate_broke_when_it_held_no_more(seed: u64) {
        gates_broke_where_they_failed(seed)?;
    }
}

/// Broken if a run that one of its gates stopped, or for which no rate was found that holds its
/// gates, fails a question for other gates because of that, or passes a question for its own gates.
#[test]
fn a_question_for_other_gates_leaves_out_what_the_own_ones_did() {
    let mut histories = (0..).map(History::new);
    let stopped = histories.find(|history| history.stop_us.is_some());
    let history = stopped.expect("three of ten are stopped");
    let mut whole = Whole::of(&history, &history.data);
    let own = gate(Metric::P99Ms, 5e6, None);
    let state = &mut whole.control.state;
    let created = state.created.as_mut().expect("it was created");
    created.plan.thresholds = vec![own.clone()];
    created.plan.hold = vec![gate(Metric::P50Ms, 10.0, None)];
    state.stop_requested = Some(StopRequested {
        by: "--abort-on-breach".to_owned(),
        breach: Some(Breach {
            key: own.key(),
            limit: own.limit,
            actual: 6e6,
        }),
    });
    let of_gates = |thresholds: Option<Vec<Threshold>>| -> Vec<String> {
        let question = WhatIf {
            thresholds,
            ..WhatIf::default()
        };
        let answer = what_if(whole.run(), &question).expect("it is sound");
        let is_of_gates = |reason: &String| {
            ["stopped early", "no rate was found"]
                .iter()
                .any(|words| reason.contains(words))
        };
        let reasons = answer.verdict.reasons.into_iter();
        reasons.filter(is_of_gates).collect()
    };
    assert_eq!(of_gates(None).len(), 2, "one of each");
    let explicit = Threshold {
        operator: Some(own.operator()),
        ..own
    };
    assert_eq!(of_gates(Some(vec![explicit])), of_gates(None), "its own");
    let other = gate(Metric::P95Ms, 5e6, None);
    assert_eq!(of_gates(Some(vec![other])), Vec::<String>::new());
}

/// A percentile has no figure in ticks where a task raised without a call, or where no call reached
/// a server: its gate broke in none of them.
#[test]
fn a_gate_without_a_figure_has_not_broken() {
    for seed in [17_967_486_905_198_098_859, 16_421_347_753_877_562_193] {
        gates_broke_where_they_failed(seed).expect("it agrees with the runs up to each tick");
    }
}

fn gates_broke_where_they_failed(seed: u64) -> Result<(), TestCaseError> {
    let history = History::new(seed);
    let whole = Whole::of(&history, &history.data);
    let limit = Dice::new(!seed).pick(500..2_000) as f64;
    let errors = gate(Metric::ErrorRate, 10.0, None);
    let thresholds = vec![gate(Metric::P50Ms, limit, None), errors];
    let judged_to = |to_us: Option<u64>| {
        let thresholds = Some(thresholds.clone());
        let question = WhatIf {
            thresholds,
            to_us,
            ..WhatIf::default()
        };
        what_if(whole.run(), &question).expect("it is sound")
    };
    let first = first_measured_tick(&history.plan);
    let answer = judged_to(None);
    for place in 0..2 {
        let mut expected = None;
        for tick in first..history.workload.ticks() {
            let to_us = u64::from(tick + 1) * history.plan.tick_us;
            let result = &judged_to(Some(to_us)).verdict.thresholds[place];
            expected = match (result.passed, result.actual) {
                (true, _) | (_, None) => None,
                (false, Some(_)) => expected.or(Some(u64::from(tick) * history.plan.tick_us)),
            };
        }
        prop_assert_eq!(answer.broke_at_us[place], expected);
    }
    Ok(())
}
