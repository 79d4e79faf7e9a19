//! What stands on request subjects and is nothing to decide.

use super::world::{World, run, subjects};

/// What a submitter plays itself is no run: one that was never asked for must not keep a
/// coordinator busy for ever, and what comes after the seal must not begin the run anew.
#[test]
fn what_a_submitter_plays_is_nothing_to_decide() {
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
