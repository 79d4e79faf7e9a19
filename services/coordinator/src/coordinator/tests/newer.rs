//! Decisions of a later version, which this one does not understand.

use super::world::{World, run, subjects};

/// A coordinator that took a newer decision for a damaged one would decide on as if it were not
/// there: it would give out shards that have holders. A damaged one must not stop a run, nor one
/// of a kind that did not exist yet.
#[test]
fn a_decision_of_a_later_version_is_left_to_those_that_understand_it() {
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
