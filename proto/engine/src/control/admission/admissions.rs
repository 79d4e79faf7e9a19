//! The fold of all admission decisions of a fleet.

use std::collections::{BTreeMap, VecDeque};

use loadpilot_events::id::{RunId, TenantId};
use loadpilot_events::log::admission::AdmissionDecision;
use loadpilot_events::units::{SECOND_US, Timestamp};

/// Time for which an admission counts as one of a day, in µs.
pub const DAY_US: u64 = 86_400 * SECOND_US;

/// A run that was admitted and is not released.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admitted {
    /// Its tenant.
    pub tenant: TenantId,
    /// Number of agents that it wants.
    pub agents: u32,
}

/// The state of admission.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Admissions {
    /// Runs that count.
    pub admitted: BTreeMap<RunId, Admitted>,
    /// The run that gets agents before any other of its priority or a lower one.
    pub reserved: Option<RunId>,
    /// Stream sequence of the last decision; the next one is appended after it.
    pub last_seq: u64,
    /// Times of the admissions of each tenant in the last day of the log's time, oldest first.
    days: BTreeMap<TenantId, VecDeque<Timestamp>>,
    /// The latest time of a decision.
    latest_at: Timestamp,
}

impl Admissions {
    /// Adds the decision that is stored at `seq` with the writer's time `at`. Total: every decision
    /// in the log has happened.
    pub fn evolve(&mut self, seq: u64, at: Timestamp, decision: &AdmissionDecision) {
        self.skip(seq);
        self.latest_at = self.latest_at.max(at);
        let run = decision.run();
        match decision {
            AdmissionDecision::RunAdmitted(run) => {
                let admitted = Admitted {
                    tenant: run.tenant.clone(),
                    agents: run.agents,
                };
                if self.admitted.insert(run.run.clone(), admitted).is_none() {
                    let day = self.days.entry(run.tenant.clone()).or_default();
                    day.push_back(self.latest_at);
                    while day
                        .front()
                        .is_some_and(|at| at.plus_us(DAY_US) <= self.latest_at)
                    {
                        day.pop_front();
                    }
                }
            }
            AdmissionDecision::AgentsReserved(reserved) => {
                self.reserved = Some(reserved.run.clone());
                return;
            }
            AdmissionDecision::RunReleased(_) => {
                self.admitted.remove(run);
            }
        }
        if self.reserved.as_ref() == Some(run) {
            self.reserved = None;
        }
    }

    /// Notes that `seq` is taken by a record that cannot be read.
    pub fn skip(&mut self, seq: u64) {
        self.last_seq = self.last_seq.max(seq);
    }

    /// Number of runs of `tenant` that count.
    #[must_use]
    pub fn running(&self, tenant: &TenantId) -> u32 {
        let own = self.admitted.values().filter(|run| run.tenant == *tenant);
        u32::try_from(own.count()).unwrap_or(u32::MAX)
    }

    /// Number of runs of `tenant` that were admitted in the last 24 hours before `now`.
    #[must_use]
    pub fn today(&self, tenant: &TenantId, now: Timestamp) -> u32 {
        let day = self.days.get(tenant).into_iter().flatten();
        let recent = day.filter(|at| at.plus_us(DAY_US) > now);
        u32::try_from(recent.count()).unwrap_or(u32::MAX)
    }
}
