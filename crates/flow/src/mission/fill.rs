//! Fills in variables and inputs when a mission runs.

use prowess_hcl::{EvalScope, FunctionCall, HclProblem, Resolved, Value};

use super::inputs::needs;
use super::model::{AgentBlock, BoundTool, Mission, SkillBlock, ToolRef};
use super::{DefinitionScope, MissionProject};

/// The reason why a value cannot be filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockFillError {
    /// A variable has no value.
    Variable {
        /// The variable.
        name: Box<str>,
    },
    /// The expression cannot be evaluated.
    Expression(String),
    /// A name that it needs is not known.
    Unknown {
        /// The name.
        name: Box<str>,
    },
}

impl std::error::Error for BlockFillError {}

impl std::fmt::Display for BlockFillError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Variable { name } => write!(
                f,
                "the variable `{name}` is not set; run `prowess mission set {name}`"
            ),
            Self::Expression(message) => f.write_str(message),
            Self::Unknown { name } => write!(f, "`{name}` is not known"),
        }
    }
}

/// Returns the value of a variable.
pub type FillVariable<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Fills in the variables of a value, and the inputs of a bound tool.
pub fn fill(
    value: &Value,
    variable: FillVariable<'_>,
    inputs: Option<&Value>,
) -> Result<Value, BlockFillError> {
    let mut variables: Vec<(Box<str>, Value)> = Vec::new();
    for name in needs(value) {
        if let Some(name) = name.strip_prefix("vars.") {
            let text =
                variable(name).ok_or_else(|| BlockFillError::Variable { name: name.into() })?;
            variables.push((name.into(), Value::Text(text.into())));
        }
    }
    let scope = RunScope {
        variables: Value::Object(variables),
        inputs,
    };
    let filled = scope.fill(value)?;
    match needs(&filled).into_iter().next() {
        Some(name) => Err(BlockFillError::Unknown { name: name.into() }),
        None => Ok(filled),
    }
}

struct RunScope<'s> {
    variables: Value,
    inputs: Option<&'s Value>,
}

impl RunScope<'_> {
    fn fill(&self, value: &Value) -> Result<Value, BlockFillError> {
        Ok(match value {
            Value::Late(expr) => prowess_hcl::evaluate(expr, self)
                .map_err(|problem| BlockFillError::Expression(problem.message))?,
            Value::List(items) => {
                let items = items.iter().map(|item| self.fill(item));
                Value::List(items.collect::<Result<_, _>>()?)
            }
            Value::Object(entries) => {
                let entries = entries.iter();
                let entries = entries.map(|(key, one)| Ok((key.clone(), self.fill(one)?)));
                Value::Object(entries.collect::<Result<_, BlockFillError>>()?)
            }
            known => known.clone(),
        })
    }
}

impl EvalScope for RunScope<'_> {
    fn resolve(&self, root: &str) -> Resolved<'_> {
        match root {
            "vars" => Resolved::Known(&self.variables),
            "inputs" => self.inputs.map_or(Resolved::Late, Resolved::Known),
            _ => Resolved::Late,
        }
    }

    fn call(&self, _: &FunctionCall<'_>) -> Option<Result<Value, HclProblem>> {
        None
    }

    fn names(&self) -> Vec<&str> {
        vec!["vars", "inputs"]
    }
}

impl BoundTool {
    /// Returns the parameters of a call, as JSON. `inputs` is what a model passed. A parameter whose
    /// value is `null` is left out.
    pub fn call_with(
        &self,
        inputs: &serde_json::Value,
        variable: FillVariable<'_>,
    ) -> Result<serde_json::Value, BlockFillError> {
        let entry = |field: &super::Field| {
            let given = inputs.get(&*field.name).map(super::from_json);
            let known = given.or_else(|| field.default.clone());
            (field.name.clone(), known.unwrap_or(Value::Null))
        };
        let inputs = Value::Object(self.inputs.iter().map(entry).collect());
        let mut parameters = serde_json::Map::new();
        for (name, value) in &self.parameters {
            let filled = fill(value, variable, Some(&inputs))?;
            let json = super::to_json(&filled).filter(|json| !json.is_null());
            parameters.extend(json.map(|json| (name.to_string(), json)));
        }
        Ok(parameters.into())
    }
}

impl MissionProject {
    /// Returns the agents that a mission names or has itself, each with the skill blocks that it may
    /// load, in source order.
    pub(super) fn agents_of_mission(
        &self,
        mission: &Mission,
    ) -> impl Iterator<Item = (&AgentBlock, Vec<&SkillBlock>)> {
        let in_tasks = mission.tasks.iter().filter_map(|task| task.agents.as_ref());
        let named = mission.agents.iter().chain(in_tasks.flatten());
        let named: Vec<Box<str>> = named.cloned().collect();
        let of = mission.name.clone();
        self.agents.iter().filter_map(move |agent| {
            let is_own = agent.scope == DefinitionScope::Mission(of.clone());
            if !is_own && (agent.scope != DefinitionScope::Global || !named.contains(&agent.name)) {
                return None;
            }
            let skills = self.skills.iter().filter(|skill| {
                let is_visible = match &skill.scope {
                    DefinitionScope::Global => true,
                    DefinitionScope::Agent(owner) => !is_own && *owner == agent.name,
                    DefinitionScope::MissionAgent {
                        mission,
                        agent: owner,
                    } => is_own && *mission == of && *owner == agent.name,
                    DefinitionScope::Mission(_) => false,
                };
                is_visible && agent.skills.contains(&skill.name)
            });
            Some((agent, skills.collect()))
        })
    }

    /// Returns the tools that the agents of a mission may use: those in their lists and in the lists
    /// of their skills, in source order, and the tools behind bound tools.
    pub fn tools_of_mission(&self, mission: &Mission) -> Vec<ToolRef> {
        let mut found: Vec<ToolRef> = Vec::new();
        let mut add = |tool: &ToolRef| {
            if !found.contains(tool) {
                found.push(tool.clone());
            }
        };
        for (agent, skills) in self.agents_of_mission(mission) {
            agent.tools.iter().for_each(&mut add);
            let of_skills = skills.iter().flat_map(|skill| &skill.tools);
            of_skills.for_each(&mut add);
        }
        for tool in &self.tools {
            let is_used = found.contains(&ToolRef::Bound(tool.name.clone()));
            if let Some(behind) = tool.implements.as_ref().filter(|_| is_used)
                && !found.contains(behind)
            {
                found.push(behind.clone());
            }
        }
        found
    }
}
