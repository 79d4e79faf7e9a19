//! Comparisons of a world's log with what really happened in it, by separate computations.

use std::collections::BTreeMap;

use loadpilot_engine::control::agent_view::AgentView;
use loadpilot_events::Envelope;
use loadpilot_events::id::Holder;
use loadpilot_events::log::ctl::{Decision, Ending, RunSealed};
use loadpilot_events::log::delta::DeltaReported;
use loadpilot_events::log::evt::What;
use loadpilot_events::log::hist;
use loadpilot_events::plan::{Arrivals, Plan, Task};
use loadpilot_events::units::Timestamp;
use loadpilot_events::wire::heartbeat::News;

use crate::world::{Run, Weather, World};

/// Deltas that a seal covers, each once.
type Covered = BTreeMap<(Holder, u64), DeltaReported>;

/// Arrivals are due where the integral of the rate reaches their number, and every block of them
/// contains every task as often as its weight says.
pub(crate) fn schedule(run: &Run) {
    if run.plan.arrivals == Arrivals::Uniform {
        for (n, due_us) in run.dues_us.iter().enumerate() {
            let off = integral(run, *due_us) - n as f64;
            assert!(off.abs() < 1e-3, "arrival {n} is due {off} arrivals off");
        }
    }
    let weights = weights(&run.plan);
    let block: u64 = weights.iter().sum();
    for first in (0..run.dues_us.len() as u64).step_by(block as usize) {
        let mut counts = vec![0; weights.len()];
        for n in first..first + block {
            counts[usize::from(run.workload.task_of(n))] += 1;
        }
        assert_eq!(
            counts, weights,
            "weights do not hold from arrival {first} on"
        );
    }
}

/// How often a block of arrivals contains each task; for a mix, the block in which all shares are
/// exact.
fn weights(plan: &Plan) -> Vec<u64> {
    let own = |task: &Task| u64::from(task.weight);
    if plan.types.is_empty() {
        return plan.tasks.iter().map(own).collect();
    }
    let shares: u64 = plan.types.iter().map(|one| u64::from(one.share)).sum();
    let types = plan.tasks_of_types().map(|(one, tasks)| {
        let tasks = &plan.tasks[usize::from(tasks.start)..usize::from(tasks.end)];
        let sum: u64 = tasks.iter().map(own).sum();
        (u64::from(one.share), tasks, sum)
    });
    let types: Vec<_> = types.collect();
    let block = shares * types.iter().map(|(.., sum)| sum).product::<u64>();
    let of_type = types.iter().flat_map(|(share, tasks, sum)| {
        let part = block / shares * share / sum;
        tasks.iter().map(move |task| part * own(task))
    });
    of_type.collect()
}

/// Arrivals planned before `t_us`, as a trapezium for each piece.
fn integral(run: &Run, t_us: u64) -> f64 {
    let (mut begin_us, mut sum) = (0, 0.0);
    for piece in &run.plan.profile.pieces {
        let us = t_us.saturating_sub(begin_us).min(piece.duration_us) as f64;
        let (from, to) = (piece.from.0 as f64 / 1e6, piece.to.0 as f64 / 1e6);
        let at = from + (to - from) * us / piece.duration_us as f64;
        sum += (from + at) / 2.0 * us / 1e6;
        begin_us += piece.duration_us;
    }
    sum
}

/// The view of a process is the fold of the decisions up to the last one that it applied.
pub(crate) fn views(world: &World) {
    let decided = world.log.decided.iter().map(|stored| {
        let record = &world.log.ctl[stored.seq as usize - 1];
        let event: Envelope<Decision> =
            serde_json::from_slice(&record.payload).expect("our own decision");
        (stored.seq, world.log.with_plan(event))
    });
    let decided: Vec<(u64, Envelope<Decision>)> = decided.collect();
    for process in world.processes() {
        let mut expected = AgentView::new(process.me.clone());
        let mut previous_seq = 0;
        for (seq, event) in &decided {
            if *seq <= process.view.ctl_seq() {
                expected.apply(&News {
                    tenant: None,
                    run: world.log.run.clone(),
                    seq: *seq,
                    previous_seq,
                    event: event.clone(),
                });
            }
            previous_seq = *seq;
        }
        let believes = |view: &AgentView| {
            (
                view.stage(),
                view.holds(),
                view.rates().to_vec(),
                view.paused(),
            )
        };
        assert_eq!(
            believes(&process.view),
            believes(&expected),
            "{} believes what no coordinator decided",
            process.me
        );
    }
}

/// A process that published its last words, or whose tail was published, reported all arrivals that
/// it sent. In a world where agents are only killed, every process did.
pub(crate) fn all_reported(world: &World, deltas: &Covered) {
    let mut sent: BTreeMap<&Holder, u64> = BTreeMap::new();
    for one in &world.sent {
        *sent.entry(&one.holder).or_default() += 1;
    }
    let mut reported: BTreeMap<&Holder, u64> = BTreeMap::new();
    for ((holder, _), delta) in deltas {
        let rows = delta.arrivals.iter().map(|row| row.started);
        *reported.entry(holder).or_default() += rows.sum::<u64>();
    }
    let ended = world.ended();
    for (holder, count) in sent {
        if ended.contains(holder) || world.weather == Weather::Kills {
            let reported = reported.get(holder).copied().unwrap_or(0);
            assert_eq!(reported, count, "{holder} sent more than it reported");
        }
    }
}

/// A run that is sealed as completed was offered up to its end.
pub(crate) fn ends_in_time(world: &World, seal: &RunSealed) {
    let decided = &world.log.decided;
    let start_at = decided.iter().find_map(|stored| match &stored.decision {
        Decision::StartScheduled(start) => Some(start.start_at),
        _ => None,
    });
    let sealed_at = decided.last().map_or(Timestamp(0), |stored| stored.at);
    if let (Some(start_at), Ending::Completed) = (start_at, seal.ending) {
        let ends_at = start_at.plus_us(world.run.workload.duration_us());
        assert!(sealed_at >= ends_at, "completed before its end");
    }
}

/// If coordinators are never asleep, an agent sends nothing after a stop must have reached it or
/// its fence must have closed.
pub(crate) fn nothing_after_a_stop(world: &World) {
    if world.faults.coordinator_pct > 0 {
        return;
    }
    let decided = world.log.decided.iter().zip(&world.log.stored_at);
    let stop_at = decided.filter_map(|(stored, &stored_at)| match &stored.decision {
        Decision::StopScheduled(stop) => Some(stop.stop_at.max(stored_at)),
        _ => None,
    });
    let Some(stop_at) = stop_at.min() else {
        return;
    };
    let silent_from = stop_at.plus_us(world.policy.fence_us + 1_000_000);
    let late = world.sent.iter().filter(|sent| !sent.thawed);
    let late = late.filter(|sent| sent.at >= silent_from).count();
    assert_eq!(late, 0, "sent after the stop");
}

/// No finished call is reported as shorter than it was: every call here takes a millisecond.
pub(crate) fn latencies(deltas: &Covered) {
    for row in deltas.values().flat_map(|delta| &delta.calls) {
        if row.outcome.is_finished() {
            let response = hist::decode(&row.response).expect("our own histogram");
            assert!(
                response.min() >= 999,
                "{:?} took {} µs",
                row.outcome,
                response.min()
            );
        }
    }
}

impl World {
    /// Processes whose last words came before the seal, their own or those of a successor.
    fn ended(&self) -> std::collections::BTreeSet<Holder> {
        let facts = self.facts_that_count();
        let ended = facts.into_iter().filter_map(|(holder, what)| {
            let last = matches!(what, What::ShardsFinished(_) | What::TailReported(_));
            last.then_some(holder)
        });
        ended.collect()
    }
}
