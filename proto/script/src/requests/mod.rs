//! Requests that code computes and the answers that it reads.

pub(crate) mod batch;
pub(crate) mod cookies;
pub(crate) mod encode;
pub(crate) mod json_path;
pub(crate) mod redirect;
pub(crate) mod request_cache;
pub mod response;
