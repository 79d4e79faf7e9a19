//! Code, played: what tasks, hooks and checks mean that were written in Python and compiled.
//!
//! [`Program`] makes code ready, [`User`] plays it. Values, operators, JSON, requests and errors
//! are Python's to the last word; where that cannot be, code says so (`CompiledError`) and never
//! does something else. The sources are CPython's, named where they matter. Pure like all laws.

mod again;
pub mod answer;
mod batch;
mod cookies;
mod division;
mod dumps;
mod encode;
mod functions;
mod given;
mod in_json;
pub mod json;
mod measured;
mod operators;
mod pause;
mod program;
pub mod raised;
mod redirect;
mod rounds;
mod term;
mod texts;
mod user;
pub mod value;
mod words;

pub use answer::Answer;
pub use cookies::Clock;
pub use given::Sources;
pub use measured::Measured;
pub use program::{Keep, Program, Wish};
pub use user::{Act, Heard, Turn, User};
