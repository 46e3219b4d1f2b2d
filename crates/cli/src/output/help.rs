//! Styling and line breaking of help texts.

use anstyle::Style;

/// Placeholder for a space at which lines must not break, until the text is laid out.
const UNBROKEN: char = '\u{a0}';
/// Longest span that is kept on one line: it must fit next to the option column of a narrow terminal.
const LONGEST: usize = 30;

/// Styles one of our own texts like the help of clap: headings, and the literals below them. Below
/// `Examples:` a literal is the whole command, elsewhere its name or options.
pub(crate) fn styled(text: &str, heading: Style, literal: Style) -> String {
    let mut result = String::new();
    let mut is_example = false;
    for line in text.lines() {
        let typed = line.trim_start();
        let indent = &line[..line.len() - typed.len()];
        match typed.split_once(':') {
            Some((title, rest)) if line.starts_with(char::is_uppercase) => {
                is_example = title == "Examples";
                result.push_str(&format!("{heading}{title}:{heading:#}{rest}\n"));
                continue;
            }
            _ if indent.is_empty() => result.push_str(line),
            _ => {
                let end = typed.find("  ").unwrap_or(typed.len());
                let (typed, rest) = typed.split_at(end);
                let typed = match typed.split_once(' ') {
                    _ if is_example => format!("{literal}{typed}{literal:#}"),
                    _ if typed.starts_with('-') => options(typed, literal),
                    Some((name, rest)) => format!("{literal}{name}{literal:#} {rest}"),
                    None => format!("{literal}{typed}{literal:#}"),
                };
                result.push_str(&format!("{indent}{typed}{rest}"));
            }
        }
        result.push('\n');
    }
    result.trim_end_matches('\n').to_owned()
}

/// Styles the options in `-q, --quiet...`, but not the punctuation.
fn options(text: &str, literal: Style) -> String {
    let mark = |word: &str| {
        let name = word.trim_end_matches([',', '.']);
        if name.starts_with('-') {
            format!("{literal}{name}{literal:#}{}", &word[name.len()..])
        } else {
            word.to_owned()
        }
    };
    text.split(' ').map(mark).collect::<Vec<_>>().join(" ")
}

/// Prevents line breaks within code spans and brackets such as `(default: auto)`. In brackets that are
/// too long, only the first space is kept.
pub(crate) fn unbroken(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find(['`', '(', '[']) {
        let (before, piece) = rest.split_at(open);
        result.push_str(before);
        let close = match piece.as_bytes().first() {
            Some(b'(') => ')',
            Some(b'[') => ']',
            _ => '`',
        };
        let end = piece[1..].find(close).map_or(piece.len(), |at| at + 2);
        let (piece, after) = piece.split_at(end);
        let is_short = piece.chars().count() <= LONGEST;
        match close {
            _ if is_short => result.push_str(&piece.replace(' ', &UNBROKEN.to_string())),
            '`' => result.push_str(piece),
            _ => result.push_str(&piece.replacen(' ', &UNBROKEN.to_string(), 1)),
        }
        rest = after;
    }
    result + rest
}

/// Replaces the placeholders of [`unbroken`] after the text was laid out.
pub(crate) fn laid_out(text: &str) -> String {
    text.replace(UNBROKEN, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_literals_are_bold() {
        let look = |text: &str| {
            let shown = styled(text, Style::new().underline(), Style::new().bold());
            shown
                .replace("\u{1b}[1m", "<")
                .replace("\u{1b}[4m", "_")
                .replace("\u{1b}[0m", ">")
        };
        let text = "One: line.\n\nOptions:\n  -q, --quiet...      Less: `-q`\n      --color <WHEN>  When\n  new NAME            Make\n  list                List";
        let shown = "_One:> line.\n\n_Options:>\n  <-q>, <--quiet>...      Less: `-q`\n      <--color> <WHEN>  When\n  <new> NAME            Make\n  <list>                List";
        assert_eq!(look(text), shown);
        let text = "Examples:\n  prowess a --b   make: it\n  prowess 'c d'";
        assert_eq!(
            look(text),
            "_Examples:>\n  <prowess a --b>   make: it\n  <prowess 'c d'>"
        );
    }

    #[test]
    fn short_spans_stay_on_one_line_and_long_brackets_keep_their_first_word() {
        let marked = |text: &str| unbroken(text).replace(UNBROKEN, "~");
        for (text, expected) in [
            (
                "When (default: auto) [env: A_B]",
                "When (default:~auto) [env:~A_B]",
            ),
            ("what `a b` prints, `c d", "what `a~b` prints, `c~d"),
            (
                "Tokens (default: one hundredth of the window)",
                "Tokens (default:~one hundredth of the window)",
            ),
            (
                "run `prowess validate skills --fix --unsafe-fixes`",
                "run `prowess validate skills --fix --unsafe-fixes`",
            ),
            ("plain", "plain"),
        ] {
            assert_eq!(marked(text), expected);
            assert_eq!(laid_out(&unbroken(text)), text);
        }
    }
}
