//! Any bytes: they are read as mission files, with spans inside the text and equal results in any order.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| prowess_test::oracle::missions_hold(bytes));
