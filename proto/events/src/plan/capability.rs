//! Capabilities: abilities that only some agents have, and that runs may require.
//!
//! Readers accept unknown names: a fleet may be newer than the reader of its log. An ability that
//! every agent has is not a capability.

use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::limits::NAME_BYTES_MAX;
use crate::plan::Plan;
use crate::refusal::Problem;

/// Capability of agents that run scenarios in Python.
const PYTHON: &str = "python";

/// Capability of agents that know user types.
const USER_TYPES: &str = "user-types";

/// Capability of agents that send requests in files of rows.
const REQUEST_ROWS: &str = "request-rows";
/// Capability of agents that know pairs of arrivals.
const PAIRS: &str = "pairs";
/// Capability of agents that know sessions.
const SESSIONS: &str = "sessions";

/// Capability of agents that know plans with gates to hold.
const HOLD: &str = "hold";
/// Capability of agents that send Trace Context.
const TRACE_CONTEXT: &str = "trace-context";

/// Capability of agents that serve several tenants.
const TENANTS: &str = "tenants";

/// Capability of agents that look for proofs of ownership.
const OWNERSHIP: &str = "ownership";

/// Capability of some agents: `python`, or a label that an operator gave an agent, such as
/// `zone=eu`.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Capability(String);

impl Capability {
    /// The capability to run scenarios in Python.
    #[must_use]
    pub fn python() -> Self {
        Self(PYTHON.to_owned())
    }

    /// The capability to play a mix of user types, which agents of earlier versions lack.
    #[must_use]
    pub fn user_types() -> Self {
        Self(USER_TYPES.to_owned())
    }

    /// The capability to send requests in files of rows, which agents of earlier versions lack.
    #[must_use]
    pub fn request_rows() -> Self {
        Self(REQUEST_ROWS.to_owned())
    }

    /// The capability to offer arrivals in pairs to two targets, which agents of earlier versions
    /// lack.
    #[must_use]
    pub fn pairs() -> Self {
        Self(PAIRS.to_owned())
    }

    /// The capability to read a plan with gates to hold, which agents of earlier versions lack.
    #[must_use]
    pub fn hold() -> Self {
        Self(HOLD.to_owned())
    }

    /// The capability to send Trace Context in `traceparent`, where agents of earlier versions send
    /// an id that is no trace.
    #[must_use]
    pub fn trace_context() -> Self {
        Self(TRACE_CONTEXT.to_owned())
    }

    /// The capability to play sessions in the places of a closed loop, which agents of earlier
    /// versions lack.
    #[must_use]
    pub fn sessions() -> Self {
        Self(SESSIONS.to_owned())
    }

    /// The capability to report a run to its tenant and to connect to that tenant's targets only,
    /// which agents of earlier versions lack.
    #[must_use]
    pub fn tenants() -> Self {
        Self(TENANTS.to_owned())
    }

    /// The capability to look for a proof of ownership of the targets, which agents of earlier
    /// versions lack.
    #[must_use]
    pub fn ownership() -> Self {
        Self(OWNERSHIP.to_owned())
    }

    /// Parses a label of an agent, `key=value`.
    ///
    /// # Errors
    /// When it is not such a pair, or too long.
    pub fn label(field: &str, text: &str) -> Result<Self, Problem> {
        let parts = text.split_once('=');
        let sound = parts.is_some_and(|(key, value)| is_word(key) && is_word(value));
        if sound && text.len() <= NAME_BYTES_MAX {
            return Ok(Self(text.to_owned()));
        }
        let rule = "must be key=value such as zone=eu, out of letters, digits and . _ -";
        Err(Problem::new(field, rule, text))
    }

    /// Name of the capability.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for Capability {
    type Error = Problem;
    fn try_from(text: String) -> Result<Self, Problem> {
        let mut parts = text.split('=');
        if text.len() <= NAME_BYTES_MAX && parts.all(is_word) {
            return Ok(Self(text));
        }
        let rule = "must be 1 to 128 letters, digits and . _ - =";
        Err(Problem::new("capability", rule, text))
    }
}

impl From<Capability> for String {
    fn from(capability: Capability) -> Self {
        capability.0
    }
}

impl Plan {
    /// Capabilities that the plan requires of agents.
    #[must_use]
    pub fn needs(&self) -> BTreeSet<Capability> {
        let python = self.script.iter().map(|_| Capability::python());
        let types = self.types.first().map(|_| Capability::user_types());
        let rows = self.requests.iter().map(|_| Capability::request_rows());
        let pairs = self.paired.then(Capability::pairs);
        let hold = self.hold.first().map(|_| Capability::hold());
        let sessions = self.has_sessions().then(Capability::sessions);
        let traces = self.has_trace_context().then(Capability::trace_context);
        let needs = python.chain(types).chain(rows).chain(pairs);
        needs.chain(hold).chain(sessions).chain(traces).collect()
    }
}

fn is_word(text: &str) -> bool {
    let sign = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    !text.is_empty() && text.chars().all(sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Broken if a label could be the name `python`: its agent would get work that it cannot do.
    #[test]
    fn labels_are_pairs_and_names_may_be_unknown() {
        for (text, is_label, is_name) in [
            ("zone=eu-1", true, true),
            ("python", false, true),
            ("user-types", false, true),
            ("gpu_8", false, true),
            ("zone=", false, false),
            ("=eu", false, false),
            ("zone=a b", false, false),
            ("", false, false),
        ] {
            assert_eq!(Capability::label("label", text).is_ok(), is_label, "{text}");
            assert_eq!(
                Capability::try_from(text.to_owned()).is_ok(),
                is_name,
                "{text}"
            );
        }
    }
}
