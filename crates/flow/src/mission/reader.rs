//! The state of reading a project: findings, values, references and the structure of blocks.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use prowess_diag::{
    Applicability, Diagnostic, FileReport, Fix, LineIndex, Severity, Span, TextEdit,
};
use prowess_diag::{hex, suggest, wording};
use prowess_hcl::{
    Attribute, Block, EvalScope, Expr, ExprKind, FunctionCall, HclProblem, Item, Label,
    ReferenceStep, Resolved, Value, evaluate_within,
};
use prowess_spec::{PathFault, ReadFault, ResourcePath};
use sha2::{Digest, Sha256};
use unicode_normalization::UnicodeNormalization;

use super::blocks::{BlockCount, BlockSpec, FILE};
use super::model::{BlockPlace, ProjectFile, ToolRef};
use super::schema::Field;
use super::{MissionSettings, rules};
use crate::file_reader::{AgentRule, ProjectFiles, shown};

/// Maximum number of bytes of all files that `load` reads.
const MAX_LOADED: usize = 8 * 1024 * 1024;
/// Maximum number of bytes of text that all values of a project have together.
const MAX_PROJECT_TEXT: usize = 32 * 1024 * 1024;
/// Maximum number of findings of one rule per file.
pub(super) const MAX_OF_A_RULE: usize = 100;
/// Maximum length of a name, in characters.
const MAX_NAME: usize = 64;

/// The first names of references.
const NAMESPACES: [&str; 15] = [
    "vars", "models", "builtins", "plugins", "mcp", "tools", "skills", "agents", "tasks",
    "datasets", "inputs", "item", "memories", "packets", "missions",
];

/// The built-in tools.
pub(super) const BUILT_INS: [(&str, &[&str]); 4] = [
    ("dataset", &["count", "sample", "set"]),
    ("http", &["delete", "get", "patch", "post", "put"]),
    ("human", &["ask"]),
    ("utils", &["current_time", "sleep"]),
];

/// A file that is being read.
pub(super) struct Source {
    pub(super) path: Box<str>,
    pub(super) text: Arc<str>,
    pub(super) lines: LineIndex,
    pub(super) findings: Vec<Diagnostic>,
    /// `false` if the text could not be read.
    pub(super) has_text: bool,
}

/// A text that was loaded, or the reason why not.
pub(super) type LoadedText = Result<Arc<str>, String>;

/// Names and the places where they are defined.
pub(super) type Names = BTreeMap<Box<str>, BlockPlace>;

/// A reference, or a name in quotation marks.
pub(super) struct NameRef {
    /// The first name; `None` for a name in quotation marks without one.
    pub(super) root: Option<Box<str>>,
    /// The names after it.
    pub(super) path: Vec<Box<str>>,
    pub(super) span: Span,
}

impl NameRef {
    /// Returns the reference as it is written.
    pub(super) fn text(&self) -> String {
        let mut text = self.root.as_deref().unwrap_or_default().to_owned();
        for name in &self.path {
            if !text.is_empty() && is_plain_word(name) {
                text.push('.');
                text.push_str(name);
            } else if text.is_empty() {
                text.push_str(name);
            } else {
                text.push_str(&format!("[\"{name}\"]"));
            }
        }
        text
    }
}

fn is_plain_word(name: &str) -> bool {
    name.chars()
        .all(|c| c.is_alphanumeric() || "_-".contains(c))
}

/// The reader of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Audience {
    /// A model. It may not read secrets.
    Model,
    /// Prowess, a tool or a server.
    Program,
}

/// The use of `item` in a text.
#[derive(Clone, Copy)]
pub(super) enum ItemUse<'c> {
    /// There is no iterator.
    None,
    /// One conversation runs over all items.
    Sequential,
    /// One conversation per item. The fields of an item, if they are known.
    Parallel(Option<&'c [Field]>),
}

/// The names that an expression may use, in addition to variables.
#[derive(Clone, Copy)]
pub(super) struct Context<'c> {
    pub(super) audience: Audience,
    /// `inputs`, if there are any.
    pub(super) inputs: Option<&'c [Field]>,
    pub(super) item: ItemUse<'c>,
}

impl Context<'_> {
    /// A text that a model reads, with variables only.
    pub(super) const MODEL: Self = Context {
        audience: Audience::Model,
        inputs: None,
        item: ItemUse::None,
    };
    /// A value that no model reads, with variables only.
    pub(super) const PROGRAM: Self = Context {
        audience: Audience::Program,
        ..Self::MODEL
    };
}

/// The aliases of a `model` block, and the beginnings of other names.
pub(super) type ModelNames = (Vec<Box<str>>, &'static [&'static str]);

/// The names of a project.
#[derive(Default)]
pub(super) struct ProjectNames {
    /// Variables, and `true` for secrets.
    pub(super) variables: BTreeMap<Box<str>, bool>,
    pub(super) models: Names,
    /// The names of the models of a block: its aliases, and how other names begin.
    pub(super) model_names: BTreeMap<Box<str>, ModelNames>,
    pub(super) tools: Names,
    pub(super) skills: Names,
    pub(super) agents: Names,
    pub(super) missions: Names,
    pub(super) plugins: Names,
    pub(super) servers: Names,
    pub(super) memories: Names,
    pub(super) packets: Names,
    pub(super) gateways: Names,
}

/// A project that is being read.
pub(super) struct Reader<'a> {
    pub(super) sources: Vec<Source>,
    pub(super) files: &'a dyn ProjectFiles,
    pub(super) settings: &'a MissionSettings<'a>,
    pub(super) names: Rc<ProjectNames>,
    /// The object `vars`.
    pub(super) variables: Value,
    /// Texts that were loaded, by path.
    loaded: RefCell<BTreeMap<Box<str>, LoadedText>>,
    pub(super) loaded_files: RefCell<Vec<ProjectFile>>,
    left: Cell<usize>,
    /// The number of bytes of text that values may still have.
    text_left: Cell<usize>,
    /// Plugins and servers that are used.
    pub(super) used: BTreeSet<Box<str>>,
    /// Servers that Squadron would install.
    pub(super) server_sources: Vec<ServerSource>,
    /// The skills of the library, once they were asked for.
    library: Option<Vec<String>>,
}

/// A server that Squadron would install.
pub(super) struct ServerSource {
    pub(super) file: usize,
    pub(super) span: Span,
    /// `mcp.NAME`
    pub(super) server: Box<str>,
    pub(super) package: Box<str>,
    pub(super) version: Box<str>,
}

/// The names and functions of an expression.
struct Scope<'r, 'a> {
    reader: &'r Reader<'a>,
    /// `true` if `load` failed.
    is_path_fault: Cell<bool>,
}

impl EvalScope for Scope<'_, '_> {
    fn resolve(&self, root: &str) -> Resolved<'_> {
        match root {
            "vars" => Resolved::Known(&self.reader.variables),
            _ if NAMESPACES.contains(&root) => Resolved::Late,
            _ => Resolved::Unknown,
        }
    }

    fn call(&self, call: &FunctionCall<'_>) -> Option<Result<Value, HclProblem>> {
        if call.name != "load" {
            let problem = HclProblem::new(call.span, format!("unknown function `{}`", call.name));
            return Some(Err(problem.help("the only function for texts is `load`")));
        }
        let loaded = self.reader.load(call);
        self.is_path_fault.set(loaded.is_err());
        Some(loaded)
    }

    fn names(&self) -> Vec<&str> {
        NAMESPACES.to_vec()
    }
}

impl<'a> Reader<'a> {
    pub(super) fn new(files: &'a dyn ProjectFiles, settings: &'a MissionSettings<'a>) -> Self {
        Self {
            sources: Vec::new(),
            files,
            settings,
            names: Rc::default(),
            variables: Value::Object(Vec::new()),
            loaded: RefCell::default(),
            loaded_files: RefCell::default(),
            left: Cell::new(MAX_LOADED),
            text_left: Cell::new(MAX_PROJECT_TEXT),
            used: BTreeSet::new(),
            server_sources: Vec::new(),
            library: None,
        }
    }

    /// Returns the reports of files with findings.
    pub(super) fn reports(&mut self) -> Vec<FileReport> {
        let mut reports = Vec::new();
        for source in &mut self.sources {
            let mut diagnostics = std::mem::take(&mut source.findings);
            if diagnostics.is_empty() {
                continue;
            }
            diagnostics.sort_by_key(|finding| finding.span.unwrap_or_default());
            reports.push(FileReport {
                path: source.path.to_string(),
                text: source.has_text.then(|| Arc::clone(&source.text)),
                diagnostics,
            });
        }
        reports
    }

    pub(super) fn place(&self, file: usize, span: Span) -> BlockPlace {
        let source = &self.sources[file];
        let line = source
            .lines
            .position(&source.text, span.start as usize)
            .line;
        BlockPlace {
            file: source.path.clone(),
            line: u32::try_from(line).unwrap_or(u32::MAX),
            span,
        }
    }

    /// Adds a finding.
    pub(super) fn report(
        &mut self,
        file: usize,
        rule: AgentRule,
        span: Span,
        message: impl Into<Cow<'static, str>>,
        help: impl Into<Cow<'static, str>>,
    ) {
        let help = help.into();
        self.push(
            file,
            Diagnostic {
                rule: rule.id,
                severity: rule.severity,
                message: message.into(),
                span: Some(span),
                label: None,
                help: (!help.is_empty()).then_some(help),
                fix: None,
            },
        );
    }

    pub(super) fn push(&mut self, file: usize, finding: Diagnostic) {
        let findings = &mut self.sources[file].findings;
        let same = findings.iter().filter(|one| one.rule == finding.rule);
        if same.count() < MAX_OF_A_RULE {
            findings.push(finding);
        }
    }

    /// Returns `true` if further findings of a rule are dropped.
    fn is_full(&self, file: usize, rule: AgentRule) -> bool {
        let findings = self.sources[file].findings.iter();
        findings.filter(|one| one.rule == rule.id).count() >= MAX_OF_A_RULE
    }

    /// Reports a name that does not exist, with the nearest one.
    pub(super) fn unknown<'n>(
        &mut self,
        file: usize,
        span: Span,
        message: String,
        name: &str,
        known: impl Iterator<Item = &'n str>,
        otherwise: impl Into<Cow<'static, str>>,
    ) {
        if self.is_full(file, rules::REFERENCE) {
            return;
        }
        let help = match suggest::nearest(name, known) {
            Some(near) => format!("did you mean `{}`?", shown(near)).into(),
            None => otherwise.into(),
        };
        self.report(file, rules::REFERENCE, span, message, help);
    }

    /// Reports a fault of an expression.
    pub(super) fn problem(&mut self, file: usize, rule: AgentRule, problem: HclProblem) {
        let help = problem.help.unwrap_or_default();
        self.report(file, rule, problem.span, problem.message, help);
    }

    // Structure.

    /// Checks the blocks and attributes of a file.
    pub(super) fn check_file(&mut self, file: usize, items: &[Item]) {
        self.check_items(file, &FILE, items, Span::at(0));
    }

    fn check_items(&mut self, file: usize, spec: &'static BlockSpec, items: &[Item], head: Span) {
        for item in items {
            match item {
                Item::Attribute(attribute) => self.check_attribute(file, spec, attribute),
                Item::Block(block) => self.check_block(file, spec, block),
            }
        }
        for attribute in spec.attributes.iter().filter(|one| one.is_required) {
            let has = |item: &Item| match item {
                Item::Attribute(one) => *one.name.text == *attribute.name,
                Item::Block(_) => false,
            };
            // An old name for it was reported already.
            let has_old = |item: &Item| {
                let name = match item {
                    Item::Attribute(one) => &one.name.text,
                    Item::Block(one) => &one.kind.text,
                };
                spec.replacement(name)
                    .is_some_and(|help| help.contains(attribute.name))
            };
            if !items.iter().any(has) && !items.iter().any(has_old) {
                let message = format!("`{}` has no `{}`", spec.kind, attribute.name);
                let help = format!("add `{} = …`", attribute.name);
                self.report(file, rules::VALUE, head, message, help);
            }
        }
        for (inner, count) in spec.blocks {
            let mut found = items.iter().filter_map(|item| match item {
                Item::Block(block) if *block.kind.text == *inner.kind => Some(block),
                _ => None,
            });
            let first = found.next();
            let has_old = items.iter().any(|item| match item {
                Item::Attribute(one) => spec
                    .replacement(&one.name.text)
                    .is_some_and(|help| help.contains(inner.kind)),
                Item::Block(_) => false,
            });
            match (count, first) {
                (BlockCount::One | BlockCount::Some, None) if !has_old => {
                    let message = format!("`{}` has no `{}` block", spec.kind, inner.kind);
                    let label = if inner.has_label { " \"NAME\"" } else { "" };
                    let help = format!("add `{}{label} {{ … }}`", inner.kind);
                    self.report(file, rules::VALUE, head, message, help);
                }
                (BlockCount::One | BlockCount::Optional, Some(_)) => {
                    for second in found {
                        let message = format!("only one `{}` block is allowed here", inner.kind);
                        self.report(
                            file,
                            rules::NAME,
                            second.kind.span,
                            message,
                            "remove one of them",
                        );
                    }
                }
                _ => {}
            }
        }
    }

    fn check_attribute(&mut self, file: usize, spec: &'static BlockSpec, attribute: &Attribute) {
        let name = &*attribute.name.text;
        if spec.has_attribute(name) || spec.is_open {
            return;
        }
        let span = attribute.name.span;
        if let Some(help) = spec.replacement(name) {
            let message = format!("`{name}` is an old name");
            return self.report(file, rules::KEY, span, message, help);
        }
        if std::ptr::eq(spec, &raw const FILE) {
            let message = format!("`{}` is outside of a block", shown(name));
            let help = match &*FILE.owners(name) {
                [] => "attributes belong in a block such as `agent \"NAME\" { … }`".to_owned(),
                owners => format!(
                    "it belongs in {}",
                    wording::either(owners.iter().map(|owner| format!("`{owner} {{ … }}`")))
                ),
            };
            return self.report(file, rules::KEY, span, message, help);
        }
        let message = format!("unknown attribute `{}` in `{}`", shown(name), spec.kind);
        if spec.block(name).is_some() {
            let help = format!("it is a block: write `{name} {{ … }}`");
            return self.report(file, rules::KEY, span, message, help);
        }
        let known = spec.attributes.iter().map(|one| one.name);
        let known = known.chain(spec.blocks.iter().map(|(one, _)| one.kind));
        let near = suggest::nearest(name, known);
        self.unknown_word(file, span, message, near, spec);
    }

    fn check_block(&mut self, file: usize, spec: &'static BlockSpec, block: &Block) {
        let kind = &*block.kind.text;
        let span = block.kind.span;
        let Some(inner) = spec.block(kind) else {
            if let Some(help) = spec.replacement(kind) {
                let message = format!("`{kind}` is an old name");
                return self.report(file, rules::KEY, span, message, help);
            }
            let message = if std::ptr::eq(spec, &raw const FILE) {
                format!("unknown block `{}`", shown(kind))
            } else {
                format!("unknown block `{}` in `{}`", shown(kind), spec.kind)
            };
            if spec.has_attribute(kind) {
                let help = format!("it is an attribute: write `{kind} = …`");
                return self.report(file, rules::KEY, span, message, help);
            }
            let owners = FILE.owners(kind);
            if !owners.is_empty() {
                let owners = wording::either(owners.iter().map(|owner| format!("`{owner}`")));
                let help = format!("it belongs in {owners}");
                return self.report(file, rules::KEY, span, message, help);
            }
            if FILE.block(kind).is_some() {
                let help = "it belongs at the top level of a file";
                return self.report(file, rules::KEY, span, message, help);
            }
            let known = spec.blocks.iter().map(|(one, _)| one.kind);
            let near = suggest::nearest(kind, known.chain(spec.attributes.iter().map(|a| a.name)));
            return self.unknown_word(file, span, message, near, spec);
        };
        match (inner.has_label, &*block.labels) {
            (true, [label]) => {
                if !matches!(inner.kind, "field" | "pricing") {
                    self.check_name(file, inner.kind, label);
                }
            }
            (false, []) => {}
            (true, []) => {
                let message = format!("`{kind}` has no name");
                let help = format!("write `{kind} \"NAME\" {{ … }}`");
                self.report(file, rules::NAME, span, message, help);
            }
            (true, [_, second, ..]) => {
                let message = format!("`{kind}` has more than one name");
                self.report(file, rules::NAME, second.span, message, "remove it");
            }
            (false, [label, ..]) => {
                let message = format!("`{kind}` has no name here");
                let help = format!("write `{kind} {{ … }}`");
                self.report(file, rules::NAME, label.span, message, help);
            }
        }
        self.check_items(file, inner, &block.items, block.head());
    }

    fn unknown_word(
        &mut self,
        file: usize,
        span: Span,
        message: String,
        near: Option<&str>,
        spec: &BlockSpec,
    ) {
        let mut finding = Diagnostic {
            rule: rules::KEY.id,
            severity: rules::KEY.severity,
            message: message.into(),
            span: Some(span),
            label: None,
            help: None,
            fix: None,
        };
        if let Some(near) = near {
            finding.help = Some(format!("did you mean `{near}`?").into());
            finding.fix = Some(Fix {
                title: format!("rename it to `{near}`"),
                applicability: Applicability::Suggested,
                edits: vec![TextEdit {
                    span,
                    replacement: near.to_owned(),
                }],
            });
        } else {
            let attributes = spec.attributes.iter().map(|one| one.name);
            let blocks = spec.blocks.iter().map(|(one, _)| one.kind);
            let mut known: Vec<&str> = attributes.chain(blocks).collect();
            known.sort_unstable();
            known.dedup();
            let known = wording::all(known.iter().map(|name| format!("`{name}`")));
            finding.help = Some(format!("known here: {known}").into());
        }
        self.push(file, finding);
    }

    fn check_name(&mut self, file: usize, kind: &str, label: &Label) {
        let name = label.text.trim();
        let is_hidden = |c: char| c.is_control() || prowess_diag::sanitize::is_deceptive(c);
        let fault = if name.is_empty() {
            Some("is empty")
        } else if name.chars().nth(MAX_NAME).is_some() {
            Some("has more than 64 characters")
        } else if name.contains(is_hidden) {
            Some("contains control or invisible characters")
        } else {
            None
        };
        if let Some(fault) = fault {
            let message = format!("the name `{}` {fault}", shown(name));
            let help = "choose a name of up to 64 visible characters";
            return self.report(file, rules::NAME, label.span, message, help);
        }
        let starts = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if !(starts && name.chars().all(is_plain)) {
            let message = format!("Squadron refuses the name `{}` of this {kind}", shown(name));
            let help = "it works here; for both, use small letters, digits and `_`";
            self.report(file, rules::NAME.as_warning(), label.span, message, help);
        }
    }

    /// Adds a name to those of its kind. Returns `false`, with a finding, if it is there already.
    pub(super) fn declare(
        &mut self,
        file: usize,
        kind: &str,
        name: &str,
        span: Span,
        names: &mut Names,
    ) -> bool {
        if let Some(first) = names.get(name) {
            let message = format!("the {kind} `{}` is defined twice", shown(name));
            let help = format!(
                "the first is in {}:{}; rename or remove one of them",
                first.file, first.line
            );
            self.report(file, rules::NAME, span, message, help);
            return false;
        }
        let place = self.place(file, span);
        let near = [name.replace('-', "_"), name.replace('_', "-")];
        let near = near.iter().find(|near| names.contains_key(near.as_str()));
        if let Some(near) = near {
            let message = format!(
                "the names `{}` and `{}` differ only in `-` and `_`",
                shown(name),
                shown(near)
            );
            let help = "rename one of them";
            self.report(file, rules::NAME.as_warning(), span, message, help);
        }
        names.insert(name.into(), place);
        true
    }

    // Values.

    /// Checks the variables of an expression. Returns `false` if it cannot be evaluated.
    fn check_variables(&mut self, file: usize, expr: &Expr, context: Context<'_>) -> bool {
        let mut found: Vec<(Option<&str>, Span)> = Vec::new();
        expr.references(&mut |root, path, span| {
            if root == "vars" {
                let name = match path.first() {
                    Some(ReferenceStep::Name(name)) => Some(&**name),
                    _ => None,
                };
                found.push((name, span));
            }
        });
        let mut is_good = true;
        let names = Rc::clone(&self.names);
        for (name, span) in found {
            let Some(name) = name else {
                if context.audience == Audience::Model {
                    let message = "`vars` cannot be used as a whole in a text for a model";
                    let help = "name one variable: `vars.NAME`";
                    self.report(file, rules::SECRET, span, message, help);
                    is_good = false;
                }
                continue;
            };
            match names.variables.get(name) {
                None => {
                    let message = format!("unknown variable `vars.{}`", shown(name));
                    let help = format!("declare it: `variable \"{}\" {{ }}`", shown(name));
                    let known = names.variables.keys().map(|name| &**name);
                    self.unknown(file, span, message, name, known, help);
                    is_good = false;
                }
                Some(true) if context.audience == Audience::Model => {
                    let name = shown(name);
                    let message = format!("the secret `vars.{name}` is in a text for a model");
                    let help = format!(
                        "use it in a `tool` that the agent calls: `headers = {{ Authorization = \"Bearer ${{vars.{name}}}\" }}`"
                    );
                    self.report(file, rules::SECRET, span, message, help);
                    is_good = false;
                }
                Some(_) => {}
            }
        }
        is_good
    }

    /// Evaluates an expression, without checking late references.
    fn raw_value(&mut self, file: usize, expr: &Expr, context: Context<'_>) -> Option<Value> {
        if !self.check_variables(file, expr, context) {
            return None;
        }
        let scope = Scope {
            reader: self,
            is_path_fault: Cell::new(false),
        };
        let value = evaluate_within(expr, &scope, &self.text_left);
        let is_path_fault = scope.is_path_fault.get();
        match value {
            Ok(value) => Some(value),
            Err(problem) => {
                let rule = if is_path_fault {
                    rules::PATH
                } else if problem.message.starts_with("unknown name") {
                    rules::REFERENCE
                } else {
                    rules::VALUE
                };
                self.problem(file, rule, problem);
                None
            }
        }
    }

    /// Evaluates an expression. What needs inputs, an item or a variable without a value stays late.
    pub(super) fn value(
        &mut self,
        file: usize,
        expr: &Expr,
        context: Context<'_>,
    ) -> Option<Value> {
        let value = self.raw_value(file, expr, context)?;
        let mut is_good = true;
        let mut late = Vec::new();
        collect_late(&value, &mut late);
        let mut references: Vec<(String, Vec<ReferenceStep>, Span)> = Vec::new();
        for expr in late {
            expr.references(&mut |root, path, span| {
                references.push((root.to_owned(), path.to_vec(), span));
            });
        }
        for (root, path, span) in references {
            is_good &= self.check_late(file, &root, &path, span, context);
        }
        is_good.then_some(value)
    }

    /// Checks a reference in a value that is not known yet.
    fn check_late(
        &mut self,
        file: usize,
        root: &str,
        path: &[ReferenceStep],
        span: Span,
        context: Context<'_>,
    ) -> bool {
        let first = match path.first() {
            Some(ReferenceStep::Name(name)) => Some(&**name),
            _ => None,
        };
        match root {
            "vars" => return true,
            "inputs" => {
                let Some(inputs) = context.inputs else {
                    let message = "`inputs` cannot be used here";
                    let help = "inputs are known in the tasks of a mission and in `tool` blocks";
                    self.report(file, rules::REFERENCE, span, message, help);
                    return false;
                };
                let Some(name) = first else {
                    let message = "name one input: `inputs.NAME`";
                    self.report(file, rules::REFERENCE, span, message, "");
                    return false;
                };
                let Some(input) = inputs.iter().find(|input| *input.name == *name) else {
                    let message = format!("unknown input `inputs.{}`", shown(name));
                    let help = format!("declare it: `input \"{}\" {{ … }}`", shown(name));
                    let known = inputs.iter().map(|input| &*input.name);
                    self.unknown(file, span, message, name, known, help);
                    return false;
                };
                if input.is_protected && context.audience == Audience::Model {
                    let message = format!(
                        "the protected input `inputs.{}` is in a text for a model",
                        shown(name)
                    );
                    let help = "protected inputs reach tools only; remove it from the text";
                    self.report(file, rules::SECRET, span, message, help);
                    return false;
                }
            }
            "item" => {
                let (message, help) = match context.item {
                    ItemUse::Parallel(fields) => {
                        let (Some(fields), Some(name)) = (fields, first) else {
                            return true;
                        };
                        if fields.iter().any(|field| *field.name == *name) {
                            return true;
                        }
                        let message = format!("unknown field `item.{}`", shown(name));
                        let known = fields.iter().map(|field| &*field.name);
                        let help = "add the field to the schema of the dataset";
                        self.unknown(file, span, message, name, known, help);
                        return false;
                    }
                    ItemUse::Sequential => (
                        "`item` can only be used with `parallel = true`",
                        "without it, the task gets its items one by one; remove `item`",
                    ),
                    ItemUse::None => (
                        "`item` cannot be used here",
                        "it is known in a task with `iterator { parallel = true }`",
                    ),
                };
                self.report(file, rules::REFERENCE, span, message, help);
                return false;
            }
            _ => {
                let message = format!("`{root}` cannot be used in this value");
                let help = "write the name in quotation marks";
                self.report(file, rules::REFERENCE, span, message, help);
                return false;
            }
        }
        true
    }

    /// Evaluates an attribute that is a text.
    pub(super) fn text(
        &mut self,
        file: usize,
        block: &Block,
        name: &str,
        context: Context<'_>,
    ) -> Option<Value> {
        let attribute = block.attribute(name)?;
        self.text_of(file, name, &attribute.value, context)
    }

    pub(super) fn text_of(
        &mut self,
        file: usize,
        name: &str,
        expr: &Expr,
        context: Context<'_>,
    ) -> Option<Value> {
        match self.value(file, expr, context)? {
            value @ (Value::Text(_) | Value::Late(_)) => Some(value),
            Value::Number(number) => Some(Value::Text(number)),
            Value::Bool(value) => Some(Value::Text(value.to_string().into())),
            other => {
                self.wrong(file, name, expr.span, "text", &other);
                None
            }
        }
    }

    /// Evaluates an attribute that is a text and not empty.
    pub(super) fn filled_text(
        &mut self,
        file: usize,
        block: &Block,
        name: &str,
        context: Context<'_>,
    ) -> Option<Value> {
        let value = self.text(file, block, name, context)?;
        if value.as_text().is_some_and(|text| text.trim().is_empty()) {
            let span = block
                .attribute(name)
                .map_or(block.span, |one| one.value.span);
            let message = format!("`{name}` is empty");
            self.report(file, rules::VALUE, span, message, "write a text");
            return None;
        }
        Some(value)
    }

    /// Evaluates an attribute that is a text and must be known now. Returns it with its place.
    pub(super) fn known_text(
        &mut self,
        file: usize,
        block: &Block,
        name: &str,
    ) -> Option<(Box<str>, Span)> {
        let span = block.attribute(name)?.value.span;
        if let Value::Text(text) = self.text(file, block, name, Context::PROGRAM)? {
            return Some((text, span));
        }
        self.not_known(file, name, span);
        None
    }

    fn not_known(&mut self, file: usize, name: &str, span: Span) {
        let message = format!("`{name}` must be known before the mission runs");
        let help = "write the value, or give the variable a `default`";
        self.report(file, rules::VALUE, span, message, help);
    }

    pub(super) fn wrong(
        &mut self,
        file: usize,
        name: &str,
        span: Span,
        wanted: &str,
        found: &Value,
    ) {
        let message = format!("`{name}` is {}, not {wanted}", found.kind_name());
        self.report(file, rules::VALUE, span, message, format!("write {wanted}"));
    }

    /// Evaluates an attribute that is `true` or `false`.
    pub(super) fn flag(&mut self, file: usize, block: &Block, name: &str) -> Option<bool> {
        let attribute = block.attribute(name)?;
        let span = attribute.value.span;
        match self.value(file, &attribute.value, Context::PROGRAM)? {
            Value::Bool(value) => Some(value),
            Value::Text(text) if &*text == "true" => Some(true),
            Value::Text(text) if &*text == "false" => Some(false),
            Value::Null => None,
            Value::Late(_) => {
                self.not_known(file, name, span);
                None
            }
            other => {
                self.wrong(file, name, span, "`true` or `false`", &other);
                None
            }
        }
    }

    /// Evaluates an attribute that is a number.
    pub(super) fn number(&mut self, file: usize, block: &Block, name: &str) -> Option<f64> {
        let attribute = block.attribute(name)?;
        let span = attribute.value.span;
        let value = self.value(file, &attribute.value, Context::PROGRAM)?;
        let number = match &value {
            Value::Number(text) | Value::Text(text) => text
                .trim()
                .parse::<f64>()
                .ok()
                .filter(|number| number.is_finite()),
            Value::Late(_) => {
                self.not_known(file, name, span);
                return None;
            }
            _ => None,
        };
        if number.is_none() {
            self.wrong(file, name, span, "a number", &value);
        }
        number
    }

    /// Evaluates an attribute that is a whole number of at least `least`.
    pub(super) fn whole(
        &mut self,
        file: usize,
        block: &Block,
        name: &str,
        least: u64,
    ) -> Option<u64> {
        let number = self.number(file, block, name)?;
        let span = block.attribute(name)?.value.span;
        // 2^53 is the largest whole number that a float holds exactly.
        if number.fract() != 0.0 || number.abs() > 9_007_199_254_740_992.0 {
            let message = format!("`{name}` is not a whole number");
            self.report(file, rules::VALUE, span, message, "write a whole number");
            return None;
        }
        #[expect(clippy::cast_possible_truncation, reason = "the range was checked")]
        let whole = u64::try_from(number as i64)
            .ok()
            .filter(|whole| *whole >= least);
        if whole.is_none() {
            let message = format!("`{name}` must be at least {least}");
            self.report(file, rules::VALUE, span, message, "");
        }
        whole
    }

    // References.

    /// Returns the references of a list.
    pub(super) fn references(
        &mut self,
        file: usize,
        block: &Block,
        name: &str,
    ) -> Option<Vec<NameRef>> {
        let expr = &block.attribute(name)?.value;
        let mut found = Vec::new();
        if let ExprKind::List(items) = &expr.kind {
            for item in items {
                if let Some(value) = self.raw_value(file, item, Context::PROGRAM) {
                    found.extend(self.name_ref(file, value, item.span));
                }
            }
            return Some(found);
        }
        match self.raw_value(file, expr, Context::PROGRAM)? {
            Value::List(items) => {
                for item in items {
                    found.extend(self.name_ref(file, item, expr.span));
                }
            }
            other => self.wrong(file, name, expr.span, "a list", &other),
        }
        Some(found)
    }

    /// Returns the reference of an attribute.
    pub(super) fn reference(&mut self, file: usize, block: &Block, name: &str) -> Option<NameRef> {
        let expr = &block.attribute(name)?.value;
        let value = self.raw_value(file, expr, Context::PROGRAM)?;
        self.name_ref(file, value, expr.span)
    }

    fn name_ref(&mut self, file: usize, value: Value, span: Span) -> Option<NameRef> {
        match value {
            Value::Text(text) => {
                let mut parts = text.split('.');
                let root = parts.next().unwrap_or_default();
                if NAMESPACES.contains(&root) && text.contains('.') {
                    return Some(NameRef {
                        root: Some(root.into()),
                        path: parts.map(normalised).collect(),
                        span,
                    });
                }
                Some(NameRef {
                    root: None,
                    path: vec![normalised(&text)],
                    span,
                })
            }
            Value::Late(expr) => {
                let span = expr.span;
                if let Some((root, path)) = expr.reference() {
                    return Some(NameRef {
                        root: Some(root.into()),
                        path: path.into_iter().map(normalised).collect(),
                        span,
                    });
                }
                let message = "a reference must be known before the mission runs";
                let help = "write it out, such as `agents.NAME` or `agents[\"NAME\"]`";
                self.report(file, rules::REFERENCE, span, message, help);
                None
            }
            other => {
                let message = format!("expected a reference, found {}", other.kind_name());
                let help = "write a reference such as `agents.NAME`";
                self.report(file, rules::REFERENCE, span, message, help);
                None
            }
        }
    }

    /// Resolves a reference to a name of one kind. `known` are the names, `kind` is the word for it.
    pub(super) fn named(
        &mut self,
        file: usize,
        reference: &NameRef,
        root: &str,
        kind: &str,
        known: &[&Names],
    ) -> Option<Box<str>> {
        let span = reference.span;
        if reference.root.as_deref().is_some_and(|found| found != root) {
            let text = shown(&reference.text());
            let message = format!("`{text}` is not {}", article(kind));
            let help = format!("write `{root}.NAME`");
            self.report(file, rules::REFERENCE, span, message, help);
            return None;
        }
        let [name] = &*reference.path else {
            let text = shown(&reference.text());
            let message = format!("`{text}` names no {kind}");
            let help = format!("write `{root}.NAME`");
            self.report(file, rules::REFERENCE, span, message, help);
            return None;
        };
        if known.iter().any(|names| names.contains_key(name)) {
            return Some(name.clone());
        }
        let message = format!("unknown {kind} `{}`", shown(&reference.text()));
        let block = if kind == "server" { "mcp" } else { kind };
        let help = format!("define it: `{block} \"{}\" {{ … }}`", shown(name));
        let known = known.iter().flat_map(|names| names.keys());
        self.unknown(file, span, message, name, known.map(|one| &**one), help);
        None
    }

    /// Resolves references to tools. `all` is every tool of a group.
    pub(super) fn tools(&mut self, file: usize, block: &Block, name: &str) -> Vec<ToolRef> {
        let mut tools: Vec<ToolRef> = Vec::new();
        for reference in self.references(file, block, name).unwrap_or_default() {
            for tool in self.tool(file, &reference) {
                if !tools.contains(&tool) {
                    tools.push(tool);
                }
            }
        }
        tools
    }

    /// Resolves a reference to a tool, or to all tools of a group.
    pub(super) fn tool(&mut self, file: usize, reference: &NameRef) -> Vec<ToolRef> {
        let span = reference.span;
        let text = shown(&reference.text());
        let path: Vec<&str> = reference.path.iter().map(|name| &**name).collect();
        let names = Rc::clone(&self.names);
        match (reference.root.as_deref(), &*path) {
            (Some("builtins"), [group, tool]) => {
                return self.built_in(file, span, &text, group, tool);
            }
            (Some("tools") | None, [_]) => {
                let bound = self.named(file, reference, "tools", "tool", &[&names.tools]);
                return bound.map(ToolRef::Bound).into_iter().collect();
            }
            (Some("mcp"), [server, tool]) => {
                if !names.servers.contains_key(*server) {
                    let message = format!("unknown server in `{text}`");
                    let help = format!("define it: `mcp \"{}\" {{ … }}`", shown(server));
                    let known = names.servers.keys().map(|name| &**name);
                    self.unknown(file, span, message, server, known, help);
                    return Vec::new();
                }
                self.used.insert(format!("mcp.{server}").into());
                return vec![ToolRef::Server {
                    server: (*server).into(),
                    tool: (*tool).into(),
                }];
            }
            (Some("plugins"), [plugin, tool]) => {
                if let Some(server) = (self.settings.plugin)(plugin) {
                    if !(self.settings.has_server)(&server) {
                        let (plugin, server) = (shown(plugin), shown(&server));
                        let message = format!(
                            "the MCP server `{server}`, which replaces the plugin `{plugin}`, is not in your settings"
                        );
                        let help = format!(
                            "add `[mcp.servers.{server}]` to your own settings, or name another server in `[missions.plugins]`"
                        );
                        self.report(file, rules::REFERENCE, span, message, help);
                        return Vec::new();
                    }
                    return vec![ToolRef::UserServer {
                        server: server.into(),
                        tool: (*tool).into(),
                    }];
                }
                if !names.plugins.contains_key(*plugin) {
                    let is_built_in = BUILT_INS
                        .iter()
                        .any(|(group, names)| group == plugin && names.contains(tool));
                    let message = format!("unknown plugin in `{text}`");
                    if is_built_in {
                        let help = format!("write `builtins.{plugin}.{tool}`");
                        self.report(file, rules::REFERENCE, span, message, help);
                        return Vec::new();
                    }
                    let help = format!("define it: `plugin \"{}\" {{ … }}`", shown(plugin));
                    let known = names.plugins.keys().map(|name| &**name);
                    self.unknown(file, span, message, plugin, known, help);
                    return Vec::new();
                }
                self.used.insert(format!("plugins.{plugin}").into());
                return vec![ToolRef::Plugin {
                    plugin: (*plugin).into(),
                    tool: (*tool).into(),
                }];
            }
            _ => {}
        }
        let message = format!("`{text}` is not a tool");
        let help = "write `builtins.GROUP.TOOL`, `mcp.SERVER.TOOL` or `tools.NAME`";
        self.report(file, rules::REFERENCE, span, message, help);
        Vec::new()
    }

    fn built_in(
        &mut self,
        file: usize,
        span: Span,
        text: &str,
        group: &str,
        tool: &str,
    ) -> Vec<ToolRef> {
        let found = BUILT_INS.iter().find(|(name, _)| *name == group);
        let Some((_, tools)) = found else {
            let message = format!("unknown built-in tool `{text}`");
            let groups = BUILT_INS.map(|(name, _)| name);
            let known = wording::all(groups.iter().map(|name| format!("`{name}`")));
            let help = format!("the groups are {known}");
            self.unknown(file, span, message, group, groups.into_iter(), help);
            return Vec::new();
        };
        let built_in = |tool: &&str| ToolRef::BuiltIn(format!("{group}.{tool}").into());
        if tool == "all" {
            return tools.iter().map(built_in).collect();
        }
        if tools.contains(&tool) {
            return vec![built_in(&tool)];
        }
        let message = format!("unknown built-in tool `{text}`");
        let known = wording::all(tools.iter().map(|name| format!("`{name}`")));
        let help = format!("the tools of `{group}` are {known}");
        self.unknown(file, span, message, tool, tools.iter().copied(), help);
        Vec::new()
    }

    /// Returns the names of the skills of the library.
    pub(super) fn library(&mut self) -> &[String] {
        let settings = self.settings;
        self.library.get_or_insert_with(|| (settings.library)())
    }

    // Files.

    /// Reads the file of `load`.
    fn load(&self, call: &FunctionCall<'_>) -> Result<Value, HclProblem> {
        let fault = |message: String| Err(HclProblem::new(call.span, message));
        let [path] = call.arguments else {
            return fault("`load` takes one path".to_owned());
        };
        let path = match path {
            Value::Text(path) => path,
            Value::Late(_) => {
                let problem = HclProblem::new(
                    call.span,
                    "the path of `load` must be known before the mission runs",
                );
                return Err(problem.help("write the path as a text"));
            }
            other => return fault(format!("`load` takes a path, not {}", other.kind_name())),
        };
        match self.load_path(path) {
            Ok(text) => Ok(Value::Text((&*text).into())),
            Err(message) => {
                let help = "use a `.md` or `.txt` file inside the project, relative to its folder";
                Err(HclProblem::new(call.span, message).help(help))
            }
        }
    }

    fn load_path(&self, path: &str) -> Result<Arc<str>, String> {
        let name = shown(path);
        let resolved = project_path(path, "").map_err(|why| format!("the path `{name}` {why}"))?;
        let ending = resolved.as_str().rsplit_once('.').map(|(_, ending)| ending);
        if !matches!(ending, Some("md" | "txt")) {
            return Err(format!("`load` reads `.md` and `.txt` files, not `{name}`"));
        }
        let loaded = self.read_text(resolved.as_str());
        loaded.map_err(|why| format!("`{name}` {why}"))
    }

    /// Returns a text of the project, which is read once: trust covers what was read.
    pub(super) fn read_text(&self, path: &str) -> LoadedText {
        if let Some(known) = self.loaded.borrow().get(path) {
            return known.clone();
        }
        let loaded = self.read_new_text(path);
        self.loaded.borrow_mut().insert(path.into(), loaded.clone());
        loaded
    }

    /// Takes the bytes of another copy of a text from the limit. Returns `false` if none are left.
    pub(super) fn may_copy(&self, bytes: usize) -> bool {
        let left = self.text_left.get().checked_sub(bytes);
        self.text_left.set(left.unwrap_or(0));
        left.is_some()
    }

    /// Reads a text of the project and records its digest.
    fn read_new_text(&self, path: &str) -> LoadedText {
        let bytes = self.files.read(path).map_err(|fault| match fault {
            ReadFault::Missing => "does not exist".to_owned(),
            ReadFault::NotAFile(kind) => format!("is {kind}"),
            ReadFault::TooLarge { bytes } => {
                format!("is too large: it has {}", wording::size(bytes))
            }
            ReadFault::Unreadable(why) => format!("cannot be read: {why}"),
        })?;
        let left = self.left.get().checked_sub(bytes.len());
        self.left.set(left.ok_or_else(|| {
            format!(
                "is too large: all loaded files together have at most {} MiB",
                MAX_LOADED >> 20
            )
        })?);
        let text = String::from_utf8(bytes).map_err(|_| "is not UTF-8".to_owned())?;
        self.loaded_files.borrow_mut().push(ProjectFile {
            path: path.into(),
            digest: digest(text.as_bytes()),
        });
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        Ok(text.replace("\r\n", "\n").into())
    }
}

/// Returns `true` for a built-in tool, and for `all` of a group.
pub(crate) fn built_in_tool(group: &str, tool: &str) -> bool {
    let found = BUILT_INS.iter().find(|(name, _)| *name == group);
    found.is_some_and(|(_, tools)| tool == "all" || tools.contains(&tool))
}

/// Returns the name of a block, normalised. `None` if it has none that can be used.
pub(super) fn name_of(block: &Block) -> Option<(Box<str>, Span)> {
    let [label, ..] = &*block.labels else {
        return None;
    };
    let is_hidden = |c: char| c.is_control() || prowess_diag::sanitize::is_deceptive(c);
    let name: String = label.text.trim().nfc().collect();
    let is_name =
        !name.is_empty() && name.chars().nth(MAX_NAME).is_none() && !name.contains(is_hidden);
    is_name.then(|| (name.into(), label.span))
}

pub(super) fn normalised(name: &str) -> Box<str> {
    name.nfc().collect::<String>().into()
}

fn article(kind: &str) -> String {
    let vowel = kind.starts_with(['a', 'e', 'i', 'o', 'u']);
    format!("{} {kind}", if vowel { "an" } else { "a" })
}

/// Collects the expressions of a value that are not known yet.
pub(super) fn collect_late<'v>(value: &'v Value, late: &mut Vec<&'v Expr>) {
    match value {
        Value::Late(expr) => late.push(expr),
        Value::List(items) => items.iter().for_each(|item| collect_late(item, late)),
        Value::Object(entries) => entries.iter().for_each(|(_, one)| collect_late(one, late)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {}
    }
}

/// Returns the digest of a file.
pub(super) fn digest(bytes: &[u8]) -> Box<str> {
    format!("sha256:{}", hex(&Sha256::digest(bytes))).into()
}

/// Resolves a path in the project. `@/x` is relative to the project, other paths to `folder`.
pub(crate) fn project_path(path: &str, folder: &str) -> Result<ResourcePath, &'static str> {
    let (folder, inner) = match path.strip_prefix("@/") {
        Some(inner) => ("", inner),
        None => (folder, path),
    };
    let resolved = if inner.starts_with(['/', '~']) {
        Err(PathFault::Absolute)
    } else if folder.is_empty() {
        ResourcePath::new(inner)
    } else {
        ResourcePath::new(&format!("{folder}/{inner}"))
    };
    resolved.map_err(|fault| match fault {
        PathFault::Empty => "is the project itself",
        PathFault::Absolute => "is absolute",
        PathFault::Escapes => "is outside the project",
        PathFault::Characters => "contains a backslash or a NUL byte",
    })
}

/// Returns the rule for a case of a severity.
pub(super) fn with_severity(rule: AgentRule, severity: Severity) -> AgentRule {
    AgentRule { severity, ..rule }
}
