//! Waiting for an instant that may not exist. Must never be used where an event would do.

use tokio::time::{Instant, sleep_until};

/// Returns at `at`; never when there is no such instant.
pub(crate) async fn sleep_until_opt(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}
