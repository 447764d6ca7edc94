//! The target `pcep_tlv` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| cats_fuzz::pcep_tlv(data));
