//! Made-up runs, and the report by other arithmetic.

pub(crate) mod history;
pub(crate) mod naive;
pub(crate) mod sound;
