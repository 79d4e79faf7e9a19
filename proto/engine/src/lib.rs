//! The laws of LoadPilot: pure functions over the nouns of `loadpilot-events`.
//!
//! One file per step of a run: [`check`] a plan, [`assign`] shards, [`decide`] what happens next,
//! [`pace`] arrivals, [`tally`] what finished into deltas, close the [`tail`] of a killed process,
//! [`project`] the log into a [`report`] with its [`verdict`] and [`certificate`], [`verify`] that
//! it is sound. Mistakes of the past are kept in [`bugs`]. This crate must never do I/O, read a
//! clock or the environment, sleep, spawn, or iterate in hash order: time is an argument, order is
//! sorted.

pub mod accounts;
pub mod as_of;
pub mod assign;
pub mod attendance;
pub mod bugs;
pub mod called;
pub mod certificate;
pub mod chain;
pub mod check;
pub mod closed;
pub mod concern;
mod contradictions;
pub mod control;
pub mod decide;
pub mod draws;
pub mod eval;
pub mod failures;
pub mod feed;
mod gather;
pub mod generator;
pub mod holding;
pub mod index;
pub mod join;
mod kept;
pub mod ladder;
pub mod live;
mod loss;
pub mod metrics;
pub mod mix;
pub mod overasked;
pub mod owed;
pub mod pace;
pub mod patience;
pub mod planned;
mod plausible;
pub mod project;
pub mod report;
pub mod samples;
pub mod seqs;
pub mod share;
pub mod slice;
pub mod sparse;
pub mod state;
pub mod steer;
pub mod story;
pub mod streams;
pub mod sums;
pub mod tail;
pub mod tally;
pub mod target_policy;
pub mod unreached;
pub mod verdict;
pub mod verify;
pub mod what_if;
pub mod workload;
