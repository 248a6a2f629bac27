#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| ferrock_fuzz::trace(data));
