//! Accounting: every planned arrival is started, dropped, lost or, while the run goes on, waiting.
//!
//! Planned arrivals come from the log, never from an agent's count. They are compared tick by tick
//! with what holders reported, and the difference is named: stopped, unowned, or lost by a holder.
//! A closed loop plans nothing; there, planned is what was reported. The accounts must never be
//! balanced by a guess.

use std::collections::BTreeMap;
use std::ops::Range;

use loadpilot_events::answers::report::{ArrivalCounts, LostInterval, Quarantined};
use loadpilot_events::id::Holder;
use loadpilot_events::log::delta::SessionCounts;
use loadpilot_events::log::outcome::DropReason;
use loadpilot_events::plan::Plan;

use crate::bugs::{Bug, bug};
use crate::control::Control;
use crate::fold::arrival_counts::{Accounts, TickAccount};
use crate::fold::closed_loop::unreported;
use crate::fold::contradictions;
use crate::fold::planned::{Planned, PlannedTick};
use crate::fold::project::Projection;
use crate::schedule::workload::Workload;
use crate::tally::aggregates::{ArrivalSums, add_counts};

/// What became of arrivals that no holder reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Settlement {
    Waiting,
    Dropped(DropReason),
    Lost,
}

/// The due ticks of a whole run.
pub const WHOLE: Range<u32> = 0..u32::MAX;

/// Compares reported with planned arrivals for the due ticks of `part`. Contradictions, and the
/// unreported time of users, are those of the whole run.
#[must_use]
pub fn account(
    control: &Control,
    data: &Projection,
    plan: &Plan,
    workload: &Workload,
    part: &Range<u32>,
) -> Accounts {
    let mut whole = settled(control, data, plan, workload, &WHOLE);
    contradictions::name(control, data, plan, &mut whole);
    if *part == WHOLE {
        return whole;
    }
    let mut accounts = settled(control, data, plan, workload, part);
    let overlaps = |lost: &LostInterval| lost.from_tick < part.end && lost.to_tick >= part.start;
    accounts.lost.retain(overlaps);
    Accounts {
        lost_time_pct: whole.lost_time_pct,
        contradictions: whole.contradictions,
        surplus_pct: whole.surplus_pct,
        ..accounts
    }
}

/// The accounts of the arrivals that are due in the ticks of `part`.
fn settled(
    control: &Control,
    data: &Projection,
    plan: &Plan,
    workload: &Workload,
    part: &Range<u32>,
) -> Accounts {
    let planned = Planned::new(workload, control);
    let mut accounting = Accounting {
        control,
        data,
        workload,
        planned: &planned,
        newest_lost: BTreeMap::new(),
        accounts: Accounts {
            total: ArrivalCounts {
                sessions: plan.has_sessions().then(SessionCounts::default),
                ..ArrivalCounts::default()
            },
            tasks: vec![ArrivalCounts::default(); plan.tasks.len()],
            stopped_unreported: vec![0; plan.tasks.len()],
            ..Accounts::default()
        },
        stop_tick: control.stopped_at_us().map(|us| workload.tick_of(us)),
        ticks: part.start..part.end.min(workload.ticks()),
    };
    let arrivals = workload.arrivals_in_ticks(part);
    accounting.accounts.total.planned = arrivals.end - arrivals.start;
    let per_task = workload.count_per_task(arrivals);
    for (task, planned) in accounting.accounts.tasks.iter_mut().zip(per_task) {
        task.planned = planned;
    }
    for (_, task, sums) in data.arrivals.range(part.clone()) {
        accounting.reported(task, &sums);
    }
    match workload.users() {
        Some(_) => accounting.closed_loop(),
        None => accounting
            .ticks
            .clone()
            .for_each(|tick| accounting.tick(tick)),
    }
    accounting.incomplete_tails();
    accounting.check_holders();
    accounting.check_balance();
    let mut holders = control.state.ever_held.iter();
    accounting.accounts.is_complete = holders.all(|holder| accounting.is_fully_reported(holder));
    accounting.accounts
}

struct Accounting<'a> {
    control: &'a Control,
    data: &'a Projection,
    workload: &'a Workload,
    planned: &'a Planned<'a>,
    accounts: Accounts,
    /// Position in the accounts of the newest lost interval of each holder.
    newest_lost: BTreeMap<Holder, usize>,
    stop_tick: Option<u32>,
    /// The due ticks that are accounted.
    ticks: Range<u32>,
}

impl Accounting<'_> {
    fn reported(&mut self, task: u16, sums: &ArrivalSums) {
        let task = self.accounts.tasks.get_mut(usize::from(task));
        for counts in [Some(&mut self.accounts.total), task].into_iter().flatten() {
            counts.started += sums.started;
            counts.task_errors += sums.task_errors;
            if sums.sessions != SessionCounts::default() {
                counts.sessions.get_or_insert_default().add(sums.sessions);
            }
            add_counts(&mut counts.dropped, &sums.dropped);
        }
    }

    /// A closed loop plans nothing: planned is what was reported.
    fn closed_loop(&mut self) {
        let accounts = &mut self.accounts;
        for counts in accounts.tasks.iter_mut().chain([&mut accounts.total]) {
            counts.planned = counts.started + counts.dropped_total();
        }
        let ticks = self.workload.ticks();
        for tick in self.ticks.clone() {
            let account = self.reported_in(tick);
            let planned = account.started + account.dropped;
            let account = TickAccount { planned, ..account };
            self.accounts.ticks.insert(tick, account);
        }
        let stopped_us = self.control.stopped_at_us().unwrap_or(u64::MAX);
        let whole = stopped_us.div_ceil(self.workload.tick_us());
        let offered = u32::try_from(whole).map_or(ticks, |whole| whole.min(ticks));
        let unreported = unreported(self.control, self.data, self.workload, offered);
        self.accounts.lost = unreported.lost;
        self.accounts.lost_time_pct = Some(unreported.time_pct);
    }

    fn reported_in(&self, tick: u32) -> TickAccount {
        let mut account = TickAccount::default();
        for (.., sums) in self.data.arrivals.range(tick..=tick) {
            account.started += sums.started;
            account.dropped += sums.dropped.values().sum::<u64>();
        }
        account
    }

    fn tick(&mut self, tick: u32) {
        let range = self.planned.range(tick);
        let count = range.end - range.start;
        let account = TickAccount {
            planned: count,
            ..self.reported_in(tick)
        };
        self.accounts.ticks.insert(tick, account);
        let reported = account.started + account.dropped;
        if reported > count {
            self.contradiction(format!("tick {tick}: {reported} reported, {count} planned"));
        }
        if reported < count && !bug(Bug::LossUnnamed) {
            self.missing(tick);
        }
    }

    /// Settles the arrivals of `tick` that no holder reported.
    fn missing(&mut self, tick: u32) {
        let accounting = self.planned;
        let planned = accounting.tick(tick);
        if self.stop_tick == Some(tick) && self.settlement(tick, false) != Settlement::Waiting {
            return self.missing_at_stop(tick, &planned);
        }
        let mut lost = 0;
        for (holder, count) in &planned.held {
            let sums = self.data.holders.get(holder);
            let reported = sums
                .and_then(|s| s.reported.get(&tick))
                .copied()
                .unwrap_or(0);
            let missing = count.saturating_sub(reported);
            if missing > 0 && self.settlement(tick, false) == Settlement::Lost {
                self.lose(holder, tick, missing);
                lost += missing;
            }
        }
        let held_fate = self.settlement(tick, false);
        let unowned_fate = self.settlement(tick, true);
        let mixed = held_fate != unowned_fate && planned.unowned > 0 && lost > 0;
        let per_task = self.workload.count_per_task(planned.range.clone());
        let unowned = if mixed {
            self.unowned_per_task(tick, &planned)
        } else {
            Vec::new()
        };
        let all_unowned = planned.unowned > 0 && lost == 0;
        let rows = self.data.arrivals.by_task(tick..=tick);
        for (task, planned_count) in per_task.into_iter().enumerate() {
            let number = u16::try_from(task).unwrap_or(u16::MAX);
            let reported = rows.get(&number).map_or(0, ArrivalSums::reported);
            let missing = planned_count.saturating_sub(reported);
            let unowned_count = match unowned.get(task) {
                Some(&count) => count.min(missing),
                None if all_unowned => missing,
                None => 0,
            };
            self.settle(task, unowned_fate, unowned_count);
            self.settle(task, held_fate, missing - unowned_count);
        }
    }

    /// Settles the arrivals of the tick of a stop that no holder reported. Arrivals due after the
    /// stop were not started. Of the arrivals due before it, a holder whose deltas are complete did
    /// not start the unreported ones; for any other holder this is unknown.
    fn missing_at_stop(&mut self, tick: u32, planned: &PlannedTick<'_>) {
        let stop_us = self.control.stopped_at_us().unwrap_or_default();
        let stop = self.workload.first_at_or_after(stop_us);
        let before = planned.range.start..stop.clamp(planned.range.start, planned.range.end);
        let mut unknown: BTreeMap<&Holder, u64> = BTreeMap::new();
        let mut open = vec![0_u64; self.accounts.tasks.len()];
        for n in before.clone() {
            let Some(holder) = self.planned.holder_of(tick, n) else {
                continue;
            };
            open[usize::from(self.workload.task_of(n))] += 1;
            if !self.is_fully_reported(holder) {
                *unknown.entry(holder).or_default() += 1;
            }
        }
        for (holder, count) in &mut unknown {
            let sums = self.data.holders.get(*holder);
            let reported = sums.and_then(|sums| sums.reported.get(&tick));
            *count = count.saturating_sub(reported.copied().unwrap_or(0));
        }
        let mut missing = self.workload.count_per_task(planned.range.clone());
        let rows = self.data.arrivals.by_task(tick..=tick);
        for (task, (open, missing)) in (0..).zip(open.iter_mut().zip(&mut missing)) {
            let reported = rows.get(&task).map_or(0, ArrivalSums::reported);
            *open = open.saturating_sub(reported);
            *missing = missing.saturating_sub(reported);
        }
        // The numbers of lost arrivals of each holder and of open ones of each task are known, but
        // not which arrival is which. A test of each single arrival against both sums would leave
        // some that fit neither. Where a holder reported arrivals that were due after the stop, too
        // few arrivals of a task seem open: the remainder is taken from all arrivals that are
        // missing in the tick.
        let mut left = unknown.values().sum::<u64>();
        for is_open_known in [true, false] {
            for n in before.clone() {
                let task = usize::from(self.workload.task_of(n));
                let holder = self.planned.holder_of(tick, n);
                let may = holder.is_some_and(|holder| unknown.contains_key(holder));
                let fits = missing[task] > 0 && (open[task] > 0 || !is_open_known);
                if may && left > 0 && fits {
                    left -= 1;
                    open[task] = open[task].saturating_sub(1);
                    missing[task] -= 1;
                    self.settle(task, Settlement::Lost, 1);
                }
            }
        }
        for (holder, arrivals) in unknown.into_iter().filter(|&(_, arrivals)| arrivals > 0) {
            self.lose(holder, tick, arrivals);
        }
        for (task, stopped) in missing.into_iter().enumerate() {
            self.settle(task, Settlement::Dropped(DropReason::Stopped), stopped);
        }
    }

    /// Whether all deltas of a holder are there.
    fn is_fully_reported(&self, holder: &Holder) -> bool {
        let state = &self.control.state;
        let finished = state.finished.get(holder).map(|end| end.final_seq);
        let whole = state.tails.get(holder).filter(|tail| tail.lost.is_none());
        let last = finished.or(whole.map(|tail| tail.final_seq));
        last.is_some_and(|last| {
            let sums = self.data.holders.get(holder);
            last == 0 || sums.is_some_and(|sums| sums.chain.seqs().missing_up_to(last) == 0)
        })
    }

    fn settlement(&self, tick: u32, unowned: bool) -> Settlement {
        let over = self.control.sealed.is_some() || self.control.state.over;
        if !over {
            return Settlement::Waiting;
        }
        let stopped = self.stop_tick.is_some_and(|stop| tick >= stop);
        let never_started = self.control.state.start.is_none();
        match (stopped || never_started, unowned) {
            (true, _) => Settlement::Dropped(DropReason::Stopped),
            (false, true) => Settlement::Dropped(DropReason::Unowned),
            (false, false) => Settlement::Lost,
        }
    }

    fn settle(&mut self, task: usize, settlement: Settlement, count: u64) {
        if count == 0 {
            return;
        }
        if settlement == Settlement::Dropped(DropReason::Stopped) {
            self.accounts.stopped_unreported[task] += count;
        }
        let task = self.accounts.tasks.get_mut(task);
        for counts in [Some(&mut self.accounts.total), task].into_iter().flatten() {
            match settlement {
                Settlement::Waiting => counts.waiting += count,
                Settlement::Lost => counts.lost += count,
                Settlement::Dropped(reason) => *counts.dropped.entry(reason).or_default() += count,
            }
        }
    }

    /// The arrivals of `tick` without a holder, per task, found one by one.
    fn unowned_per_task(&self, tick: u32, planned: &PlannedTick<'_>) -> Vec<u64> {
        let mut counts = vec![0; self.accounts.tasks.len()];
        for n in planned.range.clone() {
            if self.planned.is_unowned(tick, n) {
                counts[usize::from(self.workload.task_of(n))] += 1;
            }
        }
        counts
    }

    fn lose(&mut self, holder: &Holder, tick: u32, arrivals: u64) {
        let lost = &mut self.accounts.lost;
        let newest = self.newest_lost.get(holder);
        let open = newest.and_then(|&place| lost.get_mut(place));
        if let Some(interval) = open.filter(|interval| interval.to_tick + 1 == tick) {
            interval.to_tick = tick;
            interval.arrivals += arrivals;
            return;
        }
        self.newest_lost.insert(holder.clone(), lost.len());
        lost.push(LostInterval {
            holder: holder.clone(),
            from_tick: tick,
            to_tick: tick,
            arrivals,
        });
    }

    /// Names a lost interval where a killed process may have counted more than was found, even if
    /// no arrival is missing: later calls of arrivals are not planned one by one.
    fn incomplete_tails(&mut self) {
        for (holder, tail) in &self.control.state.tails {
            let Some(lost) = &tail.lost else {
                continue;
            };
            let last_tick = self.workload.ticks().saturating_sub(1);
            let tick = |us: u64| self.workload.tick_of(us).min(last_tick);
            let (from_tick, to_tick) = (tick(lost.from_us), tick(lost.to_us));
            let named = |known: &LostInterval| {
                known.holder == *holder && known.from_tick <= to_tick && known.to_tick >= from_tick
            };
            if !self.accounts.lost.iter().any(named) {
                self.accounts.lost.push(LostInterval {
                    holder: holder.clone(),
                    from_tick,
                    to_tick,
                    arrivals: 0,
                });
            }
        }
    }

    /// A process whose deltas are complete must add up to its own totals.
    fn check_holders(&mut self) {
        for (holder, sums) in &self.data.holders {
            let (last_seq, started, calls) = sums.claimed;
            let complete = sums.chain.seqs().missing_up_to(last_seq) == 0;
            if complete && (started, calls) != (sums.started, sums.calls) {
                let claim = format!(
                    "{holder}: rows add up to {} arrivals and {} calls, totals say {started} and \
                     {calls}",
                    sums.started, sums.calls,
                );
                self.accounts.contradictions.push(contradiction(claim));
            }
        }
    }

    /// Accounts that do not balance come from contradictory figures. The contradiction is named
    /// even when no single tick shows it.
    fn check_balance(&mut self) {
        let settled = |counts: &ArrivalCounts| {
            counts.started + counts.dropped_total() + counts.lost + counts.waiting
        };
        let tasks = self.accounts.tasks.iter().enumerate();
        let tasks = tasks.map(|(number, counts)| (format!("task {number}"), counts));
        let total = ("the run".to_owned(), &self.accounts.total);
        let wrong: Vec<String> = tasks
            .chain([total])
            .map(|(what, counts)| (what, settled(counts), counts.planned))
            .filter(|(_, settled, planned)| settled != planned)
            .map(|(what, settled, planned)| format!("{what}: {settled} settled, {planned} planned"))
            .collect();
        for reason in wrong {
            self.contradiction(reason);
        }
    }

    fn contradiction(&mut self, reason: String) {
        self.accounts.contradictions.push(contradiction(reason));
    }
}

fn contradiction(reason: String) -> Quarantined {
    Quarantined {
        subject: "delta".to_owned(),
        seq: 0,
        reason,
    }
}
