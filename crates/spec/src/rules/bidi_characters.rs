//! Characters that turn text around.

use prowess_diag::sanitize;

use super::{Levels, Sink, Subject};
use crate::rules::invisible_characters::suspicious;

rule!("bidi-characters", Levels::of("WEW"), Suggested, "the text has characters that change its direction");

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    let found: Vec<_> = suspicious(parsed.text).filter(|&(_, c)| sanitize::is_bidi(c)).collect();
    if let Some(finding) = super::invisible_characters::describe(parsed.text, &found, "changes the direction of text: what people read is not what a model reads") {
        out.report(finding);
    }
}
