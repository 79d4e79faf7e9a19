//! Decisions of a later version, which this one cannot read.

use super::world::{World, run, subjects};

/// Broken if a coordinator ignores a newer decision like a damaged one: it would assign shards that
/// have holders. Broken, too, if a damaged decision or one of a new kind stops a run.
#[test]
fn a_newer_decision_leaves_the_run_to_coordinators_of_that_version() {
    let of_today = r#"{"v":1,"id":"x","at":1,"event":{"type":"Nonsense"}}"#;
    let newer = r#"{"v":3,"id":"x","at":1,"event":{"type":"ShardsAssigned","to":"whom"}}"#;
    let new_kind = r#"{"v":3,"id":"x","at":1,"event":{"type":"PhaseOfTheMoonChanged"}}"#;
    for (payload, decides) in [(of_today, true), (newer, false), (new_kind, true)] {
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
