//! A run as it was created, with its plan: `RunCreated` names the request that contains the plan,
//! or contains it itself (ADR 0066).
//!
//! Must never take the plan from another request than the one that the decision names.

use std::collections::BTreeSet;

use loadpilot_events::id::OwnerId;
use loadpilot_events::log::assign::AgentsWanted;
use loadpilot_events::log::ctl::OwnershipProof;
use loadpilot_events::log::ctl::{Decision, RunCreated};
use loadpilot_events::log::envelope::{Envelope, version_of};
use loadpilot_events::plan::Plan;
use loadpilot_events::plan::capability::Capability;
use loadpilot_events::rules::Rules;
use loadpilot_events::units::Timestamp;

/// The plan of the first request for a run.
#[derive(Debug, Clone, Copy)]
pub struct RequestedPlan<'a> {
    /// Stream sequence of the request in LP_CTL.
    pub seq: u64,
    /// Its plan.
    pub plan: &'a Plan,
}

/// A run as it was created. The fields are those of [`RunCreated`].
#[derive(Debug, Clone, PartialEq)]
pub struct CreatedRun {
    /// Plan of the run.
    pub plan: Plan,
    /// SHA-256 of the plan's canonical JSON, in lower-case hex.
    pub plan_hash: String,
    /// Random seed; with the plan it fixes every arrival.
    pub seed: u64,
    /// Number of agents, and the wait for them.
    pub agents: AgentsWanted,
    /// Attached command line. Absent: the run is detached.
    pub owner: Option<OwnerId>,
    /// Time between the decision to start and the start, in µs.
    pub lead_us: u64,
    /// Number of shards, fixed for the whole run.
    pub shards: u32,
    /// End of the wait for agents.
    pub gather_by: Timestamp,
    /// Capabilities that each agent must have, beside those that the plan requires.
    pub needs: Vec<Capability>,
    /// Targets that the tenant of the run may have. Absent: all that the agents allow.
    pub targets: Option<Vec<String>>,
    /// Proof that each agent looks for before it starts. Absent: none is needed.
    pub proof: Option<OwnershipProof>,
    /// Version of the rules by which the run is judged.
    pub rules: Rules,
}

impl CreatedRun {
    /// The run with its plan: that of the decision, or that of the request which the decision
    /// names.
    ///
    /// # Errors
    /// The log has no such request, in words.
    pub fn of(created: &RunCreated, request: Option<RequestedPlan<'_>>) -> Result<Self, String> {
        let plan = match (&created.plan, created.request) {
            (Some(plan), _) => plan,
            (None, None) => return Err("it has no plan and names no request".to_owned()),
            (None, Some(named)) => {
                let found = request.filter(|request| request.seq == named);
                let absent = || format!("it names request {named}, which is not that of the run");
                found.ok_or_else(absent)?.plan
            }
        };
        Ok(Self {
            plan: plan.clone(),
            plan_hash: created.plan_hash.clone(),
            seed: created.seed,
            agents: created.agents.clone(),
            owner: created.owner.clone(),
            lead_us: created.lead_us,
            shards: created.shards,
            gather_by: created.gather_by,
            needs: created.needs.clone(),
            targets: created.targets.clone(),
            proof: created.proof.clone(),
            rules: created.rules,
        })
    }

    /// All capabilities that the run requires of each agent: those of the plan and those of the
    /// request.
    #[must_use]
    pub fn needed(&self) -> BTreeSet<Capability> {
        let mut needed = self.plan.needs();
        needed.extend(self.needs.iter().cloned());
        needed
    }
}

/// The decision as agents receive it: they do not read requests, so the plan is inside. Unchanged
/// where it names another request than `request`.
#[must_use]
pub fn with_plan(
    event: Envelope<Decision>,
    request: Option<RequestedPlan<'_>>,
) -> Envelope<Decision> {
    let Envelope { v, id, at, event } = event;
    let (v, event) = match event {
        Decision::RunCreated(mut created) if created.plan.is_none() => {
            if let Ok(run) = CreatedRun::of(&created, request) {
                (created.plan, created.request) = (Some(run.plan), None);
            }
            let event = Decision::RunCreated(created);
            (version_of(&event), event)
        }
        event => (v, event),
    };
    Envelope { v, id, at, event }
}
