//! The bodies that plans keep beside themselves, on their way into the object store and out of it.
//!
//! Must never store under a hash what does not have it, and never remove what a run still names.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use loadpilot_bus::{Bus, Fault};
use loadpilot_events::plan::{Object, Plan};
use loadpilot_events::refusal::Problem;
use loadpilot_events::wire::subject::Subjects;

use super::session::SessionError;

/// Bodies, and parts of a put that was cut off, are removed when they are older: it never takes as
/// long until a run is asked for that names what was stored for it.
pub(crate) const LEFTOVERS_AFTER: Duration = Duration::from_secs(3600);

/// What keeps `bodies` from being those of `plan`.
pub(crate) fn problems(plan: &Plan, bodies: &BTreeMap<String, Bytes>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for object in plan.objects() {
        let found = bodies
            .get(&object.sha256)
            .map(|content| Object::of(content));
        if found.as_ref() != Some(object) {
            let rule = "must hold every body that the plan keeps beside itself";
            problems.push(Problem::new("bodies", rule, &object.sha256));
        }
    }
    problems
}

/// Stores the bodies of `plan` that are not there yet, and makes the others young again: until the
/// run is asked for, nobody who removes bodies knows that they are needed.
///
/// # Errors
/// A refusal when the store has no room for one; or the world.
pub(crate) async fn store(
    bus: &Bus,
    subjects: &Subjects,
    plan: &Plan,
    bodies: &BTreeMap<String, Bytes>,
) -> Result<(), SessionError> {
    for object in plan.objects() {
        let failed = |fault| match fault {
            Fault::Full { asset } => no_room(&asset, object).into(),
            fault => SessionError::from(fault),
        };
        let name = subjects.object(&object.sha256);
        let stored = match bus.object_touch(&name).await {
            // What cannot be read is put again.
            Err(Fault::Broken { .. }) => None,
            answer => answer.map_err(failed)?,
        };
        if stored == Some(object.bytes) {
            continue;
        }
        if let Some(content) = bodies.get(&object.sha256) {
            let put = bus.object_put(&name, content.clone()).await;
            put.map_err(failed)?;
        }
    }
    Ok(())
}

fn no_room(asset: &str, object: &Object) -> Problem {
    let rule = format!(
        "must fit into {asset}, which is full: `loadpilot runs prune` makes room, \
         an hour after a body was last asked for"
    );
    Problem::new("bodies", rule, format!("{} bytes", object.bytes))
}

/// Removes the bodies that are not among `named` and that are older than `leftovers_after`.
///
/// # Errors
/// The world.
pub(crate) async fn prune<'a>(
    bus: &Bus,
    subjects: &Subjects,
    named: impl Iterator<Item = &'a Object>,
    leftovers_after: Duration,
) -> Result<(), Fault> {
    let keep: BTreeSet<String> = named
        .map(|object| subjects.object(&object.sha256))
        .collect();
    let prefix = subjects.objects();
    let removed = bus.object_retain(&prefix, &keep, leftovers_after).await?;
    tracing::debug!(removed, "bodies that no run sends any more");
    Ok(())
}

#[cfg(test)]
mod tests {
    use loadpilot_events::plan::Body;

    use super::*;

    /// The golden plan, with `content` beside it.
    fn plan_of(content: &Bytes) -> Plan {
        let golden = include_str!("../../../proto/golden/plan-objects.v1.json");
        let mut plan: Plan = serde_json::from_str(golden).expect("a plan");
        plan.tasks[0].steps[0].body = Some(Body::Object(Object::of(content)));
        plan
    }

    /// What a run names or may name must stay, and all else go: the store has little room.
    #[tokio::test]
    async fn old_bodies_go_unless_a_plan_names_them() {
        let bus = Bus::memory();
        let subjects = Subjects::new("lp", "local").expect("tokens");
        let [kept, gone] = ["kept", "gone"].map(Bytes::from);
        let there = async |content: &Bytes| {
            let name = subjects.object(&Object::of(content).sha256);
            bus.object_get(&name, u64::MAX).await.expect("it answers")
        };
        for content in [&kept, &gone] {
            let bodies = BTreeMap::from([(Object::of(content).sha256, content.clone())]);
            let plan = plan_of(content);
            let stored = store(&bus, &subjects, &plan, &bodies).await;
            assert!(stored.is_ok(), "there is room");
        }
        let plan = plan_of(&kept);
        for (after, left) in [(LEFTOVERS_AFTER, Some(&gone)), (Duration::ZERO, None)] {
            let named = plan.objects().into_iter();
            let pruned = prune(&bus, &subjects, named, after).await;
            pruned.expect("it answers");
            assert_eq!(there(&gone).await.as_ref(), left);
            assert_eq!(there(&kept).await.as_ref(), Some(&kept));
        }
    }
}
