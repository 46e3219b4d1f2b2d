//! Merges three versions of a skill: base, mine, theirs.
//!
//! The frontmatter is merged by key, the body by lines, other files as a whole. An edit of the person
//! is never lost: in doubt, their files stay.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use prowess_diag::line_changes::{USUAL_WORK, line_changes};
use prowess_spec::problem::{Problem, ProblemKind};
use similar::DiffOp;

/// The file with the text of a skill.
const MAIN_FILE: &str = "SKILL.md";
/// The ending of a file that is put beside the person's.
pub const NEW_ENDING: &str = ".new";
/// Keys that always have the value of the new version.
const VERSION_KEYS: [&str; 2] = ["version", "planck_version"];
/// Maximum number of lines of a body that is merged.
const MAX_MERGE_LINES: usize = 20_000;

/// The files of a skill: path and content.
pub type SkillFiles = BTreeMap<String, Vec<u8>>;

/// A text that was shipped under a version, for skills whose base is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShippedText<'t> {
    /// The version.
    pub version: &'t str,
    /// The SKILL.md.
    pub text: &'t str,
}

/// The decision about a skill of the person and a new version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkillMerge {
    /// The person removed it, and it stays removed.
    Removed,
    /// Nothing to do.
    Nothing,
    /// The body was not edited: these files replace the old ones. Settings of the person stay.
    Replace(SkillFiles),
    /// Both sides changed, without a conflict: these files are offered as a difference.
    Offer(SkillFiles),
    /// Both sides changed the same place: the files of the person stay, and these are put beside
    /// them.
    Conflict {
        /// The conflicts.
        conflicts: Vec<SkillConflict>,
        /// Files of the new version with [`NEW_ENDING`].
        beside: SkillFiles,
    },
}

/// A place that both sides changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkillConflict {
    /// A key of the frontmatter.
    Key(String),
    /// Lines of the body.
    Body,
    /// A whole file.
    File(String),
}

/// Merges a new version into the files of a person. `base` is the version that the person began with;
/// `mine` is `None` if the person removed the skill.
pub fn merge(base: &SkillFiles, mine: Option<&SkillFiles>, theirs: &SkillFiles) -> SkillMerge {
    let Some(mine) = mine else {
        return SkillMerge::Removed;
    };
    if base == theirs || mine == theirs {
        return SkillMerge::Nothing;
    }
    let text = |files: &SkillFiles| {
        let bytes = files.get(MAIN_FILE).map(Vec::as_slice).unwrap_or_default();
        String::from_utf8_lossy(bytes).into_owned()
    };
    let texts = [text(base), text(mine), text(theirs)];
    let [base_text, my_text, their_text] = &texts;
    let is_own_body = body(base_text) != body(my_text);
    let mut conflicts = Vec::new();
    let merged_text = if my_text == base_text {
        their_text.clone()
    } else {
        let head = merge_heads(
            [base_text, my_text, their_text],
            is_own_body,
            &mut conflicts,
        );
        let body = merge_lines(body(base_text), body(my_text), body(their_text));
        if body.is_none() {
            conflicts.push(SkillConflict::Body);
        }
        format!("{head}{}", body.unwrap_or_default())
    };
    let mut merged = SkillFiles::new();
    merged.insert(MAIN_FILE.to_owned(), merged_text.into_bytes());
    let paths: BTreeSet<&String> = base
        .keys()
        .chain(mine.keys())
        .chain(theirs.keys())
        .filter(|path| *path != MAIN_FILE)
        .collect();
    for path in paths {
        let (old, own, new) = (base.get(path), mine.get(path), theirs.get(path));
        let taken = if own == old || own == new {
            new
        } else {
            if new != old {
                conflicts.push(SkillConflict::File(path.clone()));
            }
            own
        };
        if let Some(content) = taken {
            merged.insert(path.clone(), content.clone());
        }
    }
    if !conflicts.is_empty() {
        return SkillMerge::Conflict {
            beside: beside(&conflicts, theirs),
            conflicts,
        };
    }
    if merged == *mine {
        return SkillMerge::Nothing;
    }
    if is_own_body {
        SkillMerge::Offer(merged)
    } else {
        SkillMerge::Replace(merged)
    }
}

/// Merges a new version into a skill whose base is not known, but whose `planck_version` is. If its
/// body was shipped under that version, that text is the base; otherwise the body counts as changed.
pub fn merge_unknown(
    mine: Option<&SkillFiles>,
    theirs: &SkillFiles,
    shipped: &[ShippedText<'_>],
) -> SkillMerge {
    let Some(mine) = mine else {
        return SkillMerge::Removed;
    };
    let bytes = mine.get(MAIN_FILE).map(Vec::as_slice).unwrap_or_default();
    let parsed = prowess_spec::parse(bytes);
    let version = parsed.manifest.planck_version.as_ref();
    let version = version.map(|version| version.value.trim());
    let own_body = parsed.body_text();
    let base = shipped
        .iter()
        .find(|shipped| Some(shipped.version) == version && body(shipped.text) == own_body);
    if let Some(base) = base {
        // Other files were not recorded: what the person has counts as it was.
        let mut files = mine.clone();
        files.insert(MAIN_FILE.to_owned(), base.text.as_bytes().to_vec());
        return merge(&files, Some(mine), theirs);
    }
    if mine == theirs {
        return SkillMerge::Nothing;
    }
    let conflicts = vec![SkillConflict::Body];
    SkillMerge::Conflict {
        beside: beside(&conflicts, theirs),
        conflicts,
    }
}

/// Returns the files of the new version that are put beside those of the person.
fn beside(conflicts: &[SkillConflict], theirs: &SkillFiles) -> SkillFiles {
    let paths = conflicts.iter().map(|conflict| match conflict {
        SkillConflict::Key(_) | SkillConflict::Body => MAIN_FILE,
        SkillConflict::File(path) => path,
    });
    let files = paths.filter_map(|path| {
        let content = theirs.get(path)?;
        Some((format!("{path}{NEW_ENDING}"), content.clone()))
    });
    files.collect()
}

fn body(text: &str) -> &str {
    prowess_spec::parse(text.as_bytes()).body_text()
}

/// The frontmatter as blocks of lines: a key, and the lines up to the next key.
struct HeadBlocks<'t> {
    /// Text before the first key, with the opening line.
    start: &'t str,
    /// Keys with their lines, in order.
    keys: Vec<(String, &'t str)>,
    /// The closing line.
    end: &'t str,
}

impl<'t> HeadBlocks<'t> {
    /// Splits the text before the body. Returns `None` if keys do not begin lines.
    fn new(text: &'t str) -> Option<Self> {
        let parsed = prowess_spec::parse(text.as_bytes());
        let head = text.get(..parsed.body.range().start)?;
        let Some(yaml) = parsed.yaml else {
            return head.is_empty().then_some(Self {
                start: "",
                keys: Vec::new(),
                end: "",
            });
        };
        let yaml = yaml.range();
        let is_unclear = |problem: &Problem| {
            !matches!(
                problem.kind,
                ProblemKind::YamlRepaired { .. }
                    | ProblemKind::ByteOrderMark
                    | ProblemKind::FenceTrailingSpace
            )
        };
        if parsed.manifest.incomplete || parsed.problems.iter().any(is_unclear) {
            return None;
        }
        let mut starts: Vec<(String, usize)> = Vec::new();
        for entry in &parsed.manifest.entries {
            let start = entry.key_span.range().start;
            let is_line_start = start == yaml.start || text.get(..start)?.ends_with('\n');
            let is_known = starts.iter().any(|(key, _)| *key == entry.key);
            if !is_line_start || is_known || start < yaml.start || start > yaml.end {
                return None;
            }
            starts.push((entry.key.to_string(), start));
        }
        starts.sort_by_key(|(_, start)| *start);
        let first = starts.first().map_or(yaml.end, |(_, start)| *start);
        let ends = starts.iter().skip(1).map(|(_, start)| *start);
        let ends: Vec<usize> = ends.chain([yaml.end]).collect();
        let mut keys = Vec::new();
        for ((key, start), end) in starts.into_iter().zip(ends) {
            keys.push((key, text.get(start..end)?));
        }
        Some(Self {
            start: text.get(..first)?,
            keys,
            end: text.get(yaml.end..parsed.body.range().start)?,
        })
    }

    fn get(&self, key: &str) -> Option<&'t str> {
        let found = self.keys.iter().find(|(known, _)| known == key);
        found.map(|(_, lines)| *lines)
    }
}

/// Merges the frontmatter by key: in the order of the new version, with keys of the person at the
/// end.
fn merge_heads(
    [base, mine, theirs]: [&str; 3],
    is_own_body: bool,
    conflicts: &mut Vec<SkillConflict>,
) -> String {
    let blocks = [base, mine, theirs].map(HeadBlocks::new);
    let [Some(old), Some(own), Some(new)] = blocks else {
        // Without keys, the frontmatter is one text.
        let heads = [base, mine, theirs].map(|text| {
            let length = text.len() - body(text).len();
            text.get(..length).unwrap_or_default()
        });
        return match heads {
            [old, own, new] if own == old || own == new => new.to_owned(),
            [old, own, new] if new == old => own.to_owned(),
            [_, own, _] => {
                conflicts.push(SkillConflict::Key("frontmatter".to_owned()));
                own.to_owned()
            }
        };
    };
    let same =
        |one: Option<&str>, two: Option<&str>| one.map(str::trim_end) == two.map(str::trim_end);
    let mut text = new.start.to_owned();
    let mut push = |lines: &str| {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(lines);
    };
    let only_mine = own.keys.iter().filter(|(key, _)| new.get(key).is_none());
    for (key, _) in new.keys.iter().chain(only_mine) {
        let (before, mine, theirs) = (old.get(key), own.get(key), new.get(key));
        // The version in it is raised, whatever else the person changed there.
        let raised = match (mine, theirs) {
            (Some(mine), Some(theirs)) if key == "metadata" => {
                Some([before.unwrap_or_default(), mine].map(|block| with_version_of(theirs, block)))
            }
            _ => None,
        };
        let (before, mine) = match &raised {
            Some([before, mine]) => (Some(before.as_str()), Some(mine.as_str())),
            None => (before, mine),
        };
        let is_version = VERSION_KEYS.contains(&key.as_str());
        let taken = if is_version || same(mine, before) || same(mine, theirs) {
            theirs
        } else if same(theirs, before) || !is_own_body {
            mine
        } else {
            conflicts.push(SkillConflict::Key(key.clone()));
            mine
        };
        if let Some(lines) = taken {
            push(lines);
        }
    }
    push(new.end);
    // A person may have removed the whole frontmatter, or added one.
    if new.keys.is_empty() && new.end.is_empty() && text.trim().is_empty() {
        return String::new();
    }
    text
}

/// Returns a `metadata` block with the line `version` of another one.
fn with_version_of(theirs: &str, block: &str) -> String {
    let is_version = |line: &&str| line.trim_start().starts_with("version:");
    let Some(new) = theirs.split_inclusive('\n').find(is_version) else {
        return block.to_owned();
    };
    let lines = block.split_inclusive('\n');
    lines
        .map(|line| if is_version(&line) { new } else { line })
        .collect()
}

/// A change of one side: lines of the base, and the lines that replace them.
struct LineHunk<'t> {
    base: Range<usize>,
    lines: &'t [&'t str],
}

/// Merges three texts by lines. Returns `None` if both sides changed the same or neighbouring lines
/// in different ways.
pub fn merge_lines(base: &str, mine: &str, theirs: &str) -> Option<String> {
    if mine == base || mine == theirs {
        return Some(theirs.to_owned());
    }
    if theirs == base {
        return Some(mine.to_owned());
    }
    let [base, mine, theirs] =
        [base, mine, theirs].map(|text| text.split_inclusive('\n').collect::<Vec<_>>());
    if [&base, &mine, &theirs]
        .iter()
        .any(|lines| lines.len() > MAX_MERGE_LINES)
    {
        return None;
    }
    // Changes that take too much work to find are one change, and overlap with those of the other side.
    let mut work = USUAL_WORK;
    let (own, new) = (
        hunks(&base, &mine, &mut work),
        hunks(&base, &theirs, &mut work),
    );
    let (mut own, mut new) = (own.iter().peekable(), new.iter().peekable());
    let mut merged = String::new();
    let mut at = 0;
    loop {
        let (hunk, other) = match (own.peek(), new.peek()) {
            (None, None) => break,
            (Some(_), None) => (own.next(), None),
            (None, Some(_)) => (new.next(), None),
            (Some(one), Some(two)) => {
                // Neighbours count as overlapping, as in git.
                let is_apart_before = one.base.end < two.base.start;
                let is_apart_after = two.base.end < one.base.start;
                if is_apart_before {
                    (own.next(), None)
                } else if is_apart_after {
                    (new.next(), None)
                } else {
                    (own.next(), new.next())
                }
            }
        };
        let hunk = hunk?;
        if let Some(other) = other
            && (hunk.base != other.base || hunk.lines != other.lines)
        {
            return None;
        }
        merged.extend(base.get(at..hunk.base.start)?.iter().copied());
        merged.extend(hunk.lines.iter().copied());
        at = hunk.base.end;
    }
    merged.extend(base.get(at..)?.iter().copied());
    Some(merged)
}

fn hunks<'t>(base: &[&'t str], other: &'t [&'t str], work: &mut u64) -> Vec<LineHunk<'t>> {
    let mut hunks: Vec<LineHunk<'t>> = Vec::new();
    for change in line_changes(base, other, work) {
        let (old, new) = match change {
            DiffOp::Equal { .. } => continue,
            change => (change.old_range(), change.new_range()),
        };
        hunks.push(LineHunk {
            base: old,
            lines: other.get(new).unwrap_or_default(),
        });
    }
    hunks
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn files(list: &[(&str, &str)]) -> SkillFiles {
        let files = list.iter();
        files
            .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()))
            .collect()
    }

    fn skill(keys: &str, body: &str) -> SkillFiles {
        let text = format!("---\nname: x\ndescription: d\n{keys}---\n{body}");
        files(&[("SKILL.md", &text), ("ref.md", "one\n")])
    }

    fn text(files: &SkillFiles) -> &str {
        std::str::from_utf8(&files["SKILL.md"]).unwrap()
    }

    const BODY: &str = "a\nb\nc\nd\ne\nf\ng\n";

    /// Row 1: body as base, keys perhaps changed; theirs new.
    #[test]
    fn unedited_body_is_replaced_and_settings_stay() {
        let base = skill("planck_version: 1\neffort: low\n", BODY);
        let mut theirs = skill(
            "planck_version: 2\neffort: high\nmodel: new\n",
            "new body\n",
        );
        theirs.insert("ref.md".to_owned(), b"two\n".to_vec());
        theirs.insert("more.md".to_owned(), b"more\n".to_vec());
        // Nothing changed: the new version as it is.
        assert_eq!(
            merge(&base, Some(&base), &theirs),
            SkillMerge::Replace(theirs.clone())
        );
        // A changed and an added key stay; the version is raised.
        let mine = skill(
            "planck_version: 1\neffort: max # mine\nalways_present: true\n",
            BODY,
        );
        let SkillMerge::Replace(merged) = merge(&base, Some(&mine), &theirs) else {
            panic!("replaced");
        };
        assert_eq!(
            text(&merged),
            "---\nname: x\ndescription: d\nplanck_version: 2\neffort: max # mine\nmodel: new\n\
             always_present: true\n---\nnew body\n"
        );
        assert_eq!(merged["ref.md"], b"two\n");
        assert_eq!(merged["more.md"], b"more\n");
        // A key that the person removed stays removed.
        let mine = skill("planck_version: 1\n", BODY);
        let SkillMerge::Replace(merged) = merge(&base, Some(&mine), &theirs) else {
            panic!("replaced");
        };
        assert!(!text(&merged).contains("effort"));
    }

    /// Row 2: body changed, theirs as base.
    #[test]
    fn edited_body_stays_without_a_new_version() {
        let base = skill("", BODY);
        let mine = skill("", "mine\n");
        assert_eq!(merge(&base, Some(&mine), &base), SkillMerge::Nothing);
        assert_eq!(merge(&base, Some(&mine), &mine), SkillMerge::Nothing);
    }

    /// Row 3: body changed, theirs new.
    #[test]
    fn edits_of_both_sides_are_merged_and_offered() {
        let base = skill("version: 1\n", BODY);
        let mine = skill(
            "version: 1\nalways_present: true\n",
            "A\nb\nc\nd\ne\nf\ng\n",
        );
        let mut theirs = skill("version: 2\n", "a\nb\nc\nd\ne\nf\nG\nh\n");
        theirs.remove("ref.md");
        let SkillMerge::Offer(merged) = merge(&base, Some(&mine), &theirs) else {
            panic!("offered");
        };
        assert_eq!(
            text(&merged),
            "---\nname: x\ndescription: d\nversion: 2\nalways_present: true\n---\n\
             A\nb\nc\nd\ne\nf\nG\nh\n"
        );
        assert!(!merged.contains_key("ref.md"));
    }

    #[test]
    fn conflict_keeps_mine_and_puts_theirs_beside() {
        let base = skill("effort: low\n", BODY);
        let theirs = skill("effort: high\n", "a\nTHEIRS\nc\nd\ne\nf\ng\n");
        let mine = skill("effort: low\n", "a\nMINE\nc\nd\ne\nf\ng\n");
        let SkillMerge::Conflict { conflicts, beside } = merge(&base, Some(&mine), &theirs) else {
            panic!("conflict");
        };
        assert_eq!(conflicts, [SkillConflict::Body]);
        assert_eq!(beside.keys().collect::<Vec<_>>(), ["SKILL.md.new"]);
        assert_eq!(beside["SKILL.md.new"], theirs["SKILL.md"]);
        // A key that both changed, next to an edited body.
        let mine = skill("effort: max\n", "a\nb\nc\nd\ne\nf\nMINE\n");
        let SkillMerge::Conflict { conflicts, .. } = merge(&base, Some(&mine), &theirs) else {
            panic!("conflict");
        };
        assert_eq!(conflicts, [SkillConflict::Key("effort".to_owned())]);
        // Another file is merged as a whole.
        let mut mine = base.clone();
        mine.insert("ref.md".to_owned(), b"mine\n".to_vec());
        let SkillMerge::Replace(merged) = merge(&base, Some(&mine), &theirs) else {
            panic!("replaced");
        };
        assert_eq!(merged["ref.md"], b"mine\n");
        let mut newer = theirs.clone();
        newer.insert("ref.md".to_owned(), b"theirs\n".to_vec());
        let SkillMerge::Conflict { conflicts, beside } = merge(&base, Some(&mine), &newer) else {
            panic!("conflict");
        };
        assert_eq!(conflicts, [SkillConflict::File("ref.md".to_owned())]);
        assert_eq!(beside["ref.md.new"], b"theirs\n");
    }

    /// Row 4: deleted.
    #[test]
    fn removed_skill_stays_removed() {
        let base = skill("", BODY);
        let theirs = skill("", "new\n");
        assert_eq!(merge(&base, None, &theirs), SkillMerge::Removed);
        assert_eq!(merge(&base, None, &base), SkillMerge::Removed);
        assert_eq!(merge_unknown(None, &theirs, &[]), SkillMerge::Removed);
    }

    /// Row 5: `planck_version` only.
    #[test]
    fn shipped_body_of_a_version_is_the_base() {
        let shipped_text = "---\nname: x\ndescription: d\nplanck_version: 1\n---\nold body\n";
        let shipped = [ShippedText {
            version: "1",
            text: shipped_text,
        }];
        let theirs = skill("planck_version: 2\n", "new body\n");
        let mine = skill("planck_version: 1\nalways_present: true\n", "old body\n");
        let SkillMerge::Replace(merged) = merge_unknown(Some(&mine), &theirs, &shipped) else {
            panic!("replaced");
        };
        assert_eq!(
            text(&merged),
            "---\nname: x\ndescription: d\nplanck_version: 2\nalways_present: true\n---\nnew body\n"
        );
        // Another body, or the body of another version, counts as changed.
        for mine in [
            skill("planck_version: 1\n", "my body\n"),
            skill("planck_version: 3\n", "old body\n"),
            skill("", "old body\n"),
        ] {
            let outcome = merge_unknown(Some(&mine), &theirs, &shipped);
            assert!(
                matches!(outcome, SkillMerge::Conflict { .. }),
                "{outcome:?}"
            );
        }
        assert_eq!(
            merge_unknown(Some(&theirs), &theirs, &shipped),
            SkillMerge::Nothing
        );
    }

    #[test]
    fn broken_frontmatter_is_merged_as_one_text() {
        let of = |head: &str, body: &str| files(&[("SKILL.md", &format!("{head}{body}"))]);
        let broken = "---\nname: x\nname: y\n---\n";
        let base = of(broken, "a\n");
        let theirs = of("---\nname: x\ndescription: d\n---\n", "b\n");
        let mine = of("---\nname: x\nname: z\n---\n", "a\n");
        let outcome = merge(&base, Some(&mine), &theirs);
        assert_eq!(
            outcome,
            SkillMerge::Conflict {
                conflicts: vec![SkillConflict::Key("frontmatter".to_owned())],
                beside: files(&[("SKILL.md.new", "---\nname: x\ndescription: d\n---\nb\n")]),
            }
        );
        // Without frontmatter.
        let [base, mine, theirs] =
            ["a\nb\nc\nd\n", "A\nb\nc\nd\n", "a\nb\nc\nD\n"].map(|body| of("", body));
        assert_eq!(
            merge(&base, Some(&mine), &theirs),
            SkillMerge::Offer(of("", "A\nb\nc\nD\n"))
        );
    }

    #[test]
    fn bytes_that_are_not_text_are_kept() {
        let of = |bytes: &[u8]| SkillFiles::from([("SKILL.md".to_owned(), bytes.to_vec())]);
        let [base, mine, theirs] = [&b"a\n"[..], b"a\xff\n", b"b\n"].map(of);
        assert!(matches!(
            merge(&base, Some(&mine), &theirs),
            SkillMerge::Conflict { .. }
        ));
        assert_eq!(
            merge(&mine, Some(&mine), &theirs),
            SkillMerge::Replace(theirs)
        );
    }

    #[test]
    fn line_breaks_of_windows_survive() {
        let of = |keys: &str, body: &str| {
            let text = format!("---\nname: x\n{keys}---\n{body}").replace('\n', "\r\n");
            files(&[("SKILL.md", &text)])
        };
        let outcome = merge(
            &of("version: 1\n", "a\n"),
            Some(&of("version: 1\neffort: low\n", "a\n")),
            &of("version: 2\n", "b\n"),
        );
        assert_eq!(
            outcome,
            SkillMerge::Replace(of("version: 2\neffort: low\n", "b\n"))
        );
    }

    /// The clean merges and the conflicts are those of git.
    #[test]
    fn lines_are_merged_as_git_does() {
        let folder = tempfile::tempdir().unwrap();
        for (base, mine, theirs) in [
            ("a\nb\nc\nd\n", "A\nb\nc\nd\n", "a\nb\nc\nD\n"),
            ("a\nb\nc\nd\n", "A\nb\nc\nd\n", "a\nB\nc\nd\n"),
            ("a\nb\nc\nd\n", "a\nb\nc\nd\nx\n", "a\nb\nc\nd\ny\n"),
            ("a\nb\nc\nd\n", "a\nb\nc\nd\nx\n", "x\na\nb\nc\nd\n"),
            ("a\nb\nc\nd\n", "b\nc\nd\n", "a\nb\nc\n"),
            ("a\nb\nc\nd\n", "a\nX\nc\nd\n", "a\nX\nc\nd\ne\n"),
            ("a\nb\nc\nd\n", "", "a\nb\nc\nd\ne\n"),
            ("a\nb\nc\nd", "a\nb\nc\nd\n", "A\nb\nc\nd"),
        ] {
            for (name, text) in [("base", base), ("mine", mine), ("theirs", theirs)] {
                std::fs::write(folder.path().join(name), text).unwrap();
            }
            let output = std::process::Command::new("git")
                .args(["merge-file", "-p", "-q", "mine", "base", "theirs"])
                .current_dir(folder.path())
                .output()
                .unwrap();
            let expected = output
                .status
                .success()
                .then(|| String::from_utf8(output.stdout).unwrap());
            assert_eq!(
                merge_lines(base, mine, theirs),
                expected,
                "{base:?} {mine:?} {theirs:?}"
            );
        }
    }

    fn lines() -> impl Strategy<Value = String> {
        "([abc]\n){0,7}[abc]?"
    }

    proptest! {
        #[test]
        fn one_sided_changes_are_taken(base in lines(), other in lines()) {
            prop_assert_eq!(merge_lines(&base, &other, &base), Some(other.clone()));
            prop_assert_eq!(merge_lines(&base, &base, &other), Some(other.clone()));
            prop_assert_eq!(merge_lines(&base, &other, &other), Some(other));
        }

        #[test]
        fn sides_are_equal(base in lines(), mine in lines(), theirs in lines()) {
            prop_assert_eq!(merge_lines(&base, &mine, &theirs), merge_lines(&base, &theirs, &mine));
        }

        /// Whatever the texts: no panic, and no line of the person is lost without a conflict.
        #[test]
        fn lines_of_the_person_stay(base in lines(), theirs in lines(), at in 0usize..8) {
            let mut mine: Vec<&str> = base.split_inclusive('\n').collect();
            mine.insert(at.min(mine.len().saturating_sub(1)), "PERSON\n");
            let mine = mine.concat();
            if let Some(merged) = merge_lines(&base, &mine, &theirs) {
                prop_assert!(merged.contains("PERSON\n"));
            }
        }

        #[test]
        fn no_text_causes_a_panic(texts in proptest::collection::vec("(---\n)?([a-c]+: ?[a-z{\\[]{0,3}\n| +x\n|#y\n){0,4}(---\n)?[a-z\n]{0,9}", 3)) {
            let [base, mine, theirs] = [0, 1, 2].map(|at| files(&[("SKILL.md", &texts[at])]));
            let _ = merge(&base, Some(&mine), &theirs);
            let _ = merge_unknown(Some(&mine), &theirs, &[]);
        }
    }
}
