//! Checks the model providers for `prowess doctor`. No request costs money.

use std::sync::Arc;
use std::time::Duration;

use super::health::{Check, State};
use crate::output::Failure;
use prowess_diag::{sanitize, wording};
use prowess_models::ConfiguredProvider;

use crate::async_runtime;
use crate::runtime_setup::{Variables, model_settings};

/// Timeout for a provider.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The state of one provider.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ProviderHealth {
    /// Its name.
    provider: Box<str>,
    /// The variable with its key or address.
    variable: Box<str>,
    /// The number of models it lists, or an error. `None` if it was not asked.
    answer: Option<Result<usize, String>>,
}

/// Checks the providers that are configured.
pub(super) fn checks(variables: &Variables, online: bool) -> Result<Vec<Check>, Failure> {
    let found = providers(variables, online)?;
    if found.is_empty() {
        let text = "no API key is set; a local model server is used if one is running";
        let hint = "run `prowess help environment` to list the variables, or `prowess demo`, which needs none";
        return Ok(vec![Check::new("models", State::Odd, text).hint(hint)]);
    }
    let line = |one: &ProviderHealth| {
        let set = format!("{}: `{}` is set", one.provider, one.variable);
        match &one.answer {
            None => Check::new("models", State::Good, set),
            Some(Ok(count)) => {
                let text = format!("{set}, and it lists {}", wording::count(*count, "model"));
                Check::new("models", State::Good, text)
            }
            Some(Err(why)) => {
                let why = sanitize::line(why).into_owned();
                Check::new("models", State::Bad, format!("{}: {why}", one.provider))
                    .hint(format!("check `{}`", one.variable))
            }
        }
    };
    Ok(found.iter().map(line).collect())
}

/// Returns the providers whose variable is set. With `online`, asks each for its list of models.
fn providers(variables: &Variables, online: bool) -> Result<Vec<ProviderHealth>, Failure> {
    let lookup = |name: &str| variables(name);
    let known = prowess_models::reachable(&lookup);
    let quiet = |one: &ConfiguredProvider| ProviderHealth {
        provider: one.provider.into(),
        variable: one.variable.into(),
        answer: None,
    };
    if !online || known.is_empty() {
        return Ok(known.iter().map(quiet).collect());
    }
    let variables = Arc::clone(variables);
    async_runtime::on(|_| async move {
        let settings = model_settings(&variables)?;
        let mut all = Vec::new();
        for one in &known {
            let lookup = |name: &str| variables(name);
            // Any model name works: no request is sent to the model.
            let name = format!("{}/any", one.provider);
            let answer = match prowess_models::open(&name, &lookup, &settings) {
                Ok(chosen) => match chosen.remote {
                    Some(remote) => {
                        let list = remote.models(TIMEOUT).await;
                        list.map(|list| list.len()).map_err(|error| error.message)
                    }
                    None => Ok(0),
                },
                Err(error) => Err(error.to_string()),
            };
            all.push(ProviderHealth {
                answer: Some(answer),
                ..quiet(one)
            });
        }
        Ok(all)
    })
}
