//! Searches for bytes that break the law of `tokens`: the body of a streamed answer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| loadpilot_agent::fire::fuzz::tokens(bytes));
