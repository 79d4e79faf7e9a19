//! Records of a killed process.

mod kill;
