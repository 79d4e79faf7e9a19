//! Which window of time one delta covers, and how much it reports of it.

use serde::{Deserialize, Serialize};

/// What one delta says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reported {
    /// Where its window begins, in µs after the start.
    pub from_us: u64,
    /// Where it ends.
    pub to_us: u64,
    /// Arrivals in its rows, excess included.
    pub arrivals: u64,
    /// Arrivals of its process up to and including it, by its own totals.
    pub total: u64,
}
