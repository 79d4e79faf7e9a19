//! Code, played: what tasks, hooks and checks mean that were written in Python and compiled.
//!
//! [`Program`] makes code ready, [`User`] plays it. Values, operators, JSON, requests and errors
//! are Python's to the last word; where that cannot be, code says so (`CompiledError`) and never
//! does something else. The sources are CPython's, named where they matter. Pure like all laws.

mod expression;
mod inputs;
mod loops;
mod metrics;
mod program;
pub mod requests;
mod think_time;
mod user;
pub mod values;

pub use inputs::Sources;
pub use metrics::Measured;
pub use program::{Keep, Program, Wish};
pub use requests::cookies::Clock;
pub use requests::response::Answer;
pub use user::{Act, Heard, Turn, User};
