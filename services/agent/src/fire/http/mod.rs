//! HTTP towards the target.
//!
//! - [`connect`]: opens connections and classifies failures.
//! - [`wire`]: the interface of an HTTP engine.
//! - [`http1`], [`http2`]: the two engines.
//! - [`ownership_check`]: whether a target shows that the tenant owns it.
//! - [`protocol`]: the engine of a core, by plan or by negotiation.

pub(crate) mod connect;
pub(crate) mod http1;
pub(crate) mod http2;
pub(crate) mod ownership_check;
pub(crate) mod protocol;
pub(crate) mod wire;
