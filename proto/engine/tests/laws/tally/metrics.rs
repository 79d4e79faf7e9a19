//! Own metrics: values add up in any order, each counts once, and the report has their figures.

use std::sync::Arc;

use loadpilot_engine::check;
use loadpilot_engine::tally::metrics::{MetricSums, figure};
use loadpilot_engine::tally::{Ledger, RowKey, Rows, Tally};
use loadpilot_events::answers::report::{Checks, MetricsReport};
use loadpilot_events::id::BootId;
use loadpilot_events::limits::DELTA_BYTES_MAX;
use loadpilot_events::log::delta::Gauges;
use loadpilot_events::log::metrics::{
    Figure, MetricRow, MetricValue, Millionths, OwnMetric, Rounded, is_metric_name,
};
use loadpilot_events::plan::script::Script;
use loadpilot_events::plan::threshold::{Metric, Operator, Threshold};
use loadpilot_events::plan::{Object, Plan};
use proptest::prelude::*;

use crate::fold::projection::fold;
use crate::rules::dice::Dice;
use crate::rules::plans;
use crate::support::history::{Act, Deed, History};
use crate::support::naive;

/// The amount that arrival `n` adds to the counter in every history; `value` is for the trend,
/// `is_hit` for the rate metric.
fn amount(n: u64) -> f64 {
    (n % 13) as f64 * 0.1
}

fn value(n: u64) -> f64 {
    ((n * 37) % 1_009) as f64 / 7.0 - 60.0
}

fn is_hit(n: u64) -> bool {
    n.is_multiple_of(3)
}

/// Counts what arrival `n` measured.
pub(crate) fn count(tally: &mut Tally, key: RowKey, n: u64) {
    let counted = MetricValue::Counter(Millionths::of(amount(n)).expect("an amount"));
    tally.metric(key, &"orders".into(), counted);
    let valued = MetricValue::Trend(Rounded::of(value(n)).expect("a value"));
    tally.metric(key, &"cart".into(), valued);
    tally.metric(key, &"hit".into(), MetricValue::Rate(is_hit(n)));
    tally.check(key, !n.is_multiple_of(5));
}

/// Numbers of the arrivals that count: reported by their holder, in the measured time.
fn counted(history: &History, task: Option<u16>) -> Vec<u64> {
    let plan = &history.plan;
    let counts = |deed: &&Deed| {
        let measured = u64::from(deed.tick) * plan.tick_us >= plan.warm_up_us;
        let started = matches!(deed.what, Act::Started(_));
        let stored = naive::stored(history, &deed.holder, deed.window);
        started && measured && stored && !deed.excess && task.is_none_or(|task| task == deed.task)
    };
    let deeds = history.deeds.iter().filter(counts);
    deeds.map(|deed| deed.n).collect()
}

/// Compares the reported metrics of some arrivals with what these arrivals added.
fn compare(
    numbers: &[u64],
    measured: Option<&MetricsReport>,
    checks: Option<Checks>,
    measured_us: u64,
) {
    let Some(measured) = measured else {
        assert!(numbers.is_empty() && checks.is_none());
        return;
    };
    let tenths: u64 = numbers.iter().map(|n| n % 13).sum();
    let orders = &measured.counters["orders"];
    assert_eq!(orders.count, tenths as f64 / 10.0);
    assert_eq!(orders.rate, orders.count * 1e6 / measured_us as f64);
    let mut values: Vec<f64> = numbers.iter().map(|&n| near(value(n))).collect();
    values.sort_by(f64::total_cmp);
    let cart = &measured.trends["cart"];
    let at = |percent: usize| values[(values.len() * percent).div_ceil(100) - 1];
    assert_eq!(cart.count as usize, values.len());
    assert_eq!((cart.min, cart.max), (values[0], at(100)));
    assert_eq!(
        [cart.p50, cart.p90, cart.p95, cart.p99],
        [50, 90, 95, 99].map(at)
    );
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    assert!((cart.mean - mean).abs() < 1e-9, "{} and {mean}", cart.mean);
    let trues = numbers.iter().filter(|&&n| is_hit(n)).count() as u64;
    let hit = &measured.rates["hit"];
    assert_eq!((hit.count, hit.trues), (numbers.len() as u64, trues));
    let failed = numbers.iter().filter(|&&n| n.is_multiple_of(5)).count() as u64;
    let passed = numbers.len() as u64 - failed;
    assert_eq!(checks, Some(Checks { passed, failed }));
}

/// A value to four significant digits, the slow way: through text.
fn near(value: f64) -> f64 {
    format!("{value:.3e}").parse().expect("a number")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    /// Broken if a value is counted twice, is lost, or is one of the warm-up, of another task, or
    /// of a holder that others had replaced. (The law of the digest covers order and repetition.)
    #[test]
    fn every_value_counts_once(seed: u64) {
        let history = History::new(seed);
        let report = fold(&history, &history.control, &history.data);
        let us = report.rates.measured_us;
        compare(&counted(&history, None), report.metrics.as_ref(), report.checks, us);
        for (place, task) in report.tasks.iter().enumerate() {
            let numbers = counted(&history, Some(place as u16));
            compare(&numbers, task.metrics.as_ref(), task.checks, us);
        }
    }

    /// Broken if cores that share the work count something else than one core alone.
    #[test]
    fn grouping_does_not_show(seed: u64) {
        let dice = &mut Dice::new(seed);
        let mut cores = [Tally::new(), Tally::new(), Tally::new()];
        let mut alone = Tally::new();
        for n in 0..200 {
            let key = RowKey {
                tick: dice.pick(0..2) as u32,
                generation: 1,
                task: dice.pick(0..2) as u16,
            };
            count(&mut alone, key, n);
            count(&mut cores[dice.pick(0..3) as usize], key, n);
        }
        dice.shuffle(&mut cores);
        let mut merged = Rows::default();
        for mut core in cores {
            merged.merge(core.take());
        }
        prop_assert_eq!(rows(merged), rows(alone.take()));
    }

    /// Broken if rounding changes a value of a trend by more than four digits allow, or changes the
    /// order of two values.
    #[test]
    fn a_trend_keeps_four_digits_and_the_order(
        one in prop::num::f64::NORMAL, exponent in -14_i32..15, other in -1e15..1e15,
    ) {
        let one = (one % 10.0) * 10_f64.powi(exponent);
        let rounded = |value: f64| Rounded::of(value).expect("in range").value();
        for value in [one, other] {
            let error = (rounded(value) - value).abs();
            let limit = value.abs() * 0.000_500_1 + 1e-15;
            prop_assert!(error <= limit, "{value} is {}", rounded(value));
            let count = Rounded::of(value).expect("in range").times(1);
            prop_assert_eq!(count.value(), Rounded::of(value), "a rounded value stays the same");
        }
        let digits = (other / 1e12).round();
        prop_assert_eq!(rounded(digits / 100.0), digits / 100.0, "four digits are exact");
        let (least, most) = (one.min(other), one.max(other));
        prop_assert!(rounded(least) <= rounded(most));
    }
}

fn ledger() -> Ledger {
    Ledger::new(BootId::parse("b").expect("a token"))
}

fn rows(rows: Rows) -> Vec<MetricRow> {
    let deltas = ledger().close(rows, 0, 1, Gauges::default());
    deltas.into_iter().flat_map(|delta| delta.metrics).collect()
}

/// Broken if a trend with very many values makes a delta that no log accepts, or loses some of
/// them.
#[test]
fn a_wide_trend_is_split_and_whole_again() {
    let key = RowKey {
        tick: 0,
        generation: 1,
        task: 0,
    };
    let mut tally = Tally::new();
    let mut whole = MetricSums::default();
    let name: Arc<str> = "wide".into();
    for digits in 0..60_000_u32 {
        let value = f64::from(digits % 9_000 + 1_000) * 10_f64.powi((digits / 9_000) as i32);
        let value = MetricValue::Trend(Rounded::of(value).expect("in range"));
        tally.metric(key, &name, value);
        whole.record(&name, value);
    }
    let deltas = ledger().close(tally.take(), 0, 1, Gauges::default());
    let mut again = MetricSums::default();
    for delta in deltas.iter().rev() {
        let bytes = serde_json::to_vec(delta).expect("JSON").len();
        assert!(bytes < DELTA_BYTES_MAX + 4_096, "{bytes} bytes");
        for row in &delta.metrics {
            again.add(&MetricSums::of_row(row).expect("our own"));
        }
    }
    assert!(deltas.len() > 3, "it was to be split");
    assert_eq!(again, whole);
}

/// Broken if an invalid amount or value is counted.
#[test]
fn what_is_no_number_in_range_is_not_taken() {
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.1e15, -1.1e15] {
        assert_eq!(Rounded::of(value), None, "{value}");
    }
    for amount in [f64::NAN, f64::INFINITY, -0.1, 1.1e9] {
        assert_eq!(Millionths::of(amount), None, "{amount}");
    }
    assert_eq!(Rounded::of(9_999.6).map(Rounded::value), Some(10_000.0));
    assert_eq!(Rounded::of(-1e15).map(Rounded::value), Some(-1e15));
    assert_eq!(Rounded::of(9e-16), Some(Rounded::default()));
    assert_eq!(Rounded::of(-0.0), Some(Rounded::default()));
}

/// Broken if a gate picks one of two kinds of a metric that two agents recorded as different kinds.
#[test]
fn a_name_of_two_kinds_has_no_figure() {
    let mut sums = MetricSums::default();
    sums.record(&"m".into(), MetricValue::Rate(true));
    sums.record(
        &"m".into(),
        MetricValue::Counter(Millionths::of(1.0).expect("one")),
    );
    let own = OwnMetric {
        name: "m".to_owned(),
        figure: Figure::Count,
    };
    let measured = sums.report(1);
    let reason = "m was used as metrics of more than one kind";
    assert_eq!(figure(&own, measured.as_ref()), Err(reason.to_owned()));
}

/// Broken if a gate is accepted that can never be measured, or that lacks a needed field.
#[test]
fn gates_that_measure_nothing_are_refused() {
    let own = |name: &str| {
        let name = name.to_owned();
        let figure = Figure::P95;
        Some(OwnMetric { name, figure })
    };
    let sound = Threshold {
        metric: Metric::Own,
        task: None,
        limit: -5.0,
        operator: Some(Operator::Above),
        own: own("cart"),
    };
    let found = |threshold: &Threshold, is_script: bool| {
        let plan = scripted(threshold.clone(), is_script);
        let problems = check::plan(&plan);
        let rules: Vec<String> = problems.into_iter().map(|problem| problem.rule).collect();
        rules
    };
    assert_eq!(found(&sound, true), Vec::<String>::new());
    assert_eq!(found(&sound, false).len(), 1, "nothing adds to it");
    let damages: [fn(&mut Threshold); 5] = [
        |threshold| threshold.operator = None,
        |threshold| threshold.own = None,
        |threshold| threshold.metric = Metric::P99Ms,
        |threshold| threshold.limit = f64::NAN,
        |threshold| threshold.task = Some("ghost".to_owned()),
    ];
    for (place, damage) in damages.into_iter().enumerate() {
        let mut damaged = sound.clone();
        damage(&mut damaged);
        assert!(!found(&damaged, true).is_empty(), "damage {place}");
    }
    for name in ["", "1st", "a.b", "a-b", "é", &"x".repeat(129)] {
        let named = Threshold {
            own: own(name),
            ..sound.clone()
        };
        assert!(
            !is_metric_name(name) && found(&named, true).len() == 1,
            "{name}"
        );
    }
}

/// A plan with one gate, for a scenario in Python or for a compiled one.
fn scripted(threshold: Threshold, is_script: bool) -> Plan {
    let mut plan = plans::plan(&mut Dice::new(1));
    plan.thresholds = vec![threshold];
    if is_script {
        plan.tasks.iter_mut().for_each(|task| task.steps.clear());
        plan.script = Some(Script {
            bundle: Object::of(b"zip"),
            file: "laws.py".to_owned(),
            users: 5,
            secret_headers: Vec::new(),
            feeds: Vec::new(),
            checked: Vec::new(),
            prepared: None,
        });
    }
    plan
}
