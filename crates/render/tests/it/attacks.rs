//! Attacks on commands: hostile values in every place a template can put them, run by the real bash.
//!
//! Each attack has a folder of its own. A value that is taken for code anywhere makes a file there;
//! [`attacks_succeed_if_values_are_spliced`] shows that they would, if values were put into scripts.

use prowess_test::attacks::{CANARY, VALUES};
use std::path::Path;
use std::process::{Command, Stdio};

use prowess_diag::Span;
use prowess_render::{
    Arguments, CommandSlot, FillError, PrepareOptions, RenderedPart, SkillVariables, prepare,
};

/// Templates; `§` is a placeholder, in each of its forms. The second field says whether the place is
/// one where a value works; elsewhere the skill must be refused.
const TEMPLATES: &[(&str, bool)] = &[
    ("echo §", true),
    ("echo \"§\"", true),
    ("echo x§y \"x§y\"", true),
    ("echo '§'", false),
    ("echo $'§'", false),
    ("cat <<EOF\n§\nEOF", false),
    ("cat <<'EOF'\n§\nEOF", false),
    ("bash <<EOF\necho §\nEOF", false),
    ("echo $(echo §)", true),
    ("echo \"$(echo \"§\")\"", true),
    ("echo `echo §`", false),
    ("[[ § == x ]]", true),
    ("[[ -n § ]]", true),
    ("[[ \"§\" =~ ^[0-9]+$ ]]", true),
    ("[[ § -eq 1 ]]", false),
    ("[[ -v § ]]", false),
    ("[ \"§\" = x ]", true),
    ("[ § = x ]", false),
    ("[ § ]", false),
    ("test -v \"§\"", false),
    ("echo $(( § + 1 ))", false),
    ("(( x = § ))", false),
    ("let x=§", false),
    ("a=(1 2); echo ${a[§]}", false),
    ("x=abc; echo ${x:§}", false),
    ("a[§]=1", false),
    ("printf '%s\\n' --name=\"§\"", true),
    ("x=§; echo \"$x\"", true),
    ("x=§; eval \"echo $x\"", false),
    ("x=\"§\"; echo $(( x ))", false),
    ("x=§ env", true),
    ("env x=§ true", false),
    ("env x=\"§\" true", true),
    ("$nothing \"§\"", false),
    ("a=(§ \"§\"); echo \"${a[@]}\"", true),
    ("declare x=\"§\"; echo \"$x\"", true),
    ("declare \"§\"", false),
    ("declare -i x=\"§\"", false),
    ("export x=\"§\"", true),
    ("unset \"§\"", false),
    ("read \"§\" < /dev/null", false),
    ("case § in x) echo x;; esac", true),
    ("case x in §) echo x;; *) echo y;; esac", true),
    ("for f in §; do echo \"$f\"; done", true),
    ("for f in §; do eval \"echo $f\"; done", false),
    ("if [ -z \"§\" ]; then echo none; fi", true),
    ("while read -r l; do echo \"$l\"; done <<< \"§\"", true),
    ("eval echo §", false),
    ("eval \"echo §\"", false),
    ("'eval' \"echo §\"", false),
    ("bash -c \"echo §\"", false),
    ("bash -c 'echo \"\\$1\"' -- \"§\"", true),
    ("bash -c 'eval \"\\$1\"' -- \"§\"", false),
    ("bash -c \"eval \\\"\\$1\\\"\" -- \"§\"", false),
    ("code='eval \"\\$1\"'; bash -c \"$code\" -- \"§\"", false),
    ("sh -ec \"echo §\"", false),
    ("env bash -c \"echo §\"", false),
    ("echo \"§\" | bash", false),
    ("echo \"§\" | sh -s", false),
    ("{ echo \"§\"; } | bash", false),
    ("echo \"§\" | { bash; }", false),
    ("bash <<< \"§\"", false),
    ("bash <(echo \"§\")", false),
    ("source <(echo \"§\")", false),
    ("echo \"§\" > >(bash)", false),
    ("echo \"§\" | xargs -I{} sh -c '{}'", false),
    ("xargs -a /dev/null §", false),
    ("awk \"BEGIN { print \\\"§\\\" }\"", false),
    ("awk -v x=\"§\" 'BEGIN { print x }'", true),
    ("sed \"s/a/§/\" /dev/null", false),
    ("sed -n \"§\" list", false),
    ("sed -n p \"§\"", false),
    ("sed -n p -- \"§\"", true),
    ("printf \"§\"", false),
    ("printf §", false),
    ("printf '%s' \"§\"", true),
    ("printf 'value: %s' §", true),
    ("printf -v \"§\" x", false),
    ("find . -name §", false),
    ("find . -name \"§\"", true),
    ("find \"§\"", false),
    ("find . -maxdepth 0 -exec echo \"§\" \\;", false),
    ("find . -maxdepth 0 -exec sh -c \"echo §\" \\;", false),
    ("§", false),
    ("\"§\" x", false),
    ("./§", false),
    ("true; §", false),
    ("true && § x", false),
    ("$(§)", false),
    ("command §", false),
    ("command -v \"§\"", true),
    ("exec §", false),
    ("timeout 5 §", false),
    ("PATH=§ ls", false),
    ("BASH_ENV=§ bash -c true", false),
    ("PS4=\"§\" bash -xc true", false),
    ("echo x # §", false),
    ("python3 -c \"print(§)\"", false),
    ("python3 - \"§\" < /dev/null", true),
    ("perl -e \"print §\"", false),
    ("trap \"§\" EXIT", false),
    ("alias x=\"§\"", false),
    ("f() { echo \"§\"; }; f", true),
    ("f() { eval \"§\"; }; f a", false),
    ("echo \"${x:-§}\"", true),
    ("echo ${x:=§} \"$x\"", true),
    ("echo \"§\" | cat | tr a b", true),
    ("(cd . && echo \"§\")", true),
    ("echo \"§\" 2>&1", true),
    ("cat < \"§\"", true),
    ("grep -e \"§\" list", true),
    ("set -- §; echo \"$@\"", true),
    ("set -- §; eval \"$@\"", false),
    ("mapfile -t l <<< \"§\"; echo \"${l[0]}\"", true),
    ("mapfile -t l <<< \"§\"; eval \"${l[0]}\"", false),
    ("echo {§,x}", true),
    ("echo ~§", true),
    ("! grep -q \"§\" list", true),
    ("time echo \"§\"", true),
    ("echo a\\\necho \"§\"", true),
    ("x=\"$(printf '%s' \"§\")\"; echo \"$x\"", true),
    ("x=\"$(printf '%s' \"§\")\"; bash -c \"$x\"", false),
    ("echo \"§\" | while read -r x; do echo \"$x\"; done", true),
    ("echo \"§\" | while read -r x; do eval \"$x\"; done", false),
];

/// The forms a placeholder has; the arguments put the value where it looks.
const FORMS: &[(&str, &[&str])] = &[
    ("$ARGUMENTS", &[]),
    ("$0", &[]),
    ("$1", &[]),
    ("$ARGUMENTS[1]", &[]),
    ("$value", &["value"]),
];

/// Runs a slot as the runtime will; returns what it printed.
fn run(slot: &CommandSlot, folder: &Path) -> String {
    let output = Command::new("bash")
        .args(["--norc", "--noprofile", "-c", &slot.script])
        .args(slot.positionals.iter().map(AsRef::<str>::as_ref))
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .envs(
            slot.variables
                .iter()
                .map(|(name, value)| (&**name, &**value)),
        )
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The body of a skill with this command.
fn body_of(script: &str) -> String {
    format!("```!\n{script}\n```\n")
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("list"), "a\nb\n").unwrap();
    folder
}

#[test]
fn no_value_is_ever_run() {
    let folder = folder();
    let (mut refused, mut ran) = (0, 0);
    for (number, (script, is_fit)) in TEMPLATES.iter().enumerate() {
        // Each template with every value; the forms of the placeholder take turns.
        for (turn, (what, value)) in VALUES.iter().enumerate() {
            let (form, names) = FORMS[(number + turn) % FORMS.len()];
            let body = body_of(&script.replace('§', form));
            let options = PrepareOptions {
                names,
                ..PrepareOptions::default()
            };
            let template = prepare(&body, Span::new(0, body.len()), &options);
            assert_eq!(template.is_ok(), *is_fit, "{script}, {form}: {template:?}");
            let Ok(template) = template else {
                refused += 1;
                continue;
            };
            // As one word, or as text that is split.
            let arguments = if (number / FORMS.len() + turn).is_multiple_of(2) {
                Arguments::from_words(vec![(*value).into(), (*value).into()])
            } else {
                Arguments::from_text(*value)
            };
            let rendered = template
                .fill(&arguments, &SkillVariables::default())
                .unwrap();
            for part in &rendered.parts {
                if let RenderedPart::Command(slot) = part {
                    assert!(!slot.script.contains("pwned"));
                    run(slot, folder.path());
                    ran += 1;
                }
            }
            let canary = folder.path().join(CANARY);
            assert!(
                !canary.exists(),
                "{script} ran {what} as {form}: {rendered:?}"
            );
        }
    }
    assert!(
        refused > 1_000 && ran > 1_000,
        "{refused} refused, {ran} ran"
    );
}

/// The control: the same attacks, with values put into the script as text. Many of them work, in
/// nearly every template, so the folder, the shell and the canary are in order.
#[test]
fn attacks_succeed_if_values_are_spliced() {
    let mut open = Vec::new();
    let mut closed = Vec::new();
    for (script, _) in TEMPLATES {
        let folder = folder();
        let canary = folder.path().join(CANARY);
        let worked = VALUES.iter().any(|(_, value)| {
            let script = script.replace('§', value);
            let slot = CommandSlot {
                script: script.as_str().into(),
                display: "".into(),
                positionals: Vec::new(),
                variables: Vec::new(),
                block: true,
                span: Span::default(),
            };
            run(&slot, folder.path());
            canary.exists()
        });
        if worked {
            open.push(script);
        } else {
            closed.push(script);
        }
    }
    assert!(
        open.len() * 10 > TEMPLATES.len() * 9,
        "not reached by splicing: {closed:#?}"
    );
}

/// Binding alone would not do: without the refusals, values reach these places as code.
#[test]
fn refused_positions_are_exploitable() {
    let dangerous = [
        ("eval \"echo ${1}\"", "x; touch pwned"),
        ("bash -c \"echo ${1}\"", "x; touch pwned"),
        ("echo \"${1}\" | bash", "touch pwned"),
        ("bash <<< \"${1}\"", "touch pwned"),
        ("bash <(echo \"${1}\")", "touch pwned"),
        ("bash <<EOF\n${1}\nEOF", "touch pwned"),
        ("echo $(( ${1} ))", "a[$(touch pwned)]"),
        ("x=${1}; echo $(( x ))", "a[$(touch pwned)]"),
        ("[[ ${1} -eq 1 ]]", "a[$(touch pwned)]"),
        ("[[ -v ${1} ]]", "a[$(touch pwned)]"),
        ("[ -v \"${1}\" ]", "a[$(touch pwned)]"),
        ("[ ${1} ]", "-v a[$(touch${IFS}pwned)]"),
        ("declare \"${1}\"", "a[$(touch pwned)]=1"),
        ("declare -i x=\"${1}\"", "a[$(touch pwned)]"),
        ("a=(1); unset \"${1}\"", "a[$(touch pwned)]"),
        ("read \"${1}\" < list", "a[$(touch pwned)]"),
        ("printf \"${1}\" x", "-va[$(touch pwned)]"),
        ("printf -v \"${1}\" x", "a[$(touch pwned)]"),
        ("echo ${!1}", "a[$(touch pwned)]"),
        ("echo \"${1@P}\"", "$(touch pwned)"),
        ("a=(1); echo ${a[${1}]}", "a[$(touch pwned)]"),
        ("x=abc; echo ${x:${1}}", "a[$(touch pwned)]"),
        ("a[${1}]=1", "a[$(touch pwned)]"),
        ("let x=\"${1}\"", "a[$(touch pwned)]"),
        ("trap \"${1}\" EXIT", "touch pwned"),
        ("source <(echo \"${1}\")", "touch pwned"),
        ("${1}", "touch pwned"),
        ("command ${1}", "touch pwned"),
        ("find . -name ${1}", "list -exec touch pwned ;"),
        ("sed -n p \"${1}\" list", "-e1e touch pwned"),
        ("sed -n \"${1}\" list", "1e touch pwned"),
        ("eval 'bash -c \"${1}\"'", "touch pwned"),
        ("bash -c \"eval \\\"\\$1\\\"\" -- \"${1}\"", "touch pwned"),
        ("set -- x \"${1}\"; eval \"$2\"", "touch pwned"),
        ("bash -c 'eval \"$1\"' -- \"${1}\"", "touch pwned"),
        ("echo \"${1}\" | xargs -I{} sh -c '{}'", "touch pwned"),
        (
            "python3 -c \"${1}\"",
            "__import__('os').system('touch pwned')",
        ),
        ("perl -e \"${1}\"", "system('touch pwned')"),
    ];
    let mut harmless = Vec::new();
    for (script, value) in dangerous {
        let folder = folder();
        let slot = CommandSlot {
            script: script.into(),
            display: "".into(),
            positionals: vec!["".into(), value.into()],
            variables: Vec::new(),
            block: true,
            span: Span::default(),
        };
        run(&slot, folder.path());
        if !folder.path().join(CANARY).exists() {
            harmless.push(script);
        }
        let body = body_of(&script.replace("${1}", "$1"));
        let refused = prepare(&body, Span::new(0, body.len()), &PrepareOptions::default());
        assert!(refused.is_err(), "{script}");
    }
    assert!(harmless.is_empty(), "{harmless:#?}");
}

#[test]
fn values_arrive_unchanged() {
    let folder = folder();
    for (what, value) in VALUES {
        for (form, names) in FORMS {
            let body = body_of(&format!("printf '%s' \"{form}\""));
            let options = PrepareOptions {
                names,
                ..PrepareOptions::default()
            };
            let template = prepare(&body, Span::new(0, body.len()), &options).unwrap();
            let arguments = Arguments::from_words(vec![(*value).into(), (*value).into()]);
            let rendered = template
                .fill(&arguments, &SkillVariables::default())
                .unwrap();
            let RenderedPart::Command(slot) = &rendered.parts[0] else {
                panic!()
            };
            let raw = arguments.raw().unwrap();
            let expected = if *form == "$ARGUMENTS" { raw } else { value };
            assert_eq!(run(slot, folder.path()), expected, "{what} as {form}");
        }
    }
}

#[test]
fn long_values_arrive_and_longer_ones_are_refused() {
    let folder = folder();
    let body = body_of("printf '%s' \"$0\" | wc -c");
    let template = prepare(&body, Span::new(0, body.len()), &PrepareOptions::default()).unwrap();
    let fill = |value: String| {
        template.fill(
            &Arguments::from_words(vec![value]),
            &SkillVariables::default(),
        )
    };
    let rendered = fill("; touch pwned ".repeat(9_000)).unwrap();
    let RenderedPart::Command(slot) = &rendered.parts[0] else {
        panic!()
    };
    assert_eq!(run(slot, folder.path()).trim(), "126000");
    assert!(matches!(
        fill("x".repeat(1 << 20)),
        Err(FillError::TooLong { .. })
    ));
    assert!(matches!(
        fill("x\0; touch pwned".into()),
        Err(FillError::Nul { .. })
    ));
    assert!(!folder.path().join(CANARY).exists());
}

#[test]
fn positionals_and_variables_have_the_expected_values() {
    let folder = folder();
    for (script, arguments, expected) in [
        ("echo \"$0|$1|$2|$10\"", "a b", "a|b||\n"),
        ("echo \"$10\"", "0 1 2 3 4 5 6 7 8 9 ten", "ten\n"),
        ("echo \"$1M\"", "a b", "bM\n"),
        ("echo \"$#:$*\"", "a b c", "2:b c\n"),
        ("echo \"<$0>\"", "", "<>\n"),
        (
            "echo \"$ARGUMENTS\" \"$ARGUMENTS[1]\"",
            "'a  b' c",
            "'a  b' c c\n",
        ),
        ("f() { echo \"$1:$ARGUMENTS[1]\"; }; f x y", "a b", "x:b\n"),
        ("echo \\$1 \"\\$1\" '\\$1'", "a b", "$1 $1 $1\n"),
        ("echo $0", "'a   b'", "a   b\n"),
        ("echo x$0y ${0} $1", "'a   b' '*'", "xa   by a   b *\n"),
        ("echo ${CLAUDE_SKILL_DIR}/x", "", "/s p/x\n"),
        ("for x in $0; do echo $x; done", "'a   b'", "a\nb\n"),
        ("echo \"${PROWESS_SKILL_DIR}/x\"", "", "/s p/x\n"),
        ("cat <<< \"${CLAUDE_SKILL_DIR} $0\"", "a", "/s p a\n"),
    ] {
        let body = body_of(script);
        let template =
            prepare(&body, Span::new(0, body.len()), &PrepareOptions::default()).unwrap();
        let variables = SkillVariables {
            skill_dir: Some("/s p".into()),
            ..SkillVariables::default()
        };
        let rendered = template
            .fill(&Arguments::from_text(arguments), &variables)
            .unwrap();
        let RenderedPart::Command(slot) = &rendered.parts[0] else {
            panic!()
        };
        assert_eq!(run(slot, folder.path()), expected, "{script}");
    }
}
