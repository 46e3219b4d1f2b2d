//! The variables of the runtime do not reach a command.

use std::collections::BTreeSet;

use prowess_policy::profile::Strength;
use prowess_sandbox::Note;

use crate::support::{Place, Runtime, strong_sets};

prowess_test::tests! {
    only_the_list_arrives
    no_process_shows_the_runtimes_keys
    a_program_in_the_workspace_is_not_taken_for_the_systems
}

fn only_the_list_arrives() {
    let mut sets = strong_sets();
    sets.push(("layer 0", (&[]).into()));
    for (name, without) in sets {
        let strength = if name == "layer 0" {
            Strength::Off
        } else {
            Strength::Required
        };
        let mut place = Place::new(strength).without(without);
        let offered = [
            ("HOME", "/root"),
            ("LANG", "C.UTF-8"),
            ("LC_TIME", "C"),
            ("TERM", "dumb"),
            ("USER", "somebody"),
            ("PATH", "/evil"),
            ("ANTHROPIC_API_KEY", "sk-ant-0123456789abcdef"),
            ("SSH_AUTH_SOCK", "/run/agent"),
            ("LD_PRELOAD", "/evil.so"),
            ("BASH_ENV", "/evil"),
            ("GIT_CONFIG_PARAMETERS", "'core.fsmonitor=evil'"),
            ("GIT_CONFIG_VALUE_0", "core.fsmonitor=evil"),
            ("BASH_FUNC_ls%%", "() { evil; }"),
        ];
        place.runner = place
            .runner
            .inherit(offered.map(|(n, v)| (n.into(), v.into())));
        let given = [
            ("EDITOR", "vi"),
            ("GITHUB_TOKEN", "x"),
            ("X", "ghp_0123456789abcdefghij"),
        ];
        place.profile.environment = given.map(|(n, v)| (n.into(), v.into())).into();
        let outcome = place.run("cat /proc/$$/environ | tr '\\0' '\\n'");
        let text = outcome.stdout.text().into_owned();
        let names: BTreeSet<&str> = text
            .lines()
            .filter_map(|line| line.split_once('='))
            .map(|(name, _)| name)
            .collect();
        let expected = [
            "EDITOR", "HOME", "LANG", "LC_TIME", "PATH", "TERM", "TMPDIR", "USER", "_",
        ];
        let (git, others): (BTreeSet<&str>, BTreeSet<&str>) = names
            .iter()
            .partition(|name| name.starts_with("GIT_CONFIG_"));
        let unexpected: Vec<_> = others
            .iter()
            .filter(|name| !expected.contains(name))
            .collect();
        assert!(unexpected.is_empty(), "{name}: {unexpected:?}");
        // Git's settings are the sandbox's own, and none without a sandbox.
        assert_eq!(git.is_empty(), strength == Strength::Off, "{name}: {git:?}");
        assert!(!text.contains("core.fsmonitor=evil"), "{name}: {text}");
        assert!(
            names.contains("EDITOR") && names.contains("TMPDIR"),
            "{name}: {text}"
        );
        for path in text
            .lines()
            .find_map(|l| l.strip_prefix("PATH="))
            .unwrap()
            .split(':')
        {
            assert!(path.starts_with('/') && path != "/evil", "{name}: {path}");
        }
        let refused: Vec<&str> = outcome
            .notes
            .iter()
            .filter_map(|note| match note {
                Note::VariableRefused { name, .. } => Some(&**name),
                _ => None,
            })
            .collect();
        assert_eq!(refused, ["GITHUB_TOKEN", "X"], "{name}");
    }
}

fn no_process_shows_the_runtimes_keys() {
    let runtime = Runtime::start();
    // Everything that can be read of every process, ours and the helper's among them.
    let search = "grep -al PROWESS_TEST_KEY /proc/[0-9]*/environ 2> /dev/null | \
                  grep -v \"/proc/$$/\" ; true";
    let control = std::process::Command::new("bash")
        .args(["-c", search])
        .output()
        .unwrap();
    let control = String::from_utf8_lossy(&control.stdout).into_owned();
    assert!(
        control.contains(&format!("/proc/{}/", runtime.pid())),
        "control: {control}"
    );
    for (name, without) in strong_sets() {
        let place = Place::new(Strength::Required).without(without);
        assert_eq!(place.run(search).stdout.text(), "", "{name}");
    }
}

fn a_program_in_the_workspace_is_not_taken_for_the_systems() {
    for (name, without) in strong_sets() {
        let mut place = Place::new(Strength::Required).without(without);
        // A project with a repository needs no placeholder that `ls` would show.
        std::fs::create_dir(place.work().join(".git")).unwrap();
        std::fs::write(place.work().join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        let evil = place.work().join("ls");
        std::fs::write(&evil, "#!/bin/sh\necho evil\n").unwrap();
        crate::support::mode(&evil, 0o755);
        let folders = [place.work().to_owned(), "bin".into()];
        place.runner = place.runner.search(folders);
        let outcome = place.run("ls");
        assert_eq!(outcome.stdout.text(), "ls\n", "{name}");
        let left_out = outcome
            .notes
            .iter()
            .filter(|n| matches!(n, Note::PathFolderLeftOut { .. }))
            .count();
        assert_eq!(left_out, 2, "{name}: {:?}", outcome.notes);
        assert_eq!(place.run("./ls").stdout.text(), "evil\n", "{name}");
    }
}
