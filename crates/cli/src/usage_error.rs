//! Help on commands, and what is said about mistakes in their use.

use std::ffi::OsString;

use crate::output::{Failure, help};
use clap::builder::Styles;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use prowess_diag::suggest;

/// Makes a command, and all below it, good to read. What we write into help ourselves, such as the
/// template of the root, looks like what clap writes, and lines break where they do no harm.
pub(crate) fn readable(root: clap::Command, template: &str) -> clap::Command {
    readable_page(root).help_template(styled(template))
}

fn readable_page(mut command: clap::Command) -> clap::Command {
    if let Some(after) = command
        .get_after_help()
        .map(|after| styled(&after.to_string()))
    {
        command = command.after_help(after);
    }
    if let Some(about) = command
        .get_about()
        .map(|about| help::unbroken(&about.to_string()))
    {
        command = command.about(about);
    }
    let line = |arg: clap::Arg| match arg.get_help().map(ToString::to_string) {
        Some(text) => arg.help(help::unbroken(&text)),
        None => arg,
    };
    command.mut_args(line).mut_subcommands(readable_page)
}

fn styled(text: &str) -> String {
    let styles = Styles::styled();
    help::styled(text, *styles.get_header(), *styles.get_literal())
}

/// Returns the help on a command that was made [`readable`].
pub(crate) fn page(command: &mut clap::Command) -> String {
    help::laid_out(&command.render_help().ansi().to_string())
}

/// Turns clap's paragraphs into a message and hints. `root` is what could have been typed,
/// `arguments` is what was.
pub(crate) fn mistake(error: &clap::Error, root: clap::Command, arguments: &[OsString]) -> Failure {
    let text = error.render().to_string();
    let ticked = |line: &str| line.trim().replace('\'', "`");
    let near = near(error, root, arguments);
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().unwrap_or_default();
    let mut failure = Failure::new(ticked(first.strip_prefix("error: ").unwrap_or(first)));
    if let Some(near) = &near {
        failure = failure.hint(format!("did you mean `{near}`?"));
    }
    for line in lines {
        let line = line.trim();
        if let Some(tip) = line.strip_prefix("tip: ") {
            // Of several that are similar the last is the nearest.
            let similar = tip
                .split_once(": ")
                .filter(|(said, _)| said.contains("similar"));
            let name = similar.and_then(|(_, names)| names.rsplit(", ").next());
            failure = match name {
                // This tip too is for those who meant what they typed.
                _ if near.is_some() => failure,
                Some(name) => failure.hint(format!("did you mean {}?", ticked(name))),
                None => failure.hint(ticked(tip)),
            };
        } else if let Some(values) = line.strip_prefix('[') {
            failure = failure.hint(ticked(values.trim_end_matches(']')));
        } else if let Some(usage) = line.strip_prefix("Usage: ") {
            failure = failure.hint(format!("the usage is `{usage}`"));
        } else if !line.starts_with("For more information") {
            failure.message.push_str(&format!(" {}", ticked(line)));
        }
    }
    failure
}

/// What other tools call our options and commands.
const ELSEWHERE: [(&str, &str); 6] = [
    ("--output-format", "--format"),
    ("check", "validate"),
    ("lint", "validate"),
    ("search", "find"),
    ("init", "new"),
    ("create", "new"),
];

/// The option or command that may have been meant. Clap looks for words that begin alike, which finds
/// little for short ones; for what is only begun, it is asked afterwards.
fn near(error: &clap::Error, mut root: clap::Command, arguments: &[OsString]) -> Option<String> {
    let typed = match error.kind() {
        ErrorKind::UnknownArgument => ContextKind::InvalidArg,
        ErrorKind::InvalidSubcommand => ContextKind::InvalidSubcommand,
        _ => return None,
    };
    let Some(ContextValue::String(typed)) = error.get(typed) else {
        return None;
    };
    root.build();
    let mut command = &root;
    for word in arguments.iter().skip(1) {
        command = command.find_subcommand(word).unwrap_or(command);
    }
    let known: Vec<String> = match typed.strip_prefix("--") {
        Some(_) => {
            let options = command.get_arguments().filter_map(clap::Arg::get_long);
            options.map(|option| format!("--{option}")).collect()
        }
        None => command
            .get_subcommands()
            .map(|command| command.get_name().to_owned())
            .collect(),
    };
    let ours = ELSEWHERE
        .iter()
        .find(|(theirs, _)| typed == theirs)
        .map(|(_, ours)| *ours);
    let near = || suggest::nearest(typed, known.iter().map(String::as_str));
    ours.filter(|ours| known.iter().any(|name| name == ours))
        .or_else(near)
        .map(str::to_owned)
}
