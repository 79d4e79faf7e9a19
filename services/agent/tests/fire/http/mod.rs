//! How the target is spoken to.

mod connection_quota;
mod connections;
mod faults;
mod http2;
mod preconnect;
mod streams;
mod timeouts;
mod tls;
