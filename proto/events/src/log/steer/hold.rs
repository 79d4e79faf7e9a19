//! The measurement of a run at one rate, by which the command that holds a gate changed the rate.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::Rate;

/// A part of a run at one rate, judged by the gates that are held.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HoldWindow {
    /// Rate of the part.
    pub rate: Rate,
    /// Begin of the judged due time, in µs after the start.
    pub from_us: u64,
    /// End of the judged due time, exclusive, in µs after the start.
    pub to_us: u64,
    /// Number of arrivals planned in it.
    pub planned: u64,
    /// Number of those that started.
    pub started: u64,
    /// Number of their calls that had ended.
    pub calls: u64,
    /// Whether the gates held, and the arrivals started.
    pub passed: bool,
    /// Key of the gate that decided, such as `p99_ms`.
    pub key: String,
    /// Its limit, in the unit of the key.
    pub limit: f64,
    /// Figure of the part, in the unit of the key. Null: nothing to measure.
    pub actual: Option<f64>,
}

impl HoldWindow {
    /// The measurement as text for people.
    #[must_use]
    pub fn words(&self) -> String {
        let Self { key, limit, .. } = self;
        let rps = self.rate.as_rps();
        match self.actual {
            None => format!("at {rps:.1}/s {key} had nothing to measure, and its limit is {limit}"),
            Some(actual) => {
                let short = match self.is_short() {
                    true => format!(", with {} of {} arrivals", self.started, self.planned),
                    false => String::new(),
                };
                format!("at {rps:.1}/s {key} was {actual:.1}, and its limit is {limit}{short}")
            }
        }
    }

    /// Whether more than 1 % of the planned arrivals did not start.
    #[must_use]
    pub fn is_short(&self) -> bool {
        self.started.saturating_mul(100) < self.planned.saturating_mul(99)
    }
}
