//! The laws of the engine, held against computations that are written another way.

mod certificate;
mod check;
mod closed;
mod code;
mod decide;
mod deltas;
mod fold;
mod given;
mod hang_up;
mod history;
mod holding;
mod join;
mod levels;
mod metrics;
mod naive;
mod needs;
mod overasked;
mod owed;
mod owner;
mod poison;
mod room;
mod samples;
mod script;
mod shards;
mod slices;
mod sound;
mod steer;
mod tail;
mod target;
mod targets;
mod unreached;
mod verdict;
mod what_if;
mod workload;

#[path = "../rules/mod.rs"]
mod rules;
