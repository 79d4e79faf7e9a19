//! What is due when, and which inputs an arrival takes: pure functions that no split changes.

mod inputs;
mod shards;
mod workload;
