//! Searches for bytes that break the law of `encoding`: the body of an answer with a content coding.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| loadpilot_agent::fire::fuzz::encoding(bytes));
