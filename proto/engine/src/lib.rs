//! The laws of LoadPilot: pure functions over the nouns of `loadpilot-events`.
//!
//! One file per step of a run: [`check`] a plan, [`control::assign`] shards, [`control::decide`]
//! what happens next, [`schedule::pace`] arrivals, [`tally`] what finished into deltas, close the
//! [`tally::crash_recovery`] of a killed process, [`fold::project`] the log into a [`report`] with
//! its [`report::verdict`] and [`report::certificate`], [`verify`] that it is sound. Mistakes of
//! the past are kept in [`bugs`]. This crate must never do I/O, read a clock or the environment,
//! sleep, spawn, or iterate in hash order: time is an argument, order is sorted.

pub mod bugs;
pub mod check;
pub mod control;
pub mod fold;
pub mod report;
pub mod schedule;
pub mod tally;
pub mod verify;
