//! The load engine of one core: a thread with its own reactor, connections and counters.
//!
//! - [`fault`]: why a core cannot be set up.
//! - [`allocator_tuning`]: how much freed memory the process keeps.
//! - [`futures`]: waits for several futures on one task.
//! - [`clock`]: monotonic time, timers and the lease.
//! - [`arrival_id`]: the identity of one arrival.
//! - [`journal`]: every counted call in a memory-mapped file, so that a kill loses none.
//! - [`request`]: the plan compiled to request templates, secrets and their redaction.
//! - [`http`]: connections and the two HTTP engines behind one interface.
//! - [`arrival`]: pacing, slots, virtual users, and the calls of an arrival.
//! - [`core`]: the threads, and the handles that the agent holds.
//! - `fuzz`: properties of the readers of foreign bytes; tests and cargo-fuzz only.
//!
//! A part imports only parts above it. The engine must never know NATS, wait for the reader of its
//! counters, or share state with another core.

mod allocator_tuning;
pub(crate) mod arrival;
mod arrival_id;
mod clock;
pub(crate) mod core;
mod fault;
pub(crate) mod futures;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
pub(crate) mod http;
pub(crate) mod journal;
pub(crate) mod request;

pub use self::core::hooks::{Hooks, HooksSetup};
pub use self::core::thread::{Core, CoreSetup};
pub use self::http::connect::connection_quota::{ConnectionQuota, portion};
pub(crate) use self::http::connect::local_addresses::system_port_range;
pub use self::http::connect::preconnect::Preconnected;
pub use self::http::http2::STREAMS_MAX;
pub(crate) use self::http::ownership_check::{Unproven, with_proven_targets};
pub(crate) use allocator_tuning::tune_allocator;
pub use arrival::pacer::Harvest;
pub use arrival::schedule_cursor::CoreHold;
pub use arrival::users::virtual_users::VirtualUsersSetup;
pub use arrival_id::ArrivalId;
pub use clock::MonoTime;
pub use clock::lease::Lease;
pub use fault::Fault;
pub use journal::record::{CallRecord, CallRecordEnd, RECORD_BYTES, RECORD_VERSION};
pub use journal::ring::{
    EXTENSION as RING_EXTENSION, RING_BYTES_DEFAULT, Ring, RingContents, RingError, RingEvent,
    RingEventKind, RingOwner, RingSettings, RingTexts, file_name as ring_name, read as read_ring,
};
pub use request::program::{Bodies, Program};
pub use request::redaction::Secrets;
pub(crate) use request::target_check::check_targets;
