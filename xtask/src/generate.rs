pub(crate) fn run(_: &std::path::Path, _: bool) -> anyhow::Result<()> {
    Ok(())
}
