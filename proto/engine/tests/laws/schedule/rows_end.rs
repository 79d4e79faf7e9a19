//! A feed ends a run: at the same arrival for any split of the work and after any change of the
//! rate, with all rows used and none twice.

use std::sync::Arc;

use loadpilot_engine::check;
use loadpilot_engine::control::decide::{Observations, Policy, deadline, decide};
use loadpilot_engine::control::run_state::{Record, RunState};
use loadpilot_engine::schedule::due_times::DueTimes;
use loadpilot_engine::schedule::feed::{Feeder, NoRow};
use loadpilot_engine::schedule::random::DrawScope;
use loadpilot_engine::schedule::rate_change::RateChange;
use loadpilot_engine::schedule::workload::Workload;
use loadpilot_events::log::ctl::{Decision, RunCreated, StartScheduled};
use loadpilot_events::log::req::Request;
use loadpilot_events::plan::Plan;
use loadpilot_events::plan::script::Feed;
use loadpilot_events::rules::Rules;
use loadpilot_events::units::{Rate, Timestamp};
use proptest::prelude::*;

use crate::rules::dice::Dice;
use crate::rules::plans;

/// A plan whose run ends with a feed, and the same plan without that.
fn plans_of(seed: u64) -> (Plan, Plan) {
    let dice = &mut Dice::new(seed);
    let mut plan = plans::plan(dice);
    let text = include_str!("../../../../golden/plan-feeds-stop.v1.json");
    let of_feed: Plan = serde_json::from_str(text).expect("a plan");
    let mut script = of_feed.script.expect("a script");
    let tasks = 0..u16::try_from(plan.tasks.len()).expect("few");
    let taking: Vec<u16> = tasks.filter(|_| dice.chance(60)).collect();
    script.feeds[0].tasks = if taking.is_empty() { vec![0] } else { taking };
    script.feeds[0].rows = dice.pick(1..80);
    plan.tasks.iter_mut().for_each(|task| task.steps.clear());
    plan.script = Some(script);
    let mut whole = plan.clone();
    feed_of(&mut whole).stops = false;
    (plan, whole)
}

fn feed_of(plan: &mut Plan) -> &mut Feed {
    &mut plan.script.as_mut().expect("a script").feeds[0]
}

fn changes(dice: &mut Dice, ticks: u32) -> Vec<RateChange> {
    let mut from_tick = 0;
    let mut one = || {
        from_tick = (from_tick + dice.pick(0..3) as u32).min(ticks.saturating_sub(1));
        let rate = Rate(dice.one_of(&[1, 333_333, 40_000_001, 200_000_000]));
        RateChange { from_tick, rate }
    };
    (0..3).map(|_| one()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Broken if an arrival without a row is offered, if a row is left over while arrivals are due,
    /// or if the end differs between agents or after a change of the rate.
    #[test]
    fn the_run_ends_with_the_last_row(seed: u64, steered: bool) {
        let (mut plan, whole) = plans_of(seed);
        let (cut, all) = (Workload::new(&plan, seed), Workload::new(&whole, seed));
        let dice = &mut Dice::new(seed ^ 1);
        let changes = if steered { changes(dice, all.ticks()) } else { Vec::new() };
        let (cut, all) = (cut.steered(&changes), all.steered(&changes));
        let feed = feed_of(&mut plan).clone();
        let mut feeder = Feeder::new(Arc::new(all.clone()), 0, &feed);
        let mut taken = Vec::new();
        let mut first_without = None;
        for n in 0..all.planned() {
            match feeder.row(DrawScope::Arrival(n)) {
                Ok(row) => taken.push(row),
                Err(NoRow::AllUsed) if first_without.is_none() => first_without = Some(n),
                Err(_) => {}
            }
        }
        prop_assert_eq!(cut.planned(), first_without.unwrap_or(all.planned()));
        prop_assert_eq!(cut.rows_end().map(|end| end.arrival), first_without);
        let counts = cut.count_per_task(0..cut.planned());
        let takers: u64 = feed.tasks.iter().map(|&task| counts[usize::from(task)]).sum();
        prop_assert_eq!(takers, taken.len() as u64);
        prop_assert!(first_without.is_none() || takers == feed.rows, "a row is left");
        taken.sort_unstable();
        taken.dedup();
        prop_assert_eq!(taken.len() as u64, takers, "a row was taken twice");
        let (planned, end_us) = (cut.planned(), cut.duration_us());
        let mut due_times = DueTimes::new(Arc::new(all.clone()));
        let dues: Vec<u64> = (0..all.planned()).map(|n| due_times.due_us(n)).collect();
        for n in 0..planned {
            prop_assert_eq!(cut.due_us(n), dues[n as usize]);
            prop_assert!(dues[n as usize] < end_us);
        }
        match first_without {
            None => prop_assert_eq!(end_us, plan.profile.duration_us()),
            Some(n) => prop_assert!(end_us - dues[n as usize] <= 1),
        }
        for t_us in [0, end_us / 2, end_us, end_us + 1, plan.profile.duration_us()] {
            let walked = dues[..planned as usize].iter().filter(|&&due| due < t_us).count();
            prop_assert_eq!(cut.first_at_or_after(t_us), walked as u64, "at {} µs", t_us);
        }
    }

    /// Broken if a coordinator waits for the rest of the profile, or ends the run too early.
    #[test]
    fn a_coordinator_knows_the_end(seed: u64) {
        let (plan, _) = plans_of(seed);
        let end = Workload::new(&plan, seed).rows_end();
        let Some(end) = end else { return Ok(()) };
        let start_at = Timestamp(1_800_000_000_000_000);
        let request = plans::request(plan.clone(), 1, 1, &mut Dice::new(seed));
        let created = Decision::RunCreated(Box::new(RunCreated {
            plan_hash: plan.hash(),
            plan: Some(plan),
            request: None,
            seed,
            agents: request.agents.clone(),
            owner: None,
            lead_us: 0,
            shards: 1,
            gather_by: start_at,
            needs: Vec::new(),
            targets: None,
            proof: None,
            rules: Rules::CURRENT,
        }));
        let started = Decision::StartScheduled(StartScheduled { start_at });
        let run_requested = Request::RunRequested(Box::new(request));
        let state = RunState::default()
            .evolve(1, start_at, Record::Request(&run_requested))
            .evolve(2, start_at, Record::Decision(&created))
            .evolve(3, start_at, Record::Decision(&started));
        let (observed, policy) = (Observations::default(), Policy::default());
        let next = deadline(&state, &observed, &policy, start_at.plus_us(end.at_us - 1));
        prop_assert!(next.is_some_and(|at| at <= start_at.plus_us(end.at_us)));
        let over = decide(&state, &observed, &policy, start_at.plus_us(end.at_us));
        prop_assert!(matches!(over, Some(Decision::RunSealed(_))), "{over:?}");
        let before = decide(&state, &observed, &policy, start_at.plus_us(end.at_us - 1));
        prop_assert!(!matches!(before, Some(Decision::RunSealed(_))), "{before:?}");
    }
}

/// Broken if a run starts that would end before anything is measured.
#[test]
fn rows_last_beyond_the_warm_up() {
    let text = include_str!("../../../../golden/plan-feeds-stop.v1.json");
    let plan: Plan = serde_json::from_str(text).expect("a plan");
    let fields = |warm_up_us: u64| {
        let mut plan = plan.clone();
        plan.warm_up_us = warm_up_us;
        let request = plans::request(plan, 1, 1, &mut Dice::new(1));
        let problems = check::request(&request);
        problems
            .into_iter()
            .map(|one| one.field)
            .collect::<Vec<_>>()
    };
    let end_us = Workload::new(&plan, 1).rows_end().map(|end| end.at_us);
    assert!(
        end_us.is_some_and(|us| (16_700_000..17_000_000).contains(&us)),
        "{end_us:?}"
    );
    assert_eq!(fields(16_000_000), Vec::<String>::new());
    assert_eq!(
        fields(16_500_000),
        ["script.feeds[0].rows"],
        "rounded up to whole ticks"
    );
}
