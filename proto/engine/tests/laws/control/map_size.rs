//! Every map of a run fits a message of the server, however agents leave and join. A run for which
//! it would not fit is refused before anything is assigned.

use std::collections::{BTreeMap, BTreeSet};

use loadpilot_engine::control::assign::{deal, map_bytes_max, shard_count, take_over};
use loadpilot_engine::control::decide::scale_up::join;
use loadpilot_engine::control::decide::{LastSeen, Observations, Policy, decide};
use loadpilot_engine::control::run_state::{Record, RunState};
use loadpilot_events::Envelope;
use loadpilot_events::id::{EventId, Holder};
use loadpilot_events::log::assign::{Loss, LossReason};
use loadpilot_events::log::ctl::{Decision, ShardsReassigned};
use loadpilot_events::log::evt::{CapacityOffered, Fact, What};
use loadpilot_events::log::req::Request;
use loadpilot_events::units::{Rate, Timestamp};
use proptest::prelude::*;

use crate::rules::dice::Dice;
use crate::rules::plans;

const NOW: Timestamp = Timestamp(1_800_000_000_000_000);

fn bytes(decision: Decision) -> u64 {
    let event = Envelope {
        v: 2,
        id: EventId::parse("01k00000000000000000000000").expect("a token"),
        at: NOW,
        event: decision,
    };
    serde_json::to_vec(&event).expect("JSON").len() as u64
}

proptest! {
    /// Agents are lost and others join, again and again: the map becomes more and more fragmented,
    /// but never larger than the size that was allowed for at the assignment.
    #[test]
    fn no_later_map_outgrows_what_was_allowed_for(
        want in 1..120_u64,
        seed: u64,
        rounds in 1..12_u64,
    ) {
        let mut dice = Dice::new(seed);
        let shards = shard_count(want as u32, None);
        let holders: Vec<Holder> = (0..want).map(|number| plans::holder(number, 0)).collect();
        let allowed = map_bytes_max(shards, &holders);
        let mut map = deal(shards, &holders);
        for round in 1..=rounds {
            let holders: Vec<Holder> = map.iter().map(|one| one.holder.clone()).collect();
            let gone: BTreeSet<Holder> =
                holders.iter().skip(1).filter(|_| dice.chance(30)).cloned().collect();
            let came = gone.iter().map(|holder| Holder {
                agent: holder.agent.clone(),
                boot_id: plans::holder(0, round).boot_id,
            });
            let came: BTreeSet<Holder> = came.collect();
            let none = BTreeMap::new();
            map = take_over(shards, &map, &gone, &none, &BTreeSet::new(), &BTreeSet::new());
            let losses = gone.into_iter().map(|holder| Loss {
                holder,
                reason: LossReason::Silent,
            });
            let next = |holdings, losses| Decision::ShardsReassigned(ShardsReassigned {
                generation: 4_000_000,
                holdings,
                takeover_tick: 4_000_000,
                losses,
            });
            prop_assert!(bytes(next(map.clone(), losses.collect())) <= allowed);
            map = join(&map, &came, &BTreeSet::new());
            prop_assert!(bytes(next(map.clone(), Vec::new())) <= allowed);
        }
        // In the worst case all agents restart at once: each is named as a loss and as a holder.
        let gone: BTreeSet<Holder> = map.iter().map(|one| one.holder.clone()).collect();
        let heir = |holder: &Holder| Holder {
            agent: holder.agent.clone(),
            boot_id: plans::holder(0, rounds + 1).boot_id,
        };
        let heirs = gone.iter().map(|holder| (holder.clone(), heir(holder))).collect();
        let holdings = take_over(shards, &map, &gone, &heirs, &BTreeSet::new(), &BTreeSet::new());
        let losses = gone.into_iter().map(|holder| Loss {
            holder,
            reason: LossReason::Replaced,
        });
        let last = Decision::ShardsReassigned(ShardsReassigned {
            generation: 4_000_000,
            holdings,
            takeover_tick: 4_000_000,
            losses: losses.collect(),
        });
        prop_assert!(bytes(last) <= allowed);
    }
}

/// The decision about a run of `want` agents on a server with messages of `limit` bytes.
fn assigned(want: u32, limit: u64) -> Decision {
    let mut dice = Dice::new(1);
    let plan = plans::plan(&mut dice);
    let request = Request::RunRequested(Box::new(plans::request(plan, want, want, &mut dice)));
    let mut hearing = Observations {
        since: NOW,
        message_bytes_max: Some(limit),
        ..Observations::default()
    };
    let policy = Policy::default();
    let state = RunState::default().evolve(1, NOW, Record::Request(&request));
    let created = decide(&state, &hearing, &policy, NOW).expect("it is created");
    let mut state = state.evolve(2, NOW, Record::Decision(&created));
    for number in 0..u64::from(want) {
        let holder = plans::holder(number, 0);
        let fact = Fact {
            boot_id: holder.boot_id.clone(),
            what: What::CapacityOffered(CapacityOffered {
                rate: Rate::per_second(100),
                cores: 1,
                expires: NOW.plus_us(60_000_000),
                version: "1".to_owned(),
            }),
        };
        state = state.evolve(3 + number, NOW, Record::Fact(&holder.agent, &fact));
        let seen = LastSeen {
            at: NOW,
            predecessor_dead: false,
            has: BTreeSet::new(),
            recovering: BTreeSet::new(),
        };
        hearing.agents.insert(holder, seen);
    }
    decide(&state, &hearing, &policy, NOW).expect("it is decided about")
}

/// A server with default settings carries runs of thousands of agents. Above that the refusal names
/// both numbers, and a server that takes longer messages carries the largest run.
#[test]
fn a_run_whose_map_does_not_fit_is_refused_with_numbers() {
    let as_it_comes = 1 << 20;
    let fits = assigned(4_000, as_it_comes);
    assert!(matches!(&fits, Decision::ShardsAssigned(_)), "4,000 agents");
    assert!(bytes(fits) <= as_it_comes);
    let Decision::RunRefused(refused) = assigned(10_000, as_it_comes) else {
        panic!("10,000 agents do not fit");
    };
    let [problem] = &refused.problems[..] else {
        panic!("one problem: {refused:?}");
    };
    assert_eq!(
        (problem.field.as_str(), problem.value.as_str()),
        ("agents.want", "10000")
    );
    assert!(
        problem.rule.contains("1048576 (max_payload)"),
        "{}",
        problem.rule
    );
    let roomy = assigned(10_000, 8 << 20);
    assert!(matches!(roomy, Decision::ShardsAssigned(_)));
}
