//! The oracle: an HTTP/1.1 server that counts requests. End-to-end tests compare the product with
//! its log, so it shares no code with the product and uses no HTTP library: its log is what came
//! over the wire. One thread per connection, std only. Start with [`Server::start`]; README.md has
//! the commands and the log format.

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
pub mod service_queue;
mod state;

pub use server::{Config, Server};
