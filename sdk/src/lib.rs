//! Skeleton.
pub mod supervisor;

#[cfg(feature = "python")]
#[pyo3::pymodule]
mod _native {}
