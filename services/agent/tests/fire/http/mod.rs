//! How calls reach the target: connections, TLS, HTTP/2, streams, timeouts, faults.

mod connection_quota;
mod connections;
mod faults;
mod http2;
mod preconnect;
mod proxies;
mod redirects;
mod streams;
mod targets;
mod timeouts;
mod tls;
