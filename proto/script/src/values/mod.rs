//! Values of Python's types and the operations on them, exact to the words of their errors.

pub(crate) mod division;
pub mod exceptions;
pub(crate) mod functions;
pub mod json;
pub(crate) mod json_dumps;
pub(crate) mod operators;
pub(crate) mod repr;
pub(crate) mod str_methods;
pub mod value;
