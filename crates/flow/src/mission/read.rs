//! Reads the blocks of a project.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use prowess_diag::{FileReport, LineIndex, Severity, Span};
use prowess_hcl::{Block, Expr, ExprKind, Item, Tree, Value};
use prowess_spec::ReadFault;

use super::inputs::late;
use super::model::{
    AgentBlock, BoundTool, ContextLimits, DefinitionScope, MemoryBlock, ModelBlock, ModelRef,
    PacketBlock, ProjectFile, ServerBlock, SkillBlock, VariableBlock,
};
use super::reader::{
    Audience, Context, Names, ProjectNames, Reader, ServerSource, Source, digest, name_of,
    project_path, with_severity,
};
use super::{MissionProject, MissionSettings, MissionText, rules};
use crate::file_reader::{ProjectFiles, shown};

/// Maximum number of files of a project.
const MAX_FILES: usize = 1_000;
/// Maximum number of bytes of all files of a project.
const MAX_BYTES: usize = 8 * 1024 * 1024;
/// Maximum number of tokens of one result that a model receives.
const MAX_RESULT_TOKENS: u64 = 64_000;
/// Names of plugins that Squadron has itself.
const RESERVED_PLUGINS: [&str; 5] = ["http", "dataset", "utils", "human", "mcp"];

/// A block and the number of its file.
type FileBlock<'t> = (usize, &'t Block);

/// Reads a project.
pub(super) fn read(
    files: &[MissionText],
    others: &dyn ProjectFiles,
    settings: &MissionSettings<'_>,
) -> (MissionProject, Vec<FileReport>) {
    let mut reader = Reader::new(others, settings);
    let mut sorted: Vec<&MissionText> = files.iter().collect();
    sorted.sort_by(|a, b| a.path.cmp(&b.path));
    sorted.dedup_by(|second, first| second.path == first.path);
    let packets = packet_folders(&sorted);
    let mut trees: Vec<Tree> = Vec::new();
    let mut project = MissionProject::default();
    let mut left = MAX_BYTES;
    for MissionText { path, bytes } in sorted {
        let is_packet = |folder: &String| path.starts_with(folder.as_str());
        if packets.iter().any(is_packet) {
            continue;
        }
        let bytes = match bytes {
            Ok(bytes) => bytes,
            Err(fault) => {
                reader.unread(path, fault);
                trees.push(Tree::default());
                continue;
            }
        };
        let text = String::from_utf8_lossy(bytes);
        let has_text =
            matches!(text, std::borrow::Cow::Borrowed(_)) && bytes.len() <= prowess_hcl::MAX_FILE;
        let text: Arc<str> = if bytes.len() <= prowess_hcl::MAX_FILE {
            text.into()
        } else {
            Arc::from("")
        };
        reader.sources.push(Source {
            path: path.as_str().into(),
            lines: LineIndex::new(&text),
            text,
            findings: Vec::new(),
            has_text,
        });
        let number = reader.sources.len() - 1;
        let is_many = number >= MAX_FILES || bytes.len() > left;
        if is_many {
            let message = "the project is too large: this file is not read";
            let help = "a project has at most 1,000 `.hcl` files and 8 MiB";
            reader.report(number, rules::SYNTAX, Span::at(0), message, help);
            trees.push(Tree::default());
            if number > MAX_FILES {
                break;
            }
            continue;
        }
        left -= bytes.len();
        project.files.push(ProjectFile {
            path: path.as_str().into(),
            digest: digest(bytes),
        });
        let mut tree = prowess_hcl::parse(bytes);
        for mut problem in std::mem::take(&mut tree.problems) {
            if !has_text {
                // The text is shown up to the first byte that is not valid.
                let valid = str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), |_| 0);
                let text = str::from_utf8(&bytes[..valid]).unwrap_or_default();
                let source = &mut reader.sources[number];
                source.text = text.into();
                source.lines = LineIndex::new(text);
                source.has_text = true;
                problem.span = Span::at(valid);
            }
            reader.problem(number, rules::SYNTAX, problem);
        }
        trees.push(tree);
    }
    for (number, tree) in trees.iter().enumerate() {
        reader.check_file(number, &tree.items);
    }
    let blocks: Vec<FileBlock<'_>> = trees
        .iter()
        .enumerate()
        .flat_map(|(number, tree)| {
            tree.items.iter().filter_map(move |item| match item {
                Item::Block(block) => Some((number, block)),
                Item::Attribute(_) => None,
            })
        })
        .collect();
    reader.read_blocks(&blocks, &mut project);
    project
        .files
        .extend(reader.loaded_files.borrow_mut().drain(..));
    project.files.sort_by(|a, b| a.path.cmp(&b.path));
    project.files.dedup_by(|a, b| a.path == b.path);
    (project, reader.reports())
}

/// Returns the folders of packets, each with a final `/`. Files in them are not part of the project.
fn packet_folders(files: &[&MissionText]) -> Vec<String> {
    let mut folders = Vec::new();
    let mut left = MAX_BYTES;
    for MissionText { path, bytes } in files {
        let Ok(bytes) = bytes else { continue };
        if mentions_packet(bytes) && bytes.len() <= left {
            left -= bytes.len();
            let tree = prowess_hcl::parse(bytes);
            for item in &tree.items {
                let Item::Block(block) = item else { continue };
                let value = block.attribute("path").map(|path| &path.value.kind);
                if let ("packet", Some(ExprKind::Text(text))) = (&*block.kind.text, value) {
                    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
                    if let Ok(path) = project_path(text, folder) {
                        folders.push(format!("{}/", path.as_str()));
                    }
                }
            }
        }
    }
    folders
}

/// Returns `true` if a file may have a packet.
fn mentions_packet(bytes: &[u8]) -> bool {
    bytes.windows(6).any(|word| word == b"packet")
}

/// Collects the attributes of a block whose values may need secrets.
fn other_attributes<'b>(
    block: &'b Block,
    without: &[&str],
) -> impl Iterator<Item = (&'b str, &'b Expr)> {
    let names: Vec<String> = without.iter().map(ToString::to_string).collect();
    block
        .attributes()
        .map(|one| (&*one.name.text, &one.value))
        .filter(move |(name, _)| !names.iter().any(|other| other == name))
}

impl Reader<'_> {
    /// Adds a file that could not be read.
    fn unread(&mut self, path: &str, fault: &ReadFault) {
        self.sources.push(Source {
            path: path.into(),
            text: Arc::from(""),
            lines: LineIndex::new(""),
            findings: Vec::new(),
            has_text: false,
        });
        let (why, help) = match fault {
            ReadFault::Missing => ("does not exist".to_owned(), ""),
            ReadFault::NotAFile(kind) => (format!("is {kind}"), ""),
            ReadFault::TooLarge { .. } => (
                "is larger than 1 MiB".to_owned(),
                "split it into several files",
            ),
            ReadFault::Unreadable(why) => (format!("cannot be read: {why}"), ""),
        };
        let number = self.sources.len() - 1;
        let message = format!("the file {why}");
        self.report(number, rules::SYNTAX, Span::at(0), message, help);
    }

    fn read_blocks(&mut self, blocks: &[FileBlock<'_>], project: &mut MissionProject) {
        self.declare_all(blocks);
        self.read_variables(blocks, project);
        self.check_single_blocks(blocks);
        let of = |kind: &'static str| {
            blocks
                .iter()
                .copied()
                .filter(move |(_, block)| *block.kind.text == *kind)
        };
        for (file, block) in of("model") {
            if let Some(model) = self.read_model(file, block) {
                project.models.push(model);
            }
        }
        for (file, block) in of("mcp") {
            self.read_server(file, block, project);
        }
        for (file, block) in of("memory") {
            self.read_memory(file, block, project);
        }
        for (file, block) in of("packet") {
            self.read_packet(file, block, project);
        }
        for (file, block) in of("tool") {
            self.read_tool(file, block, project);
        }
        for (file, block) in of("skill") {
            if let Some(skill) = self.read_skill(file, block, DefinitionScope::Global) {
                project.skills.push(skill);
            }
        }
        for (file, block) in of("agent") {
            self.read_agent(file, block, None, project);
        }
        let mut hooks = BTreeMap::new();
        for (file, block) in of("mission") {
            if let Some(mission) = self.read_mission(file, block, &mut hooks, project) {
                project.missions.push(mission);
            }
        }
        self.check_entries(blocks, project);
        for (file, block) in of("plugin") {
            self.read_plugin(file, block);
        }
        self.check_unsupported(blocks);
        self.check_sources();
    }

    /// Collects all names of the project.
    fn declare_all(&mut self, blocks: &[FileBlock<'_>]) {
        let mut names = ProjectNames::default();
        let mut variables = Names::new();
        for &(file, block) in blocks {
            let Some((name, span)) = name_of(block) else {
                continue;
            };
            let kind = &*block.kind.text;
            let (word, known) = match kind {
                "variable" => ("variable", &mut variables),
                "model" => ("model", &mut names.models),
                "tool" => ("tool", &mut names.tools),
                "skill" => ("skill", &mut names.skills),
                "agent" => ("agent", &mut names.agents),
                "mission" => ("mission", &mut names.missions),
                "plugin" => ("plugin", &mut names.plugins),
                "mcp" => ("server", &mut names.servers),
                "memory" => ("memory", &mut names.memories),
                "packet" => ("packet", &mut names.packets),
                "gateway" => ("gateway", &mut names.gateways),
                _ => continue,
            };
            self.declare(file, word, &name, span, known);
        }
        for name in variables.keys() {
            names.variables.insert(name.clone(), false);
        }
        for (name, place) in &names.memories {
            if let Some(mission) = names.missions.get(name) {
                let message = format!("a memory and a mission are called `{}`", shown(name));
                let help = format!(
                    "the mission is in {}:{}; rename one of them",
                    mission.file, mission.line
                );
                let file = self.file_number(&place.file);
                self.report(file, rules::NAME, place.span, message, help);
            }
        }
        self.names = Rc::new(names);
    }

    fn file_number(&self, path: &str) -> usize {
        let found = self.sources.iter().position(|one| &*one.path == path);
        found.unwrap_or(0)
    }

    /// Reads the variables, and makes the object `vars`.
    fn read_variables(&mut self, blocks: &[FileBlock<'_>], project: &mut MissionProject) {
        let mut entries: Vec<(Box<str>, Value)> = Vec::new();
        let mut secrets: BTreeMap<Box<str>, bool> = BTreeMap::new();
        for &(file, block) in blocks {
            if &*block.kind.text != "variable" {
                continue;
            }
            let Some((name, span)) = name_of(block) else {
                continue;
            };
            if secrets.contains_key(&name) {
                continue;
            }
            let is_declared_secret = self.flag(file, block, "secret").unwrap_or(false);
            let is_secret = is_declared_secret || (self.settings.is_secret)(&name);
            let default = block.attribute("default").and_then(|default| {
                let value = self.value(file, &default.value, Context::PROGRAM)?;
                if is_declared_secret {
                    let message = format!("the secret `{}` has a default", shown(&name));
                    let help = format!(
                        "remove it, and run `prowess mission set {}` or set the environment variable `{}`",
                        shown(&name),
                        variable_name(&name)
                    );
                    self.report(file, rules::SECRET, default.name.span, message, help);
                    return None;
                }
                Some(match value {
                    Value::Number(number) => Value::Text(number),
                    Value::Bool(value) => Value::Text(value.to_string().into()),
                    other => other,
                })
            });
            let given = if is_secret {
                None
            } else {
                (self.settings.variable)(&name).map(|text| Value::Text(text.into()))
            };
            let default = default.filter(|_| !is_secret);
            let value = given.or(default).filter(|value| *value != Value::Null);
            let value = value.unwrap_or_else(|| late("vars", &name));
            entries.push((name.clone(), value));
            secrets.insert(name.clone(), is_secret);
            project.variables.push(VariableBlock {
                name,
                is_secret,
                has_default: block.attribute("default").is_some(),
                place: self.place(file, span),
            });
        }
        project.variables.sort_by(|a, b| a.name.cmp(&b.name));
        self.variables = Value::Object(entries);
        if let Some(names) = Rc::get_mut(&mut self.names) {
            names.variables = secrets;
        }
    }

    /// Checks blocks of which a project has at most one, over all files.
    fn check_single_blocks(&mut self, blocks: &[FileBlock<'_>]) {
        for kind in ["vault", "storage", "command_center", "mcp_host", "gateway"] {
            let mut found = blocks.iter().filter(|(_, block)| *block.kind.text == *kind);
            let Some(&(first_file, first)) = found.next() else {
                continue;
            };
            for &(file, block) in found {
                // Within one file, the table of blocks has reported it.
                if file != first_file || kind == "gateway" {
                    let place = self.place(first_file, first.kind.span);
                    let message = format!("only one `{kind}` block is allowed");
                    let help = format!(
                        "the first is in {}:{}; remove one of them",
                        place.file, place.line
                    );
                    self.report(file, rules::NAME, block.kind.span, message, help);
                }
            }
        }
    }

    /// Reports blocks for which Prowess has something else, or nothing, and checks their values.
    fn check_unsupported(&mut self, blocks: &[FileBlock<'_>]) {
        let warning = with_severity(rules::UNSUPPORTED, Severity::Warning);
        for &(file, block) in blocks {
            let span = block.head();
            let (message, help) = match &*block.kind.text {
                "gateway" => {
                    if let Some((version, span)) = self.known_text(file, block, "version")
                        && !is_version(&version)
                    {
                        let message = format!("`{}` is not a version", shown(&version));
                        let help = "write a version such as `v1.2.3`, or `local`";
                        self.report(file, rules::VALUE, span, message, help);
                    }
                    self.settings_of(file, block);
                    (
                        "`gateway` has no effect here",
                        "questions are asked at the terminal, or wait for an answer",
                    )
                }
                "command_center" => {
                    self.text(file, block, "url", Context::PROGRAM);
                    self.text(file, block, "instance_name", Context::PROGRAM);
                    self.flag(file, block, "auto_reconnect");
                    self.whole(file, block, "reconnect_interval", 0);
                    (
                        "`command_center` has no effect here",
                        "list missions with `prowess mission list`",
                    )
                }
                "mcp_host" => {
                    self.flag(file, block, "enabled");
                    self.text(file, block, "secret", Context::PROGRAM);
                    let port = self.whole(file, block, "port", 1024);
                    if port.is_some_and(|port| port > 65_535) {
                        let span = block.attribute("port").map_or(span, |port| port.value.span);
                        let message = "`port` must be at most 65535";
                        self.report(file, rules::VALUE, span, message, "");
                    }
                    (
                        "`mcp_host` has no effect here",
                        "serve skills to MCP clients with `prowess mcp`",
                    )
                }
                "storage" => {
                    let backend = self.known_text(file, block, "backend");
                    self.text(file, block, "path", Context::PROGRAM);
                    self.text(file, block, "conn_string", Context::PROGRAM);
                    match backend.as_ref().map(|(text, span)| (&**text, *span)) {
                        None | Some(("sqlite", _)) => continue,
                        Some(("postgres", span)) if block.attribute("conn_string").is_none() => {
                            let message = "`storage` with `postgres` needs `conn_string`";
                            let help = "write `sqlite`";
                            self.report(file, rules::VALUE, span, message, help);
                            continue;
                        }
                        Some(("postgres", _)) => (
                            "`storage` with `postgres` has no effect here",
                            "Prowess keeps its records in SQLite; remove the block",
                        ),
                        Some((other, span)) => {
                            let message = format!("unknown backend `{}`", shown(other));
                            let help = "write `sqlite`";
                            self.report(file, rules::VALUE, span, message, help);
                            continue;
                        }
                    }
                }
                "vault" => {
                    let provider = self.known_text(file, block, "provider");
                    match provider.as_ref().map(|(text, span)| (&**text, *span)) {
                        None | Some(("file", _)) => continue,
                        Some(("keychain", _)) => (
                            "`vault` with `keychain` has no effect here",
                            "set variables with `prowess mission set NAME`, or in the environment: `PROWESS_VAR_NAME`",
                        ),
                        Some((other, span)) => {
                            let message = format!("unknown vault `{}`", shown(other));
                            let help = "write `file` or `keychain`";
                            self.report(file, rules::VALUE, span, message, help);
                            continue;
                        }
                    }
                }
                _ => continue,
            };
            self.report(file, warning, span, message, help);
        }
    }

    /// Reports servers that Squadron would install.
    fn check_sources(&mut self) {
        for source in std::mem::take(&mut self.server_sources) {
            let severity = if self.used.contains(&source.server) {
                Severity::Error
            } else {
                Severity::Note
            };
            let rule = with_severity(rules::UNSUPPORTED, severity);
            let message = format!("Prowess does not install `{}`", shown(&source.package));
            let package = source.package.strip_prefix("npm:");
            let help = match package {
                Some(package) => format!(
                    "write `command = \"npx\"` and `args = [\"-y\", \"{}@{}\"]`",
                    shown(package),
                    shown(&source.version)
                ),
                None => "install it yourself, and write `command = \"PROGRAM\"`".to_owned(),
            };
            self.report(source.file, rule, source.span, message, help);
        }
    }

    /// Evaluates settings of a plugin or gateway, so that their references are checked.
    fn settings_of(&mut self, file: usize, block: &Block) {
        if let Some(settings) = block.attribute("settings") {
            self.value(file, &settings.value, Context::PROGRAM);
        }
        for inner in block.blocks() {
            for attribute in inner.attributes() {
                self.value(file, &attribute.value, Context::PROGRAM);
            }
        }
    }

    fn read_model(&mut self, file: usize, block: &Block) -> Option<ModelBlock> {
        let provider = self.known_text(file, block, "provider");
        let api_key = self.text(file, block, "api_key", Context::PROGRAM);
        let base_url = self.text(file, block, "base_url", Context::PROGRAM);
        self.flag(file, block, "prompt_caching");
        let mut aliases = Vec::new();
        if let Some(attribute) = block.attribute("aliases") {
            match self.value(file, &attribute.value, Context::PROGRAM) {
                Some(Value::Object(entries)) => {
                    for (name, value) in entries {
                        match value {
                            Value::Text(text) => aliases.push((name, text)),
                            other => {
                                let span = attribute.value.span;
                                self.wrong(file, &name, span, "text", &other);
                            }
                        }
                    }
                }
                Some(other) => {
                    self.wrong(file, "aliases", attribute.value.span, "an object", &other);
                }
                None => {}
            }
        }
        if let Some(old) = block.attribute("allowed_models") {
            let message = "`allowed_models` has no effect";
            let rule = with_severity(rules::IGNORED, Severity::Warning);
            self.report(file, rule, old.name.span, message, "remove it");
        }
        let mut prices = BTreeSet::new();
        let mut pricing_blocks = Vec::new();
        for pricing in block.blocks().filter(|one| &*one.kind.text == "pricing") {
            let mut found = super::ModelPrice::default();
            for (name, value) in [
                ("input", &mut found.input),
                ("output", &mut found.output),
                ("cache_read", &mut found.cache_read),
                ("cache_write", &mut found.cache_write),
            ] {
                let price = self.number(file, pricing, name);
                *value = price;
                if price.is_some_and(|price| price < 0.0) {
                    let span = pricing
                        .attribute(name)
                        .map_or(pricing.span, |one| one.value.span);
                    let message = format!("`{name}` must be at least 0");
                    self.report(file, rules::VALUE, span, message, "");
                }
            }
            if let Some(label) = pricing.labels.first() {
                pricing_blocks.push((label.text.clone(), found));
            }
            if let Some(label) = pricing.labels.first()
                && !prices.insert(label.text.clone())
            {
                let message = format!("the prices of `{}` are given twice", shown(&label.text));
                self.report(file, rules::NAME, label.span, message, "remove one of them");
            }
        }
        let (provider, span) = provider?;
        let needs: &[&str] = match &*provider {
            "anthropic" | "openai" | "gemini" => &["api_key"],
            "ollama" => &["base_url", "aliases"],
            other => {
                let known = ["anthropic", "openai", "gemini", "ollama"];
                let message = format!("unknown provider `{}`", shown(other));
                let help = match prowess_diag::suggest::nearest(other, known) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "write `anthropic`, `openai`, `gemini` or `ollama`".to_owned(),
                };
                self.report(file, rules::VALUE, span, message, help);
                &[]
            }
        };
        for name in needs {
            if block.attribute(name).is_none() {
                let message = format!("a model of `{provider}` needs `{name}`");
                let help = format!("add `{name} = …`");
                self.report(file, rules::VALUE, block.head(), message, help);
            }
        }
        let (name, name_span) = name_of(block)?;
        if let Some(names) = Rc::get_mut(&mut self.names) {
            let known = aliases.iter().map(|(name, _)| name.clone()).collect();
            // Another server of the same protocol may have models of any name.
            let families = match &*provider {
                "ollama" => Some(&[][..]),
                _ if base_url.is_some() => None,
                "anthropic" => Some(&["claude"][..]),
                "openai" => Some(&["gpt", "chatgpt", "codex", "o1", "o3", "o4", "o5"][..]),
                "gemini" => Some(&["gemini", "gemma"][..]),
                _ => None,
            };
            if let Some(families) = families {
                names.model_names.insert(name.clone(), (known, families));
            }
        }
        Some(ModelBlock {
            name,
            provider,
            api_key,
            base_url,
            aliases,
            prices: pricing_blocks,
            place: self.place(file, name_span),
        })
    }

    fn read_server(&mut self, file: usize, block: &Block, project: &mut MissionProject) {
        let mut settings = Vec::new();
        for (name, expr) in other_attributes(block, &[]) {
            let wanted = match name {
                "args" => "a list",
                "env" | "headers" => "an object",
                _ => "text",
            };
            let Some(value) = self.value(file, expr, Context::PROGRAM) else {
                continue;
            };
            let fits = matches!(
                (&value, wanted),
                (Value::Late(_), _)
                    | (Value::List(_), "a list")
                    | (Value::Object(_), "an object")
                    | (Value::Text(_) | Value::Number(_) | Value::Bool(_), "text")
            );
            if fits {
                settings.push((Box::from(name), value));
            } else {
                self.wrong(file, name, expr.span, wanted, &value);
            }
        }
        let has = |name: &str| block.attribute(name).is_some();
        let kinds: Vec<&str> = ["command", "url", "source"]
            .into_iter()
            .filter(|name| has(name))
            .collect();
        let head = block.head();
        match &*kinds {
            [] => {
                let message = "a server needs `command` or `url`";
                let help = "add `command = \"…\"` or `url = \"https://…\"`";
                self.report(file, rules::VALUE, head, message, help);
            }
            [kind] => self.check_server(file, block, kind),
            [_, second, ..] => {
                let span = block.attribute(second).map_or(head, |one| one.name.span);
                let message = "`command`, `url` and `source` exclude each other";
                self.report(file, rules::VALUE, span, message, "keep one of them");
            }
        }
        if let Some((name, span)) = name_of(block) {
            project.servers.push(ServerBlock {
                name,
                settings,
                place: self.place(file, span),
            });
        }
    }

    /// Checks the attributes of a server that belong together.
    fn check_server(&mut self, file: usize, block: &Block, kind: &str) {
        let only: &[(&str, &[&str])] = &[
            ("args", &["command", "source"]),
            ("env", &["command", "source"]),
            ("headers", &["url"]),
            ("client_id", &["url"]),
            ("client_secret", &["url"]),
            ("version", &["source"]),
            ("entry", &["source"]),
        ];
        for (name, kinds) in only {
            if let Some(attribute) = block.attribute(name)
                && !kinds.contains(&kind)
            {
                let message = format!("`{name}` cannot be used with `{kind}`");
                let kinds = kinds.iter().map(|kind| format!("`{kind}`"));
                let help = format!("it belongs to {}", prowess_diag::wording::either(kinds));
                self.report(file, rules::VALUE, attribute.name.span, message, help);
            }
        }
        let Some(attribute) = block.attribute(kind) else {
            return;
        };
        let value = self.value(file, &attribute.value, Context::PROGRAM);
        let Some(Value::Text(text)) = value else {
            return;
        };
        let span = attribute.value.span;
        match kind {
            "url" if !text.starts_with("http://") && !text.starts_with("https://") => {
                let message = format!("`{}` is not a web address", shown(&text));
                let help = "write `https://…`";
                self.report(file, rules::VALUE, span, message, help);
            }
            "command" if text.trim().is_empty() => {
                self.report(
                    file,
                    rules::VALUE,
                    span,
                    "`command` is empty",
                    "write a program",
                );
            }
            "source" => {
                if block.attribute("version").is_none() {
                    let message = "a server with `source` needs `version`";
                    self.report(file, rules::VALUE, span, message, "add `version = \"…\"`");
                    return;
                }
                let is_known = text.starts_with("npm:") || text.starts_with("github.com/");
                if !is_known {
                    let message = format!("unknown source `{}`", shown(&text));
                    let help = "write `command = \"…\"` to start a program";
                    self.report(file, rules::VALUE, span, message, help);
                    return;
                }
                if text.starts_with("npm:")
                    && let Some(entry) = block.attribute("entry")
                {
                    let message = "`entry` cannot be used with a source of npm";
                    self.report(file, rules::VALUE, entry.name.span, message, "remove it");
                }
                let version = self.known_text(file, block, "version");
                let version = version.map(|(text, _)| text).unwrap_or_default();
                let name = name_of(block).map(|(name, _)| name).unwrap_or_default();
                let key = format!("mcp.{name}");
                // It is reported when all uses are known.
                self.server_sources.push(ServerSource {
                    file,
                    span,
                    server: key.into(),
                    package: text,
                    version,
                });
            }
            _ => {}
        }
    }

    fn read_memory(&mut self, file: usize, block: &Block, project: &mut MissionProject) {
        let description = self.filled_text(file, block, "description", Context::MODEL);
        let Some((name, span)) = name_of(block) else {
            return;
        };
        if matches!(&*name, "memory" | "scratchpad") {
            let message = format!("`{name}` is not a name for a memory");
            self.report(file, rules::NAME, span, message, "choose another name");
        }
        if let Some(description) = description {
            project.memories.push(MemoryBlock {
                name,
                description,
                place: self.place(file, span),
            });
        }
    }

    fn read_packet(&mut self, file: usize, block: &Block, project: &mut MissionProject) {
        let description = self.text(file, block, "description", Context::MODEL);
        let path = self.known_text(file, block, "path");
        let (Some((name, name_span)), Some((path, span))) = (name_of(block), path) else {
            return;
        };
        let own = self.sources[file].path.clone();
        let folder = own.rsplit_once('/').map_or("", |(folder, _)| folder);
        let help = "use a folder inside the project, relative to this file";
        let resolved = match project_path(&path, folder) {
            Ok(resolved) => resolved,
            Err(why) => {
                let message = format!("the path `{}` {why}", shown(&path));
                return self.report(file, rules::PATH, span, message, help);
            }
        };
        let fault = match self.files.read(resolved.as_str()) {
            Err(ReadFault::NotAFile("a folder")) => None,
            Err(ReadFault::Missing) => Some("does not exist".to_owned()),
            Err(ReadFault::Unreadable(why)) => Some(format!("cannot be read: {why}")),
            Ok(_) | Err(_) => Some("is not a folder".to_owned()),
        };
        if let Some(fault) = fault {
            let message = format!("`{}` {fault}", shown(&path));
            return self.report(file, rules::PATH, span, message, help);
        }
        project.packets.push(PacketBlock {
            name,
            path: resolved.as_str().into(),
            description,
            place: self.place(file, name_span),
        });
    }

    fn read_plugin(&mut self, file: usize, block: &Block) {
        self.settings_of(file, block);
        let version = self.known_text(file, block, "version");
        let source = self.known_text(file, block, "source");
        let Some((name, span)) = name_of(block) else {
            return;
        };
        let mut is_good = true;
        if RESERVED_PLUGINS.contains(&&*name) {
            let message = format!("`{name}` is not a name for a plugin");
            self.report(file, rules::NAME, span, message, "choose another name");
            is_good = false;
        }
        if let Some((source, span)) = &source
            && !source.starts_with("github.com/")
        {
            let own = self.sources[file].path.clone();
            let folder = own.rsplit_once('/').map_or("", |(folder, _)| folder);
            if let Err(why) = project_path(source, folder) {
                let message = format!("the path `{}` {why}", shown(source));
                let help = "use a path inside the project";
                self.report(file, rules::PATH, *span, message, help);
                is_good = false;
            } else if let Some((version, span)) = &version
                && &**version != "local"
            {
                let message = "a plugin of the project has the version `local`";
                let help = "write `version = \"local\"`";
                self.report(file, rules::VALUE, *span, message, help);
                is_good = false;
            }
        }
        if let Some((version, span)) = &version
            && is_good
            && !is_version(version)
        {
            let message = format!("`{}` is not a version", shown(version));
            let help = "write a version such as `v1.2.3`, or `local`";
            self.report(file, rules::VALUE, *span, message, help);
            is_good = false;
        }
        if is_good && (self.settings.plugin)(&name).is_none() {
            let is_used = self.used.contains(&*format!("plugins.{name}"));
            let severity = if is_used {
                Severity::Error
            } else {
                Severity::Note
            };
            let rule = with_severity(rules::UNSUPPORTED, severity);
            let message = format!(
                "Prowess loads no plugins, and nothing replaces `{}`",
                shown(&name)
            );
            let help = format!(
                "let an MCP server replace it: `[missions.plugins]` with `{} = \"SERVER\"` in your own settings",
                shown(&name)
            );
            self.report(file, rule, block.head(), message, help);
        }
    }

    fn read_tool(&mut self, file: usize, block: &Block, project: &mut MissionProject) {
        let implements = self.reference(file, block, "implements");
        let implements = implements.and_then(|reference| {
            let span = reference.span;
            match &*self.tool(file, &reference) {
                [tool] if !matches!(tool, super::ToolRef::Bound(_)) => Some(tool.clone()),
                [] => None,
                _ => {
                    let message = "a tool implements one built-in tool or one tool of a server";
                    self.report(file, rules::REFERENCE, span, message, "name one tool");
                    None
                }
            }
        });
        let description = self.text(file, block, "description", Context::MODEL);
        let inputs = self.fields(file, block, "inputs", false);
        let context = Context {
            audience: Audience::Program,
            inputs: Some(&inputs),
            ..Context::PROGRAM
        };
        let mut parameters = Vec::new();
        for (name, expr) in other_attributes(block, &["implements", "description", "inputs"]) {
            if let Some(value) = self.value(file, expr, context) {
                parameters.push((name.into(), value));
            }
        }
        if let Some((name, span)) = name_of(block) {
            project.tools.push(BoundTool {
                name,
                implements,
                description,
                inputs,
                parameters,
                place: self.place(file, span),
            });
        }
    }

    pub(super) fn read_skill(
        &mut self,
        file: usize,
        block: &Block,
        scope: DefinitionScope,
    ) -> Option<SkillBlock> {
        let description = self.filled_text(file, block, "description", Context::MODEL);
        let instructions = self.filled_text(file, block, "instructions", Context::MODEL);
        let tools = self.tools(file, block, "tools");
        let source = self.known_text(file, block, "source");
        let head = block.head();
        let (name, span) = name_of(block)?;
        let mut skill = SkillBlock {
            name,
            scope,
            description: Value::Null,
            instructions: Value::Null,
            tools,
            folder: None,
            place: self.place(file, span),
        };
        if let Some((source, span)) = source {
            if let Some(attribute) = block.attribute("instructions") {
                let message = "`source` and `instructions` exclude each other";
                self.report(
                    file,
                    rules::VALUE,
                    attribute.name.span,
                    message,
                    "keep one of them",
                );
            }
            let (folder, text, body) = self.read_skill_folder(file, &source, span)?;
            skill.folder = Some(folder);
            skill.instructions = Value::Text(body);
            skill.description = description.unwrap_or(Value::Text(text));
            return Some(skill);
        }
        for name in ["description", "instructions"] {
            if block.attribute(name).is_none() {
                let message = format!("`skill` has no `{name}`");
                let help = format!("add `{name} = …`");
                self.report(file, rules::VALUE, head, message, help);
            }
        }
        skill.description = description?;
        skill.instructions = instructions?;
        Some(skill)
    }

    /// Reads the `SKILL.md` of a folder. Returns the folder, the description and the body.
    fn read_skill_folder(
        &mut self,
        file: usize,
        source: &str,
        span: Span,
    ) -> Option<(Box<str>, Box<str>, Box<str>)> {
        let resolved = match project_path(source, "") {
            Ok(resolved) => resolved,
            Err(why) => {
                let message = format!("the path `{}` {why}", shown(source));
                let help = "use a folder inside the project, relative to its folder";
                self.report(file, rules::PATH, span, message, help);
                return None;
            }
        };
        let path = format!("{}/SKILL.md", resolved.as_str());
        let text = match self.read_text(&path) {
            Ok(text) => text,
            Err(why) => {
                let message = format!("`{}` {why}", shown(&path));
                let help = "name a folder with a `SKILL.md`";
                self.report(file, rules::PATH, span, message, help);
                return None;
            }
        };
        if !self.may_copy(text.len()) {
            let message = "all texts together are too long";
            let help = "define the skill once, outside of agents, and name it in `skills`";
            self.report(file, rules::VALUE, span, message, help);
            return None;
        }
        let parsed = prowess_spec::parse(text.as_bytes());
        let description = parsed.manifest.description.as_ref();
        let description = description.map(|field| field.value.to_string());
        let body = parsed.body.of(parsed.text).trim().into();
        let description = description.unwrap_or_default().into();
        Some((resolved.as_str().into(), description, body))
    }

    /// Reads an agent and its skills. `mission` is the mission that it belongs to.
    pub(super) fn read_agent(
        &mut self,
        file: usize,
        block: &Block,
        mission: Option<&str>,
        project: &mut MissionProject,
    ) {
        let name = name_of(block);
        let personality = self.filled_text(file, block, "personality", Context::MODEL);
        let role = self.text(file, block, "role", Context::MODEL);
        if let Some(attribute) = block.attribute("role") {
            let message = "`role` describes the agent to commanders, and is in its instructions";
            let help = "the newest Squadron ignores it";
            self.report(file, rules::IGNORED, attribute.name.span, message, help);
        }
        let model = self.model(file, block);
        let effort = self.effort(file, block);
        let tools = self.tools(file, block, "tools");
        let limits = self.limits(file, block, true);
        let mut own = Names::new();
        let agent_name = name
            .as_ref()
            .map(|(name, _)| name.clone())
            .unwrap_or_default();
        for inner in block.blocks().filter(|one| &*one.kind.text == "skill") {
            let Some((skill_name, span)) = name_of(inner) else {
                continue;
            };
            let is_new = self.declare(file, "skill", &skill_name, span, &mut own);
            let names = Rc::clone(&self.names);
            if let Some(global) = names.skills.get(&skill_name) {
                let message = format!("the skill `{}` exists globally too", shown(&skill_name));
                let help = format!(
                    "the global one is in {}:{}; rename one of them",
                    global.file, global.line
                );
                self.report(file, rules::NAME, span, message, help);
            }
            let scope = match mission {
                None => DefinitionScope::Agent(agent_name.clone()),
                Some(mission) => DefinitionScope::MissionAgent {
                    mission: mission.into(),
                    agent: agent_name.clone(),
                },
            };
            if let Some(skill) = self.read_skill(file, inner, scope)
                && is_new
            {
                project.skills.push(skill);
            }
        }
        let mut skills: Vec<Box<str>> = Vec::new();
        for reference in self.references(file, block, "skills").unwrap_or_default() {
            let names = Rc::clone(&self.names);
            let is_library = match &*reference.path {
                [name] if !names.skills.contains_key(name) && !own.contains_key(name) => {
                    let is_skills = reference
                        .root
                        .as_deref()
                        .is_none_or(|root| root == "skills");
                    is_skills && self.library().iter().any(|known| **known == **name)
                }
                _ => false,
            };
            let found = if is_library {
                reference.path.first().cloned()
            } else {
                self.named(file, &reference, "skills", "skill", &[&names.skills, &own])
            };
            if let Some(found) = found
                && !skills.contains(&found)
            {
                skills.push(found);
            }
        }
        for inner in block.blocks().filter(|one| &*one.kind.text == "skill") {
            if let Some((name, _)) = name_of(inner)
                && !skills.contains(&name)
            {
                skills.push(name);
            }
        }
        let (Some((name, span)), Some(personality)) = (name, personality) else {
            return;
        };
        let scope = match mission {
            None => DefinitionScope::Global,
            Some(mission) => DefinitionScope::Mission(mission.into()),
        };
        project.agents.push(AgentBlock {
            name,
            scope,
            personality,
            role,
            model,
            effort,
            tools,
            skills,
            limits,
            place: self.place(file, span),
        });
    }

    /// Resolves the model of an agent or a commander.
    pub(super) fn model(&mut self, file: usize, block: &Block) -> Option<ModelRef> {
        let reference = self.reference(file, block, "model")?;
        let text = shown(&reference.text());
        let span = reference.span;
        let names = Rc::clone(&self.names);
        let (Some("models"), [model, name]) = (reference.root.as_deref(), &*reference.path) else {
            let message = format!("`{text}` is not a model");
            let help = "write `models.BLOCK.NAME`";
            self.report(file, rules::REFERENCE, span, message, help);
            return None;
        };
        if !names.models.contains_key(model) {
            let message = format!("unknown model `{text}`");
            let help = format!("define it: `model \"{}\" {{ … }}`", shown(model));
            let known = names.models.keys().map(|name| &**name);
            self.unknown(file, span, message, model, known, help);
            return None;
        }
        if let Some((known, families)) = names.model_names.get(model)
            && !known.contains(name)
            && !families.iter().any(|family| name.starts_with(family))
        {
            let message = format!("unknown model `{text}`");
            let help = format!("add it to `aliases` of the model `{}`", shown(model));
            let known = known.iter().map(|name| &**name);
            self.unknown(file, span, message, name, known, help);
            return None;
        }
        Some(ModelRef {
            block: model.clone(),
            name: name.clone(),
        })
    }

    pub(super) fn effort(&mut self, file: usize, block: &Block) -> Option<Box<str>> {
        let (text, span) = self.known_text(file, block, "reasoning")?;
        let effort = text.trim().to_ascii_lowercase();
        if matches!(&*effort, "low" | "medium" | "high") {
            return Some(effort.into());
        }
        let message = format!("invalid value `{}` for `reasoning`", shown(&text));
        let help = "write `low`, `medium` or `high`";
        self.report(file, rules::VALUE, span, message, help);
        None
    }

    /// Reads the limits of an agent or a commander.
    pub(super) fn limits(&mut self, file: usize, block: &Block, is_agent: bool) -> ContextLimits {
        let mut limits = ContextLimits::default();
        for inner in block.blocks() {
            match &*inner.kind.text {
                "compaction" => {
                    let tokens = self.whole(file, inner, "token_limit", 1);
                    let turns = self.whole(file, inner, "turn_retention", 1);
                    if is_agent && inner.attribute("turn_retention").is_none() {
                        let message = "`compaction` has no `turn_retention`";
                        let help = "add `turn_retention = 10`";
                        self.report(file, rules::VALUE, inner.kind.span, message, help);
                    }
                    limits.compaction = tokens.map(|tokens| (tokens, turns.unwrap_or(10)));
                }
                "pruning" => {
                    let on = self.whole(file, inner, "prune_on", 1);
                    let to = self.whole(file, inner, "prune_to", 1);
                    if let (Some(on), Some(to)) = (on, to) {
                        if to >= on {
                            let message = "`prune_to` must be less than `prune_on`";
                            let span = inner
                                .attribute("prune_to")
                                .map_or(inner.span, |one| one.value.span);
                            self.report(file, rules::VALUE, span, message, "");
                        } else {
                            limits.pruning = Some((on, to));
                        }
                    }
                }
                "tool_response" => {
                    let tokens = self.whole(file, inner, "max_tokens", 1);
                    if tokens.is_some_and(|tokens| tokens > MAX_RESULT_TOKENS)
                        && let Some(attribute) = inner.attribute("max_tokens")
                    {
                        let span = attribute.value.span;
                        let message = "`max_tokens` is limited to 64000";
                        let rule = with_severity(rules::IGNORED, Severity::Warning);
                        self.report(file, rule, span, message, "write a smaller number");
                    }
                    limits.result_tokens = tokens.map(|tokens| tokens.min(MAX_RESULT_TOKENS));
                }
                _ => {}
            }
        }
        limits
    }
}

/// Returns the environment variable that sets a variable: `PROWESS_VAR_API_KEY`.
pub fn variable_name(name: &str) -> String {
    let letter = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_uppercase()
        } else {
            '_'
        }
    };
    format!(
        "PROWESS_VAR_{}",
        name.chars().map(letter).collect::<String>()
    )
}

/// Returns `true` for `local`, `1.2.3` and `v1.2.3`, with or without a suffix.
fn is_version(text: &str) -> bool {
    if text == "local" {
        return true;
    }
    let text = text.strip_prefix('v').unwrap_or(text);
    let core = text.split(['-', '+']).next().unwrap_or_default();
    let parts: Vec<&str> = core.split('.').collect();
    parts.len() == 3
        && parts
            .iter()
            .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}
