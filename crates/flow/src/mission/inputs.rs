//! The inputs of a run, and texts that need them.

use std::cell::Cell;

use prowess_hcl::{
    EvalScope, Expr, ExprKind, FunctionCall, HclProblem, ReferenceStep, Resolved, Value,
};

use super::model::{DatasetItems, Mission, MissionTask};
use super::reader::collect_late;

/// The reason why an input cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputFault {
    /// The mission has no such input.
    Unknown {
        /// The nearest input.
        near: Option<Box<str>>,
    },
    /// The value has the wrong type.
    Type(String),
    /// The value of a protected input comes from its mission.
    Protected,
}

/// The inputs of a run that are known.
#[derive(Clone, Debug, PartialEq)]
pub struct InputValues {
    /// The object `inputs`. What is not known is late.
    object: Value,
}

/// Fills in a text. It stays late if a name that it needs is not known.
pub(super) fn fill(
    text: &Value,
    inputs: Option<&InputValues>,
    item: Option<&Value>,
) -> Result<Value, HclProblem> {
    fill_within(text, inputs, item, &Cell::new(usize::MAX))
}

/// Like [`fill`], with a number of bytes of text that several calls may create together.
fn fill_within(
    text: &Value,
    inputs: Option<&InputValues>,
    item: Option<&Value>,
    left: &Cell<usize>,
) -> Result<Value, HclProblem> {
    let Value::Late(expr) = text else {
        return Ok(text.clone());
    };
    let inputs = inputs.map(|inputs| &inputs.object);
    let scope = FillScope { inputs, item };
    Ok(match prowess_hcl::evaluate_within(expr, &scope, left)? {
        Value::Number(number) => Value::Text(number),
        Value::Bool(value) => Value::Text(value.to_string().into()),
        other => other,
    })
}

impl Mission {
    /// Converts the text of an input to its type.
    pub fn parse_input(&self, name: &str, text: &str) -> Result<Value, InputFault> {
        let field = self.input(name)?;
        field.kind.convert(text).map_err(InputFault::Type)
    }

    /// Checks the value of an input.
    pub fn check_input(&self, name: &str, value: &Value) -> Result<(), InputFault> {
        let field = self.input(name)?;
        field.kind.check(value, "").map_err(InputFault::Type)
    }

    fn input(&self, name: &str) -> Result<&super::Field, InputFault> {
        let found = self.inputs.iter().find(|input| *input.name == *name);
        let field = found.ok_or_else(|| {
            let known = self.inputs.iter().map(|input| &*input.name);
            InputFault::Unknown {
                near: prowess_diag::suggest::nearest(name, known).map(Into::into),
            }
        })?;
        if field.is_protected && field.value.is_some() {
            return Err(InputFault::Protected);
        }
        Ok(field)
    }

    /// Returns the inputs that have no default and are not given.
    pub fn missing_inputs<'m>(&'m self, given: &[(String, Value)]) -> Vec<&'m str> {
        let is_missing = |input: &&super::Field| {
            input.default.is_none()
                && input.value.is_none()
                && !given.iter().any(|(name, _)| **name == *input.name)
        };
        let missing = self.inputs.iter().filter(is_missing);
        missing.map(|input| &*input.name).collect()
    }

    /// Returns the values of the inputs that are given, and the defaults of the others. Protected
    /// inputs stay unknown.
    pub fn input_values(&self, given: &[(String, Value)]) -> InputValues {
        let value = |input: &super::Field| {
            let given = given.iter().find(|(name, _)| **name == *input.name);
            let known = given.map(|(_, value)| value).or(input.default.as_ref());
            let known = known.filter(|value| !input.is_protected && !value.is_late());
            let value = known
                .cloned()
                .unwrap_or_else(|| late("inputs", &input.name));
            (input.name.clone(), value)
        };
        InputValues {
            object: Value::Object(self.inputs.iter().map(value).collect()),
        }
    }
}

/// Returns a value that is known later.
pub(super) fn late(root: &str, name: &str) -> Value {
    let kind = ExprKind::Reference {
        root: root.into(),
        path: vec![ReferenceStep::Name(name.into())],
    };
    Value::Late(Box::new(Expr::new(kind, prowess_diag::Span::default())))
}

/// Returns the names that a value needs: `inputs.topic`, `item.url`, `vars.team`.
pub(super) fn needs(value: &Value) -> Vec<String> {
    let mut late = Vec::new();
    collect_late(value, &mut late);
    let mut needs = Vec::new();
    for expr in late {
        expr.references(&mut |root, path, _| {
            needs.push(match path.first() {
                Some(ReferenceStep::Name(name)) => format!("{root}.{name}"),
                _ => root.to_owned(),
            });
        });
    }
    needs.sort();
    needs.dedup();
    needs
}

impl MissionTask {
    /// Returns the names that the objective needs: `inputs.topic`, `item.url`, `vars.team`.
    pub fn needs(&self) -> Vec<String> {
        needs(&self.objective)
    }

    /// Fills in the objective. It stays late if a name that it needs is not known.
    pub fn objective_with(
        &self,
        inputs: Option<&InputValues>,
        item: Option<&Value>,
    ) -> Result<Value, HclProblem> {
        fill(&self.objective, inputs, item)
    }

    /// Returns the objective for each item of a parallel iterator. `None` if one is not known, or if
    /// they have more bytes than are left, which several calls share.
    pub fn objectives(
        &self,
        mission: &Mission,
        inputs: Option<&InputValues>,
        left: &Cell<usize>,
    ) -> Option<Vec<String>> {
        let iterator = self.iterator.as_ref()?;
        iterator.parallel.as_ref()?;
        let items = match &mission.dataset(&iterator.dataset)?.items {
            DatasetItems::Given(items) => items,
            DatasetItems::Input(name) => match inputs?.object.get(name)? {
                Value::List(items) => items,
                _ => return None,
            },
            DatasetItems::Filled => return None,
        };
        let objective = |item: &Value| {
            let text = match &self.objective {
                Value::Text(text) => {
                    left.set(left.get().checked_sub(text.len())?);
                    return Some(text.to_string());
                }
                late => fill_within(late, inputs, Some(item), left).ok()?,
            };
            text.as_text().map(ToOwned::to_owned)
        };
        items.iter().map(objective).collect()
    }
}

/// The names of a run.
struct FillScope<'s> {
    inputs: Option<&'s Value>,
    item: Option<&'s Value>,
}

impl EvalScope for FillScope<'_> {
    fn resolve(&self, root: &str) -> Resolved<'_> {
        let known = match root {
            "inputs" => self.inputs,
            "item" => self.item,
            _ => None,
        };
        known.map_or(Resolved::Late, Resolved::Known)
    }

    fn call(&self, _: &FunctionCall<'_>) -> Option<Result<Value, HclProblem>> {
        None
    }

    fn names(&self) -> Vec<&str> {
        vec!["inputs", "item"]
    }
}
