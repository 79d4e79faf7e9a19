//! Steering: a change of the rate changes nothing before its tick, the shares still add up to the
//! plan, and every request gets one answer.

mod quotas;

use std::collections::BTreeSet;
use std::sync::Arc;

use loadpilot_engine::control::ControlLog;
use loadpilot_engine::control::agent_view::AgentView;
use loadpilot_engine::control::assign::deal;
use loadpilot_engine::control::decide::{Observations, Policy, decide};
use loadpilot_engine::control::run_state::{Record, RunState};
use loadpilot_engine::fold::planned::Planned;
use loadpilot_engine::schedule::due_times::DueTimes;
use loadpilot_engine::schedule::rate_change::RateChange;
use loadpilot_engine::schedule::share::Share;
use loadpilot_engine::schedule::workload::Workload;
use loadpilot_events::Envelope;
use loadpilot_events::id::{EventId, Holder, RunId, TenantId};
use loadpilot_events::limits::STEERED_MAX;
use loadpilot_events::log::assign::Holding;
use loadpilot_events::log::ctl::{
    Decision, RunCreated, ShardsAssigned, ShardsReassigned, StartScheduled, StopReason,
    StopScheduled,
};
use loadpilot_events::log::req::Request;
use loadpilot_events::log::steer::{
    NotSteered, PauseRequested, RateChangeRequested, RateChanged, ResumeRequested,
};
use loadpilot_events::plan::script::Script;
use loadpilot_events::plan::{Arrivals, Plan};
use loadpilot_events::rules::Rules;
use loadpilot_events::units::{Rate, Timestamp};
use loadpilot_events::wire::heartbeat::News;
use loadpilot_events::wire::subject::Kind;
use proptest::prelude::*;

use crate::rules::dice::Dice;
use crate::rules::plans;

const SHARDS: u32 = 8;
const BY: &str = "ann@host";

/// A plan of several Poisson blocks, or of uniform arrivals.
fn plan(seed: u64, arrivals: Arrivals) -> Plan {
    let mut plan = plans::plan(&mut Dice::new(seed));
    plan.arrivals = arrivals;
    for piece in &mut plan.profile.pieces {
        piece.from.0 *= 20;
        piece.to.0 *= 20;
    }
    plan
}

fn changes(dice: &mut Dice, ticks: u32) -> Vec<RateChange> {
    let mut from_tick = 0;
    let mut one = || {
        from_tick = (from_tick + dice.pick(0..4) as u32).min(ticks.saturating_sub(1));
        let rate = Rate(dice.one_of(&[1, 333_333, 90_000_001, 1_200_000_000]));
        RateChange { from_tick, rate }
    };
    (0..4).map(|_| one()).collect()
}

fn dues(workload: &Workload) -> Vec<u64> {
    let mut due_times = DueTimes::new(Arc::new(workload.clone()));
    (0..workload.planned())
        .map(|n| due_times.due_us(n))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// An arrival that was sent before a change must not become another arrival, nor be sent again.
    /// After the change the new rate applies for exactly the remaining time.
    #[test]
    fn a_change_keeps_what_was_due_before(seed: u64, poisson: bool) {
        let arrivals = if poisson { Arrivals::Poisson } else { Arrivals::Uniform };
        let plan = plan(seed, arrivals);
        let mut dice = Dice::new(seed);
        let planned = Workload::new(&plan, seed);
        let changes = changes(&mut dice, planned.ticks());
        let mut before = planned.clone();
        for known in 1..=changes.len() {
            let after = planned.clone().steered(&changes[..known]);
            let change = changes[known - 1];
            let at_us = u64::from(change.from_tick) * plan.tick_us;
            let (old, new) = (dues(&before), dues(&after));
            let same = old.partition_point(|&due_us| due_us < at_us);
            prop_assert_eq!(&old[..same], &new[..same]);
            prop_assert_eq!(after.first_at_or_after(at_us), same as u64);
            prop_assert!(new[same..].iter().all(|&due_us| due_us >= at_us));
            prop_assert!(new.is_sorted());
            prop_assert!(new.last().is_none_or(|&last| last < after.duration_us()));
            prop_assert_eq!(after.duration_us(), plan.profile.duration_us());
            // The integral of the remaining time, in whole numbers: rate × time, rounded up.
            let left_us = u128::from(after.duration_us() - at_us);
            let whole = (u128::from(change.rate.0) * left_us).div_ceil(1_000_000_000_000);
            let rest = (new.len() - same) as u128;
            prop_assert!(rest == whole || !poisson && rest + 1 == whole, "{} of {}", rest, whole);
            before = after;
        }
    }

    /// Takeovers and the accounting cut a steered run by time: each cut must be exact.
    #[test]
    fn cutting_a_steered_run_agrees_with_walking(seed: u64, poisson: bool) {
        let arrivals = if poisson { Arrivals::Poisson } else { Arrivals::Uniform };
        let plan = plan(seed, arrivals);
        let mut dice = Dice::new(seed);
        let planned = Workload::new(&plan, seed);
        let workload = planned.clone().steered(&changes(&mut dice, planned.ticks()));
        let dues = dues(&workload);
        for _ in 0..60 {
            let t_us = dice.pick(0..workload.duration_us() + 10);
            let walked = dues.iter().filter(|&&due_us| due_us < t_us).count() as u64;
            prop_assert_eq!(workload.first_at_or_after(t_us), walked, "at {} µs", t_us);
            if !dues.is_empty() {
                let n = dice.pick(0..workload.planned());
                prop_assert_eq!(workload.due_us(n), dues[n as usize]);
            }
        }
    }

    /// However changes of the rate and of the map follow each other, all agents together fire
    /// exactly the arrivals that the fold has planned, each once and under the generation that
    /// counts.
    #[test]
    fn shares_of_a_steered_run_are_the_plan(seed: u64, poisson: bool, split in 1..4_u64) {
        let arrivals = if poisson { Arrivals::Poisson } else { Arrivals::Uniform };
        let plan = plan(seed, arrivals);
        let mut dice = Dice::new(seed);
        let ticks = Workload::new(&plan, seed).ticks();
        let decisions = history(&mut dice, &plan, seed, (split, ticks));
        let mut log = ControlLog::new(RunId::parse("01run").expect("a token"));
        for (news, seq) in as_news(&decisions).zip(1..) {
            let payload = serde_json::to_vec(&news.event).expect("JSON");
            log.add("ctl", &Kind::Ctl, seq, &payload);
        }
        let control = log.close();
        let workload = Workload::new(&plan, seed).steered(&control.state.steering.rates);
        let books = Planned::new(&workload, &control);
        let mut fired = BTreeSet::new();
        for number in 0..split {
            let me = plans::holder(number, 0);
            let mut view = AgentView::new(me.clone());
            for news in as_news(&decisions) {
                view.apply(&news);
            }
            let own = Workload::new(&plan, seed).steered(view.rates());
            let mut counts = vec![0_u64; own.ticks() as usize];
            for hold in view.holds() {
                let share = Share::new(SHARDS, hold.shards.clone());
                let until = hold.until_tick.unwrap_or(ticks).min(ticks);
                for tick in hold.from_tick..until {
                    let counts_as = control.in_force(tick).map(|map| map.generation);
                    prop_assert_eq!(counts_as, Some(hold.generation), "tick {}", tick);
                    for n in own.arrivals_in_tick(tick).filter(|&n| share.owns(n)) {
                        prop_assert!(fired.insert(n), "{} is fired twice", n);
                        counts[tick as usize] += 1;
                    }
                }
            }
            for tick in 0..ticks {
                let held = books.tick(tick).held;
                let mine = held.iter().find(|(holder, _)| **holder == me);
                prop_assert_eq!(mine.map_or(0, |(_, count)| *count), counts[tick as usize]);
            }
        }
        prop_assert_eq!(fired.len() as u64, workload.planned());
        prop_assert_eq!(fired.last().map_or(0, |last| last + 1), workload.planned());
    }
}

/// A run that was started, and then changes of rate and map in random order.
fn history(dice: &mut Dice, plan: &Plan, seed: u64, (split, ticks): (u64, u32)) -> Vec<Decision> {
    let holders: Vec<Holder> = (0..split).map(|number| plans::holder(number, 0)).collect();
    let mut holdings = deal(SHARDS, &holders);
    let mut decisions = vec![created(plan, seed), assigned(&holdings), start()];
    let mut from_tick = 0;
    for generation in 2..dice.pick(2..7) as u32 {
        from_tick = (from_tick + dice.pick(0..3) as u32).min(ticks - 1);
        decisions.push(if dice.chance(50) {
            let rate = Rate(dice.one_of(&[333_333, 70_000_001, 900_000_000]));
            changed(generation, &holdings, (from_tick, rate))
        } else {
            let mut mixed = holders.clone();
            dice.shuffle(&mut mixed);
            holdings = deal(SHARDS, &mixed[..dice.pick(1..split + 1) as usize]);
            Decision::ShardsReassigned(ShardsReassigned {
                generation,
                holdings: holdings.clone(),
                takeover_tick: from_tick,
                losses: Vec::new(),
            })
        });
    }
    decisions
}

fn as_news(decisions: &[Decision]) -> impl Iterator<Item = News> {
    decisions.iter().zip(1..).map(|(decision, seq)| News {
        tenant: None,
        run: RunId::parse("01run").expect("a token"),
        seq,
        previous_seq: seq - 1,
        event: Envelope {
            v: 1,
            id: EventId::parse("id").expect("a token"),
            at: Timestamp(1),
            event: decision.clone(),
        },
    })
}

fn created(plan: &Plan, seed: u64) -> Decision {
    let request = plans::request(plan.clone(), 2, 1, &mut Dice::new(seed));
    Decision::RunCreated(Box::new(RunCreated {
        plan: Some(plan.clone()),
        request: None,
        plan_hash: plan.hash(),
        seed,
        agents: request.agents,
        owner: None,
        lead_us: 0,
        shards: SHARDS,
        gather_by: Timestamp(1),
        needs: Vec::new(),
        targets: None,
        proof: None,
        rules: Rules::CURRENT,
    }))
}

fn assigned(holdings: &[Holding]) -> Decision {
    Decision::ShardsAssigned(ShardsAssigned {
        generation: 1,
        holdings: holdings.to_vec(),
        ready_by: Timestamp(9),
    })
}

fn start() -> Decision {
    let start_at = Timestamp(0);
    Decision::StartScheduled(StartScheduled { start_at })
}

fn changed(generation: u32, holdings: &[Holding], (from_tick, rate): (u32, Rate)) -> Decision {
    Decision::RateChanged(RateChanged {
        request: 1,
        by: BY.to_owned(),
        generation,
        holdings: holdings.to_vec(),
        from_tick,
        was: Rate(0),
        rate,
    })
}

/// A run of 60 s at 10 a second that started at 0, in a fleet that loses no agent.
struct Story {
    state: RunState,
    seq: u64,
    policy: Policy,
    /// The tenant of the run, on a shared fleet.
    tenant: Option<TenantId>,
}

impl Story {
    fn new(users: Option<u32>) -> Self {
        Self::of(users, None)
    }

    fn of(users: Option<u32>, script: Option<Script>) -> Self {
        let mut plan = plans::plan(&mut Dice::new(1));
        if let Some(mut script) = script {
            plan.tasks.iter_mut().for_each(|task| task.steps.clear());
            // All tasks take rows.
            script.feeds[0].tasks = (0..).take(plan.tasks.len()).collect();
            plan.script = Some(script);
        }
        plan.tick_us = 1_000_000;
        plan.users = users;
        plan.profile.pieces.truncate(1);
        let piece = &mut plan.profile.pieces[0];
        (piece.duration_us, piece.from, piece.to) = (60_000_000, Rate(0), Rate(20_000_000));
        let holdings = deal(SHARDS, &[plans::holder(0, 0)]);
        let mut story = Self {
            state: RunState::default(),
            seq: 0,
            policy: Policy::default(),
            tenant: None,
        };
        for decision in [created(&plan, 1), assigned(&holdings), start()] {
            story.take(0, &decision);
        }
        story
    }

    fn evolve(&mut self, at_s: u64, record: Record<'_>) {
        self.seq += 1;
        let at = Timestamp(at_s * 1_000_000);
        self.state = std::mem::take(&mut self.state).evolve(self.seq, at, record);
    }

    fn take(&mut self, at_s: u64, decision: &Decision) {
        self.evolve(at_s, Record::Decision(decision));
    }

    /// Stores a request and returns the decision that answers it.
    fn ask(&mut self, at_s: u64, request: Request) -> Option<Decision> {
        self.evolve(at_s, Record::Request(&request));
        self.answer(at_s)
    }

    fn answer(&mut self, at_s: u64) -> Option<Decision> {
        let now = Timestamp(at_s * 1_000_000);
        let hearing = Observations {
            since: now,
            tenant: self.tenant.clone(),
            ..Observations::default()
        };
        let decision = decide(&self.state, &hearing, &self.policy, now)?;
        self.take(at_s, &decision);
        Some(decision)
    }
}

fn rate(rps: u64) -> Request {
    Request::RateChangeRequested(RateChangeRequested {
        by: BY.to_owned(),
        rate: Rate::per_second(rps),
        hold: None,
    })
}

fn pause() -> Request {
    Request::PauseRequested(PauseRequested { by: BY.to_owned() })
}

fn resume() -> Request {
    Request::ResumeRequested(ResumeRequested { by: BY.to_owned() })
}

fn refusal(decision: Option<Decision>) -> Option<NotSteered> {
    match decision {
        Some(Decision::SteeringRefused(refused)) => Some(refused.why),
        _ => None,
    }
}

/// A change that takes effect before every agent knows of it would be fired twice, or not at all.
#[test]
fn a_change_leaves_time_to_hear_of_it() {
    let mut story = Story::new(None);
    let Some(Decision::RateChanged(first)) = story.ask(12, rate(2_000)) else {
        panic!("the rate was not changed");
    };
    assert_eq!((first.from_tick, first.generation), (15, 2));
    assert_eq!(
        (first.was, first.rate),
        (Rate(5_000_000), Rate::per_second(2_000))
    );
    assert_eq!((first.request, first.by.as_str()), (4, BY));
    let Some(Decision::RateChanged(second)) = story.ask(13, rate(5)) else {
        panic!("the rate was not changed again");
    };
    assert_eq!((second.from_tick, second.generation), (16, 3));
    assert_eq!(
        (second.was, second.holdings),
        (Rate::per_second(2_000), first.holdings)
    );
    assert!(
        story.answer(14).is_none(),
        "an answered request is answered again"
    );
}

/// A request without an effect is refused with a reason: its author waits for an answer.
#[test]
fn what_cannot_be_done_is_refused() {
    let mut story = Story::new(None);
    assert_eq!(refusal(story.ask(1, resume())), Some(NotSteered::NotPaused));
    assert_eq!(
        refusal(story.ask(2, rate(0))),
        Some(NotSteered::RateOutOfRange)
    );
    let beyond = refusal(story.ask(2, rate(10_000_001)));
    assert_eq!(beyond, Some(NotSteered::RateOutOfRange));
    assert_eq!(refusal(story.ask(57, rate(5))), Some(NotSteered::TooLate));
    let mut closed = Story::new(Some(3));
    assert_eq!(
        refusal(closed.ask(1, rate(5))),
        Some(NotSteered::ClosedLoop)
    );
    assert!(matches!(closed.ask(2, pause()), Some(Decision::Paused(_))));
}

/// Broken if the end of a run whose rows are used up does not move with the rate, or if a change
/// after that end is accepted.
#[test]
fn the_last_row_ends_a_steered_run() {
    let text = include_str!("../../../../../golden/plan-feeds-stop.v1.json");
    let of_feed: Plan = serde_json::from_str(text).expect("a plan");
    let mut script = of_feed.script.expect("a script");
    script.feeds[0].rows = 100;
    // t²/6 arrivals are due before t: the hundredth row is taken before 24.5 s.
    let story = || Story::of(None, Some(script.clone()));
    let late = refusal(story().ask(23, rate(5)));
    assert_eq!(late, Some(NotSteered::TooLate));
    let mut steered = story();
    let changed = steered.ask(12, rate(2_000));
    assert!(matches!(changed, Some(Decision::RateChanged(_))));
    let late = refusal(steered.ask(13, rate(5)));
    assert_eq!(late, Some(NotSteered::TooLate));
}

/// A second pause is refused, so that one resume ends the pause.
#[test]
fn a_pause_is_one_pause() {
    let mut story = Story::new(None);
    let Some(Decision::Paused(paused)) = story.ask(10, pause()) else {
        panic!("not paused");
    };
    assert_eq!(paused.paused_at, Timestamp(10_000_000));
    assert_eq!(
        refusal(story.ask(11, pause())),
        Some(NotSteered::AlreadyPaused)
    );
    assert!(matches!(
        story.ask(12, resume()),
        Some(Decision::Resumed(_))
    ));
    assert_eq!(
        refusal(story.ask(13, resume())),
        Some(NotSteered::NotPaused)
    );
    assert!(matches!(story.ask(14, pause()), Some(Decision::Paused(_))));
}

/// Broken if a run that is paused after too many changes can never be resumed, or if more than that
/// resume is stored.
#[test]
fn a_run_that_was_steered_too_often_can_still_be_resumed() {
    let mut story = Story::new(None);
    for _ in 1..STEERED_MAX {
        assert_eq!(refusal(story.ask(1, resume())), Some(NotSteered::NotPaused));
    }
    assert!(matches!(story.ask(2, pause()), Some(Decision::Paused(_))));
    for request in [pause(), rate(5)] {
        let refused = refusal(story.ask(3, request));
        assert_eq!(refused, Some(NotSteered::TooOften));
    }
    let resumed = story.ask(4, resume());
    assert!(matches!(resumed, Some(Decision::Resumed(_))), "{resumed:?}");
    for request in [resume(), pause(), rate(5)] {
        let refused = refusal(story.ask(5, request));
        assert_eq!(refused, Some(NotSteered::TooOften));
    }
}

/// A request before the start is answered at the start; after a stop there is no answer.
#[test]
fn requests_wait_for_the_start_and_end_with_a_stop() {
    let mut story = Story::new(None);
    story.state.start = None;
    story.evolve(0, Record::Request(&rate(7)));
    story.take(5, &start());
    assert!(matches!(story.answer(5), Some(Decision::RateChanged(_))));
    let stop = Decision::StopScheduled(StopScheduled {
        stop_at: Timestamp(6_000_000),
        reason: StopReason::OwnerGone,
        unanswered: None,
    });
    story.take(6, &stop);
    assert!(story.ask(7, pause()).is_none());
}
