//! Due times and inputs of arrivals: pure functions, the same for any split of the work.

mod inputs;
mod replay;
mod shards;
mod think_times;
mod workload;
