//! Requests ready to be sent: the plan compiled to byte templates. Secrets are filled in there, and
//! masked in all texts.
//!
//! - [`target`], [`proxy`], [`target_check`], [`tls`]: the target, and whether it may be loaded.
//! - [`program`], [`template`]: the plan's requests, compiled before the start.
//! - [`request_rows`]: requests that the plan lists in a file.
//! - [`request_builder`], [`call_registry`]: requests that a scenario composes during the run.
//! - [`scratch`], [`progress`]: buffers of a seat, and the progress of its exchange.
//! - [`stream_tokens`], [`response_capture`], [`debug_exchange`]: the parts of an answer that are
//!   read.
//! - [`redirect`]: the request after a redirect.
//! - [`failure_examples`]: which failed calls are shown as text.
//! - [`redaction`]: secrets in texts.

pub(crate) mod call_registry;
pub(crate) mod debug_exchange;
pub(crate) mod failure_examples;
pub(crate) mod program;
pub(crate) mod progress;
pub(crate) mod proxy;
pub(crate) mod redaction;
pub(crate) mod redirect;
pub(crate) mod request_builder;

pub(crate) mod request_rows;
pub(crate) mod response_capture;
pub(crate) mod scratch;
pub(crate) mod stream_tokens;
pub(crate) mod target;
pub(crate) mod target_check;
pub(crate) mod template;
pub(crate) mod tls;
