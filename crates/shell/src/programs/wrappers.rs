//! Programs that exist to run other programs, and the shells.

use super::Effect::{Configures, Elsewhere, Reads, Runs};
use super::engine::{NONE, Operand, Program, Starts, any, because, list, listed, operand, opt};
use super::{Attached, Report};
use crate::word::Word;

/// The first operand is a program.
const PROGRAM: Operand = operand(0, any, Runs, "is a program that it starts", "nohup rm x")
    .to(1)
    .starts(Starts::Command);
/// So is the second.
const SECOND: Operand = operand(
    1,
    any,
    Runs,
    "is a program that it starts",
    "timeout 5 rm x",
)
.to(2)
.starts(Starts::Command);

pub(super) const WRAPPERS: &[Program] = &[
    Program {
        names: list("env genv"),
        options: &[
            opt(
                "-S: --split-string:",
                Runs,
                "is a command line",
                "env -S 'rm x'",
            )
            .starts(Starts::Script),
            opt(
                "-C: --chdir:",
                Elsewhere,
                "works in another folder",
                "env -C /tmp ls",
            ),
        ],
        values: list("-u -a -P --unset --argv0 --block-signal? --default-signal? --ignore-signal?"),
        assigns: true,
        operands: &[PROGRAM],
        stops: 1,
        plain: &["env", "env -0"],
        ..NONE
    },
    Program {
        names: list("xargs gxargs"),
        options: &[
            opt(
                "-a: --arg-file:",
                Reads,
                "takes words from a file",
                "xargs -a x",
            ),
            opt(
                "-p --interactive -o --open-tty",
                Runs,
                "takes the terminal",
                "xargs -p",
            ),
        ],
        values: list(
            "-I -n -P -L -s -d -E -R -S -J --max-args --max-procs --max-lines? --delimiter \
                 --replace? --max-chars --process-slot-var -i? -l? -e? --eof?",
        ),
        operands: &[PROGRAM],
        stops: 1,
        plain: &["xargs"],
        ..NONE
    },
    Program {
        names: list(
            "caffeinate fakeroot linux32 linux64 setarch proxychains proxychains4 tsocks torsocks winpty dbus-launch \
                     dbus-run-session xvfb-run rlwrap unbuffer catchsegv valgrind perf ltrace \
                     strace gdbserver pkexec run0 prlimit choom cgexec numactl eatmydata \
                     faketime ts-node tsx hyperfine retry sshpass dotenv direnv mise asdf \
                     nix-shell nix conda micromamba start-stop-daemon run-parts daemonize tini \
                     dumb-init su-exec gosu setpriv capsh unshare nsenter chroot proot bwrap \
                     firejail systemd-run systemd-nspawn machinectl runuser su sg newgrp expect \
                     parallel sem entr watchexec nodemon inotifywait watchman chrt \
                     taskset script screen tmux gdb lldb dtrace ld.so \
                     ld-linux-x86-64.so busybox toybox watch flock multitime chpst softlimit \
                     setuidgid envdir with xdg-open open gio at batch crontab anacron vagrant \
                     cpulimit chronic ifne pee mispipe zrun ccache runc ctr \
                     msgfilter msgexec ldd \
                     ansible ansible-playbook pssh pdsh dsh fab foreman overmind concurrently",
        ),
        options: &[opt(
            "-c: --command: --session-command: -ex: -e: -ix: --eval-command:",
            Runs,
            "runs its value",
            "script -c 'rm x' y",
        )
        .starts(Starts::Script)],
        assigns: true,
        // Files, users and numbers come before the program: any of the first words may be it.
        operands: &[operand(
            0,
            any,
            Runs,
            "may be a program that it starts",
            "flock x rm y",
        )
        .starts(Starts::Script)],
        stops: 4,
        // Options with more than one value: the program comes late.
        special: Some(|words, at, report| {
            if [
                "bwrap",
                "proot",
                "systemd-nspawn",
                "strace",
                "capsh",
                "nsenter",
                "firejail",
            ]
            .iter()
            .any(|name| words[at].text.ends_with(name))
            {
                let late = at + 5..words.len().min(at + 40);
                report
                    .starts
                    .extend(late.filter(|&index| !words[index].text.starts_with('-')));
            }
            true
        }),
        always: Some(because(Runs, "runs another program", "flock x rm y")),
        ..NONE
    },
    Program {
        names: list("nohup setsid"),
        operands: &[PROGRAM],
        stops: 1,
        always: Some(because(Runs, "runs another program", "setsid -c rm x")),
        ..NONE
    },
    Program {
        names: list("nice gnice ionice doas"),
        values: list("-n -c -p -P -u -C --adjustment --class --classdata"),
        operands: &[PROGRAM],
        stops: 1,
        always: Some(because(Runs, "runs another program", "nice -n 5 rm x")),
        ..NONE
    },
    Program {
        names: list("stdbuf gstdbuf time gtime"),
        values: list("-i -o -e -f --input --output --error --format"),
        operands: &[PROGRAM],
        stops: 1,
        always: Some(because(Runs, "runs another program", "stdbuf -oL rm x")),
        ..NONE
    },
    Program {
        names: list("timeout gtimeout"),
        values: list("-k -s --kill-after --signal"),
        operands: &[SECOND],
        stops: 2,
        always: Some(because(Runs, "runs another program", "timeout -k 5 5 rm x")),
        ..NONE
    },
    Program {
        names: list("sudo sudoedit"),
        options: &[
            opt("-e --edit", Runs, "starts an editor", "sudo -e x"),
            opt("-s --shell -i --login", Runs, "starts a shell", "sudo -s"),
        ],
        values: list(
            "-u -g -h -p -C -D -R -T -U -r -t -c -a --user --group --host --prompt --chdir \
                 --chroot --other-user --role --type --close-from --command-timeout",
        ),
        assigns: true,
        operands: &[PROGRAM],
        stops: 1,
        always: Some(because(
            Runs,
            "runs with the rights of another user",
            "sudo -u x ls",
        )),
        ..NONE
    },
    Program {
        names: list(
            "sh bash dash zsh ksh mksh ash fish csh tcsh pwsh powershell cmd rbash \
                     elvish nu xonsh oil osh yash rc es git-shell rksh lksh pdksh bosh scsh",
        ),
        special: Some(shell),
        always: Some(because(Runs, "is a shell", "bash script.sh")),
        ..NONE
    },
    // From here on, builtins of the shell.
    Program {
        names: list("command"),
        operands: &[PROGRAM],
        stops: 1,
        special: Some(|words, at, _| {
            words
                .get(at + 1)
                .is_none_or(|word| !matches!(&*word.text, "-v" | "-V"))
        }),
        plain: &["command -v git", "command -V git"],
        ..NONE
    },
    Program {
        names: list(
            "builtin exec noglob nocorrect coproc source . trap then do if while \
                     until ! { else elif",
        ),
        values: list("-a"),
        operands: &[operand(0, any, Runs, "is run as a command", "exec rm x")
            .to(1)
            .starts(Starts::Command)],
        always: Some(because(Runs, "runs what it is given", "trap 'rm x' EXIT")),
        stops: 1,
        ..NONE
    },
    Program {
        names: list("eval"),
        operands: &[
            operand(0, any, Runs, "is run as a command", "eval 'rm x'").starts(Starts::Script)
        ],
        special: Some(|words, at, report| {
            report.joined = Some(at + 1).filter(|&from| at == 0 && from < words.len());
            true
        }),
        always: Some(because(Runs, "runs what it is given", "eval 'rm x'")),
        ..NONE
    },
    Program {
        names: list(
            "let declare typeset local export readonly read mapfile readarray getopts \
                     unset set shopt enable alias unalias complete compopt bind fc integer float \
                     nameref setopt unsetopt emulate zmodload autoload print vared function \
                     select case for setenv umask ulimit abbr disown suspend logout caller",
        ),
        options: &[
            opt("-C:", Runs, "is run as a command", "mapfile -C 'rm x'").starts(Starts::Script)
        ],
        operands: &[
            operand(0, substitutes, Runs, "is evaluated", "let 'a[$(rm x)]=1'")
                .starts(Starts::Inside),
        ],
        always: Some(because(
            Configures,
            "evaluates its words or changes the shell",
            "export A=b",
        )),
        ..NONE
    },
    Program {
        names: list("printf"),
        options: &[opt(
            "-v:",
            Runs,
            "evaluates the name of a variable",
            "printf -v 'a[b]' c",
        )
        .starts(Starts::Inside)],
        stops: 1,
        special: Some(|words, at, _| {
            words
                .get(at + 1)
                .is_some_and(|word| word.text.starts_with("-v"))
        }),
        plain: &["printf '%s\\n' -v x", "printf '-%s' x", "printf -- -v"],
        ..NONE
    },
    Program {
        names: list("test ["),
        special: Some(test),
        plain: &[
            "test -f x",
            "[ -d src ]",
            "[ a = b ]",
            "test 3 -gt 2",
            "test -n ''",
        ],
        ..NONE
    },
    Program {
        names: list("hash"),
        options: &[opt(
            "-p:",
            Configures,
            "sets where a program is",
            "hash -p /tmp/x git",
        )],
        plain: &["hash -r", "hash"],
        ..NONE
    },
    Program {
        names: list("compgen"),
        options: &[opt(
            "-C: -F: -W: -X: -P: -S:",
            Runs,
            "evaluates its value",
            "compgen -C 'rm x'",
        )
        .starts(Starts::Script)],
        values: list("-A -G"),
        plain: &["compgen -c git"],
        ..NONE
    },
    Program {
        names: list("history"),
        options: &[opt(
            "-a -w -r -n -c -d: -s -p",
            Configures,
            "writes or reads a file",
            "history -w x",
        )],
        operands: &[operand(1, any, Configures, "is a file", "history 5 x")],
        plain: &["history", "history 20"],
        ..NONE
    },
    Program {
        names: list("wait jobs"),
        options: &[opt(
            "-p: -x:",
            Runs,
            "evaluates or runs its value",
            "jobs -x rm x",
        )],
        plain: &["jobs -l", "wait"],
        ..NONE
    },
    Program {
        names: list("kill"),
        special: Some(|words, at, report| {
            for (index, word) in words.iter().enumerate().skip(at + 2) {
                if word.text.starts_with('-') || matches!(&*word.text, "0" | "1") {
                    report.hit(index, Configures, "ends more than one process");
                }
            }
            false
        }),
        plain: &["kill 123", "kill -9 123", "kill -l"],
        ..NONE
    },
];

/// A word that runs commands where it is evaluated.
fn substitutes(text: &str) -> bool {
    text.contains("$(") || text.contains('`')
}

/// Commands within the word are run.
fn inside(words: &[Word], word: usize, report: &mut Report) {
    if words.get(word).is_some_and(|word| substitutes(&word.text)) {
        report.attached.push(Attached { word, offset: 0 });
    }
}

/// Behind `-c` is a script, the first operand otherwise is a file of one.
fn shell(words: &[Word], at: usize, report: &mut Report) -> bool {
    let mut value = false;
    for (index, word) in words.iter().enumerate().skip(at + 1) {
        let text = &*word.text;
        if std::mem::replace(&mut value, listed("-o +o -O +O --rcfile --init-file", text)) {
            value = false;
            continue;
        }
        let code = matches!(
            text.trim_start_matches('-').to_ascii_lowercase().as_str(),
            "command" | "encodedcommand" | "/c" | "/k"
        );
        let letters = text.starts_with(['-', '+']) && !text.starts_with("--");
        if code || letters && text.contains('c') {
            let script = words[index + 1..]
                .iter()
                .position(|word| !word.text.starts_with('-'));
            let script = index + 1 + script.unwrap_or(0);
            report.hit(index, Runs, "runs its value");
            if script < words.len() {
                report.starts.push(script);
            }
            break;
        }
        if !text.starts_with(['-', '+']) {
            report.starts.push(index);
            break;
        }
    }
    false
}

/// Names of variables and numbers are evaluated: `a[$(x)]`.
fn test(words: &[Word], at: usize, report: &mut Report) -> bool {
    for index in at + 1..words.len() {
        match &*words[index].text {
            "-v" | "-R" => {
                report.hit(index, Runs, "evaluates the name of a variable");
                inside(words, index + 1, report);
            }
            "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" | "-t" => {
                for near in [index - 1, index + 1] {
                    let number = words.get(near).is_none_or(|word| {
                        let text = word.text.strip_prefix('-').unwrap_or(&word.text);
                        near == at || text.bytes().all(|byte| byte.is_ascii_digit())
                    });
                    if !number && &*words[index].text != "-t" {
                        report.hit(near, Runs, "is evaluated as arithmetic");
                        inside(words, near, report);
                    }
                }
            }
            _ => {}
        }
    }
    false
}
