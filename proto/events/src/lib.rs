//! The nouns of LoadPilot: every type that is stored in the log or sent between parts.
//!
//! One file per step of a run, named as the step is named everywhere else: [`plan`],
//! [`log::assign`], [`log::start`], [`log::delta`], [`answers::report`]. Everything here is data
//! with a JSON form (`proto/schema`, `proto/golden`). This crate must never do I/O, read a clock or
//! the environment, or decide anything: the laws live in `loadpilot-engine`.

pub mod answers;
mod defaults;
pub mod id;
pub mod limits;
pub mod log;
pub mod plan;
pub mod refusal;
pub mod rules;
pub mod units;
pub mod wire;

pub use id::{AgentId, BootId, EventId, Holder, OwnerId, RunId, TenantId};
pub use log::cause::Cause;
pub use log::envelope::Envelope;
pub use log::outcome::{DropReason, Outcome};
pub use plan::Plan;
pub use plan::capability::Capability;
pub use units::{Rate, Timestamp};
