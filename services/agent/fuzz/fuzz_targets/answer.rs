//! Searches for bytes that break the law of `answer`: an HTTP/1.1 answer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| loadpilot_agent::fire::fuzz::answer(bytes));
