//! The window of one delta, and the arrivals that it reports.

use serde::{Deserialize, Serialize};

/// The window of one delta, and the arrivals that it reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reported {
    /// Beginning of the window, in µs after the start.
    pub from_us: u64,
    /// End of the window, in µs after the start.
    pub to_us: u64,
    /// Arrivals in its rows, excess included.
    pub arrivals: u64,
    /// Arrivals of the process up to and including this delta, by its totals.
    pub total: u64,
}
