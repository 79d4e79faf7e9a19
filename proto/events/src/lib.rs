//! The nouns of LoadPilot: every type that is stored in the log or sent between parts.
//!
//! One file per step of a run, named as the step is named everywhere else: [`plan`], [`assign`],
//! [`start`], [`delta`], [`report`]. Everything here is data with a JSON form (`proto/schema`,
//! `proto/golden`). This crate must never do I/O, read a clock or the environment, or decide
//! anything: the laws live in `loadpilot-engine`.

pub mod assign;
pub mod attendance;
pub mod capability;
pub mod catalogue;
pub mod cause;
pub mod certificate;
pub mod code;
pub mod connections;
pub mod ctl;
pub mod delta;
pub mod envelope;
pub mod evt;
pub mod exchange;
pub mod failures;
pub mod gaps;
pub mod generator;
pub mod heartbeat;
pub mod hist;
pub mod id;
pub mod latency;
pub mod limits;
pub mod live;
pub mod metrics;
pub mod outcome;
pub mod owed;
pub mod plan;
pub mod refusal;
pub mod report;
pub mod req;
pub mod rules;
pub mod samples;
pub mod schema;
pub mod script;
pub mod shards;
pub mod slice;
pub mod start;
pub mod steer;
pub mod story;
pub mod streams;
pub mod subject;
pub mod target;
pub mod threshold;
pub mod units;
pub mod what_if;

pub use capability::Capability;
pub use cause::Cause;
pub use envelope::Envelope;
pub use id::{AgentId, BootId, EventId, Holder, OwnerId, RunId, TenantId};
pub use outcome::{DropReason, Outcome};
pub use plan::Plan;
pub use units::{Rate, Timestamp};
