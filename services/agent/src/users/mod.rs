//! Scenarios whose tasks examine responses, as the load engine plays them.
//!
//! - [`script`]: the interface to the players of scenarios.
//! - [`compiled`]: the player of compiled scenarios.
//! - [`mix`]: the player of a mix: several scenarios, one for each user type.
//! - [`prepared_users`]: states of users that the submitter prepared.
//! - [`row_file`]: files of rows on disk, for feeds.

pub mod compiled;
pub mod mix;
pub mod prepared_users;
pub mod row_file;
pub mod script;
