//! Types of LoadPilot that are stored in the log or sent between processes.
//!
//! Everything here is data with a JSON form (`proto/schema`, `proto/golden`). This crate does no
//! I/O, reads no clock and no environment, and decides nothing: the laws are in `loadpilot-engine`.
//!
//! In the order of a run:
//!
//! - [`plan`]: the plan that a run executes
//! - [`log`]: events that the log stores: request events, decisions, facts and deltas
//! - [`answers`]: results computed from a log: report, live view, slices
//! - [`wire`]: subjects, heartbeats and schemas
//!
//! Below all of them:
//!
//! - [`id`]: identifiers of runs, agents, events
//! - [`units`]: instants, rates, durations
//! - [`limits`]: maximum sizes of the formats
//! - [`refusal`]: problems that a user can fix
//! - [`rules`]: version of the rules by which a run is judged

pub mod answers;
mod defaults;
pub mod id;
pub mod limits;
pub mod log;
pub mod plan;
pub mod refusal;
pub mod rules;
pub mod units;
mod varint;
pub mod wire;

/// Version of this build. A development build has debug assertions, and runs slower than a release.
pub const VERSION: &str = if cfg!(debug_assertions) {
    concat!(env!("CARGO_PKG_VERSION"), "+dev")
} else {
    env!("CARGO_PKG_VERSION")
};

/// Description of a program's build: version, commit and build profile.
///
/// `commit` comes from the package with the `main` function: if a crate below it knew the commit,
/// it would be compiled again at each commit.
#[must_use]
pub fn build_text(commit: Option<&str>) -> String {
    let commit = commit.filter(|commit| !commit.is_empty());
    let commit = commit.unwrap_or("unknown");
    let profile = if cfg!(debug_assertions) {
        "development"
    } else {
        "release"
    };
    format!(
        "{} (commit {commit}, {profile} build)",
        env!("CARGO_PKG_VERSION")
    )
}

/// Whether a [`VERSION`] is that of a development build.
#[must_use]
pub fn is_development(version: &str) -> bool {
    version.ends_with("+dev")
}

pub use id::{AgentId, BootId, EventId, Holder, OwnerId, RunId, TenantId};
pub use log::cause::Cause;
pub use log::envelope::Envelope;
pub use log::outcome::{DropReason, Outcome};
pub use plan::Plan;
pub use plan::capability::Capability;
pub use units::{Rate, Timestamp};
