//! Messages that are sent over NATS and not stored, the subjects of all messages, and the contract
//! files.
//!
//! - [`subject`]: subjects of all messages
//! - [`heartbeat`]: heartbeats and their replies
//! - [`schema`]: committed JSON Schemas
//! - [`catalogue`]: the event catalogue, `proto/README.md`

pub mod catalogue;
pub mod heartbeat;
pub mod schema;
pub mod subject;
