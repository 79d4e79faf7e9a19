//! The search for the maximum working rate, over simulated targets and many seeds.

use loadpilot_engine::report::certificate::certificate;
use loadpilot_engine::search::max_rate::compare;
use loadpilot_engine::search::probe::{parse_settings, probe as probe_of, settings_text};
use loadpilot_engine::search::{HALVINGS_MAX, PROBES_MAX, search};
use loadpilot_events::answers::certificate::Grade;
use loadpilot_events::answers::compare::search::{
    LoadLimit, Probe, ProbePurpose, ProbeVerdict, Search, SearchProbes, SearchSettings, SearchState,
};
use loadpilot_events::answers::report::{Report, ThresholdResult};
use loadpilot_events::log::ctl::{Ending, Unanswered};
use loadpilot_events::log::outcome::DropReason;
use loadpilot_events::log::req::Breach;
use loadpilot_events::plan::threshold::{Metric, Operator};
use loadpilot_events::{Rate, RunId};
use proptest::prelude::*;

use crate::rules::dice::Dice;
use crate::support::sound;

fn settings(start_rps: u64) -> SearchSettings {
    SearchSettings {
        start_urps: Rate::per_second(start_rps),
        limit_urps: Rate::per_second(1_000_000),
        precision_ppm: 20_000,
        confirm: 2,
    }
}

fn probe(rate_urps: Rate, verdict: ProbeVerdict) -> Probe {
    let is_failed = verdict == ProbeVerdict::Failed;
    Probe {
        run: RunId::parse("01j00000000000000000000000").expect("an id"),
        rate_urps,
        verdict,
        reasons: Vec::new(),
        limited_by: is_failed.then_some(LoadLimit::Target),
        achieved_rps: 0.0,
        p50_ms: None,
        p95_ms: None,
        p99_ms: None,
        error_rate_pct: None,
        grade: Grade::Valid,
        gates: Vec::new(),
    }
}

fn judged(settings: SearchSettings, probes: Vec<Probe>) -> Search {
    search(SearchProbes {
        id: "s".to_owned(),
        scenario: "Shop".to_owned(),
        target_url: "http://t".to_owned(),
        settings,
        probes,
    })
}

/// Searches a target to the end; `works` gives the verdict of a probe at a rate.
fn whole(settings: SearchSettings, mut works: impl FnMut(Rate) -> ProbeVerdict) -> Search {
    let mut found = judged(settings, Vec::new());
    while let Some(next) = found.next {
        let mut probes = found.probes;
        probes.push(probe(next.rate_urps, works(next.rate_urps)));
        found = judged(settings, probes);
    }
    found
}

fn passes_up_to(knee: Rate) -> impl Fn(Rate) -> ProbeVerdict {
    move |rate| match rate <= knee {
        true => ProbeVerdict::Passed,
        false => ProbeVerdict::Failed,
    }
}

/// Maximum number of probes for a steady target: one for each doubling or halving, the first one,
/// one for each halving of the gap down to the precision, and the confirmations.
fn probes_max(settings: &SearchSettings, knee: Rate) -> u32 {
    let (start, knee) = (settings.start_urps.as_rps(), knee.as_rps());
    let bracket = (knee / start).log2().abs().ceil() as u32 + 1;
    let bisect = (1e6 / f64::from(settings.precision_ppm)).log2().ceil() as u32 + 1;
    1 + bracket + bisect + settings.confirm
}

proptest! {
    /// Broken if the result for a steady target is not its limit, within the precision, or if a
    /// search costs more probes than doubling and halving need.
    #[test]
    fn a_steady_target_is_found_within_the_precision(
        knee_urps in 1_000_000_u64..500_000_000_000,
        start_rps in 1_u64..2_000,
        precision_ppm in 1_000_u32..200_000,
        confirm in 0_u32..5,
    ) {
        let settings = SearchSettings { precision_ppm, confirm, ..settings(start_rps) };
        let knee = Rate(knee_urps);
        let found = whole(settings, passes_up_to(knee));
        if knee.0 < settings.start_urps.0 >> HALVINGS_MAX {
            prop_assert_eq!(found.state, SearchState::NoRate);
            prop_assert_eq!(found.max_rate_rps, None);
            return Ok(());
        }
        prop_assume!(found.state != SearchState::NoRate);
        prop_assert_eq!(found.state, SearchState::Found);
        let rate = found.max_rate_rps.expect("a rate that was found");
        let precision = f64::from(precision_ppm) / 1e6;
        prop_assert!(rate <= knee.as_rps() && knee.as_rps() <= rate * (1.0 + precision) + 1e-6);
        prop_assert!(found.upper_rps.expect("a rate that failed") > knee.as_rps());
        let most = probes_max(&settings, knee);
        prop_assert!(found.probes.len() <= most as usize, "{} > {most}", found.probes.len());
        let last = found.probes.iter().rev().take(confirm as usize);
        prop_assert!(last.into_iter().all(|one| one.rate_urps.as_rps() == rate));
    }

    /// Broken if the state depends on the order in which probes are read, or on probes without a
    /// verdict.
    #[test]
    fn a_search_is_a_fold_in_any_order(seed in any::<u64>(), knee_rps in 1_u64..9_000) {
        let dice = &mut Dice::new(seed);
        let whole = whole(settings(20), passes_up_to(Rate::per_second(knee_rps)));
        let many = whole.probes.len();
        let mut known: Vec<Probe> = whole.probes[..dice.pick(0..many as u64) as usize].to_vec();
        let before = judged(settings(20), known.clone());
        for verdict in [ProbeVerdict::Unjudged, ProbeVerdict::NoServer] {
            let at = dice.pick(0..known.len() as u64 + 1) as usize;
            known.insert(at, probe(Rate(dice.pick(1..1_000_000_000)), verdict));
        }
        let turn = dice.pick(0..known.len() as u64) as usize;
        known.rotate_left(turn);
        let after = judged(settings(20), known);
        prop_assert_eq!(after.next, before.next);
        prop_assert_eq!(after.lower_rps, before.lower_rps);
        prop_assert_eq!(after.upper_rps, before.upper_rps);
    }

    /// Broken if settings change on their way through a tag.
    #[test]
    fn settings_survive_a_tag(
        start in any::<u64>(), limit in any::<u64>(), precision_ppm in any::<u32>(),
        confirm in any::<u32>(),
    ) {
        let settings = SearchSettings {
            start_urps: Rate(start), limit_urps: Rate(limit), precision_ppm, confirm,
        };
        let text = settings_text(&settings);
        prop_assert!(text.len() <= 128, "a tag has at most 128 bytes: {}", text);
        prop_assert_eq!(parse_settings(&text), Some(settings));
        prop_assert_eq!(parse_settings(&format!("{text} more=1")), None);
    }
}

/// A target whose limit varies by up to `noise` from probe to probe.
fn noisy(knee_rps: f64, noise: f64, dice: &mut Dice) -> impl FnMut(Rate) -> ProbeVerdict {
    move |rate| {
        let by = dice.pick(0..2_000_001) as f64 / 1e6 - 1.0;
        match rate.as_rps() <= knee_rps * (1.0 + noise * by) {
            true => ProbeVerdict::Passed,
            false => ProbeVerdict::Failed,
        }
    }
}

/// Broken if the result is off by more than noise and precision together, or if the search reports
/// a rate as working that failed a probe or was not confirmed.
#[test]
fn a_noisy_target_is_found_within_its_noise_and_the_precision() {
    for seed in 0..2_000 {
        let dice = &mut Dice::new(seed);
        let knee_rps = dice.pick(21..60_000) as f64;
        let noise = 0.03;
        let settings = settings(20);
        let found = whole(settings, noisy(knee_rps, noise, dice));
        assert_eq!(found.state, SearchState::Found, "seed {seed}");
        let rate = found.max_rate_rps.expect("a rate");
        let ratio = rate / knee_rps;
        assert!(ratio <= 1.0 + noise, "seed {seed}: {ratio}");
        assert!(ratio >= (1.0 - noise) / 1.02, "seed {seed}: {ratio}");
        never_failed(&found, seed);
    }
}

fn never_failed(found: &Search, seed: u64) {
    let Some(rate) = found.max_rate_rps else {
        return;
    };
    let at = |verdict| {
        let probes = found.probes.iter();
        let here = probes.filter(|one| one.rate_urps.as_rps() == rate && one.verdict == verdict);
        here.count()
    };
    assert_eq!(at(ProbeVerdict::Failed), 0, "seed {seed}");
    assert!(
        at(ProbeVerdict::Passed) > found.settings.confirm as usize,
        "seed {seed}"
    );
    let lowest = found.upper_rps.unwrap_or(f64::INFINITY);
    assert!(rate < lowest, "seed {seed}");
}

/// Broken if a search of a target that answers at random does not end, or ends with a rate that
/// failed.
#[test]
fn a_target_that_works_by_chance_ends_too() {
    for seed in 0..2_000 {
        let dice = &mut Dice::new(seed);
        let chance = dice.pick(1..100);
        let found = whole(settings(20), |_| match dice.chance(chance) {
            true => ProbeVerdict::Passed,
            false => ProbeVerdict::Failed,
        });
        assert!(found.probes.len() <= PROBES_MAX, "seed {seed}");
        assert_ne!(found.state, SearchState::Searching);
        never_failed(&found, seed);
    }
}

/// Broken if a failed confirmation is ignored, or if the search does not continue below it.
#[test]
fn a_failed_confirmation_takes_the_rate_away() {
    let mut seen = 0;
    let found = whole(settings(100), |rate| {
        let is_best = rate == Rate::per_second(100);
        seen += u32::from(is_best);
        // 100/s passes once, and then never again.
        match rate < Rate::per_second(100) || (is_best && seen == 1) {
            true => ProbeVerdict::Passed,
            false => ProbeVerdict::Failed,
        }
    });
    assert_eq!(found.state, SearchState::Found);
    assert!(
        found
            .max_rate_rps
            .is_some_and(|rate| (98.0..100.0).contains(&rate))
    );
    assert_eq!(found.upper_rps, Some(100.0));
    assert_eq!(found.remarks.len(), 1, "{:?}", found.remarks);
}

/// Broken if a search without a failure goes beyond its limit, or reports an upper bound.
#[test]
fn a_target_without_a_limit_ends_at_that_of_the_search() {
    let limit = Rate::per_second(70);
    let settings = SearchSettings {
        limit_urps: limit,
        ..settings(20)
    };
    let found = whole(settings, |rate| {
        assert!(rate <= limit);
        ProbeVerdict::Passed
    });
    assert_eq!(found.state, SearchState::AtLimit);
    assert_eq!((found.max_rate_rps, found.upper_rps), (Some(70.0), None));
    assert_eq!(found.probes.len(), 3 + 2);
}

/// Broken if the limit of the load generator is reported as the target's, or the other way round.
#[test]
fn the_limit_is_that_of_the_lowest_failure() {
    let mut known = vec![
        probe(Rate::per_second(20), ProbeVerdict::Passed),
        probe(Rate::per_second(80), ProbeVerdict::Failed),
        probe(Rate::per_second(40), ProbeVerdict::Failed),
    ];
    known[2].limited_by = Some(LoadLimit::Generator);
    let found = judged(settings(20), known.clone());
    assert_eq!(found.limited_by, Some(LoadLimit::Generator));
    assert_eq!(
        found.next.map(|next| next.purpose),
        Some(ProbePurpose::Bisect)
    );
    known.push(probe(Rate::per_second(40), ProbeVerdict::Failed));
    let found = judged(settings(20), known);
    assert_eq!(found.limited_by, Some(LoadLimit::Target));
}

/// Broken if a deployment that made the target slower passes, or if one fails by chance.
#[test]
fn a_lower_maximum_is_a_regression_beyond_the_threshold_and_the_intervals() {
    let found = |knee: u64| whole(settings(20), passes_up_to(Rate::per_second(knee)));
    let before = found(1_000);
    let regressed = |current: &Search, pct| {
        let compared = compare(current, &before, pct).expect("a good threshold");
        assert_eq!(compared.obstacles, Vec::<String>::new());
        compared.regressed
    };
    assert!(regressed(&found(900), 5.0));
    assert!(!regressed(&found(900), 15.0));
    assert!(!regressed(&found(1_100), 0.0));
    // Within one precision the intervals overlap, whatever the threshold.
    assert!(!regressed(&found(999), 0.0));
    let none = whole(settings(20), |_| ProbeVerdict::Failed);
    assert_eq!(none.state, SearchState::NoRate);
    assert!(regressed(&none, 50.0));
    let unfinished = judged(settings(20), Vec::new());
    let compared = compare(&unfinished, &before, 5.0).expect("a good threshold");
    assert!(!compared.regressed && compared.obstacles[0].contains("--resume s"));
    let mut limited = found(500);
    limited.limited_by = Some(LoadLimit::Generator);
    let compared = compare(&limited, &before, 5.0).expect("a good threshold");
    assert!(!compared.regressed && compared.obstacles[0].contains("load generator"));
}

/// The result of a probe whose report is sound except for `change`.
fn probe_result(change: impl FnOnce(&mut Report)) -> (ProbeVerdict, Option<LoadLimit>) {
    let mut report = sound::report();
    report.verdict.passed = true;
    report.verdict.thresholds = Vec::new();
    report.verdict.reasons = Vec::new();
    change(&mut report);
    report.certificate = certificate(&report);
    let probe = probe_of(&report);
    assert_eq!(
        probe.reasons.is_empty(),
        probe.verdict == ProbeVerdict::Passed
    );
    (probe.verdict, probe.limited_by)
}

fn fails(report: &mut Report, metric: Metric) {
    report.verdict.passed = false;
    report.verdict.thresholds = vec![ThresholdResult {
        key: "gate".to_owned(),
        metric,
        task: None,
        operator: Operator::AtMost,
        limit: 1.0,
        actual: Some(2.0),
        passed: false,
        reason: None,
    }];
}

/// Reduces the number of calls below what a probe needs.
fn few(report: &mut Report) {
    report.latency.response.as_mut().expect("a ladder").count = 9;
}

/// Broken if a run that failed in any way passes as a probe, or if its limit is attributed to the
/// wrong side.
#[test]
fn each_way_to_fail_is_seen_and_has_its_cause() {
    let passed = (ProbeVerdict::Passed, None);
    let of_target = (ProbeVerdict::Failed, Some(LoadLimit::Target));
    let of_generator = (ProbeVerdict::Failed, Some(LoadLimit::Generator));
    assert_eq!(probe_result(|_| {}), passed);
    assert_eq!(
        probe_result(|report| fails(report, Metric::P95Ms)),
        of_target
    );
    assert_eq!(
        probe_result(|report| fails(report, Metric::ErrorRate)),
        of_target
    );
    let few_and_slow = probe_result(|report| {
        few(report);
        fails(report, Metric::P95Ms);
    });
    assert_eq!(few_and_slow, of_target);
    let late = probe_result(|report| {
        let lag = report.generator.schedule_lag.as_mut();
        lag.expect("a ladder").p99_us = 900_000;
    });
    assert_eq!(late, of_generator, "an INVALID certificate");
    let drops = |reason, metric: Option<Metric>| {
        probe_result(|report| {
            report.run.max_in_flight = None;
            report.arrivals.dropped.insert(reason, 300);
            if let Some(metric) = metric {
                fails(report, metric);
            }
        })
    };
    assert_eq!(drops(DropReason::Late, Some(Metric::P95Ms)), of_generator);
    assert_eq!(drops(DropReason::NoSlot, Some(Metric::P95Ms)), of_target);
    assert_eq!(
        drops(DropReason::NoSlot, Some(Metric::Shortfall)),
        of_generator
    );
    assert_eq!(drops(DropReason::NoSlot, None), of_generator);
}

/// Broken if a run that proves nothing about its rate counts for or against it.
#[test]
fn a_run_that_was_cut_off_or_reached_no_server_says_nothing() {
    let nothing = (ProbeVerdict::Unjudged, None);
    assert_eq!(
        probe_result(few),
        nothing,
        "a rate too low for the length of a probe"
    );
    assert_eq!(
        probe_result(|report| report.run.ending = Some(Ending::Stopped)),
        nothing
    );
    assert_eq!(
        probe_result(|report| report.run.ending = Some(Ending::Aborted)),
        nothing
    );
    assert_eq!(probe_result(|report| report.run.ending = None), nothing);
    let no_server = (ProbeVerdict::NoServer, None);
    let unanswered = Unanswered {
        calls: 40,
        causes: [].into(),
    };
    assert_eq!(
        probe_result(|report| report.run.unanswered = Some(unanswered)),
        no_server
    );
    assert_eq!(
        probe_result(|report| report.latency.unconnected = 10_000),
        no_server
    );
    // If a gate stopped the run, the gate has given the verdict.
    let breach = Breach {
        key: "p95_ms".to_owned(),
        limit: 1.0,
        actual: 2.0,
    };
    let stopped = probe_result(|report| {
        report.run.ending = Some(Ending::Stopped);
        report.run.breach = Some(breach);
        fails(report, Metric::P95Ms);
    });
    assert_eq!(stopped, (ProbeVerdict::Failed, Some(LoadLimit::Target)));
}
