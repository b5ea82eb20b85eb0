#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| stoker_fuzz::run("bootstrap_annotations", input));
