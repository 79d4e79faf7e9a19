//! Scenarios in Python on a firing thread: how the agent's seam meets the interpreter.
//!
//! [`scenario`] loads them, [`user`] moves a user on, [`client`] is what its tasks send with,
//! [`measuring`] keeps what they add to metrics; [`player`] is for what a command line plays
//! itself. All of it happens on the one thread that plays a scenario, and the path from one request
//! to the next runs no Python but the user's own. Must never decide what a load is: it only says
//! what tasks want.

mod asyncio_bridge;
mod client;
mod current_user;
mod in_python_flag;
mod inputs;
mod interned;
mod measuring;
mod player;
mod rehearsal;
mod request;
mod request_cache;
mod response;
mod results;
mod scenario;
mod user;

pub(crate) use client::PyClient;
pub(crate) use current_user::{PyTurn, whose_turn};
pub(crate) use in_python_flag::{moves, note_blocking, raise_in};
pub(crate) use inputs::{drawn, due_us, row};
pub(crate) use measuring::measure;
pub(crate) use player::{PyPlayer, open_states, seal_states};
pub(crate) use rehearsal::{PyRehearsal, PyRehearsedUser, PyWanted};
pub(crate) use request::PyRequest;
pub(crate) use response::PyResponse;
pub(crate) use scenario::Interpreter;
