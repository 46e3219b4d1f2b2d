//! Commands of the chat. They have precedence over skills with the same name.

use prowess_diag::suggest::nearest;

use super::item::{Body, View};

/// A command: its name, its argument and its description.
pub(crate) struct Command {
    pub(crate) name: &'static str,
    pub(crate) takes: &'static str,
    pub(crate) does: &'static str,
}

/// All commands, in the order of the help.
pub(crate) const COMMANDS: &[Command] = &[
    Command {
        name: "help",
        takes: "",
        does: "Show commands and keys",
    },
    Command {
        name: "skills",
        takes: "",
        does: "Show skills: origin, state, use",
    },
    Command {
        name: "why",
        takes: "[NAME]",
        does: "Explain the last turn, or a skill",
    },
    Command {
        name: "model",
        takes: "",
        does: "Show the model",
    },
    Command {
        name: "cost",
        takes: "",
        does: "Show tokens and cost",
    },
    Command {
        name: "compact",
        takes: "",
        does: "Summarize the start of the conversation",
    },
    Command {
        name: "clear",
        takes: "",
        does: "Start a new session",
    },
    Command {
        name: "quit",
        takes: "",
        does: "Quit",
    },
];

const KEYS: &[(&str, &str)] = &[
    ("Enter", "send"),
    ("Alt+Enter, Ctrl+J", "new line"),
    ("Tab", "complete a `/name` or `$name`"),
    ("Up, Down", "earlier messages"),
    ("Ctrl+A, Ctrl+E", "start, end of the line"),
    ("Alt+B, Alt+F", "one word back, forward"),
    (
        "Ctrl+W, Ctrl+U, Ctrl+K",
        "cut a word, to line start, to line end",
    ),
    ("Ctrl+Y", "paste the last cut"),
    (
        "PageUp, PageDown, wheel",
        "scroll (hold Shift to select with the mouse)",
    ),
    ("Ctrl+C", "stop the turn; twice to quit"),
    ("Ctrl+D", "quit"),
];

/// Input of the user: for the chat itself or for the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    Help,
    Quit,
    /// A command with an argument that it does not take.
    Misused(&'static str),
    Order(Order),
}

/// An order to the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Say(String),
    Skills,
    Why(Option<String>),
    Model,
    Cost,
    Compact,
    Clear,
}

/// Parses a message: a command of the chat, or a message to the model.
pub(crate) fn read(text: &str) -> Input {
    let trimmed = text.trim();
    let (word, rest) = trimmed
        .split_once(char::is_whitespace)
        .unwrap_or((trimmed, ""));
    let rest = rest.trim();
    let order = match (word, rest) {
        ("/help", "") => return Input::Help,
        ("/quit" | "/exit", "") => return Input::Quit,
        ("/skills", "") => Order::Skills,
        ("/why", "") => Order::Why(None),
        ("/why", name) if !name.contains(char::is_whitespace) => {
            Order::Why(Some(name.trim_start_matches(['/', '$']).to_owned()))
        }
        ("/model", "") => Order::Model,
        ("/cost", "") => Order::Cost,
        ("/compact", "") => Order::Compact,
        ("/clear", "") => Order::Clear,
        _ => match COMMANDS
            .iter()
            .find(|command| word.strip_prefix('/') == Some(command.name))
        {
            Some(command) => return Input::Misused(command.name),
            None => Order::Say(text.to_owned()),
        },
    };
    Input::Order(order)
}

/// Returns the error for a command with an invalid argument.
pub(crate) fn misused(name: &str) -> String {
    match name {
        "why" => "`/why` takes at most one skill name".to_owned(),
        name => format!("`/{name}` takes no argument"),
    }
}

/// Returns names similar to an unknown one.
pub(crate) fn near(name: &str, skills: &[Box<str>]) -> Vec<String> {
    let ours = nearest(name, COMMANDS.iter().map(|command| command.name));
    let ours = ours.into_iter().map(str::to_owned);
    ours.chain(skills.iter().map(ToString::to_string))
        .take(3)
        .collect()
}

/// Returns the help.
pub(crate) fn help() -> View {
    let command = |command: &Command| {
        (
            format!("/{} {}", command.name, command.takes)
                .trim_end()
                .to_owned(),
            command.does.to_owned(),
        )
    };
    let key = |(key, does): &(&str, &str)| ((*key).to_owned(), (*does).to_owned());
    let mut pairs: Vec<_> = COMMANDS.iter().map(command).collect();
    pairs.push((
        "/NAME TEXT".to_owned(),
        "Load a skill and send a message with it".to_owned(),
    ));
    pairs.push((String::new(), String::new()));
    pairs.extend(KEYS.iter().map(key));
    View {
        title: "Help".to_owned(),
        body: Body::Pairs(pairs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_parsed_and_the_rest_is_a_message() {
        assert_eq!(read(" /help "), Input::Help);
        assert_eq!(
            read("/why /pdf"),
            Input::Order(Order::Why(Some("pdf".into())))
        );
        assert_eq!(read("/model is what?"), Input::Misused("model"));
        assert_eq!(read("/why is it so?"), Input::Misused("why"));
        for text in ["/pdf fill it", "/helpme", "help", "/etc/hosts is a file"] {
            assert_eq!(read(text), Input::Order(Order::Say(text.into())), "{text}");
        }
    }

    #[test]
    fn similar_names_include_commands_and_skills() {
        assert_eq!(near("hlep", &["heap".into()]), ["help", "heap"]);
    }
}
