//! The only crate that knows NATS: two streams, a key-value bucket, an object store, core publish
//! and subscribe.
//!
//! It moves bytes and reports the outcome. It must never decide anything: the caller builds the
//! subjects, payloads are opaque, and a conflict or an unknown outcome is returned, not resolved.
//! Every operation exists twice, on a real server and on a memory twin, and one contract suite
//! holds both to the same behaviour. A log in a file offers the operations that read.
//!
//! Callers rely on two guarantees:
//! - of many writers that race for a subject, [`Bus::append_at`] lets exactly one win;
//! - a [`Tail`] delivers each stored event once and in order, through reconnects and restarts.

mod account;
mod asset;
mod bugs;
mod bus;
mod fault;
#[cfg(feature = "memory")]
mod memory;
mod nats;
mod nkey;
mod options;
mod pattern;
mod private_file;
mod settings;
mod step;
mod stored_file;
#[cfg(feature = "testserver")]
pub mod testserver;

pub use account::{Account, Allowance};
pub use asset::Stream;
pub use bus::{Bus, Subscription, Tail};
pub use fault::{AppendError, Fault, RequestError};
#[cfg(feature = "memory")]
pub use memory::Memory;
pub use nats::Nats;
pub use nkey::{KeyKind, NatsKey};
pub use options::{
    Certificate, Limits, Names, Options, Reach, domain_prefix, token_exposed_to, without_userinfo,
};
pub use private_file::is_open_to_others;
pub use settings::{InvalidSetting, NatsFlags, api_prefix};
pub use step::{Appended, Link, Message, Step, Stored};
pub use stored_file::{Events, Records, StoredFile};
