//! A run belongs to the command that asked for it, from the moment it asked.

use loadpilot_engine::decide::{Hearing, Policy, decide};
use loadpilot_engine::state::{Record, RunState};
use loadpilot_events::ctl::Decision;
use loadpilot_events::id::OwnerId;
use loadpilot_events::req::Request;
use loadpilot_events::units::Timestamp;

use crate::rules::dice::Dice;
use crate::rules::plans;

/// Broken if a coordinator that has listened for long took a command for gone that had only just
/// asked, and whose first beat was under way; or if it never took it for gone.
#[test]
fn whoever_has_just_asked_has_time_to_beat() {
    let (mut dice, policy) = (Dice::new(1), Policy::default());
    let now = Timestamp(1_800_000_000_000_000);
    let plan = plans::plan(&mut dice);
    let mut request = plans::request(plan, 1, 1, &mut dice);
    request.owner = Some(OwnerId::parse("owner").expect("a token"));
    request.agents.wait_us = 60_000_000;
    let asked = Request::RunRequested(Box::new(request));
    let hearing = Hearing {
        since: Timestamp(now.0 - 3_600_000_000),
        ..Hearing::default()
    };
    let state = RunState::default().evolve(1, now, Record::Request(&asked));
    let created = decide(&state, &hearing, &policy, now).expect("a decision");
    assert!(matches!(created, Decision::RunCreated(_)), "{created:?}");
    let state = state.evolve(2, now, Record::Decision(&created));
    let at = |us| decide(&state, &hearing, &policy, now.plus_us(us));
    assert_eq!(at(1_000), None);
    assert_eq!(at(policy.owner_us - 1), None);
    let gone = at(policy.owner_us);
    assert!(
        matches!(gone, Some(Decision::StartCancelled(_))),
        "{gone:?}"
    );
}
