//! The fold: one log gives one report, however it is read, and its sums always balance.

use loadpilot_engine::control::{Control, ControlLog};
use loadpilot_engine::fold::project::Projection;
use loadpilot_engine::report::{report, report_without_series};
use loadpilot_events::answers::report::{Ladder, Report, TaskReport};
use loadpilot_events::wire::subject::Kind;
use proptest::prelude::*;

use crate::rules::dice::Dice;
use crate::support::history::{History, Record};
use crate::support::naive;

/// The control side of a history, read in the order of `records`.
pub(crate) fn control(history: &History, records: &[Record]) -> Control {
    let mut log = ControlLog::new(history.run.clone());
    for record in records {
        log.add(&record.subject, &record.kind, record.seq, &record.payload);
    }
    log.close()
}

/// Adds records of LP_DATA to a projection.
pub(crate) fn add(data: &mut Projection, control: &Control, records: &[Record]) {
    for record in records {
        let Kind::Delta(agent) = &record.kind else {
            panic!("only deltas stand in LP_DATA");
        };
        data.add(control, agent, &record.subject, record.seq, &record.payload);
    }
}

/// The report of a history, its records read in the order of `ctl` and `deltas`.
pub(crate) fn fold(history: &History, ctl: &[Record], deltas: &[Record]) -> Report {
    let control = control(history, ctl);
    let mut data = Projection::default();
    add(&mut data, &control, deltas);
    report(&control, &data).expect("the run is known")
}

/// `planned = started + Σ dropped + lost`, of the run and of each task.
pub(crate) fn balances(report: &Report) {
    let tasks = report.tasks.iter().map(|task| &task.arrivals);
    for counts in tasks.chain([&report.arrivals]) {
        let settled = counts.started + counts.dropped_total() + counts.lost + counts.waiting;
        assert_eq!(counts.planned, settled, "{counts:?}");
    }
    for one in &report.types {
        let tasks = report
            .tasks
            .iter()
            .filter(|task| one.tasks.contains(&task.name));
        let tasks: Vec<_> = tasks.collect();
        let figures = (
            one.arrivals.planned,
            one.arrivals.started,
            one.arrivals.lost,
        );
        let sum = |of: fn(&TaskReport) -> u64| tasks.iter().map(|task| of(task)).sum::<u64>();
        let planned = sum(|task| task.arrivals.planned);
        let started = sum(|task| task.arrivals.started);
        let lost = sum(|task| task.arrivals.lost);
        assert_eq!(figures, (planned, started, lost), "{}", one.name);
        let dropped = sum(|task| task.arrivals.dropped_total());
        assert_eq!(one.arrivals.dropped_total(), dropped, "{}", one.name);
        let calls = (one.errors, one.finished, one.unconnected);
        let unconnected = sum(|task| task.unconnected);
        let of_tasks = (
            sum(|task| task.errors),
            sum(|task| task.finished),
            unconnected,
        );
        assert_eq!(calls, of_tasks, "{}", one.name);
        let count = |ladder: &Option<Ladder>| ladder.as_ref().map_or(0, |ladder| ladder.count);
        let responses: u64 = tasks.iter().map(|task| count(&task.response)).sum();
        assert_eq!(count(&one.response), responses, "{}", one.name);
        let longest = tasks
            .iter()
            .filter_map(|task| task.response.as_ref()?.max_us.into())
            .max();
        assert_eq!(
            one.response.as_ref().map(|ladder| ladder.max_us),
            longest,
            "{}",
            one.name
        );
    }
    let planned: u64 = report.tasks.iter().map(|task| task.arrivals.planned).sum();
    assert_eq!(planned, report.arrivals.planned, "the tasks are the run");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    /// Every figure of the report equals the figure computed from all arrivals one by one.
    #[test]
    fn the_report_is_what_happened(seed: u64) {
        let history = History::new(seed);
        let report = fold(&history, &history.control, &history.data);
        naive::compare(&history, &report);
        balances(&report);
        prop_assert_eq!(report.arrivals.waiting, 0, "nothing waits in a sealed run");
    }

    /// Following a log record by record gives the same state as reading it at once.
    #[test]
    fn catching_up_is_reading_anew(seed: u64, shuffled: bool) {
        let history = History::new(seed);
        let mut records = history.control.clone();
        if shuffled {
            Dice::new(!seed).shuffle(&mut records);
        }
        let mut log = ControlLog::new(history.run.clone());
        let mut control = log.close();
        for (place, record) in records.iter().enumerate() {
            let payload = if place % 5 == 4 { b"{" } else { record.payload.as_slice() };
            log.add(&record.subject, &record.kind, record.seq, payload);
            log.catch_up(&mut control);
            prop_assert_eq!(format!("{control:?}"), format!("{:?}", log.close()));
        }
    }

    /// Broken if a report depends on the order in which its log was delivered: it could not be
    /// reproduced.
    #[test]
    fn the_digest_does_not_depend_on_order_or_duplication(seed: u64) {
        let history = History::new(seed);
        let expected = fold(&history, &history.control, &history.data);
        let dice = &mut Dice::new(!seed);
        let (mut ctl, mut data) = (history.control.clone(), history.data.clone());
        for records in [&mut ctl, &mut data] {
            let copies: Vec<Record> = records.iter().filter(|_| dice.chance(30)).cloned().collect();
            records.extend(copies);
            dice.shuffle(records);
        }
        let late = |record: &&Record| record.seq > history.data_seq();
        let late = data.iter().filter(late).count() as u64;
        let found = fold(&history, &ctl, &data);
        prop_assert_eq!(&found.digest, &expected.digest);
        prop_assert_eq!(found.gaps.late_deltas, late, "late deltas count as late only");
    }

    /// A fold that continues from a snapshot equals the fold of everything.
    #[test]
    fn the_digest_does_not_depend_on_the_snapshot_point(seed: u64) {
        let history = History::new(seed);
        let control = control(&history, &history.control);
        let cut = Dice::new(seed).pick(0..history.data.len() as u64 + 1) as usize;
        let mut data = Projection::default();
        add(&mut data, &control, &history.data[..cut]);
        let mut snapshot = data.clone();
        add(&mut snapshot, &control, &history.data[cut..]);
        let resumed = report(&control, &snapshot).expect("the run is known");
        let expected = fold(&history, &history.control, &history.data);
        prop_assert_eq!(&resumed.digest, &expected.digest);
        let half = report(&control, &data).expect("the run is known");
        balances(&half);
    }

    /// A comparison reads the same figures as the reader of the report.
    #[test]
    fn without_series_all_else_is_the_same(seed: u64, is_sealed: bool) {
        let history = History::new(seed);
        let end = history.control.len() - usize::from(!is_sealed);
        let control = control(&history, &history.control[..end]);
        let mut data = Projection::default();
        add(&mut data, &control, &history.data);
        let whole = report(&control, &data).expect("the run is known");
        let less = report_without_series(&control, &data).expect("the run is known");
        let expected = Report { series: Vec::new(), digest: String::new(), ..whole };
        prop_assert_eq!(less, expected);
    }

    /// While a run goes on nothing is lost yet: unreported arrivals count as waiting.
    #[test]
    fn an_unsealed_run_waits_for_what_is_missing(seed: u64) {
        let history = History::new(seed);
        let open = &history.control[..history.control.len() - 1];
        let report = fold(&history, open, &history.data);
        balances(&report);
        prop_assert_eq!(report.arrivals.lost, 0);
        prop_assert_eq!(report.gaps.lost.len(), 0);
        prop_assert!(!report.verdict.passed, "no gate passes before the end");
    }

    /// A record stored after the seal, readable or not, does not change the report.
    #[test]
    fn nothing_after_the_seal_changes_the_digest(seed: u64) {
        let history = History::new(seed);
        let expected = fold(&history, &history.control, &history.data).digest;
        let last = history.control.len() as u64;
        let mut ctl = history.control.clone();
        for (place, old) in history.control.iter().enumerate() {
            let payload = if place % 2 == 0 { b"?".to_vec() } else { old.payload.clone() };
            let seq = last + 1 + place as u64;
            ctl.push(Record { seq, payload, ..old.clone() });
        }
        prop_assert_eq!(fold(&history, &ctl, &history.data).digest, expected);
    }
}

/// A history in which two holders lost arrivals of two tasks in the tick of the stop, and in which
/// an arrival of one was once counted as the other's.
#[test]
fn what_each_holder_lost_before_a_stop_is_all_lost() {
    let history = History::new(2_951_978_424_865_790_109);
    let report = fold(&history, &history.control, &history.data);
    naive::compare(&history, &report);
}
