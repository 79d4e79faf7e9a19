//! Searches for bytes that break the law of `histogram`: a histogram in V2 form.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| loadpilot_agent::fire::fuzz::histogram(bytes));
