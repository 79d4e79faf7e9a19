//! Random runs, and their report by independent arithmetic.

pub(crate) mod compared_run;
pub(crate) mod history;
pub(crate) mod naive;
pub(crate) mod sound;
