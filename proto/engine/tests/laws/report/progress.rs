//! A running run is judged by the ticks that its deltas cover, whenever its agents close them.

use std::collections::BTreeMap;

use loadpilot_engine::control::{Control, ControlLog};
use loadpilot_engine::fold::as_of::AsOf;
use loadpilot_engine::fold::delta_record::DeltaRecord;
use loadpilot_engine::fold::progress::{OpenArrivals, ticks_settled};
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

/// A running run of which each holder reports every arrival, until the holder falls silent.
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
        let owner = self.map.owner(n, &self.history);
        owner
            .expect("each shard of the first map has a holder")
            .clone()
    }

    /// The deltas of all holders, and when their windows ended. An arrival `n` lasts for
    /// `lasts_us(n)` and is reported when it has ended.
    fn deltas(&self, lasts_us: impl Fn(u64) -> u64) -> Vec<(u64, Record)> {
        let mut records = Vec::new();
        for (holder, ends) in &self.windows {
            let mut ledger = Ledger::new(holder.boot_id.clone());
            let mut from_us = 0;
            for &to_us in ends {
                let mut tally = Tally::new();
                let mut gauges = Gauges::default();
                for n in 0..self.history.workload.planned() {
                    let due_us = self.history.dues_us[n as usize];
                    let end_us = due_us + lasts_us(n);
                    let is_mine = self.holder_of(n) == *holder;
                    if is_mine && due_us < to_us && end_us >= to_us {
                        gauges.oldest_us = gauges.oldest_us.max(to_us - due_us);
                    }
                    if (from_us..to_us).contains(&end_us) && is_mine {
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
                let closed = ledger.close(tally.take(), from_us, to_us, gauges);
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

fn parsed(record: &Record) -> DeltaRecord {
    let Kind::Delta(agent) = &record.kind else {
        panic!("{} is no delta", record.subject);
    };
    let (subject, seq) = (record.subject.clone(), record.seq);
    DeltaRecord::parse(agent.clone(), subject, seq, &record.payload)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    /// Broken if arrivals that an agent has had no time to report count as not started, or if those
    /// of a silent agent do not.
    #[test]
    fn what_is_not_reported_yet_is_not_missing(seed: u64) {
        let going = Going::new(seed);
        let deltas = going.deltas(|_| 0);
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

    /// Broken if rows of a tick are returned as complete while an arrival of the tick is open on an
    /// agent that reports, or if a tick is never complete.
    #[test]
    fn a_settled_tick_has_no_open_arrival(seed: u64) {
        let going = Going::new(seed);
        let tick_us = going.history.plan.tick_us;
        let lasts_us = |n: u64| Dice::new(seed ^ n).pick(0..5 * tick_us);
        let deltas = going.deltas(lasts_us);
        let control = going.log.close();
        let newest = deltas.iter().map(|(end, _)| *end).max().unwrap_or(0);
        let dice = &mut Dice::new(!seed);
        for us in (0..8).map(|_| dice.pick(0..newest + 1)).chain([newest]) {
            let (mut data, mut open) = (Projection::default(), OpenArrivals::default());
            let mut covered: BTreeMap<&Holder, u64> = BTreeMap::new();
            for (_, record) in deltas.iter().filter(|(end, _)| *end <= us) {
                add(&mut data, &control, std::slice::from_ref(record));
                open.add(&parsed(record));
            }
            for (holder, ends) in &going.windows {
                let end = ends.iter().copied().filter(|end| *end <= us).max();
                covered.insert(holder, end.unwrap_or(0));
            }
            let settled = ticks_settled(&control, &data, &open, tick_us).expect("it goes on");
            let ahead = covered.values().max().expect("a holder") / tick_us;
            let speaks = |holder: &Holder| ahead - covered[holder] / tick_us < SILENT;
            let mut first_open = ahead;
            for n in 0..going.history.workload.planned() {
                let (due_us, holder) = (going.history.dues_us[n as usize], going.holder_of(n));
                if speaks(&holder) && due_us + lasts_us(n) >= covered[&holder] {
                    first_open = first_open.min(due_us / tick_us);
                }
            }
            let reached = covered.iter().filter(|(holder, _)| speaks(holder));
            let reached = reached.map(|(_, us)| us / tick_us).min().unwrap_or(0);
            prop_assert_eq!(u64::from(settled), first_open.min(reached));
        }
    }
}
