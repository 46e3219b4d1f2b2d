//! Completion of `/name` and `$name`.

use std::ops::Range;

use super::command::COMMANDS;
use super::editor::Editor;

/// The maximum number of names in the list.
pub(crate) const MAX_CHOICES: usize = 50;

/// A name that can be completed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) name: String,
    pub(crate) about: String,
}

/// The names that match the typed word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Popup {
    /// The range to replace.
    pub(crate) range: Range<usize>,
    /// `/` or `$`.
    pub(crate) mark: char,
    pub(crate) choices: Vec<Name>,
    pub(crate) selected: usize,
    /// `true` if the user moved the selection, so that Enter accepts it.
    pub(crate) moved: bool,
}

impl Popup {
    /// Finds the names for the word before the cursor.
    pub(crate) fn find(editor: &Editor, skills: &[Name]) -> Option<Self> {
        let head = &editor.text()[..editor.cursor()];
        let start = head.rfind(char::is_whitespace).map_or(0, |at| {
            at + head[at..].chars().next().map_or(0, char::len_utf8)
        });
        let word = &head[start..];
        let mark = word.chars().next()?;
        let typed = word.get(1..)?.to_lowercase();
        let slash = mark == '/' && head[..start].trim().is_empty();
        let dollar = mark == '$' && !typed.is_empty();
        if (!slash && !dollar) || typed.contains('/') {
            return None;
        }
        let ours = COMMANDS.iter().filter(|_| slash).map(|command| Name {
            name: command.name.to_owned(),
            about: command.does.to_owned(),
        });
        let all: Vec<Name> = ours.chain(skills.iter().cloned()).collect();
        let mut choices: Vec<Name> = Vec::new();
        let begins = |name: &Name| name.name.to_lowercase().starts_with(&typed);
        let has = |name: &Name| name.name.to_lowercase().contains(&typed);
        let ordered = all.iter().filter(|name| begins(name));
        for name in ordered.chain(all.iter().filter(|name| !begins(name) && has(name))) {
            // A skill with the name of a command cannot be invoked by it.
            if choices.iter().all(|known| known.name != name.name) && choices.len() < MAX_CHOICES {
                choices.push(name.clone());
            }
        }
        let exact = choices.len() == 1 && choices[0].name == word[1..];
        if choices.is_empty() || exact {
            return None;
        }
        let range = start..editor.cursor();
        Some(Self {
            range,
            mark,
            choices,
            selected: 0,
            moved: false,
        })
    }

    pub(crate) fn step(&mut self, by: isize) {
        let count = self.choices.len().cast_signed();
        self.selected = (self.selected.cast_signed() + by)
            .rem_euclid(count.max(1))
            .cast_unsigned();
        self.moved = true;
    }

    /// Inserts the selected name.
    pub(crate) fn accept(&self, editor: &mut Editor) {
        if let Some(name) = self.choices.get(self.selected) {
            editor.replace(self.range.clone(), &format!("{}{} ", self.mark, name.name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(text: &str) -> Option<Vec<String>> {
        let mut editor = Editor::default();
        editor.insert(text);
        let skill = |name: &str| Name {
            name: name.into(),
            about: String::new(),
        };
        let skills = [skill("help"), skill("pdf-forms"), skill("notes")];
        let popup = Popup::find(&editor, &skills)?;
        Some(popup.choices.into_iter().map(|name| name.name).collect())
    }

    #[test]
    fn prefix_matches_come_first() {
        assert_eq!(find("/he").unwrap(), ["help"]);
        assert_eq!(
            find("/o").unwrap(),
            ["model", "cost", "compact", "pdf-forms", "notes"]
        );
        assert_eq!(find("see $no").unwrap(), ["notes"]);
        for text in ["", "he", "a /he", "/help", "/usr/bi", "$", "/zzz", "/he "] {
            assert_eq!(find(text), None, "{text}");
        }
    }

    #[test]
    fn accepted_name_replaces_the_word() {
        let mut editor = Editor::default();
        editor.insert("/co x");
        editor.left();
        editor.left();
        let mut popup = Popup::find(&editor, &[]).unwrap();
        popup.step(-1);
        popup.step(1);
        popup.accept(&mut editor);
        assert_eq!(editor.text(), "/cost  x");
    }
}
