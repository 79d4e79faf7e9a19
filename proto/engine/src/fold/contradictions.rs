//! Contradictions in a log: judged as [`crate::verify`] does, as far as a report can.
//!
//! Rules about what follows the seal (events after the end, setup and teardown) are left out, since
//! the report of a sealed run never changes, as are rules that need a second reading. Must never
//! judge a run of the first rules: its report stays as it is.

use std::collections::{BTreeMap, BTreeSet};

use loadpilot_events::answers::report::{ArrivalCounts, LostInterval, Quarantined};
use loadpilot_events::id::Holder;
use loadpilot_events::plan::Plan;
use loadpilot_events::rules::Rules;

use crate::control::{Control, Parsed};
use crate::fold::arrival_counts::Accounts;
use crate::fold::chain::judge;
use crate::fold::decision_rules::{Decided, decisions};
use crate::fold::invariants::{Breaches, Invariant};
use crate::fold::project::Projection;
use crate::fold::seal_rules;
use crate::tally::call_ids::CallId;
use crate::tally::ratio::percent;

/// Adds to `accounts` what contradicts the log, and how much of it there is.
pub(crate) fn name(control: &Control, data: &Projection, plan: &Plan, accounts: &mut Accounts) {
    if control.rules() < Rules::V2 {
        return;
    }
    let broken = of_processes(control, data, &accounts.lost);
    accounts.contradictions.extend(broken);
    if control.sealed.is_some() {
        let broken = control_side(control, "ctl");
        accounts.contradictions.extend(of_control(&broken));
    }
    let surplus = Surplus::of(control, data, plan, accounts);
    accounts.contradictions.extend(surplus.named);
    let share = percent(surplus.calls, surplus.possible).max(arrivals_pct(&accounts.total));
    accounts.surplus_pct = (share > 0.0).then_some(share);
}

/// The first violation of each rule by each process, and the number of others. A gap that shows as
/// a lost interval is already named.
fn of_processes(control: &Control, data: &Projection, lost: &[LostInterval]) -> Vec<Quarantined> {
    let lost: BTreeSet<&Holder> = lost.iter().map(|interval| &interval.holder).collect();
    let chains = data.holders.iter();
    let chains = chains.map(|(holder, sums)| (holder, &sums.chain)).collect();
    let mut first: BTreeMap<(_, Invariant), (String, u64)> = BTreeMap::new();
    for (holder, broken) in judge(control, &chains, |_| 0) {
        if broken.invariant == Invariant::Sequence && lost.contains(holder) {
            continue;
        }
        let known = first.entry((holder, broken.invariant));
        let known = known.or_insert_with(|| (broken.what, 0));
        known.1 += 1;
    }
    let named = first.into_values();
    named
        .map(|(what, count)| contradiction("delta", 0, what, count - 1))
        .collect()
}

fn of_control(broken: &Breaches) -> Vec<Quarantined> {
    let first = broken.first();
    first
        .map(|(evidence, more)| contradiction("ctl", evidence.seq, evidence.what.clone(), more))
        .collect()
}

/// Judges the part of the control side that counts. `subject` is that of the run's decisions.
fn control_side(control: &Control, subject: &str) -> Breaches {
    let decided = control.records.iter();
    let decided = decided.filter_map(|(seq, parsed)| match parsed {
        Parsed::Decision(envelope) => Some(Decided {
            subject,
            seq: *seq,
            at: envelope.at,
            decision: &envelope.event,
        }),
        _ => None,
    });
    let mut breaches = decisions(control.state.requested_plan(), decided);
    seal_rules::seal(control, subject, &mut breaches);
    breaches
}

fn contradiction(subject: &str, seq: u64, what: String, more: u64) -> Quarantined {
    let reason = match more {
        0 => what,
        more => format!("{what} (and {more} more like it)"),
    };
    Quarantined {
        subject: subject.to_owned(),
        seq,
        reason,
    }
}

/// Reported arrivals beyond the planned ones, in percent of the planned ones.
fn arrivals_pct(total: &ArrivalCounts) -> f64 {
    let settled = total.started + total.dropped_total() + total.lost + total.waiting;
    percent(settled.saturating_sub(total.planned), total.planned.max(1))
}

/// Calls beyond those that the started arrivals can have made.
#[derive(Debug, Default)]
struct Surplus {
    named: Vec<Quarantined>,
    calls: u64,
    possible: u64,
}

impl Surplus {
    /// An arrival makes each step of its task at most once: a resent request is one call, and
    /// redirects that are followed belong to theirs. A task in code or in Python has no steps, and
    /// its calls have no bound.
    ///
    /// An arrival whose start is not reported is lost, or waiting; or it counts as dropped by the
    /// stop, while a holder started it in a delta that is missing. A closed loop does not know how
    /// many those are: it is judged when it is sealed and nothing is missing.
    fn of(control: &Control, data: &Projection, plan: &Plan, accounts: &Accounts) -> Self {
        let whole = control.sealed.is_some() && accounts.lost.is_empty();
        if plan.users.is_some() && !whole {
            return Self::default();
        }
        let mut attempted = vec![0_u64; plan.calls().count()];
        for ((_, call_id, _), sums) in &data.calls {
            if let CallId::Planned(number) = call_id
                && let Some(count) = attempted.get_mut(usize::from(*number))
            {
                *count += sums.count;
            }
        }
        let mut surplus = Self::default();
        for ((task, step), count) in plan.calls().zip(attempted) {
            let Some(arrivals) = accounts.tasks.get(task) else {
                continue;
            };
            let mut possible = arrivals.started + arrivals.lost + arrivals.waiting;
            surplus.possible += possible;
            if !accounts.is_complete {
                possible += accounts.stopped_unreported[task];
            }
            surplus.calls += count.saturating_sub(possible);
            if count > possible {
                let what = format!("{}: {count} calls, {possible} arrivals", step.name);
                let what = format!("{what} of its task can have made one");
                surplus.named.push(contradiction("delta", 0, what, 0));
            }
        }
        surplus.possible = surplus.possible.max(1);
        surplus
    }
}
