//! What one agent knows of a run: decisions in order, none twice, and the same map as the fold has.

use loadpilot_engine::control::ControlLog;
use loadpilot_engine::control::agent_view::{AgentView, Applied, Stage};
use loadpilot_events::Envelope;
use loadpilot_events::id::{EventId, Holder, RunId};
use loadpilot_events::log::assign::{Holding, Loss, LossReason};
use loadpilot_events::log::ctl::{
    CapacityReduced, Decision, ShardsAssigned, ShardsReassigned, StartScheduled, StopReason,
    StopScheduled,
};
use loadpilot_events::units::Timestamp;
use loadpilot_events::wire::heartbeat::News;
use loadpilot_events::wire::subject::Kind;
use proptest::prelude::*;

use crate::rules::dice::Dice;
use crate::rules::plans::holder;

fn news(seq: u64, previous_seq: u64, decision: Decision) -> News {
    News {
        tenant: None,
        run: RunId::parse("01run").expect("a token"),
        seq,
        previous_seq,
        event: Envelope {
            v: 1,
            id: EventId::parse("id").expect("a token"),
            at: Timestamp(1),
            event: decision,
        },
    }
}

fn assigned(holders: &[(&Holder, &[u32])]) -> Decision {
    Decision::ShardsAssigned(ShardsAssigned {
        generation: 1,
        holdings: holdings(holders),
        ready_by: Timestamp(9),
    })
}

fn reassigned(generation: u32, tick: u32, map: &[(&Holder, &[u32])], lost: &[&Holder]) -> Decision {
    Decision::ShardsReassigned(ShardsReassigned {
        generation,
        holdings: holdings(map),
        takeover_tick: tick,
        losses: losses(lost),
    })
}

fn holdings(map: &[(&Holder, &[u32])]) -> Vec<Holding> {
    let holding = |(holder, shards): &(&Holder, &[u32])| Holding {
        holder: (*holder).clone(),
        shards: shards.to_vec(),
    };
    map.iter().map(holding).collect()
}

fn losses(lost: &[&Holder]) -> Vec<Loss> {
    let loss = |holder: &&Holder| Loss {
        holder: (*holder).clone(),
        reason: LossReason::Silent,
    };
    lost.iter().map(loss).collect()
}

fn start() -> Decision {
    let start_at = Timestamp(5);
    Decision::StartScheduled(StartScheduled { start_at })
}

/// An agent that skipped a decision would fire under a map that is not in force.
#[test]
fn a_gap_changes_nothing_and_a_repeat_neither() {
    let me = holder(1, 0);
    let mut view = AgentView::new(me.clone());
    let first = news(3, 0, assigned(&[(&me, &[0, 1])]));
    let second = news(7, 3, start());
    assert_eq!(view.apply(&second), Applied::Gap);
    assert_eq!((view.ctl_seq(), view.stage()), (0, Stage::Gathering));
    assert_eq!(view.apply(&first), Applied::Applied);
    assert_eq!(view.apply(&first), Applied::Duplicate);
    assert_eq!(view.apply(&second), Applied::Applied);
    assert_eq!(view.apply(&first), Applied::Duplicate);
    let start_at = Timestamp(5);
    assert_eq!(
        (view.ctl_seq(), view.stage()),
        (7, Stage::Scheduled { start_at })
    );
    assert_eq!(view.generation(), 1);
}

/// From the takeover tick on, the shards belong to the new holders; ticks before it stay with the
/// old holder.
#[test]
fn a_takeover_ends_one_hold_and_begins_another() {
    let (old, heir) = (holder(1, 0), holder(2, 0));
    let decisions = [
        assigned(&[(&old, &[0, 1]), (&heir, &[2])]),
        start(),
        reassigned(2, 4, &[(&heir, &[0, 1, 2])], &[&old]),
    ];
    let holds = |me: &Holder| {
        let mut view = AgentView::new(me.clone());
        for (decision, seq) in decisions.iter().zip(1..) {
            assert_eq!(
                view.apply(&news(seq, seq - 1, decision.clone())),
                Applied::Applied
            );
        }
        let holds = view.holds().into_iter();
        let ticks = holds.map(|hold| (hold.generation, hold.from_tick, hold.until_tick));
        (ticks.collect::<Vec<_>>(), view.superseded())
    };
    assert_eq!(holds(&old), (vec![(1, 0, Some(4))], true));
    assert_eq!(holds(&heir), (vec![(1, 0, Some(4)), (2, 4, None)], false));
    assert_eq!(
        holds(&holder(3, 0)),
        (vec![], false),
        "who never held is not superseded"
    );
}

/// An agent that a decision names as lost stops, even without a successor.
#[test]
fn a_lost_agent_knows_it() {
    let me = holder(1, 0);
    let mut view = AgentView::new(me.clone());
    view.apply(&news(1, 0, assigned(&[(&me, &[0])])));
    assert!(!view.superseded());
    let losses = losses(&[&me]);
    view.apply(&news(
        2,
        1,
        Decision::CapacityReduced(CapacityReduced { losses }),
    ));
    assert!(view.superseded());
}

/// A stop keeps the start: ticks of arrivals due before the stop still count from there.
#[test]
fn a_stop_remembers_the_start() {
    let me = holder(1, 0);
    let mut view = AgentView::new(me);
    view.apply(&news(1, 0, start()));
    let stop_at = Timestamp(8);
    let reason = StopReason::OwnerGone;
    view.apply(&news(
        2,
        1,
        Decision::StopScheduled(StopScheduled {
            stop_at,
            reason,
            unanswered: None,
        }),
    ));
    let start_at = Some(Timestamp(5));
    assert_eq!(view.stage(), Stage::Stopping { start_at, stop_at });
}

proptest! {
    /// The map by which an agent fires and the map by which the fold counts must be the same, in
    /// whatever order the maps begin. Otherwise two agents fire one arrival, or no agent does.
    #[test]
    fn agents_and_the_fold_agree_on_every_tick(seed: u64) {
        let dice = &mut Dice::new(seed);
        let holders: Vec<Holder> = (0..3).map(|number| holder(number, 0)).collect();
        let mut decisions = Vec::new();
        for generation in 1..dice.pick(2..7) as u32 {
            let mut shards = vec![Vec::new(); holders.len()];
            for shard in 0..6_u32 {
                shards[dice.pick(0..3) as usize].push(shard);
            }
            let map: Vec<(&Holder, &[u32])> =
                holders.iter().zip(shards.iter().map(Vec::as_slice)).collect();
            decisions.push(match generation {
                1 => assigned(&map),
                _ => reassigned(generation, dice.pick(0..8) as u32, &map, &[]),
            });
        }
        let mut log = ControlLog::new(RunId::parse("01run").expect("a token"));
        for (decision, seq) in decisions.iter().zip(1..) {
            let event = news(seq, seq - 1, decision.clone()).event;
            let payload = serde_json::to_vec(&event).expect("JSON");
            log.add("ctl", &Kind::Ctl, seq, &payload);
        }
        let control = log.close();
        for me in &holders {
            let mut view = AgentView::new(me.clone());
            for (decision, seq) in decisions.iter().zip(1..) {
                view.apply(&news(seq, seq - 1, decision.clone()));
            }
            for tick in 0..10 {
                let fired = view.holds().into_iter().filter(|hold| {
                    hold.from_tick <= tick && hold.until_tick.is_none_or(|until| tick < until)
                });
                let fired: Vec<(u32, Vec<u32>)> =
                    fired.map(|hold| (hold.generation, hold.shards)).collect();
                let map = control.in_force(tick).expect("the first map begins at 0");
                let counted = map.holdings.iter().filter(|holding| holding.holder == *me);
                let counted: Vec<(u32, Vec<u32>)> = counted
                    .filter(|holding| !holding.shards.is_empty())
                    .map(|holding| (map.generation, holding.shards.clone()))
                    .collect();
                prop_assert_eq!(fired, counted, "tick {}", tick);
            }
        }
    }
}
