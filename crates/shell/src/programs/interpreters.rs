//! Interpreters: a script file is what they are for, code on the command line is not.

use super::ProgramEffect::{Configures, Reads, Runs, Sends, Writes};
use super::builders::imports_category;
use super::code::{Code, interpreter};
use super::engine::{
    NONE, Opt, Program, Reason, Starts, because, is_input, list, listed, may_be, operand, opt,
    outside,
};
use super::{Changes, Network};

/// Code comes from somewhere else than a named file.
const STDIN: Reason = because(Runs, "runs code from its input", "python3");

/// Options of database shells.
const DATABASE: &[Opt] = &[
    opt(
        "-c: --command: -e: --execute: -cmd: --eval: -q: --query:",
        Runs,
        "runs its value",
        "psql -c 'copy x to program y'",
    )
    .starts(Starts::Script),
    opt(
        "-f: --file: -init: -i: --init-command: --init-file: --queries-file: \
                 --pipe",
        Reads,
        "runs commands from a file",
        "psql -f x",
    )
    .program(),
    opt(
        "-o: --output: -L: --log-file: --tee: -A: --rdb: --functions-rdb:",
        Writes,
        "writes to a file",
        "psql -o x",
    ),
    opt(
        "-h: --host: -u: --url: --endpoints:",
        Sends,
        "connects to another machine",
        "psql -h x",
    ),
    opt("--pager:", Runs, "starts a program", "mysql --pager=x"),
];

/// Modules of Python that take their operands for code, or run them.
pub(super) const RUNNING_MODULES: &str = "cProfile code coverage debugpy doctest ipython IPython \
     memory_profiler pdb profile pyinstrument runpy scalene site timeit trace unittest viztracer";

pub(super) const INTERPRETERS: &[Program] = &[
    Program {
        names: list(
            "python python2 python3 pypy python-dbg pythonw py ipython bpython jython micropython \
                     graalpy",
        ),
        options: &[
            opt("-c:", Runs, "runs its value as code", "python3 -c 'x'"),
            opt(
                "-i --interactive",
                Runs,
                "reads code from its input",
                "python3 -i x.py",
            ),
            opt(
                "-m:",
                Runs,
                "is a module that runs as a program",
                "python3 -m http.server",
            )
            .starts(Starts::Module),
            opt(
                "-X:",
                Runs,
                "changes how code is loaded",
                "python -Xpresite=a b",
            )
            .when(|value| value.contains("presite") || value.contains("prefix")),
            opt(
                "-W:",
                Runs,
                "imports a module",
                "python3 -W error::mod.X x.py",
            )
            .when(imports_category),
        ],
        values: list("--check-hash-based-pycs"),
        safe: "-V -VV -h",
        flags: "-b -B -d -E -I -O -P -q -R -s -S -t -u -v -x",
        operands: &[operand(
            0,
            stdin,
            Runs,
            "runs code from its input",
            "python3 -",
        )],
        stops: 1,
        script: true,
        bare: Some(STDIN),
        code: interpreter("c", &[], "WX"),
        argument: Some(("-c", "sys.argv[-1]")),
        opaque: true,
        plain: &[
            "python3 script.py -c x",
            "python script.py",
            "python3.11 -u a.py -m b",
            "python3 /srv/x/fd/a.py",
            "python --version",
            "python3 -V",
        ],
        ..NONE
    },
    Program {
        names: list("node nodejs iojs electron"),
        underscores: true,
        options: &[
            opt(
                "-e: --eval: -p? --print?",
                Runs,
                "runs its value as code",
                "node -pe x",
            ),
            opt(
                "-r: --require: --import: --loader: --experimental-loader: --env-file: \
                 --env-file-if-exists: --experimental-config-file: --openssl-config: --run: \
                 --snapshot-blob: --test-reporter: --build-snapshot-config:",
                Runs,
                "loads code or settings from a file",
                "node --import=x y.js",
            ),
            opt(
                "-i --interactive",
                Runs,
                "reads code from its input",
                "node -i",
            ),
            opt(
                "--inspect? --inspect-brk? --inspect-wait? --inspect-port?",
                Sends,
                "accepts a debugger",
                "node --inspect x.js",
            ),
            opt(
                "--cpu-prof --heap-prof --cpu-prof-name: --cpu-prof-dir: --heap-prof-name: \
                 --heap-prof-dir: --test-reporter-destination: --prof --redirect-warnings: --trace-event-file-pattern: \
                 --diagnostic-dir: --report-dir: --build-snapshot",
                Writes,
                "writes files",
                "node --cpu-prof x.js",
            ),
        ],
        values: list(
            "-C --conditions --stack-trace-limit --max-old-space-size? --test-name-pattern",
        ),
        safe: "-v -h --env --print-none --test --watch --experimental-strip-types",
        flags: "-c --check --no-warnings --no-deprecation --trace-warnings --trace-deprecation \
                --trace-uncaught --enable-source-maps --expose-gc --throw-deprecation \
                --pending-deprecation --preserve-symlinks --use-strict --harmony \
                --experimental-vm-modules --experimental-modules --no-addons --frozen-intrinsics",
        operands: &[operand(
            0,
            |text| stdin(text) || may_be(text, "inspect"),
            Runs,
            "runs code from its input",
            "node -",
        )],
        stops: 1,
        script: true,
        bare: Some(because(Runs, "runs code from its input", "node")),
        code: interpreter("ep", &["--eval", "--print"], "r"),
        argument: Some(("-e", "process.argv.at(-1)")),
        opaque: true,
        plain: &[
            "node x.js -e y",
            "node --test a.js",
            "node --version",
            "node --check x.js",
        ],
        ..NONE
    },
    Program {
        names: list("deno"),
        options: &[
            opt(
                "-A --allow-all --allow-run? --allow-ffi? --allow-env? --allow-net? --allow-sys? \
                 --allow-read? --allow-write? -R? -W? -N? -E?",
                Runs,
                "removes its restrictions",
                "deno run -A x.ts",
            ),
            opt(
                "--preload: --import-map: --inspect? -c: --config: --env-file?",
                Runs,
                "loads code or settings",
                "deno test --preload x",
            ),
        ],
        operands: &[operand(
            0,
            stdin,
            Runs,
            "runs code from its input",
            "deno run -",
        )],
        quiet: "test fmt lint check doc info bench run task --version help",
        other: Some(because(Runs, "runs code or installs", "deno eval x")),
        bare: Some(because(Runs, "runs code from its input", "deno")),
        code: Code::Everything,
        opaque: true,
        plain: &["deno test src", "deno fmt", "deno run x.ts"],
        ..NONE
    },
    Program {
        names: list("ruby jruby truffleruby irb rbx mruby crystal"),
        opens: true,
        options: &[
            opt("-e:", Runs, "runs its value as code", "ruby -ne x"),
            opt(
                "-r: -I: -S -s -x? -C: -X:",
                Runs,
                "loads code from elsewhere",
                "ruby -rx y.rb",
            ),
            opt("-i?", Writes, "edits files in place", "ruby -i.bak x.rb y"),
            opt("-n -p", Runs, "runs code for each line", "ruby -n x.rb"),
        ],
        values: list("-E -F?"),
        safe: "-v -h",
        flags: "-a -c -l -w -y -W",
        operands: &[operand(
            0,
            stdin,
            Runs,
            "runs code from its input",
            "ruby -",
        )],
        stops: 1,
        script: true,
        bare: Some(because(Runs, "runs code from its input", "ruby")),
        code: interpreter("e", &[], "rI"),
        argument: Some(("-e", "ARGV[0]")),
        opaque: true,
        plain: &[
            "ruby x.rb -e y",
            "ruby -w x.rb",
            "ruby -v",
            "ruby --version",
        ],
        ..NONE
    },
    Program {
        names: list("perl raku rakudo"),
        // `perl -ne print 'rm x|'`
        special: Some(|words, at, report| {
            for (index, word) in words.iter().enumerate().skip(at + 1) {
                let text = word.text.trim();
                let before = &*words[index - 1].text;
                let is_operand =
                    !text.starts_with('-') && (before == "--" || !before.starts_with('-'));
                if is_operand && (text.ends_with('|') || text.starts_with(['|', '>'])) {
                    report.hit(index, Runs, "may be a command that it opens");
                }
            }
            true
        }),
        opens: true,
        options: &[
            opt("-e: -E:", Runs, "runs its value as code", "perl -ne x"),
            opt(
                "-M: -m: -I: -d? -x? -S -s -D? -C?",
                Runs,
                "loads code from elsewhere",
                "perl -Mx y.pl",
            ),
            opt("-i?", Writes, "edits files in place", "perl -i.bak x.pl y"),
            opt("-n -p", Runs, "runs code for each line", "perl -n x.pl"),
        ],
        values: list("-F?"),
        safe: "-v -V -h",
        flags: "-a -c -f -g -l -t -T -u -U -w -W -X",
        operands: &[operand(
            0,
            stdin,
            Runs,
            "runs code from its input",
            "perl -",
        )],
        stops: 1,
        script: true,
        bare: Some(because(Runs, "runs code from its input", "perl")),
        code: interpreter("eE", &[], "I"),
        argument: Some(("-e", "$ARGV[0]")),
        opaque: true,
        changes: Changes::InPlace,
        plain: &["perl x.pl -e y", "perl -w x.pl", "perl -c x.pl", "perl -v"],
        ..NONE
    },
    Program {
        names: list("php hhvm php-cgi"),
        options: &[
            opt(
                "-r: --run: -B: --process-begin: -R: --process-code: -E: --process-end:",
                Runs,
                "runs its value as code",
                "php -r x",
            ),
            opt(
                "-F: --process-file: -a --interactive",
                Runs,
                "runs code",
                "php -a",
            ),
            opt(
                "-d: --define: -c: --php-ini: -z: --zend-extension:",
                Runs,
                "changes its settings",
                "php -d auto_prepend_file=x y.php",
            ),
            opt(
                "-S: --server: -t: --docroot:",
                Sends,
                "accepts connections",
                "php -S 0:80",
            ),
        ],
        safe: "-v -i -m -h",
        flags: "-C -e -f -l -n -q -s -w -H",
        operands: &[operand(0, stdin, Runs, "runs code from its input", "php -")],
        stops: 1,
        script: true,
        bare: Some(because(Runs, "runs code from its input", "php")),
        code: interpreter("rBRE", &["--run"], "d"),
        argument: Some(("-r", "$argv[1]")),
        opaque: true,
        plain: &["php x.php -r y", "php -l x.php", "php -v", "php -f x.php"],
        ..NONE
    },
    Program {
        names: list(
            "lua luajit luau Rscript rscript R littler julia elixir iex erl escript ghc ghci \
                     runghc runhaskell scala amm groovy kotlin kotlinc clojure clj bb \
                     guile sbcl clisp ecl racket csi octave matlab swift \
                     jshell ocaml utop dotnet-script gawk-shell qjs mujs d8 janet fennel gst \
                     swipl gprolog maxima gap sage bc gdl idl jq-repl",
        ),
        options: &[
            opt(
                "-e: -E: --eval: --print: --expr: --expression: -eval: --execute: -x: --run: -g: -s",
                Runs,
                "runs its value as code",
                "lua -e x",
            ),
            opt(
                "-l: -L: --load: -r: --require: -pa: -pz: --init-file: -S: --rpc-eval:",
                Runs,
                "loads code from elsewhere",
                "lua -l x y.lua",
            ),
            opt(
                "-i --interactive",
                Runs,
                "reads code from its input",
                "lua -i x",
            ),
        ],
        safe: "-v -h",
        operands: &[operand(0, stdin, Runs, "runs code from its input", "lua -")],
        stops: 1,
        script: true,
        bare: Some(because(Runs, "runs code from its input", "lua")),
        code: interpreter(
            "eEL",
            &[
                "--eval",
                "--print",
                "--expr",
                "--expression",
                "-eval",
                "--execute",
                "--run",
            ],
            "lp",
        ),
        opaque: true,
        plain: &["lua x.lua -e y", "Rscript x.R", "julia x.jl", "lua -v"],
        ..NONE
    },
    Program {
        names: list("stack"),
        options: &[
            opt(
                "--exec: -w: --with-gcc: --test-wrapper:",
                Runs,
                "names a program",
                "stack test --exec x",
            )
            .starts(Starts::Script),
            opt(
                "--stack-yaml: --ghc-options: --docker-run-args: --setup-info-yaml: --global-hints-location:",
                Runs,
                "takes settings, and code, from there",
                "stack build --stack-yaml x",
            ),
        ],
        quiet: "build test bench haddock clean path ls query dot templates --version",
        other: Some(because(Runs, "fetches or runs programs", "stack runghc x")),
        code: Code::Everything,
        opaque: true,
        plain: &["stack test", "stack build --fast"],
        ..NONE
    },
    Program {
        names: list("osascript"),
        options: &[
            opt(
                "-e:",
                Runs,
                "runs its value as code",
                "osascript -e 'do shell script \"x\"'",
            ),
            opt("-i", Runs, "reads code from its input", "osascript -i"),
            opt("-l:", Runs, "chooses the language", "osascript -l x y"),
        ],
        operands: &[operand(0, stdin, Runs, "runs code from its input", "osascript -").globs()],
        stops: 1,
        script: true,
        bare: Some(because(Runs, "runs code from its input", "osascript")),
        code: Code::Everything,
        opaque: true,
        ..NONE
    },
    Program {
        names: list("tclsh wish"),
        // No option of theirs only informs: what begins with a dash is no script.
        special: Some(|words, at, report| {
            if words
                .get(at + 1)
                .is_none_or(|word| word.text.starts_with('-'))
            {
                report.hit(words.len(), Runs, "runs code from its input");
            }
            true
        }),
        operands: &[operand(
            0,
            stdin,
            Runs,
            "runs code from its input",
            "tclsh /dev/stdin",
        )],
        stops: 1,
        script: true,
        code: interpreter("", &[], ""),
        opaque: true,
        plain: &["tclsh x.tcl -h"],
        ..NONE
    },
    Program {
        names: list("java javaw"),
        signs: true,
        options: &[
            opt(
                "-javaagent* -agentlib* -agentpath* -Xrun* -XX:OnError* -XX:OnOutOfMemoryError* \
                 -Xbootclasspath* -XX:Flags* -XX:VMOptionsFile*",
                Runs,
                "loads code or runs programs",
                "java -javaagent:x -jar y.jar",
            ),
            opt(
                "-jar: -m: --module:",
                Runs,
                "runs code from there",
                "java -jar /tmp/x.jar",
            )
            .when(outside)
            .starts(Starts::Module),
            opt(
                "-cp: -classpath: --class-path: -p: --module-path:",
                Runs,
                "runs code from there",
                "java -cp /tmp/x y",
            )
            .when(outside),
            opt(
                "-Xlog* -Xloggc* -XX:HeapDumpPath* -XX:LogFile*",
                Writes,
                "writes files",
                "java -Xlog:gc:file=x -jar y",
            ),
        ],
        operands: &[operand(
            0,
            |text| text.starts_with('@'),
            Reads,
            "takes options from a file",
            "java @x",
        )],
        words: true,
        stops: 1,
        script: true,
        opaque: true,
        plain: &[
            "java -version",
            "java -jar build/x.jar",
            "java -cp out Main",
        ],
        ..NONE
    },
    Program {
        names: list(
            "psql mysql mariadb mongo mongosh clickhouse-client cqlsh sqlplus isql sqlcmd usql \
                     pgcli mycli",
        ),
        options: DATABASE,
        operands: &[operand(
            0,
            script,
            Runs,
            "is a command of its own language",
            "psql x '\\! ls'",
        )
        .globs()],
        bare: Some(because(Runs, "reads commands from its input", "psql mydb")),
        least: usize::MAX,
        code: Code::Everything,
        opaque: true,
        database: true,
        plain: &["psql -l mydb", "psql --version"],
        safe: "-l --list -V",
        ..NONE
    },
    Program {
        names: list("redis-cli clickhouse bq influx etcdctl"),
        options: DATABASE,
        operands: &[operand(
            0,
            script,
            Runs,
            "does more than read and write data",
            "redis-cli eval x",
        )
        .globs()],
        bare: Some(because(Runs, "reads commands", "redis-cli")),
        opaque: true,
        network: Network::Yes,
        plain: &["redis-cli get x", "etcdctl get x"],
        ..NONE
    },
    Program {
        names: list("sqlite3 sqlite duckdb litecli"),
        options: &[
            opt(
                "-cmd: -c: -s: --execute: -e:",
                Runs,
                "runs its value",
                "sqlite3 -cmd x y z",
            )
            .starts(Starts::Script),
            opt(
                "-init: -f: -file: -A*",
                Reads,
                "runs commands from a file",
                "sqlite3 -init x y z",
            )
            .program(),
            opt(
                "-interactive",
                Runs,
                "reads commands from its input",
                "sqlite3 -interactive x y",
            ),
            opt(
                "-unsafe-testing -unsigned -ui -vfs: -append -zip",
                Configures,
                "changes what it may do",
                "sqlite3 -vfs x y z",
            ),
        ],
        values: list(
            "-separator! -newline! -nullvalue! -maxsize -mmap -heap -pagecache: -lookaside:",
        ),
        operands: &[
            operand(
                0,
                script,
                Runs,
                "is a command of its own language",
                "sqlite3 x '.shell ls'",
            )
            .globs(),
            operand(
                1,
                dot_command,
                Runs,
                "is a command of its own language",
                "sqlite3 x '.sh ls'",
            ),
        ],
        words: true,
        bare: Some(because(
            Runs,
            "reads commands from its input",
            "sqlite3 x.db",
        )),
        least: 2,
        code: Code::Everything,
        opaque: true,
        database: true,
        safe: "-V",
        plain: &[
            "sqlite3 x.db 'select 1'",
            "sqlite3 x.db .tables",
            "sqlite3 -header -csv ./x.db '.schema a'",
            "sqlite3 --version",
        ],
        ..NONE
    },
];

fn stdin(text: &str) -> bool {
    is_input(text) || text.contains("://")
}

/// Commands of database shells that reach beyond the database.
fn script(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let lower = lower.split_ascii_whitespace().collect::<Vec<_>>().join(" ") + " ";
    [
        "\\!",
        "\\copy",
        "\\o",
        "\\i",
        "\\w",
        "\\g",
        "\\e",
        "program",
        "load_extension",
        "readfile",
        "writefile",
        "edit(",
        "fts3_tokenizer",
        "outfile",
        "dumpfile",
        "load_file",
        "load data",
        "attach",
        "copy ",
        "copy(",
        "copy/",
        "pg_read",
        "lo_import",
        "lo_export",
        "system ",
        "eval",
        "config set",
        "module load",
        "debug",
    ]
    .iter()
    .any(|word| lower.contains(word))
        || lower.contains("vacuum") && lower.contains("into")
}

/// A command of sqlite that does more than show something. They may be abbreviated.
fn dot_command(text: &str) -> bool {
    text.lines().any(|line| {
        let Some(command) = line.trim_start().strip_prefix('.') else {
            return false;
        };
        let name = command.split_ascii_whitespace().next().unwrap_or("");
        !listed(
            "tables schema indexes indices headers header mode help databases dump width show \
             nullvalue separator timer stats fullschema version bail echo eqp explain changes \
             dbinfo lint print limit",
            name,
        )
    })
}
