//! Targets that count for themselves, and a run of cores against them.

pub(crate) mod call;
pub(crate) mod certificates;
pub(crate) mod cores;
pub(crate) mod frames;
pub(crate) mod peer;
pub(crate) mod proxy;
pub(crate) mod target;
