//! The tenants of a fleet that several of them share, as its operator describes them.

use std::collections::BTreeMap;

use loadpilot_events::id::TenantId;
use loadpilot_events::refusal::Problem;

use crate::check::target_policy::TenantTargets;
use crate::control::quotas::Quotas;

/// All tenants that a fleet serves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tenants {
    /// The file that names them, for refusals.
    pub file: String,
    /// What each may do.
    pub rules: BTreeMap<TenantId, TenantRules>,
}

/// What one tenant may do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TenantRules {
    /// Targets of its runs; `None`: all that the fleet allows.
    pub targets: Option<TenantTargets>,
    /// What each of its runs may request.
    pub quotas: Quotas,
}

impl Tenants {
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
