//! Scenarios whose tasks examine responses, as the load engine plays them.
//!
//! - [`script`]: the interface to what plays a scenario.
//! - [`compiled`]: compiled scenarios behind it.
//! - [`mix`]: several scenarios behind it, the user types of a mix.
//! - [`prepared_users`]: states of users that the submitter prepared.
//! - [`row_file`]: files of rows on disk, for feeds.

pub mod compiled;
pub mod mix;
pub mod prepared_users;
pub mod row_file;
pub mod script;
