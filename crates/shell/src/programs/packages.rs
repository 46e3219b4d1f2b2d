//! Package managers: building and testing is quiet, fetching and publishing is not.

use super::Network;
use super::ProgramEffect::{Configures, Elsewhere, Reads, Runs, Sends, Writes};
use super::code::{WRAPPER, interpreter, wrapper};
use super::engine::{
    NONE, Program, Starts, any, because, is_input, list, listed, look, operand, opt, outside,
};
use crate::word::Word;

/// A program that fetches, runs or changes packages; its first operand says what.
const FETCHER: Program = Program {
    operands: &[operand(
        0,
        any,
        Runs,
        "fetches, runs or changes something",
        "npx cowsay",
    )
    .to(1)
    .starts(Starts::Command)],
    options: &[opt(
        "-c: --call: --with: --from: --spec: -p: --package:",
        Runs,
        "names what is fetched",
        "npx -p x y",
    )
    .starts(Starts::Script)],
    // `poetry run rm x`
    special: Some(|words, at, report| {
        let runs = |word: &Word| listed("run exec r", &word.text);
        if let Some(run) = words.iter().skip(at + 1).take(6).position(runs) {
            let rest = words.iter().enumerate().skip(at + run + 2);
            // `rustup run stable rm x`: the first may be a version.
            let programs = rest.filter(|(_, word)| !word.text.starts_with('-'));
            for (index, _) in programs.take(2) {
                report.starts.push(index);
                look(words, index, 1, report);
            }
        }
        true
    }),
    stops: 1,
    ..NONE
};

pub(super) const PACKAGES: &[Program] = &[
    Program {
        names: list("npm pnpm yarn yarnpkg cnpm"),
        options: &[
            opt(
                "--script-shell: --shell: --node-options: --git: --editor: --viewer: --browser: \
                 --init-module: --onload-script: --use-node-version:",
                Runs,
                "names a program",
                "npm test --script-shell=x",
            ),
            opt(
                "--config.*",
                Configures,
                "sets pnpm's configuration",
                "pnpm test --config.script-shell=x",
            ),
            opt(
                "--prefix: -C: --dir: --cwd:",
                Elsewhere,
                "works elsewhere",
                "npm --prefix /x test",
            )
            .when(outside),
            opt(
                "-g --global --location: --globalconfig: --userconfig: --use-yarnrc:",
                Configures,
                "acts beyond this folder",
                "npm ls -g",
            ),
            opt(
                "--registry: --proxy: --https-proxy: --cafile: --ca: --strict-ssl?",
                Sends,
                "connects to another server",
                "npm ci --registry=x",
            ),
        ],
        values: list(
            "-w --workspace --loglevel --filter -F --tag --otp --access --depth --omit --include \
                      --cache --scope --before --message",
        ),
        safe: "--git-tag-version",
        subs: &[
            Program {
                names: list("install i in ins add update up upgrade isntall"),
                operands: &[operand(
                    0,
                    any,
                    Runs,
                    "fetches and runs a package",
                    "npm i left-pad",
                )],
                plain: &[
                    "npm install",
                    "pnpm install --frozen-lockfile",
                    "yarn install",
                ],
                ..NONE
            },
            Program {
                names: list("config c pkg cache audit view info show"),
                subs: &[Program {
                    names: list("set delete edit fix add clean unset rm import"),
                    always: Some(because(
                        Configures,
                        "changes settings",
                        "npm config set a=b",
                    )),
                    ..NONE
                }],
                plain: &[
                    "npm config get registry",
                    "npm audit",
                    "npm view react version",
                ],
                ..NONE
            },
            Program {
                names: list("pack"),
                options: &[opt(
                    "--pack-destination: --out:",
                    Writes,
                    "writes to the given path",
                    "npm pack --pack-destination=/x",
                )
                .when(outside)],
                operands: &[operand(
                    0,
                    |text| text.contains(':') || outside(text),
                    Sends,
                    "is packed from elsewhere",
                    "npm pack https://x",
                )
                .globs()],
                plain: &["npm pack", "npm pack ./sub --dry-run"],
                ..NONE
            },
            Program {
                names: list("version"),
                operands: &[operand(
                    0,
                    any,
                    Writes,
                    "changes and tags it",
                    "npm version patch",
                )],
                plain: &["npm version"],
                ..NONE
            },
            Program {
                names: list("exec dlx create init explore innit"),
                operands: &[
                    operand(0, any, Runs, "is a package or program to run", "npm exec x")
                        .to(1)
                        .starts(Starts::Command),
                ],
                options: &[
                    opt("-c: --call:", Runs, "runs its value", "npm exec -c 'rm x'")
                        .starts(Starts::Script),
                ],
                always: Some(because(Runs, "runs another program", "pnpm dlx x")),
                stops: 1,
                ..NONE
            },
            Program {
                names: list("run run-script test t start stop restart"),
                passes: true,
                plain: &["npm run build", "npm test -- --watch -g x", "yarn run lint"],
                ..NONE
            },
        ],
        quiet: "ci ls list outdated why explain fund root prefix bin help ping doctor prune dedupe \
                lint build test dev format typecheck check query search licenses",
        other: Some(because(
            Runs,
            "runs a program, publishes or changes settings",
            "npm publish",
        )),
        plain: &[
            "npm ci",
            "npm ls --depth 0",
            "yarn",
            "yarn build",
            "npm --version",
        ],
        ..NONE
    },
    Program {
        names: list("bun"),
        options: &[
            opt(
                "-e: --eval: -p: --print: -r: --preload: --require: --import: --shell:",
                Runs,
                "runs or loads code",
                "bun -e x",
            ),
            opt(
                "--cwd: -c: --config: --env-file: --registry: -g --global",
                Configures,
                "takes other settings",
                "bun --cwd /x test",
            ),
        ],
        operands: &[operand(
            0,
            is_input,
            Runs,
            "runs code from its input",
            "bun run -",
        )],
        quiet: "run test build pm outdated install --version",
        code: interpreter("ep", &["--eval", "--print"], "r"),
        opaque: true,
        other: Some(because(Runs, "fetches or runs a package", "bun x cowsay")),
        plain: &["bun test", "bun run build"],
        ..NONE
    },
    Program {
        names: list(
            "pnpx pipx corepack nx lerna turbo rush volta nvm fnm n poetry pipenv pdm hatch rye tox \
             nox bundle bundler rake gem composer cpan cpanm luarocks mix rebar3 opam pixi \
             rustup sdk jenv rbenv pyenv",
        ),
        plain: &["rustup --version"],
        ..FETCHER
    },
    Program {
        names: list("cabal"),
        options: &[opt(
            "-w: --with-compiler: --with-hc-pkg: --with-ghc: --with-gcc: --with-ld: --project-file: \
             --test-wrapper: --builddir:",
            Runs,
            "names a program or settings",
            "cabal test -w x",
        )],
        // Options after the subcommand count, too.
        stops: 0,
        ..FETCHER
    },
    Program {
        names: list("npx"),
        code: wrapper("pc", 0),
        plain: &["npx --version"],
        ..FETCHER
    },
    Program {
        names: list("bunx uvx"),
        code: WRAPPER,
        ..FETCHER
    },
    Program {
        names: list("pip pipdeptree easy_install conda-env"),
        options: &[
            opt(
                "-i: --index-url: --extra-index-url: -f: --find-links: --proxy: --trusted-host: \
                 --cert:",
                Sends,
                "connects to another server",
                "pip list -i x",
            ),
            opt(
                "--python: --log: --cache-dir: --isolated-none:",
                Runs,
                "names a program or file",
                "pip --python x list",
            ),
        ],
        subs: &[Program {
            names: list("config cache"),
            quiet: "list get debug dir info",
            other: Some(because(
                Configures,
                "changes settings",
                "pip config set a b",
            )),
            ..NONE
        }],
        quiet: "list show freeze check help debug inspect --version",
        other: Some(because(
            Runs,
            "fetches packages and runs their code",
            "pip install x",
        )),
        plain: &["pip list --outdated", "pip3 show requests", "pip freeze"],
        ..NONE
    },
    Program {
        names: list("uv"),
        options: &[opt(
            "--index-url: --index: --default-index: --extra-index-url: --config-file: --python: \
                 -p: --project: --directory:",
            Configures,
            "takes other settings",
            "uv tree --index-url x",
        )],
        subs: &[
            Program {
                names: list("run"),
                operands: &[
                    operand(0, any, Runs, "is a program to run", "uv run pytest")
                        .to(1)
                        .starts(Starts::Command),
                ],
                options: &[opt(
                    "--with: --with-requirements: --with-editable: -m: --module: --script: -s:",
                    Runs,
                    "fetches or runs code",
                    "uv run --with x y",
                )],
                stops: 1,
                ..NONE
            },
            Program {
                names: list("pip"),
                quiet: "list show freeze check tree",
                other: Some(because(Runs, "fetches packages", "uv pip install x")),
                plain: &["uv pip list"],
                ..NONE
            },
        ],
        quiet: "tree lock version help",
        other: Some(because(
            Runs,
            "fetches packages and runs their code",
            "uv add x",
        )),
        plain: &["uv tree", "uv --version"],
        ..NONE
    },
    Program {
        names: list(
            "apt apt-get apt-cache dnf yum zypper pacman apk brew snap flatpak port \
                     choco winget scoop emerge nala aptitude",
        ),
        options: &[
            opt(
                "-o: --option: -c: --config-file: --setopt: --config: --hookdir: --repofrompath:",
                Runs,
                "sets options that run programs",
                "apt -o x=y list",
            ),
            opt(
                "-S* -R* -U* -Q* -F* -D* -T*",
                Runs,
                "changes packages",
                "pacman -Syu",
            ),
        ],
        quiet: "list show search info policy depends rdepends madison showpkg leaves outdated deps \
                doctor --version help provides repolist",
        other: Some(because(
            Configures,
            "changes the system's packages",
            "apt install x",
        )),
        plain: &["apt list --installed", "apt-cache policy git", "brew list"],
        ..NONE
    },
    Program {
        names: list("dpkg rpm dpkg-deb rpm2cpio alien debconf"),
        options: &[
            opt(
                "-i --install -r --remove -P --purge --unpack --configure --set-selections \
                 --force-all --root: --instdir: --admindir: --path-*",
                Configures,
                "changes the system's packages",
                "dpkg -i x.deb",
            ),
            opt(
                "--pre-invoke: --post-invoke: --status-logger:",
                Runs,
                "runs its value",
                "dpkg --pre-invoke='rm x' -i x.deb",
            )
            .starts(Starts::Script),
            opt(
                "-U --upgrade -e --erase --import --initdb --rebuilddb -E: --eval: --pipe: \
                 -D: --define: --load: --rcfile: --macros:",
                Runs,
                "changes or runs something",
                "rpm --eval '%(x)'",
            ),
            opt(
                "-x --extract -X --vextract -b --build --fsys-tarfile -R --raw-extract",
                Writes,
                "writes files",
                "dpkg-deb -x a b",
            ),
        ],
        safe: "--info --list --status --search",
        plain: &["dpkg -l", "dpkg -L git", "rpm -qa", "dpkg -s git"],
        ..NONE
    },
    Program {
        names: list("gh glab hub"),
        options: &[
            opt(
                "--hostname:",
                Sends,
                "connects to another server",
                "gh pr list --hostname x",
            ),
            opt("-w --web", Runs, "starts a browser", "gh pr view -w"),
        ],
        values: list(
            "-R --repo -L --limit -q --jq -t! --template --json -s --state -l --label -a -A -B \
                 -b! --body! --title! -H -S --search --author --assignee --base --head --branch -e -u",
        ),
        subs: &[
            Program {
                names: list(
                    "pr issue repo release run workflow label gist search ruleset cache \
                             project org mr ci",
                ),
                quiet: "view list diff status checks watch prs issues repos commits code \
                        field-list item-list",
                other: Some(because(
                    Sends,
                    "changes something that others see",
                    "gh pr create",
                )),
                plain: &[
                    "gh pr list --state open",
                    "gh pr view 12 --json title",
                    "gh run list",
                ],
                ..NONE
            },
            Program {
                names: list("api"),
                options: &[
                    opt(
                        "-X: --method:",
                        Sends,
                        "may change something",
                        "gh api -X POST x",
                    )
                    .when(|method| !method.eq_ignore_ascii_case("get")),
                    opt(
                        "-f: --raw-field: -F: --field: --input:",
                        Sends,
                        "sends data",
                        "gh api x -f a=b",
                    ),
                    opt(
                        "-H: --header:",
                        Sends,
                        "sends more than a query",
                        "gh api -H x y",
                    ),
                ],
                operands: &[operand(
                    0,
                    |path| path.contains("://"),
                    Sends,
                    "is another server",
                    "gh api https://x",
                )],
                plain: &["gh api repos/a/b/pulls", "gh api -X GET x --paginate"],
                ..NONE
            },
            Program {
                names: list("auth"),
                options: &[opt(
                    "-t --show-token",
                    Reads,
                    "prints a secret",
                    "gh auth status -t",
                )],
                quiet: "status",
                other: Some(because(Reads, "handles secrets", "gh auth token")),
                plain: &["gh auth status"],
                ..NONE
            },
        ],
        quiet: "status help version --version",
        other: Some(because(
            Runs,
            "runs an extension or changes settings",
            "gh alias set x y",
        )),
        network: Network::Yes,
        plain: &["gh --version"],
        ..NONE
    },
];
