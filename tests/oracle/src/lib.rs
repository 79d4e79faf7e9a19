//! An HTTP/1.1 server that counts. End-to-end tests compare the product with its log, so it must
//! never share code with the product, and never use an HTTP library: what it says is what came over
//! the wire. One thread a connection, std only. Start with [`Server::start`]; README.md has the
//! commands and the log format.

pub mod behaviour;
pub mod body;
pub mod clock;
mod connection;
mod control;
pub mod freeze;
pub mod head;
pub mod kernel;
pub mod ledger;
mod line_parser;
pub mod record;
mod server;

pub use server::{Config, Server};
