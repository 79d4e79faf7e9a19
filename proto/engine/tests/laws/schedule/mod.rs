//! Due times and inputs of arrivals: pure functions, the same for any split of the work.

mod inputs;
mod pairs;
mod replay;
mod rows_end;
mod shards;
mod think_times;
mod user_types;
mod workload;
