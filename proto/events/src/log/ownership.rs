//! Proof of ownership that a run needs: part of the decision that creates it (ADR 0067).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::TenantId;
use crate::units::Rate;

/// Proof that each agent looks for before it starts: the owner of each host allows the tenant to
/// load it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OwnershipProof {
    /// Tenant of the run.
    pub tenant: TenantId,
    /// Why the run needs the proof.
    pub excess: Excess,
    /// Token that each host must publish. Tokens are no secrets.
    pub tokens: BTreeMap<String, String>,
}

/// Load above what a tenant may offer without a proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Excess {
    /// The rate of an open loop.
    Rate {
        /// Requested rate.
        requested: Rate,
        /// Maximum rate without a proof (`unproven_rate`).
        limit: Rate,
    },
    /// The number of users of a closed loop.
    Users {
        /// Requested number of users.
        requested: u32,
        /// Maximum number of users without a proof (`unproven_users`).
        limit: u32,
    },
}

impl Excess {
    /// The excess as text for people.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Rate { requested, limit } => format!(
                "{}/s is above unproven_rate, {}/s",
                requested.as_rps(),
                limit.as_rps()
            ),
            Self::Users { requested, limit } => {
                format!("{requested} users are more than unproven_users, {limit}")
            }
        }
    }
}
