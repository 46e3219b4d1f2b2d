//! Writes blocks and expressions as HCL that [`crate::parse`] reads back equal.

use prowess_diag::sanitize;

use crate::tree::{
    BinaryOperator, Block, Expr, ExprKind, Item, LoopParts, ReferenceStep, TemplatePart,
    UnaryOperator,
};
use crate::value::Value;

/// Lists and objects that are longer are written on several lines.
const LINE: usize = 80;
/// The marker of heredocs.
const MARKER: &str = "EOT";

/// Writes a block, with a line break at the end.
pub fn write_block(block: &Block) -> String {
    let mut out = String::new();
    push_block(&mut out, block, 0);
    out
}

/// Writes a text in quotation marks.
pub fn write_text(text: &str) -> String {
    let mut out = String::from("\"");
    push_text(&mut out, text, TextPlace::Whole);
    out.push('"');
    out
}

/// Writes an expression on one line.
pub fn write_expression(expr: &Expr) -> String {
    let mut out = String::new();
    push_expr(&mut out, expr);
    out
}

/// Converts a value to the expression that has it.
pub fn value_expression(value: &Value) -> Expr {
    let kind = match value {
        Value::Null => ExprKind::Null,
        Value::Bool(value) => ExprKind::Bool(*value),
        Value::Number(number) => ExprKind::Number(number.clone()),
        Value::Text(text) => ExprKind::Text(text.clone()),
        Value::List(items) => ExprKind::List(items.iter().map(value_expression).collect()),
        Value::Object(entries) => {
            let entry = |(key, value): &(Box<str>, Value)| crate::tree::ObjectEntry {
                key: Expr::new(ExprKind::Text(key.clone()), prowess_diag::Span::default()),
                value: value_expression(value),
            };
            ExprKind::Object(entries.iter().map(entry).collect())
        }
        Value::Late(expr) => return (**expr).clone(),
    };
    Expr::new(kind, prowess_diag::Span::default())
}

/// Returns the text of a value. What is not known yet stays an expression: `${vars.x}`.
pub fn value_text(value: &Value) -> String {
    fn push(parts: &[TemplatePart], out: &mut String) {
        for part in parts {
            match part {
                TemplatePart::Text(text) => out.push_str(text),
                TemplatePart::Hole(expr) => {
                    out.push_str(&format!("${{{}}}", write_expression(expr)));
                }
                other => {
                    let kind = ExprKind::Template(vec![other.clone()]);
                    let written = write_expression(&Expr::new(kind, prowess_diag::Span::default()));
                    out.push_str(written.trim_matches('"'));
                }
            }
        }
    }
    match value {
        Value::Text(text) => text.to_string(),
        Value::Null => String::new(),
        Value::Late(expr) => match &expr.kind {
            ExprKind::Template(parts) => {
                let mut out = String::new();
                push(parts, &mut out);
                out
            }
            _ => format!("${{{}}}", write_expression(expr)),
        },
        other => write_expression(&value_expression(other)),
    }
}

/// Returns `true` for a name that needs no quotation marks.
pub fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

fn push_block(out: &mut String, block: &Block, depth: usize) {
    indent(out, depth);
    out.push_str(&block.kind.text);
    for label in &block.labels {
        out.push_str(" \"");
        push_text(out, &label.text, TextPlace::Label);
        out.push('"');
    }
    if block.items.is_empty() {
        out.push_str(" {}\n");
        return;
    }
    out.push_str(" {\n");
    let names = block.attributes().map(|one| one.name.text.chars().count());
    let width = names.max().unwrap_or(0);
    for (at, item) in block.items.iter().enumerate() {
        match item {
            Item::Attribute(attribute) => {
                indent(out, depth + 1);
                out.push_str(&attribute.name.text);
                let length = attribute.name.text.chars().count();
                out.extend(std::iter::repeat_n(' ', width - length));
                out.push_str(" = ");
                push_value(out, &attribute.value, depth + 1);
                out.push('\n');
            }
            Item::Block(inner) => {
                if at > 0 {
                    out.push('\n');
                }
                push_block(out, inner, depth + 1);
            }
        }
    }
    indent(out, depth);
    out.push_str("}\n");
}

fn indent(out: &mut String, depth: usize) {
    out.extend(std::iter::repeat_n(' ', depth * 2));
}

/// Writes the value of an attribute or of an entry, on several lines if it is long.
fn push_value(out: &mut String, expr: &Expr, depth: usize) {
    if let Some(text) = heredoc(expr) {
        out.push_str(&text);
        return;
    }
    let line = write_expression(expr);
    match &expr.kind {
        ExprKind::List(items) if line.len() > LINE => {
            out.push_str("[\n");
            for item in items {
                indent(out, depth + 1);
                push_value_item(out, item, depth + 1);
                out.push_str(",\n");
            }
            indent(out, depth);
            out.push(']');
        }
        ExprKind::Object(entries) if line.len() > LINE => {
            out.push_str("{\n");
            for entry in entries {
                indent(out, depth + 1);
                push_key(out, &entry.key);
                out.push_str(" = ");
                push_value_item(out, &entry.value, depth + 1);
                out.push('\n');
            }
            indent(out, depth);
            out.push('}');
        }
        _ => out.push_str(&line),
    }
}

/// Like [`push_value`], inside brackets, where a heredoc cannot be followed by a comma.
fn push_value_item(out: &mut String, expr: &Expr, depth: usize) {
    if matches!(expr.kind, ExprKind::List(_) | ExprKind::Object(_)) {
        push_value(out, expr, depth);
    } else {
        push_expr(out, expr);
    }
}

/// Returns a text of several lines as a heredoc, if it reads back equal.
fn heredoc(expr: &Expr) -> Option<String> {
    let text;
    let parts: &[TemplatePart] = match &expr.kind {
        ExprKind::Text(plain) => {
            text = [TemplatePart::Text(plain.clone())];
            &text
        }
        ExprKind::Template(parts) => parts,
        _ => return None,
    };
    let last = parts.last().and_then(|part| match part {
        TemplatePart::Text(text) => text.strip_suffix('\n'),
        _ => None,
    })?;
    let mut body = String::new();
    for (at, part) in parts.iter().enumerate() {
        match part {
            TemplatePart::Text(text) => {
                let is_plain = |c: char| {
                    c == '\n' || c == '\t' || !c.is_control() && !sanitize::is_deceptive(c)
                };
                let is_before_hole = at + 1 < parts.len() && text.ends_with(['$', '%']);
                if !text.chars().all(is_plain) || is_before_hole {
                    return None;
                }
                body.push_str(&text.replace("${", "$${").replace("%{", "%%{"));
            }
            TemplatePart::Hole(hole) => push_hole(&mut body, hole),
            TemplatePart::If { .. } | TemplatePart::For { .. } => return None,
        }
    }
    let is_marker = |line: &str| line.trim() == MARKER;
    let has_lines = last.contains('\n') || parts.len() > 1;
    (has_lines && !body.lines().any(is_marker)).then(|| format!("<<{MARKER}\n{body}{MARKER}"))
}

fn push_hole(out: &mut String, expr: &Expr) {
    out.push_str("${");
    push_expr(out, expr);
    out.push('}');
}

/// The place of a text in quotation marks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextPlace {
    /// A whole expression.
    Whole,
    /// A part of a template that something else may follow.
    BeforeHole,
    /// The label of a block, which has no holes and no escapes for them.
    Label,
}

/// Writes the characters of a text.
fn push_text(out: &mut String, text: &str, place: TextPlace) {
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '$' | '%' if place == TextPlace::Label => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            '$' | '%' if characters.peek() == Some(&'{') => {
                out.push(c);
                out.push(c);
            }
            '$' | '%' if place == TextPlace::BeforeHole && characters.peek().is_none() => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c if c.is_control() || sanitize::is_deceptive(c) || is_separator(c) => {
                let code = u32::from(c);
                if code > 0xffff {
                    out.push_str(&format!("\\U{code:08x}"));
                } else {
                    out.push_str(&format!("\\u{code:04x}"));
                }
            }
            c => out.push(c),
        }
    }
}

fn is_separator(c: char) -> bool {
    matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}')
}

fn push_parts(out: &mut String, parts: &[TemplatePart]) {
    for part in parts {
        match part {
            // What follows is a hole, a directive, or the end of the enclosing directive.
            TemplatePart::Text(text) => push_text(out, text, TextPlace::BeforeHole),
            TemplatePart::Hole(expr) => push_hole(out, expr),
            TemplatePart::If {
                condition,
                then,
                otherwise,
            } => {
                out.push_str("%{ if ");
                push_expr(out, condition);
                out.push_str(" }");
                push_parts(out, then);
                if !otherwise.is_empty() {
                    out.push_str("%{ else }");
                    push_parts(out, otherwise);
                }
                out.push_str("%{ endif }");
            }
            TemplatePart::For {
                key,
                value,
                collection,
                body,
            } => {
                out.push_str("%{ for ");
                push_variables(out, key.as_deref(), value);
                out.push_str(" in ");
                push_expr(out, collection);
                out.push_str(" }");
                push_parts(out, body);
                out.push_str("%{ endfor }");
            }
        }
    }
}

fn push_variables(out: &mut String, key: Option<&str>, value: &str) {
    if let Some(key) = key {
        out.push_str(key);
        out.push_str(", ");
    }
    out.push_str(value);
}

fn push_expr(out: &mut String, expr: &Expr) {
    match &expr.kind {
        ExprKind::Null => out.push_str("null"),
        ExprKind::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        ExprKind::Number(number) => out.push_str(number),
        ExprKind::Text(text) => out.push_str(&write_text(text)),
        ExprKind::Template(parts) => {
            out.push('"');
            push_parts(out, parts);
            out.push('"');
        }
        ExprKind::List(items) => {
            out.push('[');
            push_all(out, items);
            out.push(']');
        }
        ExprKind::Object(entries) if entries.is_empty() => out.push_str("{}"),
        ExprKind::Object(entries) => {
            out.push_str("{ ");
            for (at, entry) in entries.iter().enumerate() {
                if at > 0 {
                    out.push_str(", ");
                }
                push_key(out, &entry.key);
                out.push_str(" = ");
                push_expr(out, &entry.value);
            }
            out.push_str(" }");
        }
        ExprKind::Reference { root, path } => {
            out.push_str(root);
            push_path(out, path);
        }
        ExprKind::Member { of, path } => {
            push_operand(out, of);
            push_path(out, path);
        }
        ExprKind::Call {
            name,
            arguments,
            expands,
        } => {
            out.push_str(name);
            out.push('(');
            push_all(out, arguments);
            if *expands {
                out.push_str("...");
            }
            out.push(')');
        }
        ExprKind::Unary(operator, operand) => {
            out.push(match operator {
                UnaryOperator::Negate => '-',
                UnaryOperator::Not => '!',
            });
            push_operand(out, operand);
        }
        ExprKind::Binary(left, operator, right) => {
            push_operand(out, left);
            out.push_str(sign(*operator));
            push_operand(out, right);
        }
        ExprKind::Conditional(condition, then, otherwise) => {
            push_operand(out, condition);
            out.push_str(" ? ");
            push_operand(out, then);
            out.push_str(" : ");
            push_operand(out, otherwise);
        }
        ExprKind::For(parts) => push_loop(out, parts),
    }
}

/// Writes an expression that is part of another one.
fn push_operand(out: &mut String, expr: &Expr) {
    let is_simple = matches!(
        expr.kind,
        ExprKind::Null | ExprKind::Bool(_) | ExprKind::Text(_) | ExprKind::Reference { .. }
    );
    if is_simple {
        return push_expr(out, expr);
    }
    out.push('(');
    push_expr(out, expr);
    out.push(')');
}

fn push_all(out: &mut String, items: &[Expr]) {
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        push_expr(out, item);
    }
}

fn push_key(out: &mut String, key: &Expr) {
    match &key.kind {
        // `for` would begin a loop.
        ExprKind::Text(name) if is_identifier(name) && &**name != "for" => out.push_str(name),
        ExprKind::Text(name) => out.push_str(&write_text(name)),
        ExprKind::Template(_) => push_expr(out, key),
        _ => {
            out.push('(');
            push_expr(out, key);
            out.push(')');
        }
    }
}

fn push_path(out: &mut String, path: &[ReferenceStep]) {
    for step in path {
        match step {
            ReferenceStep::Name(name) if is_identifier(name) => {
                out.push('.');
                out.push_str(name);
            }
            ReferenceStep::Name(name) => {
                out.push('[');
                out.push_str(&write_text(name));
                out.push(']');
            }
            ReferenceStep::Index(at) => out.push_str(&format!("[{at}]")),
            ReferenceStep::Computed(expr) => {
                out.push('[');
                push_expr(out, expr);
                out.push(']');
            }
            ReferenceStep::Each => out.push_str("[*]"),
        }
    }
}

fn push_loop(out: &mut String, parts: &LoopParts) {
    let is_object = parts.result_key.is_some();
    out.push_str(if is_object { "{for " } else { "[for " });
    push_variables(out, parts.key.as_deref(), &parts.value);
    out.push_str(" in ");
    push_operand(out, &parts.collection);
    out.push_str(" : ");
    if let Some(key) = &parts.result_key {
        push_operand(out, key);
        out.push_str(" => ");
    }
    push_operand(out, &parts.result);
    if parts.groups {
        out.push_str("...");
    }
    if let Some(condition) = &parts.condition {
        out.push_str(" if ");
        push_operand(out, condition);
    }
    out.push(if is_object { '}' } else { ']' });
}

fn sign(operator: BinaryOperator) -> &'static str {
    match operator {
        BinaryOperator::Add => " + ",
        BinaryOperator::Subtract => " - ",
        BinaryOperator::Multiply => " * ",
        BinaryOperator::Divide => " / ",
        BinaryOperator::Remainder => " % ",
        BinaryOperator::Equal => " == ",
        BinaryOperator::NotEqual => " != ",
        BinaryOperator::Less => " < ",
        BinaryOperator::LessOrEqual => " <= ",
        BinaryOperator::Greater => " > ",
        BinaryOperator::GreaterOrEqual => " >= ",
        BinaryOperator::And => " && ",
        BinaryOperator::Or => " || ",
    }
}
