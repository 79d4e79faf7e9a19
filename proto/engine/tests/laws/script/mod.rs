//! Tasks that are compiled code.

mod call_names;
mod code;
mod json_path;
mod request_cache;
