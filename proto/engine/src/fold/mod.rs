//! The fold of a run's log: every record counted once, in any order. Must never average, read a
//! clock or iterate in hash order.
//!
//! Deltas:
//! - [`delta_record`]: a record of LP_DATA, parsed
//! - `delta_validation`: figures that no agent can have counted are rejected
//! - [`chain`]: the deltas of one process, each compared with the one before it
//! - [`project`]: deltas added up
//! - [`index`]: their rows by due tick
//! - [`as_of`]: a run at an instant of its own time
//! - [`progress`]: how far a run has come
//! - [`gauge_windows`]: the newest window of each process, for gauges
//!
//! Accounting:
//! - [`planned`]: planned arrivals by tick and holder
//! - [`delta_window`]: the window of one delta
//! - [`arrival_counts`], [`accounting`]: what became of every planned arrival
//! - [`closed_loop`]: unreported time of users
//!
//! Rules:
//! - [`invariants`]: the rules of a log and their violations
//! - [`decision_rules`], `seal_rules`: rules about decisions and the seal
//! - `contradictions`: violations that a report names

pub mod as_of;
pub mod chain;
pub mod delta_record;
pub(crate) mod delta_validation;
pub mod gauge_windows;
pub mod index;
pub mod progress;
pub mod project;

pub mod accounting;
pub mod arrival_counts;
pub mod closed_loop;
pub mod delta_window;
pub mod planned;

pub(crate) mod contradictions;
pub mod decision_rules;
pub mod invariants;
pub(crate) mod seal_rules;
