//! Fire: the load engine of one core, a thread with its own reactor, connections and counters.
//!
//! [`Core`] is the handle to it; [`pacer`] keeps the schedule, [`slots`] says who may start,
//! [`calls`] carries arrivals through their calls, [`aside`] plays what no run counts, [`wire`] is
//! the seam behind which the HTTP engines sit. It must never know NATS, wait for whoever harvests
//! it, or share state with another core.

mod ahead;
mod aside;
mod broken;
mod calls;
mod clock;
mod compose;
mod crew;
mod dial;
mod engine;
mod fault;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod heap;
mod http1;
mod http2;
mod kept;
mod kit;
mod lanes;
mod lease;
mod masks;
mod names;
mod origin;
mod pacer;
mod pool;
mod program;
mod progress;
mod reach;
mod record;
mod ring;
mod roster;
mod scripted;
mod seen;
mod slots;
mod stream;
mod target;
mod template;
mod thread;
mod time_out;
mod timer;
mod tls;
mod tokens;
mod wire;

pub use ahead::Warmed;
pub use aside::{Aside, AsideSetup};
pub use calls::Name;
pub use clock::MonoTime;
pub use crew::Troupe;
pub use fault::Fault;
pub(crate) use heap::keep_at_hand;
pub use http2::STREAMS_MAX;
pub use lanes::CoreHold;
pub use lease::Lease;
pub use names::Composed;
pub(crate) use origin::systems_ports;
pub use pacer::Harvest;
pub use pool::{Pool, portion};
pub use program::Program;
pub(crate) use reach::{judge_target, with_own_servers};
pub use record::{CallRecord, Ended, RECORD_BYTES, RECORD_VERSION};
pub use ring::{
    EXTENSION as RING_EXTENSION, Leftover, NotARing, Note, Noted, RING_BYTES_DEFAULT, ReadTexts,
    Ring, RingOwner, RingPlace, file_name as ring_name, read as read_ring,
};
pub use thread::{Core, CoreSetup};
