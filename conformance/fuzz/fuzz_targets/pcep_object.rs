//! The target `pcep_object` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| cats_fuzz::pcep_object(data));
