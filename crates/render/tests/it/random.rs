//! Random scripts: what [`prepare`] accepts, the real bash runs, and no value is ever run.
//!
//! The scripts are nonsense, mostly; what counts is that our reading of quotation, nesting and
//! pipelines is never more generous than bash's. For more scripts, or others, build the test with
//! `PROWESS_RANDOM_SCRIPTS` and `PROWESS_RANDOM_SEED`.

use std::process::{Command, Stdio};

use prowess_diag::Span;
use prowess_render::{Arguments, PrepareOptions, RenderedPart, SkillVariables, prepare};

/// Nothing in here writes or calls itself, except what a value would.
const PIECES: &[&str] = &[
    "echo \"$1\" ",
    "echo $1 ",
    "$(echo \"$1\") ",
    "\"$(echo $1)\" ",
    "echo \"$1\" | ",
    "{ echo $1; } | ",
    "(echo $1) | ",
    "if true; then ",
    "; fi ",
    "; done ",
    "for x in $1; do ",
    "while read -r x; do ",
    "case $1 in *) ",
    ";; esac ",
    "<<< \"$1\" ",
    "< <(echo \"$1\") ",
    "bash ",
    "cat ",
    "cat ",
    "; ",
    "; ",
    "\n",
    "\n",
    "'a b' ",
    "\"a b\" ",
    "x=\"$1\"; ",
    "x=$(echo $1); ",
    "echo \"$x\" ",
    "echo $x ",
    "[[ $1 == x ]] && ",
    "[ \"$1\" = x ] || ",
    "\"it's $1\" ",
    "'\"' ",
    "\"'\" ",
    "# it's\n",
    "\\' ",
    "\\\" ",
    "$1",
    "\"$1\"",
    "$ARGUMENTS",
    "\"$ARGUMENTS\"",
    "$1",
    "\"$1\"",
    "\\$1",
    "${1}",
    "\"$@\"",
    "$value",
    "'",
    "\"",
    "\\",
    " ",
    " ",
    " ",
    "\n",
    ";",
    " | ",
    " && ",
    " || ",
    "$(",
    ")",
    "(",
    "`",
    "{ ",
    "; }",
    "((",
    "))",
    "[[ ",
    " ]]",
    "[ ",
    " ]",
    " -eq ",
    " == ",
    "echo ",
    "echo ",
    "echo ",
    "eval ",
    "bash ",
    "bash -c ",
    "sh ",
    " -c ",
    "cat ",
    "<<EOF\n",
    "\nEOF\n",
    "<<'E'\n",
    "\nE\n",
    "<<< ",
    "<(",
    "# ",
    "if ",
    "then ",
    "fi",
    "for x in ",
    "do ",
    "done",
    "while read x; do ",
    "case x in ",
    "*) ",
    "x) ",
    ";;",
    "esac",
    "x=",
    "x=$1;",
    "$x",
    "\"$x\"",
    "${x:-",
    "${a[",
    "}",
    "]",
    "$((",
    "printf ",
    "%s ",
    "read x ",
    "declare ",
    "-i ",
    "xargs ",
    "$'",
    "$\"",
    "!",
    "time ",
    "env ",
    "command ",
    "test ",
    "set -- ",
    "local ",
    "export ",
    "a=(",
    "trap ",
    "EXIT",
    "{x,",
    "~",
    "*",
    "x",
    "-v ",
    "\\\n",
    "#",
    "$",
    "${!",
    "@P}",
    ":",
    "&",
    ">/dev/null ",
    "2>&1 ",
    "exec ",
    "let ",
    "unset ",
];

const VALUES: &[&str] = &[
    "touch pwned",
    "x;touch pwned;",
    "'\";touch pwned;#",
    "$(touch pwned)",
    "a[$(touch${IFS}pwned)]",
    "-va[$(touch${IFS}pwned)]",
    "\ntouch pwned\n",
    "EOF\ntouch pwned\n",
];

/// Number of scripts in an ordinary run.
const SCRIPTS: usize = 3_000;

#[test]
fn random_scripts_never_run_a_value() {
    let folder = tempfile::tempdir().unwrap();
    let count = option_env!("PROWESS_RANDOM_SCRIPTS")
        .and_then(|text| text.parse().ok())
        .unwrap_or(SCRIPTS);
    let mut state = option_env!("PROWESS_RANDOM_SEED")
        .and_then(|text| text.parse().ok())
        .unwrap_or(0x2545_f491_4f6c_dd1d_u64);
    let mut random = |bound: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % u64::try_from(bound).unwrap()).unwrap()
    };
    let (mut accepted, mut bound) = (0_usize, 0_usize);
    for number in 0..count {
        let length = 2 + random(12);
        let script: String = (0..length).map(|_| PIECES[random(PIECES.len())]).collect();
        if script.contains("```") {
            continue;
        }
        let body = format!("```!\n{script}\n```\n");
        let options = PrepareOptions {
            names: &["value"],
            ..PrepareOptions::default()
        };
        let Ok(template) = prepare(&body, Span::new(0, body.len()), &options) else {
            continue;
        };
        accepted += 1;
        let value = VALUES[number % VALUES.len()];
        let arguments = Arguments::from_words(vec![value.into(), value.into(), value.into()]);
        let rendered = template
            .fill(&arguments, &SkillVariables::default())
            .unwrap();
        for part in &rendered.parts {
            let RenderedPart::Command(slot) = part else {
                continue;
            };
            if slot.positionals.len() < 2 && slot.variables.is_empty() {
                continue;
            }
            bound += 1;
            let status = Command::new("timeout")
                .args(["5", "bash", "--norc", "--noprofile", "-c", &slot.script])
                .args(slot.positionals.iter().map(AsRef::<str>::as_ref))
                .env_clear()
                .env("PATH", "/usr/bin:/bin")
                .envs(
                    slot.variables
                        .iter()
                        .map(|(name, value)| (&**name, &**value)),
                )
                .current_dir(folder.path())
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
            assert!(status.is_ok());
            let canary = folder.path().join("pwned");
            assert!(!canary.exists(), "{script:?} ran {value:?}: {slot:?}");
        }
    }
    assert!(
        bound * 20 > count,
        "{accepted} accepted, {bound} with values"
    );
}
