//! Any bytes: parsing and checking answer, and every place lies in the text.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| prowess_test::oracle::parse_holds(bytes));
