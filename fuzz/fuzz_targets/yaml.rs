//! Any text: the fast YAML reader agrees with the full one, and repair changes nothing that parses.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    prowess_test::oracle::readers_agree(text);
    prowess_test::oracle::repair_holds(text);
    prowess_test::oracle::scalar_round_trips(text);
});
