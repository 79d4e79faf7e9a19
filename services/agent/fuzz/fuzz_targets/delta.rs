//! Searches for bytes that break the law of `delta`: JSON of a delta.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| loadpilot_agent::fire::fuzz::delta(bytes));
