//! The instant after which an agent may start nothing unless it hears from its fleet again.
//!
//! A process that was frozen wakes up in all of its threads at once, and a firing thread may be the
//! first. It must not send for shards that other agents have taken over, so it compares the clock
//! with the lease itself. Must never lock nor wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use super::MonoTime;

/// Shared by the thread that receives the fleet's messages and all firing threads.
#[derive(Debug, Clone)]
pub struct Lease(Arc<AtomicI64>);

impl Lease {
    /// A lease that holds until its first renewal.
    #[must_use]
    pub fn unlimited() -> Self {
        Self(Arc::new(AtomicI64::new(i64::MAX)))
    }

    /// Sets its end.
    pub fn renew(&self, end: MonoTime) {
        self.0.store(end.as_ns(), Ordering::Relaxed);
    }

    /// Whether it has ended by `now`.
    #[must_use]
    pub fn is_over(&self, now: MonoTime) -> bool {
        now.as_ns() >= self.0.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Broken if a thread goes on after the end, or stops although the lease was renewed.
    #[test]
    fn it_ends_when_it_was_told_to_and_not_before() {
        let (lease, at) = (Lease::unlimited(), MonoTime::from_ns);
        assert!(!lease.is_over(at(i64::MAX - 1)));
        let shared = lease.clone();
        lease.renew(at(10));
        assert_eq!(
            [9, 10, 11].map(|ns| shared.is_over(at(ns))),
            [false, true, true]
        );
        lease.renew(at(20));
        assert!(!shared.is_over(at(11)));
    }
}
