//! An unquoted value in a word of a command is passed as one word, by the real bash: no second word,
//! no option, no expansion. [`unquoted_values_split_without_the_quotes`] is the control.

use std::path::Path;
use std::process::{Command, Stdio};

use prowess_diag::Span;
use prowess_render::{
    Arguments, CommandSlot, PrepareOptions, RenderedPart, SkillVariables, prepare,
};
use prowess_test::attacks::{CANARY, VALUES};

/// Commands that print each of their words in brackets; `§` is a placeholder.
const COMMANDS: &[&str] = &[
    "printf '[%s]' a § b",
    "printf '[%s]' §",
    "printf '[%s]' x§/y",
    "printf '[%s]' §§",
    "printf '[%s]' --name=§ -§",
    "printf '[%s]' \"a b\"§'c d'",
    "printf '[%s]' {§,x}",
    "printf '[%s]' ~§",
    "printf '[%s]' \"$(printf '<%s>' § b)\"",
    "true && printf '[%s]' § | cat",
    "if true; then printf '[%s]' §; fi",
    "(printf '[%s]' § x)",
    "f() { printf '[%s]' \"$@\"; }; f a § b",
    "command printf '[%s]' § b",
    "env printf '[%s]' § b",
    "timeout 5 printf '[%s]' § b",
    "cat <<< §",
    "printf '[%s]' x > out§; cat out*",
];

/// Values that a shell would split, expand or drop.
const ORDINARY: &[&str] = &[
    "plain",
    "",
    " ",
    "a b",
    " a  b ",
    "a\tb",
    "a\nb",
    "\n",
    "*",
    "?",
    "l*",
    "[a-z]*",
    "~",
    "~root",
    "{a,b}",
    "$HOME",
    "${HOME}",
    "$(echo x)",
    "`echo x`",
    "a;b",
    "a&b|c>d<e",
    "'",
    "\"",
    "\\",
    "a\\ b",
    "#x",
    "!x",
    "a=b",
    "é ü",
    "b -n",
];

const FORMS: &[(&str, &[&str])] = &[
    ("$ARGUMENTS[0]", &[]),
    ("$0", &[]),
    ("$value", &["value"]),
    ("${0}", &[]),
    ("${value}", &["value"]),
];

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["list", "lamp", "b"] {
        std::fs::write(folder.path().join(name), "x\n").unwrap();
    }
    folder
}

fn run(slot: &CommandSlot, folder: &Path) -> Vec<u8> {
    Command::new("timeout")
        .args(["5", "bash", "--norc", "--noprofile", "-c", &slot.script])
        .args(slot.positionals.iter().map(AsRef::<str>::as_ref))
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", "/nowhere")
        .envs(
            slot.variables
                .iter()
                .map(|(name, value)| (&**name, &**value)),
        )
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .unwrap()
        .stdout
}

fn render(script: &str, names: &[&str], value: &str) -> RenderedPart {
    let arguments = Arguments::from_words(vec![value.into()]);
    render_with(script, names, &arguments)
}

fn render_with(script: &str, names: &[&str], arguments: &Arguments) -> RenderedPart {
    let body = format!("```!\n{script}\n```\n");
    let options = PrepareOptions {
        names,
        ..PrepareOptions::default()
    };
    let template = prepare(&body, Span::new(0, body.len()), &options).unwrap();
    let rendered = template
        .fill(arguments, &SkillVariables::default())
        .unwrap();
    rendered.parts.into_iter().next().unwrap()
}

/// Returns the slot of a command in which the author quoted the value.
fn quoted(command: &str, form: &str, names: &[&str], value: &str) -> CommandSlot {
    let script = command.replace('§', &format!("\"{form}\""));
    match render(&script, names, value) {
        RenderedPart::Command(slot) => slot,
        other => panic!("{script}: {other:?}"),
    }
}

/// An unquoted value does what the quoted one does.
#[test]
fn unquoted_values_are_one_word() {
    for (number, command) in COMMANDS.iter().enumerate() {
        for (turn, value) in ORDINARY.iter().enumerate() {
            // A path cannot hold every value.
            if command.contains("out§") && value.contains('/') {
                continue;
            }
            let (form, names) = FORMS[(number + turn) % FORMS.len()];
            let script = command.replace('§', form);
            let RenderedPart::Command(slot) = render(&script, names, value) else {
                panic!("{script} {value:?}");
            };
            let (here, there) = (folder(), folder());
            let expected = quoted(command, form, names, value);
            assert_eq!(
                run(&slot, here.path()),
                run(&expected, there.path()),
                "{script} {value:?}: {slot:?}"
            );
        }
    }
}

#[test]
fn words_are_counted_as_expected() {
    let here = folder();
    for value in ORDINARY {
        for (form, names) in FORMS {
            let script = format!("printf '[%s]' a {form} b");
            let RenderedPart::Command(slot) = render(&script, names, value) else {
                panic!("{value:?}");
            };
            let printed = String::from_utf8(run(&slot, here.path())).unwrap();
            assert_eq!(printed, format!("[a][{value}][b]"), "{script}");
        }
    }
}

#[test]
fn hostile_values_are_one_word_or_refused() {
    let here = folder();
    let (mut ran, mut refused) = (0, 0);
    for (what, value) in VALUES {
        for (form, names) in FORMS {
            for command in COMMANDS.iter().filter(|command| !command.contains("out§")) {
                let script = command.replace('§', form);
                match render(&script, names, value) {
                    RenderedPart::Command(slot) => {
                        if !command.starts_with("printf '[%s]' a") {
                            continue;
                        }
                        let printed = run(&slot, here.path());
                        let expected = format!("[a][{value}][b]");
                        assert_eq!(String::from_utf8_lossy(&printed), expected, "{what}");
                        ran += 1;
                    }
                    RenderedPart::Refused(refusal) => {
                        assert!(value.starts_with('-'), "{script} {what}");
                        assert_eq!(&*refusal.placeholder, *form);
                        refused += 1;
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
        assert!(!here.path().join(CANARY).exists(), "{what}");
    }
    assert!(ran > 100 && refused > 100, "{ran} ran, {refused} refused");
}

/// A value that begins with `-` is refused wherever it could be an option, and only there.
#[test]
fn values_that_could_be_options_are_refused() {
    for (command, is_refused) in [
        ("ls §", true),
        ("ls x §", true),
        ("echo §", true),
        ("git log §", true),
        ("git log §..HEAD", true),
        ("ls §§", true),
        ("ls \"\"§", true),
        ("ls \"§\"§", true),
        ("sudo -- ls §", true),
        ("env -- ls §", true),
        ("timeout 5 -- ls §", true),
        ("npm run build -- §", true),
        ("cargo run -- §", true),
        ("just build -- §", true),
        ("echo $(ls §)", true),
        ("true; ls §", true),
        ("ls -- §", false),
        ("git log -- §", false),
        ("grep -c x -- §", false),
        ("ls x§", false),
        ("ls ./§", false),
        ("ls --sort=§", false),
        ("cat < §", false),
        ("cat <<< §", false),
        ("true > §", false),
        ("x=§; true", false),
        ("[[ § == x ]]", false),
        ("case § in x) true;; esac", false),
        ("for x in §; do true; done", false),
        // Quotes do not help against options.
        ("ls \"§\"", true),
        ("rg \"§\" a", true),
        ("git ls-remote \"§\" .", true),
        ("split -l1 f.txt \"§\"", true),
        ("sudo -- ls \"§\"", true),
        ("x=§; ls \"$x\"", true),
        ("for x in §; do ls \"$x\"; done", true),
        ("set -- \"§\"; ls \"$@\"", true),
        ("bash -c 'ls \"$@\"' _ \"§\"", true),
        ("ls -- \"§\"", false),
        ("grep -e \"§\" f", false),
        ("echo \"§\"", false),
        ("printf '%s' \"§\"", false),
        ("test -n \"§\"", false),
    ] {
        for (form, names) in FORMS {
            let script = command.replace('§', form);
            for value in ["-x", "--output=x", "-", "-n a b", "--"] {
                let is_now = matches!(render(&script, names, value), RenderedPart::Refused(_));
                assert_eq!(is_now, is_refused, "{script} {value}");
            }
            let fine = render(&script, names, "x-y");
            assert!(matches!(fine, RenderedPart::Command(_)), "{script}");
        }
    }
    let RenderedPart::Refused(refused) = render("ls $0", &[], "-R") else {
        panic!()
    };
    assert_eq!(&*refused.display, "ls $0");
    assert!(
        refused.reason().contains("`$0` begins with `-`"),
        "{}",
        refused.reason()
    );
}

/// Values that only some positions take: settings of `make`, and text that arithmetic evaluates.
#[test]
fn values_that_a_position_does_not_take_are_refused() {
    let arithmetic = "echo § > q; l=$(cat q); echo $((l))";
    let loops = "for x in §; do ls \"$x\"; done";
    for (command, value, is_refused) in [
        ("make -- \"§\"", "all", false),
        ("make -- \"§\"", "SHELL=./x", true),
        ("make -- \"§\"", "X=$(shell id)", true),
        ("less \"§\"", "+!id", true),
        (arithmetic, "12", false),
        (arithmetic, "my file-1.txt", false),
        (arithmetic, "a[$(id)]", true),
        (arithmetic, "a[b]", true),
        (loops, "a b-c", false),
        (loops, "a --pre=x", true),
        ("x=§; y=${x#v}; ls \"$y\"", "v1.2", false),
        ("x=§; y=${x#v}; ls \"$y\"", "v-O./x", true),
    ] {
        for (form, names) in FORMS {
            let script = command.replace('§', form);
            let is_now = matches!(render(&script, names, value), RenderedPart::Refused(_));
            assert_eq!(is_now, is_refused, "{script} {value}");
        }
    }
    let RenderedPart::Refused(refused) = render("x=$0; ls \"$x\"", &[], "a -R") else {
        panic!()
    };
    assert_eq!(
        refused.reason(),
        "the value of `$0` has a part that could be taken for an option; write `-- $0` if the \
         program supports it, or move the command to a script"
    );
}

/// The control: without the quotes that rendering adds, these values do become several words.
#[test]
fn unquoted_values_split_without_the_quotes() {
    let here = folder();
    let mut split = 0;
    for value in ORDINARY {
        let RenderedPart::Command(mut slot) = render("printf '[%s]' a $0 b", &[], value) else {
            panic!()
        };
        slot.script = slot.script.replace("\"${0}\"", "${0}").into();
        let printed = String::from_utf8(run(&slot, here.path())).unwrap();
        split += usize::from(printed != format!("[a][{value}][b]"));
    }
    assert!(split >= 10, "{split}");
}

/// `git log $ARGUMENTS` without arguments is `git log`. Anywhere else, an empty word keeps the
/// places of the words after it.
#[test]
fn missing_arguments_are_left_out_at_the_end_of_a_command() {
    for (script, expected) in [
        ("args a $ARGUMENTS", "args a "),
        ("args $ARGUMENTS | cat", "args  | cat"),
        ("args $ARGUMENTS b", "args \"${ARGUMENTS}\" b"),
        ("args > $ARGUMENTS", "args > \"${ARGUMENTS}\""),
        ("args -- $ARGUMENTS", "args -- \"${ARGUMENTS}\""),
        ("args x$ARGUMENTS", "args x\"${ARGUMENTS}\""),
    ] {
        let RenderedPart::Command(slot) = render_with(script, &[], &Arguments::none()) else {
            panic!("`{script}` is not a command");
        };
        assert_eq!(slot.script.trim_end_matches('\n'), expected, "{script}");
    }
}
