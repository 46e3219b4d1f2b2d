//! The tree of a file.

use prowess_diag::Span;
use serde::{Deserialize, Serialize};

/// The items of a file, and what is wrong with it.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// Attributes and blocks in source order.
    pub items: Vec<Item>,
    /// Faults, by place.
    pub problems: Vec<HclProblem>,
    /// The first comment. Comments are not kept.
    pub comment: Option<Span>,
}

/// A fault in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HclProblem {
    /// The place.
    pub span: Span,
    /// The fault.
    pub message: String,
    /// How to write it instead.
    pub help: Option<String>,
}

impl HclProblem {
    /// Creates a problem without help.
    pub fn new(span: Span, message: impl Into<String>) -> Self {
        Self {
            span,
            message: message.into(),
            help: None,
        }
    }

    /// Adds how to write it instead.
    #[must_use]
    pub fn help(self, help: impl Into<String>) -> Self {
        Self {
            help: Some(help.into()),
            ..self
        }
    }
}

/// An attribute or a block.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// `name = value`
    Attribute(Attribute),
    /// `kind "label" { … }`
    Block(Block),
}

/// An attribute.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    /// The name.
    pub name: Label,
    /// The value.
    pub value: Expr,
    /// The whole attribute.
    pub span: Span,
}

/// A block.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// The word before the labels.
    pub kind: Label,
    /// The labels.
    pub labels: Vec<Label>,
    /// The contents in source order.
    pub items: Vec<Item>,
    /// The whole block.
    pub span: Span,
}

impl Block {
    /// Returns the attribute with a name.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes()
            .find(|attribute| *attribute.name.text == *name)
    }

    /// Returns the attributes in source order.
    pub fn attributes(&self) -> impl Iterator<Item = &Attribute> {
        self.items.iter().filter_map(|item| match item {
            Item::Attribute(attribute) => Some(attribute),
            Item::Block(_) => None,
        })
    }

    /// Returns the blocks in source order.
    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.items.iter().filter_map(|item| match item {
            Item::Block(block) => Some(block),
            Item::Attribute(_) => None,
        })
    }

    /// Returns the place of the kind and the labels.
    pub fn head(&self) -> Span {
        let last = self.labels.last().unwrap_or(&self.kind);
        self.kind.span.cover(last.span)
    }
}

/// A name with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The text, without quotation marks.
    pub text: Box<str>,
    /// The place.
    pub span: Span,
}

/// An expression with its place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expr {
    /// The expression.
    pub kind: ExprKind,
    /// The place. Not kept when an expression is stored.
    #[serde(skip)]
    pub span: Span,
}

/// An expression.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExprKind {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number as it is written.
    Number(Box<str>),
    /// Text without holes.
    Text(Box<str>),
    /// Text with holes.
    Template(Vec<TemplatePart>),
    /// `[a, b]`
    List(Vec<Expr>),
    /// `{ a = b }`
    Object(Vec<ObjectEntry>),
    /// `root.a["b"]`
    Reference {
        /// The first name.
        root: Box<str>,
        /// The steps from there.
        path: Vec<ReferenceStep>,
    },
    /// A step into another expression.
    Member {
        /// The expression.
        of: Box<Expr>,
        /// The steps.
        path: Vec<ReferenceStep>,
    },
    /// `name(a, b)`
    Call {
        /// The name of the function.
        name: Box<str>,
        /// The arguments.
        arguments: Vec<Expr>,
        /// `true` if the last argument is a list of arguments: `name(list...)`.
        expands: bool,
    },
    /// `!a` or `-a`
    Unary(UnaryOperator, Box<Expr>),
    /// `a + b`
    Binary(Box<Expr>, BinaryOperator, Box<Expr>),
    /// `a ? b : c`
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `[for x in y : z]` or `{for …}`
    For(Box<LoopParts>),
}

/// A step of a reference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReferenceStep {
    /// `.name` or `["name"]`
    Name(Box<str>),
    /// `[0]`
    Index(u64),
    /// `[expression]`
    Computed(Expr),
    /// `.*` or `[*]`
    Each,
}

/// An entry of an object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObjectEntry {
    /// The key: text, or an expression that gives text.
    pub key: Expr,
    /// The value.
    pub value: Expr,
}

/// A part of a template.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TemplatePart {
    /// Text.
    Text(Box<str>),
    /// `${ … }`
    Hole(Expr),
    /// `%{ if … }`
    If {
        /// The condition.
        condition: Expr,
        /// The text if it is true.
        then: Vec<TemplatePart>,
        /// The text if it is false.
        otherwise: Vec<TemplatePart>,
    },
    /// `%{ for … }`
    For {
        /// The variable of the key or position.
        key: Option<Box<str>>,
        /// The variable of the value.
        value: Box<str>,
        /// The collection.
        collection: Expr,
        /// The text for each item.
        body: Vec<TemplatePart>,
    },
}

/// A `for` expression.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoopParts {
    /// The variable of the key or position.
    pub key: Option<Box<str>>,
    /// The variable of the value.
    pub value: Box<str>,
    /// The collection.
    pub collection: Expr,
    /// The key of each result, for an object.
    pub result_key: Option<Expr>,
    /// The value of each result.
    pub result: Expr,
    /// The condition.
    pub condition: Option<Expr>,
    /// `true` if results with the same key are collected in a list.
    pub groups: bool,
}

/// An operator with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnaryOperator {
    /// `-`
    Negate,
    /// `!`
    Not,
}

/// An operator with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BinaryOperator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Remainder,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `&&`
    And,
    /// `||`
    Or,
}

impl Expr {
    /// Creates an expression.
    pub fn new(kind: ExprKind, span: Span) -> Self {
        Self { kind, span }
    }

    /// Returns the names of a reference such as `agents["Quality Assurance"]`: the first name and
    /// those after it. `None` for another expression, or if a step is not a name.
    pub fn reference(&self) -> Option<(&str, Vec<&str>)> {
        let ExprKind::Reference { root, path } = &self.kind else {
            return None;
        };
        let names = path.iter().map(|step| match step {
            ReferenceStep::Name(name) => Some(&**name),
            _ => None,
        });
        Some((root, names.collect::<Option<_>>()?))
    }

    /// Describes the kind of expression in an error.
    pub fn kind_name(&self) -> &'static str {
        match &self.kind {
            ExprKind::Null => "null",
            ExprKind::Bool(_) => "a boolean",
            ExprKind::Number(_) => "a number",
            ExprKind::Text(_) | ExprKind::Template(_) => "text",
            ExprKind::List(_) => "a list",
            ExprKind::Object(_) => "an object",
            ExprKind::Reference { .. } | ExprKind::Member { .. } => "a reference",
            ExprKind::Call { .. } => "a function call",
            ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Conditional(..)
            | ExprKind::For(_) => "an expression",
        }
    }

    /// Calls a function with every reference inside: the first name, its steps, its place. References
    /// to variables of loops are left out.
    pub fn references<'e>(&'e self, visit: &mut dyn FnMut(&'e str, &'e [ReferenceStep], Span)) {
        let mut locals: Vec<&str> = Vec::new();
        self.walk(&mut |expr| match &expr.kind {
            ExprKind::For(parts) => {
                locals.extend(parts.key.as_deref());
                locals.push(&parts.value);
            }
            ExprKind::Template(parts) => loop_variables(parts, &mut locals),
            _ => {}
        });
        self.walk(&mut |expr| {
            if let ExprKind::Reference { root, path } = &expr.kind
                && !locals.contains(&&**root)
            {
                visit(root, path, expr.span);
            }
        });
    }

    /// Calls a function with this expression and every one inside.
    pub fn walk<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr)) {
        visit(self);
        match &self.kind {
            ExprKind::Null | ExprKind::Bool(_) | ExprKind::Number(_) | ExprKind::Text(_) => {}
            ExprKind::Template(parts) => walk_parts(parts, visit),
            ExprKind::List(items) => items.iter().for_each(|item| item.walk(visit)),
            ExprKind::Object(entries) => {
                for entry in entries {
                    entry.key.walk(visit);
                    entry.value.walk(visit);
                }
            }
            ExprKind::Reference { path, .. } => walk_path(path, visit),
            ExprKind::Member { of, path } => {
                of.walk(visit);
                walk_path(path, visit);
            }
            ExprKind::Call { arguments, .. } => {
                for argument in arguments {
                    argument.walk(visit);
                }
            }
            ExprKind::Unary(_, operand) => operand.walk(visit),
            ExprKind::Binary(left, _, right) => {
                left.walk(visit);
                right.walk(visit);
            }
            ExprKind::Conditional(condition, then, otherwise) => {
                condition.walk(visit);
                then.walk(visit);
                otherwise.walk(visit);
            }
            ExprKind::For(parts) => {
                parts.collection.walk(visit);
                let rest = parts
                    .result_key
                    .iter()
                    .chain([&parts.result])
                    .chain(&parts.condition);
                rest.for_each(|part| part.walk(visit));
            }
        }
    }

    /// Applies a function to every span.
    pub(crate) fn shift(&mut self, shift: &dyn Fn(Span) -> Span) {
        self.span = shift(self.span);
        match &mut self.kind {
            ExprKind::Null | ExprKind::Bool(_) | ExprKind::Number(_) | ExprKind::Text(_) => {}
            ExprKind::Template(parts) => shift_parts(parts, shift),
            ExprKind::List(items) => items.iter_mut().for_each(|item| item.shift(shift)),
            ExprKind::Object(entries) => {
                for entry in entries {
                    entry.key.shift(shift);
                    entry.value.shift(shift);
                }
            }
            ExprKind::Reference { path, .. } => shift_path(path, shift),
            ExprKind::Member { of, path } => {
                of.shift(shift);
                shift_path(path, shift);
            }
            ExprKind::Call { arguments, .. } => {
                for argument in arguments {
                    argument.shift(shift);
                }
            }
            ExprKind::Unary(_, operand) => operand.shift(shift),
            ExprKind::Binary(left, _, right) => {
                left.shift(shift);
                right.shift(shift);
            }
            ExprKind::Conditional(condition, then, otherwise) => {
                condition.shift(shift);
                then.shift(shift);
                otherwise.shift(shift);
            }
            ExprKind::For(parts) => {
                parts.collection.shift(shift);
                let rest = parts.result_key.iter_mut().chain([&mut parts.result]);
                rest.chain(&mut parts.condition)
                    .for_each(|part| part.shift(shift));
            }
        }
    }
}

fn walk_path<'e>(path: &'e [ReferenceStep], visit: &mut dyn FnMut(&'e Expr)) {
    for step in path {
        if let ReferenceStep::Computed(expr) = step {
            expr.walk(visit);
        }
    }
}

fn shift_path(path: &mut [ReferenceStep], shift: &dyn Fn(Span) -> Span) {
    for step in path {
        if let ReferenceStep::Computed(expr) = step {
            expr.shift(shift);
        }
    }
}

/// Collects the variables of the loops of a template.
fn loop_variables<'e>(parts: &'e [TemplatePart], names: &mut Vec<&'e str>) {
    for part in parts {
        match part {
            TemplatePart::Text(_) | TemplatePart::Hole(_) => {}
            TemplatePart::If {
                then, otherwise, ..
            } => {
                loop_variables(then, names);
                loop_variables(otherwise, names);
            }
            TemplatePart::For {
                key, value, body, ..
            } => {
                names.extend(key.as_deref());
                names.push(value);
                loop_variables(body, names);
            }
        }
    }
}

fn walk_parts<'e>(parts: &'e [TemplatePart], visit: &mut dyn FnMut(&'e Expr)) {
    for part in parts {
        match part {
            TemplatePart::Text(_) => {}
            TemplatePart::Hole(expr) => expr.walk(visit),
            TemplatePart::If {
                condition,
                then,
                otherwise,
            } => {
                condition.walk(visit);
                walk_parts(then, visit);
                walk_parts(otherwise, visit);
            }
            TemplatePart::For {
                collection, body, ..
            } => {
                collection.walk(visit);
                walk_parts(body, visit);
            }
        }
    }
}

fn shift_parts(parts: &mut [TemplatePart], shift: &dyn Fn(Span) -> Span) {
    for part in parts {
        match part {
            TemplatePart::Text(_) => {}
            TemplatePart::Hole(expr) => expr.shift(shift),
            TemplatePart::If {
                condition,
                then,
                otherwise,
            } => {
                condition.shift(shift);
                shift_parts(then, shift);
                shift_parts(otherwise, shift);
            }
            TemplatePart::For {
                collection, body, ..
            } => {
                collection.shift(shift);
                shift_parts(body, shift);
            }
        }
    }
}
