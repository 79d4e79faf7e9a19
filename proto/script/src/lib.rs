//! Plays compiled scenarios: tasks, hooks and checks that were written in Python.
//!
//! - [`operation`]: the types between a user and the load engine; players of Python use them too.
//! - [`values`]: values of Python's types, their operators, methods and errors.
//! - [`rows`]: files of rows, checked and indexed in one pass.
//! - [`requests`]: requests that code makes, and responses that it reads.
//! - `program`: a compiled scenario as instructions.
//! - `expression`, `loops`: expressions and loops of a program.
//! - `context`: names that an expression reads.
//! - `inputs`: random draws, due time and feed rows of a part.
//! - `metrics`, `think_time`: values for own metrics, and pauses.
//! - `user`: one virtual user.
//!
//! Values, operators, JSON, requests and errors are CPython's, texts included; a source is named
//! where it matters. Where compiled code cannot do what Python would, it raises `CompiledError`; it
//! must never do something else, which the soundness tests hold. No I/O, no clock.

pub mod operation;

pub mod rows;

mod values;

mod requests;

mod context;
mod expression;
mod inputs;
mod loops;
mod metrics;
mod program;
mod think_time;
mod user;

pub use inputs::Sources;
pub use program::Program;
pub use requests::body_encoding::{Decoded, decoded};
pub use requests::cookies::Clock;
pub use requests::response::has_header;
pub use user::CompiledUser;
pub use values::exceptions::{Exception, Kind};
