//! What a killed process leaves.

mod kill;
