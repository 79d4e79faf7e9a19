//! Requests that need no decision.

use super::world::{World, run, subjects};

/// Broken if a claim of a setup or teardown opens a run: one that is never requested would stay
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
