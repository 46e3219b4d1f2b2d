//! `$1` in a code example.

use prowess_diag::Span;

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
use prowess_spec::body::{BodyItem, BodyItemKind, Placeholder};

rule!(
    "placeholder-in-code",
    RuleLevels::of("NWN"),
    None,
    "code contains `$1`, which some clients replace with an argument"
);

/// Highest index that is reported: `$20` is only replaced if there are 21 arguments.
const HIGHEST: usize = 9;
/// Highest index that ordinary arguments reach; for others the number needed is given.
const COMMON: usize = 2;

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    let places: Vec<(usize, Span)> = skill
        .items()
        .iter()
        .filter(|item| item.place.is_code())
        .filter_map(|item| match item.kind {
            BodyItemKind::Placeholder(Placeholder::Index(index)) if index <= HIGHEST => {
                Some((index, item.span))
            }
            _ => None,
        })
        .collect();
    // The lowest index is replaced first.
    let Some(&(index, span)) = places.iter().min() else {
        return;
    };
    let written = span.of(parsed.text);
    let others = match places.len() - 1 {
        0 => String::new(),
        n => format!(" (and {n} more)"),
    };
    let enough = if index > COMMON {
        format!(" if there are {} or more", index + 1)
    } else {
        String::new()
    };
    let rest = parsed.text.get(span.end as usize..).unwrap_or_default();
    let before = parsed.text.get(..span.start as usize).unwrap_or_default();
    let takes_arguments = parsed.manifest.entry("argument-hint").is_some()
        || parsed.manifest.entry("arguments").is_some();
    let is_first =
        |item: &BodyItem| matches!(item.kind, BodyItemKind::Placeholder(Placeholder::Index(0)));
    let names_first = skill.items().iter().any(is_first);
    let is_bare = before.ends_with('`') && rest.starts_with('`');
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let instead = if is_price(rest) || is_row_of_prices(&before[line_start..], rest) {
        let sum = rest.trim_start_matches(|c: char| c.is_alphanumeric() || ",.".contains(c));
        let sum = rest[..rest.len() - sum.len()].trim_end_matches([',', '.']);
        format!("write `USD {}{sum}`", &written[1..])
    } else if index == 1 && is_bare && takes_arguments && !names_first {
        // Shell scripts count from `$1`.
        "arguments are counted from `$0`: write that without backticks if the first one is meant"
            .to_owned()
    } else if is_bare {
        "write it without backticks if an argument is meant".to_owned()
    } else if takes_arguments {
        "write it outside the code if an argument is meant, move the code to a file of the skill"
            .to_owned()
    } else {
        "move the code to a file of the skill".to_owned()
    };
    out.report(
        LintFinding::at(
            span,
            format!(
                "`{written}` in code{others}: Claude Code replaces it with an argument{enough}"
            ),
        )
        .label("Prowess does not replace it")
        // Not a fix: clients without placeholders show the backslash to the model.
        .help(format!(
            "{instead}, or write `\\{written}` if only Claude Code and Prowess use the skill"
        )),
    );
}

/// Returns `true` for a round sum such as `$0` next to another price on its line.
fn is_row_of_prices(before: &str, rest: &str) -> bool {
    let ends = rest.starts_with(['\n', '\r', ' ', '|', ',', ')']) || rest.is_empty();
    let is_other = |(at, _): (usize, &str)| {
        let text = &before[at + 1..];
        let digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
        digits.len() < text.len() && is_price(digits)
    };
    ends && before.match_indices('$').any(is_other)
}

/// Returns `true` if the text after a dollar sign and digits continues a sum of money: `,000`,
/// `.50`, `k`, `/month`, ` per day`.
fn is_price(rest: &str) -> bool {
    let mut characters = rest.chars();
    let (first, second) = (characters.next(), characters.next());
    let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    let ends = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '_');
    let word = |text: &str| {
        let word = text.split(|c: char| !c.is_alphanumeric()).next();
        word.unwrap_or_default().to_ascii_lowercase()
    };
    match first {
        Some(',' | '-' | '.') => is_digit(second),
        Some('k' | 'K' | 'M' | 'B') => ends(second) && second != Some('$'),
        Some('/') => matches!(
            &*word(&rest[1..]),
            "mo" | "month"
                | "yr"
                | "year"
                | "day"
                | "week"
                | "hr"
                | "hour"
                | "user"
                | "seat"
                | "unit"
                | "m"
                | "h"
                | "1k"
                | "1m"
                | "gb"
                | "tb"
                | "mtok"
                | "call"
                | "request"
                | "credit"
                | "image"
                | "min"
                | "minute"
                | "query"
                | "run"
                | "share"
                | "token"
        ),
        Some('\u{2013}') => is_digit(second) || second == Some('$'),
        Some(' ') => matches!(
            &*word(&rest[1..]),
            "per"
                | "usd"
                | "million"
                | "billion"
                | "each"
                | "monthly"
                | "off"
                | "cash"
                | "credit"
                | "credits"
                | "cost"
                | "costs"
                | "budget"
                | "revenue"
                | "spend"
        ),
        _ => false,
    }
}
