//! The models of a mission project: `models.BLOCK.NAME`.
//!
//! The name after the block is an alias of the block, or one of Squadron's keys for the models of a
//! provider, whose underscores stand for `-` and, in the version numbers of OpenAI and Google, for
//! `.`: `claude_sonnet_4_6` is `claude-sonnet-4-6`, `gpt_4_1_mini` is `gpt-4.1-mini`. The first
//! models of Anthropic's fourth generation and older ones have names with a date. Any other name is
//! used as it is written.

use std::fmt;
use std::sync::Arc;

use prowess_flow::mission::{
    BlockFillError, MissionProject, ModelBlock, ModelPrice, ModelRef, Value as MissionValue,
};
use prowess_models::{ChooseError, DefinedModel, ModelSettings, SecretText};
use prowess_tools::SecretValues;
use prowess_tools::missions::{MissionVariableLookup, VariableValues};
use prowess_traits::{FindModelError, Model, Models, Price};

/// Models of Anthropic that the provider knows only with a date.
const DATED: [(&str, &str); 5] = [
    ("claude_3_5_haiku", "claude-3-5-haiku-20241022"),
    ("claude_3_7_sonnet", "claude-3-7-sonnet-20250219"),
    ("claude_opus_4", "claude-opus-4-20250514"),
    ("claude_opus_4_1", "claude-opus-4-1-20250805"),
    ("claude_sonnet_4", "claude-sonnet-4-20250514"),
];

/// Error from opening a model of a project.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MissionModelError {
    /// The project has no such block.
    #[error("the project has no model block `{block}`")]
    NoBlock {
        /// The block.
        block: Box<str>,
    },
    /// A setting of the block cannot be filled in.
    #[error("`{setting}` of the model block `{block}`: {error}")]
    Setting {
        /// The block.
        block: Box<str>,
        /// The setting.
        setting: &'static str,
        /// The reason.
        error: BlockFillError,
    },
    /// The setting is not text.
    #[error("`{setting}` of the model block `{block}` must be text")]
    NotText {
        /// The block.
        block: Box<str>,
        /// The setting.
        setting: &'static str,
    },
    /// The model cannot be opened. The message has no secrets.
    #[error("the model `{name}` cannot be used: {why}")]
    Unusable {
        /// The model: `models.BLOCK.NAME`.
        name: Box<str>,
        /// The reason.
        why: String,
    },
}

/// Finds the models of a project by name: `models.BLOCK.NAME`. Other names are passed on.
pub struct MissionModels {
    blocks: Vec<ModelBlock>,
    variables: VariableValues,
    secrets: SecretValues,
    environment: MissionVariableLookup,
    settings: ModelSettings,
    others: Option<Arc<dyn Models>>,
}

impl fmt::Debug for MissionModels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.blocks.iter().map(|block| &block.name);
        f.debug_set().entries(names).finish()
    }
}

impl MissionModels {
    /// Creates the models of a project. `environment` has the usual keys of providers, and `others`
    /// finds models with other names.
    pub fn new(
        project: &MissionProject,
        variables: VariableValues,
        environment: MissionVariableLookup,
        settings: ModelSettings,
        others: Option<Arc<dyn Models>>,
    ) -> Self {
        Self {
            blocks: project.models.clone(),
            secrets: variables.secrets(project),
            variables,
            environment,
            settings,
            others,
        }
    }

    /// Returns the name of a model for [`Models::find`].
    pub fn name(model: &ModelRef) -> String {
        format!("models.{}.{}", model.block, model.name)
    }

    /// Opens a model. Sends no request.
    pub fn open(&self, model: &ModelRef) -> Result<Arc<dyn Model>, MissionModelError> {
        let block = self.blocks.iter().find(|block| block.name == model.block);
        let block = block.ok_or_else(|| MissionModelError::NoBlock {
            block: model.block.clone(),
        })?;
        let key = self.text(block, "api_key", block.api_key.as_ref())?;
        let base = self.text(block, "base_url", block.base_url.as_ref())?;
        let name = provider_name(block, &model.name);
        let given = block.prices.iter().find(|(key, _)| *key == model.name);
        let defined = DefinedModel {
            provider: &block.provider,
            model: &name,
            base: base.as_deref(),
            key: key.map(SecretText),
            price: price_of(&name, given.map(|(_, price)| price)),
        };
        let lookup = |name: &str| (self.environment)(name);
        let opened = prowess_models::open_defined(&defined, &lookup, &self.settings);
        opened
            .map(|chosen| chosen.model)
            .map_err(|error: ChooseError| MissionModelError::Unusable {
                name: Self::name(model).into(),
                why: self.secrets.redact(error.to_string()),
            })
    }

    fn text(
        &self,
        block: &ModelBlock,
        setting: &'static str,
        value: Option<&MissionValue>,
    ) -> Result<Option<String>, MissionModelError> {
        let Some(value) = value else {
            return Ok(None);
        };
        let filled = self.variables.fill(value, &self.secrets);
        let filled = filled.map_err(|error| MissionModelError::Setting {
            block: block.name.clone(),
            setting,
            error,
        })?;
        match filled {
            MissionValue::Text(text) => Ok(Some(text.into_string())),
            MissionValue::Null => Ok(None),
            _ => Err(MissionModelError::NotText {
                block: block.name.clone(),
                setting,
            }),
        }
    }
}

impl Models for MissionModels {
    fn find(&self, name: &str) -> Result<Arc<dyn Model>, FindModelError> {
        let rest = name.strip_prefix("models.");
        let found = rest.and_then(|rest| {
            self.blocks.iter().find_map(|block| {
                let name = rest.strip_prefix(&*block.name)?.strip_prefix('.')?;
                Some(ModelRef {
                    block: block.name.clone(),
                    name: name.into(),
                })
            })
        });
        match (found, &self.others) {
            (Some(model), _) => self
                .open(&model)
                .map_err(|error| FindModelError::Unusable(error.into())),
            (None, Some(others)) => others.find(name),
            (None, None) => Err(FindModelError::OnlyOne),
        }
    }
}

/// Returns the price of a model: the higher one of the list price and of what a block gives, which must
/// not lift a budget of the user. The list price counts for any server: it may pass requests on.
fn price_of(name: &str, given: Option<&ModelPrice>) -> Option<Price> {
    let listed = prowess_models::known(name).map(|known| known.price);
    let Some(given) = given else {
        return listed;
    };
    let higher = |given: Option<f64>, of: fn(&Price) -> f64| {
        let listed = listed.as_ref().map_or(0.0, of);
        given.map_or(listed, |given| given.max(listed))
    };
    // Without a list price, the cache costs as much as other input unless the block says otherwise.
    let usual = given.input.filter(|_| listed.is_none());
    Some(Price {
        input: higher(given.input, |price| price.input),
        output: higher(given.output, |price| price.output),
        cache_read: higher(given.cache_read.or(usual), |price| price.cache_read),
        cache_write: higher(given.cache_write.or(usual), |price| price.cache_write),
    })
}

/// Returns the name of a model at its provider.
fn provider_name(block: &ModelBlock, key: &str) -> String {
    if let Some((_, name)) = block.aliases.iter().find(|(alias, _)| **alias == *key) {
        return name.to_string();
    }
    let (families, has_dots): (&[&str], bool) = match &*block.provider {
        "anthropic" => (&["claude"], false),
        "openai" => (&["gpt", "chatgpt", "codex", "o1", "o3", "o4", "o5"], true),
        "gemini" => (&["gemini", "gemma"], true),
        _ => (&[], false),
    };
    let is_key = |family: &&str| {
        let rest = key.strip_prefix(*family);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    };
    if !families.iter().any(is_key) {
        return key.to_owned();
    }
    if let Some((_, name)) = DATED.iter().find(|(known, _)| *known == key) {
        return (*name).to_owned();
    }
    let bytes = key.as_bytes();
    let is_digit = |at: Option<usize>| {
        let byte = at.and_then(|at| bytes.get(at));
        byte.is_some_and(u8::is_ascii_digit)
    };
    let letter = |(at, c): (usize, char)| match c {
        '_' if has_dots && is_digit(at.checked_sub(1)) && is_digit(at.checked_add(1)) => '.',
        '_' => '-',
        other => other,
    };
    key.char_indices().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_names_of_the_provider() {
        let check = |provider: &str, key: &str, expected: &str| {
            let block = ModelBlock {
                name: "b".into(),
                provider: provider.into(),
                api_key: None,
                base_url: None,
                aliases: vec![("fast".into(), "some-model:1".into())],
                prices: Vec::new(),
                place: prowess_flow::mission::BlockPlace {
                    file: "a.hcl".into(),
                    line: 1,
                    span: prowess_diag::Span::default(),
                },
            };
            assert_eq!(provider_name(&block, key), expected, "{provider} {key}");
        };
        check("anthropic", "claude_sonnet_4", "claude-sonnet-4-20250514");
        check("anthropic", "claude_sonnet_4_6", "claude-sonnet-4-6");
        check("anthropic", "claude_opus_4_7", "claude-opus-4-7");
        check("anthropic", "claude_3_5_haiku", "claude-3-5-haiku-20241022");
        check("anthropic", "claude-opus-4-7", "claude-opus-4-7");
        check("openai", "gpt_4o", "gpt-4o");
        check("openai", "gpt_4_1_mini", "gpt-4.1-mini");
        check("openai", "gpt_5_5", "gpt-5.5");
        check("openai", "o4_mini", "o4-mini");
        check("openai", "my_own_model", "my_own_model");
        check("gemini", "gemini_2_5_pro", "gemini-2.5-pro");
        check("ollama", "qwen_3_8b", "qwen_3_8b");
        check("ollama", "fast", "some-model:1");
        check("openai", "fast", "some-model:1");
    }
}
