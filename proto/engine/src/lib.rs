//! The engine of LoadPilot: pure functions over the types of `loadpilot-events`, in the order of a
//! run.
//!
//! - [`bugs`]: mistakes that tests plant
//! - [`schedule`]: which arrivals a run has, when each is due and what it draws
//! - [`check`]: a plan or a request is accepted or rejected
//! - [`control`]: shards are assigned, and the next decision is made
//! - [`tally`]: what finished is counted and closed into deltas
//! - [`fold`]: the log is added up, and every planned arrival accounted for
//! - [`report`]: figures, verdict and certificate
//! - [`search`]: the highest rate at which a target works, by the reports of many runs
//! - [`verify`]: a log is judged by every invariant
//!
//! A folder imports only those above it. This crate must never do I/O, read a clock or the
//! environment, sleep, spawn, or iterate in hash order: time is an argument, order is sorted.

pub mod bugs;

pub mod schedule;

pub mod check;

pub mod control;

pub mod tally;

pub mod fold;

pub mod report;

pub mod search;

pub mod verify;
