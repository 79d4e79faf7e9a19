//! What one tenant may use of a fleet.

use std::num::NonZeroU32;

use loadpilot_events::units::Rate;

/// Limits of one tenant; `None` is no limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quotas {
    /// Maximum requested rate of one run.
    pub max_rate: Option<Rate>,
    /// Maximum number of agents of one run.
    pub max_agents: Option<u32>,
    /// Maximum number of runs at the same time; further ones wait.
    pub max_runs: Option<u32>,
    /// Maximum number of runs that wait.
    pub max_waiting: Option<u32>,
    /// Maximum planned duration of one run, in µs.
    pub max_duration_us: Option<u64>,
    /// Maximum number of runs in the last 24 hours of the log's time.
    pub max_runs_per_day: Option<u32>,
    /// Maximum number of bytes that the tenant's runs occupy in the log.
    pub max_stored_bytes: Option<u64>,
    /// Share of the agents while tenants compete, relative to the weights of the others.
    pub weight: NonZeroU32,
    /// Order among tenants that wait: the highest first.
    pub priority: i32,
}

impl Default for Quotas {
    /// No limits, weight 1 and priority 0.
    fn default() -> Self {
        Self {
            max_rate: None,
            max_agents: None,
            max_runs: None,
            max_waiting: None,
            max_duration_us: None,
            max_runs_per_day: None,
            max_stored_bytes: None,
            weight: NonZeroU32::MIN,
            priority: 0,
        }
    }
}
