//! A run that goes on is judged by the ticks that its deltas cover, whenever its agents close them.

use std::collections::BTreeMap;

use loadpilot_engine::control::{Control, ControlLog};
use loadpilot_engine::fold::as_of::AsOf;
use loadpilot_engine::fold::project::Projection;
use loadpilot_engine::report::report;
use loadpilot_engine::tally::{Ledger, RowKey, Tally};
use loadpilot_events::answers::report::Report;
use loadpilot_events::id::Holder;
use loadpilot_events::log::delta::Gauges;
use loadpilot_events::wire::subject::Kind;
use proptest::prelude::*;

use crate::fold::projection::add;
use crate::report::time_range::due_in;
use crate::rules::dice::Dice;
use crate::support::history::{History, Map, Record, encode};

/// Minimum number of ticks by which a silent holder is behind.
const SILENT: u64 = 4;

/// A run that goes on, of which each holder reports every arrival, until it falls silent.
struct Going {
    history: History,
    map: Map,
    log: ControlLog,
    /// The ends of the windows of each holder, in µs.
    windows: BTreeMap<Holder, Vec<u64>>,
}

impl Going {
    fn new(seed: u64) -> Self {
        let history = History::new(seed);
        let map = history.maps[0].clone();
        let mut log = ControlLog::new(history.run.clone());
        for record in &history.control {
            let later = ["RunSealed", "StopScheduled", "ShardsReassigned"];
            let text = String::from_utf8_lossy(&record.payload);
            if !later.iter().any(|kind| text.contains(kind)) {
                log.add(&record.subject, &record.kind, record.seq, &record.payload);
            }
        }
        let dice = &mut Dice::new(!seed);
        let tick_us = history.plan.tick_us;
        let mut windows = BTreeMap::new();
        for holding in &map.holdings {
            let offset_us = dice.pick(0..tick_us);
            let all = u64::from(history.workload.ticks()) + 2;
            let some = if dice.chance(40) {
                dice.pick(0..all)
            } else {
                all
            };
            let ends = (1..=some).map(|tick| tick * tick_us + offset_us);
            windows.insert(holding.holder.clone(), ends.collect());
        }
        Self {
            history,
            map,
            log,
            windows,
        }
    }

    fn holder_of(&self, n: u64) -> Holder {
        let owner = self.map.owner(n, self.history.shards);
        owner
            .expect("each shard of the first map has a holder")
            .clone()
    }

    /// The deltas of all holders, and when their windows ended.
    fn deltas(&self) -> Vec<(u64, Record)> {
        let mut records = Vec::new();
        for (holder, ends) in &self.windows {
            let mut ledger = Ledger::new(holder.boot_id.clone());
            let mut from_us = 0;
            for &to_us in ends {
                let mut tally = Tally::new();
                for n in 0..self.history.workload.planned() {
                    let due_us = self.history.dues_us[n as usize];
                    if (from_us..to_us).contains(&due_us) && self.holder_of(n) == *holder {
                        let (tick, task) = (
                            self.history.workload.tick_of(due_us),
                            self.history.workload.task_of(n),
                        );
                        tally.started(RowKey {
                            tick,
                            generation: 1,
                            task,
                        });
                    }
                }
                let closed = ledger.close(tally.take(), from_us, to_us, Gauges::default());
                records.extend(closed.iter().map(|delta| {
                    (
                        to_us,
                        Record {
                            subject: self
                                .history
                                .subjects
                                .delta(&self.history.run, &holder.agent),
                            kind: Kind::Delta(holder.agent.clone()),
                            seq: 0,
                            payload: encode(delta),
                        },
                    )
                }));
                from_us = to_us;
            }
        }
        for (seq, (_, record)) in (1..).zip(&mut records) {
            record.seq = seq;
        }
        records
    }

    /// Checks the report of the deltas that had ended at an instant.
    fn check(&self, us: u64, report: &Report) {
        let tick_us = self.history.plan.tick_us;
        let newest = |ends: &Vec<u64>| ends.iter().copied().filter(|&end| end <= us).max();
        let covered = self.windows.iter();
        let covered: BTreeMap<&Holder, u64> = covered
            .map(|(holder, ends)| (holder, newest(ends).unwrap_or(0)))
            .collect();
        let due = us / tick_us;
        let reached = report.series.len() as u64;
        let mut waiting = 0;
        for n in 0..self.history.workload.planned() {
            let due_us = self.history.dues_us[n as usize];
            let holder = self.holder_of(n);
            if due_us / tick_us < reached && due_us >= covered[&holder] {
                waiting += 1;
                let behind = due - covered[&holder] / tick_us;
                assert!(behind >= SILENT, "{holder} is {behind} ticks behind");
            }
        }
        let ticks = u32::try_from(reached).expect("few ticks");
        assert_eq!(report.arrivals.planned, due_in(&self.history, &(0..ticks)));
        assert_eq!(report.arrivals.waiting, waiting);
        let all = due.min(u64::from(self.history.workload.ticks()));
        let held_back = covered.values().any(|us| us / tick_us == reached);
        assert!(reached == all || held_back, "{reached} of {all} ticks");
    }

    /// The report of the deltas that had ended at an instant.
    fn report(&self, control: &Control, us: u64, deltas: &[(u64, Record)]) -> Report {
        let mut data = Projection::default();
        for (_, record) in deltas.iter().filter(|(end, _)| *end <= us) {
            add(&mut data, control, std::slice::from_ref(record));
        }
        report(control, &data).expect("the run is known")
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    /// Broken if arrivals count as not started that an agent has had no time to report, or if those
    /// of a silent agent do not.
    #[test]
    fn what_is_not_reported_yet_is_not_missing(seed: u64) {
        let going = Going::new(seed);
        let deltas = going.deltas();
        let ends = deltas.iter().map(|(end, _)| *end);
        let newest = ends.max().unwrap_or(0);
        let control = going.log.close();
        going.check(newest, &going.report(&control, newest, &deltas));
        let dice = &mut Dice::new(seed);
        for _ in 0..5 {
            let us = dice.pick(0..newest + 10 * going.history.plan.tick_us);
            let then = AsOf::new(&going.log, us).expect("it started");
            going.check(us, &going.report(then.control(), us, &deltas));
        }
    }
}
