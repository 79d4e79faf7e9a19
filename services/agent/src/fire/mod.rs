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

pub use self::core::hooks::{Aside, AsideSetup};
pub use self::core::thread::{Core, CoreSetup};
pub use self::http::connect::connection_quota::{Pool, portion};
pub(crate) use self::http::connect::local_addresses::systems_ports;
pub use self::http::connect::preconnect::Warmed;
pub use self::http::http2::STREAMS_MAX;
pub(crate) use allocator_tuning::keep_at_hand;
pub use arrival::pacer::Harvest;
pub use arrival::schedule_cursor::CoreHold;
pub use arrival::users::virtual_users::Troupe;
pub use arrival_id::Name;
pub use clock::MonoTime;
pub use clock::lease::Lease;
pub use fault::Fault;
pub use journal::record::{CallRecord, Ended, RECORD_BYTES, RECORD_VERSION};
pub use journal::ring::{
    EXTENSION as RING_EXTENSION, Leftover, NotARing, Note, Noted, RING_BYTES_DEFAULT, ReadTexts,
    Ring, RingOwner, RingPlace, file_name as ring_name, read as read_ring,
};
pub use request::call_registry::Composed;
pub use request::program::Program;
pub(crate) use request::target_check::{judge_target, with_own_servers};
