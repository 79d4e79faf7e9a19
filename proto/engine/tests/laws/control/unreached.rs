//! A run that reaches no server: when it ends early, and what its report says of latency.

use std::collections::{BTreeMap, BTreeSet};

use loadpilot_engine::control::decide::unanswered::{UNANSWERED_US, unanswered};
use loadpilot_engine::control::decide::{LastSeen, Observations, Policy, decide};
use loadpilot_engine::control::run_state::{Record, RunState};
use loadpilot_engine::tally::unreached::Reach;
use loadpilot_engine::tally::{CallEnd, Phases, Tally};
use loadpilot_events::RunId;
use loadpilot_events::id::Holder;
use loadpilot_events::log::assign::Holding;
use loadpilot_events::log::cause::Cause;
use loadpilot_events::log::ctl::{Decision, Ending, ShardsAssigned, StartScheduled};
use loadpilot_events::log::outcome::Outcome;
use loadpilot_events::log::req::Request;
use loadpilot_events::rules::Rules;
use loadpilot_events::units::Timestamp;
use loadpilot_events::wire::heartbeat::Unreached;
use proptest::prelude::*;

use crate::rules::dice::Dice;
use crate::rules::plans;

const NOW: Timestamp = Timestamp(1_800_000_000_000_000);
const TICK_US: u64 = 1_000_000;

fn run() -> RunId {
    RunId::parse("01k00000000000000000000001").expect("a run's id")
}

fn unreached_report(since_us: Option<u64>, until_us: u64) -> Unreached {
    let calls = since_us.map_or(0, |_| 3);
    Unreached {
        run: run(),
        until_us,
        since_us,
        calls,
        causes: since_us
            .map(|_| (Cause::Refused, calls))
            .into_iter()
            .collect(),
    }
}

fn ended(tick: u32, outcome: Outcome, cause: Option<Cause>) -> CallEnd {
    CallEnd {
        tick,
        generation: 1,
        call: 0,
        outcome,
        response_us: 400,
        service_us: 300,
        status: None,
        cause,
        sent_bytes: 0,
        received_bytes: 0,
        phases: Phases::default(),
    }
}

/// The decisions about a started run of two holders, from what each holder reports.
fn decided(
    no_early_abort: bool,
    rules: Rules,
    unreached: BTreeMap<Holder, Unreached>,
) -> Vec<Decision> {
    let mut dice = Dice::new(7);
    let mut plan = plans::plan(&mut dice);
    plan.target = "http://127.0.0.1:9".to_owned();
    for piece in &mut plan.profile.pieces {
        piece.duration_us = 60_000_000;
    }
    let mut request = plans::request(plan, 2, 2, &mut dice);
    request.no_early_abort = no_early_abort;
    let (policy, now) = (Policy::default(), NOW.plus_us(6_000_000));
    let holders = [plans::holder(0, 0), plans::holder(1, 0)];
    let seen = LastSeen {
        at: now,
        predecessor_dead: false,
        has: BTreeSet::new(),
        recovering: BTreeSet::new(),
    };
    let hearing = Observations {
        since: NOW,
        agents: holders
            .iter()
            .map(|one| (one.clone(), seen.clone()))
            .collect(),
        unreached,
        ..Observations::default()
    };
    let request = Request::RunRequested(Box::new(request));
    let mut state = RunState::default().evolve(1, NOW, Record::Request(&request));
    let Some(Decision::RunCreated(mut created)) = decide(&state, &hearing, &policy, NOW) else {
        panic!("it is sound")
    };
    created.rules = rules;
    let shards = created.shards;
    let half = |holder: &Holder, from: u32| Holding {
        holder: holder.clone(),
        shards: (from..shards).step_by(2).collect(),
    };
    let assigned = Decision::ShardsAssigned(ShardsAssigned {
        generation: 1,
        holdings: vec![half(&holders[0], 0), half(&holders[1], 1)],
        ready_by: NOW,
    });
    let start = Decision::StartScheduled(StartScheduled { start_at: NOW });
    for (seq, decision) in (2..).zip([Decision::RunCreated(created), assigned, start]) {
        state = state.evolve(seq, NOW, Record::Decision(&decision));
    }
    let mut decisions = Vec::new();
    while let Some(decision) = decide(&state, &hearing, &policy, now) {
        state = state.evolve(10, now, Record::Decision(&decision));
        decisions.push(decision);
    }
    decisions
}

fn both(one: Option<Unreached>, other: Option<Unreached>) -> BTreeMap<Holder, Unreached> {
    let holders = [plans::holder(0, 0), plans::holder(1, 0)];
    let reports = holders.into_iter().zip([one, other]);
    reports
        .filter_map(|(holder, report)| Some((holder, report?)))
        .collect()
}

/// Broken if a run goes on for hours against a closed port, or if its stop does not say why.
#[test]
fn a_run_that_nothing_answers_is_stopped_with_the_cause() {
    let until = UNANSWERED_US;
    let idle = unreached_report(None, until);
    let decisions = decided(
        false,
        Rules::CURRENT,
        both(Some(unreached_report(Some(0), until)), Some(idle)),
    );
    let [Decision::StopScheduled(stop), ..] = decisions.as_slice() else {
        panic!("{decisions:?}")
    };
    assert_eq!(
        stop.words("http://127.0.0.1:9"),
        "nothing answers at http://127.0.0.1:9: connection refused; all 3 calls failed to connect"
    );
    let ending = decisions.iter().find_map(|decision| match decision {
        Decision::RunSealed(seal) => Some(seal.ending),
        _ => None,
    });
    assert!(ending.is_none_or(|ending| ending == Ending::Stopped));
}

/// Broken if a run is stopped although it asked for no early abort, has rules 1, or one agent has
/// reached the target, knows too little, or has failed for too short a time.
#[test]
fn no_other_run_is_stopped() {
    let until = UNANSWERED_US;
    let in_vain = || Some(unreached_report(Some(0), until));
    let goes_on = |no_early_abort, rules, unreached| {
        assert_eq!(decided(no_early_abort, rules, unreached), []);
    };
    goes_on(true, Rules::CURRENT, both(in_vain(), in_vain()));
    goes_on(false, Rules::V1, both(in_vain(), in_vain()));
    goes_on(false, Rules::CURRENT, both(in_vain(), None));
    goes_on(
        false,
        Rules::CURRENT,
        both(in_vain(), Some(unreached_report(None, until - 1))),
    );
    let later = Some(unreached_report(Some(TICK_US), until));
    goes_on(false, Rules::CURRENT, both(later.clone(), later));
    goes_on(
        false,
        Rules::CURRENT,
        both(
            Some(unreached_report(None, until)),
            Some(unreached_report(None, until)),
        ),
    );
}

proptest! {
    /// A target that answered once counts as reached for good, however many calls fail later. Until
    /// then an agent's report counts every call of every look.
    #[test]
    fn reached_once_is_reached(looks in proptest::collection::vec(
        proptest::collection::vec((0_u32..5, 0_usize..6), 0..5), 0..6,
    )) {
        let kinds = [
            (Outcome::Connect, Some(Cause::Refused)),
            (Outcome::Connect, Some(Cause::NameNotResolved)),
            (Outcome::Timeout, Some(Cause::WhileConnecting)),
            (Outcome::Cancelled, None),
            (Outcome::Timeout, Some(Cause::BeforeFirstByte)),
            (Outcome::Ok, None),
        ];
        let mut reach = Reach::default();
        prop_assert_eq!(reach.report(&run()), None, "before the start");
        let (mut is_reached, mut calls, mut first) = (false, 0, None::<u32>);
        for (look, ends) in looks.iter().enumerate() {
            let mut tally = Tally::new();
            for &(tick, kind) in ends {
                let (outcome, cause) = kinds[kind];
                tally.call(&ended(tick, outcome, cause));
                is_reached |= kind >= 4;
                if kind != 3 {
                    calls += 1;
                    first = Some(first.map_or(tick, |known| known.min(tick)));
                }
            }
            reach.add(&tally.take(), TICK_US, look as u64);
            let found = reach.report(&run());
            prop_assert_eq!(found.is_none(), is_reached);
            prop_assert_eq!(reach.is_unreached(), !is_reached && calls > 0);
            if let Some(found) = found {
                prop_assert_eq!(found.calls, calls);
                prop_assert_eq!(found.until_us, look as u64);
                prop_assert_eq!(found.since_us, first.map(|tick| u64::from(tick) * TICK_US));
            }
        }
    }

    /// Broken if a run ends because only some of the agents that ever held it reported no success,
    /// or ends earlier than they reported.
    #[test]
    fn all_holders_must_have_waited(
        each in proptest::collection::vec(
            (any::<bool>(), proptest::option::of(0_u64..9), 0_u64..12),
            1..5,
        ),
    ) {
        let holder = |number: usize| plans::holder(number as u64, 0);
        let holders: BTreeSet<Holder> = (0..each.len()).map(holder).collect();
        let unreached = each.iter().enumerate().filter(|(_, (said, ..))| *said);
        let unreached = unreached.map(|(number, &(_, since, until))| {
            let since = since.map(|second| second * TICK_US);
            (holder(number), unreached_report(since, until * TICK_US))
        });
        let found = unanswered(&holders, &unreached.collect());
        let first = each.iter().filter_map(|(_, since, _)| *since).min();
        let waited = first.is_some_and(|first| {
            each.iter().all(|&(said, _, until)| said && until >= first + UNANSWERED_US / TICK_US)
        });
        prop_assert_eq!(found.is_some(), waited);
        if let Some(found) = found {
            prop_assert_eq!(found.calls, found.causes[&Cause::Refused]);
        }
    }
}
