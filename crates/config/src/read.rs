//! Parses a configuration file, and reports problems as diagnostics.

use std::sync::Arc;

use prowess_catalog::{Precedence, SkillGrant, VisibilityOverride};
use prowess_diag::{Diagnostic, FileReport, Severity, Span, suggest, wording};
use prowess_lint::LintProfile;
use prowess_lint::rules::{self, RULES};
use prowess_policy::profile::Strength;
use prowess_policy::{Effect, PermissionMode, RuleSource, Unattended};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::mcp_servers::{self, McpServer};

use super::Config;

const SECTIONS: [&str; 14] = [
    "validate",
    "skills",
    "prompt",
    "agents",
    "permissions",
    "sandbox",
    "tools",
    "model",
    "mcp",
    "missions",
    "packages",
    "install",
    "registries",
    "signers",
];
/// Sections that `prowess-package` reads and checks.
const OTHER_SECTIONS: [&str; 4] = ["packages", "install", "registries", "signers"];
const MODEL_KEYS: [&str; 3] = ["name", "effort", "keys"];
const EFFORTS: [&str; 5] = ["low", "medium", "high", "xhigh", "max"];
const SKILLS_KEYS: [&str; 5] = ["dirs", "max-folders", "only", "precedence", "visibility"];
/// Maximum of `skills.max-folders`.
const MAX_FOLDERS: usize = 2_000_000;
const PROMPT_KEYS: [&str; 8] = [
    "window",
    "budget",
    "entry-characters",
    "listing",
    "last-used",
    "hint",
    "hint-skills",
    "hint-tokens",
];
/// Maximum of `prompt.hint-skills`.
const MAX_HINT_SKILLS: usize = 20;
/// Maximum of `prompt.last-used`.
const MAX_LAST_USED: usize = 100;
const AGENT_KEYS: [&str; 3] = ["skills", "deny", "tools"];
const PERMISSION_KEYS: [&str; 7] = [
    "mode",
    "allow",
    "ask",
    "deny",
    "unattended",
    "skill-commands",
    "confine",
];
const SANDBOX_KEYS: [&str; 4] = ["path", "strength", "timeout", "write"];
const TOOLS_KEYS: [&str; 1] = ["skill"];
const KEYS: [&str; 5] = ["profile", "fail-on", "select", "ignore", "severity"];

/// Parses a file. Unknown keys are warnings, invalid values are errors. A project's file cannot
/// loosen any setting.
pub(super) fn read(path: &str, text: String, is_project: bool) -> (Config, FileReport) {
    let text: Arc<str> = text.into();
    let source = if is_project {
        RuleSource::Project(path.into())
    } else {
        RuleSource::User(path.into())
    };
    let mut reader = Reader {
        config: Config::default(),
        found: Vec::new(),
        source,
        is_project,
    };
    match DeTable::parse(&text) {
        Ok(table) => reader.root(table.get_ref()),
        Err(error) => {
            let span = error.span().unwrap_or(0..0);
            reader.report(Severity::Error, span, error.message().to_owned(), None);
        }
    }
    // Tables are sorted by key; report in the order of the file.
    reader.found.sort_by_key(|diagnostic| diagnostic.span);
    let report = FileReport {
        path: path.to_owned(),
        text: Some(text),
        diagnostics: reader.found,
    };
    (reader.config, report)
}

struct Reader {
    config: Config,
    found: Vec<Diagnostic>,
    source: RuleSource,
    is_project: bool,
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
                ("skills", DeValue::Table(table)) => self.skills(table),
                ("prompt", DeValue::Table(table)) => self.prompt(table),
                ("agents", DeValue::Table(table)) => self.agents(table),
                ("permissions", DeValue::Table(table)) => self.permissions(table),
                ("sandbox", DeValue::Table(table)) => self.sandbox(table),
                ("tools", DeValue::Table(table)) => self.tools(table),
                // A project must not choose where conversations are sent, or the keys for it.
                ("model", DeValue::Table(_)) if self.is_project => {
                    self.own_settings_only(key.span(), "model");
                }
                ("model", DeValue::Table(table)) => self.model(table),
                // The servers of a project are in `.mcp.json`, which is trusted as a whole.
                ("mcp", DeValue::Table(_)) if self.is_project => {
                    self.own_settings_only(key.span(), "mcp");
                }
                ("mcp", DeValue::Table(table)) => self.mcp(table),
                // A project must not choose which server its missions talk to.
                ("missions", DeValue::Table(_)) if self.is_project => {
                    self.own_settings_only(key.span(), "missions");
                }
                ("missions", DeValue::Table(table)) => self.missions(table),
                (section, _) if OTHER_SECTIONS.contains(&section) => {}
                (section, _) if SECTIONS.contains(&section) => self.report(
                    Severity::Error,
                    value.span(),
                    format!("`{section}` must be a table"),
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
                    let profiles = LintProfile::ALL.map(LintProfile::as_str);
                    self.config.profile = self
                        .word(value, "profile", &profiles)
                        .and_then(|word| LintProfile::parse(&word));
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

    fn skills(&mut self, table: &DeTable<'_>) {
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "dirs" => {
                    let dirs = self.texts(value, "dirs").unwrap_or_default();
                    self.config.dirs = dirs.into_iter().map(Into::into).collect();
                }
                // A project must not make every command read a whole disk.
                "max-folders" => {
                    let folders = self.number(value, "max-folders");
                    self.own_settings_only(key.span(), "max-folders");
                    self.config.max_folders = folders.filter(|_| !self.is_project);
                    let is_over = |folders: &mut usize| *folders > MAX_FOLDERS;
                    if self.config.max_folders.take_if(is_over).is_some() {
                        let most = wording::thousands(MAX_FOLDERS);
                        let message = format!("`max-folders` must be at most {most}");
                        self.report(Severity::Error, value.span(), message, None);
                    }
                }
                "only" => {
                    let only = self.texts(value, "only");
                    self.config.limited_by_project |= self.is_project && only.is_some();
                    self.config.only.extend(only);
                }
                "precedence" => {
                    let word = self.word(value, "precedence", &["project", "user"]);
                    self.config.precedence = word.map(|word| match word.as_str() {
                        "user" => Precedence::UserFirst,
                        _ => Precedence::ProjectFirst,
                    });
                }
                "visibility" => self.visibility(value),
                _ => self.unknown(key, &SKILLS_KEYS),
            }
        }
    }

    fn visibility(&mut self, value: &Spanned<DeValue<'_>>) {
        let Some(table) = value.get_ref().as_table() else {
            let message = "`visibility` must be a table of skills".into();
            return self.report(Severity::Error, value.span(), message, None);
        };
        for (key, value) in table {
            let name = key.get_ref().to_string();
            if name.contains('*') {
                let message = "`visibility` takes names of skills, not patterns".into();
                let label = "to see only some skills, use `only`".to_owned();
                self.report(Severity::Error, key.span(), message, Some(label));
                continue;
            }
            let word = self.word(
                value,
                &name,
                &VisibilityOverride::ALL.map(VisibilityOverride::as_str),
            );
            if let Some(setting) = word.and_then(|word| VisibilityOverride::parse(&word)) {
                self.config.visibility.insert(name, setting);
            }
        }
    }

    fn prompt(&mut self, table: &DeTable<'_>) {
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "window" => self.config.window = self.number(value, "window"),
                "budget" => self.config.budget = self.number(value, "budget"),
                "entry-characters" => {
                    self.config.entry_characters = self.number(value, "entry-characters");
                }
                "listing" => {
                    let word = self.word(value, "listing", &["all", "sections"]);
                    self.config.sections = word.map(|word| word == "sections");
                }
                "last-used" => {
                    self.config.last_used = self.number(value, "last-used");
                    if self
                        .config
                        .last_used
                        .take_if(|many| *many > MAX_LAST_USED)
                        .is_some()
                    {
                        let message = format!("`last-used` must be at most {MAX_LAST_USED}");
                        self.report(Severity::Error, value.span(), message, None);
                    }
                }
                "hint" => self.config.hint = self.boolean(value, "hint"),
                "hint-skills" => {
                    self.config.hint_skills = self.number(value, "hint-skills");
                    if (self.config.hint_skills)
                        .take_if(|many| *many > MAX_HINT_SKILLS)
                        .is_some()
                    {
                        let message = format!("`hint-skills` must be at most {MAX_HINT_SKILLS}");
                        self.report(Severity::Error, value.span(), message, None);
                    }
                }
                "hint-tokens" => self.config.hint_tokens = self.number(value, "hint-tokens"),
                _ => self.unknown(key, &PROMPT_KEYS),
            }
        }
    }

    fn agents(&mut self, table: &DeTable<'_>) {
        for (name, value) in table {
            let Some(table) = value.get_ref().as_table() else {
                let message = format!("{} must be a table", wording::tick(name.get_ref()));
                self.report(Severity::Error, value.span(), message, None);
                continue;
            };
            let mut grant = SkillGrant::default();
            for (key, value) in table {
                match key.get_ref().as_ref() {
                    "skills" => grant.allow = self.texts(value, "skills"),
                    "deny" => grant.deny = self.texts(value, "deny").unwrap_or_default(),
                    "tools" => {
                        if let Some(tools) = self.texts(value, "tools") {
                            let name = name.get_ref().to_string();
                            self.config.agent_tools.insert(name, tools);
                        }
                    }
                    _ => self.unknown(key, &AGENT_KEYS),
                }
            }
            self.config.agents.insert(name.get_ref().to_string(), grant);
        }
    }

    fn permissions(&mut self, table: &DeTable<'_>) {
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "mode" => {
                    let word = self.word(
                        value,
                        "mode",
                        &PermissionMode::ALL.map(PermissionMode::as_str),
                    );
                    self.config.mode = word.and_then(|word| PermissionMode::parse(&word));
                    self.own_settings_only(key.span(), "mode");
                    self.config.mode.take_if(|_| self.is_project);
                }
                "allow" => self.permission(value, Effect::Allow),
                "ask" => self.permission(value, Effect::Ask),
                "deny" => self.permission(value, Effect::Deny),
                "unattended" => {
                    let words = Unattended::ALL.map(Unattended::as_str);
                    let word = self.word(value, "unattended", &words);
                    self.config.unattended = word.and_then(|word| Unattended::parse(&word));
                    self.own_settings_only(key.span(), "unattended");
                    self.config.unattended.take_if(|_| self.is_project);
                }
                // A project may disable commands and confine skills, not the reverse.
                "skill-commands" => {
                    let wanted = self.boolean(value, "skill-commands");
                    self.config.skill_commands = wanted.filter(|on| !(*on && self.is_project));
                }
                "confine" => {
                    let wanted = self.boolean(value, "confine");
                    self.config.confine = wanted.filter(|on| *on || !self.is_project);
                }
                _ => self.unknown(key, &PERMISSION_KEYS),
            }
        }
    }

    fn permission(&mut self, value: &Spanned<DeValue<'_>>, effect: Effect) {
        if self.texts(value, effect.as_str()).is_none() {
            return;
        }
        for item in value.get_ref().as_array().into_iter().flatten() {
            let text = item.get_ref().as_str().unwrap_or_default();
            let known = self.config.permissions.unread().len();
            self.config
                .permissions
                .add(effect, text, self.source.clone());
            if let Some(unread) = self.config.permissions.unread().get(known) {
                let message = format!("invalid {} rule", effect.as_str());
                let label = unread.fault.why.to_string();
                self.report(Severity::Warning, item.span(), message, Some(label));
            }
            let last = self.config.permissions.all().last();
            if let Some(usual) = last
                .filter(|placed| *placed.rule.text == *text.trim())
                .and_then(|placed| placed.rule.usual_spelling())
            {
                let message = format!("unusual spelling of a {} rule", effect.as_str());
                let label = format!("it is read as `{usual}`");
                self.report(Severity::Warning, item.span(), message, Some(label));
            }
        }
    }

    fn sandbox(&mut self, table: &DeTable<'_>) {
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "strength" => {
                    let word = self.word(value, "strength", &Strength::ALL.map(Strength::as_str));
                    self.config.sandbox = word.and_then(|word| Strength::parse(&word));
                    self.own_settings_only(key.span(), "strength");
                    self.config.sandbox.take_if(|_| self.is_project);
                }
                "timeout" => self.config.timeout = self.number(value, "timeout"),
                "path" => {
                    let folders = self.texts(value, "path").unwrap_or_default();
                    self.own_settings_only(key.span(), "path");
                    if !self.is_project {
                        self.config.program_folders = folders.into_iter().map(Into::into).collect();
                    }
                }
                "write" => {
                    let folders = self.texts(value, "write").unwrap_or_default();
                    self.own_settings_only(key.span(), "write");
                    if !self.is_project {
                        self.config.writable_folders =
                            folders.into_iter().map(Into::into).collect();
                    }
                }
                _ => self.unknown(key, &SANDBOX_KEYS),
            }
        }
    }

    fn tools(&mut self, table: &DeTable<'_>) {
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "skill" => self.config.skill_tool = self.boolean(value, "skill"),
                _ => self.unknown(key, &TOOLS_KEYS),
            }
        }
    }

    fn model(&mut self, table: &DeTable<'_>) {
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "name" => self.config.model = self.text(value, "name"),
                "effort" => self.config.effort = self.word(value, "effort", &EFFORTS),
                "keys" => {
                    let Some(table) = value.get_ref().as_table() else {
                        let message = "`keys` must be a table of providers and commands".into();
                        self.report(Severity::Error, value.span(), message, None);
                        continue;
                    };
                    for (provider, command) in table {
                        let name = provider.get_ref().to_string();
                        if let Some(command) = self.text(command, &name) {
                            self.config.keys.insert(name, command);
                        }
                    }
                }
                _ => self.unknown(key, &MODEL_KEYS),
            }
        }
    }

    fn missions(&mut self, table: &DeTable<'_>) {
        for (key, value) in table {
            if key.get_ref() != "plugins" {
                self.unknown(key, &["plugins"]);
                continue;
            }
            let Some(plugins) = value.get_ref().as_table() else {
                let message = "`plugins` must be a table of plugins and MCP servers".into();
                self.report(Severity::Error, value.span(), message, None);
                continue;
            };
            for (plugin, server) in plugins {
                let name = plugin.get_ref().to_string();
                if let Some(server) = self.text(server, &name) {
                    self.config.mission_plugins.insert(name, server);
                }
            }
        }
    }

    fn mcp(&mut self, table: &DeTable<'_>) {
        for (key, value) in table {
            let servers = value
                .get_ref()
                .as_table()
                .filter(|_| key.get_ref() == "servers");
            let Some(servers) = servers else {
                self.unknown(key, &["servers"]);
                continue;
            };
            for (name, value) in servers {
                self.server(name, value);
            }
        }
    }

    fn server(&mut self, name: &Spanned<impl AsRef<str>>, value: &Spanned<DeValue<'_>>) {
        let Some(table) = value.get_ref().as_table() else {
            let message = "a server must be a table".into();
            return self.report(Severity::Error, value.span(), message, None);
        };
        let mut keys = serde_json::Map::new();
        let (mut timeout, mut on_demand, mut in_skills) = (None, false, false);
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "timeout" => {
                    let seconds = self.number(value, "timeout");
                    timeout = seconds.map(|seconds| (seconds as u64).min(mcp_servers::MAX_TIMEOUT));
                }
                "on-demand" => on_demand = self.boolean(value, "on-demand").unwrap_or_default(),
                "in-skills" => in_skills = self.boolean(value, "in-skills").unwrap_or_default(),
                known if mcp_servers::KEYS.contains(&known) => {
                    keys.insert(known.to_owned(), json(value.get_ref()));
                }
                _ => self.unknown(key, &mcp_servers::KEYS),
            }
        }
        self.config
            .server_names
            .insert(name.get_ref().as_ref().to_owned());
        match McpServer::read(name.get_ref().as_ref(), &keys) {
            Ok(server) => {
                self.config.servers.extend(server.map(|server| McpServer {
                    timeout,
                    on_demand,
                    in_skills,
                    ..server
                }));
            }
            // An invalid server does not affect the others.
            Err(why) => {
                let message = format!("invalid server: {why}");
                self.report(Severity::Warning, name.span(), message, None);
            }
        }
    }

    fn text(&mut self, value: &Spanned<DeValue<'_>>, key: &str) -> Option<String> {
        let text = value
            .get_ref()
            .as_str()
            .map(str::trim)
            .filter(|text| !text.is_empty());
        if text.is_none() {
            let message = format!("`{key}` must be a string");
            self.report(Severity::Error, value.span(), message, None);
        }
        text.map(str::to_owned)
    }

    fn boolean(&mut self, value: &Spanned<DeValue<'_>>, key: &str) -> Option<bool> {
        let found = value.get_ref().as_bool();
        if found.is_none() {
            let message = format!("`{key}` must be true or false");
            self.report(Severity::Error, value.span(), message, None);
        }
        found
    }

    fn own_settings_only(&mut self, span: std::ops::Range<usize>, key: &str) {
        if self.is_project {
            let message = format!("`{key}` has no effect in a project's configuration");
            self.report(Severity::Warning, span, message, None);
        }
    }

    fn number(&mut self, value: &Spanned<DeValue<'_>>, key: &str) -> Option<usize> {
        let number = value.get_ref().as_integer().and_then(|number| {
            usize::from_str_radix(&number.as_str().replace('_', ""), number.radix()).ok()
        });
        let number = number.filter(|&number| number > 0);
        if number.is_none() {
            let message = format!("`{key}` must be a positive integer");
            self.report(Severity::Error, value.span(), message, None);
        }
        number
    }

    /// Returns a list of strings; reports an error and returns `None` for any other value.
    fn texts(&mut self, value: &Spanned<DeValue<'_>>, key: &str) -> Option<Vec<String>> {
        let items = value.get_ref().as_array();
        let texts = items.map(|items| {
            items
                .iter()
                .map(|item| item.get_ref().as_str().map(str::to_owned))
                .collect()
        });
        let texts: Option<Vec<String>> = texts.flatten();
        if texts.is_none() {
            let message = format!("`{key}` must be a list of strings");
            self.report(Severity::Error, value.span(), message, None);
        }
        texts
    }

    fn word(&mut self, value: &Spanned<DeValue<'_>>, key: &str, words: &[&str]) -> Option<String> {
        let text = value.get_ref().as_str().unwrap_or_default();
        if words.contains(&text) {
            return Some(text.to_owned());
        }
        let near = suggest::nearest(text, words.iter().copied())
            .map(|near| format!("did you mean `{near}`?"));
        let message = format!(
            "`{key}` must be {}",
            wording::either(words.iter().map(wording::tick))
        );
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
            let level = self.word(
                value,
                key.get_ref().as_ref(),
                &["error", "warning", "note", "off"],
            );
            if let (Some(rule), Some(level)) = (rule, level) {
                self.config.severity.push((rule, Severity::parse(&level)));
            }
        }
    }
}

/// Converts a value to JSON. Numbers and dates become 0, since no key of a server accepts them.
fn json(value: &DeValue<'_>) -> serde_json::Value {
    match value {
        DeValue::String(text) => text.to_string().into(),
        DeValue::Boolean(flag) => (*flag).into(),
        DeValue::Array(items) => items.iter().map(|item| json(item.get_ref())).collect(),
        DeValue::Table(table) => serde_json::Value::Object(
            table
                .iter()
                .map(|(key, value)| (key.get_ref().to_string(), json(value.get_ref())))
                .collect(),
        ),
        DeValue::Integer(_) | DeValue::Float(_) | DeValue::Datetime(_) => 0.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, messages: &[&str]) -> Config {
        let (config, report) = read("prowess.toml", text.to_owned(), false);
        let found: Vec<&str> = report
            .diagnostics
            .iter()
            .map(|diagnostic| &*diagnostic.message)
            .collect();
        assert_eq!(found, messages, "{text}");
        config
    }

    #[test]
    fn validate_settings_are_read() {
        let config = check(
            "[validate]\nprofile = 'spec'\nfail-on = 'note'\nignore = ['body-length']\n[validate.severity]\nbroken-link = 'off'\n",
            &[],
        );
        assert_eq!(
            (config.profile, config.fail_on),
            (Some(LintProfile::Spec), Some(Severity::Note))
        );
        assert_eq!(
            (config.ignore, config.severity),
            (vec!["body-length"], vec![("broken-link", None)])
        );
    }

    #[test]
    fn skills_prompt_and_agents_are_read() {
        let config = check(
            "[skills]\ndirs = ['~/team']\nprecedence = 'user'\n[skills.visibility]\na = 'off'\n\
             [prompt]\nwindow = 1_000\nbudget = 9\n[agents.x]\nskills = []\n[agents.y]\ndeny = ['a']\n",
            &[],
        );
        assert_eq!((config.window, config.budget), (Some(1000), Some(9)));
        assert_eq!(config.precedence, Some(Precedence::UserFirst));
        assert_eq!(config.visibility["a"], VisibilityOverride::Off);
        // A missing list allows everything, an empty one nothing.
        assert_eq!(config.agents["x"].allow, Some(vec![]));
        assert_eq!(
            (&config.agents["y"].allow, config.agents["y"].deny.len()),
            (&None, 1)
        );
    }

    #[test]
    fn permissions_are_read() {
        let text = "[permissions]\nmode = 'accept-edits'\nallow = ['Bash(git:*)', 'Bash(ls']\n\
                    deny = ['Read(.env)']\n[sandbox]\nstrength = 'off'\npath = ['~/bin']\nwrite = ['~/data']\n";
        let config = check(text, &["invalid allow rule"]);
        assert_eq!(
            (config.mode, config.sandbox),
            (Some(PermissionMode::AcceptEdits), Some(Strength::Off))
        );
        assert_eq!(config.program_folders, [std::path::PathBuf::from("~/bin")]);
        assert_eq!(
            config.writable_folders,
            [std::path::PathBuf::from("~/data")]
        );
        assert_eq!(config.permissions.all().len(), 2);
        let unattended = "[permissions]\nunattended = 'deny'\n";
        assert_eq!(check(unattended, &[]).unattended, Some(Unattended::Deny));
        check(
            "[permissions]\nunattended = 'never'\n",
            &["`unattended` must be `deny` or `wait`"],
        );
        let (config, report) = read("prowess.toml", unattended.to_owned(), true);
        assert_eq!((config.unattended, report.diagnostics.len()), (None, 1));
        // The same file in a project loosens nothing.
        let (config, report) = read("prowess.toml", text.to_owned(), true);
        assert_eq!((config.mode, config.sandbox), (None, None));
        assert!(config.program_folders.is_empty() && config.writable_folders.is_empty());
        assert_eq!(config.permissions.of(Effect::Allow).count(), 0);
        assert_eq!(config.permissions.of(Effect::Deny).count(), 1);
        assert_eq!(report.diagnostics.len(), 6);
    }

    #[test]
    fn model_settings_are_ignored_in_a_project() {
        let text = "[model]\nname = 'anthropic/x'\neffort = 'high'\n[model.keys]\nanthropic = 'pass show a'\n";
        let config = check(text, &[]);
        assert_eq!(config.model.as_deref(), Some("anthropic/x"));
        assert_eq!(config.effort.as_deref(), Some("high"));
        assert_eq!(config.keys["anthropic"], "pass show a");
        // A project must not redirect a conversation, nor run a command for a key.
        let (config, report) = read("prowess.toml", text.to_owned(), true);
        assert_eq!((config.model, config.keys.len()), (None, 0));
        assert_eq!(report.diagnostics.len(), 1);
        check("[model]\nname = 3\n", &["`name` must be a string"]);
    }

    #[test]
    fn servers_are_ignored_in_a_project() {
        let text = "[mcp.servers.docs]\ncommand = 'npx'\nargs = ['-y', 'docs']\ntimeout = 5\n\
                    [mcp.servers.web]\nurl = 'https://example.com/mcp'\nheaders = { A = 'b' }\n\
                    [mcp.servers.off]\ncommand = 'x'\nenabled = false\n";
        let config = check(text, &[]);
        let names: Vec<&str> = config.servers.iter().map(|server| &*server.name).collect();
        assert_eq!(names, ["docs", "web"]);
        assert_eq!(config.servers[0].timeout, Some(5));
        let (config, report) = read("prowess.toml", text.to_owned(), true);
        assert_eq!((config.servers.len(), report.diagnostics.len()), (0, 1));
        let config = check(
            "[mcp.servers.a]\ncommand = 3\n[mcp.servers.b]\ncommand = 'x'\ntimout = 3\n",
            &[
                "invalid server: `command` must be a string",
                "unknown key `timout`",
            ],
        );
        assert_eq!(config.servers.len(), 1);
    }

    #[test]
    fn mistakes_are_reported() {
        check("[validate]\nprofil = 'spec'\n", &["unknown key `profil`"]);
        check(
            "[validate]\nprofile = 'strict'\n",
            &["`profile` must be `spec`, `claude-code`, `lenient` or `crew`"],
        );
        check(
            "[validate]\nignore = ['body-lenght', 3]\n",
            &["no rule named `body-lenght`", "no rule named ``"],
        );
        check("validate = 1\n", &["`validate` must be a table"]);
        check("agents = 1\n", &["`agents` must be a table"]);
        // Checked by `prowess-package`.
        check("[packages]\nskills = 'o/r'\n[install]\nx = 1\n", &[]);
        check(
            "[missions]\nplugin = 1\nplugins = 2\n",
            &[
                "unknown key `plugin`",
                "`plugins` must be a table of plugins and MCP servers",
            ],
        );
        check(
            "[skills]\ndirs = 'a'\n",
            &["`dirs` must be a list of strings"],
        );
        check(
            "[prompt]\nwindow = 0\n",
            &["`window` must be a positive integer"],
        );
        check(
            "[skills.visibility]\na = 'of'\n",
            &["`a` must be `on`, `name-only`, `user-only` or `off`"],
        );
        assert_eq!(read("x", "[validate".into(), false).1.diagnostics.len(), 1);
    }
}
