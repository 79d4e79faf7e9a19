//! Scale-up: newcomers get an even share, with as few moves as possible.

use std::collections::{BTreeMap, BTreeSet};

use loadpilot_engine::control::assign::deal;
use loadpilot_engine::control::decide::scale_up::join;
use loadpilot_engine::control::decide::{LastSeen, Observations, Policy, deadline, decide};
use loadpilot_engine::control::run_state::{Record, RunState};
use loadpilot_events::id::Holder;
use loadpilot_events::log::assign::{Holding, LossReason};
use loadpilot_events::log::ctl::{Decision, ShardsReassigned};
use loadpilot_events::log::delta::Totals;
use loadpilot_events::log::evt::{
    CapacityOffered, Fact, FailureCause, FinishReason, ShardsFailed, ShardsFinished, ShardsReady,
    What,
};
use loadpilot_events::log::req::Request;
use loadpilot_events::log::start::ClockEstimate;
use loadpilot_events::log::steer::RateChangeRequested;
use loadpilot_events::units::{Rate, Timestamp};
use proptest::prelude::*;

use crate::rules::dice::Dice;
use crate::rules::plans;

/// A random map of `shards` to some holders, such as losses and takeovers leave behind.
fn any_map(shards: u32, holders: u64, seed: u64) -> Vec<Holding> {
    let mut dice = Dice::new(seed);
    let mut map: BTreeMap<Holder, Vec<u32>> = BTreeMap::new();
    for shard in 0..shards {
        let owner = plans::holder(dice.pick(0..holders), 0);
        map.entry(owner).or_default().push(shard);
    }
    let holding = |(holder, shards)| Holding { holder, shards };
    map.into_iter().map(holding).collect()
}

fn owners(map: &[Holding]) -> BTreeMap<u32, &Holder> {
    let owned = map.iter().flat_map(|holding| {
        let each = holding.shards.iter();
        each.map(|&shard| (shard, &holding.holder))
    });
    owned.collect()
}

/// The fewest moves that make `counts` even: the minimum over all choices of the holders that end
/// with one shard more.
fn fewest_moves(counts: &[usize], total: usize, holders: usize) -> usize {
    let (each, more) = (total / holders, total % holders);
    let moved = |keep: usize, places: &[usize]| -> usize {
        places.iter().map(|count| count.saturating_sub(keep)).sum()
    };
    // Every old holder that has more than `each` may be one of the `more` that keep one more.
    let large = counts.iter().filter(|&&count| count > each).count();
    moved(each, counts) - large.min(more)
}

proptest! {
    /// Broken if a planned move loses a shard, assigns it twice, leaves it with an agent that
    /// leaves, leaves a map uneven, or moves more shards than necessary.
    #[test]
    fn joining_is_even_and_moves_as_little_as_it_can(
        shards in 1..300_u32, old in 1..9_u64, new in 0..9_u64, left in 0..9_u64, seed: u64,
    ) {
        let before = any_map(shards, old, seed);
        let newcomers: BTreeSet<Holder> = (20..20 + new).map(|n| plans::holder(n, 0)).collect();
        let leavers: BTreeSet<Holder> = (0..left).map(|n| plans::holder(n, 0)).collect();
        let after = join(&before, &newcomers, &leavers);
        let leaves = |one: &&Holding| leavers.contains(&one.holder);
        if newcomers.is_empty() && before.iter().all(|one| leaves(&one)) {
            prop_assert_eq!(after, before);
            return Ok(());
        }
        prop_assert!(!after.iter().any(|one| leaves(&one)));
        let (was, is) = (owners(&before), owners(&after));
        prop_assert_eq!(is.len(), shards as usize);
        prop_assert_eq!(after.iter().map(|h| h.shards.len()).sum::<usize>(), shards as usize);
        prop_assert!(after.iter().all(|h| !h.shards.is_empty() && h.shards.is_sorted()));
        let gone = before.iter().filter(leaves).map(|one| one.shards.len());
        let (gone, freed) = (gone.clone().count(), gone.sum::<usize>());
        let holders = before.len() - gone + newcomers.len();
        let (least, most) = (shards as usize / holders, (shards as usize).div_ceil(holders));
        let nothing = holders - after.len();
        prop_assert!(nothing == 0 || least == 0, "a holder is left without a shard");
        prop_assert!(after.iter().all(|h| (least..=most).contains(&h.shards.len())));
        let moves = is.iter().filter(|(shard, holder)| was[shard] != **holder).count();
        let stay = before.iter().filter(|one| !leaves(one));
        let counts: Vec<usize> = stay.map(|h| h.shards.len()).collect();
        prop_assert_eq!(moves, freed + fewest_moves(&counts, shards as usize, holders));
    }

    /// Broken if neighbouring shards all move to one newcomer: it would get a burst, and the old
    /// holder a gap.
    #[test]
    fn moved_shards_are_spread(old in 1..6_u64, new in 1..4_u64) {
        let holders: Vec<Holder> = (0..old).map(|n| plans::holder(n, 0)).collect();
        let newcomers: BTreeSet<Holder> = (20..20 + new).map(|n| plans::holder(n, 0)).collect();
        let after = join(&deal(256, &holders), &newcomers, &BTreeSet::new());
        let window = 8 * (old + new) as u32;
        for holding in &after {
            for begin in (0..256 - window).step_by(4) {
                let inside = begin..begin + window;
                let count = holding.shards.iter().filter(|shard| inside.contains(shard)).count();
                prop_assert!((4..=12).contains(&count), "{count} in {inside:?}: {holding:?}");
            }
        }
    }
}

/// A running run, and what a coordinator observes of its agents.
struct Story {
    state: RunState,
    hearing: Observations,
    policy: Policy,
    now: Timestamp,
    seq: u64,
}

impl Story {
    /// A run that wants `want` agents and started with fewer.
    fn started(want: u32, with: u64) -> Self {
        let now = Timestamp(1_800_000_000_000_000);
        let mut plan = plans::plan(&mut Dice::new(1));
        plan.tick_us = 1_000_000;
        plan.profile
            .pieces
            .iter_mut()
            .for_each(|piece| piece.duration_us = 60_000_000);
        let mut request = plans::request(plan, want, 1, &mut Dice::new(1));
        request.agents.wait_us = 1_000_000;
        let mut story = Self {
            state: RunState::default(),
            hearing: Observations {
                since: now,
                ..Observations::default()
            },
            policy: Policy::default(),
            now,
            seq: 0,
        };
        let request = Request::RunRequested(Box::new(request));
        story.record(Record::Request(&request));
        story.decided();
        for number in 0..with {
            story.beat(number);
            story.fact(
                number,
                What::CapacityOffered(CapacityOffered {
                    rate: Rate::per_second(100),
                    cores: 1,
                    expires: now.plus_us(30_000_000),
                    version: "1".to_owned(),
                }),
            );
        }
        story.pass(1_000_000);
        (0..with).for_each(|number| story.beat(number));
        story.decided();
        (0..with).for_each(|number| story.ready(number));
        story.decided();
        assert!(story.state.start.is_some() && story.state.holdings.len() == with as usize);
        story.pass(5_000_000);
        (0..with).for_each(|number| story.beat(number));
        story
    }

    fn pass(&mut self, us: u64) {
        self.now = self.now.plus_us(us);
    }

    fn record(&mut self, record: Record<'_>) {
        self.seq += 1;
        self.state = std::mem::take(&mut self.state).evolve(self.seq, self.now, record);
    }

    fn fact(&mut self, number: u64, what: What) {
        let holder = plans::holder(number, 0);
        let fact = Fact {
            boot_id: holder.boot_id,
            what,
        };
        self.record(Record::Fact(&holder.agent, &fact));
    }

    fn ready(&mut self, number: u64) {
        self.fact(
            number,
            What::ShardsReady(ShardsReady {
                generation: self.state.generation,
                clock: ClockEstimate {
                    offset_us: 0,
                    bound_us: 1,
                },
                max_in_flight: 1,
            }),
        );
    }

    fn beat(&mut self, number: u64) {
        let seen = LastSeen {
            at: self.now,
            predecessor_dead: false,
            has: BTreeSet::new(),
            recovering: BTreeSet::new(),
        };
        self.hearing.agents.insert(plans::holder(number, 0), seen);
    }

    fn decide(&self) -> Option<Decision> {
        decide(&self.state, &self.hearing, &self.policy, self.now)
    }

    fn decided(&mut self) -> Decision {
        let decision = self.decide().expect("there is something to decide");
        self.record(Record::Decision(&decision));
        decision
    }

    fn reassigned(&mut self) -> ShardsReassigned {
        match self.decided() {
            Decision::ShardsReassigned(next) => next,
            other => panic!("{other:?}"),
        }
    }

    fn begins(&self, next: &ShardsReassigned) -> Timestamp {
        let start = self.state.start.as_ref().expect("it started").start_at;
        start.plus_us(u64::from(next.takeover_tick) * 1_000_000)
    }
}

fn sizes(next: &ShardsReassigned) -> Vec<usize> {
    next.holdings
        .iter()
        .map(|holding| holding.shards.len())
        .collect()
}

/// A run that started with fewer agents than it wants takes newcomers up to that number. The move
/// takes effect only after an old holder that is cut off has fenced itself.
#[test]
fn a_run_grows_to_what_it_wants_and_no_further() {
    let mut story = Story::started(3, 1);
    assert!(story.decide().is_none(), "there is no newcomer");
    (1..5).for_each(|number| story.beat(number));
    let next = story.reassigned();
    assert_eq!(sizes(&next), [86, 85, 85]);
    let safe = story
        .now
        .plus_us(story.policy.fence_us + story.policy.takeover_us);
    assert!(story.begins(&next) >= safe && next.losses.is_empty());
    [1, 2].into_iter().for_each(|number| story.ready(number));
    assert!(story.decide().is_none(), "two stand by");
}

/// A newcomer that arrives during a move waits until the move ends, which is a deadline.
#[test]
fn one_move_at_a_time() {
    let mut story = Story::started(3, 1);
    story.beat(1);
    let first = story.reassigned();
    story.ready(1);
    story.beat(2);
    assert!(story.decide().is_none(), "a move is under way");
    let begins = story.begins(&first);
    let wakes = deadline(&story.state, &story.hearing, &story.policy, story.now);
    assert!(wakes.is_some_and(|at| at <= begins));
    story.now = begins;
    (0..3).for_each(|number| story.beat(number));
    assert_eq!(sizes(&story.reassigned()), [86, 85, 85]);
}

/// Agents without free capacity, or that the run cannot use, are no newcomers.
#[test]
fn an_agent_at_capacity_is_no_newcomer() {
    let mut story = Story::started(2, 1);
    story.beat(1);
    story.hearing.at_capacity.insert(plans::holder(1, 0));
    assert!(story.decide().is_none());
    story.hearing.at_capacity.clear();
    assert!(story.decide().is_some());
}

/// A run that lost a holder moves its shards to the other holders at once, and then scales up to
/// the standby.
#[test]
fn a_standby_takes_the_place_of_a_lost_holder() {
    let mut story = Story::started(2, 2);
    story.beat(2);
    assert!(story.decide().is_none(), "it has what it wants");
    story.pass(story.policy.lost_us);
    [1, 2].into_iter().for_each(|number| story.beat(number));
    let survivor = story.reassigned();
    assert_eq!((survivor.losses.len(), sizes(&survivor)), (1, vec![256]));
    story.now = story.begins(&survivor);
    [1, 2].into_iter().for_each(|number| story.beat(number));
    let joined = story.reassigned();
    assert_eq!((joined.losses.len(), sizes(&joined)), (0, vec![128, 128]));
}

/// A newcomer that never becomes ready loses its shards.
#[test]
fn a_newcomer_that_is_never_ready_loses_its_shards() {
    let mut story = Story::started(2, 1);
    story.beat(1);
    let next = story.reassigned();
    story.now = story.begins(&next).plus_us(story.policy.ready_us - 1);
    [0, 1].into_iter().for_each(|number| story.beat(number));
    assert!(story.decide().is_none(), "it has time until then");
    story.pass(1);
    let back = story.reassigned();
    assert_eq!(back.losses[0].reason, LossReason::NotReady);
    assert_eq!(sizes(&back), [256]);
    let safe = story.now.plus_us(story.policy.fence_us);
    assert!(story.begins(&back) >= safe, "it may get ready this moment");
    assert!(story.decide().is_none(), "it gets no second chance");
}

/// Broken if a change of the rate gives a newcomer that is not ready more time: with regular
/// changes its shards would never be served.
#[test]
fn a_later_map_gives_no_more_time_to_get_ready() {
    let mut story = Story::started(2, 1);
    story.beat(1);
    let next = story.reassigned();
    story.now = story.begins(&next);
    let ready_by = story.now.plus_us(story.policy.ready_us);
    [0, 1].into_iter().for_each(|number| story.beat(number));
    let request = Request::RateChangeRequested(RateChangeRequested {
        by: "ann@host".to_owned(),
        rate: Rate::per_second(5),
        hold: None,
    });
    story.record(Record::Request(&request));
    let Decision::RateChanged(changed) = story.decided() else {
        panic!("the rate was not changed")
    };
    assert!(changed.from_tick > next.takeover_tick);
    story.now = Timestamp(ready_by.0 - 1);
    [0, 1].into_iter().for_each(|number| story.beat(number));
    assert!(story.decide().is_none(), "it has time until then");
    let wakes = deadline(&story.state, &story.hearing, &story.policy, story.now);
    assert_eq!(wakes, Some(ready_by));
    story.now = ready_by;
    let back = story.reassigned();
    assert_eq!(back.losses[0].reason, LossReason::NotReady);
    assert_eq!(sizes(&back), [256]);
}

/// An agent that leaves keeps its shards until a planned move gives them to the others, which takes
/// effect only after an agent that is cut off has fenced itself. The agent that leaves is not lost.
#[test]
fn an_agent_that_leaves_keeps_its_shards_until_a_takeover() {
    let mut story = Story::started(3, 3);
    story.fact(0, What::AgentLeaving);
    let next = story.reassigned();
    assert_eq!((next.losses.len(), sizes(&next)), (0, vec![128, 128]));
    let leaver = plans::holder(0, 0);
    assert!(next.holdings.iter().all(|one| one.holder != leaver));
    let lead_us = story.policy.fence_us + story.policy.takeover_us;
    assert!(story.begins(&next) >= story.now.plus_us(lead_us));
    story.now = story.begins(&next);
    (0..3).for_each(|number| story.beat(number));
    assert!(story.decide().is_none(), "it gets nothing back");
}

/// An agent that leaves and is the only one continues until another agent joins, which takes
/// everything.
#[test]
fn a_lone_leaver_waits_for_a_newcomer() {
    let mut story = Story::started(1, 1);
    story.fact(0, What::AgentLeaving);
    assert!(story.decide().is_none(), "no agent can take over");
    story.beat(1);
    let next = story.reassigned();
    assert_eq!((next.losses.len(), sizes(&next)), (0, vec![256]));
    assert_eq!(next.holdings[0].holder, plans::holder(1, 0));
}

/// An agent that announced its leaving and stops before others have taken over is lost, and so is
/// one that fails or falls silent: the announcement does not let it hold its shards for ever.
#[test]
fn a_leaver_that_stops_is_lost() {
    for (what, reason) in [
        (Some(finished()), LossReason::Left),
        (Some(failed()), LossReason::Failed),
        (None, LossReason::Silent),
    ] {
        let mut story = Story::started(2, 1);
        story.fact(0, What::AgentLeaving);
        let is_silent = what.is_none();
        what.into_iter().for_each(|what| story.fact(0, what));
        // The announcement may come last, from an agent of an earlier version.
        story.fact(0, What::AgentLeaving);
        if is_silent {
            story.pass(story.policy.lost_us);
        }
        story.beat(1);
        let next = story.reassigned();
        assert_eq!((next.losses.len(), next.losses[0].reason), (1, reason));
        assert_eq!(next.holdings[0].holder, plans::holder(1, 0));
    }
}

/// Shards of a lost holder do not go to an agent that leaves while another one stays.
#[test]
fn an_agent_that_leaves_takes_nothing_over() {
    let mut story = Story::started(3, 3);
    story.pass(story.policy.lost_us);
    [1, 2].into_iter().for_each(|number| story.beat(number));
    story.fact(1, What::AgentLeaving);
    let next = story.reassigned();
    assert_eq!(next.losses[0].holder, plans::holder(0, 0));
    let size = |number: u64| {
        let mut its = next.holdings.iter();
        its.find(|one| one.holder == plans::holder(number, 0))
            .map(|one| one.shards.len())
    };
    assert_eq!(size(1).zip(size(2)), Some((85, 171)));
}

fn finished() -> What {
    What::ShardsFinished(ShardsFinished {
        reason: FinishReason::Left,
        final_seq: 0,
        totals: Totals::default(),
        on_stop_failed: None,
    })
}

fn failed() -> What {
    What::ShardsFailed(ShardsFailed {
        generation: 1,
        reason: "broken".to_owned(),
        cause: FailureCause::Broken,
    })
}
