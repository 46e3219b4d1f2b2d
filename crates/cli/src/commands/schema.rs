//! `prowess schema`

use clap::Args;
use prowess_config as config;
use prowess_diag::suggest;
use prowess_package::lock::LOCK_SCHEMA;
use prowess_spec::schema::SCHEMAS;

use crate::output::{Exit, Failure, Printer};

/// The name of the schema of plans.
const PLAN: &str = "plan";

#[derive(Debug, Args)]
#[command(
    about = "Print a JSON Schema\n\nWithout a name, lists the available schemas.",
    after_help = "\
Examples:
  prowess schema                          list the schemas
  prowess schema skill                    print the SKILL.md frontmatter schema
  prowess schema lock                     print the prowess.lock schema"
)]
pub(crate) struct SchemaArgs {
    /// Name of a schema
    pub(crate) name: Option<String>,
}

pub(crate) fn run(args: &SchemaArgs, printer: &Printer) -> Result<Exit, Failure> {
    let all = || {
        SCHEMAS
            .iter()
            .chain([&LOCK_SCHEMA])
            .map(|schema| (schema.name, schema.summary))
            .chain([
                (config::SCHEMA_NAME, config::SCHEMA_SUMMARY),
                (PLAN, "The document of `prowess mission plan --json`"),
            ])
    };
    let Some(name) = &args.name else {
        let text: String = all()
            .map(|(name, summary)| format!("{name:8} {summary}\n"))
            .collect();
        printer.answer(&text)?;
        return Ok(Exit::Done);
    };
    let mut schemas = SCHEMAS.iter().chain([&LOCK_SCHEMA]);
    if let Some(schema) = schemas.find(|schema| schema.name == name) {
        printer.json(&(schema.build)())?;
    } else if name == config::SCHEMA_NAME {
        printer.json(&config::schema())?;
    } else if name == PLAN {
        printer.json(&prowess::inspect::plan_schema())?;
    } else {
        let error = Failure::new(format!("no schema named `{name}`"));
        return Err(match suggest::nearest(name, all().map(|(name, _)| name)) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint("list the schemas with `prowess schema`"),
        });
    }
    Ok(Exit::Done)
}
