//! Promises about every run that is over, whatever faults it had.

use std::collections::{BTreeMap, BTreeSet};

use loadpilot_engine::control::ControlLog;
use loadpilot_engine::fold::project::Projection;
use loadpilot_engine::report::{dropped_for, report};
use loadpilot_engine::verify::{Verification, Verifier};
use loadpilot_events::answers::report::{Report, RunState};
use loadpilot_events::id::Holder;
use loadpilot_events::log::ctl::{Decision, Ending, RunSealed};
use loadpilot_events::log::delta::DeltaReported;
use loadpilot_events::log::envelope::Envelope;
use loadpilot_events::log::outcome::DropReason;
use loadpilot_events::wire::subject::Kind;

use crate::rules::dice::Dice;
use crate::rules::invariants::{self, Stored};
use crate::truth;
use crate::world::{Weather, World};
use serde_json::Value;

/// Checks a played world against everything that is promised of a run.
///
/// # Panics
///
/// At the first promise that is broken.
pub(crate) fn check(world: &World) {
    truth::schedule(&world.run);
    truth::views(world);
    let (seq, request) = world.log.requested().expect("it is requested");
    invariants::check(&world.policy, (seq, &request), &world.log.decided);
    let in_order: Vec<usize> = (0..world.log.data.len()).collect();
    let found = fold(world, &in_order);
    if world.run.counts_calls {
        let mut mixed = in_order.clone();
        Dice::new(world.seed).shuffle(&mut mixed);
        mixed.extend(mixed.clone());
        let digest = fold(world, &mixed).digest;
        assert_eq!(found.digest, digest, "the digest depends on the order");
        verified(world, &found);
    }
    assert_eq!(
        found.gaps.quarantined,
        [],
        "honest parts contradict each other"
    );
    books(&found);
    let last = world.log.decided.last().map(|stored| &stored.decision);
    let Some(Decision::RunSealed(seal)) = last else {
        assert_eq!(found.run.state, RunState::Refused);
        assert!(world.sent.is_empty(), "a refused run sent something");
        return;
    };
    let covered = fold(
        world,
        &in_order[..in_order.len().min(seal.data_seq as usize)],
    );
    assert_eq!(
        found.digest, covered.digest,
        "what came after the seal counts"
    );
    let deltas = stored(world, seal);
    sent(world, &found, &deltas);
    last_words(seal, &deltas);
    truth::all_reported(world, &deltas);
    truth::ends_in_time(world, seal);
    truth::nothing_after_a_stop(world);
    truth::latencies(&deltas);
    if world.weather == Weather::Fair {
        nothing_went_wrong(&found, world);
    }
}

/// The report of a world's log.
pub(crate) fn report_of(world: &World) -> Report {
    let in_order: Vec<usize> = (0..world.log.data.len()).collect();
    fold(world, &in_order)
}

/// The findings of the product's own verification of the log.
pub(crate) fn verification(world: &World, known: Option<&Value>) -> Verification {
    let mut verifier = Verifier::new(world.log.run.clone(), world.log.ctl_subject());
    for (record, seq) in world.log.ctl.iter().zip(1..) {
        verifier.add(&record.subject, &record.kind, seq, &record.payload);
    }
    let mut verifier = verifier.control_read().expect("the run is known");
    for (record, seq) in world.log.data.iter().zip(1..) {
        let Kind::Delta(agent) = &record.kind else {
            panic!("only deltas stand in LP_DATA");
        };
        verifier.add(agent, &record.subject, seq, &record.payload);
    }
    verifier.close(known).expect("the run is known")
}

/// The product's own verification finds nothing wrong with the log.
fn verified(world: &World, found: &Report) {
    let text = serde_json::to_string(found).expect("a report has a JSON form");
    let known = serde_json::from_str(&text).expect("JSON");
    let verification = verification(world, Some(&known));
    let broken = verification.invariants.iter().filter(|one| !one.holds);
    let broken: Vec<String> = broken
        .map(|one| format!("{}: {:?}", one.rule, one.evidence))
        .collect();
    assert!(broken.is_empty(), "the log does not verify: {broken:?}");
}

/// The report of the log, its deltas read in this order.
fn fold(world: &World, order: &[usize]) -> Report {
    let mut log = ControlLog::new(world.log.run.clone());
    for (record, seq) in world.log.ctl.iter().zip(1..) {
        log.add(&record.subject, &record.kind, seq, &record.payload);
    }
    let control = log.close();
    let mut data = Projection::default();
    for &place in order {
        let record = &world.log.data[place];
        let Kind::Delta(agent) = &record.kind else {
            panic!("only deltas stand in LP_DATA");
        };
        let seq = place as u64 + 1;
        data.add(&control, agent, &record.subject, seq, &record.payload);
    }
    report(&control, &data).expect("the run is known")
}

/// `planned = started + dropped + lost` and `attempted = Σ outcomes`, everywhere.
fn books(report: &Report) {
    let tasks = report.tasks.iter().map(|task| &task.arrivals);
    for counts in tasks.chain([&report.arrivals]) {
        let settled = counts.started + counts.dropped_total() + counts.lost;
        assert_eq!(
            counts.planned, settled,
            "the books do not balance: {counts:?}"
        );
        assert_eq!(counts.waiting, 0, "nothing waits after the end");
    }
    let lost: u64 = report
        .gaps
        .lost
        .iter()
        .map(|interval| interval.arrivals)
        .sum();
    assert_eq!(
        report.arrivals.lost, lost,
        "a lost arrival without its interval"
    );
    let calls = &report.calls;
    assert_eq!(calls.attempted, calls.outcomes.values().sum::<u64>());
}

/// Every delta that the seal covers, once.
fn stored(world: &World, seal: &RunSealed) -> BTreeMap<(Holder, u64), DeltaReported> {
    let covered = world.log.data.iter().take(seal.data_seq as usize);
    let read = covered.map(|record| {
        let Kind::Delta(agent) = &record.kind else {
            panic!("only deltas stand in LP_DATA");
        };
        let delta: Envelope<DeltaReported> =
            serde_json::from_slice(&record.payload).expect("our own delta");
        let (agent, boot_id) = (agent.clone(), delta.event.boot_id.clone());
        ((Holder { agent, boot_id }, delta.event.seq), delta.event)
    });
    read.collect()
}

/// Every request that was sent is counted once, or known to be lost, or known to be excess.
fn sent(world: &World, report: &Report, deltas: &BTreeMap<(Holder, u64), DeltaReported>) {
    let arrivals: BTreeSet<u64> = world.sent.iter().map(|sent| sent.n).collect();
    assert!(
        report.arrivals.started <= arrivals.len() as u64,
        "an arrival was counted twice"
    );
    let rows = deltas.values().flat_map(|delta| &delta.arrivals);
    let reported: u64 = rows.map(|row| row.started).sum();
    let counted = report.arrivals.started + report.gaps.excess_arrivals;
    assert_eq!(counted, reported, "what was reported is counted or excess");
    assert!(
        reported <= world.sent.len() as u64,
        "more was reported than sent"
    );
    let mut rightful = BTreeMap::new();
    for sent in &world.sent {
        if generation_at(world, sent.tick) == sent.generation {
            let other = rightful.insert(sent.n, &sent.holder);
            assert!(
                other.is_none(),
                "{} was rightfully sent by {other:?} too",
                sent.n
            );
        }
    }
}

/// The map in force for a tick: the last one that had begun.
fn generation_at(world: &World, tick: u32) -> u32 {
    let begun = world
        .log
        .decided
        .iter()
        .filter_map(|stored| match &stored.decision {
            Decision::ShardsAssigned(assigned) => Some((assigned.generation, 0)),
            Decision::ShardsReassigned(next) => Some((next.generation, next.takeover_tick)),
            Decision::RateChanged(changed) => Some((changed.generation, changed.from_tick)),
            _ => None,
        });
    let begun = begun.filter(|(_, from_tick)| *from_tick <= tick);
    begun.map(|(generation, _)| generation).max().unwrap_or(0)
}

/// The log has every delta of a process with last words before the seal, and the deltas add up.
fn last_words(seal: &RunSealed, deltas: &BTreeMap<(Holder, u64), DeltaReported>) {
    for last in &seal.finals {
        let of_holder = (1..=last.final_seq).map(|seq| {
            let delta = deltas.get(&(last.holder.clone(), seq));
            delta.unwrap_or_else(|| panic!("delta {seq} of {} is not covered", last.holder))
        });
        let rows = of_holder.flat_map(|delta| &delta.arrivals);
        assert_eq!(
            rows.map(|row| row.started).sum::<u64>(),
            last.totals.started
        );
    }
}

/// In a world without faults every arrival is started once, except those that a user's pause
/// dropped.
fn nothing_went_wrong(report: &Report, world: &World) {
    assert_eq!(report.run.ending, Some(Ending::Completed));
    let arrivals = &report.arrivals;
    let paused = dropped_for(arrivals, DropReason::Paused);
    assert_eq!(
        arrivals.started + paused,
        arrivals.planned,
        "something is lost in a good world: {arrivals:?}"
    );
    assert_eq!(report.gaps, Default::default());
    assert!(report.run.holders.iter().all(|holder| holder.finished));
    let changed = |stored: &&Stored| matches!(stored.decision, Decision::RateChanged(_));
    let changes = world.log.decided.iter().filter(changed).count();
    let moved = |stored: &&Stored| matches!(stored.decision, Decision::ShardsReassigned(_));
    let moves = world.log.decided.iter().filter(moved).count();
    assert!(moves == 0 || world.faults.leave_pct > 0);
    assert_eq!(report.run.generation as usize, 1 + changes + moves);
}
