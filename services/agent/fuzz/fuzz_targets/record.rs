//! Searches for bytes that break the law of `record`: a record of a ring.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| loadpilot_agent::fire::fuzz::record(bytes));
