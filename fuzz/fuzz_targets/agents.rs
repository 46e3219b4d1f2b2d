//! Any bytes: every dialect of agent files reads them, with spans inside the text.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| prowess_test::oracle::agents_hold(bytes));
