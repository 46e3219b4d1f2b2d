//! Commands of the chat itself. They come before commands and skills of the same name.

use prowess_diag::suggest::nearest;

use super::item::{Body, View};

/// A command: its name, what stands behind it, and what it does.
pub(crate) struct Command {
    pub(crate) name: &'static str,
    pub(crate) takes: &'static str,
    pub(crate) does: &'static str,
}

/// Every command, in the order of the help.
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
        does: "Say why the last turn, or a skill, is as it is",
    },
    Command {
        name: "model",
        takes: "",
        does: "Show the model",
    },
    Command {
        name: "cost",
        takes: "",
        does: "Show tokens and money",
    },
    Command {
        name: "compact",
        takes: "",
        does: "Sum up the beginning of the conversation",
    },
    Command {
        name: "clear",
        takes: "",
        does: "Begin a new session",
    },
    Command {
        name: "quit",
        takes: "",
        does: "Leave",
    },
];

const KEYS: &[(&str, &str)] = &[
    ("Enter", "send"),
    ("Alt+Enter, Ctrl+J", "new line"),
    ("Tab", "complete a `/name` or `$name`"),
    ("Up, Down", "earlier messages"),
    ("Ctrl+A, Ctrl+E", "beginning, end of the line"),
    ("Alt+B, Alt+F", "one word back, forth"),
    (
        "Ctrl+W, Ctrl+U, Ctrl+K",
        "cut the word, to the beginning, to the end",
    ),
    ("Ctrl+Y", "insert what was cut"),
    (
        "PageUp, PageDown, wheel",
        "scroll (hold Shift to select with the mouse)",
    ),
    ("Ctrl+C", "stop the turn; twice to leave"),
    ("Ctrl+D", "leave"),
];

/// What a person wants of the chat itself or of the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    Help,
    Quit,
    /// A command of ours with words behind it that it does not take.
    Misused(&'static str),
    Order(Order),
}

/// What is done with the session.
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

/// Reads a message: a command of the chat, else something to say.
pub(crate) fn read(text: &str) -> Wish {
    let trimmed = text.trim();
    let (word, rest) = trimmed
        .split_once(char::is_whitespace)
        .unwrap_or((trimmed, ""));
    let rest = rest.trim();
    let order = match (word, rest) {
        ("/help", "") => return Wish::Help,
        ("/quit" | "/exit", "") => return Wish::Quit,
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
            Some(command) => return Wish::Misused(command.name),
            None => Order::Say(text.to_owned()),
        },
    };
    Wish::Order(order)
}

/// What is wrong with a command that was given words it does not take.
pub(crate) fn misused(name: &str) -> String {
    match name {
        "why" => "`/why` takes the name of one skill, or nothing".to_owned(),
        name => format!("`/{name}` takes nothing behind it"),
    }
}

/// Names that come near to one that nobody has.
pub(crate) fn near(name: &str, skills: &[Box<str>]) -> Vec<String> {
    let ours = nearest(name, COMMANDS.iter().map(|command| command.name));
    let ours = ours.into_iter().map(str::to_owned);
    ours.chain(skills.iter().map(ToString::to_string))
        .take(3)
        .collect()
}

/// The help.
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
        "Load a skill and say something with it".to_owned(),
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
    fn commands_come_first_and_the_rest_is_said() {
        assert_eq!(read(" /help "), Wish::Help);
        assert_eq!(
            read("/why /pdf"),
            Wish::Order(Order::Why(Some("pdf".into())))
        );
        assert_eq!(read("/model is what?"), Wish::Misused("model"));
        assert_eq!(read("/why is it so?"), Wish::Misused("why"));
        for text in ["/pdf fill it", "/helpme", "help", "/etc/hosts is a file"] {
            assert_eq!(read(text), Wish::Order(Order::Say(text.into())), "{text}");
        }
    }

    #[test]
    fn near_names_are_of_commands_and_skills() {
        assert_eq!(near("hlep", &["heap".into()]), ["help", "heap"]);
    }
}
