//! Counting what finishes: per core into a [`Tally`], merged into [`Rows`], closed into deltas by a
//! [`Ledger`].
//!
//! What is counted:
//! - [`row_key`]: under which arrivals a figure is counted
//! - [`call_end`]: one call that ended
//! - [`call_ids`]: which call a row is about
//!
//! How it adds up:
//! - [`aggregates`]: sums of arrivals, calls and phases
//! - [`arrival_rows`]: sums of arrivals by due tick and task, packed
//! - [`metrics`]: the scenario's own metrics
//! - [`packed_histogram`]: histogram counts, packed
//! - [`seq_set`]: which numbers of a sequence were seen
//! - [`ratio`]: one count as a share of another
//! - `cache_codec`, `bytes_codec`: how sums are written into a cache
//!
//! How it is reported:
//! - [`rows`]: what finished, not yet closed into a delta
//! - [`ledger`]: rows closed into numbered deltas
//! - [`crash_recovery`]: the deltas that a killed process left open
//! - [`unreached`]: calls that never reached a server

pub mod call_end;
pub mod call_ids;
pub mod row_key;

pub mod aggregates;
pub mod arrival_rows;
pub(crate) mod bytes_codec;
pub(crate) mod cache_codec;
pub mod metrics;
pub mod packed_histogram;
pub mod ratio;
pub mod seq_set;

pub mod crash_recovery;
pub mod ledger;
pub mod rows;
pub mod unreached;

pub use call_end::{CallEnd, ConnectionUse, Phases, Redirects};
pub use ledger::Ledger;
pub use row_key::RowKey;
pub use rows::{Rows, Tally};
