//! Evaluates expressions, within limits.

use std::cell::Cell;

use prowess_diag::{Span, suggest};

use crate::tree::{
    BinaryOperator, Expr, ExprKind, HclProblem, LoopParts, ObjectEntry, ReferenceStep,
    TemplatePart, UnaryOperator,
};
use crate::value::Value;

/// Maximum number of steps in one evaluation.
pub const MAX_STEPS: u32 = 100_000;
/// Maximum number of bytes of text that one evaluation creates.
pub const MAX_TEXT: usize = 4 * 1024 * 1024;

/// The names and functions that an expression can use.
pub trait EvalScope {
    /// Resolves the first name of a reference.
    fn resolve(&self, root: &str) -> Resolved<'_>;

    /// Calls a function. `None` if it does not exist.
    fn call(&self, call: &FunctionCall<'_>) -> Option<Result<Value, HclProblem>>;

    /// Returns the names for suggestions.
    fn names(&self) -> Vec<&str>;
}

/// The meaning of a name.
#[derive(Clone, Copy, Debug)]
pub enum Resolved<'s> {
    /// A value.
    Known(&'s Value),
    /// A value that is known later.
    Late,
    /// No such name.
    Unknown,
}

/// A call of a function.
#[derive(Clone, Copy, Debug)]
pub struct FunctionCall<'c> {
    /// The name of the function.
    pub name: &'c str,
    /// The arguments. Some may be late.
    pub arguments: &'c [Value],
    /// The place of the call.
    pub span: Span,
}

/// Evaluates an expression. What depends on late names stays an expression in [`Value::Late`].
pub fn evaluate(expr: &Expr, scope: &dyn EvalScope) -> Result<Value, HclProblem> {
    evaluate_within(expr, scope, &Cell::new(usize::MAX))
}

/// Like [`evaluate`], with a number of bytes of text that several evaluations may create together.
pub fn evaluate_within(
    expr: &Expr,
    scope: &dyn EvalScope,
    left: &Cell<usize>,
) -> Result<Value, HclProblem> {
    let mut evaluation = Evaluation {
        scope,
        locals: Vec::new(),
        steps: 0,
        text: 0,
        left,
    };
    evaluation.eval(expr)
}

/// The key, if the loop makes an object, and the value.
type LoopResult = (Option<Box<str>>, Value);

struct Evaluation<'s> {
    scope: &'s dyn EvalScope,
    /// The variables of loops, innermost last.
    locals: Vec<(Box<str>, Value)>,
    steps: u32,
    text: usize,
    left: &'s Cell<usize>,
}

impl Evaluation<'_> {
    fn step(&mut self, span: Span) -> Result<(), HclProblem> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            let message = format!("the expression takes more than {MAX_STEPS} steps");
            return Err(HclProblem::new(span, message).help("shorten its loops"));
        }
        Ok(())
    }

    fn made(&mut self, bytes: usize, span: Span) -> Result<(), HclProblem> {
        self.text = self.text.saturating_add(bytes);
        if self.text > MAX_TEXT {
            let message = format!("the text is longer than {} MiB", MAX_TEXT / 1024 / 1024);
            return Err(HclProblem::new(span, message));
        }
        let Some(left) = self.left.get().checked_sub(bytes) else {
            let message = "all texts together are too long";
            return Err(HclProblem::new(span, message)
                .help("use a long text once, for example in a skill of several agents"));
        };
        self.left.set(left);
        Ok(())
    }

    fn eval(&mut self, expr: &Expr) -> Result<Value, HclProblem> {
        self.step(expr.span)?;
        let span = expr.span;
        match &expr.kind {
            ExprKind::Null => Ok(Value::Null),
            ExprKind::Bool(value) => Ok(Value::Bool(*value)),
            ExprKind::Number(number) => Ok(Value::Number(number.clone())),
            ExprKind::Text(text) => {
                self.made(text.len(), span)?;
                Ok(Value::Text(text.clone()))
            }
            // A text that is one hole has the value of the hole.
            ExprKind::Template(parts) if let [TemplatePart::Hole(hole)] = &**parts => {
                self.eval(hole)
            }
            ExprKind::Template(parts) => {
                let mut out = TemplateOutput::default();
                self.parts(parts, span, &mut out)?;
                Ok(text_of(out.finish(), span))
            }
            ExprKind::List(items) => {
                let items = items.iter().map(|item| self.eval(item));
                items.collect::<Result<_, _>>().map(Value::List)
            }
            ExprKind::Object(entries) => self.object(entries, span),
            ExprKind::Reference { root, path } => self.reference(root, path, span),
            ExprKind::Member { of, path } => {
                let value = self.eval(of)?;
                self.member(value, path, span)
            }
            ExprKind::Call {
                name,
                arguments,
                expands,
            } => self.call(name, arguments, *expands, span),
            ExprKind::Unary(operator, operand) => {
                let value = self.eval(operand)?;
                unary(*operator, value, operand.span, span)
            }
            ExprKind::Binary(left, operator, right) => self.binary(left, *operator, right, span),
            ExprKind::Conditional(condition, then, otherwise) => match self.eval(condition)? {
                Value::Bool(true) => self.eval(then),
                Value::Bool(false) => self.eval(otherwise),
                late @ Value::Late(_) => {
                    let (then, otherwise) = (self.eval(then)?, self.eval(otherwise)?);
                    let parts =
                        [late, then, otherwise].map(|value| Box::new(residual(value, span)));
                    let [late, then, otherwise] = parts;
                    Ok(Value::Late(Box::new(Expr::new(
                        ExprKind::Conditional(late, then, otherwise),
                        span,
                    ))))
                }
                other => Err(wrong(condition.span, "a boolean", &other)),
            },
            ExprKind::For(parts) => self.for_each(parts, span),
        }
    }

    fn object(&mut self, entries: &[ObjectEntry], span: Span) -> Result<Value, HclProblem> {
        let mut out: Vec<(Box<str>, Value)> = Vec::with_capacity(entries.len());
        let mut late = Vec::new();
        for entry in entries {
            let key = self.eval(&entry.key)?;
            let value = self.eval(&entry.value)?;
            match key {
                Value::Text(key) | Value::Number(key) => {
                    if out.iter().any(|(known, _)| *known == key) {
                        let message = format!("the key `{key}` is given twice");
                        return Err(HclProblem::new(entry.key.span, message));
                    }
                    out.push((key, value));
                }
                key @ Value::Late(_) => late.push(ObjectEntry {
                    key: residual(key, span),
                    value: residual(value, span),
                }),
                other => return Err(wrong(entry.key.span, "text", &other)),
            }
        }
        if late.is_empty() {
            return Ok(Value::Object(out));
        }
        let known = out.into_iter().map(|(key, value)| ObjectEntry {
            key: Expr::new(ExprKind::Text(key), span),
            value: residual(value, span),
        });
        let entries = known.chain(late).collect();
        Ok(Value::Late(Box::new(Expr::new(
            ExprKind::Object(entries),
            span,
        ))))
    }

    fn reference(
        &mut self,
        root: &str,
        path: &[ReferenceStep],
        span: Span,
    ) -> Result<Value, HclProblem> {
        let local = self.locals.iter().rev().find(|(name, _)| **name == *root);
        if let Some((_, value)) = local {
            let value = value.clone();
            self.step(span)?;
            return self.member(value, path, span);
        }
        match self.scope.resolve(root) {
            Resolved::Known(value) => self.path(value, path, span),
            Resolved::Late => {
                let path = self.late_path(path)?;
                let kind = ExprKind::Reference {
                    root: root.into(),
                    path,
                };
                Ok(Value::Late(Box::new(Expr::new(kind, span))))
            }
            Resolved::Unknown => {
                let problem = HclProblem::new(span, format!("unknown name `{root}`"));
                Err(match suggest::nearest(root, self.scope.names()) {
                    Some(near) => problem.help(format!("did you mean `{near}`?")),
                    None => problem,
                })
            }
        }
    }

    /// Evaluates the computed steps of a path into something that is not known yet.
    fn late_path(&mut self, path: &[ReferenceStep]) -> Result<Vec<ReferenceStep>, HclProblem> {
        let step = |step: &ReferenceStep| match step {
            ReferenceStep::Computed(expr) => {
                let span = expr.span;
                Ok(match self.eval(expr)? {
                    Value::Text(name) => ReferenceStep::Name(name),
                    value => ReferenceStep::Computed(residual(value, span)),
                })
            }
            other => Ok(other.clone()),
        };
        path.iter().map(step).collect()
    }

    /// Follows a path without copying what it passes.
    fn path(
        &mut self,
        mut value: &Value,
        path: &[ReferenceStep],
        span: Span,
    ) -> Result<Value, HclProblem> {
        for (number, step) in path.iter().enumerate() {
            self.step(span)?;
            value = match (step, value) {
                (ReferenceStep::Name(name), Value::Object(entries)) => entry(entries, name, span)?,
                (ReferenceStep::Index(at), Value::List(items)) => item(items, *at, span)?,
                _ => return self.member(value.clone(), &path[number..], span),
            };
        }
        self.made(size(value), span)?;
        Ok(match value.clone() {
            // What is not known yet is reported at this reference.
            Value::Late(expr) => Value::Late(Box::new(Expr::new(expr.kind, span))),
            known => known,
        })
    }

    fn member(
        &mut self,
        value: Value,
        path: &[ReferenceStep],
        span: Span,
    ) -> Result<Value, HclProblem> {
        let Some((first, rest)) = path.split_first() else {
            return Ok(value);
        };
        self.step(span)?;
        let next = match (first, value) {
            (_, Value::Late(expr)) => {
                let path = self.late_path(path)?;
                let kind = match *expr {
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
                };
                return Ok(Value::Late(Box::new(Expr::new(kind, span))));
            }
            (ReferenceStep::Name(name), Value::Object(entries)) => {
                entry(&entries, name, span)?.clone()
            }
            (ReferenceStep::Index(at), Value::List(items)) => item(&items, *at, span)?.clone(),
            (ReferenceStep::Each, Value::List(items)) => {
                let each = items.into_iter().map(|item| self.member(item, rest, span));
                return each.collect::<Result<_, _>>().map(Value::List);
            }
            (ReferenceStep::Computed(expr), value) => {
                let step = match self.eval(expr)? {
                    Value::Text(name) => ReferenceStep::Name(name),
                    Value::Number(number) => match number.parse() {
                        Ok(at) => ReferenceStep::Index(at),
                        Err(_) => {
                            return Err(HclProblem::new(expr.span, "an index is a whole number"));
                        }
                    },
                    Value::Late(expr) => {
                        let of = Box::new(residual(value, span));
                        let mut path = vec![ReferenceStep::Computed(*expr)];
                        path.extend(self.late_path(rest)?);
                        let kind = ExprKind::Member { of, path };
                        return Ok(Value::Late(Box::new(Expr::new(kind, span))));
                    }
                    other => return Err(wrong(expr.span, "a name or an index", &other)),
                };
                self.member(value, &[step], span)?
            }
            (ReferenceStep::Name(name), other) => {
                let message = format!("{} has no member `{name}`", other.kind_name());
                return Err(HclProblem::new(span, message));
            }
            (ReferenceStep::Index(_) | ReferenceStep::Each, other) => {
                return Err(wrong(span, "a list", &other));
            }
        };
        self.member(next, rest, span)
    }

    fn call(
        &mut self,
        name: &str,
        arguments: &[Expr],
        expands: bool,
        span: Span,
    ) -> Result<Value, HclProblem> {
        let mut values = Vec::with_capacity(arguments.len());
        for argument in arguments {
            values.push(self.eval(argument)?);
        }
        if expands {
            match values.pop() {
                Some(Value::List(items)) => values.extend(items),
                Some(other) => return Err(wrong(span, "a list", &other)),
                None => {}
            }
        }
        let call = FunctionCall {
            name,
            arguments: &values,
            span,
        };
        match self.scope.call(&call) {
            Some(Ok(value)) => {
                self.made(size(&value), span)?;
                Ok(value)
            }
            Some(Err(problem)) => Err(problem),
            None => Err(HclProblem::new(span, format!("unknown function `{name}`"))),
        }
    }

    fn binary(
        &mut self,
        left: &Expr,
        operator: BinaryOperator,
        right: &Expr,
        span: Span,
    ) -> Result<Value, HclProblem> {
        let first = self.eval(left)?;
        match (operator, &first) {
            (BinaryOperator::And, Value::Bool(false)) => return Ok(Value::Bool(false)),
            (BinaryOperator::Or, Value::Bool(true)) => return Ok(Value::Bool(true)),
            _ => {}
        }
        let second = self.eval(right)?;
        if first.is_late() || second.is_late() {
            let [first, second] = [first, second].map(|value| Box::new(residual(value, span)));
            let kind = ExprKind::Binary(first, operator, second);
            return Ok(Value::Late(Box::new(Expr::new(kind, span))));
        }
        match operator {
            BinaryOperator::Equal => Ok(Value::Bool(equal(&first, &second))),
            BinaryOperator::NotEqual => Ok(Value::Bool(!equal(&first, &second))),
            BinaryOperator::And | BinaryOperator::Or => {
                let [first, second] = [boolean(first, left.span)?, boolean(second, right.span)?];
                Ok(Value::Bool(if operator == BinaryOperator::And {
                    first && second
                } else {
                    first || second
                }))
            }
            _ => {
                let [first, second] = [number(&first, left.span)?, number(&second, right.span)?];
                arithmetic(first, operator, second, span)
            }
        }
    }

    fn for_each(&mut self, parts: &LoopParts, span: Span) -> Result<Value, HclProblem> {
        let items = match self.items(&parts.collection)? {
            Ok(items) => items,
            Err(collection) => {
                let reduced = self.late_loop(parts, collection)?;
                return Ok(Value::Late(Box::new(Expr::new(
                    ExprKind::For(Box::new(reduced)),
                    span,
                ))));
            }
        };
        let mut list = Vec::new();
        let mut object: Vec<(Box<str>, Value)> = Vec::new();
        for (key, value) in items {
            self.enter(parts.key.as_deref(), key, &parts.value, value);
            let made = self.one(parts);
            self.leave(parts.key.is_some());
            let Some((key, value)) = made? else { continue };
            match key {
                None => list.push(value),
                Some(key) => match object.iter_mut().find(|(known, _)| *known == key) {
                    Some((_, Value::List(items))) if parts.groups => items.push(value),
                    Some(_) => {
                        let message = format!("the key `{key}` is given twice");
                        return Err(HclProblem::new(span, message));
                    }
                    None if parts.groups => object.push((key, Value::List(vec![value]))),
                    None => object.push((key, value)),
                },
            }
        }
        Ok(if parts.result_key.is_some() {
            Value::Object(object)
        } else {
            Value::List(list)
        })
    }

    /// Evaluates one round of a loop. Returns `None` if its condition is false.
    fn one(&mut self, parts: &LoopParts) -> Result<Option<LoopResult>, HclProblem> {
        if let Some(condition) = &parts.condition {
            let value = self.eval(condition)?;
            if !boolean(value, condition.span)? {
                return Ok(None);
            }
        }
        let key = match &parts.result_key {
            None => None,
            Some(key) => match self.eval(key)? {
                Value::Text(text) | Value::Number(text) => Some(text),
                other => return Err(wrong(key.span, "text", &other)),
            },
        };
        Ok(Some((key, self.eval(&parts.result)?)))
    }

    /// Evaluates what can be evaluated of a loop over something that is not known yet.
    fn late_loop(&mut self, parts: &LoopParts, collection: Expr) -> Result<LoopParts, HclProblem> {
        let late = |name: &str| {
            let kind = ExprKind::Reference {
                root: name.into(),
                path: Vec::new(),
            };
            Value::Late(Box::new(Expr::new(kind, parts.collection.span)))
        };
        let key = parts.key.as_deref();
        self.enter(
            key,
            late(key.unwrap_or_default()),
            &parts.value,
            late(&parts.value),
        );
        let mut reduce = |expr: &Expr| self.eval(expr).map(|value| residual(value, expr.span));
        let result_key = parts.result_key.as_ref().map(&mut reduce).transpose();
        let result = reduce(&parts.result);
        let condition = parts.condition.as_ref().map(&mut reduce).transpose();
        self.leave(parts.key.is_some());
        Ok(LoopParts {
            key: parts.key.clone(),
            value: parts.value.clone(),
            collection,
            result_key: result_key?,
            result: result?,
            condition: condition?,
            groups: parts.groups,
        })
    }

    /// Evaluates a collection to pairs of key and value; `Err` with the expression if it is late.
    fn items(
        &mut self,
        collection: &Expr,
    ) -> Result<Result<Vec<(Value, Value)>, Expr>, HclProblem> {
        Ok(match self.eval(collection)? {
            Value::List(items) => {
                let number =
                    |(at, value): (usize, Value)| (Value::Number(at.to_string().into()), value);
                Ok(items.into_iter().enumerate().map(number).collect())
            }
            Value::Object(entries) => Ok(entries
                .into_iter()
                .map(|(key, value)| (Value::Text(key), value))
                .collect()),
            Value::Late(expr) => Err(*expr),
            other => return Err(wrong(collection.span, "a list or an object", &other)),
        })
    }

    fn enter(&mut self, key: Option<&str>, key_value: Value, name: &str, value: Value) {
        if let Some(key) = key {
            self.locals.push((key.into(), key_value));
        }
        self.locals.push((name.into(), value));
    }

    fn leave(&mut self, has_key: bool) {
        self.locals.pop();
        if has_key {
            self.locals.pop();
        }
    }

    fn parts(
        &mut self,
        parts: &[TemplatePart],
        span: Span,
        out: &mut TemplateOutput,
    ) -> Result<(), HclProblem> {
        for part in parts {
            self.step(span)?;
            match part {
                TemplatePart::Text(text) => {
                    self.made(text.len(), span)?;
                    out.text.push_str(text);
                }
                TemplatePart::Hole(expr) => match self.eval(expr)? {
                    late if late.is_late() => {
                        out.push(TemplatePart::Hole(residual(late, expr.span)));
                    }
                    Value::Null => {
                        return Err(HclProblem::new(expr.span, "null cannot be put into a text"));
                    }
                    value => {
                        let text = written(&value);
                        self.made(text.len(), expr.span)?;
                        out.text.push_str(&text);
                    }
                },
                TemplatePart::If {
                    condition,
                    then,
                    otherwise,
                } => match self.eval(condition)? {
                    Value::Bool(true) => self.parts(then, span, out)?,
                    Value::Bool(false) => self.parts(otherwise, span, out)?,
                    Value::Late(late) => {
                        let mut first = TemplateOutput::default();
                        let mut second = TemplateOutput::default();
                        self.parts(then, span, &mut first)?;
                        self.parts(otherwise, span, &mut second)?;
                        out.push(TemplatePart::If {
                            condition: *late,
                            then: first.finish(),
                            otherwise: second.finish(),
                        });
                    }
                    other => return Err(wrong(condition.span, "a boolean", &other)),
                },
                TemplatePart::For {
                    key,
                    value,
                    collection,
                    body,
                } => match self.items(collection)? {
                    Ok(items) => {
                        for (one, item) in items {
                            self.enter(key.as_deref(), one, value, item);
                            let made = self.parts(body, span, out);
                            self.leave(key.is_some());
                            made?;
                        }
                    }
                    Err(late) => {
                        let name = |name: &str| {
                            let kind = ExprKind::Reference {
                                root: name.into(),
                                path: Vec::new(),
                            };
                            Value::Late(Box::new(Expr::new(kind, span)))
                        };
                        let key_value = name(key.as_deref().unwrap_or_default());
                        self.enter(key.as_deref(), key_value, value, name(value));
                        let mut reduced = TemplateOutput::default();
                        let made = self.parts(body, span, &mut reduced);
                        self.leave(key.is_some());
                        made?;
                        out.push(TemplatePart::For {
                            key: key.clone(),
                            value: value.clone(),
                            collection: late,
                            body: reduced.finish(),
                        });
                    }
                },
            }
        }
        Ok(())
    }
}

/// The parts of a template that is being evaluated.
#[derive(Default)]
struct TemplateOutput {
    parts: Vec<TemplatePart>,
    /// Text after the last part.
    text: String,
}

impl TemplateOutput {
    fn push(&mut self, part: TemplatePart) {
        self.end_text();
        self.parts.push(part);
    }

    fn end_text(&mut self) {
        if !self.text.is_empty() {
            let text = std::mem::take(&mut self.text);
            self.parts.push(TemplatePart::Text(text.into()));
        }
    }

    fn finish(mut self) -> Vec<TemplatePart> {
        self.end_text();
        self.parts
    }
}

fn text_of(parts: Vec<TemplatePart>, span: Span) -> Value {
    match &*parts {
        [] => Value::Text(Box::default()),
        [TemplatePart::Text(text)] => Value::Text(text.clone()),
        _ => Value::Late(Box::new(Expr::new(ExprKind::Template(parts), span))),
    }
}

/// Returns an expression with the value.
fn residual(value: Value, span: Span) -> Expr {
    let kind = match value {
        Value::Late(expr) => return *expr,
        Value::Null => ExprKind::Null,
        Value::Bool(value) => ExprKind::Bool(value),
        Value::Number(number) => ExprKind::Number(number),
        Value::Text(text) => ExprKind::Text(text),
        Value::List(items) => {
            ExprKind::List(items.into_iter().map(|item| residual(item, span)).collect())
        }
        Value::Object(entries) => {
            let entry = |(key, value)| ObjectEntry {
                key: Expr::new(ExprKind::Text(key), span),
                value: residual(value, span),
            };
            ExprKind::Object(entries.into_iter().map(entry).collect())
        }
    };
    Expr::new(kind, span)
}

fn wrong(span: Span, wanted: &str, found: &Value) -> HclProblem {
    HclProblem::new(
        span,
        format!("expected {wanted}, found {}", found.kind_name()),
    )
}

fn entry<'v>(
    entries: &'v [(Box<str>, Value)],
    name: &str,
    span: Span,
) -> Result<&'v Value, HclProblem> {
    let found = entries.iter().find(|(known, _)| **known == *name);
    found.map(|(_, value)| value).ok_or_else(|| {
        let problem = HclProblem::new(span, format!("`{name}` does not exist"));
        match suggest::nearest(name, entries.iter().map(|(known, _)| &**known)) {
            Some(near) => problem.help(format!("did you mean `{near}`?")),
            None => problem,
        }
    })
}

fn item(items: &[Value], at: u64, span: Span) -> Result<&Value, HclProblem> {
    let found = usize::try_from(at).ok().and_then(|at| items.get(at));
    found.ok_or_else(|| {
        let message = format!(
            "the list has {} items, so there is no item {at}",
            items.len()
        );
        HclProblem::new(span, message)
    })
}

fn boolean(value: Value, span: Span) -> Result<bool, HclProblem> {
    match value {
        Value::Bool(value) => Ok(value),
        other => Err(wrong(span, "a boolean", &other)),
    }
}

fn number(value: &Value, span: Span) -> Result<f64, HclProblem> {
    let parsed = match value {
        Value::Number(number) => number
            .parse::<f64>()
            .ok()
            .filter(|number| number.is_finite()),
        other => return Err(wrong(span, "a number", other)),
    };
    parsed.ok_or_else(|| HclProblem::new(span, "the number is out of range"))
}

fn equal(first: &Value, second: &Value) -> bool {
    match (first, second) {
        (Value::Number(first), Value::Number(second)) => {
            first == second
                || first
                    .parse::<f64>()
                    .ok()
                    .is_some_and(|one| second.parse() == Ok(one))
        }
        (Value::List(first), Value::List(second)) => {
            first.len() == second.len()
                && first.iter().zip(second).all(|(one, two)| equal(one, two))
        }
        (first, second) => first == second,
    }
}

fn unary(
    operator: UnaryOperator,
    value: Value,
    operand: Span,
    span: Span,
) -> Result<Value, HclProblem> {
    if value.is_late() {
        let operand = Box::new(residual(value, operand));
        return Ok(Value::Late(Box::new(Expr::new(
            ExprKind::Unary(operator, operand),
            span,
        ))));
    }
    match operator {
        UnaryOperator::Not => boolean(value, operand).map(|value| Value::Bool(!value)),
        UnaryOperator::Negate => shown(-number(&value, operand)?, span),
    }
}

fn arithmetic(
    first: f64,
    operator: BinaryOperator,
    second: f64,
    span: Span,
) -> Result<Value, HclProblem> {
    if second == 0.0 && matches!(operator, BinaryOperator::Divide | BinaryOperator::Remainder) {
        return Err(HclProblem::new(span, "division by zero"));
    }
    match operator {
        BinaryOperator::Add => shown(first + second, span),
        BinaryOperator::Subtract => shown(first - second, span),
        BinaryOperator::Multiply => shown(first * second, span),
        BinaryOperator::Divide => shown(first / second, span),
        BinaryOperator::Remainder => shown(first % second, span),
        BinaryOperator::Less => Ok(Value::Bool(first < second)),
        BinaryOperator::LessOrEqual => Ok(Value::Bool(first <= second)),
        BinaryOperator::Greater => Ok(Value::Bool(first > second)),
        BinaryOperator::GreaterOrEqual => Ok(Value::Bool(first >= second)),
        // The caller has handled these.
        BinaryOperator::Equal
        | BinaryOperator::NotEqual
        | BinaryOperator::And
        | BinaryOperator::Or => Ok(Value::Null),
    }
}

fn shown(number: f64, span: Span) -> Result<Value, HclProblem> {
    if number.is_finite() {
        Ok(Value::Number(number.to_string().into()))
    } else {
        Err(HclProblem::new(span, "the number is out of range"))
    }
}

/// Returns the number of bytes of text in a value.
fn size(value: &Value) -> usize {
    match value {
        Value::Text(text) | Value::Number(text) => text.len(),
        Value::List(items) => items.iter().map(size).sum(),
        Value::Object(entries) => entries
            .iter()
            .map(|(key, value)| key.len() + size(value))
            .sum(),
        Value::Null | Value::Bool(_) | Value::Late(_) => 0,
    }
}

/// Writes a value into a text: text as it is, lists and objects as JSON.
fn written(value: &Value) -> String {
    match value {
        Value::Text(text) | Value::Number(text) => text.to_string(),
        Value::Bool(value) => value.to_string(),
        other => {
            let mut out = String::new();
            json(other, &mut out);
            out
        }
    }
}

fn json(value: &Value, out: &mut String) {
    let quoted = |text: &str, out: &mut String| {
        out.push('"');
        for c in text.chars() {
            match c {
                '"' | '\\' => out.extend(['\\', c]),
                '\n' => out.push_str("\\n"),
                c if c.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(c))),
                c => out.push(c),
            }
        }
        out.push('"');
    };
    match value {
        Value::Null | Value::Late(_) => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) => out.push_str(number),
        Value::Text(text) => quoted(text, out),
        Value::List(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                json(item, out);
            }
            out.push(']');
        }
        Value::Object(entries) => {
            out.push('{');
            for (at, (key, value)) in entries.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                quoted(key, out);
                out.push(':');
                json(value, out);
            }
            out.push('}');
        }
    }
}
