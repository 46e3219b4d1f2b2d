//! Where a value may stand, and where not.

use super::*;

/// Judges the script, with a place at each `$1` that is not part of another word.
fn reasons(script: &str) -> Vec<Unsafe> {
    let places: Vec<Place> = script
        .match_indices("$1")
        .map(|(at, text)| Place {
            range: at..at + text.len(),
            kind: Kind::Argument,
        })
        .collect();
    judge(script, &places, &["ARGUMENTS", "issue"])
        .into_iter()
        .filter_map(|found| found.reason)
        .collect()
}

#[test]
fn ordinary_places_are_fine() {
    for script in [
        "echo $1",
        "echo \"$1\"",
        "git log -- \"$1\" | head",
        "X=$1 make",
        "grep 'a' \"$1\"",
        "echo \"it's $1\"",
        "cat <<< \"$1\"",
        "python3 tool.py \"$1\"",
        "awk -f prog.awk -- \"$1\"",
        "find . -name \"$1\"",
        "find . -name \"*.$1\" -type f",
        "if [ -n \"$1\" ]; then echo \"$1\"; fi",
        "[[ $1 == a* ]] && echo yes",
        "[[ \"$1\" =~ ^[0-9]+$ ]] || exit 1",
        "case $1 in a|b) echo x;; (c) echo \"$1\" ;; *) echo no; esac",
        "for f in $1; do wc -l \"$f\"; done | sort",
        "while read -r line; do echo \"$line\"; done < \"$1\"",
        "printf '%s\\n' \"$1\"",
        "x=\"$1\"; echo \"${x:-none}\"",
        "echo \"$(basename \"$1\")\"",
        "diff <(echo \"$1\") file",
        "a=(x \"$1\" y); echo \"${a[@]}\"",
        "command -v \"$1\"",
        "sudo -u root ls \"$1\"",
        "timeout 5 grep \"$1\" f",
        "tar -xf \"$1\"",
        "find . -type f -iname \"*$1*\" -newer \"$1\"",
        "gh pr view $1 --json title | jq .title",
        "sed -n p -- \"$1\"",
        "awk '{print}' \"$1\"",
        "awk -v n=\"$1\" '{print n}' f",
        "bash scripts/run.sh \"$1\"",
        "bash -c 'echo \"$2\"' -- \"$1\"",
        "echo a # note\necho \"$1\"",
        "f() { echo \"$1\"; }; f x",
        "echo $(( 1 + 2 )) \"$1\"",
        "export A=\"$1\"",
        "echo \"${HOME}/$1\" 2>&1 | tee log",
        "cat <<'EOF'\ntext\nEOF\necho \"$1\"",
        "echo \"$1\" | grep x | wc -l",
    ] {
        assert_eq!(reasons(script), [], "{script}");
    }
}

/// Commands as they stand in published skills, shortened.
#[test]
fn what_people_write_is_fine() {
    for script in [
        "git diff $1",
        "git diff $1...HEAD --name-status",
        "git log $1..HEAD --oneline --no-decorate",
        "git diff --name-only $1..HEAD 2>/dev/null || git diff --cached --name-only",
        "gh pr view $1 --json diff --jq '.diff'",
        "gh pr view $1 --json number,title 2>/dev/null || gh pr view --json number",
        "[ -f \"$1\" ] && echo \"yes — reading below\" || echo \"no — search for it\"",
        "[ -f \"$1\" ] && cat \"$1\" 2>/dev/null | head -300 || true",
        "cat \"$1\" 2>/dev/null || echo \"(spec not shown here)\"",
        "docker service ls 2>/dev/null | grep \"$1\" || echo \"nothing\"",
        "docker service logs --tail 50 \"$1\" 2>/dev/null || echo \"no logs\"",
        "curl -I -s \"$1\" 2>/dev/null | head -n 1",
        "command -v govulncheck >/dev/null && (cd \"$1\" && govulncheck -json ./... 2>/dev/null)",
        "TARGET_DIR=$(realpath \"$1\" 2>/dev/null)\nif [ ! -d \"$TARGET_DIR\" ]; then\n  echo \"no '$1'\"\nfi",
    ] {
        assert_eq!(reasons(script), [], "{script}");
    }
}

#[test]
fn places_that_undo_the_quoting_are_found() {
    use Unsafe::*;
    for (script, reason) in [
        ("echo '$1'", SingleQuotes),
        ("awk '{print $1}' f", SingleQuotes),
        ("echo $'a $1'", SingleQuotes),
        ("cat <<EOF\n$1\nEOF", HereDocument),
        ("cat <<'EOF'\n$1\nEOF", HereDocument),
        ("x=\"$(bash <<EOF\n$1\nEOF\n)\"", HereDocument),
        ("echo a # $1", Comment),
        ("echo `cat $1`", Backticks),
        ("bash -c \"echo $1\"", InnerShell),
        ("/bin/sh -c \"$1\"", InnerShell),
        ("sh -xc \"$1\"", InnerShell),
        ("bash -o pipefail -c \"$1\"", InnerShell),
        ("eval $1", InnerShell),
        ("'eval' \"$1\"", InnerShell),
        ("\\eval \"$1\"", InnerShell),
        ("e\"v\"al \"$1\"", InnerShell),
        ("command eval \"$1\"", InnerShell),
        ("ssh web -- \"$1\"", InnerShell),
        ("python3 -c \"print($1)\"", InnerShell),
        ("python3.12 -c \"print($1)\"", InnerShell),
        ("perl -ne \"print if /$1/\" f", InnerShell),
        ("node --eval=\"$1\"", InnerShell),
        ("sudo bash -c \"$1\"", InnerShell),
        ("docker exec web sh -c \"$1\"", InnerShell),
        ("find . -exec sh -c \"$1\" \\;", InnerShell),
        ("bash -c \"$(cat \"$1\")\"", InnerShell),
        ("echo \"$1\" | bash", InnerShell),
        ("echo \"$1\" | tee log | sudo sh -s", InnerShell),
        ("{ echo \"$1\"; echo b; } | sh", InnerShell),
        ("for i in 1 2; do echo \"$1\"; done | python3", InnerShell),
        ("(echo \"$1\") | xargs rm", InnerShell),
        ("echo \"$1\" | { cat; bash; }", InnerShell),
        ("echo \"$1\" | while read x; do bash; done", InnerShell),
        ("bash <<< \"$1\"", InnerShell),
        ("{ bash; } <<< \"$1\"", InnerShell),
        ("bash < <(echo \"$1\")", InnerShell),
        ("bash -c sh <<< \"$1\"", InnerShell),
        ("f() { bash; }; echo \"$1\" | f", InnerShell),
        ("docker run -i x sh -c 'bash' <<< \"$1\"", InnerShell),
        ("bash <(echo \"$1\")", InnerShell),
        (". <(echo \"$1\")", InnerShell),
        ("bash -c 'eval \"$2\"' -- \"$1\"", InnerShell),
        ("x=$1; eval \"$x\"", InnerShell),
        ("x=\"$1\"; y=\"a$x\"; bash -c \"$y\"", InnerShell),
        ("for f in $1; do eval $f; done", InnerShell),
        ("read x <<< \"$1\"; bash -c \"$x\"", InnerShell),
        ("sed \"s/a/$1/\" f", InnerShell),
        ("sed -e \"$1\" f", InnerShell),
        ("awk \"{print $1}\" f", InnerShell),
        ("echo \"$1\" > >(bash)", Unclear),
        ("bash $1", ScriptFile),
        ("source \"$1\"", ScriptFile),
        ("$1 --help", Program),
        ("\"$1\" x", Program),
        ("a; $1", Program),
        ("a | $1", Program),
        ("echo $($1)", Program),
        ("X=1 $1", Program),
        ("./$1", Program),
        ("if $1; then a; fi", Program),
        ("timeout 5 $1", Program),
        ("env A=b $1", Program),
        ("echo $(( $1 + 1 ))", Arithmetic),
        ("(( x = $1 ))", Arithmetic),
        ("echo $[ $1 ]", Arithmetic),
        ("echo ${a[$1]}", Arithmetic),
        ("echo ${a:$1:2}", Arithmetic),
        ("a[$1]=x", Arithmetic),
        ("[[ $1 -eq 1 ]]", Arithmetic),
        ("x=$1; echo $((x))", Arithmetic),
        ("let x=$1", InnerShell),
        ("declare \"$1\"", VariableName),
        ("declare -i x=\"$1\"", VariableName),
        ("unset \"$1\"", VariableName),
        ("read \"$1\"", VariableName),
        ("printf -v \"$1\" x", VariableName),
        ("[ -v \"$1\" ]", VariableName),
        ("printf \"$1\" x", Option),
        ("[ $1 = x ]", Option),
        ("find $1", Option),
        ("find \"$1\"", Option),
        ("sed p \"$1\"", Option),
        ("PATH=\"$1\" ls", Environment),
        ("LD_PRELOAD=$1 ls", Environment),
        ("export GIT_SSH_COMMAND=\"$1\"", Environment),
        ("$x \"$1\"", Unclear),
        ("$(which bash) -c \"$1\"", Unclear),
        ("bash $options \"$1\"", Unclear),
        ("{eval,x} \"$1\"", Unclear),
        ("/bin/b?sh -c \"$1\"", Unclear),
        ("coproc bash; echo \"$1\" >&3", Unclear),
        ("exec 3> >(bash); echo \"$1\" >&3", Unclear),
        ("[[ $1 =~ (.*) ]]; eval \"${BASH_REMATCH[1]}\"", InnerShell),
        ("read <<< \"$1\"; eval \"$REPLY\"", InnerShell),
        ("strace \"$1\"", Program),
        ("sed -n -i p -i \"$1\"", Option),
        ("tar -x \"$1\"", Option),
        ("echo \"$1\" | bash $x", InnerShell),
        ("echo \"$1\" |\n# note\n\nbash", InnerShell),
        ("x=1 time bash <<< \"$1\"", InnerShell),
        ("env $x \"$1\"", Unclear),
        ("printf $format \"$1\"", Option),
        ("echo @($1)", Unclear),
        ("echo \\$1", Unclear),
        ("echo \"$1", Unclear),
        ("echo $1 )", Unclear),
    ] {
        assert!(
            reasons(script).contains(&reason),
            "{script}: {:?}",
            reasons(script)
        );
    }
}

#[test]
fn the_shells_own_references_count_too() {
    for script in [
        "eval \"$@\"",
        "eval ${1}",
        "bash -c \"$*\"",
        "bash -c \"${ARGUMENTS}\"",
        "echo ${1@P}",
        "echo ${!issue}",
        "echo $(( issue ))",
        "(( ARGUMENTS > 1 ))",
        "\"$@\"",
        "echo \"${2}\" | sh",
        "echo `eval ${2}`",
        "f() { eval \"$2\"; }; f",
        "bash -c 'eval \"${ARGUMENTS}\"'",
    ] {
        assert!(!reasons(script).is_empty(), "{script}");
    }
    for script in [
        "echo \"$@\"",
        "echo ${2:-x}",
        "awk '{print ${2}}'",
        "bash -c 'echo \"$@\"' -- x",
        "echo $#",
    ] {
        assert_eq!(reasons(script), [], "{script}");
    }
}

#[test]
fn what_authors_are_told_is_unsafe_is_refused() {
    for script in [
        "echo '$1'",
        "cat <<EOF\n$1\nEOF",
        "bash -c \"echo $1\"",
        "eval $1",
        "ssh web -- \"$1\"",
        "a | $1",
        "echo $(( $1 + 1 ))",
    ] {
        let at = script.find("$1").unwrap();
        let advice = crate::advice::unsafe_places(script, std::slice::from_ref(&(at..at + 2)));
        assert!(
            !advice.is_empty() && !reasons(script).is_empty(),
            "{script}"
        );
    }
}

#[test]
fn deep_and_long_scripts_are_refused_not_followed() {
    for script in [
        format!("{}$1{}", "$(echo ".repeat(5_000), ")".repeat(5_000)),
        format!("{}echo $1{}", "{ ".repeat(5_000), "; }".repeat(5_000)),
        format!("echo $1 {}", "x".repeat(70_000)),
        format!("echo {}$1", "${a[".repeat(5_000)),
        format!("{}$1", "\"$(".repeat(5_000)),
    ] {
        assert!(!reasons(&script).is_empty());
    }
}

#[test]
fn work_grows_with_the_length_of_a_script() {
    let steps = |piece: &str, before: &str, after: &str, times: usize| {
        let script = format!("{before}{}{after}", piece.repeat(times));
        let places: Vec<Place> = script
            .match_indices("$1")
            .map(|(at, text)| Place {
                range: at..at + text.len(),
                kind: Kind::Argument,
            })
            .collect();
        scan::scan(&script, &places, &BTreeSet::new(), 0).steps
    };
    for (before, piece, after) in [
        ("echo ", "$1 ", ""),
        ("", "echo $1 | ", "bash"),
        ("echo $1", " | bash", ""),
        ("", "echo $1 | bash; ", ""),
        ("", "{ echo $1; } | bash\n", ""),
        ("", "$(echo $1) ", ""),
        ("echo \"", "$(echo $1)", "\""),
        ("find", " -exec $1", ""),
        ("x", " bash $1", " -c"),
        ("", "x=$1;", ""),
        ("case $1 in ", "a) echo $1;; ", "esac"),
        ("cat ", "<<A ", "\n$1\nA\n"),
        ("env", " a=$1", " x"),
        ("echo $1 | { ", "bash; ", "}"),
        ("", "(", "$1"),
        ("", "\"", "$1"),
    ] {
        let (once, twice) = (
            steps(piece, before, after, 1_000),
            steps(piece, before, after, 2_000),
        );
        assert!(
            twice <= 2 * once + 200,
            "{before}{piece}{after}: {once}, then {twice}"
        );
    }
}
