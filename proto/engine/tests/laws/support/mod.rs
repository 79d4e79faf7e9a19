//! Random runs, and their report by independent arithmetic.

pub(crate) mod history;
pub(crate) mod naive;
pub(crate) mod run_parts;
pub(crate) mod sound;
