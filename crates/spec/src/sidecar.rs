//! Codex's `agents/openai.yaml`, a sidecar file of a skill.

use prowess_diag::Span;

use crate::manifest::parse_flag;
use crate::yaml::{self, YamlNode};

/// Maximum size of a sidecar, in bytes.
pub const MAX_SIDECAR: usize = 64 * 1024;

/// Path of the sidecar in a skill's folder.
pub const SIDECAR_PATH: &str = "agents/openai.yaml";

/// A parsed sidecar. An invalid sidecar leaves its fields empty; it never blocks a skill.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sidecar {
    /// `interface.display_name`
    pub display_name: Option<String>,
    /// `interface.short_description`
    pub short_description: Option<String>,
    /// `interface.default_prompt`
    pub default_prompt: Option<String>,
    /// `policy.allow_implicit_invocation`: if `false`, only users may invoke the skill.
    pub allow_implicit_invocation: Option<bool>,
    /// `dependencies.tools`: names of tools or servers.
    pub tools: Vec<String>,
    /// The reason why it could not be parsed.
    pub fault: Option<SidecarFault>,
}

/// The reason why a sidecar could not be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SidecarFault {
    /// The problem, as a clause.
    pub message: String,
    /// Range in the sidecar.
    pub span: Span,
}

impl Sidecar {
    /// Parses a sidecar.
    pub fn parse(text: &str) -> Self {
        if text.len() > MAX_SIDECAR {
            let message = format!("it is larger than {} KiB", MAX_SIDECAR / 1024);
            return Self::faulty(message, Span::at(0));
        }
        let root = match yaml::read(text, 0) {
            Ok(document) => document.root,
            Err(yaml::YamlError::Syntax { at, message }) => return Self::faulty(message, at),
            Err(yaml::YamlError::Refused(refusals)) => {
                let (feature, span) = refusals.first().map_or(("", Span::at(0)), |refusal| {
                    (refusal.feature.name(), refusal.span)
                });
                return Self::faulty(format!("it uses {feature}"), span);
            }
        };
        let Some(root) = root else {
            return Self::default();
        };
        if root.entries().is_none() {
            return Self::faulty(format!("it is {}, not a map", root.kind()), root.span);
        }
        let get = |section: &str, key: &str| root.get(section).and_then(|node| node.get(key));
        let text = |section: &str, key: &str| {
            get(section, key)
                .and_then(YamlNode::text)
                .map(str::to_owned)
        };
        let tools = get("dependencies", "tools")
            .and_then(YamlNode::items)
            .unwrap_or_default();
        let policy = get("policy", "allow_implicit_invocation").filter(|node| !node.is_null());
        let mut sidecar = Self {
            display_name: text("interface", "display_name"),
            short_description: text("interface", "short_description"),
            default_prompt: text("interface", "default_prompt"),
            allow_implicit_invocation: policy.and_then(YamlNode::text).and_then(parse_flag),
            tools: tools
                .iter()
                .filter_map(|tool| tool.get("value").and_then(YamlNode::text))
                .map(str::to_owned)
                .collect(),
            fault: None,
        };
        if let Some(policy) = policy.filter(|_| sidecar.allow_implicit_invocation.is_none()) {
            // Not a boolean: the safer reading is that only users may invoke the skill.
            sidecar.allow_implicit_invocation = Some(false);
            sidecar.fault = Some(SidecarFault {
                message: "`allow_implicit_invocation` is neither true nor false".into(),
                span: policy.span,
            });
        }
        sidecar
    }

    fn faulty(message: String, span: Span) -> Self {
        Self {
            fault: Some(SidecarFault { message, span }),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codex_fields_are_read() {
        let sidecar = Sidecar::parse(
            "interface:\n  display_name: PDF\n  short_description: Fill forms\npolicy:\n  allow_implicit_invocation: false\n\
             dependencies:\n  tools:\n    - type: mcp\n      value: github\n",
        );
        assert_eq!(sidecar.display_name.as_deref(), Some("PDF"));
        assert_eq!(sidecar.allow_implicit_invocation, Some(false));
        assert_eq!(
            (sidecar.tools.as_slice(), sidecar.fault),
            (["github".to_owned()].as_slice(), None)
        );
    }

    #[test]
    fn invalid_sidecar_has_only_a_fault() {
        for text in ["policy: [", "- a", "a: &x 1", "x"] {
            let sidecar = Sidecar::parse(text);
            assert!(
                sidecar.fault.is_some() && sidecar.allow_implicit_invocation.is_none(),
                "{text}"
            );
        }
        assert_eq!(Sidecar::parse(""), Sidecar::default());
        assert_eq!(
            Sidecar::parse("policy:\n  allow_implicit_invocation: maybe\n")
                .allow_implicit_invocation,
            Some(false)
        );
    }
}
