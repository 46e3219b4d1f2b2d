//! Archives and compression.

use super::Changes;
use super::ProgramEffect::{Elsewhere, Reads, Runs, Sends, Writes};
use super::code::{Code, OPTIONS};
use super::engine::{NONE, Operand, PATTERN, Program, Starts, list, none, operand, opt, outside};
use super::text::at_file;

/// The first operand is a command, of letters without a dash.
const COMMAND_LETTERS: Operand = operand(0, none, Runs, PATTERN, "7z x* y").to(1).globs();

pub(super) const ARCHIVES: &[Program] = &[
    Program {
        names: list("tar gtar bsdtar"),
        changes: Changes::Always,
        options: &[
            opt(
                "-I: --use-compress-program: --to-command: -F: --info-script: \
                 --new-volume-script:",
                Runs,
                "starts a program",
                "tar xf x --to-com=y",
            )
            .starts(Starts::Script),
            opt(
                "--checkpoint-action:",
                Runs,
                "may start a program",
                "tar cf x --checkpoint-a=y z",
            )
            .starts(Starts::Setting),
            opt(
                "--rsh-command: --rmt-command:",
                Runs,
                "starts a program",
                "tar --rsh-c=x -tf y",
            )
            .starts(Starts::Script),
            opt(
                "-T: --files-from:",
                Reads,
                "takes names and options from a file",
                "tar cfT x y",
            ),
            opt(
                "-f: --file:",
                Sends,
                "is on another machine",
                "tar cf host:x y",
            )
            .when(remote),
            opt(
                "-C: --directory: --cd: --one-top-level?",
                Elsewhere,
                "works in the given folder",
                "tar xf x -C /",
            )
            .when(outside),
            opt(
                "-P --absolute-names --absolute-paths",
                Elsewhere,
                "writes wherever the archive says",
                "tar xPf x",
            ),
            opt(
                "--index-file: --volno-file: -g: --listed-incremental:",
                Writes,
                "writes a file",
                "tar tvf x --index-file=y",
            ),
            opt(
                "--remove-files --recursive-unlink",
                Writes,
                "removes files",
                "tar cf x --remov y",
            ),
            opt(
                "--keep-directory-symlink",
                Elsewhere,
                "follows links out",
                "tar xf x --keep-directory-symlink",
            ),
        ],
        values: list(
            "-b -L -N -K -V -X -H --exclude --exclude-from --transform --xform --owner \
                 --group --mode --mtime --strip-components --format --suffix --label --checkpoint? \
                 --warning --sort --level",
        ),
        safe: "--file --checkpoint --directory --list",
        bundle: true,
        code: Code::Options {
            values: "-*f",
            protects: true,
            reads_input: false,
        },
        plain: &[
            "tar tzf x.tgz",
            "tar -czf x.tgz src",
            "tar xvf x --strip-components 1",
            "tar -xf x -C out",
            "tar --exclude x -cf y z",
            "tar --list -f x.tar",
        ],
        ..NONE
    },
    Program {
        names: list("zip"),
        changes: Changes::Always,
        options: &[
            opt(
                "-TT: --unzip-command:",
                Runs,
                "starts a program",
                "zip x y -T -TT z",
            )
            .starts(Starts::Script),
            opt("-T --test", Runs, "starts another program", "zip x y -T"),
            opt("-m --move", Writes, "removes the files", "zip -m x y"),
            opt(
                "-@ --names-stdin",
                Reads,
                "takes names from its input",
                "zip x -@",
            ),
            opt(
                "-O: --output-file: --out:",
                Writes,
                "writes to the given path",
                "zip x --out y",
            ),
            opt(
                "-lf: --logfile-path:",
                Writes,
                "writes a log",
                "zip -lf x y z",
            ),
            opt(
                "-b: --temp-path:",
                Writes,
                "writes to the given path",
                "zip -b /x y z",
            ),
        ],
        values: list("-x -i -n -t -P -Z -s -tt"),
        code: OPTIONS,
        plain: &["zip -r x.zip src", "zip -9 x.zip a -x y"],
        ..NONE
    },
    Program {
        names: list("unzip"),
        changes: Changes::Always,
        options: &[
            opt(
                "-d:",
                Elsewhere,
                "writes to the given path",
                "unzip x -d /tmp",
            )
            .when(outside),
            opt(
                "-:*",
                Elsewhere,
                "writes wherever the archive says",
                "unzip -: x",
            ),
        ],
        special: Some(|words, at, report| {
            for (index, word) in words.iter().enumerate().skip(at + 1) {
                if word.text.starts_with('-') && word.text.contains(':') {
                    report.hit(index, Elsewhere, "writes wherever the archive says");
                }
            }
            true
        }),
        values: list("-x -P"),
        plain: &["unzip -l x", "unzip x -d out", "unzip -qo x"],
        ..NONE
    },
    Program {
        names: list("7z 7za 7zz 7zr unrar rar unar"),
        changes: Changes::Always,
        options: &[
            opt(
                "-o*",
                Elsewhere,
                "writes to the given path",
                "7z x y -o/tmp",
            )
            .when(outside),
            opt("-sdel -df", Writes, "removes the files", "7z a x y -sdel"),
        ],
        words: true,
        operands: &[
            operand(0, at_file, Reads, "takes names from a file", "7z a x @y"),
            COMMAND_LETTERS,
        ],
        plain: &["7z l x", "7z x y -oout"],
        ..NONE
    },
    Program {
        names: list("cpio pax shar"),
        changes: Changes::Always,
        options: &[
            opt(
                "--to-command: --rsh-command:",
                Runs,
                "starts a program",
                "cpio -i --to-command=x",
            ),
            opt(
                "-O: -F: -E: -D:",
                Writes,
                "writes or reads a file it names",
                "cpio -o -O x",
            ),
            opt(
                "--absolute-filenames",
                Elsewhere,
                "writes wherever the archive says",
                "cpio -i --absolute-filenames",
            ),
        ],
        safe: "--no-absolute-filenames",
        plain: &["cpio -it"],
        ..NONE
    },
    Program {
        names: list("ar gar llvm-ar"),
        options: &[
            opt("--plugin:", Runs, "loads code", "ar --plugin=x t y"),
            opt(
                "--output:",
                Elsewhere,
                "writes to the given path",
                "ar x y --output /tmp",
            )
            .when(outside),
        ],
        operands: &[
            operand(0, at_file, Reads, "takes options from a file", "ar @x"),
            COMMAND_LETTERS,
        ],
        plain: &["ar t x.a", "ar t x*.a"],
        ..NONE
    },
    Program {
        names: list("gzip gunzip bzip2 xz zstd pigz lz4 brotli zcat"),
        changes: Changes::Always,
        options: &[
            opt("-o: --output:", Writes, "writes to a file", "zstd -o /x y").when(outside),
            opt(
                "--output-dir-flat: --output-dir-mirror: --patch-from:",
                Writes,
                "writes to the given path",
                "zstd --output-dir-flat /x y",
            ),
            opt(
                "--files: --files0: --filelist:",
                Reads,
                "takes names from a file",
                "xz --files=x",
            ),
        ],
        plain: &["gzip -k x", "xz -d x.xz", "zstd -o y x"],
        ..NONE
    },
];

fn remote(value: &str) -> bool {
    value.contains(':')
}
