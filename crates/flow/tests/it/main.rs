//! Properties of the readers of agent files.

proptest::proptest! {
    #[test]
    fn any_bytes_are_accepted(bytes: Vec<u8>, text in "[-{}\\[\\]\":,/. a-z\n#]{0,200}") {
        prowess_test::oracle::agents_hold(&bytes);
        prowess_test::oracle::agents_hold(text.as_bytes());
    }
}
