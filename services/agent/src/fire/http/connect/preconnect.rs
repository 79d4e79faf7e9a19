//! Opens connections before the first request is due, handshakes included.
//!
//! They belong to no call: no call's time contains their handshakes, and they are not counted as
//! opened. Must never fail a run: a failure is reported, and the calls that need a connection try
//! again and are counted.

use std::cell::Cell;
use std::time::Duration;

use loadpilot_events::log::cause::Cause;
use tokio::time::timeout;

use super::dial::Dialer;
use super::error_classification::ErrorClass;
use crate::fire::futures::join_all;

/// Maximum number of connections that a core opens at the same time: a target's accept queue is
/// short.
const OPENING_MAX: u32 = 64;

/// Timeout for all of them; shorter than the coordinator's timeout for an agent to be ready.
const PRECONNECT_TIMEOUT: Duration = Duration::from_secs(8);

/// Result of opening connections before the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Preconnected {
    /// Number of open connections.
    pub opened: u32,
    /// Number of connections that failed or did not open in time.
    pub failed: u32,
    /// Cause of the last failure.
    pub last_failure: Option<Cause>,
}

impl Preconnected {
    /// The sum of two cores.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            opened: self.opened + other.opened,
            failed: self.failed + other.failed,
            last_failure: other.last_failure.or(self.last_failure),
        }
    }
}

/// Opens `open_first` connections, or with 0 only resolves the target's name. Opening resolves it,
/// too, within its timeout.
pub(crate) async fn preconnect<T>(
    dialer: &Dialer,
    open_first: u32,
    open: impl Fn() -> T,
) -> Preconnected
where
    T: Future<Output = Result<(), ErrorClass>>,
{
    if open_first == 0 {
        dialer.resolve().await;
    }
    open_all(open_first, PRECONNECT_TIMEOUT, open).await
}

/// Opens `count` connections, some at a time, within `timeout_after`.
async fn open_all<T>(count: u32, timeout_after: Duration, open: impl Fn() -> T) -> Preconnected
where
    T: Future<Output = Result<(), ErrorClass>>,
{
    let (begun, preconnected) = (Cell::new(0), Cell::new(Preconnected::default()));
    let worker = async || {
        while begun.get() < count {
            begun.set(begun.get() + 1);
            let one = match open().await {
                Ok(()) => Preconnected {
                    opened: 1,
                    ..Preconnected::default()
                },
                Err(class) => Preconnected {
                    failed: 1,
                    last_failure: Some(class.cause),
                    ..Preconnected::default()
                },
            };
            preconnected.set(preconnected.get().and(one));
        }
    };
    let workers = (0..count.min(OPENING_MAX)).map(|_| Box::pin(worker()));
    let workers = workers.collect();
    let in_time = timeout(timeout_after, join_all(workers)).await.is_ok();
    let preconnected = preconnected.get();
    match in_time {
        true => preconnected,
        false => preconnected.and(Preconnected {
            opened: 0,
            failed: count - preconnected.opened - preconnected.failed,
            last_failure: Some(Cause::WhileConnecting),
        }),
    }
}

#[cfg(test)]
mod tests {
    use loadpilot_events::log::outcome::Outcome;

    use super::*;

    fn run<T>(future: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.expect("a runtime").block_on(future)
    }

    /// Broken if a target that refuses some connections, or does not answer, makes the others fail,
    /// is not counted or delays the start for ever.
    #[test]
    fn each_is_opened_or_told() {
        let count = Cell::new(0);
        let open = async || {
            let own = count.replace(count.get() + 1);
            tokio::task::yield_now().await;
            match own % 3 {
                0 => Err(ErrorClass::new(Outcome::Tls, Cause::TlsAlert)),
                _ => Ok(()),
            }
        };
        let wanted = Preconnected {
            opened: 200,
            failed: 100,
            last_failure: Some(Cause::TlsAlert),
        };
        assert_eq!(run(open_all(300, PRECONNECT_TIMEOUT, open)), wanted);

        let count = Cell::new(0);
        let open = async || match count.replace(count.get() + 1) {
            7.. => std::future::pending().await,
            _ => Ok(()),
        };
        let wanted = Preconnected {
            opened: 7,
            failed: 293,
            last_failure: Some(Cause::WhileConnecting),
        };
        assert_eq!(run(open_all(300, Duration::from_millis(20), open)), wanted);
    }

    /// Broken if a core opens all at once, or waits for one before it begins the next.
    #[test]
    fn some_are_opened_at_a_time() {
        let (now, most) = (Cell::new(0), Cell::new(0));
        let open = async || {
            now.set(now.get() + 1);
            most.set(now.get().max(most.get()));
            tokio::task::yield_now().await;
            now.set(now.get() - 1);
            Ok(())
        };
        assert_eq!(run(open_all(1_000, PRECONNECT_TIMEOUT, open)).opened, 1_000);
        assert_eq!(most.get(), OPENING_MAX);
    }
}
