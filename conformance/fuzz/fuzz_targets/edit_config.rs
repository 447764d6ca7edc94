//! The target `edit_config` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| cats_fuzz::edit_config(data));
