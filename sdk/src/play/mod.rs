//! Scenarios in Python on a firing thread: how the agent's seam meets the interpreter.
//!
//! [`scenario`] loads them, [`user`] moves a user on, [`client`] is what its tasks send with. All
//! of it happens on the firing thread of a run, and the path from one request to the next runs no
//! Python but the user's own. Must never decide what a load is: it only says what tasks want.

mod answer;
mod client;
mod rehearsal;
mod request;
mod scenario;
mod user;

pub(crate) use answer::PyAnswer;
pub(crate) use client::{PyCall, PyClient};
pub(crate) use rehearsal::{PyRehearsal, PyRehearsedUser, PyWanted};
pub(crate) use request::PyRequest;
pub(crate) use scenario::Interpreter;
