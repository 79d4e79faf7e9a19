//! Records that a killed process leaves.

mod kill;
