//! Due times and inputs of arrivals: pure functions that do not depend on how the work is split.

mod inputs;
mod pairs;
mod replay;
mod rows_end;
mod sessions;
mod shards;
pub(crate) mod think_times;
mod user_types;
mod workload;
