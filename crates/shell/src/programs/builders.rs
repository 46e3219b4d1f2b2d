//! Build tools and compilers.

use super::ProgramEffect::{Configures, Elsewhere, Reads, Runs, Sends, Writes};
use super::code::OPTIONS;
use super::engine::{
    NONE, Operand, Opt, Program, Starts, any, because, list, operand, opt, outside,
};
use super::text::at_file;
use super::{Network, ProgramReport};
use crate::word::Word;

/// Options of checkers, bundlers and test runners that load code.
const LOADS: Opt = opt(
    "--plugin: --rulesdir: --resolve-plugins-relative-to: --require: --import: --loader: \
     --globalSetup: --setupFiles: --setupFilesAfterEnv: --load-plugins: --python-executable: \
     --init-hook: --bootstrap: --load: --testRunner: --testEnvironment: --reporters:",
    Runs,
    "loads code",
    "eslint --rulesdir x src",
);
/// Their settings, which are often code.
const SETTINGS: Opt = opt(
    "--config: --rcfile: --project: --rootDir: --config-file: --config-path: --configuration:",
    Runs,
    "takes settings, and code, from there",
    "eslint --config /tmp/x src",
)
.when(unusual_settings);
/// Files that they write.
const OUTPUTS: Opt = opt(
    "-o: --output-file: --outDir: --outfile: --outdir: --output:",
    Writes,
    "writes to the given path",
    "eslint -o /tmp/x src",
)
.when(outside);
const AT_FILE: Operand = operand(0, at_file, Reads, "takes options from a file", "protoc @x").to(1);
/// They take settings, and code, from the folder of the files that they are given.
const ANOTHER_PROJECT: Operand = operand(
    0,
    outside,
    Runs,
    "is elsewhere, with settings that may be code",
    "eslint /tmp/x",
);

/// Returns `true` for goals of Maven's plugins that run programs: `exec:exec`, or any by its full
/// name.
fn names_goal(value: &str) -> bool {
    let is_short = ["exec:", "antrun:", "groovy:"]
        .iter()
        .any(|plugin| value.starts_with(plugin));
    let is_full = value.matches(':').count() >= 2 && !value.starts_with([':', '/', '@']);
    is_short || is_full
}

/// Returns `true` for options of `msbuild` that load code: `/logger:x`.
fn loads_logger(value: &str) -> bool {
    let name = value
        .strip_prefix('/')
        .and_then(|value| value.split_once(':'));
    name.is_some_and(|(name, _)| {
        ["l", "logger", "dl", "distributedlogger"]
            .iter()
            .any(|known| name.eq_ignore_ascii_case(known))
    })
}

pub(super) const BUILDERS: &[Program] = &[
    Program {
        names: list("cargo"),
        options: &[
            opt("--config: --config-file: --tool-config-file:", Configures, "sets cargo's configuration", "cargo --config a.b='c' build"),
            opt("-Z:", Configures, "switches unstable features on", "cargo test -Zx"),
            opt("-C: --manifest-path: --target-dir: --lockfile-path: --artifact-dir: --out-dir:",
                Elsewhere, "works elsewhere", "cargo build --manifest-path /x/Cargo.toml")
                .when(outside),
            opt("--open", Runs, "starts a browser", "cargo doc --open"),
            opt("--target:", Runs, "takes a target from a file", "cargo build --target ../x.json")
                .when(|value| outside(value) || value.contains(".json")),
        ],
        values: list("-p -j -F --package --jobs --features --target --profile --color --bin --example \
                 --test --bench --exclude --message-format --timings? --edition"),
        safe: "--target",
        passes: true,
        special: Some(|words, at, report| {
            if words.get(at + 1).is_some_and(|word| word.text.starts_with('+')) {
                report.hit(at + 1, Runs, "takes another toolchain");
            }
            true
        }),
        subs: &[
            Program {
                names: list("run r bench test t"),
                passes: true,
                plain: &["cargo test --lib -- --nocapture", "cargo run -- -x"],
                values: list("-p --package --features --bin --example --test"),
                ..NONE
            },
            Program {
                names: list("fmt"),
                options: &[opt("--config-path: --config:", Configures, "takes other settings",
                    "cargo fmt -- --config-path x")],
                plain: &["cargo fmt --check", "cargo fmt"],
                ..NONE
            },
        ],
        quiet: "build b check c clippy doc d tree metadata version help clean search fetch \
                verify-project locate-project pkgid generate-lockfile update --version nextest",
        other: Some(because(Runs, "fetches, publishes or runs a program of its own",
            "cargo install x")),
        plain: &["cargo build --release", "cargo clippy --all-targets -- -D warnings",
            "cargo tree -i x",
            "cargo fmt --all -- --check",
            "cargo clippy --fix --allow-dirty", "cargo check -p x"],
        ..NONE
    },
    Program {
        names: list("rustc rustdoc rustfmt"),
        signs: true,
        options: &[
            opt("-o: --out-dir: --emit:", Writes, "writes to a file", "rustc -o /x y.rs")
                .when(outside),
            opt("-C: --codegen:", Runs, "may name a program", "rustc -Clinker=x y.rs")
                .when(|value| ["linker", "link-arg", "ar=", "llvm-args"].iter()
                    .any(|name| value.starts_with(name))),
            opt("-Z: --sysroot: -L: --extern: --test-runtool: --theme: --config-path: --test-builder:",
                Runs, "loads code from elsewhere", "rustdoc --test --test-runtool=x y"),
        ],
        operands: &[operand(0, at_file, Reads, "takes options from a file", "rustc @x")],
        plain: &["rustc --version", "rustc -O x.rs", "rustfmt --check x.rs"],
        ..NONE
    },
    Program {
        names: list("go"),
        options: &[
            opt("-exec: -toolexec: -vettool: -gccgoflags: -compiler:", Runs, "starts a program",
                "go test -exec x ./..."),
            opt("-ldflags: -gcflags: -asmflags:", Runs, "passes options on to other programs",
                "go build -ldflags=x"),
            opt("-o: -coverprofile: -cpuprofile: -memprofile: -blockprofile: -mutexprofile: -trace: \
                 -outputdir: -pkgdir:", Writes, "writes to a file", "go test -cpuprofile=/x")
                .when(outside),
            opt("-modfile: -overlay: -C: -modcacherw -pgo:", Elsewhere, "reads sources from elsewhere",
                "go build -overlay=x"),
        ],
        words: true,
        values: list("-run -count -timeout -tags -p -bench -covermode -parallel -mod -skip"),
        subs: &[
            Program {
                names: list("run"),
                operands: &[operand(0, runs_foreign, Runs,
                    "runs code from elsewhere", "go run example.com/x@latest").to(1)],
                words: true,
                plain: &["go run ./cmd/x", "go run .", "go run cmd/x*.go"],
                ..NONE
            },
            Program {
                names: list("env"),
                options: &[opt("-w -u", Configures, "changes settings", "go env -w GOFLAGS=x")],
                words: true,
                ..NONE
            },
            Program {
                names: list("mod work"),
                quiet: "tidy verify graph why download vendor",
                other: Some(because(Configures, "changes what is built", "go mod edit -replace a=b")),
                words: true,
                plain: &["go mod tidy"],
                ..NONE
            },
        ],
        quiet: "build test vet fmt list version doc help clean",
        other: Some(because(Runs, "fetches or runs programs", "go generate ./...")),
        plain: &["go test ./... -run X -count=1", "go build ./...", "go env GOPATH", "go vet ./..."],
        ..NONE
    },
    Program {
        names: list("make gmake bmake remake colormake nmake"),
        options: &[
            opt("-E: --eval:", Runs, "evaluates its value", "make --ev='$(shell x)'"),
            opt("-f: --file: --makefile: -I: --include-dir:", Reads, "reads rules from the given file",
                "make -f x").program(),
            opt("-C: --directory:", Elsewhere, "works elsewhere", "make -C /tmp/x").when(outside),
            opt("-e --environment-overrides", Runs, "changes what is run", "make -e all"),
        ],
        values: list("-j? -l? -o -W -O? --jobs? --load-average? --old-file --assume-new --what-if \
                 --new-file --assume-old --output-sync?"),
        safe: "--debug --dry-run",
        operands: &[
            operand(0, assigns, Runs, "changes what is run", "make SHELL=/tmp/x all").globs(),
        ],
        settings: true,
        code: OPTIONS,
        unrestricted: true,
        opaque: true,
        plain: &["make -j4 test", "make", "make -n all", "make -C sub all", "make -kdB lint"],
        ..NONE
    },
    Program {
        names: list("just task ninja samu"),
        options: &[
            opt("-f: --justfile: -t: --taskfile: -d: --dotenv-path: --global-justfile -g", Reads,
                "reads rules from the given file", "just -f x").program(),
            opt("-C: --working-directory: --dir:", Elsewhere, "works elsewhere", "ninja -C /x")
                .when(outside),
            opt("-c: --command: --set:: --shell: --shell-arg: -e --edit --choose --chooser:", Runs,
                "changes what is run", "just --shell x y"),
        ],
        values: list("-j -l -k"),
        operands: &[
            operand(0, assigns, Runs, "changes what is run", "just a=b all").globs(),
            operand(0, outside, Runs, "is a rule from elsewhere", "just ../x"),
        ],
        plain: &["ninja -C build", "just test", "ninja -j 4"],
        ..NONE
    },
    Program {
        names: list("ctest"),
        options: &[
            opt("-S: -SP: --script: --script-new-process: --build-and-test --interactive-debug-mode:",
                Runs, "runs a script", "ctest -S x"),
            opt("-D: -T: -M: --dashboard: --extra-submit: --submit-index:", Sends,
                "sends its results to a server", "ctest -D Nightly"),
            opt("-O: --output-log: --output-junit: --build-dir: --test-dir:", Writes,
                "works elsewhere", "ctest -O /x").when(outside),
        ],
        values: list("-C -j? -R -E -L -LE -I -FA -FS -FC --parallel? --timeout --repeat --preset"),
        plain: &["ctest --output-on-failure", "ctest -C Release -j 4 -R x", "ctest --test-dir build"],
        ..NONE
    },
    Program {
        names: list("cmake cpack"),
        options: &[
            opt("-P: -E: -C: --open: --script:", Runs, "runs a script", "cmake -P x"),
            opt("--toolchain: --install:", Runs, "reads a toolchain file or installs files", "cmake --toolchain x"),
            opt("-S: -B: --build:", Elsewhere, "works elsewhere", "cmake -B /x").when(outside),
            opt("-D:", Runs, "may name a program", "cmake -DCMAKE_C_COMPILER=x .").when(names_tool),
            // After `--`, words are for the build tool.
            opt("-f: --file: --makefile: --eval: -I:", Reads, "reads rules from the given file",
                "cmake --build x -- -f y"),
        ],
        values: list("-G -T -A -j? -R -U --target --config --parallel? --preset"),
        operands: &[
            operand(0, outside, Elsewhere, "builds something elsewhere", "cmake ../x"),
            operand(0, assigns, Runs, "changes what is run", "cmake --build x -- SHELL=y").globs(),
        ],
        plain: &[
            "cmake --build build -- -j4",
            "cmake -B build -S .",
            "cmake --build build -j 4",
            "cmake -LA -N build",
            "cmake -DCMAKE_BUILD_TYPE=Release .",
        ],
        ..NONE
    },
    Program {
        names: list("gradle gradlew mvn mvnw ant sbt bazel bazelisk buck buck2 meson scons waf \
                     msbuild dotnet xcodebuild swiftc lein"),
        options: &[
            opt("-I: --init-script: --build-file: --settings-file: -s: --settings: -gs: \
                 --global-settings: -g: --gradle-user-home: --include-build:", Reads,
                "reads its rules from the given file", "gradle -I x build"),
            opt("-f: --file: -b:", Reads, "reads its rules from the given file",
                "mvn -f x.xml test").when(unusual_rules),
            opt("-p: --project-dir:", Elsewhere, "works elsewhere", "gradle -p /x build")
                .when(outside),
            opt("-D*", Configures, "changes what is run", "mvn -Dexec.executable=x test")
                .when(risky_property),
            opt("--run_under* --bazelrc* --shell_executable* --action_env* --override_* \
                 --spawn_strategy* --override-* -buildfile* -lib* --define*", Configures,
                "changes what is run", "bazel test --run_under=x //y"),
            opt("--wrapper: --gdb-path: --gdb --native-file: --cross-file:", Runs, "names a program",
                "meson test --wrap=x"),
            opt("-C:", Elsewhere, "works elsewhere", "meson test -C /x").when(outside),
            opt("-logger* -distributedlogger*", Runs, "loads code", "dotnet build -logger:x"),
        ],
        operands: &[
            operand(0, names_goal, Runs, "runs a program", "mvn test exec:exec"),
            operand(0, loads_logger, Runs, "loads code", "dotnet build /logger:x"),
        ],
        quiet: "build test check compile package verify assemble lint clean tasks dependencies \
                --version version help validate info query format restore setup install",
        other: Some(because(Runs, "runs a program or publishes", "bazel run //x")),
        plain: &[
            "gradle build",
            "./gradlew test",
            "mvn -q test -Dtest=Foo -DskipITs",
            "bazel test //...",
            "dotnet test -c Release",
        ],
        ..NONE
    },
    Program {
        signs: true,
        names: list("gcc g++ cc c++ clang clang++ cpp ld gfortran ld.gold ld.lld as tcc icc nvcc \
                     gdc ldc dmd gnat zig c99 c89"),
        options: &[
            opt("-wrapper* -B* -fplugin* -specs* --specs* -Xclang* -load* -plugin* --plugin* \
                 -fpass-plugin* --config* -dumpdir* -ccbin* -iplugindir* --sysroot*",
                Runs, "names a program or code to load", "gcc -wrapper x y.c"),
            opt("-fuse-ld*", Runs, "names a program", "clang -fuse-ld=./x y.c")
                .when(|value| value.contains('/')),
            opt("-o*", Writes, "writes elsewhere", "gcc -o /etc/x y.c").when(outside),
            opt("-Wl,* -Xlinker* -Wa,* -Wp,* -T*", Runs, "passes options on", "gcc -Wl,-plugin,x y.c"),
        ],
        operands: &[operand(0, at_file, Reads, "takes options from a file", "gcc @x")],
        words: true,
        plain: &["gcc -O2 -Wall -o x x.c", "clang -c x.c", "gcc --version"],
        ..NONE
    },
    Program {
        names: list("cppcheck"),
        options: &[
            opt("--clang* --addon* --rule-file* --exe*", Runs, "names a program or code to load",
                "cppcheck --clang=./x y.c"),
        ],
        plain: &["cppcheck --enable=all src", "cppcheck -q x.c"],
        ..NONE
    },
    Program {
        names: list("protoc prettier esbuild babel black ruff mypy pylint flake8 stylelint biome \
                     shellcheck pre-commit ava"),
        options: &[LOADS, SETTINGS, OUTPUTS],
        safe: "--load-none",
        operands: &[AT_FILE, ANOTHER_PROJECT],
        plain: &["prettier --check .", "ruff check --fix", "mypy --config-file mypy.ini src"],
        ..NONE
    },
    Program {
        names: list("eslint jest vitest webpack vite playwright cypress phpunit tslint markdownlint \
                     markdownlint-cli2"),
        options: &[
            LOADS,
            opt("-c: -C:", Runs, "takes settings, and code, from there", "eslint -c x.js src")
                .when(unusual_settings),
            opt("--parser: --resolver: --transform: --runner: --filter: --preset: --globalTeardown: \
                 --testSequencer: --snapshotSerializers: --watchPlugins: --prettierPath: \
                 --formatters-dir: --rules-dir: --environment: --reporter: --browser:", Runs,
                "loads code", "jest --resolver ./x.js").when(is_path),
            opt("-f: --format: --formatter: -s: -t:", Runs, "loads code", "eslint -f ./x.js src")
                .when(is_path),
            opt("-r: -p:", Runs, "loads code or works elsewhere", "tslint -r ./x src").when(is_path),
            SETTINGS,
            opt("--execArgv: --execArgv.*", Runs, "passes options on", "vitest --execArgv=--import=./x.js"),
            opt("--root: --dir:", Elsewhere, "works elsewhere", "vitest --root /x").when(outside),
            OUTPUTS,
        ],
        values: list("-t --testNamePattern"),
        safe: "--load-none --reporter-none",
        operands: &[AT_FILE, ANOTHER_PROJECT],
        plain: &[
            "eslint src --fix",
            "eslint -f json src",
            "jest --config jest.config.js",
            "jest -c jest.config.js -t name",
            "webpack -c webpack.config.js",
        ],
        ..NONE
    },
    Program {
        names: list("tsc"),
        options: &[
            opt("-p: --project: -b: --build: --rootDir: --typeRoots:", Runs,
                "takes settings from elsewhere", "tsc -p /tmp/x").when(outside),
            LOADS,
            OUTPUTS,
        ],
        operands: &[AT_FILE, ANOTHER_PROJECT],
        plain: &["tsc --noEmit -p tsconfig.json", "tsc -b packages/a"],
        ..NONE
    },
    Program {
        names: list("mocha rspec"),
        options: &[
            LOADS,
            opt("-r: --file: -I: --node-option: -n: --opts: --spec: --plugin:", Runs, "loads code",
                "mocha -r x.js"),
            opt("-R: --reporter: -u: --ui: -f: --format: --formatter:", Runs, "loads code",
                "mocha -R ./x.js").when(is_path),
            opt("-O: --options: -P: --package:", Runs, "takes settings, and code, from elsewhere",
                "rspec -O /tmp/x").when(outside),
            SETTINGS,
            OUTPUTS,
        ],
        operands: &[AT_FILE, ANOTHER_PROJECT],
        plain: &["mocha -c -R dot test", "rspec -c -f d spec", "rubocop -c .rubocop.yml"],
        ..NONE
    },
    Program {
        names: list("rollup rubocop"),
        options: &[
            LOADS,
            opt("-p: -r: --configPlugin:", Runs, "loads code", "rollup -p ./x.js").when(is_path),
            opt("-f: --format:", Runs, "loads code", "rubocop -f ./x.rb").when(is_path),
            SETTINGS,
            OUTPUTS,
        ],
        special: Some(settings_after_c),
        operands: &[AT_FILE, ANOTHER_PROJECT],
        plain: &["rollup -c", "rollup -c -p typescript", "rubocop -c .rubocop.yml"],
        ..NONE
    },
    Program {
        names: list("clang-tidy clang-format"),
        options: &[
            opt("-load: -plugin: -extra-arg: -extra-arg-before: -vfsoverlay:", Runs, "loads code",
                "clang-tidy -load=x y.c"),
            opt("-config-file: -p: -style: -header-filter-file:", Runs, "takes settings from elsewhere",
                "clang-tidy -p /tmp/x y.c").when(|value| outside(value.trim_start_matches("file:"))),
            opt("-export-fixes: -store-check-profile:", Writes, "writes to the given path",
                "clang-tidy -export-fixes=/tmp/x y.c").when(outside),
        ],
        values: list("-checks -config -format-style -header-filter -line-filter -warnings-as-errors \
                 -fallback-style -assume-filename -cursor -length -offset -lines -sort-includes"),
        words: true,
        passes: true,
        operands: &[AT_FILE, ANOTHER_PROJECT],
        plain: &["clang-tidy -p build x.c", "clang-format -i src/x.c", "clang-tidy x.c -- -Iinclude"],
        ..NONE
    },
    Program {
        names: list("pytest py.test javac"),
        options: &[
            opt("-p: -processorpath: -processor: --processor-path: -J*", Runs, "loads code",
                "pytest -p x").when(|value| !value.starts_with("no:")),
            opt("-c: --config-file: --rootdir: --confcutdir: -o: --override-ini:", Runs,
                "takes settings, and code, from elsewhere", "pytest -c x"),
            opt("--pdb --pdbcls: --trace", Runs, "reads commands from the terminal", "pytest --pdb"),
            opt("-W: --pythonwarnings:", Runs, "imports a module", "pytest -W error::mod.X")
                .when(imports_category),
            opt("--pastebin:", Sends, "sends the output", "pytest --pastebin=all"),
            opt("--junitxml: --junit-xml: --log-file: --basetemp: -d:", Writes, "writes to the given path",
                "pytest --junitxml=/tmp/x").when(outside),
        ],
        values: list("-k -m -n -r --tb --maxfail --durations --cov?"),
        safe: "--trace-config",
        operands: &[
            operand(0, at_file, Reads, "takes options from a file", "javac @x"),
            operand(0, outside, Runs, "is elsewhere, with code that runs first", "pytest /tmp/x"),
        ],
        plain: &["pytest -k x -q tests", "pytest -p no:cacheprovider", "javac -d out Main.java"],
        ..NONE
    },
    Program {
        names: list("phpstan psalm"),
        options: &[
            opt("-a: --autoload-file: -b: --bootstrap: --plugin: -r: --root:", Runs, "loads code",
                "phpstan analyse -a x.php src"),
            opt("-c: --configuration: --config:", Reads, "takes settings, and code, from there",
                "phpstan analyse -c x.neon src"),
        ],
        values: list("-l --level --memory-limit --error-format"),
        plain: &["phpstan analyse src -l 5", "psalm --no-cache"],
        ..NONE
    },
    Program {
        names: list("docker-compose podman-compose"),
        options: &[
            opt("-f: --file: --project-directory: --env-file:", Reads, "takes settings from there",
                "docker-compose -f x ps"),
            opt("-H: --host: -c: --context:", Sends, "connects to another machine",
                "docker-compose -H x ps"),
        ],
        before: true,
        subs: &[Program {
            names: list("exec run create"),
            operands: &[
                operand(1, any, Runs, "runs inside the container", "docker-compose exec x rm y").to(2)
                    .starts(Starts::Command),
            ],
            options: &[ENTRYPOINT],
            values: list("-e -u -w -p --env --user --workdir --name"),
            always: Some(because(Runs, "runs programs", "docker-compose run x")),
            stops: 2,
            ..NONE
        }],
        quiet: "ps ls images logs config top port version events --version help",
        other: Some(because(Runs, "runs or changes containers", "docker-compose up")),
        plain: &["docker-compose ps", "docker-compose logs -f x"],
        ..NONE
    },
    Program {
        names: list("docker podman nerdctl buildah lxc crictl"),
        options: &[
            opt("-H: --host: --context: -c: --config: --connection: --url: --root:", Sends,
                "connects to another machine", "docker -H x ps"),
            opt("--privileged -v: --volume: --mount: --pid: --net: --network: --cap-add: --device: \
                 --security-opt: --userns: --env-file: --volumes-from:", Elsewhere,
                "gives access to the host", "docker run -v /:/x y"),
        ],
        values: list("-l --log-level -f --filter --format -n --tlscacert --tlscert --tlskey"),
        subs: &[
            Program {
                names: list("exec run create"),
                operands: &[
                    operand(1, any, Runs, "runs inside the container", "docker exec x rm y").to(2)
                        .starts(Starts::Command),
                ],
                options: &[ENTRYPOINT],
                values: list("-e -u -w -p -h -l -m --env --user --workdir --name --platform"),
                always: Some(because(Runs, "runs programs", "docker run x")),
                stops: 2,
                ..NONE
            },
            Program {
                names: list("compose image container network volume system buildx context node \
                             service stack"),
                options: &[opt("-f: --file: --project-directory:", Reads, "takes settings from there",
                    "docker compose -f x ps")],
                before: true,
                subs: &[Program {
                    names: list("exec run create"),
                    operands: &[operand(1, any, Runs, "runs inside the container", "docker compose exec x rm y").to(2)
                        .starts(Starts::Command)],
                    options: &[ENTRYPOINT],
                    values: list("-e -u -w -p -h -l -m --env --user --workdir --name"),
                    always: Some(because(Runs, "runs programs", "docker container run x")),
                    stops: 2,
                    ..NONE
                }],
                quiet: "ps ls list images logs inspect config top port version df history events",
                other: Some(because(Runs, "runs or changes containers", "docker compose up")),
                plain: &["docker compose ps", "docker compose logs -f x", "docker image ls"],
                ..NONE
            },
        ],
        quiet: "ps images logs inspect version info top port stats diff history events search \
                --version help",
        other: Some(because(Runs, "runs or changes containers", "docker build .")),
        plain: &["docker ps -a", "docker logs -f x", "docker inspect x", "docker images"],
        ..NONE
    },
    Program {
        names: list("kubectl oc k3s helm kustomize minikube istioctl argocd flux terraform tofu \
                     terragrunt pulumi serverless cdk packer"),
        options: &[
            opt("--kubeconfig: --token: -s: --server: --as: --as-group: --context: --cluster: \
                 --user: --username: --password: --certificate-authority: --client-key: \
                 --client-certificate: --insecure-skip-tls-verify? --kube-context: --cache-dir:",
                Sends, "connects to another machine or as another user", "kubectl get x --as=y"),
            opt("--post-renderer: -chdir: --plugins: -plugin-dir: --registry-config:", Runs,
                "loads programs or works elsewhere", "helm template --post-renderer x y"),
            opt("-out: --output-dir: --output-directory: -state-out:", Writes, "writes to the given path",
                "terraform plan -out=x"),
            opt("--raw:", Sends, "sends a raw request to the server", "kubectl get --raw /x"),
            opt("-f: --filename: -k: --kustomize:", Sends, "reads the request from a file or URL",
                "kubectl get -f https://x").when(|value| value.contains("://")),
            opt("-o: --output:", Reads, "takes a template from a file", "kubectl get x -o jsonpath-file=/y")
                .when(|value| value.contains("-file=")),
            opt("--profile-output:", Writes, "writes a file", "kubectl get x --profile-output=y"),
            opt("--kuberc:", Configures, "takes other settings", "kubectl get x --kuberc=y"),
            opt("-var-file: --values-none:", Reads, "reads a file", "terraform plan -var-file=/x")
                .when(outside),
        ],
        values: list("-n -o -l -c -L --namespace --output --selector --container --tail --since -v --v \
                 --request-timeout --vmodule --log-flush-frequency"),
        safe: "--output -out",
        subs: &[
            Program {
                names: list("exec debug run"),
                values: list("-c -n --container --namespace --image"),
                operands: &[
                    operand(1, any, Runs, "runs in the cluster", "kubectl exec x -- rm y")
                        .to(2)
                        .starts(Starts::Command),
                ],
                stops: 2,
                always: Some(because(Runs, "runs programs there", "kubectl exec x")),
                ..NONE
            },
            Program {
            names: list("config repo rollout auth workspace state providers cluster profile"),
            quiet: "view get-contexts current-context list status history can-i show whoami \
                    get-clusters",
            other: Some(because(Configures, "changes settings", "kubectl config use-context x")),
            plain: &["kubectl config current-context", "kubectl rollout status x"],
            ..NONE
        }],
        quiet: "get describe logs top version explain api-resources api-versions cluster-info events \
                diff list status history template lint show search fmt validate plan output graph \
                --version help -version env",
        other: Some(because(Sends, "changes or accesses what runs in the cluster", "kubectl delete pod x")),
        plain: &["kubectl get pods -n x", "kubectl logs -f x", "helm list", "terraform plan",
            "kubectl describe pod x", "kubectl get pods -o yaml"],
        ..NONE
    },
    Program {
        names: list(CLOUDS),
        options: &[
            opt("--endpoint-url: --profile: --no-verify-ssl --ca-bundle: --account: --configuration: \
                 --impersonate-service-account: --access-token-file: --cli-input-json: \
                 --cli-input-yaml: --flags-file:", Sends, "connects to another server or as another user",
                "aws s3 ls --endpoint-url=x"),
        ],
        operands: &[
            operand(0, changes, Sends, "changes, sends or reveals something", "aws s3 cp x s3://y")
                .globs(),
        ],
        network: Network::CommonWord,
        plain: &["aws s3 ls", "aws ec2 describe-instances", "gcloud projects list", "aws --version",
            "aws sts get-caller-identity"],
        ..NONE
    },
];

/// The programs of clouds.
pub(super) const CLOUDS: &str = "aws gcloud az gsutil doctl heroku flyctl fly vercel netlify wrangler \
                                 firebase supabase linode-cli oci ibmcloud";

/// A word that begins with a verb that does not only look.
fn changes(word: &str) -> bool {
    let verb = word.split(['-', ':']).next().unwrap_or(word);
    super::engine::listed(
        "cp mv rm sync mb rb create delete put update modify run start stop terminate reboot \
         attach detach set unset add remove deploy submit ssh scp exec invoke publish send import \
         export upload download copy configure login logout configure assume apply edit enable \
         disable reset restore revoke grant associate disassociate authorize register deregister \
         tag untag cancel execute copy replace rotate rsync cat presign",
        verb,
    ) || listed_secrets(word)
}

fn listed_secrets(word: &str) -> bool {
    [
        "get-secret",
        "print-access-token",
        "print-identity-token",
        "get-session-token",
        "get-password",
        "get-login",
        "get-access-token",
        "get-federation-token",
        "get-authorization-token",
        "get-parameter",
        "keyvault",
        "secrets",
    ]
    .iter()
    .any(|name| word.starts_with(name))
}

/// Settings from elsewhere, or from a file of code that is not named like a file of settings.
fn unusual_settings(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let is_code = [
        ".js", ".cjs", ".mjs", ".jsx", ".ts", ".cts", ".mts", ".tsx", ".py", ".rb", ".php",
    ]
    .iter()
    .any(|ending| name.ends_with(ending));
    let is_named = name.contains("config") || name.contains("rc.");
    outside(path) || (is_code || !name.contains('.')) && !is_named
}

/// Judges the file after `-c`, which may be missing: `rollup -c`.
fn settings_after_c(words: &[Word], at: usize, report: &mut ProgramReport) -> bool {
    for (index, word) in words.iter().enumerate().skip(at + 1) {
        let Some(attached) = word.text.strip_prefix("-c") else {
            continue;
        };
        let next = words.get(index + 1).map(|word| &*word.text);
        let next = next.filter(|next| !next.starts_with('-'));
        let value = Some(attached).filter(|value| !value.is_empty()).or(next);
        if value.is_some_and(unusual_settings) {
            report.hit(index, Runs, "takes settings, and code, from there");
        }
    }
    true
}

/// A path, not the name of something built in or installed.
fn is_path(value: &str) -> bool {
    value.contains(['/', '.', '\\'])
}

/// A module from elsewhere, or a pattern that may become its name: `x*` may be `x.org@latest`.
fn runs_foreign(path: &str) -> bool {
    path.contains('@')
        || outside(path)
        || path.contains(['*', '?']) && path.strip_suffix(".go").is_none()
}

/// make takes any word with `=` in it for an assignment.
fn assigns(word: &str) -> bool {
    word.contains('=')
}

/// A variable of cmake that names a program or a script.
fn names_tool(value: &str) -> bool {
    let tools =
        "COMPILER LAUNCHER PROGRAM LINKER TOOLCHAIN SCRIPT EXECUTABLE COMMAND PREFIX INCLUDE";
    tools.split(' ').any(|tool| value.contains(tool))
}

/// A property of the Java tools that reaches further than one's own build.
fn risky_property(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    "exec path agent argline jvm config script init launcher url repo settings extension plugin java. \
     file dir command"
        .split_ascii_whitespace()
        .any(|part| lower.split('=').next().is_some_and(|name| name.contains(part)))
}

/// The program that runs instead of the one that the image names.
const ENTRYPOINT: Opt = opt(
    "--entrypoint:",
    Runs,
    "is the program that runs",
    "docker run --entrypoint rm x y",
)
.starts(Starts::Script);

/// Returns `true` for a file of rules with an unusual name, or elsewhere.
fn unusual_rules(value: &str) -> bool {
    let name = value.rsplit('/').next().unwrap_or(value);
    let is_framework = name.starts_with("net") && !value.contains('/');
    let is_usual = matches!(
        name,
        "pom.xml" | "build.gradle" | "build.gradle.kts" | "build.xml"
    );
    outside(value) || !is_usual && !is_framework
}

/// Returns `true` for a filter of warnings whose category is in a module, which Python imports.
pub(super) fn imports_category(filter: &str) -> bool {
    let category = filter.split(':').nth(2).unwrap_or_default();
    category.contains('.') && !category.starts_with("pytest.")
}
