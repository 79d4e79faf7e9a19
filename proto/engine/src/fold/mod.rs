//! The fold of a run's log: every record counted once, in any order.
//!
//! [`project`] adds up deltas and holds each to the one before it ([`chain`]); [`planned`] and
//! [`accounting`] account for every planned arrival; [`index`] keeps the rows by due tick for
//! questions about a part of the run.

pub mod accounting;
pub mod accounts;
pub mod as_of;
pub mod chain;
pub mod closed_loop;
pub(crate) mod contradictions;
pub mod decision_rules;
pub(crate) mod delta_validation;
pub mod index;
pub mod invariants;
pub mod planned;
pub mod project;
pub mod reported;
pub(crate) mod seal_rules;
