//! Due times and inputs of arrivals: pure functions, the same for any split of the work.

mod inputs;
mod shards;
mod workload;
