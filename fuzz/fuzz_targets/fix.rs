//! Any bytes: fixing ends, and a second time changes nothing.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| prowess_test::oracle::fixes_hold(bytes));
