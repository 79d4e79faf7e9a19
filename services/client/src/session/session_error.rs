//! Why a session call failed: a refusal that the user can fix, or a fault.

use std::io;
use std::time::Duration;

use loadpilot_bus::{AppendError, Fault};
use loadpilot_engine::report::NoReport;
use loadpilot_events::refusal::{Problem, Refusal};

/// Timeout for a coordinator's answer.
pub(crate) const COORDINATOR_TIMEOUT: Duration = Duration::from_secs(3);

/// Why a session failed.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The request is invalid; the user can fix it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The fleet cannot take runs.
    #[error(transparent)]
    NoFleet(#[from] NoFleet),
    /// A fault of the bus.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// A table could not be written.
    #[error("cannot write: {0}")]
    Write(#[from] io::Error),
    /// A request could not be stored.
    #[error("cannot store the request: {0}")]
    Append(#[from] AppendError),
}

impl From<Problem> for SessionError {
    fn from(problem: Problem) -> Self {
        Self::Refused(Refusal {
            problems: vec![problem],
        })
    }
}

impl From<NoReport> for SessionError {
    fn from(unknown: NoReport) -> Self {
        let NoReport::Unknown(run) = unknown;
        Self::from(Problem::new("run", "must be a run of this log", run))
    }
}

/// Why a fleet cannot take a run.
#[derive(Debug, thiserror::Error)]
pub enum NoFleet {
    /// The server requires credentials, and none were given.
    #[error(
        "NATS at {url} requires credentials: give its token in env NATS_TOKEN, or --creds FILE"
    )]
    Unknown {
        /// The address, without user and password.
        url: String,
    },
    /// The server rejects the credentials.
    #[error("NATS at {url} does not accept {what}")]
    Unauthorized {
        /// The address, without user and password.
        url: String,
        /// Kind of the credentials.
        what: &'static str,
    },
    /// No coordinator of the tenant is connected.
    #[error(
        "no coordinator listens at {url} for the tenant {tenant}; start one: \
         loadpilot coordinator --nats-url {url}{flag}"
    )]
    NoCoordinator {
        /// The address, without user and password.
        url: String,
        /// Tenant of the runs.
        tenant: String,
        /// Further flags of the command that starts one.
        flag: String,
    },
    /// A coordinator is connected and does not answer.
    #[error("the coordinator at {url} does not answer within {} s", COORDINATOR_TIMEOUT.as_secs())]
    Silent {
        /// The address, without user and password.
        url: String,
    },
}
