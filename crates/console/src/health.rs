//! Whether models can be asked, for `prowess doctor`. Nothing here costs anything.

use std::sync::Arc;
use std::time::Duration;

use prowess_model::Reachable;
use prowess_terminal::Failure;

use crate::kit::{Variables, model_settings};
use crate::wait;

/// How long a provider has to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is known about one provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderHealth {
    /// Its name.
    pub provider: Box<str>,
    /// The variable that leads to it.
    pub variable: Box<str>,
    /// What it answered: how many models it lists, or what is wrong; nothing where it was not asked.
    pub answer: Option<Result<usize, String>>,
}

/// The providers for which a variable is set. `online` asks each for its list of models.
pub fn providers(variables: &Variables, online: bool) -> Result<Vec<ProviderHealth>, Failure> {
    let lookup = |name: &str| variables(name);
    let known = prowess_model::reachable(&lookup);
    let quiet = |one: &Reachable| ProviderHealth {
        provider: one.provider.into(),
        variable: one.variable.into(),
        answer: None,
    };
    if !online || known.is_empty() {
        return Ok(known.iter().map(quiet).collect());
    }
    let variables = Arc::clone(variables);
    wait::on(|_| async move {
        let settings = model_settings()?;
        let mut all = Vec::new();
        for one in &known {
            let lookup = |name: &str| variables(name);
            // Any name of a model will do: it is not asked.
            let name = format!("{}/any", one.provider);
            let answer = match prowess_model::open(&name, &lookup, &settings) {
                Ok(chosen) => match chosen.remote {
                    Some(remote) => {
                        let list = remote.models(PATIENCE).await;
                        list.map(|list| list.len()).map_err(|error| error.message)
                    }
                    None => Ok(0),
                },
                Err(error) => Err(error.to_string()),
            };
            all.push(ProviderHealth { answer: Some(answer), ..quiet(one) });
        }
        Ok(all)
    })
}
