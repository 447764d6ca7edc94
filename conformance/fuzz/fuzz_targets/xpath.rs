//! The target `xpath` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| cats_fuzz::xpath(data));
