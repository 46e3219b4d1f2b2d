//! Any text: the invariants of tool lists and resource paths hold.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    prowess_test::oracle::tool_tokens_hold(text);
    prowess_test::oracle::path_stays_inside(text);
});
