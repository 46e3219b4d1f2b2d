//! Other machines and keys.

use super::ProgramEffect::{Configures, Elsewhere, Reads, Runs, Sends, Writes};
use super::code::{Code, OPTIONS};
use super::engine::{NONE, Program, Starts, any, because, list, operand, opt, outside};
use super::{AttachedScript, Changes, Network, ProgramReport, Whole};
use crate::word::Word;

/// A program whose purpose is to communicate with other machines.
const TALKER: Program = Program {
    always: Some(because(Sends, "connects to other machines", "nc -l 8080")),
    network: Network::Yes,
    ..NONE
};

pub(super) const NETWORK: &[Program] = &[
    Program {
        names: list("curl"),
        options: &[
            opt(
                "-o: --output:",
                Writes,
                "writes to a file",
                "curl -sox https://x",
            )
            .when(is_file),
            opt(
                "-O --remote-name --remote-name-all -J --remote-header-name --output-dir: \
                 --create-dirs",
                Writes,
                "writes to a file",
                "curl -sO https://x",
            ),
            opt(
                "-c: --cookie-jar: -D: --dump-header: --trace: --trace-ascii: --stderr: --hsts: \
                 --alt-svc: --etag-save: --libcurl: --expand-output:",
                Writes,
                "writes to a file",
                "curl -cx https://y",
            ),
            opt(
                "-T: --upload-file: -F: --form: --form-string: --expand-form:",
                Sends,
                "sends a file or a form",
                "curl -T x https://y",
            ),
            opt(
                "-d: --data: --data-ascii: --data-binary: --data-raw: --data-urlencode: --json: \
                 --url-query:",
                Sends,
                "sends data",
                "curl -d @x https://y",
            ),
            opt(
                "-X: --request:",
                Sends,
                "may change something on the server",
                "curl -XPOST https://y",
            )
            .when(|method| !matches!(method, "GET" | "HEAD")),
            opt(
                "--url: --next",
                Sends,
                "names another address",
                "curl --url file:///x",
            ),
            opt(
                "--proto-default:",
                Reads,
                "is not a web address",
                "curl --proto-default file /etc/passwd",
            )
            .when(|scheme| !matches!(scheme, "http" | "https")),
            opt(
                "-K: --config: -q: --etag-compare:",
                Reads,
                "takes options from a file",
                "curl -K x",
            ),
            opt(
                "-b: --cookie: -n --netrc --netrc-optional --netrc-file: -u: --user: -E: --cert: \
                 --key: --oauth2-bearer: --aws-sigv4: --delegation: --negotiate -U: --proxy-user: \
                 --proxy-cert: --proxy-key:",
                Sends,
                "sends credentials",
                "curl -n https://y",
            ),
            opt(
                "-H: --header: --proxy-header:",
                Reads,
                "sends the contents of a file",
                "curl -H @x https://y",
            )
            .when(|value| value.starts_with('@')),
            opt(
                "-w: --write-out:",
                Reads,
                "reads or writes a file",
                "curl -w @x https://y",
            )
            .when(|value| value.starts_with('@') || value.contains("output{")),
            opt(
                "-x: --proxy: --proxy1.0: --ipfs-gateway: --preproxy: --socks4: --socks4a: --socks5: --socks5-hostname: \
                 --connect-to: --resolve: --unix-socket: --abstract-unix-socket: --dns-servers: \
                 --doh-url: --interface:",
                Sends,
                "connects through another host",
                "curl -x x https://y",
            ),
            opt(
                "--engine: --ssl-reqd-none: --cacert: --capath: -k --insecure --proxy-insecure",
                Configures,
                "changes which servers it trusts",
                "curl -k https://y",
            ),
            opt(
                "-Q: --quote: -t: --telnet-option: --mail-from: --mail-rcpt:",
                Sends,
                "sends commands",
                "curl -Q x ftp://y",
            ),
            opt(
                "--variable: --expand-*",
                Reads,
                "reads variables or files",
                "curl --variable %X https://y",
            ),
        ],
        values: list(
            "-A -e -m -r -C -y -Y -z --max-time --connect-timeout --retry --user-agent \
                 --referer --range --limit-rate --max-redirs --retry-delay --max-filesize",
        ),
        safe: "--form-escape --cert-status --data-none --trace-time --create-file-mode \
               --compressed --http1.1 --http2 --head --include --location --fail --silent",
        operands: &[
            operand(
                0,
                not_web,
                Reads,
                "is not a web address",
                "curl file:///etc/passwd",
            ),
            operand(
                1,
                any,
                Sends,
                "is another address",
                "curl https://x https://y",
            ),
        ],
        network: Network::Yes,
        plain: &[
            "curl -fsSL https://example.com/x",
            "curl -I https://x.org",
            "curl -s -H 'Accept: x' https://x.org/a?b=c",
            "curl -X GET -m 5 example.com",
            "curl -so /dev/null -w '%{http_code}' https://x.org",
        ],
        ..NONE
    },
    Program {
        names: list("wget wget2"),
        options: &[
            opt(
                "-O: --output-document:",
                Writes,
                "writes to a file",
                "wget -Ox https://y",
            )
            .when(is_file),
            opt(
                "-o: --output-file: -a: --append-output: -P: \
                 --directory-prefix: --save-cookies: --warc-file: --rejected-log: --hsts-file: \
                 --warc-dedup: --warc-tempdir:",
                Writes,
                "writes to a file",
                "wget -o x https://y",
            ),
            opt(
                "--use-askpass? --use-askpass:",
                Runs,
                "starts a program",
                "wget --use-ask=x https://y",
            ),
            opt(
                "--post-file: --post-data: --body-file: --body-data: --method:",
                Sends,
                "sends data",
                "wget --post-f=x https://y",
            ),
            opt(
                "-i: --input-file: --config: --load-cookies: --input-metalink:",
                Reads,
                "takes options or addresses from a file",
                "wget -i x",
            ),
            opt(
                "-e: --execute:",
                Configures,
                "sets an option",
                "wget -e use_askpass=x https://y",
            ),
            opt(
                "--header: --user: --password: --http-user: --http-password: --certificate: \
                 --private-key: --ftp-user: --ftp-password:",
                Sends,
                "sends credentials",
                "wget --header=x https://y",
            ),
            opt(
                "-b --background -x --force-directories -r --recursive -m --mirror \
                 --delete-after -N --timestamping",
                Writes,
                "writes many files",
                "wget -r https://y",
            ),
            opt(
                "--no-check-certificate --ca-certificate: --ca-directory:",
                Configures,
                "changes which servers it trusts",
                "wget --no-check-certificate https://y",
            ),
        ],
        values: list(
            "-t -T -w -U -Q -l -A -R -D --tries --timeout --wait --user-agent --quota --level",
        ),
        safe: "--user-agent",
        network: Network::Yes,
        plain: &[
            "wget -qO- https://x.org",
            "wget -q https://x.org/a",
            "wget --spider -T 5 https://x.org",
        ],
        ..NONE
    },
    Program {
        names: list("ssh autossh mosh slogin dbclient"),
        options: &[
            opt(
                "-F: -O: -S: -w: -I: --ssh: --server: --client:",
                Runs,
                "may start a program",
                "ssh -F x h",
            ),
            opt(
                "-o:",
                Runs,
                "sets an option that may start a program",
                "ssh -oProxyCommand=x h",
            )
            .starts(Starts::Setting),
            opt(
                "-L: -R: -D: -W: -J: -A -X -Y -K -g -M -B: -b:",
                Sends,
                "opens a connection between machines",
                "ssh -R 1:h:2 h",
            ),
            opt("-E: -y", Writes, "writes to a file", "ssh -E x h"),
        ],
        values: list("-p -l -i -c -m -e -Q -P"),
        safe: "-V",
        shell_below: 2,
        operands: &[
            operand(1, any, Runs, "runs on the remote machine", "ssh h rm x")
                .to(2)
                .starts(Starts::Command),
            operand(0, any, Sends, "opens a session on another machine", "ssh h").to(1),
        ],
        stops: 2,
        code: Code::Everything,
        network: Network::Yes,
        plain: &["ssh -V"],
        ..NONE
    },
    Program {
        names: list("scp sftp rcp"),
        options: &[
            opt(
                "-o:",
                Runs,
                "sets an option that may start a program",
                "scp -oProxyCommand=x a b",
            )
            .starts(Starts::Setting),
            opt(
                "-F: -S: -D: -s: -X: -J: -b:",
                Runs,
                "may start a program",
                "scp -S x a h:b",
            )
            .starts(Starts::Script),
        ],
        values: list("-P -i -c -l"),
        operands: &[operand(
            0,
            host_path,
            Sends,
            "is on another machine",
            "scp a h:b",
        )],
        code: OPTIONS,
        network: Network::Yes,
        plain: &["scp a b"],
        ..NONE
    },
    Program {
        names: list("rsync"),
        whole: Whole::Deleting,
        changes: Changes::Always,
        options: &[
            opt(
                "-e: --rsh: --rsync-path: -M: --remote-option:",
                Runs,
                "starts a program",
                "rsync -e x a h:b",
            )
            .starts(Starts::Script),
            opt(
                "--files-from: --include-from: --exclude-from: -f: --filter: --password-file: \
                 --read-batch: --config: -F",
                Reads,
                "takes names from a file",
                "rsync --files-from=x a b",
            ),
            opt(
                "--log-file: --write-batch: --only-write-batch: --backup-dir: --partial-dir: -T: \
                 --temp-dir:",
                Writes,
                "writes to the given path",
                "rsync --log-f=x a b",
            ),
            opt(
                "--delete --del --delete-before --delete-after --delete-during --delete-excluded \
                 --delete-delay --delete-missing-args --remove-source-files",
                Writes,
                "removes files",
                "rsync -a --delete a b",
            ),
            opt(
                "--daemon --sockopts: --address: --port:",
                Sends,
                "opens a connection between machines",
                "rsync --daemon",
            ),
        ],
        values: list(
            "-B --exclude --include --bwlimit --max-size --min-size --chmod --chown --out-format",
        ),
        safe: "--progress --partial --info --stats",
        operands: &[operand(
            0,
            host_path,
            Sends,
            "is on another machine",
            "rsync -a x h:y",
        )],
        code: OPTIONS,
        network: Network::Yes,
        plain: &["rsync -av --exclude target src/ out/"],
        ..NONE
    },
    Program {
        names: list(
            "telnet ftp tftp ngrok rsh rlogin rexec cloudflared websocat nmap tcpdump tshark \
             mailx sendmail mutt msmtp swaks rclone aria2c axel xh grpcurl s3cmd",
        ),
        ..TALKER
    },
    Program {
        names: list("lftp"),
        options: &[opt(
            "-c: -e: -f:",
            Runs,
            "runs commands, and `!` starts a program",
            "lftp -c '!rm x'",
        )
        .starts(Starts::Script)],
        ..TALKER
    },
    Program {
        names: list("yt-dlp youtube-dl"),
        options: &[
            opt(
                "--exec: --exec-before-download: --netrc-cmd:",
                Runs,
                "runs its value",
                "yt-dlp --exec 'rm x' y",
            )
            .starts(Starts::Script),
            opt(
                "--downloader: --external-downloader: --downloader-args: --external-downloader-args: \
                 --postprocessor-args: --ppa: --ffmpeg-location: --plugin-dirs: --config-locations: \
                 --config-location: --use-postprocessor:",
                Runs,
                "names a program, its options or settings",
                "yt-dlp --downloader x y",
            ),
        ],
        ..TALKER
    },
    Program {
        names: list("mail http https croc transfer"),
        network: Network::CommonWord,
        ..TALKER
    },
    Program {
        names: list("nc ncat netcat"),
        // `nc -e` starts a program, `nc -l` gives another machine what follows.
        code: OPTIONS,
        options: &[opt(
            "-e: -c: --exec: --sh-exec: --lua-exec:",
            Runs,
            "starts a program",
            "ncat -e 'rm x' h 1",
        )
        .starts(Starts::Script)],
        special: Some(|words, at, report| {
            // The program reads what the other machine sends.
            report.takes_input |= words[at + 1..].iter().any(|word| {
                let text = &*word.text;
                let is_cluster = text.starts_with('-') && !text.starts_with("--");
                is_cluster && text.contains(['e', 'c'])
                    || ["--e", "--sh", "--lua"]
                        .iter()
                        .any(|name| text.starts_with(name))
            });
            true
        }),
        unrestricted: true,
        ..TALKER
    },
    Program {
        names: list("socat"),
        code: Code::Everything,
        special: Some(socat),
        ..TALKER
    },
    Program {
        names: list("openssl"),
        subs: &[Program {
            names: list("version dgst x509 rand prime list ciphers verify asn1parse crl req help"),
            options: &[
                opt(
                    "-out: -keyout: -writerand: -CAcreateserial -CAserial: -signature: -text_out:",
                    Writes,
                    "writes to a file",
                    "openssl rand -out x 8",
                ),
                opt(
                    "-engine: -provider: -provider-path: -config:",
                    Runs,
                    "loads code",
                    "openssl dgst -engine x y",
                ),
                opt(
                    "-sign: -key: -signkey: -CAkey: -passin: -pass: -inkey:",
                    Reads,
                    "reads a key",
                    "openssl dgst -sign x y",
                ),
                opt("-rand:", Reads, "reads a file", "openssl rand -rand x 8"),
            ],
            words: true,
            plain: &["openssl dgst -sha256 x", "openssl x509 -in x -noout -text"],
            ..NONE
        }],
        quiet: "sha256 sha512 md5 sha1",
        other: Some(because(
            Sends,
            "connects, writes or uses keys",
            "openssl s_client -connect x:1",
        )),
        words: true,
        bare: Some(because(Runs, "reads commands", "openssl")),
        plain: &["openssl version"],
        ..NONE
    },
    Program {
        names: list(
            "gpg gpg2 age sops pass vault secret-tool security ssh-keygen ssh-add \
                     ssh-copy-id keytool certtool bw gpgconf gpg-agent \
                     gpg-connect-agent",
        ),
        options: &[opt(
            "-o: --output: -f:",
            Writes,
            "writes to a file",
            "gpg -o x -d y",
        )],
        quiet: "--version --verify",
        always: Some(because(Reads, "uses or makes keys and secrets", "gpg -d x")),
        ..NONE
    },
    Program {
        names: list("dig host nslookup ping traceroute whois ssh-keyscan"),
        options: &[opt("-f: -k:", Reads, "takes names from a file", "dig -f x")],
        values: list("-t -p -c -x -W"),
        operands: &[operand(
            0,
            at_sign,
            Sends,
            "queries a server of its choice",
            "dig @1.2.3.4 x",
        )],
        network: Network::CommonWord,
        plain: &["dig +short example.com", "ping -c 1 example.com"],
        ..NONE
    },
    Program {
        names: list("cd pushd chdir popd"),
        moves: true,
        operands: &[operand(
            0,
            leaves,
            Elsewhere,
            "leaves the working folder",
            "cd /tmp",
        )],
        bare: Some(because(Elsewhere, "leaves the working folder", "cd")),
        special: Some(|words, at, report| {
            if let Some(word) = words.get(at + 1)
                && (leaves(&word.text) || &*word.text == "-")
            {
                report.hit(at + 1, Elsewhere, "leaves the working folder");
                return false;
            }
            true
        }),
        plain: &["cd src/bin", "cd ./x", "cd -P sub"],
        ..NONE
    },
];

/// Returns `true` for a file, not standard output or `/dev/null`.
fn is_file(name: &str) -> bool {
    !matches!(name, "-" | "/dev/null" | "/dev/stdout")
}

/// Reports addresses that start a program: `EXEC:rm x`.
fn socat(words: &[Word], at: usize, report: &mut ProgramReport) -> bool {
    for (word, text) in words
        .iter()
        .map(|word| &*word.text)
        .enumerate()
        .skip(at + 1)
    {
        let lower = text.to_ascii_lowercase();
        for kind in ["exec:", "system:", "shell:"] {
            for (from, _) in lower.match_indices(kind) {
                let offset = from + kind.len();
                report.attached.push(AttachedScript { word, offset });
                report.hit(word, Runs, "starts a program");
                // The program reads what comes from the other address.
                report.takes_input = true;
            }
        }
    }
    true
}

fn leaves(text: &str) -> bool {
    outside(text) || text.starts_with(['-', '+']) && text.len() == 2 && !matches!(text, "-P" | "-L")
}

fn at_sign(text: &str) -> bool {
    text.starts_with('@')
}

/// `host:path` or an address.
fn host_path(text: &str) -> bool {
    let folder = text.find('/').unwrap_or(text.len());
    text[..folder].contains(':') || text.contains("://")
}

/// An address of another kind than http, or one that names a file to send.
fn not_web(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    match lower.split_once("://") {
        Some((scheme, _)) if !scheme.contains('/') => !matches!(scheme, "http" | "https"),
        _ => {
            // curl itself replaces `{e}` and `[e]`; one slash is enough for it.
            let head = lower.split('/').next().unwrap_or_default();
            head.ends_with(':') || head.starts_with("file:") || head.contains(['{', '['])
        }
    }
}
