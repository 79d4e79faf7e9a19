//! Decisions of a later version, which this one cannot read.

use loadpilot_events::log::envelope::EVENT_VERSION_NEWEST;

use super::world::{World, run, subjects};

/// Broken if a coordinator ignores a newer decision like a damaged one: it would assign shards that
/// have holders. Broken, too, if a damaged decision or one of a new kind stops a run.
#[test]
fn a_newer_decision_leaves_the_run_to_coordinators_of_that_version() {
    let record = |version, event| format!(r#"{{"v":{version},"id":"x","at":1,"event":{event}}}"#);
    let later = EVENT_VERSION_NEWEST + 1;
    let damaged = record(1, r#"{"type":"Nonsense"}"#);
    let newer = record(later, r#"{"type":"ShardsAssigned","to":"whom"}"#);
    let new_kind = record(later, r#"{"type":"PhaseOfTheMoonChanged"}"#);
    for (payload, decides) in [(damaged, true), (newer, false), (new_kind, true)] {
        let mut world = World::caught_up();
        world.ask_for("r1");
        let poison = world.store(&subjects().ctl(&run("r1")), payload.as_bytes());
        assert!(poison.is_err(), "it cannot be read");
        let effects = world.coordinator.next(world.now);
        assert_eq!(!effects.is_empty(), decides, "{payload}");
        if !decides {
            assert_eq!(world.coordinator.wake_at(), None, "nothing to wake for");
        }
    }
}
