//! The laws of the engine, compared with computations that are written in another way.

mod check;
mod control;
mod fold;
mod report;
mod schedule;
mod script;
mod search;
mod support;
mod tally;

#[path = "../rules/mod.rs"]
mod rules;
