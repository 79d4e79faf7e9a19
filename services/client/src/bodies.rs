//! Request bodies in the object store: plans name large bodies by their SHA-256.
//!
//! A body that a stored run names must never be removed (tested below).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use loadpilot_bus::{Bus, Fault};
use loadpilot_events::plan::{Object, Plan};
use loadpilot_events::refusal::Problem;
use loadpilot_events::wire::subject::Subjects;

use super::session::session_error::SessionError;

/// Minimum age of an unreferenced body, or of parts of an interrupted put, before it is removed.
/// A client submits its run within a fraction of this time after it stored the run's bodies.
pub(crate) const LEFTOVERS_AFTER: Duration = Duration::from_secs(3600);

/// The bodies of `plan` that are absent from `bodies` or do not match their hash.
pub(crate) fn problems(plan: &Plan, bodies: &BTreeMap<String, Bytes>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for object in plan.objects() {
        let found = bodies
            .get(&object.sha256)
            .map(|content| Object::of(content));
        if found.as_ref() != Some(object) {
            let rule = "must hold every body that the plan names by its hash";
            problems.push(Problem::new("bodies", rule, &object.sha256));
        }
    }
    problems
}

/// Stores the bodies of `plan` that the store lacks and renews the age of the others, so that no
/// prune removes them before the run is requested.
///
/// # Errors
/// A refusal when the store has no room for one; or a fault of the bus.
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
            // A body that cannot be read is stored again.
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

/// The bodies of `plan` that the store holds, by their SHA-256.
///
/// # Errors
/// A refusal when they have more than `bytes_max` bytes together; or a fault of the bus.
pub(crate) async fn stored(
    bus: &Bus,
    subjects: &Subjects,
    plan: &Plan,
    bytes_max: u64,
) -> Result<BTreeMap<String, Bytes>, SessionError> {
    let bytes = plan.objects_bytes();
    if bytes > bytes_max {
        let rule = format!("must be at most {bytes_max} bytes: the command starts larger runs");
        return Err(Problem::new("bodies", rule, bytes.to_string()).into());
    }
    let mut found = BTreeMap::new();
    for object in plan.objects() {
        let name = subjects.object(&object.sha256);
        if let Some(content) = bus.object_get(&name, object.bytes).await? {
            found.insert(object.sha256.clone(), content);
        }
    }
    Ok(found)
}

fn no_room(asset: &str, object: &Object) -> Problem {
    let rule = format!(
        "must fit into {asset}, which is full: on one machine `loadpilot runs prune` makes room, \
         an hour after a body was last used; on a fleet, raise max_bytes of that stream"
    );
    Problem::new("bodies", rule, format!("{} bytes", object.bytes))
}

/// Removes the bodies that are not in `named` and are older than `leftovers_after`.
///
/// # Errors
/// A fault of the bus.
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
    tracing::debug!(removed, "bodies removed that no run names");
    Ok(())
}

#[cfg(test)]
mod tests {
    use loadpilot_events::plan::Body;

    use super::*;

    /// The golden plan, whose first step sends `content` from the object store.
    fn plan_of(content: &Bytes) -> Plan {
        let golden = include_str!("../../../proto/golden/plan-objects.v1.json");
        let mut plan: Plan = serde_json::from_str(golden).expect("a plan");
        plan.tasks[0].steps[0].body = Some(Body::Object(Object::of(content)));
        plan
    }

    /// Broken if a body is removed that a run names or may name, or if any other body stays for
    /// ever.
    #[tokio::test]
    async fn old_bodies_go_unless_a_plan_names_them() {
        let bus = Bus::memory();
        let subjects = Subjects::new("lp", "local").expect("tokens");
        let [named, unnamed] = ["named", "unnamed"].map(Bytes::from);
        let there = async |content: &Bytes| {
            let name = subjects.object(&Object::of(content).sha256);
            bus.object_get(&name, u64::MAX).await.expect("it answers")
        };
        for content in [&named, &unnamed] {
            let bodies = BTreeMap::from([(Object::of(content).sha256, content.clone())]);
            let plan = plan_of(content);
            let stored = store(&bus, &subjects, &plan, &bodies).await;
            assert!(stored.is_ok(), "there is room");
        }
        let plan = plan_of(&named);
        for (after, left) in [(LEFTOVERS_AFTER, Some(&unnamed)), (Duration::ZERO, None)] {
            let objects = plan.objects().into_iter();
            let pruned = prune(&bus, &subjects, objects, after).await;
            pruned.expect("it answers");
            assert_eq!(there(&unnamed).await.as_ref(), left);
            assert_eq!(there(&named).await.as_ref(), Some(&named));
        }
    }

    /// Broken if the bodies of a run differ from the stored ones, or fill the memory.
    #[tokio::test]
    async fn the_bodies_of_a_run_are_read_again_up_to_a_limit() {
        let bus = Bus::memory();
        let subjects = Subjects::new("lp", "local").expect("tokens");
        let content = Bytes::from("content");
        let plan = plan_of(&content);
        let bodies = BTreeMap::from([(Object::of(&content).sha256, content)]);
        let done = store(&bus, &subjects, &plan, &bodies).await;
        assert!(done.is_ok(), "there is room");
        let bytes = plan.objects_bytes();
        let read = stored(&bus, &subjects, &plan, bytes).await;
        assert_eq!(read.expect("it answers"), bodies);
        let read = stored(&bus, &subjects, &plan, bytes - 1).await;
        assert!(matches!(read, Err(SessionError::Refused(_))));
    }
}
