//! Servers of raw bytes, random answers, and a run of one core against them.

pub(crate) mod encoder;
pub(crate) mod hyper_decoder;
pub(crate) mod memory;
pub(crate) mod peer;
pub(crate) mod run;
pub(crate) mod server;
pub(crate) mod socket;
