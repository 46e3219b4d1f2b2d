//! Completing `/name` and `$name`.

use std::ops::Range;

use super::command::COMMANDS;
use super::editor::Editor;

/// Most names in the list.
pub(crate) const MAX_CHOICES: usize = 50;

/// Something that can be typed behind a slash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) name: String,
    pub(crate) about: String,
}

/// Names that fit what is being typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Popup {
    /// What is replaced.
    pub(crate) range: Range<usize>,
    /// `/` or `$`.
    pub(crate) mark: char,
    pub(crate) choices: Vec<Name>,
    pub(crate) selected: usize,
    /// Whether a person chose, so that Enter takes it.
    pub(crate) moved: bool,
}

impl Popup {
    /// Finds the names for the word that the cursor is behind.
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
            // A skill that has the name of a command of ours cannot be called by it.
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

    /// Puts the chosen name into the text.
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
    fn names_that_begin_so_come_first() {
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
    fn a_name_is_put_in_and_the_rest_stays() {
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
