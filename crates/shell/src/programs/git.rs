//! git: options that run or write something, subcommands that are not what they seem.

use super::ProgramEffect::{Configures, Elsewhere, Reads, Runs, Sends, Writes};
use super::engine::{
    NONE, Operand, Opt, Program, Starts, any, because, list, listed, names_command, operand, opt,
    outside,
};
use super::{AttachedScript, ProgramReport, Whole};
use crate::word::Word;

pub(super) const GIT: &[Program] = &[Program {
    names: list("git"),
    options: &[
        opt(
            "-c: --config-env:",
            Configures,
            "sets git's configuration",
            "git -c a.b=c log",
        )
        .starts(Starts::Setting),
        opt(
            "--exec-path=*",
            Runs,
            "runs git's own programs from the given folder",
            "git --exec-path=x log",
        ),
        opt("-p --paginate", Runs, "starts the pager", "git -p log"),
        opt(
            "-C:",
            Elsewhere,
            "works in another folder",
            "git -C /tmp/x status",
        )
        .when(outside),
        opt(
            "--git-dir:",
            Elsewhere,
            "uses another repository and its configuration",
            "git --git-dir=x/.git log",
        ),
        opt(
            "--work-tree:",
            Elsewhere,
            "works on another folder",
            "git --work-tree=/ status",
        ),
        opt(
            "--bare",
            Elsewhere,
            "treats the folder itself as a repository",
            "git --bare log",
        ),
        opt(
            "--namespace:",
            Elsewhere,
            "works on other branches",
            "git --namespace=x log",
        ),
    ],
    values: list("--attr-source --super-prefix --list-cmds"),
    safe: "-P -v -h --no-pager --version --help --html-path --man-path --info-path --exec-path \
           --no-replace-objects --no-lazy-fetch --no-optional-locks --no-advice \
           --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs",
    unknown: Some(because(
        Runs,
        "is not a known git option",
        "git --strange log",
    )),
    before: true,
    subs: SUBS,
    other: Some(because(
        Runs,
        "is an alias or a program of its own",
        "git deploy now",
    )),
    plain: &[
        "git --no-pager log --oneline -5",
        "git -C sub/folder status",
        "git --version",
        "git",
    ],
    ..NONE
}];

/// Options of all subcommands that print differences.
const OUTPUT: Opt = opt("--output:", Writes, "writes to a file", "git diff --outp=x");
const EXT_DIFF: Opt = opt(
    "--ext-diff",
    Runs,
    "starts a configured program",
    "git log --ext-diff",
);
const TEXTCONV: Opt = opt(
    "--textconv",
    Runs,
    "starts a configured program",
    "git show --textconv",
);
const ORDER: Opt = opt("-O:", Reads, "takes the order from a file", "git diff -Ox");
const NO_INDEX: Opt = opt(
    "--no-index",
    Elsewhere,
    "compares any two files",
    "git diff --no-index /etc/passwd x",
);
const DIFF_VALUES: &str = "-S! -G! -L -n --author --committer --grep! --since --until --after \
    --before --format? --pretty? --diff-filter --max-count --skip -U? -l --unified? --src-prefix! \
    --dst-prefix! --line-prefix! --inter-hunk-context --word-diff-regex --output-indicator-new \
    --output-indicator-old --output-indicator-context --glob --exclude -M? -C? -B? -X?";

const UPLOAD: Opt = opt(
    "--upload-pack: --exec:",
    Runs,
    "names the program to run on the remote side",
    "git fetch --upl=x",
);
const STRATEGY: Opt = opt(
    "-s: --strategy:",
    Runs,
    "starts a merge program of that name",
    "git merge -s x y",
)
.when(strange_strategy);
const REMOTE: Operand = operand(
    0,
    address,
    Sends,
    "is an address, not a configured remote",
    "git push ext::x",
)
.to(1)
.globs();
const REFSPEC: Operand = operand(
    1,
    transport,
    Sends,
    "is an address, not a branch",
    "git fetch origin https://x/y",
)
.globs();

/// The commands that show differences.
const DIFF: Program = Program {
    options: &[OUTPUT, EXT_DIFF, TEXTCONV, ORDER, NO_INDEX],
    values: list(DIFF_VALUES),
    safe: "--no-textconv --text --exit-code",
    operands: &[operand(
        0,
        outside,
        Elsewhere,
        "is a file elsewhere",
        "git diff /dev/null /etc/passwd",
    )],
    ..NONE
};

/// A subcommand that starts an editor on request.
const EDITS: Program = Program {
    options: &[opt(
        "-e --edit --edit-description",
        Runs,
        "starts an editor",
        "git add -e",
    )],
    values: list("-b -B -m -F -c -C -t -u -s -X"),
    safe: "--edit-none",
    ..NONE
};

const SUBS: &[Program] = &[
    Program {
        names: list(
            "status rev-parse ls-files reset rev-list describe shortlog show-ref \
                     check-attr check-ignore check-mailmap check-ref-format cherry column \
                     commit-graph commit-tree count-objects diff-pairs for-each-ref fsck gc \
                     get-tar-commit-id ls-tree merge-base merge-tree name-rev pack-refs patch-id \
                     prune repack rerere show-branch show-index sparse-checkout stripspace \
                     symbolic-ref update-ref var verify-commit verify-pack verify-tag version \
                     write-tree",
        ),
        options: &[OUTPUT, EXT_DIFF],
        plain: &[
            "git status --short",
            "git reset --hard HEAD~1",
            "git rev-parse HEAD",
            "git ls-files --others",
            "git shortlog -sn",
        ],
        ..NONE
    },
    Program {
        names: list("rm"),
        whole: Whole::Recursive,
        plain: &["git rm --cached file", "git rm -r x"],
        ..NONE
    },
    Program {
        names: list("mv"),
        whole: Whole::Sources,
        plain: &["git mv a b"],
        ..NONE
    },
    Program {
        names: list("commit tag hash-object"),
        options: &[
            OUTPUT,
            opt("-e --edit", Runs, "starts an editor", "git commit -e"),
            opt(
                "-F: --file: -t: --template:",
                Reads,
                "reads a file elsewhere",
                "git tag -F /x y",
            )
            .when(outside),
        ],
        values: list(
            "-m! -C -c -u? -S? --message! --author --date --fixup --squash --trailer \
                      --cleanup --reuse-message --reedit-message --pathspec-from-file",
        ),
        operands: &[operand(
            0,
            outside,
            Elsewhere,
            "is a file elsewhere",
            "git hash-object -w /etc/passwd",
        )],
        plain: &[
            "git commit -m 'fix: -c and --output'",
            "git commit -m --output",
            "git commit -am fix",
            "git commit --amend --no-edit -F message.txt",
            "git tag -a v1 -m one",
        ],
        ..NONE
    },
    Program {
        names: list("diff diff-tree diff-index diff-files"),
        answers: true,
        plain: &[
            "git diff --stat HEAD~3..HEAD -- src",
            "git diff main...feature",
            "git diff --output-indicator-new=+ --no-ext-diff",
        ],
        ..DIFF
    },
    Program {
        names: list("log show whatchanged"),
        plain: &[
            "git log -p --author 'a b' -S--output --text",
            "git log -n 3 --format='%h %s'",
            "git show HEAD:src/main.rs",
        ],
        ..DIFF
    },
    Program {
        names: list("range-diff"),
        options: &[OUTPUT, EXT_DIFF, TEXTCONV],
        plain: &["git range-diff a b c"],
        ..NONE
    },
    Program {
        names: list("stash"),
        whole: Whole::Always,
        options: &[OUTPUT, EXT_DIFF, TEXTCONV],
        values: list("-m! --message!"),
        quiet: "push save pop apply list show drop clear branch create store",
        plain: &[
            "git stash",
            "git stash -m wip",
            "git stash push -m wip",
            "git stash pop",
            "git stash show -p",
        ],
        ..NONE
    },
    Program {
        names: list("format-patch"),
        options: &[
            OUTPUT,
            EXT_DIFF,
            ORDER,
            opt(
                "-o: --output-directory:",
                Writes,
                "writes to the given path",
                "git format-patch -o x HEAD",
            ),
            opt(
                "--signature-file:",
                Reads,
                "reads another file",
                "git format-patch --signature-file=x HEAD",
            ),
        ],
        values: list(
            "-v --start-number --suffix --in-reply-to --subject-prefix --to --cc --signature --base \
             --range-diff --interdiff --since --until --author -S! -G! -U? --unified?",
        ),
        plain: &["git format-patch --stdout HEAD~2", "git format-patch -1"],
        ..NONE
    },
    Program {
        names: list("reflog"),
        options: &[OUTPUT, EXT_DIFF],
        subs: &[Program {
            names: list("expire delete drop"),
            always: Some(because(
                Writes,
                "forgets history",
                "git reflog expire --all",
            )),
            ..NONE
        }],
        plain: &["git reflog", "git reflog show HEAD", "git reflog -5"],
        ..NONE
    },
    Program {
        names: list("grep"),
        answers: true,
        options: &[
            opt(
                "--no-index",
                Elsewhere,
                "searches outside the repository",
                "git grep --no-index x /etc",
            ),
            opt(
                "-O? --open-files-in-pager?",
                Runs,
                "starts a program",
                "git grep -Oless x",
            )
            .starts(Starts::Script),
            TEXTCONV,
        ],
        values: list("-e! -f -A -B -C -m --max-depth --threads --max-count"),
        plain: &[
            "git grep -n -e --open -- src",
            "git grep -o x",
            "git grep -in needle",
        ],
        safe: "--text",
        ..NONE
    },
    Program {
        names: list("blame annotate cat-file"),
        options: &[
            OUTPUT,
            opt(
                "--contents:",
                Reads,
                "reads another file",
                "git blame --contents=/x y",
            ),
            TEXTCONV,
            opt(
                "--filters",
                Runs,
                "starts a filter",
                "git cat-file --filters x",
            ),
        ],
        plain: &["git blame -L 1,20 src/main.rs", "git cat-file -p HEAD"],
        ..NONE
    },
    Program {
        names: list("rebase"),
        options: &[
            opt(
                "-x: --exec:",
                Runs,
                "runs its value after each commit",
                "git rebase -x 'rm x' m",
            )
            .starts(Starts::Script),
            opt(
                "-i --interactive --edit-todo",
                Runs,
                "starts an editor",
                "git rebase -i main",
            ),
            STRATEGY,
        ],
        values: list("-X -C --onto --strategy-option --whitespace --empty"),
        plain: &[
            "git rebase main",
            "git rebase --continue",
            "git rebase --onto a b c",
        ],
        ..NONE
    },
    Program {
        names: list("merge cherry-pick revert"),
        options: &[
            OUTPUT,
            STRATEGY,
            opt("-e --edit", Runs, "starts an editor", "git merge -e x"),
            opt(
                "-F: --file:",
                Reads,
                "reads a file elsewhere",
                "git merge -F /x y",
            )
            .when(outside),
        ],
        values: list("-X -m! --strategy-option --message! --mainline --cleanup"),
        plain: &[
            "git merge --no-ff feature -m x",
            "git merge -s ours x",
            "git revert HEAD",
        ],
        ..NONE
    },
    Program {
        names: list("pull fetch"),
        options: &[
            UPLOAD,
            STRATEGY,
            opt(
                "-r? --rebase?",
                Runs,
                "starts an editor",
                "git pull --rebase=interactive",
            )
            .when(|value| value.starts_with('i')),
        ],
        values: list(
            "-o -j -X --depth --deepen --shallow-since --shallow-exclude --jobs --refmap \
                 --server-option --negotiation-tip --filter --strategy-option",
        ),
        operands: &[REMOTE, REFSPEC],
        plain: &[
            "git fetch origin main:main",
            "git fetch --all --prune",
            "git fetch -u origin",
            "git pull --rebase origin feature/x",
            "git pull",
        ],
        ..NONE
    },
    Program {
        names: list("push"),
        options: &[
            opt(
                "--receive-pack: --exec:",
                Runs,
                "names the program to run on the remote side",
                "git push --rec x origin",
            ),
            opt(
                "--repo:",
                Sends,
                "names where to send",
                "git push --repo=/tmp/x",
            )
            .when(address),
            opt(
                "-f --force -d --delete --mirror --prune",
                Sends,
                "overwrites or deletes remote branches",
                "git push -f origin main",
            ),
        ],
        values: list("-o --push-option"),
        safe: "--force-with-lease --force-if-includes",
        operands: &[
            REMOTE,
            REFSPEC,
            operand(
                1,
                |spec| spec.starts_with(['+', ':']),
                Sends,
                "overwrites or deletes remote branches",
                "git push origin :main",
            ),
        ],
        plain: &[
            "git push",
            "git push -u origin feature/x",
            "git push origin HEAD:refs/for/main",
            "git push --force-with-lease origin x",
            "git push --tags",
        ],
        ..NONE
    },
    Program {
        names: list("clone"),
        options: &[
            opt(
                "-u: --upload-pack:",
                Runs,
                "names the program to run on the remote side",
                "git clone -u x https://h/r",
            ),
            opt(
                "-c: --config:",
                Configures,
                "sets git's configuration",
                "git clone -c a.b=c https://h/r",
            )
            .starts(Starts::Setting),
            opt(
                "--template:",
                Runs,
                "copies hooks from the given folder",
                "git clone --templ=x https://h/r",
            ),
            opt(
                "--recurse-submodules? --recursive?",
                Sends,
                "fetches from URLs stored in the repository",
                "git clone --recursive https://h/r",
            ),
            opt(
                "--separate-git-dir:",
                Writes,
                "writes to the given path",
                "git clone --separate-git-dir /x https://h/r",
            ),
            opt(
                "--bundle-uri: --reference: --reference-if-able:",
                Reads,
                "reads objects from another repository",
                "git clone --reference /x https://h/r",
            ),
        ],
        values: list(
            "-b -o -j --branch --origin --depth --jobs --filter --shallow-since --ref-format \
                 --shallow-exclude --server-option --revision",
        ),
        operands: &[
            operand(
                0,
                |text| !web(text),
                Sends,
                "is not an https or ssh address",
                "git clone ext::x",
            )
            .to(1),
            operand(
                1,
                outside,
                Elsewhere,
                "is a folder elsewhere",
                "git clone https://h/r /x",
            ),
        ],
        plain: &[
            "git clone https://github.com/a/b",
            "git clone --depth 1 -b main git@github.com:a/b.git sub",
        ],
        ..NONE
    },
    Program {
        names: list("ls-remote"),
        options: &[UPLOAD],
        values: list("-o --server-option --sort"),
        operands: &[REMOTE],
        plain: &[
            "git ls-remote --heads origin",
            "git ls-remote origin refs/heads/main",
        ],
        ..NONE
    },
    Program {
        names: list("remote"),
        subs: &[],
        quiet: "show get-url update prune",
        other: Some(because(
            Configures,
            "changes where git sends to",
            "git remote add x y",
        )),
        plain: &["git remote -v", "git remote", "git remote show origin"],
        ..NONE
    },
    Program {
        names: list("config"),
        options: &[
            opt(
                "--unset --unset-all --add --replace-all --rename-section --remove-section --comment:",
                Configures,
                "changes git's configuration",
                "git config --uns a.b",
            ),
            opt("-e --edit", Runs, "starts an editor", "git config -e"),
            opt(
                "-f: --file: --blob:",
                Reads,
                "takes the configuration from there",
                "git config -f x a.b",
            ),
        ],
        special: Some(config),
        plain: &[
            "git config user.name",
            "git config --get user.name",
            "git config get user.name",
            "git config --global --list",
            "git config -l",
            "git config --get-regexp alias x",
        ],
        ..NONE
    },
    Program {
        names: list("branch add switch replace am"),
        plain: &[
            "git add -A",
            "git add src/main.rs",
            "git branch -vv",
            "git branch -D old",
            "git switch main",
        ],
        ..EDITS
    },
    Program {
        names: list("checkout restore"),
        whole: Whole::Always,
        plain: &[
            "git checkout -b feature/x",
            "git checkout -- file",
            "git restore --staged .",
        ],
        ..EDITS
    },
    Program {
        names: list("notes"),
        options: &[
            opt("-e --edit", Runs, "starts an editor", "git notes add -e x"),
            opt(
                "-F: --file:",
                Reads,
                "reads a file elsewhere",
                "git notes add -F /x y",
            )
            .when(outside),
        ],
        values: list("-m! -c -C --ref --message!"),
        subs: &[Program {
            names: list("edit"),
            always: Some(because(Runs, "starts an editor", "git notes edit")),
            ..NONE
        }],
        plain: &["git notes show", "git notes add -m x HEAD"],
        ..NONE
    },
    Program {
        names: list("clean"),
        whole: Whole::Always,
        options: &[opt(
            "-f --force -i --interactive",
            Writes,
            "removes files",
            "git clean -fd",
        )],
        values: list("-e --exclude"),
        plain: &["git clean -n", "git clean -nd", "git clean --dry-run -e x"],
        ..NONE
    },
    Program {
        names: list("bisect"),
        subs: &[
            Program {
                names: list("run"),
                operands: &[operand(
                    0,
                    any,
                    Runs,
                    "runs a program at each step",
                    "git bisect run make",
                )
                .to(1)
                .starts(Starts::Command)],
                stops: 1,
                ..NONE
            },
            Program {
                names: list("visualize view replay"),
                always: Some(because(Runs, "starts another program", "git bisect view")),
                ..NONE
            },
        ],
        plain: &[
            "git bisect start HEAD v1",
            "git bisect good",
            "git bisect reset",
        ],
        ..NONE
    },
    Program {
        names: list("submodule"),
        subs: &[Program {
            names: list("foreach"),
            operands: &[operand(
                0,
                any,
                Runs,
                "runs in each submodule",
                "git submodule foreach ls",
            )
            .to(1)
            .starts(Starts::Command)],
            stops: 1,
            always: Some(because(
                Runs,
                "runs a command in each submodule",
                "git submodule foreach",
            )),
            ..NONE
        }],
        quiet: "status summary",
        other: Some(because(
            Configures,
            "changes or fetches submodules",
            "git submodule update",
        )),
        plain: &["git submodule status", "git submodule"],
        ..NONE
    },
    Program {
        names: list("worktree"),
        subs: &[Program {
            names: list("add move"),
            values: list("-b -B --reason"),
            operands: &[operand(
                0,
                outside,
                Elsewhere,
                "works elsewhere",
                "git worktree add ../x",
            )
            .to(2)],
            plain: &["git worktree add -b x sub/x"],
            ..NONE
        }],
        quiet: "list lock unlock prune remove repair",
        plain: &["git worktree list"],
        ..NONE
    },
    Program {
        names: list("difftool mergetool"),
        options: &[opt(
            "-x: --extcmd:",
            Runs,
            "names the program to start",
            "git difftool -x ls",
        )
        .starts(Starts::Script)],
        always: Some(because(Runs, "starts another program", "git difftool HEAD")),
        ..NONE
    },
    Program {
        names: list("filter-branch"),
        options: &[opt(
            "--env-filter: --tree-filter: --index-filter: --parent-filter: --msg-filter: \
                 --commit-filter: --tag-name-filter: --setup:",
            Runs,
            "runs its value",
            "git filter-branch --tree-filter 'rm x' HEAD",
        )
        .starts(Starts::Script)],
        always: Some(because(
            Runs,
            "rewrites history with scripts",
            "git filter-branch HEAD",
        )),
        ..NONE
    },
    Program {
        names: list("archive"),
        options: &[
            opt(
                "-o: --output:",
                Writes,
                "writes to a file",
                "git archive -o x HEAD",
            ),
            opt(
                "--remote:",
                Sends,
                "asks another machine",
                "git archive --rem x HEAD",
            ),
            opt(
                "--exec:",
                Runs,
                "names the program to run on the remote side",
                "git archive --ex=x HEAD",
            ),
            opt(
                "--add-file:",
                Reads,
                "adds a file from any location",
                "git archive --add-file=x HEAD",
            ),
            opt(
                "--format:",
                Runs,
                "may start a configured program",
                "git archive --format=x HEAD",
            )
            .when(|value| !listed("tar zip tgz tar.gz", value)),
        ],
        safe: "--format",
        plain: &["git archive HEAD", "git archive --format=tar HEAD"],
        ..NONE
    },
    Program {
        names: list("bundle"),
        quiet: "verify list-heads",
        other: Some(because(Writes, "writes a file", "git bundle create x HEAD")),
        plain: &["git bundle verify x"],
        ..NONE
    },
    Program {
        names: list("apply"),
        options: &[
            opt(
                "--unsafe-paths",
                Elsewhere,
                "patches files elsewhere",
                "git apply --uns x",
            ),
            opt(
                "--build-fake-ancestor:",
                Writes,
                "writes to the given path",
                "git apply --build-fake-ancestor=x y",
            ),
        ],
        plain: &["git apply --check x.patch", "git apply x.patch"],
        ..NONE
    },
    Program {
        names: list("init"),
        options: &[
            opt(
                "--template:",
                Runs,
                "copies hooks from the given folder",
                "git init --templ=x",
            ),
            opt(
                "--separate-git-dir:",
                Writes,
                "writes to the given path",
                "git init --separate-git-dir=x",
            ),
        ],
        values: list("-b --initial-branch --object-format --ref-format"),
        operands: &[operand(
            0,
            outside,
            Elsewhere,
            "is a folder elsewhere",
            "git init /tmp/x",
        )],
        plain: &["git init -q", "git init -b main sub"],
        ..NONE
    },
    Program {
        names: list("update-index interpret-trailers checkout-index read-tree help"),
        options: &[
            opt(
                "--fsmonitor",
                Runs,
                "starts a program",
                "git update-index --fsmonitor",
            ),
            opt(
                "--in-place",
                Writes,
                "writes the file",
                "git interpret-trailers --in-place x",
            ),
            opt(
                "--prefix:",
                Writes,
                "writes to the given path",
                "git checkout-index --prefix=/x/ -a",
            ),
            opt(
                "--index-output:",
                Writes,
                "writes to the given path",
                "git read-tree --index-output=x y",
            ),
            opt(
                "-w --web -i --info -m --man",
                Runs,
                "starts a viewer",
                "git help -w log",
            ),
        ],
        plain: &["git update-index --refresh", "git help log"],
        ..NONE
    },
    Program {
        names: list("fast-export maintenance hook credential send-email"),
        options: &[opt(
            "--export-marks:",
            Writes,
            "writes to the given path",
            "git fast-export --export-marks=x HEAD",
        )],
        always: Some(because(
            Runs,
            "acts beyond this repository",
            "git credential fill",
        )),
        ..NONE
    },
];

/// Reading takes one name, or says that it reads.
fn config(words: &[Word], at: usize, report: &mut ProgramReport) -> bool {
    // Options count only before the first name; after it, they are the value.
    let (mut first, mut value) = (None, false);
    for (index, word) in words.iter().enumerate().skip(at + 1) {
        if !std::mem::replace(
            &mut value,
            listed("--type --default -f --file --blob", &word.text),
        ) && !word.text.starts_with('-')
        {
            first = Some(index);
            break;
        }
    }
    let second = first
        .map(|index| index + 1)
        .filter(|&index| index < words.len());
    let reads = "--get --get-all --get-regexp --get-urlmatch --get-color --get-colorbool --list -l";
    let write = match first.map(|index| &*words[index].text) {
        Some("set" | "unset" | "edit" | "rename-section" | "remove-section") => first,
        Some("get" | "list") => None,
        _ if words[at + 1..first.unwrap_or(words.len())]
            .iter()
            .any(|word| listed(reads, &word.text)) =>
        {
            None
        }
        // A pattern may become a name and a value.
        _ => words[at + 1..first.map_or(words.len(), |index| index + 1)]
            .iter()
            .position(Word::is_glob)
            .map(|index| at + 1 + index)
            .or(second),
    };
    if let Some(index) = write {
        report.hit(index, Configures, "changes git's configuration");
        let named = words[at..index]
            .iter()
            .any(|word| names_command(&word.text));
        for (word, value) in words.iter().enumerate().skip(index) {
            let (name, bang) = (&words[word - 1].text, value.text.starts_with('!'));
            if bang || named || names_command(name) {
                report.attached.push(AttachedScript {
                    word,
                    offset: usize::from(bang),
                });
            }
        }
    }
    true
}

/// Something else than the name of a remote.
fn address(text: &str) -> bool {
    text.contains([':', '/', '\\']) || text.starts_with(['.', '~'])
}

fn transport(text: &str) -> bool {
    text.contains("::") || text.contains("://")
}

/// An address whose transport is harmless.
fn web(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else {
        return text.starts_with("git@") && text.contains(':') && !text.contains("::");
    };
    matches!(scheme, "https" | "ssh") && !rest.starts_with('-') && !rest.contains("@-")
}

fn strange_strategy(name: &str) -> bool {
    !listed("ort recursive resolve octopus ours subtree", name)
}
