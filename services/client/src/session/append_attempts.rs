//! Repeats of one append under one id while the server is away. It must never end with an error
//! that says "not stored" after an attempt whose outcome is unknown.

use loadpilot_bus::{AppendError, Fault};
use tokio::time::{Instant, sleep};

use super::{RETRY_INTERVAL, SERVER_TIMEOUT};

/// The attempts so far.
pub(crate) struct AppendAttempts {
    deadline: Instant,
    /// Whether an attempt was not acknowledged: it may be stored.
    is_unknown: bool,
}

impl AppendAttempts {
    /// Before the first attempt.
    pub(crate) fn begin() -> Self {
        Self {
            deadline: Instant::now() + SERVER_TIMEOUT,
            is_unknown: false,
        }
    }

    /// Waits until the next attempt.
    ///
    /// # Errors
    /// The outcome, when no attempt follows: [`SERVER_TIMEOUT`] is over, or a repeat would fail too.
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Broken if a server that acknowledges nothing keeps a caller for minutes, or if an append
    /// that may be stored is reported as not stored.
    #[tokio::test(start_paused = true)]
    async fn attempts_end_with_what_is_known() {
        let disconnected = || AppendError::from(Fault::Disconnected);
        let mut attempts = AppendAttempts::begin();
        let mut count = 0;
        let outcome = loop {
            // Each attempt lasts as long as the bus waits for an acknowledgement.
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
