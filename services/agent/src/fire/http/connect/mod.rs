//! From a target to a connection: addresses, TCP or Unix sockets, TLS, and how failures are
//! classified.

pub(crate) mod connection_quota;
pub(crate) mod dial;
pub(crate) mod error_classification;
pub(crate) mod local_addresses;
pub(crate) mod preconnect;
pub(crate) mod stream;
