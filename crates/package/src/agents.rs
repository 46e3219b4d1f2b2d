//! Agents and the folders from which they read skills.

/// An agent for which `prowess link` makes links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkAgent {
    /// The name on the command line.
    pub name: &'static str,
    /// Its folder of skills in a project.
    pub project: &'static str,
    /// Its folder of skills of a person.
    pub personal: PersonalFolder,
    /// `true` if it reads `.agents/skills` of a project itself, so that it needs no links there.
    pub reads_agents: bool,
}

/// A folder of a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PersonalFolder {
    /// Relative to the home folder.
    Home(&'static str),
    /// Relative to `$XDG_CONFIG_HOME`.
    Config(&'static str),
}

/// The folder that holds the packages of a project or a person.
pub const AGENTS_FOLDER: &str = ".agents/skills";

/// All agents, sorted by name.
pub const LINK_AGENTS: &[LinkAgent] = &[
    own("adal", ".adal/skills", home(".adal/skills")),
    reads("amp", AGENTS_FOLDER, config("agents/skills")),
    own(
        "antigravity",
        ".agent/skills",
        home(".gemini/antigravity/skills"),
    ),
    own("augment", ".augment/skills", home(".augment/skills")),
    own("claude-code", ".claude/skills", home(".claude/skills")),
    own("cline", ".cline/skills", home(".cline/skills")),
    own("codebuddy", ".codebuddy/skills", home(".codebuddy/skills")),
    reads("codex", ".codex/skills", home(".codex/skills")),
    own(
        "command-code",
        ".commandcode/skills",
        home(".commandcode/skills"),
    ),
    own("continue", ".continue/skills", home(".continue/skills")),
    own("crush", ".crush/skills", config("crush/skills")),
    reads("cursor", ".cursor/skills", home(".cursor/skills")),
    own("droid", ".factory/skills", home(".factory/skills")),
    reads("gemini-cli", ".gemini/skills", home(".gemini/skills")),
    reads("github-copilot", ".github/skills", home(".copilot/skills")),
    own("goose", ".goose/skills", config("goose/skills")),
    own("hermes", ".hermes/skills", home(".hermes/skills")),
    own("iflow", ".iflow/skills", home(".iflow/skills")),
    own("junie", ".junie/skills", home(".junie/skills")),
    own("kilo", ".kilocode/skills", home(".kilocode/skills")),
    reads("kimi-cli", AGENTS_FOLDER, home(".agents/skills")),
    own("kiro", ".kiro/skills", home(".kiro/skills")),
    own("kode", ".kode/skills", home(".kode/skills")),
    own("letta", ".skills", home(".letta/skills")),
    own("mcpjam", ".mcpjam/skills", home(".mcpjam/skills")),
    own("mistral-vibe", ".vibe/skills", home(".vibe/skills")),
    own("mux", ".mux/skills", home(".mux/skills")),
    own("neovate", ".neovate/skills", home(".neovate/skills")),
    own("openclaw", "skills", home(".openclaw/skills")),
    reads("opencode", ".opencode/skills", config("opencode/skills")),
    own("openhands", ".openhands/skills", home(".openhands/skills")),
    own("pi", ".pi/skills", home(".pi/agent/skills")),
    own("pochi", ".pochi/skills", home(".pochi/skills")),
    own("qoder", ".qoder/skills", home(".qoder/skills")),
    own("qwen-code", ".qwen/skills", home(".qwen/skills")),
    reads("replit", AGENTS_FOLDER, config("agents/skills")),
    own("roo", ".roo/skills", home(".roo/skills")),
    own("trae", ".trae/skills", home(".trae/skills")),
    own(
        "windsurf",
        ".windsurf/skills",
        home(".codeium/windsurf/skills"),
    ),
    own("zencoder", ".zencoder/skills", home(".zencoder/skills")),
];

const fn home(folder: &'static str) -> PersonalFolder {
    PersonalFolder::Home(folder)
}

const fn config(folder: &'static str) -> PersonalFolder {
    PersonalFolder::Config(folder)
}

const fn own(name: &'static str, project: &'static str, personal: PersonalFolder) -> LinkAgent {
    LinkAgent {
        name,
        project,
        personal,
        reads_agents: false,
    }
}

const fn reads(name: &'static str, project: &'static str, personal: PersonalFolder) -> LinkAgent {
    LinkAgent {
        name,
        project,
        personal,
        reads_agents: true,
    }
}

/// Returns the agent with this name.
pub fn link_agent(name: &str) -> Option<&'static LinkAgent> {
    LINK_AGENTS.iter().find(|agent| agent.name == name)
}

#[cfg(test)]
mod tests {
    use prowess_spec::ResourcePath;

    use super::*;

    #[test]
    fn table_is_sorted_and_its_folders_are_relative() {
        assert!(LINK_AGENTS.is_sorted_by(|one, two| one.name < two.name));
        for agent in LINK_AGENTS {
            let (PersonalFolder::Home(personal) | PersonalFolder::Config(personal)) =
                agent.personal;
            for folder in [agent.project, personal] {
                let clean = ResourcePath::new(folder).unwrap();
                assert_eq!(clean.as_str(), folder, "{}", agent.name);
                assert!(folder.ends_with("skills"), "{}", agent.name);
            }
            assert!(
                agent.reads_agents || agent.project != AGENTS_FOLDER,
                "{}",
                agent.name
            );
        }
        assert_eq!(link_agent("claude-code").unwrap().project, ".claude/skills");
        assert_eq!(link_agent("claude"), None);
    }
}
