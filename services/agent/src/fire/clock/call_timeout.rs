//! The time-out of one call after another, with one timer that keeps running.
//!
//! Setting and clearing a timer for each call would cost more than reading its answer. So one timer
//! per seat runs on from call to call. When it fires too early for the current call, it is set
//! again. It must never fire early, nor late by more than tokio's step of 1 ms.

use std::future::Future as _;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::task::coop::unconstrained;
use tokio::time::{Instant, Sleep, sleep_until};

use super::MonoTime;

/// A timer that serves one call at a time.
#[derive(Debug)]
pub(crate) struct CallTimer {
    sleep: Pin<Box<Sleep>>,
    /// Whether the runtime has a waker of the task.
    registered: bool,
    /// The same instant on both clocks.
    origin: (MonoTime, Instant),
}

impl CallTimer {
    /// Must be called on a tokio runtime with time enabled.
    pub(crate) fn new() -> Self {
        let now = Instant::now();
        Self {
            sleep: Box::pin(sleep_until(now + Duration::from_secs(3_600))),
            registered: false,
            origin: (MonoTime::now(), now),
        }
    }

    /// Ready once `deadline` has passed. All polls must come from the same task.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, deadline: MonoTime) -> Poll<()> {
        let (mono, instant) = self.origin;
        // One µs more, since both readings were rounded down to whole µs.
        let deadline = instant + Duration::from_micros(deadline.since_us(mono) + 1);
        if self.registered && self.sleep.deadline() <= deadline && !self.sleep.is_elapsed() {
            return Poll::Pending;
        }
        loop {
            if self.sleep.deadline() > deadline || self.sleep.is_elapsed() {
                if Instant::now() >= deadline {
                    return Poll::Ready(());
                }
                self.sleep.as_mut().reset(deadline);
            }
            self.registered = true;
            // A task without budget would get `Pending` without being registered with the timer.
            let mut timer = pin!(unconstrained(self.sleep.as_mut()));
            if timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    /// Broken if a call inherited the deadline of the one before it, in either direction.
    #[tokio::test]
    async fn each_call_has_its_own_deadline() {
        let mut call_timer = CallTimer::new();
        for after_ms in [20, 1, 0, 30, 5] {
            let begin = MonoTime::now();
            let deadline = begin.plus_us(after_ms * 1_000);
            let long = begin.plus_us(60_000_000);
            // A call that ends at once leaves its timer behind.
            let left = poll_fn(|cx| Poll::Ready(call_timer.poll(cx, long))).await;
            assert!(left.is_pending());
            poll_fn(|cx| call_timer.poll(cx, deadline)).await;
            assert!(MonoTime::now().since_us(begin) >= after_ms * 1_000);
        }
    }
}
