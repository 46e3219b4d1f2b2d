//! Programs that take their code from standard input, alone or inside another program (audit L1). A
//! deny or ask rule cannot be checked against such code, so bare `Bash` does not cover it.

use prowess_policy::{Actor, Effect, Gate, GateAction, RuleSource, Verdict};

fn verdict(restriction: Effect, command: &str) -> (Verdict, String) {
    let mut gate = Gate::default();
    gate.rules.add(Effect::Allow, "Bash", RuleSource::Flag);
    gate.rules.add(restriction, "Bash(rm:*)", RuleSource::Flag);
    let decision = gate.decide(&GateAction::Command { text: command }, &Actor::default());
    (decision.verdict, decision.reason.to_string())
}

/// Asserts that neither a deny rule nor an ask rule for `rm` lets these lines through.
fn held(commands: &[&str]) {
    let mut failures = Vec::new();
    for command in commands {
        for restriction in [Effect::Deny, Effect::Ask] {
            let (verdict, _) = verdict(restriction, command);
            if verdict == Verdict::Allow {
                failures.push(format!("{restriction:?}: {command}"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn shells_inside_other_programs() {
    held(&[
        "echo 'rm x' | sh",
        "echo 'rm x' | env sh",
        "echo 'rm x' | env -i A=b sh",
        "echo 'rm x' | timeout 5 sh",
        "echo 'rm x' | command sh",
        "echo 'rm x' | exec sh",
        "echo 'rm x' | nice sh",
        "echo 'rm x' | nice -n 5 bash",
        "echo 'rm x' | setsid sh",
        "echo 'rm x' | nohup sh",
        "echo 'rm x' | stdbuf -oL sh",
        "echo 'rm x' | sudo -u x sh",
        "echo 'rm x' | sudo -s",
        "echo 'rm x' | su root",
        "echo 'rm x' | su - root",
        "echo 'rm x' | chroot /srv",
        "echo 'rm x' | unshare -r",
        "echo 'rm x' | nsenter -t 1",
        "echo 'rm x' | newgrp x",
        "echo 'rm x' | nix develop",
        "echo 'rm x' | machinectl shell",
        "echo 'rm x' | distrobox enter y",
        "echo 'rm x' | script out",
        "echo 'rm x' | fakeroot",
        "echo 'rm x' | busybox sh",
        "echo 'rm x' | toybox sh",
        "echo 'rm x' | flock x sh",
        "echo 'rm x' | strace sh",
        "echo 'rm x' | docker exec -i x sh",
        "echo 'rm x' | env timeout 5 nice sh",
        "echo 'rm x' | find . -maxdepth 0 -exec sh ';'",
        "echo 'rm x' | uv run sh",
        "echo 'rm x' | ssh h",
        "bash -c 'echo cm0geA== | base64 -d | sh'",
        "env bash -c 'base64 -d x | env sh'",
    ]);
}

#[test]
fn devices_and_dashes() {
    held(&[
        "echo 'rm x' | sh -s",
        "echo 'rm x' | sh -s -- y",
        "echo 'rm x' | bash -",
        "echo 'rm x' | bash /dev/stdin",
        "echo 'rm x' | bash /dev/fd/0",
        "echo 'rm x' | bash /proc/self/fd/0",
        "echo 'rm x' | bash -x /dev/stdin y",
        "echo 'rm x' | env bash /dev/stdin",
        "echo 'rm x' | . /dev/stdin",
        "echo 'rm x' | source /dev/stdin",
        "echo 'rm x' | source /dev/fd/0",
        "echo '1e rm x' | sed -f - f",
        "echo '1e rm x' | sed -nf - f",
        "echo '1e rm x' | sed -f- f",
        "echo '1e rm x' | sed --file=- f",
        "echo '1e rm x' | sed --file=/dev/stdin f",
        "echo 'BEGIN{system(\"rm x\")}' | awk -f - f",
        "echo 'BEGIN{system(\"rm x\")}' | awk -f/dev/stdin f",
        "echo 'BEGIN{system(\"rm x\")}' | gawk --file=- f",
        "echo 'a:;rm x' | make -f -",
        "echo 'a:;rm x' | make -f- a",
        "echo 'a:;rm x' | make --makefile=/dev/stdin",
        "echo 'a:\n rm x' | just -f -",
        "echo 'rm x' | nice make -f -",
        "echo x | python3",
        "echo x | python3 -",
        "echo x | env python3",
        "echo x | timeout 5 python3 /dev/stdin",
        "echo x | nice node -",
        "echo x | env perl",
        "echo x | deno run -",
        "echo x | bun run -",
        "echo x | gnuplot",
        "echo x | gnuplot -",
        "echo x | cmake -P /dev/stdin",
        "echo x | ctest -S -",
        "echo x | tclsh /dev/stdin",
        "echo '.shell rm x' | sqlite3 x.db",
        "echo '.shell rm x' | nice sqlite3 x.db",
        "echo '\\! rm x' | env psql mydb",
        "echo 'rm x' | env ed f",
        "echo '* * * * * rm x' | crontab -",
        "echo 'rm x' | at now",
        "echo 'rm x' | git rebase -x sh main",
        "echo 'rm x' | pee sh cat",
        "echo 'rm x' | mispipe cat sh",
        "trap sh EXIT",
        "enable -f ./x.so y",
    ]);
}

#[test]
fn words_from_input() {
    held(&[
        "echo 'rm x' | xargs -I% sh -c %",
        "echo 'rm x' | xargs -I % sh -c %",
        "echo 'rm x' | xargs -I% bash -c 'cd y; %'",
        "echo 'rm x' | xargs --replace=% sh -c %",
        "echo 'rm x' | xargs -i sh -c {}",
        "echo 'rm x' | xargs -d '\\n' sh -c",
        "echo 'rm x' | xargs sh",
        "echo 'rm x' | xargs env",
        "echo 'rm x' | xargs -n2 timeout 5",
        "echo 'rm x' | xargs nice",
        "echo rm | xargs -I% % x",
        "echo rm | xargs -I% env % x",
        "echo 'rm x' | nice xargs env",
        "echo 'rm x' | xargs python3 -c",
        "echo 'rm x' | parallel",
        "echo 'rm x' | parallel sh -c {}",
        "find /bin -name rm -exec '{}' x ';'",
        "find . -exec sh -c 'cd y; {}' ';'",
        "echo '-exec rm x' | xargs find .",
        "echo --to-command=x | xargs tar xf y",
        "echo /dev/stdin | xargs make -f",
        "echo x | xargs -I% make -f %",
        "echo x | xargs awk",
        "echo x | xargs sed",
        "echo x | xargs git -c",
        "fd rm /bin -x '{}' x",
    ]);
}

#[test]
fn programs_under_another_name() {
    held(&[
        "hash -p /bin/rm y; y x",
        "hash -p/bin/rm y",
        "alias y=rm",
        "alias y='rm -f'",
        "socat - 'EXEC:rm x'",
        "socat - exec:rm",
        "socat - 'SYSTEM:cd y; rm x'",
        "socat - EXEC:sh,pty",
        "socat - SHELL:sh",
        "ncat -e 'rm x' h 1",
        "ncat -e /bin/rm h 1",
        "ncat --exec 'rm x' h 1",
        "ncat --sh-exec='rm x' h 1",
        "nc -c 'rm x' h 1",
        "nc -e /bin/sh h 1",
        "coreutils rm x",
        "coreutils --coreutils-prog=rm x",
        "zsh --emulate sh -c 'rm x'",
        "zsh --emulate sh -c 'cat y | sh'",
    ]);
}

/// Bare `Bash` still covers ordinary commands, wrapped or not.
#[test]
fn ordinary_commands_stay_allowed() {
    for command in [
        "ls -la",
        "env ls",
        "timeout 5 git log",
        "nice make -j4",
        "echo x | grep y | sort",
        "echo x | xargs ls",
        "echo x | xargs -I% cp % y",
        "echo x | xargs -n1 git log",
        "echo x | xargs grep -n y",
        "echo x | xargs tar czf y.tgz --",
        "git rebase -x 'make test' main",
        "trap 'ls' EXIT",
        "bash script.sh",
        "env bash script.sh",
        "bash -c 'ls; git log'",
        "sh -c 'cd x && make'",
        "python3 tool.py",
        "env python3 tool.py",
        "timeout 60 python3 tool.py -c x",
        "sed -f x.sed y",
        "awk -f x.awk y",
        "make -f x.mk",
        "find . -name x -exec grep y '{}' +",
        "command -v python3",
        "hash -r",
        "sudo ls",
        "su -c ls",
        "cat -",
        "tar czf - src",
        "alias ll='ls -l'",
        "su root -c ls",
        "chroot /srv ls",
        "script -c ls out",
    ] {
        let (verdict, reason) = verdict(Effect::Deny, command);
        assert_eq!(verdict, Verdict::Allow, "{command}: {reason}");
    }
}
