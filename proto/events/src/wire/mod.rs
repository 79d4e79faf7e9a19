//! What travels over NATS without being stored, and the subjects under which everything travels.

pub mod catalogue;
pub mod heartbeat;
pub mod schema;
pub mod subject;
