//! The grammar. The only file that knows the parser.

use std::ops::Range;

use hcl_edit::expr::{
    BinaryOperator as ParsedBinary, Expression, ForExpr, ObjectKey, Traversal, TraversalOperator,
    UnaryOperator as ParsedUnary,
};
use hcl_edit::structure::{BlockLabel, Body, Structure};
use hcl_edit::template::HeredocTemplate;
use prowess_diag::Span;

use crate::scan::{AmbiguousHeredoc, ItemExtent};
use crate::template::{self, TextForm};
use crate::tree::{
    Attribute, BinaryOperator, Block, Expr, ExprKind, HclProblem, Item, Label, LoopParts,
    ObjectEntry, ReferenceStep, TemplatePart, UnaryOperator,
};

/// Parses one top-level item of a file.
pub(crate) fn parse_items(text: &str, extent: &ItemExtent) -> Result<Vec<Item>, HclProblem> {
    let part = text.get(extent.span.range()).unwrap_or_default();
    let source = Source {
        text,
        base: extent.span.start as usize,
    };
    let mut parsed = format!("{part}\n");
    for heredoc in &extent.ambiguous {
        source.rename(heredoc, &mut parsed);
    }
    match hcl_edit::parser::parse_body(&parsed) {
        Ok(body) => Ok(source.items(&body)),
        Err(error) => Err(source.problem(part, &error)),
    }
}

/// The text of a file, and the offset of the part that was parsed.
pub(crate) struct Source<'t> {
    pub(crate) text: &'t str,
    base: usize,
}

impl Source<'_> {
    /// Gives a heredoc in `part` a marker of the same length with which no line of its text begins.
    fn rename(&self, heredoc: &AmbiguousHeredoc, part: &mut String) {
        let (begin, end) = (heredoc.begin.range(), heredoc.end.range());
        let lines = self.text.get(begin.end..end.start).unwrap_or_default();
        let is_free = |marker: &String| {
            !lines
                .lines()
                .any(|line| line.trim_start().starts_with(&**marker))
        };
        let letters = ('A'..='Z').chain('a'..='z');
        let mut markers = letters.map(|letter| letter.to_string().repeat(begin.len()));
        if let Some(marker) = markers.find(is_free) {
            for place in [begin, end] {
                let inside = place.start - self.base..place.end - self.base;
                part.replace_range(inside, &marker);
            }
        }
    }

    /// Converts a range of the parsed part to a span of the file.
    pub(crate) fn span(&self, range: Range<usize>) -> Span {
        Span::new(self.base + range.start, self.base + range.end)
    }

    fn span_of(&self, node: &impl hcl_edit::Span) -> Span {
        node.span()
            .map_or_else(|| Span::at(self.base), |range| self.span(range))
    }

    /// Describes an error of the parser in our words.
    fn problem(&self, part: &str, error: &hcl_edit::parser::Error) -> HclProblem {
        let at = error.location().offset().min(part.len());
        let rest = part.get(at..).unwrap_or_default();
        let line = part
            .get(..at)
            .and_then(|before| before.rsplit('\n').next())
            .unwrap_or_default();
        let length = rest
            .chars()
            .next()
            .filter(|c| *c != '\n')
            .map_or(0, char::len_utf8);
        let span = self.span(at..at + length);
        let name = line.trim();
        let is_name = !name.is_empty()
            && name
                .chars()
                .all(|c| c.is_alphanumeric() || "_-".contains(c));
        if rest.starts_with(':') && is_name {
            return HclProblem::new(span, "`:` after the name of an attribute")
                .help(format!("write `{name} = …`"));
        }
        if rest.trim_start_matches([' ', '\t']).starts_with('\n') && is_name {
            return HclProblem::new(span, format!("`{name}` has no value"))
                .help(format!("write `{name} = …`"));
        }
        if name.ends_with("...") || rest.starts_with("...") {
            return HclProblem::new(span, "`...` is not HCL").help("write the rest, or remove it");
        }
        if error.message().contains("redefined") {
            let length = rest.find(|c: char| !c.is_alphanumeric() && !"_-".contains(c));
            let key = &rest[..length.unwrap_or(rest.len())];
            let span = self.span(at..at + key.len());
            return HclProblem::new(
                span,
                if key.is_empty() {
                    "a key is given twice".to_owned()
                } else {
                    format!("`{key}` is given twice")
                },
            )
            .help("remove one of them");
        }
        if rest.starts_with(['e', 'E']) && line.ends_with(|c: char| c.is_ascii_digit()) {
            return HclProblem::new(span, "the number is out of range");
        }
        let found = match rest.chars().next() {
            None | Some('\n') => "unexpected end of line".to_owned(),
            Some(c) => format!("unexpected `{}`", c.escape_default()),
        };
        let problem = HclProblem::new(span, found);
        match expected(error.message()) {
            Some(expected) => problem.help(format!("expected {expected}")),
            None => problem,
        }
    }

    fn items(&self, body: &Body) -> Vec<Item> {
        body.iter().map(|structure| self.item(structure)).collect()
    }

    fn item(&self, structure: &Structure) -> Item {
        match structure {
            Structure::Attribute(attribute) => Item::Attribute(Attribute {
                name: Label {
                    text: attribute.key.as_str().into(),
                    span: self.span_of(&attribute.key),
                },
                value: self.expr(&attribute.value),
                span: self.span_of(attribute),
            }),
            Structure::Block(block) => Item::Block(Block {
                kind: Label {
                    text: block.ident.as_str().into(),
                    span: self.span_of(&block.ident),
                },
                labels: block.labels.iter().map(|label| self.label(label)).collect(),
                items: self.items(&block.body),
                span: self.span_of(block),
            }),
        }
    }

    fn label(&self, label: &BlockLabel) -> Label {
        let span = match label {
            BlockLabel::Ident(name) => self.span_of(name),
            BlockLabel::String(text) => self.span_of(text),
        };
        Label {
            text: label.as_str().into(),
            span,
        }
    }

    /// Converts an expression.
    pub(crate) fn expr(&self, expr: &Expression) -> Expr {
        let span = self.span_of(expr);
        let kind = match expr {
            Expression::Null(_) => ExprKind::Null,
            Expression::Bool(value) => ExprKind::Bool(**value),
            Expression::Number(number) => {
                let written = self.text.get(span.range()).map(str::trim);
                let is_number = written.is_some_and(|text| text.parse::<f64>().is_ok());
                let written = written.filter(|_| is_number).map(Into::into);
                ExprKind::Number(written.unwrap_or_else(|| number.value().to_string().into()))
            }
            Expression::String(text) => ExprKind::Text(text.as_str().into()),
            Expression::Array(items) => {
                ExprKind::List(items.iter().map(|item| self.expr(item)).collect())
            }
            Expression::Object(object) => {
                let entry =
                    |(key, value): (&ObjectKey, &hcl_edit::expr::ObjectValue)| ObjectEntry {
                        key: self.key(key),
                        value: self.expr(value.expr()),
                    };
                ExprKind::Object(object.iter().map(entry).collect())
            }
            Expression::StringTemplate(template) => {
                text_or_template(template::convert(self, template.iter(), TextForm::Quoted))
            }
            Expression::HeredocTemplate(heredoc) => self.heredoc(heredoc, span),
            Expression::Parenthesis(inner) => return self.expr(inner.inner()),
            Expression::Variable(name) => ExprKind::Reference {
                root: name.as_str().into(),
                path: Vec::new(),
            },
            Expression::Conditional(parts) => ExprKind::Conditional(
                Box::new(self.expr(&parts.cond_expr)),
                Box::new(self.expr(&parts.true_expr)),
                Box::new(self.expr(&parts.false_expr)),
            ),
            Expression::FuncCall(call) => {
                let names = call.name.namespace.iter().chain([&call.name.name]);
                let names: Vec<&str> = names.map(|name| name.as_str()).collect();
                ExprKind::Call {
                    name: names.join("::").into(),
                    arguments: call
                        .args
                        .iter()
                        .map(|argument| self.expr(argument))
                        .collect(),
                    expands: call.args.expand_final(),
                }
            }
            Expression::Traversal(traversal) => self.traversal(traversal),
            Expression::UnaryOp(operation) => {
                let operator = match *operation.operator {
                    ParsedUnary::Neg => UnaryOperator::Negate,
                    ParsedUnary::Not => UnaryOperator::Not,
                };
                ExprKind::Unary(operator, Box::new(self.expr(&operation.expr)))
            }
            Expression::BinaryOp(operation) => ExprKind::Binary(
                Box::new(self.expr(&operation.lhs_expr)),
                binary(*operation.operator),
                Box::new(self.expr(&operation.rhs_expr)),
            ),
            Expression::ForExpr(parts) => ExprKind::For(Box::new(self.for_parts(parts))),
        };
        Expr::new(kind, span)
    }

    fn key(&self, key: &ObjectKey) -> Expr {
        match key {
            // A bare name is the key itself, not a reference.
            ObjectKey::Ident(name) | ObjectKey::Expression(Expression::Variable(name)) => {
                Expr::new(ExprKind::Text(name.as_str().into()), self.span_of(name))
            }
            ObjectKey::Expression(expr) => self.expr(expr),
        }
    }

    fn traversal(&self, traversal: &Traversal) -> ExprKind {
        let step = |operator: &TraversalOperator| match operator {
            TraversalOperator::GetAttr(name) => ReferenceStep::Name(name.as_str().into()),
            TraversalOperator::LegacyIndex(at) => ReferenceStep::Index(**at),
            TraversalOperator::AttrSplat(_) | TraversalOperator::FullSplat(_) => {
                ReferenceStep::Each
            }
            TraversalOperator::Index(expr) => {
                let expr = self.expr(expr);
                match &expr.kind {
                    ExprKind::Text(name) => ReferenceStep::Name(name.clone()),
                    ExprKind::Number(number) => match number.parse() {
                        Ok(at) => ReferenceStep::Index(at),
                        Err(_) => ReferenceStep::Computed(expr),
                    },
                    _ => ReferenceStep::Computed(expr),
                }
            }
        };
        let path: Vec<ReferenceStep> = traversal.operators.iter().map(|one| step(one)).collect();
        match self.expr(&traversal.expr) {
            Expr {
                kind:
                    ExprKind::Reference {
                        root,
                        path: mut before,
                    },
                ..
            } => {
                before.extend(path);
                ExprKind::Reference { root, path: before }
            }
            of => ExprKind::Member {
                of: Box::new(of),
                path,
            },
        }
    }

    fn for_parts(&self, parts: &ForExpr) -> LoopParts {
        LoopParts {
            key: parts
                .intro
                .key_var
                .as_ref()
                .map(|name| name.as_str().into()),
            value: parts.intro.value_var.as_str().into(),
            collection: self.expr(&parts.intro.collection_expr),
            result_key: parts.key_expr.as_ref().map(|key| self.expr(key)),
            result: self.expr(&parts.value_expr),
            condition: parts
                .cond
                .as_ref()
                .map(|condition| self.expr(&condition.expr)),
            groups: parts.grouping,
        }
    }

    /// Converts a heredoc. `<<-` removes the smallest indent of its lines.
    fn heredoc(&self, heredoc: &HeredocTemplate, span: Span) -> ExprKind {
        let raw = self.text.get(span.range()).unwrap_or_default();
        let start = raw.find('\n').map_or(raw.len(), |end| end + 1);
        let body = &raw[start..];
        // The last line is the marker.
        let body = body.trim_end_matches([' ', '\t', '\r', '\n']);
        let end = body.rfind('\n').map_or(0, |end| end + 1);
        let indent = if raw.starts_with("<<-") {
            template::indent(&body[..end])
        } else {
            0
        };
        let form = TextForm::Heredoc {
            indent,
            start: span.start as usize + start,
        };
        text_or_template(template::convert(self, heredoc.template.iter(), form))
    }
}

fn text_or_template(parts: Vec<TemplatePart>) -> ExprKind {
    match <[TemplatePart; 1]>::try_from(parts) {
        Ok([TemplatePart::Text(text)]) => ExprKind::Text(text),
        Ok([part]) => ExprKind::Template(vec![part]),
        Err(parts) if parts.is_empty() => ExprKind::Text(Box::default()),
        Err(parts) => ExprKind::Template(parts),
    }
}

fn binary(operator: ParsedBinary) -> BinaryOperator {
    match operator {
        ParsedBinary::Eq => BinaryOperator::Equal,
        ParsedBinary::NotEq => BinaryOperator::NotEqual,
        ParsedBinary::LessEq => BinaryOperator::LessOrEqual,
        ParsedBinary::GreaterEq => BinaryOperator::GreaterOrEqual,
        ParsedBinary::Less => BinaryOperator::Less,
        ParsedBinary::Greater => BinaryOperator::Greater,
        ParsedBinary::Plus => BinaryOperator::Add,
        ParsedBinary::Minus => BinaryOperator::Subtract,
        ParsedBinary::Mul => BinaryOperator::Multiply,
        ParsedBinary::Div => BinaryOperator::Divide,
        ParsedBinary::Mod => BinaryOperator::Remainder,
        ParsedBinary::And => BinaryOperator::And,
        ParsedBinary::Or => BinaryOperator::Or,
    }
}

/// Returns what the parser expected, in its words.
fn expected(message: &str) -> Option<&str> {
    let (_, expected) = message.split_once("expected ")?;
    Some(expected.trim())
}
