//! Any bytes: fixing terminates and is idempotent.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| prowess_test::oracle::fixes_hold(bytes));
