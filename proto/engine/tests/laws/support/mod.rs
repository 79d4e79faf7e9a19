//! Random runs, and their reports by independent arithmetic.

pub(crate) mod history;
pub(crate) mod naive;
pub(crate) mod run_parts;
pub(crate) mod sound;
