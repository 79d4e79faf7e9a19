//! Fetches the external bodies of a plan before the start. Must never use a body whose hash differs
//! from the one in the plan.

use std::collections::BTreeSet;

use bytes::Bytes;
use loadpilot_bus as bus;
use loadpilot_events::plan::{Object, Plan};
use thiserror::Error;
use tokio::time::{Instant, sleep};

use crate::fire::Bodies;
use crate::process::shell::Shell;

/// Why bodies could not be fetched.
#[derive(Debug, Error)]
pub enum Fault {
    /// It is not in the object store.
    #[error("body {sha256} is not in the object store")]
    Missing {
        /// Hash in the plan.
        sha256: String,
    },
    /// The object store has different bytes under its name.
    #[error("what the object store has for body {sha256} has the hash {found}")]
    Other {
        /// Hash in the plan.
        sha256: String,
        /// Hash of the content in the store.
        found: String,
    },
    /// The object store did not answer in time, or its answer is invalid.
    #[error("body {sha256} cannot be read: {why}")]
    Unreadable {
        /// Hash in the plan.
        sha256: String,
        /// Error of the bus.
        #[source]
        why: bus::Fault,
    },
}

/// Fetches the external bodies of `plan`, if it has any, except its files of rows.
///
/// # Errors
/// [`Fault`]; a failure of the store is retried until the timeout.
pub async fn fetch(shell: &Shell, plan: &Plan) -> Result<Bodies, Fault> {
    let deadline = Instant::now() + shell.timeouts.bodies;
    let mut bodies = Bodies::new();
    let row_files: BTreeSet<&Object> = plan.row_files().map(|file| &file.content).collect();
    for object in plan.objects().difference(&row_files) {
        let content = read_until(shell, object, deadline).await?;
        bodies.insert(object.sha256.clone(), content);
    }
    Ok(bodies)
}

/// Fetches one object.
///
/// # Errors
/// As [`fetch`].
pub(super) async fn fetch_one(shell: &Shell, object: &Object) -> Result<Bytes, Fault> {
    read_until(shell, object, Instant::now() + shell.timeouts.bodies).await
}

async fn read_until(shell: &Shell, object: &Object, deadline: Instant) -> Result<Bytes, Fault> {
    loop {
        match read(shell, object).await {
            Err(Fault::Unreadable { why, .. })
                if Instant::now() + shell.timeouts.retry < deadline =>
            {
                tracing::debug!(sha256 = object.sha256, %why, "no body yet");
            }
            read => break read,
        }
        sleep(shell.timeouts.retry).await;
    }
}

async fn read(shell: &Shell, object: &Object) -> Result<Bytes, Fault> {
    let sha256 = &object.sha256;
    let name = shell.subjects.object(sha256);
    match shell.bus.object_get(&name, object.bytes).await {
        Ok(Some(content)) => verified(object, content),
        Ok(None) => Err(Fault::Missing {
            sha256: sha256.clone(),
        }),
        Err(why) => Err(Fault::Unreadable {
            sha256: sha256.clone(),
            why,
        }),
    }
}

fn verified(object: &Object, content: Bytes) -> Result<Bytes, Fault> {
    let found = Object::of(&content);
    if found == *object {
        Ok(content)
    } else {
        Err(Fault::Other {
            sha256: object.sha256.clone(),
            found: found.sha256,
        })
    }
}
