pub(crate) fn run(_: &std::path::Path, _: &str, _: &[&str]) -> anyhow::Result<()> {
    Ok(())
}
