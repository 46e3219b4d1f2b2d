//! Prices and context windows of well-known models.

use prowess_agent::TokenUsage;
use prowess_traits::Price;

/// The context window of an unknown model.
pub const DEFAULT_WINDOW: u64 = 128_000;

/// The maximum number of output tokens of an unknown model.
pub(crate) const DEFAULT_OUTPUT: u32 = 8_192;

/// Facts about a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelFacts {
    /// The size of the context window in tokens.
    pub window: u64,
    /// The maximum number of output tokens.
    pub output: u32,
    /// The price.
    pub price: Price,
}

/// A row: the name without a date, the context window, the maximum number of output tokens, and
/// dollars per million tokens of input, output, cache reads and cache writes.
type Row = (&'static str, u64, u32, [f64; 4]);

/// The list prices of the providers. Models that are not listed have no price.
const TABLE: &[Row] = &[
    ("claude-3-5-haiku", 200_000, 8_192, [0.8, 4.0, 0.08, 1.0]),
    ("claude-3-7-sonnet", 200_000, 64_000, [3.0, 15.0, 0.3, 3.75]),
    ("claude-haiku-4-5", 200_000, 64_000, [1.0, 5.0, 0.1, 1.25]),
    ("claude-opus-4", 200_000, 32_000, [15.0, 75.0, 1.5, 18.75]),
    ("claude-opus-4-1", 200_000, 32_000, [15.0, 75.0, 1.5, 18.75]),
    ("claude-opus-4-5", 200_000, 64_000, [5.0, 25.0, 0.5, 6.25]),
    ("claude-opus-4-6", 200_000, 64_000, [5.0, 25.0, 0.5, 6.25]),
    ("claude-opus-4-7", 200_000, 64_000, [5.0, 25.0, 0.5, 6.25]),
    ("claude-sonnet-4", 200_000, 64_000, [3.0, 15.0, 0.3, 3.75]),
    ("claude-sonnet-4-5", 200_000, 64_000, [3.0, 15.0, 0.3, 3.75]),
    ("claude-sonnet-4-6", 200_000, 64_000, [3.0, 15.0, 0.3, 3.75]),
    ("gemini-2.5-flash", 1_048_576, 65_536, [0.3, 2.5, 0.03, 0.3]),
    (
        "gemini-2.5-flash-lite",
        1_048_576,
        65_536,
        [0.1, 0.4, 0.01, 0.1],
    ),
    (
        "gemini-2.5-pro",
        1_048_576,
        65_536,
        [1.25, 10.0, 0.125, 1.25],
    ),
    ("gemini-3-flash", 1_048_576, 65_536, [0.5, 3.0, 0.05, 0.5]),
    ("gemini-3-pro", 1_048_576, 65_536, [2.0, 12.0, 0.2, 2.0]),
    ("gpt-4.1", 1_047_576, 32_768, [2.0, 8.0, 0.5, 2.0]),
    ("gpt-4.1-mini", 1_047_576, 32_768, [0.4, 1.6, 0.1, 0.4]),
    ("gpt-4.1-nano", 1_047_576, 32_768, [0.1, 0.4, 0.025, 0.1]),
    ("gpt-4o", 128_000, 16_384, [2.5, 10.0, 1.25, 2.5]),
    ("gpt-4o-mini", 128_000, 16_384, [0.15, 0.6, 0.075, 0.15]),
    ("gpt-5", 400_000, 128_000, [1.25, 10.0, 0.125, 1.25]),
    ("gpt-5-codex", 400_000, 128_000, [1.25, 10.0, 0.125, 1.25]),
    ("gpt-5-mini", 400_000, 128_000, [0.25, 2.0, 0.025, 0.25]),
    ("gpt-5-nano", 400_000, 128_000, [0.05, 0.4, 0.005, 0.05]),
    ("gpt-5.1", 400_000, 128_000, [1.25, 10.0, 0.125, 1.25]),
    ("gpt-5.1-codex", 400_000, 128_000, [1.25, 10.0, 0.125, 1.25]),
    ("gpt-5.2", 400_000, 128_000, [1.75, 14.0, 0.175, 1.75]),
    ("o3", 200_000, 100_000, [2.0, 8.0, 0.5, 2.0]),
    ("o4-mini", 200_000, 100_000, [1.1, 4.4, 0.275, 1.1]),
];

/// Claude Code's words for families of models.
const FAMILIES: [&str; 3] = ["opus", "sonnet", "haiku"];

/// A word for a family of models that a provider does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is a model of Anthropic, which the provider `{provider}` does not have")]
pub struct NoFamily {
    word: Box<str>,
    provider: Box<str>,
}

/// Returns the name of the newest known model of a family (`opus`, `sonnet`, `haiku`), at the
/// provider of a model in use. Returns `None` if the word is not a family.
pub fn family_model(word: &str, in_use: &str) -> Option<Result<String, NoFamily>> {
    let word = word.trim().to_ascii_lowercase();
    FAMILIES.contains(&&*word).then_some(())?;
    let start = format!("claude-{word}-");
    let names = TABLE.iter().map(|(name, ..)| *name);
    let newest = names.filter(|name| name.starts_with(&start)).max()?;
    let provider = in_use.split('/').next().unwrap_or_default();
    Some(match provider {
        "anthropic" => Ok(format!("anthropic/{newest}")),
        // OpenRouter writes the version with a dot.
        "openrouter" => {
            let version = newest.strip_prefix(&start)?.replace('-', ".");
            Ok(format!("openrouter/anthropic/{start}{version}"))
        }
        _ => Err(NoFamily {
            word: word.into(),
            provider: provider.into(),
        }),
    })
}

/// Returns facts about a model by its name at the provider, ignoring a date, `-latest` and
/// `-preview`.
pub fn known(model: &str) -> Option<ModelFacts> {
    let &(_, window, output, price) = TABLE.iter().find(|(name, ..)| {
        model.strip_prefix(name).is_some_and(|rest| {
            let rest = rest.trim_start_matches("-preview");
            rest == "-latest"
                || rest.chars().all(|c| c.is_ascii_digit() || c == '-') && is_date(rest)
        })
    })?;
    let [input, written, cache_read, cache_write] = price;
    let price = Price {
        input,
        output: written,
        cache_read,
        cache_write,
    };
    Some(ModelFacts {
        window,
        output,
        price,
    })
}

/// Returns the cost of a reply in millionths of a dollar.
pub fn cost(price: &Price, usage: &TokenUsage) -> u64 {
    let sum = tokens(usage.input) * price.input
        + tokens(usage.output) * price.output
        + tokens(usage.cache_read) * price.cache_read
        + tokens(usage.cache_write) * price.cache_write;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the sum is not negative, and the cast saturates"
    )]
    let whole = sum.ceil() as u64;
    whole
}

/// Returns `true` for an empty text or enough digits for a date: `-5` would be another version.
fn is_date(rest: &str) -> bool {
    rest.is_empty() || rest.chars().filter(char::is_ascii_digit).count() >= 4
}

#[expect(
    clippy::cast_precision_loss,
    reason = "token counts are far below 2^53"
)]
fn tokens(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_models_of_the_provider_in_use() {
        let model = |word: &str, in_use: &str| family_model(word, in_use)?.ok();
        for (word, name) in [
            ("opus", "claude-opus-4-7"),
            ("sonnet", "claude-sonnet-4-6"),
            ("Haiku", "claude-haiku-4-5"),
        ] {
            let expected = format!("anthropic/{name}");
            assert_eq!(model(word, "anthropic/x"), Some(expected));
            assert!(known(name).is_some());
        }
        let routed = model("sonnet", "openrouter/openrouter/auto");
        assert_eq!(
            routed.as_deref(),
            Some("openrouter/anthropic/claude-sonnet-4.6")
        );
        assert!(family_model("gpt-5", "anthropic/x").is_none());
        let refused = family_model("opus", "openai/gpt-5").unwrap().unwrap_err();
        let expected = "`opus` is a model of Anthropic, which the provider `openai` does not have";
        assert_eq!(refused.to_string(), expected);
    }

    #[test]
    fn models_are_found_with_a_date_but_not_by_resemblance() {
        for (model, input) in [
            ("claude-sonnet-4-5-20250929", Some(3.0)),
            ("claude-opus-4-20250514", Some(15.0)),
            ("claude-opus-4-6", Some(5.0)),
            ("gpt-5-2025-08-07", Some(1.25)),
            ("gpt-5-mini", Some(0.25)),
            ("gemini-3-pro-preview", Some(2.0)),
            ("claude-opus-4-9", None),
            ("gpt-5.9", None),
            ("gpt-5-pro", None),
            ("smollm2", None),
        ] {
            assert_eq!(
                known(model).map(|known| known.price.input),
                input,
                "{model}"
            );
        }
    }

    #[test]
    fn cost_depends_on_the_kind_of_token() {
        let price = Price {
            input: 3.0,
            output: 15.0,
            cache_read: 0.3,
            cache_write: 3.75,
        };
        let usage = TokenUsage {
            input: 100,
            output: 10,
            cache_read: 1_000,
            cache_write: 8,
            micros: None,
        };
        assert_eq!(cost(&price, &usage), 300 + 150 + 300 + 30);
    }
}
