//! Repeats a call while the server is away. An append is repeated under one id, and must never end
//! with an error that says "not stored" after an attempt whose outcome is unknown.

use std::time::Duration;

use loadpilot_bus::{AppendError, Fault};
use tokio::time::{Instant, sleep};

/// Timeout for a server that does not answer or is being restarted.
pub(crate) const SERVER_TIMEOUT: Duration = Duration::from_secs(20);
/// Interval between two attempts.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// The attempts of one append so far.
pub(crate) struct AppendAttempts {
    deadline: Instant,
    /// Whether an attempt was not acknowledged: it may be stored.
    is_unknown: bool,
}

impl AppendAttempts {
    /// The state before the first attempt.
    pub(crate) fn begin() -> Self {
        Self {
            deadline: Instant::now() + SERVER_TIMEOUT,
            is_unknown: false,
        }
    }

    /// Waits until the next attempt.
    ///
    /// # Errors
    /// The outcome, when no attempt follows: the time is over, or a repeat would fail as well.
    pub(crate) async fn wait_after(&mut self, error: AppendError) -> Result<(), AppendError> {
        self.is_unknown |= error == AppendError::Unknown;
        let is_away = matches!(
            error,
            AppendError::Unknown
                | AppendError::Fault(Fault::Disconnected | Fault::Unanswered { .. })
        );
        if is_away && Instant::now() < self.deadline {
            sleep(RETRY_INTERVAL).await;
            return Ok(());
        }
        match is_away && self.is_unknown {
            true => Err(AppendError::Unknown),
            false => Err(error),
        }
    }
}

/// Repeats a call for [`SERVER_TIMEOUT`] while the server is away; a supervisor may restart it.
///
/// # Errors
/// The last fault of an unreachable server, or any other fault at once.
pub(crate) async fn retry_unreachable<T, F>(mut call: impl FnMut() -> F) -> Result<T, Fault>
where
    F: Future<Output = Result<T, Fault>>,
{
    let deadline = Instant::now() + SERVER_TIMEOUT;
    loop {
        match call().await {
            Err(Fault::Disconnected | Fault::TimedOut { .. }) if Instant::now() < deadline => {
                sleep(RETRY_INTERVAL).await;
            }
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Broken if a server that acknowledges nothing delays a caller for minutes, or if an append
    /// that may be stored is reported as not stored.
    #[tokio::test(start_paused = true)]
    async fn attempts_end_with_what_is_known() {
        let disconnected = || AppendError::from(Fault::Disconnected);
        let mut attempts = AppendAttempts::begin();
        let mut count = 0;
        let outcome = loop {
            // Each attempt takes as long as the bus waits for an acknowledgement.
            sleep(Duration::from_secs(5)).await;
            count += 1;
            if let Err(outcome) = attempts.wait_after(AppendError::Unknown).await {
                break outcome;
            }
        };
        assert_eq!((outcome, count), (AppendError::Unknown, 4));
        let after = attempts.wait_after(disconnected()).await;
        assert_eq!(after, Err(AppendError::Unknown));

        let mut attempts = AppendAttempts::begin();
        let leaderless = Fault::Unanswered {
            stream: "LP_CTL".to_owned(),
        };
        assert_eq!(attempts.wait_after(leaderless.into()).await, Ok(()));
        sleep(SERVER_TIMEOUT).await;
        let after = attempts.wait_after(disconnected()).await;
        assert_eq!(after, Err(disconnected()));
        let mut attempts = AppendAttempts::begin();
        let refused = attempts.wait_after(AppendError::Conflict).await;
        assert_eq!(refused, Err(AppendError::Conflict));
    }
}
