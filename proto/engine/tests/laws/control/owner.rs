//! Owners: a run whose owner is gone stops, and no other does.

use std::collections::BTreeMap;

use loadpilot_engine::control::decide::{Observations, Policy, decide};
use loadpilot_engine::control::run_state::{Record, RunState};
use loadpilot_events::log::ctl::Decision;
use loadpilot_events::log::req::Request;
use loadpilot_events::{OwnerId, Timestamp};
use proptest::prelude::*;

use crate::rules::dice::Dice;
use crate::rules::plans;

const NOW: Timestamp = Timestamp(1_800_000_000_000_000);
const DAY_US: u64 = 86_400_000_000;

/// What a coordinator observes that has listened for `listened_us`. The owner's last heartbeat came
/// `beat_us` after NOW.
fn hearing(listened_us: u64, owner: &OwnerId, beat_us: Option<u64>) -> Observations {
    let beat = beat_us.map(|after| (owner.clone(), NOW.plus_us(after)));
    Observations {
        since: Timestamp(NOW.0 - listened_us),
        owners: BTreeMap::from_iter(beat),
        ..Observations::default()
    }
}

proptest! {
    /// Broken if a run is cancelled because its owner's first heartbeat came after its request,
    /// however long the coordinator has listened; or if a run without a live owner goes on.
    #[test]
    fn an_owner_is_missed_from_the_run_on(
        listened_us in 0..DAY_US,
        beat_us in proptest::option::of(0_u64..20_000_000),
        later_us in 0_u64..40_000_000,
    ) {
        let mut dice = Dice::new(1);
        let owner = OwnerId::parse("cli-1").expect("a token");
        let plan = plans::plan(&mut dice);
        let mut request = plans::request(plan, 1, 1, &mut dice);
        request.agents.wait_us = 60_000_000;
        request.owner = Some(owner.clone());
        let policy = Policy::default();
        let request = Request::RunRequested(Box::new(request));
        let state = RunState::default().evolve(1, NOW, Record::Request(&request));
        let created = decide(&state, &hearing(listened_us, &owner, None), &policy, NOW);
        let state = state.evolve(2, NOW, Record::Decision(&created.expect("it is created")));

        let now = NOW.plus_us(later_us);
        let beat_us = beat_us.filter(|beat| *beat <= later_us);
        let decision = decide(&state, &hearing(listened_us, &owner, beat_us), &policy, now);
        let silent_us = later_us - beat_us.unwrap_or(0);
        let missed = matches!(decision, Some(Decision::StartCancelled(_)));
        prop_assert_eq!(missed, silent_us >= policy.owner_us, "{:?}", decision);
    }
}
