//! Tests of safe and unsafe positions.

use super::*;

/// Judges the script, with a place at each `$1` that is not part of another word.
fn reasons(script: &str) -> Vec<UnsafePosition> {
    let places: Vec<ValuePosition> = script
        .match_indices("$1")
        .map(|(at, text)| ValuePosition {
            range: at..at + text.len(),
            kind: ValueKind::Argument,
        })
        .collect();
    judge(script, &places, &["ARGUMENTS", "issue"])
        .into_iter()
        .filter_map(|found| found.reason)
        .map(|reason| match reason {
            UnsafePosition::Code(_) => CODE,
            reason => reason,
        })
        .collect()
}

/// Code of any interpreter.
const CODE: UnsafePosition = UnsafePosition::Code("");

#[test]
fn ordinary_positions_are_safe() {
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
        "bash -c 'echo \"$0\"' -- \"$1\"",
        "echo $((1 << 2))\necho \"$1\"",
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

/// Commands of published skills, shortened.
#[test]
fn commands_of_published_skills_are_safe() {
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
fn unsafe_positions_are_found() {
    use UnsafePosition::*;
    for (script, reason) in [
        ("echo '$1'", SingleQuotes),
        ("awk '{print $1}' f", CODE),
        ("sh -c '$1'", CODE),
        ("sh -c 'x' -- '$1'", SingleQuotes),
        ("echo $'a $1'", SingleQuotes),
        ("cat <<EOF\n$1\nEOF", HereDocument),
        ("cat <<'EOF'\n$1\nEOF", HereDocument),
        ("x=\"$(bash <<EOF\n$1\nEOF\n)\"", HereDocument),
        ("echo a # $1", Comment),
        ("echo `cat $1`", Backticks),
        ("bash -c \"echo $1\"", CODE),
        ("/bin/sh -c \"$1\"", CODE),
        ("sh -xc \"$1\"", CODE),
        ("bash -o pipefail -c \"$1\"", CODE),
        ("eval $1", CODE),
        ("'eval' \"$1\"", CODE),
        ("\\eval \"$1\"", CODE),
        ("e\"v\"al \"$1\"", CODE),
        ("command eval \"$1\"", CODE),
        ("ssh web -- \"$1\"", CODE),
        ("python3 -c \"print($1)\"", CODE),
        ("python3.12 -c \"print($1)\"", CODE),
        ("perl -ne \"print if /$1/\" f", CODE),
        ("node --eval=\"$1\"", CODE),
        ("sudo bash -c \"$1\"", CODE),
        ("docker exec web sh -c \"$1\"", CODE),
        ("find . -exec sh -c \"$1\" \\;", CODE),
        ("bash -c \"$(cat \"$1\")\"", CODE),
        ("echo \"$1\" | bash", CODE),
        ("echo \"$1\" | tee log | sudo sh -s", CODE),
        ("{ echo \"$1\"; echo b; } | sh", CODE),
        ("for i in 1 2; do echo \"$1\"; done | python3", CODE),
        ("(echo \"$1\") | xargs rm", CODE),
        ("echo \"$1\" | { cat; bash; }", CODE),
        ("echo \"$1\" | while read x; do bash; done", CODE),
        ("bash <<< \"$1\"", CODE),
        ("{ bash; } <<< \"$1\"", CODE),
        ("bash < <(echo \"$1\")", CODE),
        ("bash -c sh <<< \"$1\"", CODE),
        ("f() { bash; }; echo \"$1\" | f", CODE),
        ("docker run -i x sh -c 'bash' <<< \"$1\"", CODE),
        ("bash <(echo \"$1\")", CODE),
        (". <(echo \"$1\")", CODE),
        ("bash -c 'eval \"$2\"' -- \"$1\"", CODE),
        ("x=$1; eval \"$x\"", CODE),
        ("x=\"$1\"; y=\"a$x\"; bash -c \"$y\"", CODE),
        ("for f in $1; do eval $f; done", CODE),
        ("read x <<< \"$1\"; bash -c \"$x\"", CODE),
        ("sed \"s/a/$1/\" f", CODE),
        ("sed -e \"$1\" f", CODE),
        ("awk \"{print $1}\" f", CODE),
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
        ("let x=$1", CODE),
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
        ("awk -f prog.awk \"$1\"", Option),
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
        ("[[ $1 =~ (.*) ]]; eval \"${BASH_REMATCH[1]}\"", CODE),
        ("read <<< \"$1\"; eval \"$REPLY\"", CODE),
        ("strace \"$1\"", Program),
        ("sed -n -i p -i \"$1\"", Option),
        ("tar -x \"$1\"", Option),
        ("echo \"$1\" | bash $x", CODE),
        ("echo \"$1\" |\n# note\n\nbash", CODE),
        ("x=1 time bash <<< \"$1\"", CODE),
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
fn expansions_of_the_shell_are_judged() {
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

/// The table that the linter had for itself, with the interpreter that it named.
#[test]
fn interpreters_are_named() {
    for (script, program) in [
        ("awk '{print $1}' f", "awk"),
        ("sh -c '$1'", "sh"),
        ("bash -c \"echo $1\"", "bash"),
        ("/bin/sh -c \"$1\"", "sh"),
        ("eval $1", "eval"),
        ("ssh web -- \"$1\"", "ssh"),
        ("python3 -c \"print($1)\"", "python3"),
        ("echo \"$1\" | sudo ruby", "ruby"),
        ("x \"$(bash -c \"$1\")\"", "bash"),
    ] {
        let at = script.find("$1").unwrap();
        let position = ValuePosition {
            range: at..at + 2,
            kind: ValueKind::Argument,
        };
        let found = judge(script, &[position], &[]);
        assert_eq!(
            found[0].reason,
            Some(UnsafePosition::Code(program)),
            "{script}"
        );
    }
}

/// An author who follows the advice has no finding any more.
#[test]
fn remedies_for_code_are_safe_and_name_the_program() {
    let mut checked = 0;
    for program in programs::names() {
        let remedy = UnsafePosition::Code(program).remedy("$1");
        let has_example = programs::argument_of(program).is_some() || program.ends_with("awk");
        let Some(code) = remedy
            .split('`')
            .nth(1)
            .filter(|code| has_example && *code != "\"$1\"")
        else {
            continue;
        };
        assert!(code.starts_with(&format!("{program} -")), "{code}");
        let at = code.rfind("\"$1\"").unwrap() + 1;
        let mut positions = vec![ValuePosition {
            range: at..at + 2,
            kind: ValueKind::Argument,
        }];
        if let Some(escape) = code.find("\\$1") {
            let (range, kind) = (escape..escape + 3, ValueKind::Escape);
            positions.insert(0, ValuePosition { range, kind });
        }
        let found = judge(code, &positions, &[]);
        let refused = found.iter().filter(|found| found.reason.is_some());
        assert_eq!(refused.count(), 0, "{code}");
        checked += 1;
    }
    assert!(checked > 20, "{checked}");
    let eval = UnsafePosition::Code("eval").remedy("$1");
    assert!(eval.starts_with("remove `eval`"), "{eval}");
}

#[test]
fn scripts_are_split_into_simple_commands() {
    for (script, commands) in [
        ("git log -1 2>&1", vec!["git log -1 2>&1"]),
        ("git log &> out", vec!["git log &> out"]),
        ("a && b | c; d", vec!["a", "b", "c", "d"]),
        ("if test -f x; then cat x; fi", vec!["test -f x", "cat x"]),
        ("echo \"a; b\"", vec!["echo \"a; b\""]),
        ("echo \"$(date)\"", vec!["echo \"$(date)\"", "date"]),
        ("echo `date; ls` x", vec!["echo `date; ls` x", "date", "ls"]),
        ("(cat \"a b\")", vec!["cat \"a b\""]),
        ("# note; it's one\nls # all; of it", vec!["ls"]),
        ("X=1\nY=$(date)", vec!["date"]),
        ("X=1 make all", vec!["make all"]),
        ("for f in a b; do cat $f; done", vec!["cat $f"]),
        ("case x in a) ls;; b) cat y;; esac", vec!["ls", "cat y"]),
        ("[[ -f x ]] && ls", vec!["ls"]),
        (
            "cat <<'EOF' | sort\nit's; text\nEOF\nls",
            vec!["cat <<'EOF'", "sort", "ls"],
        ),
        ("cat <<EOF\nnever; ended", vec!["cat <<EOF"]),
    ] {
        let found = simple_commands(script);
        assert!(
            found
                .iter()
                .all(|&(at, command)| script[at..].starts_with(command))
        );
        let found: Vec<&str> = found.into_iter().map(|(_, command)| command).collect();
        assert_eq!(found, commands, "{script}");
    }
}

#[test]
fn values_that_the_option_table_takes_for_code_are_refused() {
    for script in [
        "uv run \"$1\"",
        "npm exec \"$1\"",
        "hyperfine \"$1\"",
        "rsync -e \"ssh -i $1\" a b:c",
        "rg --pre \"$1\" x",
        "git -c core.pager=\"$1\" log",
        "git bisect run \"$1\"",
        "sort --compress-program=\"$1\" x",
        "node --require \"$1\" x.js",
        "java -jar \"$1\"",
        "tar -I \"$1\" -xf x",
        "kubectl exec pod -- \"$1\"",
        "make \"$1\"",
        "Rscript -e \"$1\"",
    ] {
        assert!(!reasons(script).is_empty(), "{script}");
    }
    for script in [
        "uv run pytest \"$1\"",
        "npm run \"$1\"",
        "java -jar x.jar \"$1\"",
        "make -- \"$1\"",
        "docker exec web ls \"$1\"",
        "kubectl exec pod -- cat \"$1\"",
        "cargo test \"$1\"",
    ] {
        assert_eq!(reasons(script), [], "{script}");
    }
}

#[test]
fn deep_and_long_scripts_are_refused() {
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
fn work_is_linear_in_the_length_of_a_script() {
    let steps = |piece: &str, before: &str, after: &str, times: usize| {
        let script = format!("{before}{}{after}", piece.repeat(times));
        let places: Vec<ValuePosition> = script
            .match_indices("$1")
            .map(|(at, text)| ValuePosition {
                range: at..at + text.len(),
                kind: ValueKind::Argument,
            })
            .collect();
        scan::scan(&script, &places, &scan::Variables::default(), 0).steps
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

/// Scripts that ran a command inside the value `b[$(echo x >&2)]` in bash 5.2, and close relatives.
#[test]
fn values_that_arithmetic_would_evaluate_are_refused() {
    for script in [
        "declare -i n=$1",
        "declare -i n; n=$1; echo $n",
        "declare -i n; n=\"$1\"",
        "typeset -i n=0; n=$1",
        "f() { local -i n; n=$1; }; f \"$1\"",
        "f() { local -i n=$1; }; f \"$1\"",
        "export n; declare -i n; n+=$1",
        "declare -ai n=(1); n+=(\"$1\")",
        "declare -ia n; n=(\"$1\")",
        "n=$1; declare -i m=n",
        "n=$1; declare -i m; m=n",
        "n=$1; declare -i m; m=$n",
        "RANDOM=$1",
        "OPTIND=$1",
        "HISTCMD=$1",
        "SRANDOM=$1",
        "n=$1; arr[n]=1",
        "n=$1; arr[n]+=1",
        "n=$1; arr=([n]=x)",
        "n=$1; arr+=([n]=x)",
        "n=$1; declare arr[n]=x",
        "n=$1; declare 'arr[n]=x'",
        "n=$1; read arr[n] <<< x",
        "n=$1; read 'arr[n]' <<< x",
        "n=$1; printf -v 'arr[n]' x",
        "n=$1; arr=(1); unset 'arr[n]'",
        "n=$1; [[ -v arr[n] ]]",
        "n=$1; test -v 'arr[n]'",
        "n=$1; [ -v 'arr[n]' ]",
        "n=$1; echo ${arr[n]}",
        "n=$1; echo \"${@:n}\"",
        "n=$1; echo $[n]",
        "n=$1; [[ n -eq 1 ]]",
        "n=$1; [[ $n -eq 1 ]]",
        "n=$1; if (( n )); then :; fi",
        "n=$1; m=$((n))",
        "n=$1; x=1; x[n]=2",
        "n=$1; for i in ${arr[n]}; do :; done",
        "n=$1; case ${arr[n]} in x);; esac",
        "n=$1; f() { arr[n]=1; }; f",
        "IFS=, read -r a b <<< \"$1\"; (( a > 1 ))",
        "IFS=, read -r a b <<< \"$1\"; arr[a]=1",
        "read -r a <<< \"$1\"; declare -i b; b=$a",
        "while read -r a; do [[ $a -gt 1 ]]; done <<< \"$1\"",
        "while read -r a; do c[a]=1; done <<< \"$1\"",
        "while read -r a; do (( c[a]++ )); done <<< \"$1\"",
        "declare -A m; k=\"$1\"; unset \"m[$k]\"",
        "n=$1; echo $(( ${n} ))",
        "n=$1; : $(( x = n ))",
        "n=$1; (( x = n ))",
        "n=$1; let x=n",
        "n=$1; let 'x=n'",
        "export n=$1; bash -c \"echo \\$((n))\"",
        "export n=$1; bash -c 'echo $((n))'",
        "export n=$1; bash -c 'declare -i x; x=$n'",
        "export n=$1; bash -c 'a[n]=1'",
        "n=$1 bash -c 'a[n]=1'",
        "set -- \"$1\"; arr[$1]=1",
        "set -- \"$1\"; declare -i q; q=$1",
        "n=$1; y=arr[n]; echo ${!y}",
        "n=$1; declare -n r=arr[n]; echo $r",
        "y=n; n=$1; echo $((y))",
        "y=n; n=$1; (( $y ))",
        "n=$1; for y in n; do (( y )); done",
        "n=$1; y=(n); echo $((y))",
        "n=$1; eval 'a[n]=1'",
        "n=$1; a[n + 1]=2",
        "n=$1; a=([n + 1]=2)",
        "declare -i n; read n <<< \"$1\"",
        "declare -i n; printf -v n %s \"$1\"",
        "declare -i n; : ${n:=$1}",
        "declare -i n; n=$1",
        "n=$1; trap 'a[n]=1' EXIT",
        "n=$1; printf -v y n; (( y ))",
        "n=$1; [[ 1 -eq n ]]",
        "n=$1; y=n; [[ $y -eq 1 ]]",
        "x=$1; y=x; echo ${!y}",
        "n=$1; unset 'arr[n]'",
        "SECONDS=$1",
        "LINENO=$1",
        "local -i n; n=$1",
    ] {
        assert!(!reasons(script).is_empty(), "{script}");
    }
    // All positionals are passed to a script that counts them.
    for script in [
        "echo \"$#\"; for n; do (( n > 1 )); done",
        "shift; for n; do eval \"$n\"; done",
    ] {
        let judged = judge_command(script, &[], &[] as &[&str]);
        assert!(judged.refused().next().is_some(), "{script}");
    }
    // Arithmetic evaluates declared arguments without `$`.
    for script in [
        "[[ issue -eq 1 ]]",
        "list[issue]=1",
        "let x=issue",
        "unset 'list[issue]'",
    ] {
        let judged = judge_command(script, &[], &["issue"]);
        assert!(judged.refused().next().is_some(), "{script}");
    }
}

#[test]
fn quoted_here_document_for_a_shell_is_judged() {
    for script in [
        "export n=\"$1\"; bash <<'EOF'\neval \"$n\"\nEOF\n",
        "export n=\"$1\"; cat <<'EOF' | sh\nlist[n]=1\nEOF\n",
    ] {
        assert!(!reasons(script).is_empty(), "{script}");
    }
    for script in [
        "export n=\"$1\"; bash <<'EOF'\necho \"$n\"\nEOF\n",
        "export n=\"$1\"; cat <<'EOF'\neval \"$n\"\nEOF\n",
        "bash <<'EOF'\neval \"$2\"\nEOF\necho \"$1\"",
    ] {
        let expected: &[UnsafePosition] = &[];
        assert_eq!(reasons(script), expected, "{script}");
    }
}

#[test]
fn arithmetic_without_values_is_safe() {
    for script in [
        "declare -i count=0; count+=1; name=\"$1\"; echo \"$name $count\"",
        "i=0; while (( i < 3 )); do echo \"$1\"; i=$((i + 1)); done",
        "n=$(gh issue list | wc -l); (( n > 0 )) && echo \"$1\"",
        "files=(a b); echo \"${files[0]}\" \"$1\"",
        "list=(\"$1\"); for f in \"${list[@]}\"; do echo \"$f\"; done",
        "local name=\"$1\"; echo \"$name\"",
        "kind=issue; [ \"$kind\" = \"$1\" ] && echo same",
        "bash -c 'read x; eval \"$x\"'; echo ok",
    ] {
        let found = reasons(script);
        let expected: &[UnsafePosition] = &[];
        assert_eq!(found, expected, "{script}");
    }
    let judged = judge_command("read n; list[n]=1", &[], &["issue"]);
    assert_eq!(judged.refused().count(), 0);
}

/// Each of these ran code that was in a value (second round of attacks).
#[test]
fn values_that_become_code_indirectly_are_refused() {
    for script in [
        // The positionals in a loop.
        "echo \"$1\"; for n; do t=$((t+n)); done; echo $t",
        "sum() { local t=0; for n; do t=$((t+n)); done; echo $t; }; sum \"$1\"",
        "bash -c 'for i; do echo $((i)); done' _ \"$1\"",
        "f() { for w; do eval \"$w\"; done; }; f \"$1\"",
        "bash -c 'for w; do eval \"$w\"; done' _ \"$1\"",
        "echo \"$1\"; for n do eval \"$n\"; done",
        "echo \"$1\"; for w; do [[ $w -gt 1 ]]; done",
        "select n; do echo $((n)); break; done <<< \"$1\"",
        "n=$BASH_ARGV0; echo \"$1\" $((n))",
        // Perl opens its operands, and python runs some of them.
        "perl -ne 'print' \"$1\"",
        "perl -pe 's/a/b/' -- \"$1\"",
        "perl -lane 'print $F[0]' \"$1\"",
        "perl -e 'while (<>) { print }' \"$1\"",
        "perl -n tool.pl \"$1\"",
        "ruby -ne 'print' \"$1\"",
        "python3 -m timeit \"$1\"",
        "python3 -m pdb -c x \"$1\"",
        "awk 'BEGIN{system(ARGV[1])}' \"$1\"",
        "awk -v y=\"$1\" 'BEGIN{y | getline}'",
        "echo \"$1\" | awk '{system($0)}'",
        "echo \"$1\" | sed e",
        // A subcommand.
        "git \"$1\" x",
        "git bisect \"$1\" x",
        "git submodule \"$1\" x",
        // Standard input is code.
        "source /dev/stdin <<< \"$1\"",
        ". /dev/fd/3 3<<< \"$1\"",
        "echo \"$1\" | . /dev/stdin",
        "bash /dev/fd/3 3<<< \"$1\"",
        "bash /proc/self/fd/0 <<< \"$1\"",
        "python3 /dev/fd/0 <<< \"$1\"",
        "exec <<< \"$1\"; bash",
        "exec < <(echo \"$1\"); bash",
        "exec 3<<< \"$1\"; bash <&3",
        "exec 3<<< \"$1\"; . /dev/fd/3",
        "echo \"$1\" | make -f -",
        "echo \"$1\" | awk -f -",
        "echo \"$1\" | sed -n -f - f",
        "echo \"$1\" | timeout 5 make -f -",
        // A file that the script writes is code.
        "echo \"$1\" > $TMPDIR/f; bash $TMPDIR/f",
        "echo \"$1\" > $TMPDIR/f; . $TMPDIR/f",
        "echo \"$1\" | tee $TMPDIR/f; sh $TMPDIR/f",
        "cat > $TMPDIR/f <<< \"$1\"; bash $TMPDIR/f",
        "printf '%s\\n' \"$1\" > $TMPDIR/f; chmod +x $TMPDIR/f; $TMPDIR/f",
        "echo \"$1\" >> $TMPDIR/n; bash < $TMPDIR/n",
        "{ echo \"$1\"; echo b; } > x; python3 x",
        "d=$(mktemp); echo \"$1\" > $d; bash $d",
        "d=$(mktemp); echo \"$1\" > \"$d\"; source \"$d\"",
        "echo \"$1\" > a; cp a b; bash b",
        "echo \"$1\" > 1; bash 1",
        "echo \"$1\" > 2; bash 2",
        "echo \"$1\" > ./-; bash ./-",
        "echo \"$1\" > -; bash ./-",
        "echo \"$1\" >& f; bash f",
        "echo \"$1\" &> 1; bash 1",
        "echo \"$1\" > a; eval \"$(cat a)\"",
        "echo \"$1\" > a; bash -c \"$(cat a)\"",
        "echo \"$1\" > a; x=$(cat a); eval \"$x\"",
        "echo \"$1\" > a; awk -f a b",
        "echo \"$1\" > a; make -f a",
        "echo \"$1\" > a; exec < a; bash",
        "echo x > \"$1\"; bash run.sh",
        "echo \"$1\" > $TMPDIR/n; cat $TMPDIR/n | sh",
        "echo \"$1\" > $TMPDIR/n; tac $TMPDIR/n | sh",
        "echo \"$1\" > $TMPDIR/n; . <(cat $TMPDIR/n)",
        "echo \"$1\" > $TMPDIR/n; bash <(cat $TMPDIR/n)",
        "echo \"$1\" > $TMPDIR/n; bash -c '. $TMPDIR/n'",
        "echo \"$1\" > $TMPDIR/n; bash -c 'cat $TMPDIR/n | sh'",
        "echo \"$1\" > $TMPDIR/n; python3 -c \"$(cat $TMPDIR/n)\"",
        "echo \"$1\" > $TMPDIR/n; perl -e \"$(cat $TMPDIR/n)\"",
        "echo \"$1\" > $TMPDIR/n; node -e \"$(cat $TMPDIR/n)\"",
        "echo \"$1\" > $TMPDIR/n; awk \"$(cat $TMPDIR/n)\" f",
        "echo \"$1\" > $TMPDIR/n; sed -n \"$(cat $TMPDIR/n)\" f",
        "echo \"$1\" > $TMPDIR/n; x=$(cat $TMPDIR/n); awk \"$x\" f",
        "echo \"$1\" > $TMPDIR/n; xargs -a $TMPDIR/n -I{} sh -c {}",
        "echo \"$1\" > $TMPDIR/n; head -1 $TMPDIR/n | xargs -I{} sh -c {}",
        "echo \"$1\" > $TMPDIR/n; BASH_ENV=$TMPDIR/n bash x",
        "echo \"$1\" > $TMPDIR/n; export BASH_ENV=$TMPDIR/n; bash -c true",
        "echo \"$1\" > $TMPDIR/n; GIT_CONFIG_GLOBAL=$TMPDIR/n git status",
        "echo \"$1\" > $TMPDIR/.gitconfig; HOME=$TMPDIR git status",
        "echo \"$1\" > $TMPDIR/n.py; PYTHONPATH=$TMPDIR python3 x.py",
        "bash -c 'echo \"$1\" > n' _ \"$1\"; bash n",
        "o=$TMPDIR/n; echo \"$1\" > \"$o\"; bash $TMPDIR/n",
        "o=$TMPDIR/n; echo \"$1\" > \"${o}\"; bash $TMPDIR/n",
        "echo \"$1\" > $TMPDIR/n; o=$TMPDIR/n; bash \"$o\"",
        "f() { echo \"$1\" > \"$2\"; }; f \"$1\" x; bash x",
        "echo \"$1\" > $TMPDIR/n; bash --rcfile $TMPDIR/n -i -c true",
        "echo \"$1\" > $TMPDIR/n; node -r $TMPDIR/n s.js",
        "echo \"$1\" > $TMPDIR/n; git -c include.path=$TMPDIR/n status",
        "exec > $TMPDIR/n; echo \"$1\"; bash $TMPDIR/n >&2",
        "python3 -c 'import sys; open(sys.argv[2], \"w\").write(sys.argv[1])' \"$1\" n; bash n",
        // A variable that another shell runs.
        "export x=\"$1\"; echo 1 | xargs -I{} sh -c '$x'",
        "export x=\"$1\"; echo 1 | xargs -I{} sh -c 'eval \"$x\"'",
        // A folder in which something is found and run.
        "cd \"$1\" && ./run.sh",
        "cd \"$1\"; make",
        "cd -- \"$1\" && npm test",
        "pushd \"$1\"; ./run.sh",
        "x=\"$1\"; cd \"$x\" && bash run.sh",
        "cd \"$1\"; timeout 5 make",
        // The prompt of `set -x` is expanded.
        "x=\"$1\"; PS4='$((x))'; set -x; :",
        // `env` accepts any name.
        "env a-b=c \"$1\"",
        "env a-b=c bash \"$1\"",
        "env 'a b=c' python3 -c \"$1\"",
    ] {
        assert!(!reasons(script).is_empty(), "{script}");
    }
    for script in [
        "for f in a b; do cat \"$f\" \"$1\"; done",
        "echo \"$1\" >&2; bash run.sh",
        "python3 tool.py \"$1\" 2>&1 | tee log >&-; bash 1",
        "perl -e 'print $ARGV[0]' -- \"$1\"",
        "perl tool.pl \"$1\"",
        "perl -Mopen tool.pl x; echo \"$1\"",
        "python3 -m json.tool \"$1\"",
        "python3 -m mytool \"$1\"",
        "echo \"$1\" > in.txt; python3 tool.py in.txt",
        "python3 tool.py \"$1\" > a; python3 tool.py x > b",
        "[ -f scripts/run.sh ] && bash scripts/run.sh \"$1\" > out.txt",
        "chmod +x scripts/run.sh; ./scripts/run.sh \"$1\"",
        "out=$(mktemp); ./tool \"$1\" > \"$out\"; python3 parse.py \"$out\"",
        "echo \"$1\" > log; make -f rules.mk",
        "./tool \"$1\" 2>/dev/null | sort > out; wc -l out",
        "exec < list.txt; while read -r x; do echo \"$x\"; done; echo \"$1\"",
        "echo \"$1\" | make test",
        "env A=b ls \"$1\"",
        "cd \"$1\" && ls && cat README.md",
        "cd -- \"$1\" && find . -name x",
        "make; cat \"$1\"",
        "echo \"$1\" > log; IFS=, read -r a b < list; echo \"$a\"",
        "o=out.txt; echo \"$1\" > \"$o\"; python3 tool.py \"$o\"",
        "find . -name x | xargs grep a; echo \"$1\"",
        "echo \"$1\" > log; bash -c 'ls'",
    ] {
        assert_eq!(reasons(script), [], "{script}");
    }
}

/// Returns the limits of the value of `$1`: those of its position and those of all values.
fn limits(script: &str) -> (Option<ValueLimit>, ValueLimit) {
    let at = script.find("$1").unwrap();
    let position = ValuePosition {
        range: at..at + 2,
        kind: ValueKind::Argument,
    };
    let judged = judge_command(script, &[position], &[] as &[&str]);
    assert_eq!(judged.refused().count(), 0, "{script}");
    let found = judged
        .positions
        .iter()
        .find(|found| found.given == Some(0))
        .unwrap();
    (found.is_whole.then_some(found.limit), judged.limit)
}

#[test]
fn values_that_begin_a_word_have_limits() {
    let option = ValueLimit {
        option: true,
        ..ValueLimit::default()
    };
    for script in [
        "rg \"$1\" a",
        "rg $1 a",
        "git grep \"$1\" a",
        "git ls-remote \"$1\" .",
        "split -l1 f.txt \"$1\"",
        "wget \"$1\" x",
        "ls \"\"\"$1\"",
        "ls \"$1\"/x",
        "timeout 5 rg \"$1\"",
        "./tool \"$1\"",
        "npm run build -- \"$1\"",
        "echo $1",
    ] {
        assert_eq!(limits(script).0, Some(option), "{script}");
    }
    for script in [
        "rg -- \"$1\" a",
        "rg -e \"$1\" a",
        "grep -e \"$1\" a",
        "git log -- \"$1\"",
        "rg \"x$1\"",
        "rg --glob=\"$1\" x",
        "echo \"$1\"",
        "printf '%s' \"$1\"",
        "[ -f \"$1\" ]",
        "cat < \"$1\"",
        "x=\"$1\"",
        "echo a > \"$1\"",
    ] {
        let (position, all) = limits(script);
        assert!(position.is_none_or(ValueLimit::is_empty), "{script}");
        assert!(all.is_empty(), "{script}");
    }
    assert!(limits("less \"$1\"").0.unwrap().signs);
    assert!(limits("gcc -c \"$1\"").0.unwrap().signs);
    for script in ["make -- \"$1\"", "timeout 5 make -C . -- \"$1\""] {
        let at = script.find("$1").unwrap();
        let position = ValuePosition {
            range: at..at + 2,
            kind: ValueKind::Argument,
        };
        let judged = judge(script, &[position], &[]);
        assert!(
            judged[0].limit.setting && judged[0].limit.expansion,
            "{script}"
        );
    }
}

#[test]
fn values_that_are_passed_on_have_limits() {
    // The limit is on a variable, or on a word that is not only the value.
    for script in [
        "x=\"$1\"; rg \"$x\" a",
        "for f in $1; do rg \"$f\" a; done",
        "set -- \"$1\"; rg \"${2}\" a",
        "rg \"$(basename \"$1\")\" a",
        "rg \"${1:-x}\" a",
        "echo \"$1\"; rg \"$@\"",
    ] {
        let position = |at| {
            let (range, kind) = (at..at + 2, ValueKind::Argument);
            ValuePosition { range, kind }
        };
        let positions: Vec<_> = script.find("$1").map(position).into_iter().collect();
        let judged = judge_command(script, &positions, &[] as &[&str]);
        let is_limited = |found: &JudgedPosition| {
            let is_direct = found.given.is_some() && found.is_whole;
            found.limit.option && (!is_direct || judged.renumbers)
        };
        assert!(judged.positions.iter().any(is_limited), "{script}");
    }
    for (script, cut) in [
        ("x=\"$1\"; y=${x#v}; rg \"$y\"", true),
        ("x=\"$1\"; y=${x/a/b}; rg \"$y\"", true),
        ("x=\"$1\"; y=${x##*/}; rg \"$y\"", false),
        ("x=\"$1\"; y=${x%.*}; rg \"$y\"", false),
        ("bash -c 'rg \"$2\" a' _ \"$1\"", false),
    ] {
        assert_eq!(limits(script).1.cut, cut, "{script}");
    }
    for (script, made) in [
        ("x=\"$1\"; x=\"${x//q/-}\"; rg \"$x\"", MadeFrom::Char('q')),
        ("x=\"$1\"; x=\"${x/#a/--}\"; rg \"$x\"", MadeFrom::Char('a')),
        ("x=\"$1\"; x=\"${x// /-}\"; rg \"$x\"", MadeFrom::Char(' ')),
        (
            "x=\"$1\"; x=\"${x//[^a-z]/-}\"; rg \"$x\"",
            MadeFrom::Symbols,
        ),
        ("x=\"$1\"; x=\"${x//$y/-}\"; rg \"$x\"", MadeFrom::Anything),
        ("x=\"$1\"; x=\"${x//?/-}\"; rg \"$x\"", MadeFrom::Anything),
        ("x=\"$1\"; x=\"${x//a/$y}\"; rg \"$x\"", MadeFrom::Char('a')),
        ("x=\"$1\"; x=\"${x//a/b}\"; rg \"$x\"", MadeFrom::Nothing),
        ("y=$(printf %b \"$1\"); rg \"$y\"", MadeFrom::Escapes),
        ("printf -v y %b \"$1\"; rg \"$y\"", MadeFrom::Escapes),
        ("y=$(echo -e \"$1\"); rg \"$y\"", MadeFrom::Escapes),
        ("y=$(echo -ne \"$1\"); rg \"$y\"", MadeFrom::Escapes),
        ("y=$(printf %s \"$1\"); rg \"$y\"", MadeFrom::Nothing),
    ] {
        assert_eq!(limits(script).1.made, made, "{script}");
    }
    for (script, option) in [
        ("echo \"$1\" > n; rg a $(cat n)", true),
        ("echo \"$1\" > n; rg a $(< n)", true),
        ("echo \"$1\" > n; l=$(cat n); rg a \"$l\"", true),
        ("echo \"$1\" > n; rg a -- $(cat n)", false),
        ("echo \"$1\" > n; echo $(cat n)", false),
        ("echo \"$1\"; rg a $(cat n)", false),
    ] {
        assert_eq!(limits(script).1.option, option, "{script}");
    }
    assert!(limits("bash -c 'rg \"$2\" a' _ \"$1\"").1.option);
}

#[test]
fn scripts_that_calculate_with_output_limit_values() {
    for (script, calculates) in [
        ("echo \"$1\" > q; l=$(< q); echo $((l))", true),
        ("echo \"$1\" > q; echo $(( $(cat q) ))", true),
        ("echo \"$1\" > q; [[ $(< q) -gt 1 ]]", true),
        ("echo \"$1\" > q; l=$(cat q); [[ l -gt 1 ]]", true),
        ("echo \"$1\" > q; l=$(cat q); m=$l; (( m ))", true),
        ("echo \"$1\"; l=$(env); echo ${a[l]}", true),
        ("echo \"$1\"; l=$(env); echo ${a:l}", true),
        ("echo \"$1\"; l=$(env); declare -i n=l", true),
        ("echo \"$1\"; l=$(env); let n=l", true),
        ("echo \"$1\"; l=$(env); unset \"a[$l]\"", true),
        ("echo \"$1\"; export l=$(env); bash -c 'echo $((l))'", true),
        ("echo \"$1\"; bash -c 'l=$(env); echo $((l))'", true),
        ("echo \"$1\"; y=`echo $((x))`", true),
        (
            "n=$(gh issue list | wc -l); (( n > 0 )) && echo \"$1\"",
            true,
        ),
        (
            "i=0; while (( i < 3 )); do echo \"$1\"; i=$((i + 1)); done",
            false,
        ),
        ("for ((i = 0; i < 3; i++)); do echo \"$1\"; done", false),
        ("a=(x y); echo \"${a[0]}\" \"$1\"", false),
        ("l=$(date); echo \"$l $1\"", false),
    ] {
        assert_eq!(limits(script).1.arithmetic, calculates, "{script}");
    }
}

#[test]
fn values_that_choose_instructions_are_refused() {
    for script in [
        "make -f d/\"$1\"",
        "make -fd/\"$1\"",
        "make --file=d/\"$1\"",
        "awk -f d/\"$1\" a",
        "npm --prefix \"$1\" test",
        "npm test --prefix \"$1\"",
        "npm --prefix=\"$1\" run test",
        "git -C \"$1\" status",
        "git --git-dir \"$1\" status",
        "git --work-tree=\"$1\" status",
        "cd -- \"$1\" && git status",
        "cd -- \"$1\" && env git status",
        "cargo test --manifest-path \"$1\"",
        "python3 -m unittest \"$1\"",
        "export x=\"$1\"; make -f - <<< 'a:;$(x)'",
        "x=\"$1\" make -f - <<< 'a:;$(x)'",
    ] {
        assert!(!reasons(script).is_empty(), "{script}");
    }
    for script in [
        "V=\"$1\" make",
        "export V=\"$1\"; make",
        "V=\"$1\"; export V; make -s",
        "env V=\"$1\" make",
    ] {
        assert!(limits(script).1.expansion, "{script}");
    }
    for script in [
        "cd -- \"$1\" && ls",
        "cd -- \"$1\" && grep git notes.txt",
        "git log -- \"$1\"",
        "x=\"$1\"; grep -- \"$x\" a",
        "make -f build.mk -- \"$1\"",
    ] {
        assert_eq!(reasons(script), [], "{script}");
    }
    assert!(!limits("x=\"$1\"; grep -- \"$x\" a").1.expansion);
}
