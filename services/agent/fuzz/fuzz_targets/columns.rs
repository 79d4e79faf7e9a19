//! Searches for bytes that break the law of `columns`: the columns of sampled calls.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| loadpilot_agent::fire::fuzz::columns(bytes));
