//! Needs of a run: only agents that meet them get shards, and a refusal names what is missing.

use std::collections::BTreeSet;

use loadpilot_engine::control::decide::{LastSeen, Observations, Policy, decide};
use loadpilot_engine::control::run_state::{Record, RunState};
use loadpilot_events::log::assign::Holding;
use loadpilot_events::log::ctl::Decision;
use loadpilot_events::log::evt::{CapacityOffered, Fact, What};
use loadpilot_events::log::req::{Request, RunRequested};
use loadpilot_events::plan::script::Script;
use loadpilot_events::plan::{Object, Plan};
use loadpilot_events::{Capability, Holder, Rate, Timestamp};
use proptest::prelude::*;

use crate::rules::dice::Dice;
use crate::rules::plans;

const NOW: Timestamp = Timestamp(1_800_000_000_000_000);

fn zone() -> Capability {
    Capability::label("label", "zone=eu").expect("a label")
}

/// A run of a scenario in Python.
fn in_python(want: u32, min: u32) -> RunRequested {
    let mut dice = Dice::new(1);
    let mut plan = plans::plan(&mut dice);
    plan.tasks.iter_mut().for_each(|task| task.steps.clear());
    plan.script = Some(Script {
        bundle: Object::of(b"the files"),
        file: "shop.py".to_owned(),
        users: 5,
        secret_headers: Vec::new(),
        feeds: Vec::new(),
        checked: Vec::new(),
        prepared: None,
    });
    plans::request(plan, want, min, &mut dice)
}

/// Observations of a coordinator that received a heartbeat of each of `agents` at `at`.
fn observed(agents: &[(Holder, BTreeSet<Capability>)], at: Timestamp) -> Observations {
    let last_seen = |(holder, has): &(Holder, BTreeSet<Capability>)| {
        let seen = LastSeen {
            at,
            predecessor_dead: false,
            recovering: BTreeSet::new(),
            has: has.clone(),
        };
        (holder.clone(), seen)
    };
    Observations {
        since: NOW,
        agents: agents.iter().map(last_seen).collect(),
        ..Observations::default()
    }
}

/// A run to which all of `agents` have offered capacity, whatever their capabilities.
fn offered(request: RunRequested, agents: &[(Holder, BTreeSet<Capability>)]) -> RunState {
    let (hearing, policy) = (observed(agents, NOW), Policy::default());
    let request = Request::RunRequested(Box::new(request));
    let state = RunState::default().evolve(1, NOW, Record::Request(&request));
    let created = decide(&state, &hearing, &policy, NOW).expect("it is created");
    let mut state = state.evolve(2, NOW, Record::Decision(&created));
    for (seq, (holder, _)) in (3..).zip(agents) {
        let fact = Fact {
            boot_id: holder.boot_id.clone(),
            what: What::CapacityOffered(CapacityOffered {
                rate: Rate::per_second(100),
                cores: 1,
                expires: NOW.plus_us(60_000_000),
                version: "1".to_owned(),
            }),
        };
        state = state.evolve(seq, NOW, Record::Fact(&holder.agent, &fact));
    }
    state
}

proptest! {
    /// An agent that lacks a needed capability gets no shard, neither at first nor when others are
    /// gone.
    #[test]
    fn shards_go_to_able_agents(
        able in proptest::collection::vec((any::<bool>(), any::<bool>()), 1..6),
        asks_zone: bool,
    ) {
        let agents: Vec<(Holder, BTreeSet<Capability>)> = (0..).zip(&able).map(|(number, able)| {
            let python = able.0.then(Capability::python);
            let zone = able.1.then(zone);
            (plans::holder(number, 0), python.into_iter().chain(zone).collect())
        }).collect();
        let mut request = in_python(5, 1);
        request.needs = asks_zone.then(zone).into_iter().collect();
        let needed: BTreeSet<Capability> =
            [Capability::python()].into_iter().chain(request.needs.clone()).collect();
        let can = |holder: &Holder| agents.iter().any(|(known, has)| {
            known == holder && needed.is_subset(has)
        });
        let only_able = |holdings: &[Holding]| holdings.iter().all(|one| can(&one.holder));
        let some = agents.iter().filter(|(holder, _)| can(holder)).count();

        let state = offered(request, &agents);
        let late = NOW.plus_us(10_000_000);
        let decision = decide(&state, &observed(&agents, late), &Policy::default(), late);
        let Some(Decision::ShardsAssigned(assigned)) = &decision else {
            prop_assert_eq!(some, 0, "{:?}", decision);
            return Ok(());
        };
        prop_assert!(only_able(&assigned.holdings));
        prop_assert_eq!(assigned.holdings.len(), some.min(5));

        // The first holder falls silent before any holder is ready.
        let state = state.evolve(20, late, Record::Decision(decision.as_ref().expect("seen")));
        let gone = &assigned.holdings[0].holder;
        let others: Vec<_> = agents.iter().filter(|(one, _)| one != gone).cloned().collect();
        let later = NOW.plus_us(30_000_000);
        let hearing = observed(&others, later);
        match decide(&state, &hearing, &Policy::default(), later) {
            Some(Decision::ShardsReassigned(next)) => prop_assert!(only_able(&next.holdings)),
            other => prop_assert_eq!(some, 1, "{:?}", other),
        }
    }
}

fn refusal(request: RunRequested, agents: &[(Holder, BTreeSet<Capability>)]) -> String {
    let state = offered(request, agents);
    let late = NOW.plus_us(10_000_000);
    match decide(&state, &observed(agents, late), &Policy::default(), late) {
        Some(Decision::RunRefused(refused)) => refused.problems[0].to_string(),
        other => panic!("{other:?}"),
    }
}

/// A refusal must say which capability the agents lack, not only how many agents are missing.
#[test]
fn a_refusal_says_what_the_agents_lack() {
    let python = BTreeSet::from([Capability::python()]);
    let one = (plans::holder(1, 0), python.clone());
    let plain = (plans::holder(2, 0), BTreeSet::new());
    let problem = refusal(in_python(2, 2), &[one.clone(), plain]);
    assert!(
        problem.starts_with("agents: at least 2 must offer capacity within "),
        "{problem}"
    );
    assert!(
        problem.contains("s; needs python: 1 of 2 agents have it"),
        "{problem}"
    );

    let problem = refusal(in_python(2, 2), &[one]);
    assert!(
        !problem.contains("needs"),
        "one is missing, but not for what it can do: {problem}"
    );
    let problem = refusal(in_python(1, 1), &[]);
    assert!(problem.contains("and none is there"), "{problem}");
}

/// A fleet for compiled plans refuses Python, and the refusal says what to do instead.
#[test]
fn a_compiled_only_fleet_refuses_python() {
    let policy = Policy {
        compiled_only: true,
        ..Policy::default()
    };
    let first = |request: RunRequested| {
        let request = Request::RunRequested(Box::new(request));
        let state = RunState::default().evolve(1, NOW, Record::Request(&request));
        decide(&state, &observed(&[], NOW), &policy, NOW)
    };
    let Some(Decision::RunRefused(refused)) = first(in_python(1, 1)) else {
        panic!("it runs Python");
    };
    let problem = refused.problems[0].to_string();
    assert!(problem.contains("takes compiled plans only"), "{problem}");
    assert!(problem.contains("loadpilot explain"), "{problem}");
    let mut compiled = in_python(1, 1);
    compiled.plan = plans::plan(&mut Dice::new(1));
    assert!(matches!(first(compiled), Some(Decision::RunCreated(_))));
}

/// Requests stored by versions without needs have no such field: the needs of the plan apply.
#[test]
fn old_requests_need_what_their_plan_needs() {
    let text = serde_json::to_string(&in_python(1, 1)).expect("JSON");
    assert!(!text.contains("needs"), "empty needs are not written");
    let old: RunRequested = serde_json::from_str(&text).expect("the old form");
    let agents = [(plans::holder(1, 0), BTreeSet::new())];
    let state = offered(old, &agents);
    let created = state.created.expect("it was created");
    assert_eq!(created.needed(), BTreeSet::from([Capability::python()]));
}

/// Broken if a shard of a mix could go to an agent of an earlier version, at first or when others
/// are lost: it cannot read the plan.
#[test]
fn a_mix_needs_agents_that_know_user_types() {
    let plan = plans::plan(&mut Dice::new(1));
    assert_eq!(plan.needs(), BTreeSet::new());
    let mix = plans::mixed(plan, &mut Dice::new(1));
    assert_eq!(mix.needs(), BTreeSet::from([Capability::user_types()]));
    let list = include_str!("../../../../golden/plan-requests.v2.json");
    let list: Plan = serde_json::from_str(list).expect("a plan");
    assert_eq!(list.needs(), BTreeSet::from([Capability::request_rows()]));
    let sessions = include_str!("../../../../golden/plan-sessions.v2.json");
    let sessions: Plan = serde_json::from_str(sessions).expect("a plan");
    assert_eq!(sessions.needs(), BTreeSet::from([Capability::sessions()]));
    let request = plans::request(mix, 1, 1, &mut Dice::new(1));
    let able = BTreeSet::from([Capability::user_types()]);
    let agents = [
        (plans::holder(1, 0), BTreeSet::new()),
        (plans::holder(2, 0), able),
    ];
    let state = offered(request, &agents);
    let decided = decide(&state, &observed(&agents, NOW), &Policy::default(), NOW);
    let Some(Decision::ShardsAssigned(assigned)) = decided else {
        panic!("the able agent gets the shards: {decided:?}");
    };
    let holders = assigned.holdings.iter().map(|holding| &holding.holder);
    assert_eq!(holders.collect::<Vec<_>>(), [&agents[1].0]);
}
