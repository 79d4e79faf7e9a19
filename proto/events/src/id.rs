//! Identifiers. All of them are subject tokens (`[a-z0-9_-]`), parsed where they enter.
//!
//! Where a subject names the same thing, its token counts and not the payload: NATS permissions can
//! check subjects only.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::limits::NAME_BYTES_MAX;
use crate::refusal::Problem;

macro_rules! token {
    ($(#[$doc:meta])* $name:ident, $field:literal) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
        )]
        #[serde(try_from = "String", into = "String")]
        #[schemars(with = "String")]
        pub struct $name(String);

        impl $name {
            /// Parses a subject token.
            ///
            /// # Errors
            /// When it is empty, too long or contains a character outside `[a-z0-9_-]`.
            pub fn parse(text: &str) -> Result<Self, Problem> {
                token($field, text).map(|()| Self(text.to_owned()))
            }

            /// The text of the token.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = Problem;
            fn try_from(text: String) -> Result<Self, Problem> {
                token($field, &text).map(|()| Self(text))
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }
    };
}

token!(
    /// Id of one execution of one plan: a ULID in lower case, so that ids sort by creation.
    RunId, "run"
);
token!(
    /// Name of a tenant: the second token of every subject.
    TenantId, "tenant"
);
token!(
    /// Name of an agent, set by its operator; it outlives the agent's processes.
    AgentId, "agent"
);
token!(
    /// Id of one process of an agent: a ULID in lower case, new at every start.
    BootId, "boot_id"
);
token!(
    /// Id of one stored event; a repeated send has the same id.
    EventId, "id"
);
token!(
    /// Id of an attached command line that keeps a run alive.
    OwnerId, "owner"
);

fn token(field: &str, text: &str) -> Result<(), Problem> {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-';
    if text.is_empty() || text.len() > NAME_BYTES_MAX || !text.bytes().all(allowed) {
        let rule = "must be 1 to 128 characters out of a-z 0-9 _ -";
        return Err(Problem::new(field, rule, text));
    }
    Ok(())
}

impl RunId {
    /// The run id of a ULID.
    #[must_use]
    pub fn from_ulid(ulid: ulid::Ulid) -> Self {
        Self(ulid.to_string().to_ascii_lowercase())
    }
}

impl BootId {
    /// The boot id of a ULID.
    #[must_use]
    pub fn from_ulid(ulid: ulid::Ulid) -> Self {
        Self(ulid.to_string().to_ascii_lowercase())
    }
}

impl EventId {
    /// The event id of a ULID.
    #[must_use]
    pub fn from_ulid(ulid: ulid::Ulid) -> Self {
        Self(ulid.to_string().to_ascii_lowercase())
    }
}

/// Process that can hold shards. A new boot of an agent is a new holder.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct Holder {
    /// Agent of the process.
    pub agent: AgentId,
    /// Process of the agent.
    pub boot_id: BootId,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.agent, self.boot_id)
    }
}
