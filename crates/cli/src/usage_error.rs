//! Styled help pages and usage errors.

use std::ffi::OsString;

use crate::output::{Failure, help};
use clap::builder::Styles;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use prowess_diag::suggest;

/// Styles the help of a command and its subcommands. Our own texts, such as the root template, get the
/// same styles as those of clap, and short code spans are not broken across lines.
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

/// Returns the help page of a command that was passed to [`readable`].
pub(crate) fn page(command: &mut clap::Command) -> String {
    help::laid_out(&command.render_help().ansi().to_string())
}

/// Converts a clap error into a message and hints. `root` is the root command, `arguments` is the
/// command line.
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
            // clap lists the most similar name last.
            let similar = tip
                .split_once(": ")
                .filter(|(said, _)| said.contains("similar"));
            let name = similar.and_then(|(_, names)| names.rsplit(", ").next());
            failure = match name {
                // Our own suggestion replaces this tip.
                _ if near.is_some() => failure,
                Some(name) => failure.hint(format!("did you mean {}?", ticked(name))),
                None => failure.hint(ticked(tip)),
            };
        } else if let Some(values) = line.strip_prefix('[') {
            failure = failure.hint(ticked(values.trim_end_matches(']')));
        } else if let Some(usage) = line.strip_prefix("Usage: ") {
            failure = failure.hint(format!("usage: `{usage}`"));
        } else if !line.starts_with("For more information") {
            failure.message.push_str(&format!(" {}", ticked(line)));
        }
    }
    failure
}

/// Names used by other tools for our options and commands.
const ELSEWHERE: [(&str, &str); 5] = [
    ("--output-format", "--format"),
    ("check", "validate"),
    ("lint", "validate"),
    ("search", "find"),
    ("create", "new"),
];

/// Returns the most similar option or command. clap compares prefixes, which finds few short names; its
/// suggestion is used if this returns `None`.
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
