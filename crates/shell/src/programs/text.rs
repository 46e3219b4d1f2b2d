//! Tools for text and files: mostly what their name says, apart from these.

use super::ProgramEffect::{Configures, Reads, Runs, Sends, Writes};
use super::code::{Code, OPTIONS};
use super::engine::{
    NONE, PATTERN, Program, Starts, any, because, is_input, list, listed, operand, opt, outside,
};
use super::{Changes, ProgramReport, Whole};
use crate::word::Word;

/// An editor.
const EDITOR: Program = Program {
    always: Some(because(
        Runs,
        "is an editor and takes commands",
        "vim -c '!x' y",
    )),
    code: Code::Everything,
    opaque: true,
    changes: Changes::Always,
    ..NONE
};

pub(super) const TEXT: &[Program] = &[
    Program {
        names: list("cp tee touch ln truncate rmdir mkdir unlink sponge sd"),
        changes: Changes::Always,
        plain: &["cp -a x y"],
        ..NONE
    },
    Program {
        names: list("rm chmod chown chgrp"),
        changes: Changes::Always,
        whole: Whole::Recursive,
        plain: &["rm -r x"],
        ..NONE
    },
    Program {
        names: list("shred trash"),
        changes: Changes::Always,
        whole: Whole::Always,
        ..NONE
    },
    Program {
        names: list("mv"),
        changes: Changes::Always,
        whole: Whole::Sources,
        ..NONE
    },
    Program {
        names: list("echo true false"),
        data: true,
        plain: &["echo -n x"],
        ..NONE
    },
    Program {
        names: list("sort gsort"),
        options: &[
            opt("-o: --output:", Writes, "writes to a file", "sort --ou=x y"),
            opt(
                "--compress-program:",
                Runs,
                "starts a program",
                "sort --comp=x y",
            )
            .starts(Starts::Script),
            opt(
                "-T: --temporary-directory:",
                Writes,
                "writes to the given path",
                "sort -T /x y",
            ),
            opt(
                "--files0-from:",
                Reads,
                "takes names from a file",
                "sort --files0-from=x",
            ),
            opt(
                "--random-source:",
                Reads,
                "reads another file",
                "sort --random-source=x y",
            ),
        ],
        values: list("-k -t! -S --key --field-separator --buffer-size --parallel --batch-size"),
        plain: &[
            "sort -k2 -t , -nr x",
            "sort -u a b",
            "sort -t -o x",
            "sort *.txt",
        ],
        ..NONE
    },
    Program {
        names: list("shuf gshuf iconv"),
        options: &[opt(
            "-o: --output:",
            Writes,
            "writes to a file",
            "shuf -ox y",
        )],
        values: list("-n -i -f -t --head-count --from-code --to-code"),
        plain: &["shuf -n 3 x", "iconv -f latin1 -t utf8 x"],
        ..NONE
    },
    Program {
        names: list("uniq guniq"),
        values: list("-f -s -w --skip-fields --skip-chars --check-chars"),
        operands: &[operand(1, any, Writes, "is a file to write", "uniq a b")],
        plain: &["uniq -c", "uniq -c -f 2 x", "uniq --skip-fields 2 x"],
        ..NONE
    },
    Program {
        names: list("xxd"),
        values: list("-c -l -s -g -o -n -R -cols -len -seek -groupsize -name"),
        operands: &[operand(1, any, Writes, "is a file to write", "xxd -r a b")],
        plain: &["xxd -l 16 x", "xxd -p x"],
        words: true,
        ..NONE
    },
    Program {
        names: list("split gsplit"),
        changes: Changes::Always,
        options: &[
            opt("--filter:", Runs, "runs its value", "split --fil='rm x' y").starts(Starts::Script),
        ],
        values: list(
            "-a -b -C -l -n -t --lines --bytes --suffix-length --additional-suffix --number",
        ),
        operands: &[operand(
            1,
            outside,
            Writes,
            "writes elsewhere",
            "split x /tmp/y",
        )],
        plain: &["split -l 100 x part-"],
        ..NONE
    },
    Program {
        names: list("csplit"),
        changes: Changes::Always,
        options: &[opt(
            "-f: --prefix:",
            Writes,
            "writes to the given path",
            "csplit -f /x y 1",
        )
        .when(outside)],
        plain: &["csplit -f part x 10"],
        ..NONE
    },
    Program {
        names: list("wc du gwc gdu"),
        options: &[opt(
            "--files0-from:",
            Reads,
            "takes names from a file",
            "wc --fi=x",
        )],
        plain: &["wc -l x", "du -sh ."],
        ..NONE
    },
    Program {
        names: list("date gdate"),
        options: &[
            opt("-s: --set:", Configures, "sets the clock", "date -s 12:00"),
            opt(
                "-f: --file:",
                Reads,
                "prints lines of a file",
                "date -f /etc/shadow",
            ),
        ],
        values: list("-d -r -v -j --date --reference -I? --iso-8601?"),
        operands: &[operand(
            0,
            not_format,
            Configures,
            "sets the clock",
            "date 010112002030",
        )],
        plain: &[
            "date +%F",
            "date -u",
            "date -d yesterday +%F",
            "date -Iseconds",
        ],
        ..NONE
    },
    Program {
        names: list("diff gdiff"),
        answers: true,
        options: &[opt(
            "-l --paginate",
            Runs,
            "starts another program",
            "diff -l a b",
        )],
        values: list("-U -C -I -x -X -F -W --label --exclude"),
        plain: &["diff -u a b", "diff -r --brief a b"],
        ..NONE
    },
    Program {
        names: list("sdiff diff3"),
        options: &[
            opt(
                "--diff-program:",
                Runs,
                "starts a program",
                "diff3 --diff=x a b c",
            )
            .starts(Starts::Script),
            opt(
                "-o: --output:",
                Writes,
                "writes to a file",
                "sdiff -o x a b",
            ),
        ],
        values: list("-I -w -L --label --width --ignore-matching-lines"),
        plain: &["sdiff -w 80 a b", "diff3 -m a b c"],
        ..NONE
    },
    Program {
        names: list("file"),
        options: &[
            opt("-C --compile", Writes, "writes a file", "file -C -m x"),
            opt(
                "-f: --files-from:",
                Reads,
                "takes names from a file",
                "file -f x",
            ),
            opt(
                "-z -Z --uncompress --uncompress-noreport",
                Runs,
                "starts programs",
                "file -z x",
            ),
        ],
        values: list("-m -e -F -P"),
        plain: &["file -b --mime-type x"],
        ..NONE
    },
    Program {
        names: list("tree cloc"),
        options: &[
            opt(
                "-o: --out: --report-file:",
                Writes,
                "writes to a file",
                "tree -o x",
            ),
            opt("-R", Writes, "writes files below", "tree -H . -L 1 -R"),
            opt(
                "--config: --extract-with:",
                Runs,
                "starts a program",
                "cloc --extract-with=x y",
            ),
        ],
        values: list("-L -P -I -H -T --filelimit --charset"),
        plain: &["tree -L 2 src", "cloc src"],
        ..NONE
    },
    Program {
        names: list("install ginstall"),
        changes: Changes::Always,
        options: &[opt(
            "--strip-program:",
            Runs,
            "starts a program",
            "install -s --strip-p=x a b",
        )],
        safe: "--strip",
        plain: &["install -m 755 a b"],
        ..NONE
    },
    Program {
        names: list("patch"),
        changes: Changes::Always,
        options: &[
            opt(
                "-e --ed",
                Runs,
                "runs the patch as a script of ed",
                "patch -e x y",
            ),
            opt(
                "-o: --output: -r: --reject-file:",
                Writes,
                "writes to a file",
                "patch -o x y",
            ),
            opt(
                "-d: --directory:",
                Writes,
                "patches elsewhere",
                "patch -d /x",
            )
            .when(outside),
        ],
        values: list("-p -i -F -D -B -V -g -Y -z"),
        operands: &[operand(0, outside, Writes, "patches elsewhere", "patch /etc/x y").to(1)],
        plain: &["patch -p1 -i x.patch", "patch --dry-run -p1 -i x"],
        ..NONE
    },
    Program {
        names: list("jq gojq jaq"),
        options: &[
            opt(
                "-f --from-file",
                Reads,
                "takes its program from a file",
                "jq -rf x y",
            ),
            opt(
                "-L: --library-path:",
                Reads,
                "takes modules from there",
                "jq -L /x . y",
            ),
            opt(
                "--slurpfile:: --rawfile:: --argfile::",
                Reads,
                "reads another file",
                "jq --rawfile a x . y",
            ),
            opt("-i --in-place", Writes, "writes the file", "jaq -i . x"),
        ],
        values: list("--arg: --argjson: --indent"),
        operands: &[operand(
            0,
            jq_environment,
            Reads,
            "reads variables or modules",
            "jq -n env",
        )
        .to(1)
        .globs()],
        plain: &[
            "jq -r .env.name x",
            "jq --arg a b '{env: $a}' x",
            "jq '.a | length' x",
        ],
        ..NONE
    },
    Program {
        names: list("yq xq dasel"),
        options: &[
            opt(
                "-i --inplace --in-place",
                Writes,
                "writes the file",
                "yq -i .a=1 x",
            ),
            opt(
                "-s: --split-exp: -o: --split-exp-file:",
                Writes,
                "writes files",
                "yq -s .a x",
            )
            .when(|value| !listed("json yaml props csv tsv xml j y", value)),
            opt(
                "--from-file:",
                Reads,
                "takes its program from a file",
                "yq --from-file x y",
            ),
        ],
        operands: &[operand(
            0,
            yq_reads,
            Reads,
            "reads files or variables",
            "yq 'load(\"x\")'",
        )],
        special: Some(yq_pattern),
        changes: Changes::InPlace,
        plain: &[
            "yq .a x.yaml",
            "yq -o json . x",
            "yq eval .a x",
            "yq eval .a x*",
            "yq -o json .a x*",
        ],
        ..NONE
    },
    Program {
        names: list("pandoc"),
        options: &[
            opt(
                "-o: --output: --extract-media:",
                Writes,
                "writes to a file",
                "pandoc -o x y",
            ),
            opt(
                "-F: --filter: -L: --lua-filter: --pdf-engine:",
                Runs,
                "runs a program",
                "pandoc --lua-filter=x y",
            ),
            opt(
                "-d: --defaults: --data-dir: --template: --pdf-engine-opt:",
                Reads,
                "takes options from a file",
                "pandoc -d x y",
            ),
            opt(
                "-t: --to: -w: --write: -f: --from: -r: --read:",
                Runs,
                "runs a script",
                "pandoc -t x.lua y",
            )
            .when(|value| value.contains(".lua")),
        ],
        plain: &["pandoc -f markdown -t html x.md"],
        ..NONE
    },
    Program {
        names: list("xmllint xsltproc"),
        options: &[
            opt(
                "-o: --output: -output:",
                Writes,
                "writes to a file",
                "xmllint --output x y",
            ),
            opt(
                "--shell -shell",
                Runs,
                "reads commands",
                "xmllint --shell x",
            ),
            opt(
                "--noent --xinclude --load-trace",
                Reads,
                "reads files that are named inside",
                "xmllint --noent x",
            ),
        ],
        words: true,
        plain: &["xmllint --noout x.xml", "xmllint --xpath //a x"],
        ..NONE
    },
    Program {
        names: list(
            "ctags dot groff troff tex latex pdflatex xelatex lualatex latexmk \
                     exiftool",
        ),
        options: &[
            opt(
                "-o: -O --output: -w:",
                Writes,
                "writes to a file",
                "dot -o x y",
            ),
            opt(
                "-e: -E --eval: -p -c:",
                Runs,
                "runs its value",
                "exiftool -p x y",
            ),
            opt(
                "-if* -if0* -if1* -if2* -if3* -if4* -if5*",
                Runs,
                "runs its value",
                "exiftool -if x y",
            ),
            opt(
                "-U --unsafe --options: -config: -@: --shell-escape -shell-escape \
                 -enable-write18 -dNOSAFER",
                Runs,
                "may start programs",
                "pdflatex -shell-escape x",
            ),
        ],
        plain: &["pdflatex x.tex", "dot -Tsvg x"],
        words: true,
        ..NONE
    },
    Program {
        names: list("gnuplot gs"),
        options: &[
            opt(
                "-e: -c: -d -p --persist -dNOSAFER -f:",
                Runs,
                "runs its value",
                "gnuplot -e 'system(1)'",
            ),
            opt("-o: -sOutputFile*", Writes, "writes to a file", "gs -o x y"),
        ],
        operands: &[operand(
            0,
            is_input,
            Runs,
            "runs code from its input",
            "gnuplot -",
        )],
        words: true,
        bare: Some(because(Runs, "runs code from its input", "gnuplot")),
        opaque: true,
        plain: &["gnuplot x.plt"],
        ..NONE
    },
    Program {
        names: list("m4 dc rename prename file-rename"),
        always: Some(because(Runs, "runs code that may start programs", "m4 x")),
        code: Code::Everything,
        opaque: true,
        ..NONE
    },
    Program {
        names: list("nm objdump readelf size"),
        options: &[opt("--plugin:", Runs, "loads code", "nm --plugin=x y").starts(Starts::Script)],
        operands: &[operand(
            0,
            at_file,
            Reads,
            "takes options from a file",
            "nm @x",
        )],
        plain: &["nm -C x.o", "objdump -d x.o"],
        ..NONE
    },
    Program {
        names: list("strip objcopy"),
        options: &[
            opt("--plugin:", Runs, "loads code", "strip --plugin=x y").starts(Starts::Script)
        ],
        operands: &[operand(
            0,
            at_file,
            Reads,
            "takes options from a file",
            "strip @x",
        )],
        changes: Changes::Always,
        plain: &["strip x", "objcopy -O binary x y"],
        ..NONE
    },
    Program {
        names: list("fzf sk"),
        options: &[
            opt(
                "--preview: --bind: -c: --cmd: --with-shell:",
                Runs,
                "runs its value",
                "fzf --preview 'rm x'",
            )
            .starts(Starts::Script),
            opt(
                "--listen? --listen-unsafe?",
                Sends,
                "accepts connections",
                "fzf --listen=1",
            ),
            opt(
                "--history: --tmux?",
                Writes,
                "writes a file",
                "fzf --history=x",
            ),
        ],
        values: list("-f! -q! -d -n --filter! --query! --height --prompt! --header!"),
        safe: "--preview-window --history-size",
        plain: &["fzf -f x", "fzf --filter=x --height 5"],
        ..NONE
    },
    Program {
        names: list("pdftotext qpdf pdftk ps2pdf exiftran"),
        operands: &[operand(
            1,
            |name| name != "-",
            Writes,
            "is a file to write",
            "pdftotext x y",
        )],
        values: list("-f -l -r -x -y -W -H -enc"),
        words: true,
        plain: &["pdftotext x -", "qpdf --check x"],
        ..NONE
    },
    Program {
        names: list("ffmpeg convert magick mogrify sox"),
        operands: &[operand(
            0,
            any,
            Writes,
            "may be a file to write",
            "ffmpeg -i a.mp4 b.mp4",
        )],
        words: true,
        values: list("-i"),
        plain: &["ffmpeg -version"],
        ..NONE
    },
    Program {
        names: list("strings gstrings"),
        operands: &[operand(
            0,
            at_file,
            Reads,
            "takes options from a file",
            "strings @x",
        )],
        plain: &["strings -n 8 x"],
        ..NONE
    },
    Program {
        names: list("bat batcat delta"),
        options: &[
            opt(
                "--pager: --paging: --diff-args:",
                Runs,
                "starts a program",
                "bat --pager=x y",
            )
            .when(|value| value != "never"),
            opt(
                "--config-file: --config-dir: --source:",
                Reads,
                "takes settings",
                "bat --source x",
            ),
        ],
        plain: &["bat -p x", "bat --paging=never x"],
        ..NONE
    },
    Program {
        names: list("less more most w3m lynx elinks"),
        signs: true,
        options: &[
            opt(
                "-o: -O: --log-file: --LOG-FILE:",
                Writes,
                "writes to a file",
                "less -o x y",
            ),
            opt(
                "--pager: -k: --lesskey-file: --lesskey-src: --lesskey-content:",
                Runs,
                "starts a program",
                "bat --pager=x y",
            ),
        ],
        always: Some(because(Runs, "accepts commands while it runs", "less x")),
        opaque: true,
        ..NONE
    },
    Program {
        names: list(
            "vi vim nvim view gvim ex emacs emacsclient nano pico joe micro hx \
                     kak code subl vimdiff rvim mc",
        ),
        ..EDITOR
    },
    Program {
        names: list("ed red"),
        code: Code::Options {
            values: "",
            protects: true,
            reads_input: true,
        },
        ..EDITOR
    },
    Program {
        names: list("man apropos whatis info"),
        options: &[
            opt(
                "-P: --pager: -H? --html? --browser:",
                Runs,
                "starts a program",
                "man -Px ls",
            )
            .starts(Starts::Script),
            opt(
                "-p: --preprocessor: -X? --gxditview? -t --troff -T? --troff-device?",
                Runs,
                "starts programs",
                "man -p x ls",
            ),
            opt(
                "-C: --config-file: -M: --manpath: -l --local-file -m: --systems:",
                Reads,
                "takes pages or settings from there",
                "man -C x ls",
            ),
            opt(
                "-o: --output: --dribble: --restore: --init-file:",
                Writes,
                "writes or replays",
                "info -o x ls",
            ),
            opt(
                "-u --update -D --default",
                Configures,
                "changes its database",
                "man -u ls",
            ),
        ],
        values: list("-s -S -e -L -E -R -r --sections --prompt --encoding --locale"),
        safe: "--path",
        operands: &[operand(
            0,
            |name| name.contains('/'),
            Reads,
            "is a file",
            "man ./x",
        )],
        code: OPTIONS,
        plain: &["man ls", "man 5 passwd", "man -k git", "man -f ls"],
        ..NONE
    },
];

fn not_format(text: &str) -> bool {
    !text.starts_with('+')
}

/// `@file`: options or more names from a file.
pub(super) fn at_file(text: &str) -> bool {
    text.starts_with('@')
}

/// Reports a shell pattern before or in the place of the expression.
fn yq_pattern(words: &[Word], at: usize, report: &mut ProgramReport) -> bool {
    for (index, word) in words.iter().enumerate().skip(at + 1) {
        if word.is_glob() {
            report.hit(index, Runs, PATTERN);
        }
        let is_value = listed(
            "-o -p -I --output-format --input-format --indent",
            &words[index - 1].text,
        );
        let is_command = listed("e ea eval eval-all", &word.text);
        if !word.text.starts_with('-') && !is_value && !is_command {
            break;
        }
    }
    true
}

fn yq_reads(text: &str) -> bool {
    ["load", "env(", "strenv", "envsubst", "$ENV", "system("]
        .iter()
        .any(|name| text.contains(name))
}

/// A filter that looks at variables or at modules.
fn jq_environment(filter: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    filter.contains("$ENV")
        || filter.contains("$__prog")
        || [
            "env",
            "import",
            "include",
            "input_filename",
            "get_search_list",
        ]
        .iter()
        .any(|name| {
            filter.match_indices(name).any(|(at, _)| {
                let before = filter[..at].chars().next_back();
                let after = filter[at + name.len()..].trim_start().chars().next();
                !before.is_some_and(|c| word(c) || ".\"$'".contains(c))
                    && !after.is_some_and(|c| word(c) || c == ':')
            })
        })
}
