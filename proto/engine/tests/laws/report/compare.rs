//! Comparisons: slower is worse, equal is not, and the parts add up to the run.

use loadpilot_engine::report::compare::compare;
use loadpilot_engine::report::compare::run_parts::{parts_of_report, run_parts};
use loadpilot_engine::report::percentiles::ladder;
use loadpilot_engine::report::report;
use loadpilot_events::answers::certificate::Grade;
use loadpilot_events::answers::compare::{
    Change, ComparedFigure, Comparison, GroupParts, RUN_PARTS_MAX, RunPart, RunParts,
};
use loadpilot_events::log::ctl::Ending;
use loadpilot_events::log::hist;
use proptest::prelude::*;

use crate::report::slices::Whole;
use crate::rules::dice::Dice;
use crate::support::history::History;
use crate::support::run_parts::completed;

/// The figures of a simulated server.
#[derive(Clone, Copy)]
struct Server {
    /// Lowest and highest response time of nine tenths of the calls, in µs.
    fast_us: (u64, u64),
    errors_per_mille: u64,
    /// Number of parts with calls.
    parts: u64,
    calls_per_part: u64,
}

const SERVER: Server = Server {
    fast_us: (900, 1_100),
    errors_per_mille: 0,
    parts: 40,
    calls_per_part: 400,
};

impl Server {
    fn slower(self, percent: u64) -> Self {
        let more = |us: u64| us * (100 + percent) / 100;
        let fast_us = (more(self.fast_us.0), more(self.fast_us.1));
        Self { fast_us, ..self }
    }

    /// A run against this server. Each part has a random factor of its own, as real servers vary.
    fn run(self, seed: u64) -> RunParts {
        let dice = &mut Dice::new(seed);
        let part = |dice: &mut Dice| {
            let mut response = hist::latency();
            let mood = dice.pick(98..103);
            let mut errors = 0;
            for _ in 0..self.calls_per_part {
                let (least, most) = self.fast_us;
                let slow = if dice.chance(10) { 3 } else { 1 };
                hist::record(&mut response, dice.pick(least..most) * slow * mood / 100);
                errors += u64::from(dice.pick(0..1_000) < self.errors_per_mille);
            }
            RunPart {
                length_us: 1_000_000,
                started: self.calls_per_part,
                finished: self.calls_per_part,
                errors,
                response: hist::encode(&response),
            }
        };
        completed(vec![GroupParts {
            task: None,
            parts: (0..self.parts).map(|_| part(dice)).collect(),
        }])
    }
}

fn changed(comparison: &Comparison, figure: ComparedFigure) -> Change {
    let mut rows = comparison.figures.iter();
    let row = rows.find(|row| row.task.is_none() && row.figure == figure);
    row.expect("each figure has a row").change
}

/// The number of pairs of runs in which the comparison finds a regression.
fn regressions(pairs: u64, current: Server, baseline: Server, threshold_pct: f64) -> usize {
    let regressed = |seed: &u64| {
        let (ours, theirs) = (current.run(2 * seed), baseline.run(2 * seed + 1));
        let found = compare(&ours, &[theirs], threshold_pct).expect("both can be compared");
        found.regressed
    };
    (0..pairs).filter(regressed).count()
}

/// Broken if noise fails a pipeline, or a server that is 5 % slower passes.
#[test]
fn slower_is_told_from_noise() {
    let failed = [SERVER, SERVER.slower(5)].map(|current| regressions(20, current, SERVER, 2.0));
    assert!(failed[0] <= 2, "{} of 20 equal pairs regress", failed[0]);
    assert!(failed[1] >= 18, "{} of 20 slower ones do", failed[1]);
    assert_eq!(
        regressions(5, SERVER.slower(5), SERVER, 50.0),
        0,
        "the threshold counts"
    );
    assert_eq!(
        regressions(5, SERVER, SERVER.slower(5), 2.0),
        0,
        "faster is no regression"
    );
}

/// Broken if one of many figures fails a pipeline by chance: each task has five figures of its own.
#[test]
fn tasks_of_few_calls_regress_seldom_by_chance() {
    let run = |seed: u64| {
        let groups = [20, 3, 4, 5, 6, 3, 4, 5, 6].into_iter().zip(0..);
        let group = |(calls_per_part, place): (u64, u64)| {
            let server = Server {
                fast_us: (500, 2_000),
                errors_per_mille: 5,
                parts: 10,
                calls_per_part,
            };
            let task = (place > 0).then(|| format!("task {place}"));
            let parts = server.run(seed * 9 + place).groups.remove(0).parts;
            GroupParts { task, parts }
        };
        completed(groups.map(group).collect())
    };
    let regressed = |seed: &u64| {
        let found = compare(&run(2 * seed), &[run(2 * seed + 1)], 10.0);
        found.expect("both can be compared").regressed
    };
    let failed = (0..40).filter(regressed).count();
    assert!(failed <= 4, "{failed} of 40 equal pairs regress");
}

/// Broken if the largest of a few response times is judged as a percentile, or if the comparison
/// does not mention that.
#[test]
fn a_percentile_of_few_requests_is_not_judged() {
    let compared = |calls_per_part| {
        let few = Server {
            parts: 10,
            calls_per_part,
            ..SERVER
        };
        let found = compare(&few.slower(100).run(1), &[few.run(2)], 10.0);
        let found = found.expect("both can be compared");
        let judged = |figure| changed(&found, figure) != Change::Unjudged;
        let figures = [
            ComparedFigure::P50Ms,
            ComparedFigure::P95Ms,
            ComparedFigure::P99Ms,
        ];
        (figures.map(judged), found.remarks)
    };
    assert_eq!(compared(20), ([true, true, true], Vec::new()));
    let remark = |percent, least| {
        format!("p{percent} of the run is not judged: each run needs at least {least} requests")
    };
    let of_few = vec![remark(99, 200)];
    assert_eq!(compared(19), ([true, true, false], of_few));
    let of_fewer = vec![remark(95, 40), remark(99, 200)];
    assert_eq!(compared(3), ([true, false, false], of_fewer));
}

/// Broken if the largest of a few response times fails a pipeline where the threshold judges alone.
#[test]
fn a_percentile_of_few_requests_is_not_judged_without_intervals() {
    let few = Server {
        parts: 1,
        calls_per_part: 20,
        ..SERVER
    };
    let found = compare(&few.slower(100).run(1), &[few.run(2)], 10.0);
    let found = found.expect("both can be compared");
    let percentiles = [
        ComparedFigure::P50Ms,
        ComparedFigure::P95Ms,
        ComparedFigure::P99Ms,
    ];
    let changes = percentiles.map(|figure| changed(&found, figure));
    assert_eq!(changes, [Change::Worse, Change::Unjudged, Change::Unjudged]);
    let remarks = [
        "without intervals (a results file, or less than 8 ticks with calls) only the threshold \
         judges",
        "p95 of the run is not judged: each run needs at least 40 requests",
        "p99 of the run is not judged: each run needs at least 200 requests",
    ];
    assert_eq!(found.remarks, remarks);
}

/// Broken if a task that one side lacks disappears from the comparison without a word.
#[test]
fn a_task_that_one_side_lacks_is_named() {
    let with = |task: &str| {
        let mut run = SERVER.run(1);
        let parts = run.groups[0].parts.clone();
        let task = Some(task.to_owned());
        run.groups.push(GroupParts { task, parts });
        run
    };
    let found = compare(&with("new"), &[with("old")], 10.0).expect("both can be compared");
    let remarks = [
        "task old is not in the current run, and is not compared",
        "task new is not in every baseline, and is not compared",
    ];
    assert_eq!(found.remarks, remarks);
}

/// Broken if the rate of a run that was stopped in its ramp fails a pipeline, or if its latency
/// does not.
#[test]
fn the_rate_of_a_stopped_run_is_not_judged() {
    let few = Server {
        calls_per_part: 200,
        ..SERVER.slower(50)
    };
    let stopped = RunParts {
        ending: Some(Ending::Stopped),
        ..few.run(1)
    };
    let found = compare(&stopped, &[SERVER.run(2)], 10.0).expect("both can be compared");
    let figures = [ComparedFigure::AchievedRps, ComparedFigure::P50Ms];
    let changes = figures.map(|figure| changed(&found, figure));
    assert_eq!(changes, [Change::Unjudged, Change::Worse]);
    let id = &stopped.run;
    let remark = format!("run {id} was stopped; rates are not judged");
    assert_eq!(found.remarks, [remark]);
}

/// Broken if errors pass where the baseline had none, because nothing is a percentage of zero.
#[test]
fn errors_after_none_are_a_regression() {
    let failing = Server {
        errors_per_mille: 20,
        ..SERVER
    };
    assert_eq!(regressions(5, failing, SERVER, 50.0), 5);
    let one = Server {
        errors_per_mille: 0,
        ..SERVER
    };
    let mut current = one.run(1);
    current.groups[0].parts[3].errors = 1;
    let found = compare(&current, &[one.run(1)], 10.0).expect("both can be compared");
    let change = changed(&found, ComparedFigure::ErrorRatePct);
    assert_eq!(
        (change, found.regressed),
        (Change::Noise, false),
        "one error may be chance"
    );
}

/// Broken if the spread within one run is used where several runs show how far runs differ.
#[test]
fn several_runs_show_the_spread_between_runs() {
    let percents = [0, 2, 4, 6, 8, 10];
    let baseline: Vec<RunParts> = percents
        .iter()
        .map(|&percent| SERVER.slower(percent).run(percent + 7))
        .collect();
    let current = SERVER.slower(9).run(100);
    let alone = compare(&current, &baseline[..1], 2.0).expect("both can be compared");
    let among = compare(&current, &baseline, 2.0).expect("all can be compared");
    assert_eq!(changed(&alone, ComparedFigure::P50Ms), Change::Worse);
    assert_eq!(changed(&among, ComparedFigure::P50Ms), Change::Noise);
    let worse = compare(&SERVER.slower(30).run(5), &baseline, 2.0).expect("all can be compared");
    assert_eq!(changed(&worse, ComparedFigure::P50Ms), Change::Worse);
}

/// Broken if a task with few calls fails a pipeline by chance, or hides that the run is slower.
#[test]
fn a_task_of_few_calls_is_not_judged_beside_a_run_of_many() {
    let rare = Server {
        parts: 3,
        calls_per_part: 2,
        ..SERVER
    };
    let run = |whole: Server, task: Server, seed| {
        let mut run = whole.run(seed);
        let parts = task.run(seed).groups.remove(0).parts;
        let task = Some("report".to_owned());
        run.groups.push(GroupParts { task, parts });
        run
    };
    let compared = |whole: Server, current: Server| {
        let (ours, theirs) = (run(current, rare.slower(50), 1), run(whole, rare, 2));
        compare(&ours, &[theirs], 10.0).expect("both can be compared")
    };
    let found = compared(SERVER, SERVER);
    let mut of_task = found.figures.iter().filter(|row| row.task.is_some());
    assert!(of_task.all(|row| matches!(row.change, Change::Unjudged | Change::Equal)));
    assert!(!found.regressed, "{:?}", found.figures);
    let remark = "task report has calls in less than 8 parts of a run, and is not judged";
    assert_eq!(found.remarks, [remark]);
    assert!(compared(SERVER, SERVER.slower(50)).regressed);
    assert!(compared(rare, rare).regressed, "the threshold judges alone");
}

/// Broken if figures that prove nothing pass or fail a pipeline.
#[test]
fn figures_that_cannot_be_trusted_are_not_judged() {
    let (sound, slow) = (SERVER.run(1), SERVER.slower(50).run(2));
    let invalid = |run: &RunParts| RunParts {
        grade: Grade::Invalid,
        ..run.clone()
    };
    let open = |run: &RunParts| RunParts {
        ending: None,
        ..run.clone()
    };
    let unreached = |run: &RunParts| RunParts {
        has_reached: false,
        ..run.clone()
    };
    let aborted = |run: &RunParts| RunParts {
        ending: Some(Ending::Aborted),
        ..run.clone()
    };
    for (current, baseline) in [
        (invalid(&slow), sound.clone()),
        (slow.clone(), invalid(&sound)),
        (open(&slow), sound.clone()),
        (slow.clone(), aborted(&sound)),
        (unreached(&slow), sound.clone()),
    ] {
        let found = compare(&current, &[baseline], 1.0).expect("both can be compared");
        assert_eq!((found.obstacles.len(), found.regressed), (1, false));
    }
    let other = RunParts {
        scenario: "Other".to_owned(),
        ..sound.clone()
    };
    let found = compare(&slow, &[other], 1.0).expect("both can be compared");
    assert!(found.regressed && found.remarks[0].contains("other scenario"));
    for (baseline, threshold) in [(vec![], 1.0), (vec![sound.clone()], -1.0)] {
        assert!(compare(&slow, &baseline, threshold).is_err());
    }
}

/// Broken if a target that fails at a lower rate passes, or if runs without levels are judged.
#[test]
fn a_lower_rate_that_is_held_is_a_regression() {
    let held = |held_rps: Option<f64>| RunParts {
        held_rps,
        ..SERVER.run(1)
    };
    let change = |current, baseline: &[Option<f64>]| {
        let baseline: Vec<RunParts> = baseline.iter().map(|rps| held(*rps)).collect();
        let found = compare(&held(current), &baseline, 10.0).expect("both can be compared");
        let mut rows = found.figures.iter();
        let row = rows.find(|row| row.figure == ComparedFigure::HeldRps);
        (row.map(|row| row.change), found.regressed)
    };
    let rises = [Some(400.0), Some(500.0), Some(600.0)];
    assert_eq!(change(Some(300.0), &rises), (Some(Change::Worse), true));
    assert_eq!(change(Some(0.0), &rises), (Some(Change::Worse), true));
    assert_eq!(change(Some(480.0), &rises), (Some(Change::Small), false));
    assert_eq!(change(Some(600.0), &rises), (Some(Change::Better), false));
    assert_eq!(
        change(Some(100.0), &[Some(0.0)]),
        (Some(Change::Better), false)
    );
    assert_eq!(change(None, &rises), (None, false));
    assert_eq!(change(Some(300.0), &[Some(500.0), None]), (None, false));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    /// Broken if the parts lack a call, count one twice, or cover another time than the report.
    #[test]
    fn parts_are_their_run(seed: u64) {
        let history = History::new(seed);
        let whole = Whole::of(&history, &history.data);
        let run = whole.run();
        let report = report(run.control, run.data).expect("the run is known");
        let parts = run_parts(run, &report).expect("it was created");
        prop_assert_eq!(parts.groups.len(), 1 + report.tasks.len());
        let of_tasks = report.tasks.iter().map(|task| (task.finished, task.errors));
        let raised = report.task_raises.map_or(0, |raised| raised.without_call);
        let finished = report.latency.response.as_ref().map_or(0, |ladder| ladder.count);
        let total = (finished + raised, report.errors_total);
        let expected = [total].into_iter().chain(of_tasks);
        for (group, expected) in parts.groups.iter().zip(expected) {
            prop_assert!(group.parts.len() <= RUN_PARTS_MAX as usize);
            let sum = |of: fn(&RunPart) -> u64| group.parts.iter().map(of).sum::<u64>();
            prop_assert_eq!((sum(|part| part.finished), sum(|part| part.errors)), expected);
        }
        let mut response = hist::latency();
        for part in &parts.groups[0].parts {
            response.add(hist::decode(&part.response).expect("ours")).expect("it grows");
        }
        prop_assert_eq!(ladder(&response), report.latency.response.clone());
        let mut of_calls = hist::latency();
        for part in parts.calls.iter().flat_map(|call| &call.response) {
            of_calls.add(hist::decode(part).expect("ours")).expect("it grows");
        }
        prop_assert_eq!(ladder(&of_calls), report.latency.response.clone(), "of the calls");
        let started = parts.groups[0].parts.iter().map(|part| part.started).sum::<u64>();
        prop_assert_eq!(started, report.rates.started);
        let equal = compare(&parts, std::slice::from_ref(&parts), 0.0);
        let equal = equal.expect("both can be compared");
        let same = [Change::Equal, Change::Unjudged];
        prop_assert!(equal.figures.iter().all(|row| same.contains(&row.change)));
        let alone = parts_of_report(&report);
        let equal = compare(&parts, &[alone], 0.0).expect("both can be compared");
        prop_assert!(!equal.regressed, "{:?}", equal.figures);
        let held = usize::from(parts.held_rps.is_some());
        prop_assert_eq!(equal.figures.len(), 6 * parts.groups.len() + held);
        for row in &equal.figures {
            let has_rate = row.task.is_none() || report.warm_up.warm_up_us == 0;
            if has_rate || row.figure != ComparedFigure::AchievedRps {
                prop_assert_eq!(row.baseline, row.current, "{:?}", row);
            }
        }
    }
}
