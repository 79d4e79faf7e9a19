//! Fetches the secrets of a run. They are in memory only. Must never write one to a log, an error,
//! an event or a command line.

use std::collections::BTreeMap;

use bytes::Bytes;
use loadpilot_bus::RequestError;
use loadpilot_events::RunId;
use thiserror::Error;
use tokio::time::{Instant, sleep};

use crate::fire::Secrets;
use crate::process::shell::Shell;

/// Why secrets could not be fetched. Contains names of handles, never values.
#[derive(Debug, Error)]
pub enum Fault {
    /// No reply in time.
    #[error("no reply to the request for the secrets: {0}")]
    Refused(#[source] RequestError),
    /// The reply is not a map of handles to values.
    #[error("the reply with the secrets cannot be read")]
    Unreadable,
    /// The reply lacks handles of the plan.
    #[error("the secrets {} were not handed over", .missing.join(", "))]
    Missing {
        /// Missing handles.
        missing: Vec<String>,
    },
}

/// Fetches the values of `handles`; sends no request without handles.
///
/// # Errors
/// [`Fault`], after the timeout.
pub async fn fetch(shell: &Shell, run: &RunId, handles: &[String]) -> Result<Secrets, Fault> {
    if handles.is_empty() {
        return Ok(Secrets::default());
    }
    let subject = shell.subjects.secret(run, &shell.me.agent);
    let deadline = Instant::now() + shell.timeouts.secrets;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let wait = shell.timeouts.clock_reply.min(left);
        let mut reply = shell.bus.request(&subject, Bytes::new(), wait).await;
        if let Err(RequestError::NoResponders { .. }) = reply {
            let shared = shell.subjects.secret_of_any_agent(run);
            reply = shell.bus.request(&shared, Bytes::new(), wait).await;
        }
        match reply {
            Ok(reply) => return check(&reply, handles),
            Err(error) if Instant::now() + shell.timeouts.retry >= deadline => {
                return Err(Fault::Refused(error));
            }
            Err(error) => tracing::debug!(%run, %error, "no secrets yet"),
        }
        sleep(shell.timeouts.retry).await;
    }
}

fn check(reply: &[u8], handles: &[String]) -> Result<Secrets, Fault> {
    // The parser's error may quote the reply, so it is dropped.
    let values: BTreeMap<String, String> =
        serde_json::from_slice(reply).map_err(|_| Fault::Unreadable)?;
    let missing: Vec<String> = handles
        .iter()
        .filter(|handle| !values.contains_key(*handle))
        .cloned()
        .collect();
    if missing.is_empty() {
        Ok(Secrets(values))
    } else {
        Err(Fault::Missing { missing })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Broken if an error shows a value: the error is stored in the log of the run.
    #[test]
    fn no_error_and_no_debug_shows_a_value() {
        let handles = ["token".to_owned(), "cookie".to_owned()];
        let partly = check(br#"{"token":"hunter2"}"#, &handles).expect_err("one is missing");
        assert_eq!(
            partly.to_string(),
            "the secrets cookie were not handed over"
        );
        let broken = check(br#"{"token":hunter2}"#, &handles).expect_err("not JSON");
        assert!(!format!("{broken} {broken:?} {partly:?}").contains("hunter2"));
        let whole = check(br#"{"token":"hunter2","cookie":"x"}"#, &handles).expect("both");
        assert_eq!(format!("{whole:?}"), r#"{"cookie", "token"}"#);
    }
}
