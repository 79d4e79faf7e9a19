//! Owners: a run whose command is gone ends, and not before that can be known.

use loadpilot_engine::decide::{Hearing, Policy, decide};
use loadpilot_engine::state::{Record, RunState};
use loadpilot_events::ctl::Decision;
use loadpilot_events::id::OwnerId;
use loadpilot_events::req::Request;
use loadpilot_events::units::Timestamp;

use crate::rules::dice::Dice;
use crate::rules::plans;

/// A command begins to give signs of life when it has asked. A coordinator that has listened for
/// long, and hears the first of them a little late, must not take it for gone.
#[test]
fn an_owner_has_its_time_from_the_creation_on() {
    let policy = Policy::default();
    let since = Timestamp(1_800_000_000_000_000);
    let now = since.plus_us(60 * policy.owner_us);
    let mut request = plans::request(plans::plan(&mut Dice::new(1)), 1, 1, &mut Dice::new(1));
    request.owner = Some(OwnerId::parse("owner").expect("a token"));
    request.agents.wait_us = 60_000_000;
    let request = Request::RunRequested(Box::new(request));
    let hearing = Hearing {
        since,
        ..Hearing::default()
    };
    let state = RunState::default().evolve(1, now, Record::Request(&request));
    let created = decide(&state, &hearing, &policy, now).expect("it is created");
    let state = state.evolve(2, now, Record::Decision(&created));
    let last = now.plus_us(policy.owner_us - 1);
    assert_eq!(decide(&state, &hearing, &policy, last), None);
    let gone = decide(&state, &hearing, &policy, last.plus_us(1));
    assert!(
        matches!(gone, Some(Decision::StartCancelled(_))),
        "{gone:?}"
    );
}
