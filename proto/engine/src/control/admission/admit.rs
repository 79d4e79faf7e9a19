//! The next admission decision, and the places of the runs that wait.
//!
//! Runs of one tenant are admitted in the order of their requests. Among tenants the priority comes
//! first, then the share of the agents (in use, relative to the weight), then the order of the
//! requests. The first run that does not fit gets a reservation, which is stored: without it small
//! runs of a tenant with a smaller share could keep a large one waiting for ever. Only runs of a
//! higher priority are admitted before a run with a reservation.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;

use loadpilot_events::id::{RunId, TenantId};
use loadpilot_events::log::admission::{
    AdmissionDecision, AgentsReserved, RunAdmitted, RunReleased,
};
use loadpilot_events::log::admission::{RunQueued, WaitReason};

use crate::control::admission::admissions::Admissions;
use crate::control::admission::rules::AdmissionRules;
use crate::control::tenants::Tenants;

/// A run that was requested and is not admitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// Its id.
    pub run: RunId,
    /// Its tenant.
    pub tenant: TenantId,
    /// Stream sequence of its request: the order of requests.
    pub seq: u64,
    /// Number of agents that it wants.
    pub agents: u32,
}

/// The next decision, or `None` while there is nothing to decide. `is_open` says of a run that was
/// admitted whether it may still use agents: it was requested, and is neither over nor removed.
/// `agents` is the number of agents that live.
#[must_use]
pub fn admit(
    state: &Admissions,
    waiting: &[Waiting],
    is_open: impl Fn(&RunId) -> bool,
    tenants: &Tenants,
    agents: u32,
) -> Option<AdmissionDecision> {
    if let Some((run, admitted)) = state.admitted.iter().find(|(run, _)| !is_open(run)) {
        return Some(AdmissionDecision::RunReleased(RunReleased {
            run: run.clone(),
            tenant: admitted.tenant.clone(),
        }));
    }
    let shares = Shares::of(state, tenants, agents);
    let heads = heads(state, waiting, tenants);
    let first = heads
        .into_iter()
        .min_by(|a, b| shares.order(state, *a, *b))?;
    let (head, _) = first;
    let (run, tenant, agents) = (head.run.clone(), head.tenant.clone(), head.agents);
    if shares.fits(head) {
        let admitted = RunAdmitted {
            run,
            tenant,
            agents,
        };
        return Some(AdmissionDecision::RunAdmitted(admitted));
    }
    let is_reserved = state.reserved.as_ref() == Some(&head.run);
    (!is_reserved).then_some(AdmissionDecision::AgentsReserved(AgentsReserved {
        run,
        tenant,
        agents,
    }))
}

/// The place of each waiting run among those of its tenant, and the reason why it waits. `agents`
/// is the number of agents that live.
#[must_use]
pub fn places(
    state: &Admissions,
    waiting: &[Waiting],
    tenants: &Tenants,
    agents: u32,
) -> BTreeMap<RunId, RunQueued> {
    let shares = Shares::of(state, tenants, agents);
    let mut by_tenant: BTreeMap<&TenantId, Vec<&Waiting>> = BTreeMap::new();
    for run in waiting {
        by_tenant.entry(&run.tenant).or_default().push(run);
    }
    let mut places = BTreeMap::new();
    for (tenant, mut runs) in by_tenant {
        runs.sort_by_key(|run| run.seq);
        let running = state.running(tenant);
        let max_runs = tenants
            .rules
            .get(tenant)
            .and_then(|rules| rules.admission.max_runs);
        let count = u32::try_from(runs.len()).unwrap_or(u32::MAX);
        for (place, run) in (1..).zip(runs) {
            let reason = match (max_runs, shares.capacity.total()) {
                (Some(max_runs), _) if running >= max_runs => {
                    WaitReason::MaxRuns { running, max_runs }
                }
                (_, Some(total)) if !shares.fits(run) => WaitReason::Agents {
                    in_use: u32::try_from(shares.used).unwrap_or(u32::MAX),
                    agents: u32::try_from(total).unwrap_or(u32::MAX),
                },
                _ => WaitReason::Turn,
            };
            let queued = RunQueued {
                tenant: tenant.clone(),
                place,
                waiting: count,
                reason,
            };
            places.insert(run.run.clone(), queued);
        }
    }
    places
}

/// The first waiting run of a tenant that is below its limit, with the rules of the tenant.
type Head<'a> = (&'a Waiting, &'a AdmissionRules);

/// The first run of each tenant that is below its maximum number of runs.
fn heads<'a>(state: &Admissions, waiting: &'a [Waiting], tenants: &'a Tenants) -> Vec<Head<'a>> {
    let mut first: BTreeMap<&TenantId, &Waiting> = BTreeMap::new();
    for run in waiting {
        let known = first.entry(&run.tenant).or_insert(run);
        if run.seq < known.seq {
            *known = run;
        }
    }
    let head = |(tenant, run)| {
        let rules = &tenants.rules.get(tenant)?.admission;
        let is_below = rules.max_runs.is_none_or(|max| state.running(tenant) < max);
        is_below.then_some((run, rules))
    };
    first.into_iter().filter_map(head).collect()
}

/// The agents of a fleet, and how many runs each serves.
#[derive(Debug, Clone, Copy)]
struct Capacity {
    /// Number of agents that live.
    agents: u32,
    /// Maximum number of runs of an agent at the same time; `None`: agents do not limit admission.
    runs_per_agent: Option<u32>,
}

impl Capacity {
    /// Number of agents that can be in use at the same time, once for each run; `None`: no limit.
    fn total(self) -> Option<u64> {
        let runs = self.runs_per_agent?;
        Some(u64::from(self.agents) * u64::from(runs))
    }

    /// Number of agents that a run uses. A run that wants more agents than there are gets all of
    /// them.
    fn used_by(self, wanted: u32) -> u64 {
        u64::from(wanted.min(self.agents).max(1))
    }
}

/// Agents in use.
struct Shares<'a> {
    capacity: Capacity,
    used: u64,
    by_tenant: BTreeMap<&'a TenantId, u64>,
    is_empty: bool,
}

impl<'a> Shares<'a> {
    fn of(state: &'a Admissions, tenants: &Tenants, agents: u32) -> Self {
        let capacity = Capacity {
            agents,
            runs_per_agent: tenants.max_runs_per_agent,
        };
        let mut by_tenant = BTreeMap::new();
        for run in state.admitted.values() {
            *by_tenant.entry(&run.tenant).or_default() += capacity.used_by(run.agents);
        }
        Self {
            capacity,
            used: by_tenant.values().sum(),
            by_tenant,
            is_empty: state.admitted.is_empty(),
        }
    }

    /// Whether the agents that a run wants are free. A run alone always fits: it waits for agents
    /// as on any other fleet.
    fn fits(&self, run: &Waiting) -> bool {
        let wanted = self.capacity.used_by(run.agents);
        let total = self.capacity.total();
        self.is_empty || total.is_none_or(|total| self.used + wanted <= total)
    }

    /// The order in which runs are admitted.
    fn order(&self, state: &Admissions, a: Head<'_>, b: Head<'_>) -> Ordering {
        let is_behind = |run: &Waiting| state.reserved.as_ref() != Some(&run.run);
        let used = |run: &Waiting| self.by_tenant.get(&run.tenant).copied().unwrap_or_default();
        let weight = |rules: &AdmissionRules| u64::from(rules.weight.get());
        let (first, second) = (a.0, b.0);
        let priority = Reverse(a.1.priority).cmp(&Reverse(b.1.priority));
        let reserved = is_behind(first).cmp(&is_behind(second));
        // The share of a tenant is its use divided by its weight; the comparison needs no division.
        let share = (used(first) * weight(b.1)).cmp(&(used(second) * weight(a.1)));
        priority
            .then(reserved)
            .then(share)
            .then(first.seq.cmp(&second.seq))
    }
}
