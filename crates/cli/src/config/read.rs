//! Reads one configuration file. What is wrong with it is reported like any other text.

use std::sync::Arc;

use prowess_diag::{Diagnostic, FileReport, Severity, Span, suggest, wording};
use prowess_lint::Profile;
use prowess_lint::rules::{self, RULES};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Config;

const SECTIONS: [&str; 1] = ["validate"];
const KEYS: [&str; 5] = ["profile", "fail-on", "select", "ignore", "severity"];

/// Reads a file. Unknown keys are warnings; values that cannot be understood are errors.
pub(super) fn read(path: &str, text: String) -> (Config, FileReport) {
    let text: Arc<str> = text.into();
    let mut reader = Reader { config: Config::default(), found: Vec::new() };
    match DeTable::parse(&text) {
        Ok(table) => reader.root(table.get_ref()),
        Err(error) => {
            let span = error.span().unwrap_or(0..0);
            reader.report(Severity::Error, span, error.message().to_owned(), None);
        }
    }
    let report = FileReport { path: path.to_owned(), text: Some(text), diagnostics: reader.found };
    (reader.config, report)
}

struct Reader {
    config: Config,
    found: Vec<Diagnostic>,
}

impl Reader {
    fn report(
        &mut self,
        severity: Severity,
        span: std::ops::Range<usize>,
        message: String,
        label: Option<String>,
    ) {
        let span = Some(Span::new(span.start, span.end));
        self.found.push(Diagnostic {
            rule: "config",
            severity,
            message: message.into(),
            span,
            label: label.map(Into::into),
            help: None,
            fix: None,
        });
    }

    fn unknown(&mut self, key: &Spanned<impl AsRef<str>>, known: &[&str]) {
        let name = key.get_ref().as_ref();
        let label = suggest::nearest(name, known.iter().copied())
            .map(|near| format!("did you mean `{near}`?"));
        self.report(
            Severity::Warning,
            key.span(),
            format!("unknown key {}", wording::tick(name)),
            label,
        );
    }

    fn root(&mut self, table: &DeTable<'_>) {
        for (key, value) in table {
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("validate", DeValue::Table(table)) => self.validate(table),
                ("validate", _) => self.report(
                    Severity::Error,
                    value.span(),
                    "`validate` must be a table".into(),
                    None,
                ),
                _ => self.unknown(key, &SECTIONS),
            }
        }
    }

    fn validate(&mut self, table: &DeTable<'_>) {
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "profile" => {
                    let profiles = Profile::ALL.map(Profile::as_str);
                    self.config.profile = self
                        .word(value, "profile", &profiles)
                        .and_then(|word| Profile::parse(&word));
                }
                "fail-on" => {
                    let levels = Severity::ALL.map(Severity::as_str);
                    self.config.fail_on = self
                        .word(value, "fail-on", &levels)
                        .and_then(|word| Severity::parse(&word));
                }
                "select" => self.config.select = self.rules(value, "select"),
                "ignore" => self.config.ignore = self.rules(value, "ignore"),
                "severity" => self.severity(value),
                _ => self.unknown(key, &KEYS),
            }
        }
    }

    fn word(&mut self, value: &Spanned<DeValue<'_>>, key: &str, words: &[&str]) -> Option<String> {
        let text = value.get_ref().as_str().unwrap_or_default();
        if words.contains(&text) {
            return Some(text.to_owned());
        }
        let near = suggest::nearest(text, words.iter().copied())
            .map(|near| format!("did you mean `{near}`?"));
        let message =
            format!("`{key}` must be {}", wording::either(words.iter().map(wording::tick)));
        self.report(Severity::Error, value.span(), message, near);
        None
    }

    fn rules(&mut self, value: &Spanned<DeValue<'_>>, key: &str) -> Vec<&'static str> {
        let Some(items) = value.get_ref().as_array() else {
            self.report(
                Severity::Error,
                value.span(),
                format!("`{key}` must be a list of rules"),
                None,
            );
            return Vec::new();
        };
        items
            .iter()
            .filter_map(|item| self.rule(item.get_ref().as_str().unwrap_or_default(), item.span()))
            .collect()
    }

    fn rule(&mut self, name: &str, span: std::ops::Range<usize>) -> Option<&'static str> {
        let rule = rules::find(name);
        if rule.is_none() {
            let near = suggest::nearest(name, RULES.iter().map(|rule| rule.id))
                .map(|near| format!("did you mean `{near}`?"));
            self.report(
                Severity::Error,
                span,
                format!("no rule named {}", wording::tick(name)),
                near,
            );
        }
        rule.map(|rule| rule.id)
    }

    fn severity(&mut self, value: &Spanned<DeValue<'_>>) {
        let Some(table) = value.get_ref().as_table() else {
            self.report(
                Severity::Error,
                value.span(),
                "`severity` must be a table of rules".into(),
                None,
            );
            return;
        };
        for (key, value) in table {
            let rule = self.rule(key.get_ref().as_ref(), key.span());
            let level =
                self.word(value, key.get_ref().as_ref(), &["error", "warning", "note", "off"]);
            if let (Some(rule), Some(level)) = (rule, level) {
                self.config.severity.push((rule, Severity::parse(&level)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, messages: &[&str]) -> Config {
        let (config, report) = read("prowess.toml", text.to_owned());
        let found: Vec<&str> =
            report.diagnostics.iter().map(|diagnostic| &*diagnostic.message).collect();
        assert_eq!(found, messages, "{text}");
        config
    }

    #[test]
    fn settings_are_read() {
        let config = check(
            "[validate]\nprofile = 'spec'\nfail-on = 'note'\nignore = ['body-length']\n[validate.severity]\nbroken-link = 'off'\n",
            &[],
        );
        assert_eq!((config.profile, config.fail_on), (Some(Profile::Spec), Some(Severity::Note)));
        assert_eq!(
            (config.ignore, config.severity),
            (vec!["body-length"], vec![("broken-link", None)])
        );
    }

    #[test]
    fn mistakes_are_named() {
        check("[validate]\nprofil = 'spec'\n", &["unknown key `profil`"]);
        check(
            "[validate]\nprofile = 'strict'\n",
            &["`profile` must be `spec`, `claude-code` or `lenient`"],
        );
        check(
            "[validate]\nignore = ['body-lenght', 3]\n",
            &["no rule named `body-lenght`", "no rule named ``"],
        );
        check("validate = 1\n", &["`validate` must be a table"]);
        assert_eq!(read("x", "[validate".into()).1.diagnostics.len(), 1);
    }
}
