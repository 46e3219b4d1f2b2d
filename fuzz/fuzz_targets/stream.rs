//! Any bytes: a stream of a provider gives the same events however it is cut, and no reader panics.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| prowess_test::stream::stream_holds(bytes));
