//! The bodies that a plan keeps beside itself: fetched before the start, and proved by their hash.
//! They must never be taken for what the plan names before they are.

use bytes::Bytes;
use loadpilot_bus as bus;
use loadpilot_events::plan::{Object, Plan};
use thiserror::Error;
use tokio::time::{Instant, sleep};

use crate::fire::Bodies;
use crate::process::shell::Shell;

/// Why a plan's bodies could not be had.
#[derive(Debug, Error)]
pub enum Fault {
    /// Nobody put it there, or somebody removed it.
    #[error("body {sha256} is not in the object store")]
    Missing {
        /// Which.
        sha256: String,
    },
    /// There are other bytes under its name.
    #[error("what the object store has for body {sha256} has the hash {found}")]
    Other {
        /// Which.
        sha256: String,
        /// What is there.
        found: String,
    },
    /// The store did not answer in time, or keeps nothing that can be read.
    #[error("body {sha256} cannot be read: {why}")]
    Unreadable {
        /// Which.
        sha256: String,
        /// What the bus says.
        #[source]
        why: bus::Fault,
    },
}

/// The bodies of `plan` that are kept beside it; asks nobody when there are none.
///
/// # Errors
/// [`Fault`]; what may pass is tried again until the time for it is over.
pub async fn fetch(shell: &Shell, plan: &Plan) -> Result<Bodies, Fault> {
    let deadline = Instant::now() + shell.timeouts.bodies;
    let mut bodies = Bodies::new();
    for object in plan.objects() {
        let content = loop {
            match read(shell, object).await {
                Err(Fault::Unreadable { why, .. })
                    if Instant::now() + shell.timeouts.retry < deadline =>
                {
                    tracing::debug!(sha256 = object.sha256, %why, "no body yet");
                }
                read => break read?,
            }
            sleep(shell.timeouts.retry).await;
        };
        bodies.insert(object.sha256.clone(), content);
    }
    Ok(bodies)
}

async fn read(shell: &Shell, object: &Object) -> Result<Bytes, Fault> {
    let sha256 = &object.sha256;
    let name = shell.subjects.object(sha256);
    match shell.bus.object_get(&name, object.bytes).await {
        Ok(Some(content)) => proved(object, content),
        Ok(None) => Err(Fault::Missing {
            sha256: sha256.clone(),
        }),
        Err(why) => Err(Fault::Unreadable {
            sha256: sha256.clone(),
            why,
        }),
    }
}

fn proved(object: &Object, content: Bytes) -> Result<Bytes, Fault> {
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
