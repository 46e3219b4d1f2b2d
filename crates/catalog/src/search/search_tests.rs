//! Search as a whole.

use std::sync::Arc;

use prowess_spec::parse;

use super::*;
use crate::{Form as SkillForm, Origin, Place, SkillId, Stamp};

/// A skill with a body, from the text of its file.
#[derive(Clone, Debug)]
struct Sample {
    skill: Arc<Skill>,
    body: String,
}

impl Sample {
    fn new(folder: &str, text: &str) -> Self {
        Self::in_scope(Scope::User, folder, text)
    }

    fn in_scope(scope: Scope, folder: &str, text: &str) -> Self {
        let parsed = parse(text.as_bytes());
        let place = Place {
            id: SkillId { origin: Arc::new(Origin::new(scope, 0, "/root")), path: folder.into() },
            form: SkillForm::Folder,
            location: "".into(),
            given: Some(folder.into()),
            stamp: Stamp { size: text.len() as u64, ..Stamp::default() },
            sidecar: None,
        };
        let skill = Arc::new(Skill::from_text(place, &parsed, None));
        Self { skill, body: parsed.body_text().to_owned() }
    }

    fn described(name: &str, description: &str) -> Self {
        Self::new(name, &format!("---\nname: {name}\ndescription: {description}\n---\n"))
    }

    fn document(&self) -> Document<'_> {
        Document { skill: &self.skill, body: &self.body }
    }
}

fn index(samples: &[Sample]) -> SearchIndex {
    SearchIndex::build(samples.iter().map(Sample::document))
}

fn names(hits: &[Hit]) -> Vec<&str> {
    hits.iter().map(|hit| &*hit.skill.name).collect()
}

fn library() -> Vec<Sample> {
    vec![
        Sample::new(
            "pdf-tools",
            "---\nname: pdf-tools\ndescription: Fills PDF forms and reads their fields.\nwhen_to_use: a form must be filled in\ntags: [documents, office]\n---\n# Filling forms\n\nRun `pdftk` first.\n",
        ),
        Sample::new(
            "deploying-services",
            "---\nname: deploying-services\ndescription: Deploys services to kubernetes (k8s).\nmetadata:\n  team: platform\n  level: expert\n---\n## Roll back\n\nUse rolloutManager to undo.\n",
        ),
        Sample::new(
            "danmaku",
            "---\nname: danmaku\ndescription: 分析视频弹幕，了解观众的真实反应\nmetadata:\n  team: media\n---\n正文。\n",
        ),
        Sample::in_scope(
            Scope::Project,
            "release-notes",
            "---\nname: release-notes\ndescription: Writes release notes from commits.\nmetadata:\n  team: platform\n---\nRead the log.\n",
        ),
    ]
}

#[test]
fn every_field_is_searched() {
    let index = index(&library());
    for (text, expected, field) in [
        ("pdf", "pdf-tools", Field::Name),
        ("reading", "pdf-tools", Field::Description),
        ("filled", "pdf-tools", Field::WhenToUse),
        ("office", "pdf-tools", Field::Tags),
        ("expert", "deploying-services", Field::Metadata),
        ("rolls", "deploying-services", Field::Headings),
        ("pdftk", "pdf-tools", Field::Body),
        ("pdftools", "pdf-tools", Field::WholeName),
        ("manager", "deploying-services", Field::Body),
        ("rolloutmanager", "deploying-services", Field::Body),
        ("K8S", "deploying-services", Field::Description),
        ("弹幕", "danmaku", Field::Description),
        ("观众反应", "danmaku", Field::Description),
    ] {
        let hits = index.search(&Query::new(text));
        let hit = hits.first().unwrap_or_else(|| panic!("{text} finds nothing"));
        assert_eq!(&*hit.skill.name, expected, "{text}");
        assert!(hit.explanation.iter().any(|reason| reason.field == field), "{text}: {hit:?}");
        let sum: f32 = hit.explanation.iter().map(|reason| reason.points).sum();
        assert!((sum - hit.score).abs() < 1e-3 * hit.score, "{text}: {sum} {}", hit.score);
    }
    assert!(index.search(&Query::new("nothing-like-it zzz")).is_empty());
}
