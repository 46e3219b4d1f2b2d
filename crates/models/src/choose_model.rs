//! Selection of a model, by name or automatically.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use prowess_http::{Deadlines, HttpClient, HttpError, HttpUrl, HttpUrlError, Proxy};
use prowess_traits::{Model, ModelError, ModelInfo, Price};
use serde_json::Value;

use crate::api_key::{ApiKey, ApiKeyError};
use crate::cassette::{CassetteError, ReplayModel};
use crate::echo::EchoModel;
use crate::price::{self, DEFAULT_WINDOW};
use crate::providers::{self, Format, Provider};
use crate::remote::RemoteModel;
use crate::retry::{RealWaiter, RetryPolicy, Waiter};
use crate::scripted::{MAX_SCRIPT, ScriptError, ScriptedModel};
use crate::wire::WireFormat;
use crate::{Anthropic, Gemini, OpenAiChat, OpenAiResponses};

/// Returns the value of an environment variable.
pub type EnvLookup<'a> = &'a (dyn Fn(&str) -> Option<String> + Sync);

/// Settings of models.
#[derive(Clone, Debug)]
pub struct ModelSettings {
    /// The HTTP client.
    pub http: HttpClient,
    /// The retry policy.
    pub retry: RetryPolicy,
    /// The source of delays.
    pub waiter: Arc<dyn Waiter>,
    /// `true` to stream replies.
    pub stream: bool,
    /// The context window, overriding the built-in table.
    pub window: Option<u64>,
    /// A key from another source, such as a command. It overrides variables.
    pub key: Option<SecretText>,
    /// The timeout for detecting a local server.
    pub probe: Duration,
}

/// A text that is never printed.
#[derive(Clone)]
pub struct SecretText(pub String);

impl std::fmt::Debug for SecretText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("…")
    }
}

impl ModelSettings {
    /// Returns the default settings. `agent` is the `User-Agent` of the client.
    pub fn new(agent: &str) -> Result<Self, HttpError> {
        Ok(Self::with_client(HttpClient::new(
            agent,
            Deadlines::default(),
        )?))
    }

    /// Returns the default settings, with the proxy from `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`,
    /// also in lower case.
    pub fn from_variables(agent: &str, variables: EnvLookup<'_>) -> Result<Self, HttpError> {
        let set = |name: &str| {
            let value = variables(name).or_else(|| variables(&name.to_lowercase()));
            value.filter(|value| !value.trim().is_empty())
        };
        let Some(address) = set("HTTPS_PROXY").or_else(|| set("ALL_PROXY")) else {
            return Self::new(agent);
        };
        let proxy = Proxy {
            address,
            except: set("NO_PROXY").unwrap_or_default(),
        };
        Ok(Self::with_client(HttpClient::with_proxy(
            agent,
            Deadlines::default(),
            &proxy,
        )?))
    }

    /// Returns the default settings with another client.
    pub fn with_client(http: HttpClient) -> Self {
        Self {
            http,
            retry: RetryPolicy::default(),
            waiter: Arc::new(RealWaiter),
            stream: true,
            window: None,
            key: None,
            probe: Duration::from_millis(400),
        }
    }
}

/// A selected model.
#[derive(Clone, Debug)]
pub struct ChosenModel {
    /// The model.
    pub model: Arc<dyn Model>,
    /// The same model, if it is on a server that can be probed.
    pub remote: Option<Arc<RemoteModel>>,
    /// The reason for the selection.
    pub why: String,
}

/// A failed selection of a model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChooseError {
    /// The name is unknown.
    #[error(
        "unknown provider `{name}`; known providers are {}",
        providers::names()
    )]
    Unknown {
        /// The given name.
        name: String,
    },
    /// The key is missing.
    #[error("{provider} needs an API key; set `{variable}`")]
    NoKey {
        /// The provider.
        provider: &'static str,
        /// The variable.
        variable: &'static str,
    },
    /// The key is invalid.
    #[error("invalid `{variable}`: {error}")]
    Key {
        /// The variable.
        variable: String,
        /// The reason.
        error: ApiKeyError,
    },
    /// The base URL is invalid.
    #[error("invalid `{variable}`: {error}")]
    Address {
        /// The variable.
        variable: String,
        /// The reason.
        error: HttpUrlError,
    },
    /// The base URL would send the key in clear text to another machine.
    #[error("`base_url` must start with `https://`, except on this machine")]
    PlainAddress,
    /// The base URL is missing.
    #[error("{provider} needs a base URL; set `{variable}`")]
    NoAddress {
        /// The provider.
        provider: &'static str,
        /// The variable.
        variable: &'static str,
    },
    /// The provider has no default model.
    #[error("{provider} has no default model; use `{provider}/MODEL`")]
    NoModel {
        /// The provider.
        provider: &'static str,
    },
    /// The script is invalid.
    #[error("`{}`: {error}", path.display())]
    Script {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: ScriptError,
    },
    /// The file cannot be read.
    #[error("cannot read `{}`: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: std::io::Error,
    },
    /// The recording is invalid.
    #[error(transparent)]
    Cassette(#[from] CassetteError),
    /// The server does not list its models.
    #[error(transparent)]
    Server(#[from] ModelError),
    /// No model is named, configured or running.
    #[error("no model found; {}", providers::ways())]
    Nothing,
}

/// Selects a model: the named one, or one configured by variables, or a server on this machine.
pub async fn choose(
    name: Option<&str>,
    variables: EnvLookup<'_>,
    settings: &ModelSettings,
) -> Result<ChosenModel, ChooseError> {
    let set = |name: &str| variables(name).filter(|value| !value.trim().is_empty());
    if let Some(name) = name {
        return find(name, "selected by name", variables, settings).await;
    }
    if let Some(name) = set("PROWESS_MODEL") {
        return find(name.trim(), "`PROWESS_MODEL` is set", variables, settings).await;
    }
    if let Some((provider, variable)) = configured(variables) {
        let why = format!("`{variable}` is set");
        return find(provider.name, &why, variables, settings).await;
    }
    for local in providers::LOCAL {
        if let Some(found) = find_local(local, settings).await {
            return found;
        }
    }
    Err(ChooseError::Nothing)
}

/// Returns the full name of the model that [`choose`] selects: `provider/model`. Opens no file and
/// sends no request. Returns `None` if the name is unknown, or if only a server on this machine
/// knows it.
pub fn expected_name(name: Option<&str>, variables: EnvLookup<'_>) -> Option<String> {
    let set = |name: &str| variables(name).filter(|value| !value.trim().is_empty());
    let variable = set("PROWESS_MODEL");
    let name = name
        .or(variable.as_deref().map(str::trim))
        .or_else(|| configured(variables).map(|(provider, _)| provider.name))?;
    let (provider, model) = split(name).ok()?;
    Some(format!("{}/{}", provider.name, model.or(provider.model)?))
}

/// Returns the first provider that variables select, and the variable.
fn configured(variables: EnvLookup<'_>) -> Option<(&'static Provider, &'static str)> {
    let is_set = |name: &&&str| variables(name).is_some_and(|value| !value.trim().is_empty());
    let mut providers = providers::TABLE
        .iter()
        .filter(|provider| provider.is_automatic);
    providers.find_map(|provider| {
        // A provider without a fixed URL is detected by its URL, the others by their keys.
        let telling = match provider.base_variable.as_slice() {
            [_] if !provider.base.is_empty() => provider.keys,
            [] => provider.keys,
            variable => variable,
        };
        Some((provider, *telling.iter().find(is_set)?))
    })
}

/// Opens a model by name: `provider/model`, `provider`, `scripted:FILE`, `replay:FILE` or `echo`.
/// Sends no request, so it cannot find out which model a local server has.
pub fn open(
    name: &str,
    variables: EnvLookup<'_>,
    settings: &ModelSettings,
) -> Result<ChosenModel, ChooseError> {
    let why = "selected by name".to_owned();
    let chosen = |model: Arc<dyn Model>| ChosenModel {
        model,
        remote: None,
        why: why.clone(),
    };
    if let Some(path) = name.strip_prefix("scripted:") {
        return Ok(chosen(Arc::new(script(Path::new(path))?)));
    }
    if let Some(path) = name.strip_prefix("replay:") {
        return Ok(chosen(Arc::new(ReplayModel::open(Path::new(path))?)));
    }
    if name == "echo" {
        return Ok(chosen(Arc::new(EchoModel::default())));
    }
    open_provider(name, variables, settings)
}

/// Opens a model of a provider: `provider/name`. For names that skills and agents choose, which must
/// not name files.
pub fn open_provider(
    name: &str,
    variables: EnvLookup<'_>,
    settings: &ModelSettings,
) -> Result<ChosenModel, ChooseError> {
    let why = "selected by name".to_owned();
    let (provider, model) = split(name)?;
    let model = model.or(provider.model).ok_or(ChooseError::NoModel {
        provider: provider.name,
    })?;
    let endpoint = Endpoint::of(provider, variables, settings)?;
    Ok(remote(provider, model, endpoint, settings, why))
}

/// A model that a file defines, with its own address, key and price.
#[derive(Clone)]
pub struct DefinedModel<'a> {
    /// The name of the provider.
    pub provider: &'a str,
    /// The name of the model at the provider.
    pub model: &'a str,
    /// The base URL, instead of that of the provider.
    pub base: Option<&'a str>,
    /// The key, instead of that of the provider.
    pub key: Option<SecretText>,
    /// The price, instead of the list price.
    pub price: Option<Price>,
}

impl std::fmt::Debug for DefinedModel<'_> {
    /// Prints neither the key nor the base URL, which may contain a secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.provider, self.model)
    }
}

/// Opens a model that a file defines. With a base URL of another origin and no key, no key is sent:
/// the usual one is for the provider alone.
pub fn open_defined(
    defined: &DefinedModel<'_>,
    variables: EnvLookup<'_>,
    settings: &ModelSettings,
) -> Result<ChosenModel, ChooseError> {
    let provider = providers::find(defined.provider).ok_or_else(|| ChooseError::Unknown {
        name: defined.provider.chars().take(100).collect(),
    })?;
    let settings = ModelSettings {
        key: defined.key.clone(),
        ..settings.clone()
    };
    let endpoint = match defined.base {
        None => Endpoint::of(provider, variables, &settings)?,
        Some(text) => {
            let wrong = |error| ChooseError::Address {
                variable: "base_url".into(),
                error,
            };
            let base = HttpUrl::parse(text.trim()).map_err(wrong)?;
            if base.as_str().starts_with("http:") && !base.is_loopback() {
                return Err(ChooseError::PlainAddress);
            }
            let origin = base.origin();
            let usual = HttpUrl::parse(provider.base).is_ok_and(|usual| usual.origin() == origin);
            let key = match defined.key.as_ref() {
                Some(key) => {
                    Some(
                        ApiKey::new(&key.0, origin).map_err(|error| ChooseError::Key {
                            variable: "api_key".into(),
                            error,
                        })?,
                    )
                }
                None if usual => Endpoint::of(provider, variables, &settings)?.key,
                None => None,
            };
            Endpoint { base, key }
        }
    };
    let why = "defined in a file".to_owned();
    Ok(priced(
        provider,
        defined.model,
        endpoint,
        &settings,
        why,
        defined.price,
    ))
}

/// Like [`open`], but asks a server without a default model for its models.
async fn find(
    name: &str,
    why: &str,
    variables: EnvLookup<'_>,
    settings: &ModelSettings,
) -> Result<ChosenModel, ChooseError> {
    let opened = open(name, variables, settings);
    let Err(ChooseError::NoModel { provider }) = opened else {
        return opened.map(|chosen| ChosenModel {
            why: why.to_owned(),
            ..chosen
        });
    };
    let nothing = || ChooseError::NoModel { provider };
    let provider = providers::find(provider).ok_or_else(nothing)?;
    let endpoint = Endpoint::of(provider, variables, settings)?;
    let asking = remote(provider, "", endpoint.clone(), settings, String::new());
    let remote_model = asking.remote.ok_or_else(nothing)?;
    let list = remote_model
        .models(settings.probe.max(Duration::from_secs(5)))
        .await?;
    let first = list.into_iter().next().ok_or_else(nothing)?;
    let why = format!("{why}, and it is the first model listed by the server");
    Ok(remote(provider, &first, endpoint, settings, why))
}

/// Returns the first model of a server on this machine, if it is running.
async fn find_local(
    local: &providers::Local,
    settings: &ModelSettings,
) -> Option<Result<ChosenModel, ChooseError>> {
    let base = HttpUrl::parse(local.base).ok()?;
    let short = Deadlines {
        connect: settings.probe,
        first: settings.probe,
        idle: settings.probe,
        total: settings.probe,
        bytes: 1024 * 1024,
    };
    let http = settings.http.with_deadlines(short);
    let answer = http.get(&base.below(local.list), &[]).await.ok()?;
    if answer.status() != 200 {
        return None;
    }
    let value: Value = serde_json::from_slice(&answer.body().await.ok()?).ok()?;
    let entry = value.get(local.array)?.get(0)?;
    let model = entry.get(local.key)?.as_str()?.to_owned();
    let provider = providers::find(local.provider)?;
    let endpoint = Endpoint {
        base: base.below("v1"),
        key: None,
    };
    let why = format!("{} is running at {}", local.what, local.base);
    Some(Ok(remote(provider, &model, endpoint, settings, why)))
}

/// Splits a name into provider and model. The names of well-known models need no provider.
fn split(name: &str) -> Result<(&'static Provider, Option<&str>), ChooseError> {
    if let Some((provider, model)) = name.split_once('/')
        && let Some(provider) = providers::find(provider)
    {
        return Ok((
            provider,
            Some(model.trim()).filter(|model| !model.is_empty()),
        ));
    }
    if let Some(provider) = providers::find(name) {
        return Ok((provider, None));
    }
    let by_model = providers::TABLE.iter().find(|provider| {
        provider
            .prefixes
            .iter()
            .any(|prefix| name.starts_with(prefix))
    });
    match by_model {
        Some(provider) if !name.contains('/') => Ok((provider, Some(name))),
        _ => Err(ChooseError::Unknown {
            name: name.chars().take(100).collect(),
        }),
    }
}

/// The base URL of a provider, and the key for it.
#[derive(Clone)]
struct Endpoint {
    base: HttpUrl,
    key: Option<ApiKey>,
}

impl Endpoint {
    fn of(
        provider: &'static Provider,
        variables: EnvLookup<'_>,
        settings: &ModelSettings,
    ) -> Result<Self, ChooseError> {
        let set = |name: &str| variables(name).filter(|value| !value.trim().is_empty());
        let base = match provider
            .base_variable
            .and_then(|name| Some((name, set(name)?)))
        {
            Some((variable, text)) => {
                base_of(provider, &text).map_err(|error| ChooseError::Address {
                    variable: variable.into(),
                    error,
                })?
            }
            None if provider.base.is_empty() => {
                let variable = provider.base_variable.unwrap_or_default();
                return Err(ChooseError::NoAddress {
                    provider: provider.name,
                    variable,
                });
            }
            None => HttpUrl::parse(provider.base).map_err(|error| ChooseError::Address {
                variable: provider.name.into(),
                error,
            })?,
        };
        let given = settings.key.as_ref().map(|text| ("key", text.0.clone()));
        let found = given.or_else(|| {
            provider
                .keys
                .iter()
                .find_map(|name| Some((*name, set(name)?)))
        });
        let key =
            match found {
                Some((variable, text)) => Some(ApiKey::new(&text, base.origin()).map_err(
                    |error| ChooseError::Key {
                        variable: variable.into(),
                        error,
                    },
                )?),
                // A local server may not need a key.
                None if provider.needs_key && !base.is_loopback() => {
                    let variable = provider.keys.first().copied().unwrap_or_default();
                    return Err(ChooseError::NoKey {
                        provider: provider.name,
                        variable,
                    });
                }
                None => None,
            };
        Ok(Self { base, key })
    }
}

/// Parses a base URL. Ollama's variable may have no scheme, and may be an address to listen on.
fn base_of(provider: &Provider, text: &str) -> Result<HttpUrl, HttpUrlError> {
    let text = text.trim();
    if provider.name != "ollama" {
        return HttpUrl::parse(text);
    }
    let text = if text.contains("://") {
        text.to_owned()
    } else {
        format!("http://{text}")
    };
    let has_port = text
        .trim_end_matches('/')
        .rsplit(':')
        .next()
        .is_some_and(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()));
    let text = if has_port {
        text
    } else {
        format!("{}:11434", text.trim_end_matches('/'))
    };
    let base = HttpUrl::parse(&text.replace("//0.0.0.0:", "//127.0.0.1:"))?;
    Ok(base.below("v1"))
}

fn remote(
    provider: &'static Provider,
    model: &str,
    endpoint: Endpoint,
    settings: &ModelSettings,
    why: String,
) -> ChosenModel {
    priced(provider, model, endpoint, settings, why, None)
}

/// Creates a model on a server. A `price` replaces the list price.
fn priced(
    provider: &'static Provider,
    model: &str,
    endpoint: Endpoint,
    settings: &ModelSettings,
    why: String,
    price: Option<Price>,
) -> ChosenModel {
    let is_official = endpoint.base.host() == "api.openai.com";
    let wire: Arc<dyn WireFormat> = match provider.format {
        Format::Anthropic => Arc::new(Anthropic),
        Format::Gemini => Arc::new(Gemini),
        Format::Responses => Arc::new(OpenAiResponses),
        Format::OpenAi if is_official => Arc::new(OpenAiResponses),
        Format::Chat | Format::OpenAi if is_official => Arc::new(OpenAiChat::Official),
        Format::Chat | Format::OpenAi => Arc::new(OpenAiChat::Compatible),
    };
    let known = price::known(model);
    let about = ModelInfo {
        name: format!("{}/{model}", provider.name).into(),
        window: settings
            .window
            .or(known.map(|known| known.window))
            .unwrap_or(DEFAULT_WINDOW),
        price: price.or_else(|| {
            let listed = known.filter(|_| !endpoint.base.is_loopback());
            listed.map(|known| known.price)
        }),
        note: None,
    };
    let http = settings.http.clone();
    let model = RemoteModel::new(about, wire, model, endpoint.base, endpoint.key, http)
        .with_stream(settings.stream)
        .with_retry(settings.retry, settings.waiter.clone());
    let model = Arc::new(model);
    ChosenModel {
        model: model.clone(),
        remote: Some(model),
        why,
    }
}

fn script(path: &Path) -> Result<ScriptedModel, ChooseError> {
    let failed = |error| ChooseError::File {
        path: path.to_owned(),
        error,
    };
    let mut text = String::new();
    let file = File::open(path).map_err(failed)?;
    file.take(MAX_SCRIPT as u64 + 1)
        .read_to_string(&mut text)
        .map_err(failed)?;
    let name = path
        .file_stem()
        .map(|stem| stem.to_string_lossy())
        .unwrap_or_default();
    ScriptedModel::parse(&name, &text).map_err(|error| ChooseError::Script {
        path: path.to_owned(),
        error,
    })
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    /// Starts a server that sends one response, and returns its URL.
    fn server(body: &'static str) -> &'static str {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 4096]).unwrap();
            let length = body.len();
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{body}");
            stream.write_all(head.as_bytes()).unwrap();
        });
        Box::leak(base.into_boxed_str())
    }

    fn found(local: &providers::Local) -> Option<(String, String)> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let mut settings = ModelSettings::new("prowess-test").unwrap();
        settings.probe = Duration::from_secs(20);
        let chosen = runtime.block_on(find_local(local, &settings))?.unwrap();
        let base = local.base;
        Some((
            chosen.model.about().name.to_string(),
            chosen.why.replace(base, "BASE"),
        ))
    }

    #[test]
    fn local_servers_are_detected_by_their_lists() {
        let [ollama, llama, ..] = providers::LOCAL else {
            panic!("Ollama and llama.cpp are the first two local servers");
        };
        let at = |local: &providers::Local, body| providers::Local {
            base: server(body),
            ..*local
        };
        let tags = at(
            ollama,
            r#"{"models":[{"name":"qwen3:8b","size":5},{"name":"other"}]}"#,
        );
        let expected = (
            "ollama/qwen3:8b".to_owned(),
            "Ollama is running at BASE".to_owned(),
        );
        assert_eq!(found(&tags), Some(expected));
        let list = at(llama, r#"{"object":"list","data":[{"id":"smollm2"}]}"#);
        let expected = (
            "local/smollm2".to_owned(),
            "llama.cpp is running at BASE".to_owned(),
        );
        assert_eq!(found(&list), Some(expected));
        for other in ["<html>", "{}", r#"{"data":[]}"#, r#"{"data":[{"id":7}]}"#] {
            assert_eq!(found(&at(llama, other)), None, "{other}");
        }
    }
}
