//! Fire: the load engine of one core, a thread with its own reactor, connections and counters.
//!
//! [`Core`] is the handle to it; [`arrival::pacer`] keeps the schedule, [`arrival::slots`] says who
//! may start, [`arrival::arrival_runner`] carries arrivals through their calls, [`core::hooks`]
//! plays what no run counts, [`http::wire`] is the seam behind which the HTTP engines sit. It must
//! never know NATS, wait for whoever harvests it, or share state with another core.

mod allocator_tuning;
pub(crate) mod arrival;
mod arrival_id;
mod clock;
pub(crate) mod core;
mod fault;
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
pub use request::call_registry::CompiledCalls;
pub use request::program::Program;
pub(crate) use request::target_check::{check_target, with_own_servers};
