//! Tasks that are compiled code.

mod call_names;
mod code;
