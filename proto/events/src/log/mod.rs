//! Events that the log stores: request events, decisions, facts and deltas, each in an envelope.
//!
//! The stored forms are a contract (`proto/schema`, `proto/golden`): a change is a new version.
//!
//! The four kinds of events and their envelope:
//!
//! - [`envelope`]: version, id and time of every stored event
//! - [`req`]: requests of users, and claims of setup and teardown
//! - [`ctl`]: decisions of coordinators
//! - [`admission`]: which runs of a shared fleet may be created, and the places of others
//! - [`evt`]: facts of one agent about itself
//! - [`delta`]: rows of what finished on one agent
//!
//! Parts of decisions and facts:
//!
//! - [`assign`]: which holder has which shards
//! - [`shards`]: lists of shards in their stored form
//! - [`start`]: clock estimates
//! - [`steer`]: requests and decisions about the rate and pauses, and the measurement behind a
//!   change
//! - [`teardown`]: claims of setup and teardown
//!
//! Parts of deltas:
//!
//! - [`outcome`]: how a call ended, why an arrival never started
//! - [`cause`]: why a call got no complete response
//! - [`hist`]: encoded histograms
//! - [`metrics`]: own metrics of a scenario
//! - [`samples`]: single calls
//! - [`exchange`]: debug exchanges

pub mod admission;
pub mod assign;
pub mod cause;
pub mod ctl;
pub mod delta;
pub mod envelope;
pub mod evt;
pub mod exchange;
pub mod hist;
pub mod metrics;
pub mod outcome;
pub mod req;
pub mod samples;
pub mod shards;
pub mod start;
pub mod steer;
pub mod teardown;
