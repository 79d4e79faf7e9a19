//! Overcommit: the warning names each agent whose share exceeds its offer, and no other.

use loadpilot_engine::control::decide::{Observations, Policy, decide};
use loadpilot_engine::control::overcommit::overcommit_warnings;
use loadpilot_engine::control::run_state::{Record, RunState};
use loadpilot_events::log::assign::Holding;
use loadpilot_events::log::evt::CapacityOffered;
use loadpilot_events::log::req::Request;
use loadpilot_events::{Rate, Timestamp};
use proptest::prelude::*;

use crate::rules::dice::Dice;
use crate::rules::plans;

const NOW: Timestamp = Timestamp(1_800_000_000_000_000);

/// A run at a peak of `peak_rps`, with an offer of each agent.
fn offered(peak_rps: u64, users: Option<u32>, offers: &[u64]) -> RunState {
    let mut dice = Dice::new(1);
    let mut plan = plans::plan(&mut dice);
    for piece in &mut plan.profile.pieces {
        (piece.from, piece.to) = (Rate(0), Rate::per_second(peak_rps));
    }
    let request = plans::request(plan, 1, 1, &mut dice);
    let request = Request::RunRequested(Box::new(request));
    let state = RunState::default().evolve(1, NOW, Record::Request(&request));
    let created = decide(&state, &Observations::default(), &Policy::default(), NOW);
    let mut state = state.evolve(2, NOW, Record::Decision(&created.expect("it is created")));
    let created = state.created.as_deref_mut().expect("it is created");
    created.plan.users = users;
    for (number, rps) in (0..).zip(offers) {
        let offer = CapacityOffered {
            rate: Rate::per_second(*rps),
            cores: 1,
            expires: NOW,
            version: "1".to_owned(),
        };
        state.offers.insert(plans::holder(number, 0), offer);
    }
    state
}

/// The shards of a run, dealt to the agents in turn.
fn dealt(agents: u64) -> Vec<Holding> {
    let shards = |number: u64| (0..256).filter(move |shard| u64::from(*shard) % agents == number);
    let holding = |number| Holding {
        holder: plans::holder(number, 0),
        shards: shards(number).collect(),
    };
    (0..agents).map(holding).collect()
}

proptest! {
    /// Broken if an overcommitted agent is not named, or an agent that is not overcommitted is
    /// named.
    #[test]
    fn exactly_those_are_named_whose_share_is_above_their_offer(
        peak_rps in 1_u64..5_000,
        offers in proptest::collection::vec(0_u64..3_000, 1..6),
    ) {
        let state = offered(peak_rps, None, &offers);
        let holdings = dealt(offers.len() as u64);
        let warnings = overcommit_warnings(&state, &holdings);
        let mut expected = 0;
        for (holding, offer) in holdings.iter().zip(&offers) {
            let share_rps = peak_rps as f64 * holding.shards.len() as f64 / 256.0;
            // Computed in millionths, rounded down: the difference is too small for a float.
            if share_rps > *offer as f64 {
                let start = format!("warning: {} is asked for up to ", holding.holder.agent);
                prop_assert!(warnings[expected].starts_with(&start), "{warnings:?}");
                let end = format!("offered {offer};");
                prop_assert!(warnings[expected].contains(&end), "{warnings:?}");
                expected += 1;
            }
        }
        prop_assert_eq!(warnings.len(), expected);
    }
}

/// Broken if a closed loop, which has no rate, or an agent that joined later and has no offer
/// causes a warning.
#[test]
fn without_a_rate_or_an_offer_there_is_nothing_to_compare() {
    let holdings = dealt(1);
    assert_eq!(
        overcommit_warnings(&offered(1_000, Some(3), &[1]), &holdings).len(),
        0
    );
    assert_eq!(
        overcommit_warnings(&offered(1_000, None, &[]), &holdings).len(),
        0
    );
    assert_eq!(
        overcommit_warnings(&RunState::default(), &holdings).len(),
        0
    );
    assert_eq!(
        overcommit_warnings(&offered(1_000, None, &[1]), &holdings).len(),
        1
    );
}
