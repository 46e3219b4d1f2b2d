//! The table of providers.

/// The wire format of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Anthropic,
    Gemini,
    /// Chat Completions.
    Chat,
    /// Responses.
    Responses,
    /// Responses at OpenAI itself, Chat Completions at any other base URL.
    OpenAi,
}

/// A provider.
#[derive(Debug)]
pub(crate) struct Provider {
    pub(crate) name: &'static str,
    pub(crate) format: Format,
    /// Empty if the URL is only known from the variable.
    pub(crate) base: &'static str,
    pub(crate) base_variable: Option<&'static str>,
    /// The variables for its key. The first one that is set is used.
    pub(crate) keys: &'static [&'static str],
    pub(crate) needs_key: bool,
    /// The default model.
    pub(crate) model: Option<&'static str>,
    /// Prefixes of the names of its models.
    pub(crate) prefixes: &'static [&'static str],
    /// `true` if it is chosen automatically when its variables are set.
    pub(crate) is_automatic: bool,
}

/// A server that may run on this machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Local {
    pub(crate) what: &'static str,
    pub(crate) provider: &'static str,
    pub(crate) base: &'static str,
    /// The path of its list of models, and the format of the list.
    pub(crate) list: &'static str,
    pub(crate) array: &'static str,
    pub(crate) key: &'static str,
}

const HOSTED: Provider = Provider {
    name: "",
    format: Format::Chat,
    base: "",
    base_variable: None,
    keys: &[],
    needs_key: true,
    model: None,
    prefixes: &[],
    is_automatic: false,
};

/// All providers. Automatic ones are tried in this order.
pub(crate) const TABLE: &[Provider] = &[
    Provider {
        name: "local",
        base_variable: Some("PROWESS_BASE_URL"),
        keys: &["PROWESS_API_KEY"],
        needs_key: false,
        is_automatic: true,
        ..HOSTED
    },
    Provider {
        name: "anthropic",
        format: Format::Anthropic,
        base: "https://api.anthropic.com",
        base_variable: Some("ANTHROPIC_BASE_URL"),
        keys: &["ANTHROPIC_API_KEY"],
        model: Some("claude-sonnet-4-6"),
        prefixes: &["claude-"],
        is_automatic: true,
        ..HOSTED
    },
    Provider {
        name: "openai",
        format: Format::OpenAi,
        base: "https://api.openai.com/v1",
        base_variable: Some("OPENAI_BASE_URL"),
        keys: &["OPENAI_API_KEY"],
        model: Some("gpt-5.2"),
        prefixes: &["gpt-", "o1", "o3", "o4"],
        is_automatic: true,
        ..HOSTED
    },
    Provider {
        name: "gemini",
        format: Format::Gemini,
        base: "https://generativelanguage.googleapis.com",
        base_variable: Some("GEMINI_BASE_URL"),
        keys: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        model: Some("gemini-2.5-pro"),
        prefixes: &["gemini-"],
        is_automatic: true,
        ..HOSTED
    },
    Provider {
        name: "openrouter",
        base: "https://openrouter.ai/api/v1",
        keys: &["OPENROUTER_API_KEY"],
        model: Some("openrouter/auto"),
        is_automatic: true,
        ..HOSTED
    },
    Provider {
        name: "openai-chat",
        base: "https://api.openai.com/v1",
        base_variable: Some("OPENAI_BASE_URL"),
        keys: &["OPENAI_API_KEY"],
        model: Some("gpt-5.2"),
        ..HOSTED
    },
    Provider {
        name: "openai-responses",
        format: Format::Responses,
        base: "https://api.openai.com/v1",
        base_variable: Some("OPENAI_BASE_URL"),
        keys: &["OPENAI_API_KEY"],
        model: Some("gpt-5.2"),
        ..HOSTED
    },
    Provider {
        name: "deepseek",
        base: "https://api.deepseek.com",
        keys: &["DEEPSEEK_API_KEY"],
        model: Some("deepseek-chat"),
        prefixes: &["deepseek-"],
        ..HOSTED
    },
    Provider {
        name: "groq",
        base: "https://api.groq.com/openai/v1",
        keys: &["GROQ_API_KEY"],
        ..HOSTED
    },
    Provider {
        name: "mistral",
        base: "https://api.mistral.ai/v1",
        keys: &["MISTRAL_API_KEY"],
        model: Some("mistral-large-latest"),
        prefixes: &["mistral-"],
        ..HOSTED
    },
    Provider {
        name: "xai",
        base: "https://api.x.ai/v1",
        keys: &["XAI_API_KEY"],
        ..HOSTED
    },
    Provider {
        name: "ollama",
        base: "http://127.0.0.1:11434/v1",
        base_variable: Some("OLLAMA_HOST"),
        needs_key: false,
        ..HOSTED
    },
];

/// Servers on this machine, on their default ports.
pub(crate) const LOCAL: &[Local] = &[
    Local {
        what: "Ollama",
        provider: "ollama",
        base: "http://127.0.0.1:11434",
        list: "api/tags",
        array: "models",
        key: "name",
    },
    local("llama.cpp", "http://127.0.0.1:8080"),
    local("vLLM", "http://127.0.0.1:8000"),
    local("LM Studio", "http://127.0.0.1:1234"),
];

const fn local(what: &'static str, base: &'static str) -> Local {
    Local {
        what,
        provider: "local",
        base,
        list: "v1/models",
        array: "data",
        key: "id",
    }
}

/// Returns the provider with this name.
pub(crate) fn find(name: &str) -> Option<&'static Provider> {
    TABLE.iter().find(|provider| provider.name == name)
}

/// Returns all names for a message.
pub fn names() -> String {
    let names = TABLE.iter().map(|provider| format!("`{}`", provider.name));
    let others = ["`scripted:FILE`", "`replay:FILE`", "`echo`"].map(str::to_owned);
    names.chain(others).collect::<Vec<_>>().join(", ")
}

/// Returns all ways to select a model, for a message.
pub(crate) fn ways() -> String {
    let keys: Vec<String> = TABLE
        .iter()
        .filter(|provider| provider.is_automatic && !provider.base.is_empty())
        .map(|provider| format!("`{}`", provider.keys.join("` or `")))
        .collect();
    format!(
        "set {}, or set `PROWESS_BASE_URL` to an OpenAI-compatible server, or start Ollama, \
         llama.cpp, vLLM or LM Studio on this machine, or set `PROWESS_MODEL` ({})",
        keys.join(", "),
        names()
    )
}

/// A provider that is configured by variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfiguredProvider {
    /// The name.
    pub provider: &'static str,
    /// The variable that is set.
    pub variable: &'static str,
}

/// Returns the providers for which a key or a URL is set, in the order in which they are tried.
pub fn reachable(variables: crate::EnvLookup<'_>) -> Vec<ConfiguredProvider> {
    let is_set = |name: &&&str| variables(name).is_some_and(|value| !value.trim().is_empty());
    let found = |provider: &Provider| {
        let address = provider
            .base_variable
            .as_ref()
            .filter(|_| provider.base.is_empty());
        let variable = provider.keys.iter().chain(address).find(is_set)?;
        Some(ConfiguredProvider {
            provider: provider.name,
            variable,
        })
    };
    TABLE
        .iter()
        .filter(|provider| provider.is_automatic)
        .filter_map(found)
        .collect()
}

/// Returns all variables that select a model, with descriptions for help texts.
pub fn variable_list() -> Vec<(&'static str, String)> {
    let mut all: Vec<(&'static str, String)> = vec![
        (
            "PROWESS_MODEL",
            "The model to use: `provider/name`".to_owned(),
        ),
        (
            "HTTPS_PROXY",
            "The proxy for requests to models; also `ALL_PROXY` and `NO_PROXY`".to_owned(),
        ),
    ];
    for provider in TABLE {
        let whose = match provider.name {
            "local" => "an OpenAI-compatible server: `local/NAME`".to_owned(),
            name => format!("`{name}`"),
        };
        let key = |name: &&'static str| (*name, format!("The API key for {whose}"));
        let place = |name: &'static str| (name, format!("The base URL of {whose}"));
        for one in provider
            .keys
            .iter()
            .map(key)
            .chain(provider.base_variable.map(place))
        {
            if all.iter().all(|(known, _)| *known != one.0) {
                all.push(one);
            }
        }
    }
    all
}

/// Returns the variable for the key of a provider.
pub fn key_variable(provider: &str) -> Option<&'static str> {
    find(provider)?.keys.first().copied()
}
