//! HTTP towards the target: [`wire`] is the interface, [`http1`] and [`http2`] implement it,
//! [`connect`] opens connections.

pub(crate) mod connect;
pub(crate) mod http1;
pub(crate) mod http2;
pub(crate) mod protocol;
pub(crate) mod wire;
