//! Sleeping until an instant that may be absent.

use tokio::time::{Instant, sleep_until};

/// Returns at `at`; never when it is `None`.
pub(crate) async fn sleep_until_opt(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}
