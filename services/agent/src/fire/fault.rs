//! Errors that keep a core from firing. Must never carry a secret's value.

use loadpilot_events::refusal::Problem;

/// Why a core cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// A part of the plan cannot be sent. The plan check should have refused it.
    #[error("{field}: must be {rule}")]
    Unsendable {
        /// Path of the field in the plan.
        field: String,
        /// The rule that must hold there.
        rule: String,
    },
    /// A secret handle of the plan has no value on this agent.
    #[error("no value for the secret {0:?}")]
    NoSecret(String),
    /// A body of the plan was not fetched.
    #[error("the body {0} was not fetched")]
    NoBody(String),
    /// The target is https, and no certificate roots were found to verify it with.
    #[error("no certificate roots were found on this machine for an https target: {0}")]
    NoRoots(String),
    /// The TLS library cannot be set up.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[source] tokio_rustls::rustls::Error),
    /// The thread, its timer or its runtime could not be created.
    #[error("a load thread cannot be started: {0}")]
    Thread(#[source] std::io::Error),
    /// The target policy closes the target to this agent.
    #[error(transparent)]
    NotAllowed(Problem),
    /// The file for the calls of the open tick cannot be created: no room or no permission.
    #[error("a file for the calls of the open tick cannot be created in {folder}: {error}")]
    Ring {
        /// The state directory.
        folder: std::path::PathBuf,
        /// The error of the file system.
        #[source]
        error: std::io::Error,
    },
}

impl Fault {
    pub(crate) fn unsendable(field: &str, rule: &str) -> Self {
        Self::Unsendable {
            field: field.to_owned(),
            rule: rule.to_owned(),
        }
    }
}
