//! Searches for bytes that break the law of `encoding`: the encoded body of an answer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| loadpilot_agent::fire::fuzz::encoding(bytes));
