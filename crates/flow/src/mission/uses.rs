//! The blocks that a mission uses, and the errors in them.

use std::collections::{BTreeMap, BTreeSet};

use prowess_diag::{FileReport, Severity, Span};
use prowess_hcl::{Block, Expr, ExprKind, Item, ReferenceStep, Value};

use super::inputs;
use super::model::{Mission, RouteTarget, ToolRef};
use super::reader::{MAX_OF_A_RULE, name_of, normalised};
use super::{MissionProject, MissionText};

/// The kind of block that each first name of a reference means.
const KINDS: [(&str, &str); 10] = [
    ("vars", "variable"),
    ("models", "model"),
    ("plugins", "plugin"),
    ("mcp", "mcp"),
    ("tools", "tool"),
    ("skills", "skill"),
    ("agents", "agent"),
    ("memories", "memory"),
    ("packets", "packet"),
    ("missions", "mission"),
];

/// The first name that a name in quotation marks has in an attribute.
const PLAIN_NAMES: [(&str, &str); 6] = [
    ("agents", "agents"),
    ("skills", "skills"),
    ("tools", "tools"),
    ("implements", "tools"),
    ("memories", "memories"),
    ("packets", "packets"),
];

/// A block at the top level of a file: its kind and its name.
type BlockName = (&'static str, Box<str>);

/// The place of a block, and the blocks that it names.
struct NamedBlock {
    file: String,
    span: Span,
    names: BTreeSet<BlockName>,
}

impl MissionProject {
    /// Returns the missions that a run of a mission may reach: itself, and those that routes lead to.
    pub fn reachable(&self, first: &str) -> Vec<&Mission> {
        let mut found: Vec<&Mission> = self.mission(first).into_iter().collect();
        let mut at = 0;
        while let Some(mission) = found.get(at).copied() {
            at += 1;
            for route in mission.tasks.iter().flat_map(|task| &task.routes) {
                if let RouteTarget::Mission { name, .. } = &route.target
                    && let Some(next) = self.mission(name)
                    && !found.iter().any(|known| known.name == next.name)
                {
                    found.push(next);
                }
            }
        }
        found
    }

    /// Returns the skills that a run of a mission takes from folders, each with its folder in the project.
    pub fn skill_folders(&self, mission: &str) -> BTreeMap<&str, &str> {
        let missions = self.reachable(mission).into_iter();
        let agents = missions.flat_map(|mission| self.agents_of_mission(mission));
        let skills = agents.flat_map(|(_, skills)| skills);
        skills
            .filter_map(|skill| Some((&*skill.name, skill.folder.as_deref()?)))
            .collect()
    }

    /// Returns the variables without a value that a run of a mission needs in the texts for models, by
    /// name.
    pub fn unset_variables(&self, mission: &str) -> Vec<String> {
        let mut texts: Vec<&Value> = Vec::new();
        for mission in self.reachable(mission) {
            texts.extend(&mission.directive);
            for task in &mission.tasks {
                texts.push(&task.objective);
                texts.extend(task.routes.iter().map(|route| &route.condition));
            }
            for (agent, skills) in self.agents_of_mission(mission) {
                texts.push(&agent.personality);
                texts.extend(&agent.role);
                let of_skills = skills.into_iter();
                texts.extend(of_skills.flat_map(|skill| [&skill.description, &skill.instructions]));
            }
            for tool in self.tools_of_mission(mission) {
                let bound = self
                    .tools
                    .iter()
                    .find(|bound| matches!(&tool, ToolRef::Bound(name) if *name == bound.name));
                texts.extend(bound.and_then(|bound| bound.description.as_ref()));
            }
        }
        let names = texts.into_iter().flat_map(inputs::needs);
        let names: BTreeSet<String> = names
            .filter_map(|name| name.strip_prefix("vars.").map(str::to_owned))
            .collect();
        names.into_iter().collect()
    }

    /// Returns `true` if a finding about `files` is an error in a block that a run of a mission uses:
    /// in the missions that it may reach, and in the agents, skills, tools, servers, models, memories,
    /// packets and variables that they name. Blocks that cannot be parsed are used by none: where they
    /// are named, an unknown reference is an error.
    pub fn has_errors_in(
        &self,
        mission: &str,
        files: &[MissionText],
        reports: &[FileReport],
    ) -> bool {
        let blocks = named_blocks(files);
        let used = self.used_blocks(mission, &blocks);
        let used: Vec<&NamedBlock> = used
            .iter()
            .filter_map(|name| blocks.get(name))
            .flatten()
            .collect();
        reports.iter().any(|report| {
            let used = used.iter().filter(|block| block.file == report.path);
            let used: Vec<Span> = used.map(|block| block.span).collect();
            let errors = report.diagnostics.iter();
            let mut errors = errors.filter(|one| one.severity == Severity::Error);
            // Errors beyond the limit of a rule are not in the list, so they may be anywhere.
            let is_full = errors.clone().any(|error| {
                let same = report.diagnostics.iter();
                same.filter(|one| one.rule == error.rule).count() >= MAX_OF_A_RULE
            });
            let is_used = |place: Span| {
                let inside = |block: &Span| block.start <= place.start && place.start < block.end;
                used.iter().any(inside)
            };
            is_full && !used.is_empty() || errors.any(|error| error.span.is_some_and(is_used))
        })
    }

    /// Returns the names of the blocks that a run of a mission uses.
    fn used_blocks(
        &self,
        mission: &str,
        blocks: &BTreeMap<BlockName, Vec<NamedBlock>>,
    ) -> BTreeSet<BlockName> {
        let mut open: Vec<BlockName> = vec![("mission", mission.into())];
        // What references mean is known better where they could be resolved.
        for mission in self.reachable(mission) {
            open.push(("mission", mission.name.clone()));
            // The memory of a mission has the name of the mission.
            open.push(("memory", mission.name.clone()));
            let in_tasks = mission.tasks.iter().filter_map(|task| task.agents.as_ref());
            for agent in mission.agents.iter().chain(in_tasks.flatten()) {
                open.push(("agent", agent.clone()));
                let found = self.agents.iter().filter(|one| one.name == *agent);
                let skills = found.flat_map(|agent| &agent.skills);
                open.extend(skills.map(|skill| ("skill", skill.clone())));
            }
            open.extend(
                self.tools_of_mission(mission)
                    .into_iter()
                    .filter_map(|tool| match tool {
                        ToolRef::Bound(name) => Some(("tool", name)),
                        ToolRef::Server { server, .. } => Some(("mcp", server)),
                        ToolRef::Plugin { plugin, .. } => Some(("plugin", plugin)),
                        ToolRef::BuiltIn(_) | ToolRef::UserServer { .. } => None,
                    }),
            );
        }
        let mut used = BTreeSet::new();
        while let Some(name) = open.pop() {
            if used.contains(&name) {
                continue;
            }
            let named = blocks.get(&name).into_iter().flatten();
            open.extend(named.flat_map(|block| block.names.iter().cloned()));
            used.insert(name);
        }
        used
    }
}

/// Returns the blocks at the top level of files, by name. A name may have several.
fn named_blocks(files: &[MissionText]) -> BTreeMap<BlockName, Vec<NamedBlock>> {
    let mut blocks: BTreeMap<BlockName, Vec<NamedBlock>> = BTreeMap::new();
    for MissionText { path, bytes } in files {
        let Ok(bytes) = bytes else { continue };
        for item in prowess_hcl::parse(bytes).items {
            let Item::Block(block) = item else { continue };
            let kind = KINDS.iter().find(|(_, kind)| *kind == &*block.kind.text);
            let (Some((_, kind)), Some((name, _))) = (kind, name_of(&block)) else {
                continue;
            };
            let mut names = BTreeSet::new();
            add_names(&block, &mut names);
            blocks.entry((kind, name)).or_default().push(NamedBlock {
                file: path.clone(),
                span: block.span,
                names,
            });
        }
    }
    blocks
}

/// Adds the blocks that a block and those inside it name.
fn add_names(block: &Block, names: &mut BTreeSet<BlockName>) {
    for attribute in block.attributes() {
        attribute.value.references(&mut |root, path, _| {
            if let Some(ReferenceStep::Name(name)) = path.first() {
                names.extend(block_name(root, name));
            }
        });
        let plain = PLAIN_NAMES.iter();
        let mut plain = plain.filter(|(name, _)| *name == &*attribute.name.text);
        let root = plain.next().map(|(_, root)| *root);
        let mut add = |expr: &Expr| {
            let ExprKind::Text(text) = &expr.kind else {
                return;
            };
            let mut parts = text.split('.');
            let found = match (parts.next(), parts.next()) {
                (Some(root), Some(name)) => block_name(root, name),
                _ => None,
            };
            names.extend(found);
            names.extend(root.and_then(|root| block_name(root, text)));
        };
        match &attribute.value.kind {
            ExprKind::List(items) => items.iter().for_each(add),
            _ => add(&attribute.value),
        }
    }
    for inner in block.blocks() {
        add_names(inner, names);
    }
}

fn block_name(root: &str, name: &str) -> Option<BlockName> {
    let kind = KINDS.iter().find(|(first, _)| *first == root);
    kind.map(|(_, kind)| (*kind, normalised(name)))
}
