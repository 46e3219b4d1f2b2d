//! Reads the fields of inputs, outputs and datasets.

use prowess_diag::Span;
use prowess_hcl::{Block, Expr, ExprKind, Value};

use super::reader::{Context, Names, Reader, name_of};
use super::rules;
use super::schema::{Field, FieldType, TYPE_WORDS};
use crate::file_reader::shown;

/// Maximum depth of types in a schema.
const MAX_TYPE_DEPTH: usize = 16;

impl Reader<'_> {
    /// Reads fields: a block with `field` blocks, or an object with the types of fields.
    pub(super) fn fields(
        &mut self,
        file: usize,
        block: &Block,
        name: &str,
        are_inputs: bool,
    ) -> Vec<Field> {
        let mut fields: Vec<Field> = Vec::new();
        let mut names = Names::new();
        let inner = block.blocks().filter(|one| *one.kind.text == *name);
        let mut has_block = None;
        for inner in inner {
            has_block = Some(inner.kind.span);
            for one in inner.blocks().filter(|one| &*one.kind.text == "field") {
                let Some((field_name, span)) = name_of(one) else {
                    continue;
                };
                let is_new = self.declare(file, "field", &field_name, span, &mut names);
                if let Some(field) = self.field_block(file, one, field_name, are_inputs)
                    && is_new
                {
                    fields.push(field);
                }
            }
        }
        let Some(attribute) = block.attribute(name) else {
            return fields;
        };
        if let Some(span) = has_block {
            let message = format!("`{name}` is given as a block and as an attribute");
            self.report(file, rules::VALUE, span, message, "keep one of them");
        }
        fields.extend(self.object_fields(file, &attribute.value, 0, are_inputs));
        fields
    }

    /// Reads a `field` or an `input` block.
    pub(super) fn field_block(
        &mut self,
        file: usize,
        block: &Block,
        name: Box<str>,
        is_input: bool,
    ) -> Option<Field> {
        let description = self.text(file, block, "description", Context::MODEL);
        let is_required = self.flag(file, block, "required").unwrap_or(false);
        let is_protected = self.flag(file, block, "protected").unwrap_or(false)
            || self.flag_or_old_secret(file, block);
        let value = self.text(file, block, "value", Context::PROGRAM);
        let kind = self.type_word(file, block);
        let default = block.attribute("default").and_then(|attribute| {
            let value = self.value(file, &attribute.value, Context::MODEL)?;
            Some((value, attribute.value.span))
        });
        let kind = kind?;
        if is_input {
            if is_protected && block.attribute("value").is_none() {
                let message = format!("the protected input `{}` has no `value`", shown(&name));
                let help = "add `value = vars.NAME`, with a secret variable";
                self.report(file, rules::VALUE, block.head(), message, help);
            }
            if let Some(attribute) = block.attribute("value")
                && !is_protected
            {
                let message = "`value` needs `protected = true`";
                let help = "write `default` for a value that can be replaced";
                self.report(file, rules::VALUE, attribute.name.span, message, help);
            }
        }
        let default =
            default.and_then(|(value, span)| self.default(file, &name, &kind, value, span));
        Some(Field {
            name,
            kind,
            description,
            is_required,
            default,
            is_protected,
            value,
        })
    }

    /// Returns `true` for `secret = true`, which the table of blocks has reported.
    fn flag_or_old_secret(&mut self, file: usize, block: &Block) -> bool {
        block.attribute("secret").is_some() && self.flag(file, block, "secret").unwrap_or(true)
    }

    /// Checks the default of a field.
    fn default(
        &mut self,
        file: usize,
        name: &str,
        kind: &FieldType,
        value: Value,
        span: Span,
    ) -> Option<Value> {
        if value == Value::Null {
            return None;
        }
        let value = match (kind, value) {
            // As on the command line, a text is converted.
            (kind, Value::Text(text)) if *kind != FieldType::String => {
                kind.convert(&text).unwrap_or(Value::Text(text))
            }
            (FieldType::String, Value::Number(number)) => Value::Text(number),
            (_, value) => value,
        };
        if let Err(fault) = kind.check(&value, "") {
            let message = format!(
                "the default of `{}` has the wrong type: {fault}",
                shown(name)
            );
            let help = format!("write {}", kind.noun());
            self.report(file, rules::VALUE, span, message, help);
            return None;
        }
        Some(value)
    }

    fn type_word(&mut self, file: usize, block: &Block) -> Option<FieldType> {
        let expr = &block.attribute("type")?.value;
        if let ExprKind::Call { .. } = expr.kind {
            return self.field_type(file, expr, 0).map(|(kind, _)| kind);
        }
        let word = match &expr.kind {
            ExprKind::Reference { root, path } if path.is_empty() => Some(root.clone()),
            _ => match self.value(file, expr, Context::PROGRAM)? {
                Value::Text(text) => Some(text),
                other => {
                    self.wrong(file, "type", expr.span, "text", &other);
                    return None;
                }
            },
        };
        let word = word.unwrap_or_default();
        self.parse_type(file, &word, expr.span)
    }

    fn parse_type(&mut self, file: usize, word: &str, span: Span) -> Option<FieldType> {
        let found = FieldType::parse(word.trim());
        if found.is_none() {
            let message = format!("unknown type `{}`", shown(word));
            let known = TYPE_WORDS.iter().map(|word| format!("`{word}`"));
            let known = format!("the types are {}", prowess_diag::wording::all(known));
            let near = prowess_diag::suggest::nearest(word, TYPE_WORDS);
            let help = near.map_or(known, |near| format!("did you mean `{near}`?"));
            self.report(file, rules::VALUE, span, message, help);
        }
        found
    }

    /// Reads the fields of an object such as `{ city = string("City", true) }`.
    fn object_fields(
        &mut self,
        file: usize,
        expr: &Expr,
        depth: usize,
        are_inputs: bool,
    ) -> Vec<Field> {
        let ExprKind::Object(entries) = &expr.kind else {
            let message = format!("expected an object with fields, found {}", expr.kind_name());
            let help = "write `{ name = string(\"…\") }`";
            self.report(file, rules::VALUE, expr.span, message, help);
            return Vec::new();
        };
        if depth > MAX_TYPE_DEPTH {
            let message = "the type is nested too deeply";
            self.report(file, rules::VALUE, expr.span, message, "");
            return Vec::new();
        }
        let mut fields: Vec<Field> = Vec::new();
        for entry in entries {
            let ExprKind::Text(name) = &entry.key.kind else {
                let message = "the name of a field must be known";
                self.report(file, rules::VALUE, entry.key.span, message, "write a name");
                continue;
            };
            if fields.iter().any(|field| field.name == *name) {
                let message = format!("the field `{}` is defined twice", shown(name));
                self.report(
                    file,
                    rules::NAME,
                    entry.key.span,
                    message,
                    "remove one of them",
                );
                continue;
            }
            if let Some((kind, rest)) = self.field_type(file, &entry.value, depth) {
                fields.push(self.field(file, name, kind, rest, are_inputs));
            }
        }
        fields
    }

    /// Reads a type: a word, or a call such as `list(string, "…")`. Returns the remaining arguments.
    fn field_type<'e>(
        &mut self,
        file: usize,
        expr: &'e Expr,
        depth: usize,
    ) -> Option<(FieldType, &'e [Expr])> {
        if depth > MAX_TYPE_DEPTH {
            let message = "the type is nested too deeply";
            self.report(file, rules::VALUE, expr.span, message, "");
            return None;
        }
        match &expr.kind {
            ExprKind::Reference { root, path } if path.is_empty() => {
                let kind = self.parse_type(file, root, expr.span)?;
                Some((kind, &[]))
            }
            ExprKind::Text(word) => Some((self.parse_type(file, word, expr.span)?, &[])),
            ExprKind::Call {
                name, arguments, ..
            } => match (&**name, &**arguments) {
                ("list", [inner, rest @ ..]) => {
                    let (inner, _) = self.field_type(file, inner, depth + 1)?;
                    Some((FieldType::List(Box::new(inner)), rest))
                }
                ("map", [inner, rest @ ..]) => {
                    let (inner, _) = self.field_type(file, inner, depth + 1)?;
                    Some((FieldType::Map(Box::new(inner)), rest))
                }
                ("object", [fields, rest @ ..]) => {
                    let fields = self.object_fields(file, fields, depth + 1, false);
                    Some((FieldType::Object(fields), rest))
                }
                ("list" | "map" | "object", []) => {
                    let message = format!("`{name}` needs a type");
                    let help = format!("write `{name}(string, \"…\")`");
                    self.report(file, rules::VALUE, expr.span, message, help);
                    None
                }
                (word, rest) => Some((self.parse_type(file, word, expr.span)?, rest)),
            },
            _ => {
                let message = format!("expected a type, found {}", expr.kind_name());
                let help = "write a type such as `string(\"…\")`";
                self.report(file, rules::VALUE, expr.span, message, help);
                None
            }
        }
    }

    /// Reads the description and the options of a field.
    fn field(
        &mut self,
        file: usize,
        name: &str,
        kind: FieldType,
        rest: &[Expr],
        is_input: bool,
    ) -> Field {
        let mut field = Field {
            name: name.into(),
            kind,
            description: None,
            is_required: false,
            default: None,
            is_protected: false,
            value: None,
        };
        if let Some(extra) = rest.get(2) {
            let message = "too many arguments for a type";
            let help = "write the description, then `true` if it is required";
            self.report(file, rules::VALUE, extra.span, message, help);
        }
        for (at, expr) in rest.iter().take(2).enumerate() {
            match (at, &expr.kind) {
                (_, ExprKind::Bool(is_required)) => field.is_required = *is_required,
                (_, ExprKind::Object(entries)) => {
                    for entry in entries {
                        self.field_option(file, &mut field, &entry.key, &entry.value, is_input);
                    }
                }
                (0, _) => {
                    field.description = self.text_of(file, "description", expr, Context::MODEL);
                }
                _ => {
                    let found = expr.kind_name();
                    let message = format!("expected `true`, `false` or options, found {found}");
                    let help = "write `true` if the field is required";
                    self.report(file, rules::VALUE, expr.span, message, help);
                }
            }
        }
        field
    }

    fn field_option(
        &mut self,
        file: usize,
        field: &mut Field,
        key: &Expr,
        expr: &Expr,
        is_input: bool,
    ) {
        let name = match &key.kind {
            ExprKind::Text(name) => &**name,
            _ => "",
        };
        let flag = match &expr.kind {
            ExprKind::Bool(flag) => Some(*flag),
            _ => None,
        };
        match (name, flag) {
            ("required", Some(flag)) => field.is_required = flag,
            ("protected", Some(flag)) => field.is_protected = flag,
            ("required" | "protected", None) => {
                let message = format!("`{name}` is {}, not `true` or `false`", expr.kind_name());
                self.report(
                    file,
                    rules::VALUE,
                    expr.span,
                    message,
                    "write `true` or `false`",
                );
            }
            ("default", _) => {
                if let Some(value) = self.value(file, expr, Context::MODEL) {
                    let kind = field.kind.clone();
                    field.default = self.default(file, &field.name, &kind, value, expr.span);
                }
            }
            ("value", _) if is_input => {
                field.value = self.text_of(file, "value", expr, Context::PROGRAM);
            }
            _ => {
                let message = format!("unknown option `{}` of a field", shown(name));
                let known = ["required", "default", "protected"];
                let help = match prowess_diag::suggest::nearest(name, known) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "the options are `required`, `default` and `protected`".to_owned(),
                };
                self.report(file, rules::KEY, key.span, message, help);
            }
        }
    }
}
