//! The target `validate` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| cats_fuzz::validate(data));
