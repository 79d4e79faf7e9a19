//! Requests that compiled code makes, and responses that it reads.
//!
//! - [`template`]: a request in the code.
//! - [`encode`]: path, query, headers and body of a request.
//! - [`request_cache`]: requests that a user makes again.
//! - [`batch`]: several requests at a time.
//! - [`response`]: a response, parsed on first use.
//! - [`body_encoding`]: a body without gzip, deflate, br and zstd.
//! - [`json_path`]: one value of a response's JSON.
//! - [`redirect`]: the request that a redirect leads to.
//! - [`cookies`]: the cookie jar of a user.

pub(crate) mod batch;
pub(crate) mod body_encoding;
pub(crate) mod cookies;
pub(crate) mod encode;
pub(crate) mod json_path;
pub(crate) mod redirect;
pub(crate) mod request_cache;
pub(crate) mod response;
pub(crate) mod template;
