//! Any bytes: parsing and checking succeed, and every span is within the text.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| prowess_test::oracle::parse_holds(bytes));
