//! The tenants of a fleet that several of them share, as its operator describes them.

use std::collections::BTreeMap;

use loadpilot_events::id::TenantId;
use loadpilot_events::refusal::Problem;

use crate::check::target_policy::TenantTargets;
use crate::control::admission::rules::AdmissionRules;
use crate::control::ownership::{OwnershipKey, Unproven};
use crate::control::quotas::Quotas;

/// All tenants that a fleet serves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tenants {
    /// The file that names them, for refusals.
    pub file: String,
    /// The rules of each tenant.
    pub rules: BTreeMap<TenantId, TenantRules>,
    /// Maximum number of runs of an agent at the same time; `None`: agents do not limit admission.
    pub max_runs_per_agent: Option<u32>,
    /// The operator's key of ownership tokens; there is one where a tenant has limits without a
    /// proof.
    pub ownership_key: Option<OwnershipKey>,
}

/// The rules of one tenant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TenantRules {
    /// Targets of its runs; `None`: all that the fleet allows.
    pub targets: Option<TenantTargets>,
    /// Limits of each of its runs.
    pub quotas: Quotas,
    /// Limits of each of its runs without a proof that the tenant owns the targets.
    pub unproven: Unproven,
    /// Limits of all its runs together.
    pub admission: AdmissionRules,
}

impl Tenants {
    /// Whether runs are admitted before they are created: there is a limit that several runs share.
    #[must_use]
    pub fn limits_admission(&self) -> bool {
        let is_limited = |rules: &TenantRules| {
            let rules = &rules.admission;
            rules.max_runs.is_some() || rules.max_runs_per_day.is_some()
        };
        self.max_runs_per_agent.is_some() || self.rules.values().any(is_limited)
    }

    /// The rules of `tenant`.
    ///
    /// # Errors
    /// The fleet does not serve it. The problem names no other tenant.
    pub fn rules_of(&self, tenant: &TenantId) -> Result<&TenantRules, Problem> {
        self.rules.get(tenant).ok_or_else(|| {
            let file = &self.file;
            let rule = format!("must have a table [tenants.{tenant}] in {file} of this fleet");
            Problem::new("tenant", rule, tenant)
        })
    }
}
