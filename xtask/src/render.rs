//! Renders all skills below some folders, with and without arguments, without running commands.

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Instant;

use anyhow::{Result, ensure};
use prowess_registry::{WalkOptions, walk};
use prowess_render::{
    Arguments, CommandHandling, Compat, PrepareOptions, RenderedPart, SkillVariables, prepare,
};
use prowess_spec::parse;

/// Index of the only arguments that are not ordinary.
const HOSTILE: usize = 1;

pub(crate) fn run(folders: &[&str]) -> Result<()> {
    let variables = SkillVariables {
        skill_dir: Some("/skills/x".to_owned()),
        session_id: Some("session".to_owned()),
        project_dir: Some("/project".to_owned()),
        effort: Some("high".to_owned()),
        ..SkillVariables::default()
    };
    let all = [
        Arguments::none(),
        Arguments::from_text("one \"two three\" $0 !`touch pwned`"),
        Arguments::from_json(serde_json::json!({ "file": "a.pdf", "count": 3 })),
        Arguments::from_text("src/my-file.rs \"fix the login bug\" 42"),
    ];
    let (mut ordinary_refused, mut hostile_refused) = (0, 0);
    let (mut skills, mut bytes, mut placeholders, mut commands, mut refused, mut appended) =
        (0, 0, 0, 0, 0, 0);
    let start = Instant::now();
    let roots: Vec<PathBuf> = folders.iter().map(PathBuf::from).collect();
    let texts: Mutex<Vec<(PathBuf, Vec<u8>)>> = Mutex::default();
    walk(&roots, WalkOptions::default(), &|found| {
        if let (Ok(bytes), Ok(mut texts)) = (found.bytes, texts.lock()) {
            texts.push((found.path.to_owned(), bytes.to_vec()));
        }
    });
    let texts = texts.into_inner().unwrap_or_default();
    ensure!(!texts.is_empty(), "no skills found below {folders:?}");
    for (file, text) in texts {
        let parsed = parse(&text);
        skills += 1;
        bytes += text.len();
        let names: Vec<&str> = parsed
            .manifest
            .arguments
            .iter()
            .map(|name| &*name.value)
            .collect();
        for compat in Compat::ALL {
            for held in [CommandHandling::Bind, CommandHandling::Withhold] {
                let options = PrepareOptions {
                    names: &names,
                    compat,
                    commands: held,
                };
                let template = match prepare(parsed.text, parsed.body, &options) {
                    Ok(template) => template,
                    Err(why) => {
                        ensure!(held == CommandHandling::Bind, "{}: {why}", file.display());
                        refused += usize::from(compat == Compat::default());
                        continue;
                    }
                };
                for (index, arguments) in all.iter().enumerate() {
                    let rendered = template.fill(arguments, &variables)?;
                    let is_refused =
                        |part: &&RenderedPart| matches!(part, RenderedPart::Refused(_));
                    let is_command = |part: &&RenderedPart| {
                        matches!(part, RenderedPart::Command(_)) || is_refused(part)
                    };
                    let slots = rendered.parts.iter().filter(is_command).count();
                    let values_refused = rendered.parts.iter().filter(is_refused).count();
                    ensure!(
                        slots
                            == if held == CommandHandling::Bind {
                                template.commands()
                            } else {
                                0
                            },
                        "{}: arguments changed the number of commands",
                        file.display()
                    );
                    if compat == Compat::default() && held == CommandHandling::Bind {
                        placeholders += rendered.report.filled.len();
                        commands += slots;
                        if index == HOSTILE {
                            hostile_refused += values_refused;
                        } else {
                            ordinary_refused += values_refused;
                        }
                        appended += usize::from(rendered.report.appended);
                    }
                }
            }
        }
    }
    let renderings = skills * Compat::ALL.len() * 2 * all.len();
    let time = start.elapsed();
    println!(
        "{skills} skills, {} kB, rendered {renderings} times in {:.2} s",
        bytes / 1000,
        time.as_secs_f64()
    );
    println!(
        "{placeholders} placeholders filled, {commands} commands found but not run, arguments appended {appended} times"
    );
    println!("{refused} skills rejected because a value would become code");
    println!(
        "commands refused because of a value: {ordinary_refused} with ordinary arguments, {hostile_refused} with hostile ones"
    );
    Ok(())
}
