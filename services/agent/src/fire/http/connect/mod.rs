//! Opens connections to the target.
//!
//! - [`address_order`]: the order in which the addresses of a name are tried.
//! - [`connection_quota`]: the number of connections that a core may have.
//! - [`local_addresses`]: the addresses and ports that they come from.
//! - [`dial`]: name resolution, TCP or a Unix socket, a proxy, TLS.
//! - [`proxy`]: asks a proxy for a connection.
//! - [`stream`]: the bytes of an open connection.
//! - [`preconnect`]: connections opened before the start.
//! - [`error_classification`]: outcome and cause of a failure.

pub(crate) mod address_order;
pub(crate) mod connection_quota;
pub(crate) mod dial;
pub(crate) mod error_classification;
pub(crate) mod local_addresses;
pub(crate) mod preconnect;
mod proxy;
pub(crate) mod stream;
