//! Requests ready to be sent: the plan compiled to byte templates, secrets filled in and masked in
//! whatever people read.

pub(crate) mod call_registry;
pub(crate) mod debug_exchange;
pub(crate) mod program;
pub(crate) mod progress;
pub(crate) mod redaction;
pub(crate) mod request_builder;
pub(crate) mod response_capture;
pub(crate) mod scratch;
pub(crate) mod stream_tokens;
pub(crate) mod target;
pub(crate) mod target_check;
pub(crate) mod template;
pub(crate) mod tls;
