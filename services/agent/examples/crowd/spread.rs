//! Times of one kind, in µs, and their summary.

use serde_json::{Value, json};

/// Times of one kind.
#[derive(Debug, Default)]
pub(crate) struct Spread(Vec<u64>);

impl Spread {
    pub(crate) fn add(&mut self, us: u64) {
        self.0.push(us);
    }

    /// Number, median, 99th percentile and maximum, exact over all of them.
    pub(crate) fn summary(&mut self) -> Value {
        self.0.sort_unstable();
        let count = self.0.len();
        let at = |share: usize| self.0.get((count * share / 100).min(count.max(1) - 1));
        json!({"count": count, "p50_us": at(50), "p99_us": at(99), "max_us": self.0.last()})
    }
}
