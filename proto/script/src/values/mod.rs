//! Values of Python's types and the operations on them, with CPython's error texts.
//!
//! - [`value`]: the values.
//! - [`exceptions`]: what code raises.
//! - [`operators`], [`division`]: operators.
//! - [`functions`], [`str_methods`]: built-in functions and methods of text.
//! - [`repr`]: `str()` and `repr()`.
//! - [`json`], [`json_dumps`]: JSON, read and written.

pub(crate) mod division;
pub(crate) mod exceptions;
pub(crate) mod functions;
pub(crate) mod json;
pub(crate) mod json_dumps;
pub(crate) mod operators;
pub(crate) mod repr;
pub(crate) mod str_methods;
pub(crate) mod value;
