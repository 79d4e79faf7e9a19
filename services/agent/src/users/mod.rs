//! Scenarios whose tasks look at answers: the seam between the load engine and an interpreter.
//!
//! [`script`] is the seam, [`compiled`] plays compiled scenarios behind it, [`prepared_users`]
//! opens the state of users that the submitter prepared.

pub mod compiled;
pub mod prepared_users;
pub mod script;
