//! Programs that exist to run other programs, and the shells.

use super::ProgramEffect::{Configures, Elsewhere, Reads, Runs};
use super::code::{Code, OPTIONS, WRAPPER, wrapper};
use super::engine::{
    NONE, Operand, Opt, Program, Starts, any, because, is_input, list, listed, operand, opt,
    reads_alone, takes_filled_code,
};
use super::{AttachedScript, Network, ProgramReport};
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

/// Files, users and numbers come before the program: any of the first words may be it.
const STARTER: Program = Program {
    options: &[RUNS_VALUE],
    assigns: true,
    operands: &[operand(
        0,
        any,
        Runs,
        "may be a program that it starts",
        "flock x rm y",
    )
    .starts(Starts::Script)],
    stops: 4,
    special: Some(late_program),
    always: Some(because(Runs, "runs another program", "flock x rm y")),
    ..NONE
};

/// Options of a program that starts another one.
const RUNS_VALUE: Opt = opt(
    "-c: --command: --session-command: -ex: -e: -ix: --eval-command:",
    Runs,
    "runs its value",
    "script -c 'rm x' y",
)
.starts(Starts::Script);

/// A shell.
const SHELL: Program = Program {
    special: Some(shell),
    always: Some(because(Runs, "is a shell", "bash script.sh")),
    ..NONE
};

/// A builtin that runs its first word.
const RUNNER: Program = Program {
    values: list("-a"),
    operands: &[operand(0, any, Runs, "is run as a command", "exec rm x")
        .to(1)
        .starts(Starts::Command)],
    always: Some(because(Runs, "runs what it is given", "trap 'rm x' EXIT")),
    stops: 1,
    ..NONE
};

/// A builtin that changes the shell.
const DECLARATION: Program = Program {
    options: &[opt("-C:", Runs, "is run as a command", "mapfile -C 'rm x'").starts(Starts::Script)],
    operands: &[
        operand(0, substitutes, Runs, "is evaluated", "let 'a[$(rm x)]=1'").starts(Starts::Inside),
    ],
    always: Some(because(
        Configures,
        "evaluates its words or changes the shell",
        "export A=b",
    )),
    ..NONE
};

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
        code: wrapper("uCS", 0),
        plain: &["env", "env -0"],
        ..NONE
    },
    Program {
        names: list("xargs gxargs"),
        fills: true,
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
                "prompts on the terminal",
                "xargs -p",
            ),
        ],
        values: list(
            "-I -n -P -L -s -d -E -R -S -J --max-args --max-procs --max-lines? --delimiter \
                 --replace? --max-chars --process-slot-var -i? -l? -e? --eof?",
        ),
        operands: &[PROGRAM],
        stops: 1,
        code: Code::Everything,
        plain: &["xargs"],
        ..NONE
    },
    Program {
        names: list(
            "caffeinate proxychains proxychains4 tsocks torsocks winpty \
             dbus-launch xvfb-run rlwrap unbuffer catchsegv perf gdbserver \
             run0 prlimit choom cgexec numactl eatmydata faketime ts-node tsx retry \
             sshpass dotenv direnv mise asdf conda micromamba start-stop-daemon \
             run-parts daemonize tini dumb-init su-exec gosu bwrap \
             systemd-nspawn sem watchexec nodemon inotifywait watchman screen \
             ld.so ld-linux-x86-64.so multitime chpst softlimit setuidgid envdir with xdg-open open \
             gio crontab anacron vagrant cpulimit chronic ifne zrun ccache runc ctr \
             msgfilter msgexec ldd foreman overmind concurrently srun mpirun mpiexec \
             logsave uclampset cross-env cross-env-shell dotenvx doppler op runcon aa-exec mamba \
             apptainer singularity xterm uxterm rxvt urxvt konsole gnome-terminal xfce4-terminal \
             alacritty kitty ssh-agent systemd-cat systemd-inhibit systemd-socket-activate",
        ),
        ..STARTER
    },
    Program {
        names: list(
            "linux32 linux64 i386 i486 i586 i686 x86_64 uname26 dbus-run-session pkexec proot \
             firejail",
        ),
        shell_below: 1,
        ..STARTER
    },
    Program {
        names: list("sbatch salloc"),
        options: &[
            opt("--wrap:", Runs, "runs its value", "sbatch --wrap='rm x'").starts(Starts::Script),
        ],
        ..STARTER
    },
    Program {
        names: list("pee mispipe"),
        special: Some(|words, at, report| {
            let mut commands = words[at + 1..].iter();
            report.takes_input |= commands.any(|word| reads_alone(&word.text, 1));
            true
        }),
        ..STARTER
    },
    Program {
        names: list("setarch sg"),
        shell_below: 2,
        ..STARTER
    },
    Program {
        names: list("newgrp capsh nix nix-shell machinectl toolbox distrobox login"),
        options: &[opt(
            "-c: --command: --run:",
            Runs,
            "runs its value",
            "nix-shell --run 'rm x'",
        )
        .starts(Starts::Script)],
        shell_below: usize::MAX,
        ..STARTER
    },
    Program {
        names: list("setpriv valgrind"),
        code: WRAPPER,
        ..STARTER
    },
    Program {
        names: list("fakeroot unshare"),
        values: list("-R -w -S -G -l -i -s -b --root --wd --setuid --setgid --lib --faked"),
        code: WRAPPER,
        shell_below: 1,
        ..STARTER
    },
    Program {
        names: list("busybox toybox coreutils uutils"),
        options: &[opt(
            "--coreutils-prog: --coreutils-prog-shebang:",
            Runs,
            "names the program to run",
            "coreutils --coreutils-prog=rm x",
        )
        .starts(Starts::Script)],
        code: WRAPPER,
        ..STARTER
    },
    Program {
        names: list("hyperfine"),
        options: &[
            opt(
                "-p: --prepare: -s: --setup: --cleanup: --conclude: -C: -S: --shell: --reference:",
                Runs,
                "runs its value",
                "hyperfine --prepare 'rm x' ls",
            )
            .starts(Starts::Script),
            RUNS_VALUE,
        ],
        ..STARTER
    },
    Program {
        names: list("ltrace strace"),
        options: &[
            opt(
                "-o: --output:",
                Runs,
                "runs its value",
                "strace -o '|rm x' true",
            )
            .when(|value| value.starts_with(['|', '!']))
            .starts(Starts::Script),
            RUNS_VALUE,
        ],
        code: wrapper("eosp", 0),
        ..STARTER
    },
    Program {
        names: list("nsenter"),
        values: list("-t -S -G --target --setuid --setgid"),
        shell_below: 1,
        code: wrapper("t", 0),
        ..STARTER
    },
    Program {
        names: list("systemd-run"),
        code: wrapper("p", 0),
        ..STARTER
    },
    Program {
        names: list("chroot"),
        code: wrapper("", 1),
        shell_below: 2,
        ..STARTER
    },
    Program {
        names: list("chrt taskset"),
        code: wrapper("", 1),
        ..STARTER
    },
    Program {
        names: list("flock"),
        code: wrapper("wEc", 1),
        ..STARTER
    },
    Program {
        names: list("parallel"),
        special: Some(|words, at, report| {
            let words = words
                .split(|word| &*word.text == ":::")
                .next()
                .unwrap_or(words);
            let appends = !words.iter().any(|word| word.text.contains("{}"));
            for start in at + 1..words.len().min(at + 12) {
                report.takes_input |= !words[start].text.starts_with('-')
                    && takes_filled_code(&words[start..], Some("{}"), appends, 1);
            }
            true
        }),
        code: Code::Everything,
        ..STARTER
    },
    Program {
        names: list("entr tmux watch"),
        code: Code::Everything,
        ..STARTER
    },
    Program {
        names: list("su"),
        code: Code::Everything,
        shell_below: usize::MAX,
        ..STARTER
    },
    Program {
        names: list("runuser script"),
        code: Code::Everything,
        shell_below: 2,
        ..STARTER
    },
    Program {
        names: list("wsl"),
        code: Code::Everything,
        shell_below: 1,
        ..STARTER
    },
    Program {
        names: list("at batch expect gdb lldb dtrace"),
        code: Code::Everything,
        opaque: true,
        ..STARTER
    },
    Program {
        names: list("ansible ansible-playbook pssh pdsh dsh fab"),
        network: Network::Yes,
        ..STARTER
    },
    Program {
        names: list("nohup setsid"),
        operands: &[PROGRAM],
        stops: 1,
        code: WRAPPER,
        always: Some(because(Runs, "runs another program", "setsid -c rm x")),
        ..NONE
    },
    Program {
        names: list("nice gnice"),
        values: list("-n --adjustment"),
        operands: &[PROGRAM],
        stops: 1,
        code: wrapper("n", 0),
        always: Some(because(Runs, "runs another program", "nice -n 5 rm x")),
        ..NONE
    },
    Program {
        names: list("ionice"),
        values: list("-c -n -p -P -u --class --classdata --pid --pgid --uid"),
        operands: &[PROGRAM],
        stops: 1,
        code: wrapper("cn", 0),
        always: Some(because(Runs, "runs another program", "ionice -c 2 rm x")),
        ..NONE
    },
    Program {
        names: list("doas"),
        values: list("-a -u -C"),
        assigns: true,
        operands: &[PROGRAM],
        stops: 1,
        code: wrapper("auC", 0),
        always: Some(because(
            Runs,
            "runs with the rights of another user",
            "doas -n rm x",
        )),
        ..NONE
    },
    Program {
        names: list("stdbuf gstdbuf"),
        values: list("-i -o -e --input --output --error"),
        operands: &[PROGRAM],
        stops: 1,
        code: wrapper("ioe", 0),
        always: Some(because(Runs, "runs another program", "stdbuf -oL rm x")),
        ..NONE
    },
    Program {
        names: list("time gtime"),
        values: list("-f -o --format --output"),
        operands: &[PROGRAM],
        stops: 1,
        code: wrapper("fo", 0),
        always: Some(because(Runs, "runs another program", "time -f %e rm x")),
        ..NONE
    },
    Program {
        names: list("timeout gtimeout"),
        values: list("-k -s --kill-after --signal"),
        operands: &[SECOND],
        stops: 2,
        code: wrapper("ks", 1),
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
        code: wrapper("ughpCDRTUrtca", 0),
        always: Some(because(
            Runs,
            "runs with the rights of another user",
            "sudo -u x ls",
        )),
        ..NONE
    },
    Program {
        names: list("sh bash dash zsh ksh"),
        code: Code::Shell,
        argument: Some(("-c", "\"\\$1\"")),
        ..SHELL
    },
    Program {
        names: list("mksh ash fish csh tcsh rbash oil osh yash rksh lksh pdksh bosh"),
        code: Code::Shell,
        ..SHELL
    },
    Program {
        names: list("pwsh powershell cmd elvish nu xonsh rc es git-shell scsh"),
        code: Code::Everything,
        opaque: true,
        ..SHELL
    },
    // From here on, builtins of the shell.
    Program {
        names: list("command"),
        operands: &[PROGRAM],
        stops: 1,
        code: Code::Command,
        special: Some(|words, at, _| {
            words
                .get(at + 1)
                .is_none_or(|word| !matches!(&*word.text, "-v" | "-V"))
        }),
        plain: &["command -v git", "command -V git"],
        ..NONE
    },
    Program {
        names: list("builtin noglob nocorrect coproc then do if while until ! { else elif"),
        code: WRAPPER,
        ..RUNNER
    },
    Program {
        names: list("exec"),
        code: wrapper("a", 0),
        ..RUNNER
    },
    Program {
        names: list("source ."),
        special: Some(|words, at, report| {
            report.takes_input |= words.get(at + 1).is_some_and(|word| is_input(&word.text));
            true
        }),
        code: Code::File,
        ..RUNNER
    },
    Program {
        names: list("trap"),
        special: Some(|words, at, report| {
            let command = words.get(at + 1);
            report.takes_input |= command.is_some_and(|word| reads_alone(&word.text, 1));
            true
        }),
        code: Code::Everything,
        ..RUNNER
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
        code: Code::Everything,
        always: Some(because(Runs, "runs what it is given", "eval 'rm x'")),
        ..NONE
    },
    Program {
        names: list("enable"),
        options: &[opt("-f:", Runs, "loads code", "enable -f ./x.so y")],
        code: Code::Everything,
        ..DECLARATION
    },
    Program {
        names: list("let complete bind fc"),
        code: Code::Everything,
        ..DECLARATION
    },
    Program {
        names: list("alias"),
        special: Some(|words, at, report| {
            for (word, text) in words
                .iter()
                .map(|word| &*word.text)
                .enumerate()
                .skip(at + 1)
            {
                if let Some(equals) = text.find('=') {
                    let offset = equals + 1;
                    report.attached.push(AttachedScript { word, offset });
                }
            }
            true
        }),
        code: Code::Everything,
        ..DECLARATION
    },
    Program {
        names: list("declare typeset local export readonly"),
        code: Code::Assignments,
        ..DECLARATION
    },
    Program {
        names: list("read mapfile readarray getopts unset integer float nameref vared"),
        code: Code::VariableNames,
        ..DECLARATION
    },
    Program {
        names: list(
            "set shopt unalias compopt setopt unsetopt emulate zmodload autoload print function \
             select case for setenv umask ulimit abbr disown suspend logout caller",
        ),
        ..DECLARATION
    },
    Program {
        names: list("printf"),
        data: true,
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
        code: Code::Printf,
        plain: &["printf '%s\\n' -v x", "printf '-%s' x", "printf -- -v"],
        ..NONE
    },
    Program {
        names: list("test ["),
        data: true,
        answers: true,
        special: Some(test),
        code: Code::Test,
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
        )
        .starts(Starts::Script)],
        code: OPTIONS,
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
        code: Code::Everything,
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
        names: list("wait"),
        options: &[opt(
            "-p:",
            Runs,
            "evaluates the name of a variable",
            "wait -p 'a[b]' 1",
        )],
        code: Code::VariableNames,
        plain: &["wait"],
        ..NONE
    },
    Program {
        names: list("jobs"),
        options: &[opt("-p: -x:", Runs, "runs its value", "jobs -x rm x")],
        code: Code::Everything,
        plain: &["jobs -l"],
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

/// Options with more than one value: the program comes late.
fn late_program(words: &[Word], at: usize, report: &mut ProgramReport) -> bool {
    let late = [
        "bwrap",
        "proot",
        "systemd-nspawn",
        "strace",
        "capsh",
        "nsenter",
        "firejail",
    ];
    if late.iter().any(|name| words[at].text.ends_with(name)) {
        let rest = at + 5..words.len().min(at + 40);
        let operands = rest.filter(|&index| !words[index].text.starts_with('-'));
        report.starts.extend(operands);
    }
    true
}

/// A word that runs commands where it is evaluated.
fn substitutes(text: &str) -> bool {
    text.contains("$(") || text.contains('`')
}

/// Commands within the word are run.
fn inside(words: &[Word], word: usize, report: &mut ProgramReport) {
    if words.get(word).is_some_and(|word| substitutes(&word.text)) {
        report.attached.push(AttachedScript { word, offset: 0 });
    }
}

/// Long options of shells that take no value.
const FLAGS: &str = "--login --posix --norc --noprofile --restricted --verbose --version --help \
                     --debug --debugger --dump-strings --dump-po-strings --noediting --interactive \
                     --no-config --private --rcs --no-rcs --no-globalrcs --pretty-print";

/// Behind `-c` is a script, the first operand otherwise is a file of one.
fn shell(words: &[Word], at: usize, report: &mut ProgramReport) -> bool {
    let (mut value, mut unsure, from) = (false, false, report.starts.len());
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
        if text == "-" || letters && text.contains('s') {
            report.takes_input = true;
        }
        if !text.starts_with(['-', '+']) {
            report.takes_input |= is_input(text);
            report.starts.push(index);
            // After an unknown option it may be the value: `zsh --emulate sh -c x`.
            if !std::mem::take(&mut unsure) {
                break;
            }
        }
        unsure |=
            text.len() > 2 && text.starts_with("--") && !text.contains('=') && !listed(FLAGS, text);
    }
    // Without a script, it reads one.
    report.takes_input |= report.starts.len() == from;
    false
}

/// Names of variables and numbers are evaluated: `a[$(x)]`.
fn test(words: &[Word], at: usize, report: &mut ProgramReport) -> bool {
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
