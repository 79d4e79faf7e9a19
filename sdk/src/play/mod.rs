//! Scenarios in Python on a firing thread: how the agent's seam meets the interpreter.
//!
//! [`scenario`] loads them, [`user`] moves a user on, [`client`] is what its tasks send with,
//! [`measuring`] keeps what they add to metrics; [`player`] is for what a command line plays
//! itself. All of it happens on the one thread that plays a scenario, and the path from one request
//! to the next runs no Python but the user's own. Must never decide what a load is: it only says
//! what tasks want.

mod answer;
mod client;
mod given;
mod heard;
mod known;
mod looped;
mod made;
mod measuring;
mod moving;
mod player;
mod rehearsal;
mod request;
mod scenario;
mod turn;
mod user;

pub(crate) use answer::PyAnswer;
pub(crate) use client::PyClient;
pub(crate) use given::{drawn, due_us, row};
pub(crate) use measuring::measure;
pub(crate) use moving::{moves, note_blocking, raise_in};
pub(crate) use player::{PyPlayer, open_states, seal_states};
pub(crate) use rehearsal::{PyRehearsal, PyRehearsedUser, PyWanted};
pub(crate) use request::PyRequest;
pub(crate) use scenario::Interpreter;
pub(crate) use turn::{PyTurn, whose_turn};
