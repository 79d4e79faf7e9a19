//! A run judged again: by its own plan it is judged as it was.

use loadpilot_engine::fold::project::first_measured_tick;
use loadpilot_engine::report::report;
use loadpilot_engine::report::what_if::what_if;
use loadpilot_events::answers::report::Report;
use loadpilot_events::answers::what_if::WhatIf;
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
    #![proptest_config(ProptestConfig::with_cases(30))]

    /// Broken if a question that changes nothing changes the answer.
    #[test]
    fn nothing_asked_is_the_report(seed: u64) {
        let history = History::new(seed);
        let whole = Whole::of(&history, &history.data);
        let found = fold(&history, &history.control, &history.data);
        let told = what_if(whole.run(), &WhatIf::default()).expect("it is sound");
        prop_assert_eq!(told.verdict, found.verdict);
        prop_assert_eq!(told.certificate, found.certificate);
        prop_assert_eq!(told.latency, found.latency);
        prop_assert_eq!(told.rates, found.rates);
        prop_assert_eq!(told.arrivals, found.arrivals);
        prop_assert_eq!(told.error_rate_pct, found.error_rate_pct);
        prop_assert_eq!(told.task_raises, found.task_raises);
    }

    /// Broken if a log of before is judged by rules that it was not made under, or if judging it
    /// anew does not say that it goes by others.
    #[test]
    fn a_log_of_before_keeps_its_report(seed: u64) {
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
        let told = what_if(whole.run(), &WhatIf::default()).expect("it is sound");
        prop_assert_eq!((told.rules, told.rules_of_run), (Rules::V2, Rules::V1));
        prop_assert!(told.errors_total >= now.errors_total);
        prop_assert_eq!(told.rates, now.rates);
    }

    /// Broken if another warm-up or another gate, asked for afterwards, gives anything else than
    /// a plan that had it from the beginning.
    #[test]
    fn asked_afterwards_is_planned_before(seed: u64) {
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
        let told = what_if(whole.run(), &question).expect("it is sound");
        prop_assert_eq!(&told.verdict, &expected.verdict);
        prop_assert_eq!(&told.certificate, &expected.certificate);
        prop_assert_eq!(&told.latency, &expected.latency);
        prop_assert_eq!(&told.rates, &expected.rates);
        prop_assert_eq!(told.requests_total, expected.requests_total);
        prop_assert_eq!(told.errors_total, expected.errors_total);
        // The same time, said as a window.
        let question = WhatIf {
            thresholds: Some(thresholds),
            warm_up_us: Some(0),
            from_us: Some(warm_up_us),
            to_us: Some(ticks * history.plan.tick_us),
            ..WhatIf::default()
        };
        let again = what_if(whole.run(), &question).expect("it is sound");
        prop_assert_eq!(&again.verdict, &told.verdict);
        prop_assert_eq!(&again.rates, &told.rates);
    }

    /// Broken if the tick in which a gate broke is not that from which on, and up to the end, the
    /// run judged up to each tick fails it.
    #[test]
    fn a_gate_broke_when_it_held_no_more(seed: u64) {
        let history = History::new(seed);
        let whole = Whole::of(&history, &history.data);
        let limit = Dice::new(!seed).pick(500..2_000) as f64;
        let errors = gate(Metric::ErrorRate, 10.0, None);
        let thresholds = vec![gate(Metric::P50Ms, limit, None), errors];
        let asked = |to_us: Option<u64>| {
            let thresholds = Some(thresholds.clone());
            let question = WhatIf { thresholds, to_us, ..WhatIf::default() };
            what_if(whole.run(), &question).expect("it is sound")
        };
        let first = first_measured_tick(&history.plan);
        let told = asked(None);
        for place in 0..2 {
            let mut expected = None;
            for tick in first..history.workload.ticks() {
                let to_us = u64::from(tick + 1) * history.plan.tick_us;
                let result = &asked(Some(to_us)).verdict.thresholds[place];
                expected = match (result.passed, result.actual) {
                    (true, _) | (_, None) => None,
                    (false, Some(_)) => expected.or(Some(u64::from(tick) * history.plan.tick_us)),
                };
            }
            prop_assert_eq!(told.broke_at_us[place], expected);
        }
    }
}
