//! What loaded skills mean for a session: hooks, tools, a model.

use prowess_agent::Effort;
use prowess_catalog::Scope;
use prowess_catalog::visibility::{Audience, CatalogView};
use prowess_spec::manifest::ToolList;
use prowess_spec::{Manifest, parse};
use prowess_tools::{HookSet, Loaded, Workshop, rule_names};
use prowess_trust::{Reading, Standing};

/// The tool that hands in a result.
pub(crate) const SUBMIT: &str = "submit";

/// What a skill says about the session that it is used in.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) name: Box<str>,
    pub(crate) standing: Standing,
    pub(crate) hooks: HookSet,
    pub(crate) allowed: Option<Vec<Box<str>>>,
    pub(crate) disallowed: Vec<Box<str>>,
    pub(crate) model: Option<Box<str>>,
    pub(crate) effort: Option<Effort>,
    pub(crate) agent: Option<Box<str>>,
    pub(crate) max_ticks: Option<u32>,
    pub(crate) forked: bool,
    pub(crate) background: bool,
}

impl Facts {
    /// Reads what a skill says that is used in this conversation. Nothing where it is not there, or
    /// cannot be read, or is a server's: what that says about the session counts for nothing, and is
    /// not read before somebody may use it.
    pub(crate) fn within(workshop: &Workshop, name: &str, who: Audience) -> Option<Self> {
        let catalog = workshop.registry.snapshot();
        let view = CatalogView::new(&catalog, &workshop.visibility, who);
        let is_served = view.resolve(name).ok()?.skill.id.origin.scope == Scope::Server;
        if is_served {
            None
        } else {
            Self::of(workshop, name, who)
        }
    }

    /// Reads what a skill says. Nothing where it is not there, or cannot be read.
    pub(crate) fn of(workshop: &Workshop, name: &str, who: Audience) -> Option<Self> {
        let catalog = workshop.registry.snapshot();
        let view = CatalogView::new(&catalog, &workshop.visibility, who);
        let entry = view.resolve(name).ok()?;
        let Reading { text, standing, .. } = workshop.read(&entry.skill).ok()?;
        let manifest = parse(&text).manifest;
        let word = |text: &Option<prowess_spec::manifest::SpannedText>| {
            let word = text.as_ref().map(|text| text.value.trim());
            word.filter(|word| !word.is_empty()).map(Box::from)
        };
        let effort: Option<Box<str>> = word(&manifest.effort);
        Some(Self {
            name: entry.name().into(),
            standing,
            hooks: HookSet::read(&manifest).0,
            allowed: manifest.allowed_tools.as_ref().map(names),
            disallowed: bare(&manifest),
            model: word(&manifest.model),
            effort: effort.and_then(|word| Effort::parse(&word)),
            agent: word(&manifest.agent),
            max_ticks: manifest.max_ticks,
            forked: manifest.is_forked(),
            background: manifest.background.as_ref().is_some_and(|flag| flag.value),
        })
    }

    /// Whether `allowed-tools` names a tool, in whatever use.
    pub(crate) fn names(&self, tool: &str) -> bool {
        self.allowed
            .as_deref()
            .is_some_and(|allowed| is_named(allowed, tool))
    }

    /// Whether `disallowed-tools` takes a tool away. One that forbids some uses is the gate's, and
    /// the result of a run belongs to whoever started it.
    pub(crate) fn forbids(&self, tool: &str) -> bool {
        tool != SUBMIT && is_named(&self.disallowed, tool)
    }
}

/// The names of tools in a list, as rules write them.
fn names(list: &ToolList) -> Vec<Box<str>> {
    list.tokens()
        .iter()
        .filter_map(|token| {
            let pattern = token.pattern.as_ref().ok()?;
            Some(match pattern {
                prowess_spec::tool_pattern::ToolPattern::Mcp { .. } => token.text.clone(),
                other => other.tool().into(),
            })
        })
        .collect()
}

/// Tools that are taken away as a whole.
fn bare(manifest: &Manifest) -> Vec<Box<str>> {
    use prowess_spec::tool_pattern::ToolPattern;
    let list = manifest.disallowed_tools.as_ref();
    list.into_iter()
        .flat_map(ToolList::patterns)
        .filter_map(|pattern| match pattern {
            ToolPattern::Bare(name) => Some(name.clone()),
            _ => None,
        })
        .collect()
}

fn is_named(list: &[Box<str>], tool: &str) -> bool {
    let also = rule_names(tool);
    list.iter().any(|name| {
        **name == *tool
            || also.contains(&&**name)
            || name.strip_prefix("mcp__").is_some() && is_of_server(name, tool)
    })
}

/// `mcp__server` and `mcp__server__*` mean every tool of a server.
fn is_of_server(pattern: &str, tool: &str) -> bool {
    let pattern = pattern.strip_suffix("__*").unwrap_or(pattern);
    tool.strip_prefix(pattern)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with("__"))
}

/// What the loaded skills say, in the order of their names.
pub(crate) fn facts(workshop: &Workshop, loaded: &Loaded) -> Vec<Facts> {
    let known = loaded
        .names()
        .filter_map(|name| Facts::within(workshop, name, Audience::Person));
    // One that changed since is not what was loaded.
    let same = |facts: &Facts| {
        loaded
            .get(&facts.name)
            .is_none_or(|known| known.digest == facts.standing.digest)
    };
    known.filter(same).collect()
}
