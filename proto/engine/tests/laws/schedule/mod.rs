//! Due times and inputs of arrivals: pure functions, the same for any split of the work.

mod inputs;
mod pairs;
mod replay;
mod rows_end;
mod sessions;
mod shards;
pub(crate) mod think_times;
mod user_types;
mod workload;
