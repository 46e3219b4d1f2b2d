//! Tools that look for files and for text in them.

use super::ProgramEffect::{Elsewhere, Reads, Runs, Writes};
use super::Whole;
use super::code::Code;
use super::engine::{NONE, Program, Starts, list, opt, outside};

pub(super) const SEARCH: &[Program] = &[
    Program {
        names: list("hg svn"),
        options: &[
            opt(
                "--config: --config-option: --config-dir: --diff-cmd: --diff3-cmd: --editor-cmd:",
                Runs,
                "sets which program it starts",
                "hg --config alias.x='!rm y' x",
            )
            .starts(Starts::Setting),
            opt(
                "-R: --repository: --cwd:",
                Elsewhere,
                "works elsewhere",
                "hg -R /x log",
            ),
            opt("-F: --file:", Reads, "reads a file", "svn log -F /x").when(outside),
            // A revision has no blank.
            opt(
                "-c: --command:",
                Runs,
                "runs its value",
                "hg bisect -c 'rm x'",
            )
            .when(|value| value.contains(char::is_whitespace))
            .starts(Starts::Script),
        ],
        values: list("-m! --message! -r -l --rev --limit --revision"),
        quiet: "status st log diff di info blame annotate cat list ls heads id identify summary \
                branches tags help version add commit ci update up --version",
        plain: &[
            "hg status",
            "svn log -l 5",
            "hg diff -r 1",
            "svn commit -m -x",
        ],
        ..NONE
    },
    Program {
        names: list("find gfind"),
        answers: true,
        whole: Whole::Always,
        options: &[
            opt(
                "-exec: -execdir: -ok: -okdir:",
                Runs,
                "runs a program",
                "find . -exec rm {} +",
            )
            .starts(Starts::Command),
            opt(
                "-delete",
                Writes,
                "removes what it finds",
                "find . -name x -delete",
            ),
            opt(
                "-fprint: -fprint0: -fls: -fprintf:",
                Writes,
                "writes to a file",
                "find . -fprintf x %p",
            ),
            opt(
                "-files0-from:",
                Reads,
                "reads the folders to search from a file",
                "find -files0-from x",
            ),
        ],
        words: true,
        code: Code::Options {
            values: "-name -iname -path -ipath -wholename -regex -iregex -lname -type -newer -user \
                     -group -size -mtime -mmin -perm -maxdepth -mindepth",
            // What begins with a hyphen is never a path.
            protects: false,
            reads_input: false,
        },
        unrestricted: true,
        plain: &[
            "find . -name '*.rs' -type f -print0",
            "find src -newer x -printf %p",
        ],
        ..NONE
    },
    Program {
        names: list("fd fdfind"),
        options: &[
            opt(
                "-x: --exec: -X: --exec-batch:",
                Runs,
                "runs a program",
                "fd -e rs -x rm",
            )
            .starts(Starts::Command),
            opt(
                "-C: --base-directory:",
                Elsewhere,
                "searches outside this folder",
                "fd -C / x",
            )
            .when(outside),
        ],
        values: list(
            "-e -t -E -d -c -j -S -o --extension --type --exclude --max-depth --glob? --color",
        ),
        safe: "--extension",
        plain: &["fd -e rs -t f main", "fd --extension rs", "fd -HI x src"],
        ..NONE
    },
    Program {
        names: list("rg ripgrep"),
        answers: true,
        options: &[
            opt(
                "--pre: --hostname-bin:",
                Runs,
                "starts a program",
                "rg --pre=x y",
            )
            .starts(Starts::Script),
            opt("-z --search-zip", Runs, "starts decompressors", "rg -z x"),
            opt(
                "-f: --file: --ignore-file:",
                Reads,
                "takes patterns from a file",
                "rg -f x",
            ),
        ],
        values: list(
            "-e! -g -t -T -A -B -C -m -j -r! -d -M -E --regexp! --glob --type --type-not --replace \
                 --after-context --before-context --context --max-count --iglob --sort --sortr \
                 --color --colors --encoding --engine --max-depth --pre-glob --max-columns --threads",
        ),
        safe: "--files --pretty --search-zip-none",
        plain: &[
            "rg -n -e --pre src",
            "rg -i needle --glob '*.rs'",
            "rg --files",
            "rg --pretty -tz x",
            "rg -l x src",
        ],
        ..NONE
    },
    Program {
        names: list("ag ack ack-grep ugrep ug pt"),
        options: &[
            opt(
                "--pager: --filter: --view:",
                Runs,
                "starts a program",
                "ag --pager=x y",
            )
            .starts(Starts::Script),
            opt(
                "-z --search-zip --decompress",
                Runs,
                "starts decompressors",
                "ag -z x",
            ),
            opt(
                "--output:",
                Runs,
                "is an expression to run",
                "ack --output='$1' x",
            ),
            opt(
                "--ackrc: -p: --path-to-ignore: --config? --save-config?",
                Reads,
                "takes options from a file",
                "ack --ackrc=x y",
            ),
        ],
        safe: "--files-with-matches",
        plain: &["ag -l x", "ack needle src"],
        ..NONE
    },
    Program {
        names: list("locate"),
        answers: true,
        plain: &["locate x"],
        ..NONE
    },
    Program {
        names: list("updatedb"),
        options: &[opt(
            "-U: --database-root:",
            Writes,
            "writes a list",
            "updatedb -U /",
        )
        .when(outside)],
        ..NONE
    },
    Program {
        names: list("grep egrep fgrep ggrep zgrep"),
        answers: true,
        values: list(
            "-e! -A -B -C -m -f -d -D --regexp! --file --max-count --after-context --before-context \
             --context --include --exclude --exclude-dir --label --color? --colour?",
        ),
        plain: &["grep -rn needle src", "grep -E -o 'a|b' x", "grep -U x y"],
        ..NONE
    },
];
