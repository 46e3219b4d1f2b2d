//! Reports how much of the skills a model reads, and how to change it.

use std::path::Path;

use prowess::inspect;
use prowess_catalog::index::{IndexFormat, IndexLimit, IndexText};
use prowess_diag::wording;

use crate::env::Environment;
use crate::output::Failure;
use crate::runtime_setup::Setup;
use crate::targets;
use crate::visible_skills::Library;

/// A suggested budget is rounded up to a multiple of this number of tokens.
const STEP: usize = 1_000;
/// A suggested budget is at most this many times the present one.
const MOST: usize = 10;

/// The share of the skills that a model reads.
#[derive(Debug)]
pub(crate) struct PromptShare {
    /// The number of descriptions, names and skills without either.
    pub(crate) summary: String,
    /// The setting that changes it; `None` if the model reads everything.
    pub(crate) remedy: Option<String>,
}

/// Returns the share of the skills that the model of a session that starts now would read.
pub(crate) fn of(library: &Library, environment: &Environment) -> Result<PromptShare, Failure> {
    let setup = Setup::new(library.clone(), None, environment)?;
    let mut context = setup.starting_context(None);
    let made = prowess::starting_index(&context, IndexFormat::default());
    let remedy = made.report.is_short_of_room().then(|| {
        context.settings.index.limit = IndexLimit::Unlimited;
        let whole = prowess::starting_index(&context, IndexFormat::default());
        let budget = suggested(&made, &whole);
        let file = setup
            .config_file
            .as_deref()
            .map_or("your `config.toml`".to_owned(), |file| {
                wording::tick(targets::display(Path::new(file), environment))
            });
        format!("to change that, set `budget = {budget}` under `[prompt]` in {file}")
    });
    Ok(PromptShare {
        summary: inspect::index_summary(&made),
        remedy,
    })
}

/// Returns a budget with which the model reads everything, or much more than now.
fn suggested(made: &IndexText, whole: &IndexText) -> usize {
    let now = match made.report.limit {
        IndexLimit::Tokens(tokens) => tokens.max(STEP),
        IndexLimit::Characters(_) | IndexLimit::Unlimited => usize::MAX / MOST,
    };
    let wanted = whole.tokens.div_ceil(STEP) * STEP;
    wanted.min(now * MOST)
}
