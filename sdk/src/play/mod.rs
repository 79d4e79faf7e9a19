//! Scenarios in Python: the agent's interface to players, implemented with the interpreter.
//!
//! - [`scenario`]: loads a scenario on a firing thread; [`parts`] its functions and checks.
//! - [`user`]: executes one user from operation to operation; [`asyncio_bridge`] those on an event
//!   loop; [`error_text`] what they raise.
//! - [`current_user`], [`inputs`], [`metrics`]: draws, feed rows and metric samples of a user.
//! - [`client`], [`request`], [`request_cache`]: requests of tasks.
//! - [`results`], [`response`]: completions as Python values.
//! - [`in_python_flag`], [`interned`]: the watchdog's flag, imported attributes.
//! - [`player`]: hooks that the command plays itself.
//! - [`rehearsal`]: users without a run, for tests.
//!
//! All of it runs on the one thread that plays a scenario. Between two requests, the user's code is
//! the only Python that runs.

mod asyncio_bridge;
mod client;
mod current_user;
mod error_text;
mod in_python_flag;
mod inputs;
mod interned;
mod metrics;
mod parts;
mod player;
mod rehearsal;
mod request;
mod request_cache;
mod response;
mod results;
mod scenario;
mod user;

pub(crate) use client::PyClient;
pub(crate) use current_user::{PyCurrentUser, drawn, due_us, get_current_user, measure, row};
pub(crate) use in_python_flag::{moves, note_blocking, raise_in};
pub(crate) use player::{PyPlayer, open_states, seal_states};
pub(crate) use rehearsal::{PyRehearsal, PyRehearsedUser, PyWanted};
pub(crate) use request::PyRequest;
pub(crate) use response::PyResponse;
pub(crate) use scenario::Interpreter;
