//! Requests that need no decision.

use loadpilot_events::log::ctl::Decision;
use serde_json::json;

use super::world::{World, run, subjects};

/// Broken if a claim of a setup or teardown opens a run: a run that is never requested would stay
/// open for ever, and a teardown after the seal would reopen the run.
#[test]
fn claims_of_setup_and_teardown_open_no_run() {
    let claim = include_str!("../../../../../proto/golden/setup-claimed.v1.json");
    let taken = include_str!("../../../../../proto/golden/teardown-claimed.v1.json");
    let mut world = World::caught_up();
    for payload in [claim, taken] {
        let subject = subjects().req(&run("r1"));
        let seq = world.log.len() as u64 + 1;
        let recorded = world.coordinator.record(&subject, seq, payload.as_bytes());
        assert_eq!(recorded, Ok(()));
    }
    assert!(world.coordinator.is_idle());
    assert_eq!(world.coordinator.next(world.now), []);
}

/// Broken if a stop of a run that has just a setup counts as an open run for ever: then the clock
/// is never measured again. Broken, too, if the stop is forgotten when the run is requested.
#[test]
fn a_stop_before_the_request_opens_no_run() {
    let claim = include_str!("../../../../../proto/golden/setup-claimed.v1.json");
    let mut world = World::caught_up();
    let subject = subjects().req(&run("r1"));
    assert_eq!(world.store(&subject, claim.as_bytes()), Ok(1));
    world.tell(&subject, &json!({"type": "StopRequested", "by": "me"}));
    world.none();
    assert!(world.coordinator.is_idle());
    let facts = world.coordinator.facts(world.now);
    assert_eq!((facts.runs_open, facts.agents_wanted), (0, 0));
    assert_eq!(world.coordinator.wake_at(), None);

    world.ask_for("r1");
    assert!(!world.coordinator.is_idle());
    assert_eq!(world.coordinator.facts(world.now).runs_open, 1);
    let created = world.pending();
    world.win(&created);
    let cancelled = world.pending().decision;
    assert!(matches!(cancelled, Decision::StartCancelled(_)));
}
