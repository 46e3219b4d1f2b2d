//! Measures how well the fit of a hit separates messages that a skill fits from those that none
//! fits.

use prowess_search::{GOOD_FIT, SearchHit, SearchIndex, SearchQuery};

use super::{Entry, Prompt, no_skill, share, subset};

/// Number of hits that are suggested at most.
const SUGGESTED: usize = 3;

/// Prints, for libraries of several sizes and for several thresholds, the share of messages without
/// a suggestion, and the recall and the precision of the suggestions for prompts.
pub(super) fn run(entries: &[Entry], prompts: &[Prompt]) {
    let messages: Vec<&str> = no_skill().collect();
    println!(
        "{} prompts, {} messages that no skill fits; at most {SUGGESTED} suggestions\n",
        prompts.len(),
        messages.len()
    );
    println!(
        "| skills | fit at least | silent, chosen on | silent, other half | recall A | recall B | recall of top 3 | suggestions that are right | prompts with a suggestion |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for size in [300, 3000, usize::MAX] {
        let (some, right) = subset(entries, prompts, size);
        let index = SearchIndex::build(some.iter().map(Entry::document));
        let search = |text: &str| {
            index.search(&SearchQuery {
                limit: SUGGESTED,
                explain: false,
                ..SearchQuery::new(text)
            })
        };
        let silent: Vec<f32> = messages.iter().map(|text| best(&search(text))).collect();
        let hits: Vec<Vec<(f32, bool)>> = prompts
            .iter()
            .zip(&right)
            .map(|(prompt, right)| {
                let found = search(&prompt.text);
                let is_right = |hit: &SearchHit| hit.skill.id == some[*right].skill.id;
                let best = found.first().map_or(0.0, |hit| hit.score);
                let fits = found.iter().map(|hit| hit.fit_among(best));
                fits.zip(found.iter().map(is_right)).collect()
            })
            .collect();
        let thresholds = [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, GOOD_FIT];
        for least in thresholds {
            let quiet = |parity: usize| {
                share(
                    silent
                        .iter()
                        .skip(parity)
                        .step_by(2)
                        .map(|fit| *fit < least),
                )
            };
            let found = |hits: &[(f32, bool)]| {
                hits.iter()
                    .any(|(fit, is_right)| *is_right && *fit >= least)
            };
            let recall = |tuned: Option<bool>| {
                let of = prompts.iter().zip(&hits);
                let of = of.filter(|(prompt, _)| tuned.is_none_or(|tuned| prompt.tuned == tuned));
                share(of.map(|(_, hits)| found(hits)))
            };
            let all = share(
                hits.iter()
                    .map(|hits| hits.iter().any(|(_, is_right)| *is_right)),
            );
            let shown = hits.iter().flatten().filter(|(fit, _)| *fit >= least);
            let any = |hits: &Vec<(f32, bool)>| hits.iter().any(|(fit, _)| *fit >= least);
            println!(
                "| {} | {least:.2} | {:.3} | {:.3} | {:.3} | {:.3} | {all:.3} | {:.3} | {:.3} |",
                some.len(),
                quiet(0),
                quiet(1),
                recall(Some(true)),
                recall(Some(false)),
                share(shown.map(|(_, is_right)| *is_right)),
                share(hits.iter().map(any)),
            );
        }
        let mut loud: Vec<(f32, &str)> = silent.into_iter().zip(messages.iter().copied()).collect();
        loud.sort_by(|one, other| other.0.total_cmp(&one.0));
        for (fit, text) in loud.iter().take(12).filter(|(fit, _)| *fit >= GOOD_FIT) {
            let first = search(text).first().map(|hit| hit.skill.name.to_string());
            println!("  {fit:.2} {text} → {}", first.unwrap_or_default());
        }
    }
}

/// Returns the highest fit.
fn best(hits: &[SearchHit]) -> f32 {
    let best = hits.first().map_or(0.0, |hit| hit.score);
    let fits = hits.iter().map(|hit| hit.fit_among(best));
    fits.fold(0.0, f32::max)
}
