//! Any bytes: a provider's stream gives the same events however it is split, and no reader panics.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| prowess_test::stream::stream_holds(bytes));
