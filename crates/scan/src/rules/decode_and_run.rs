//! A program that is decoded and run.

use prowess_shell::pipeline::{self, Stage};

use super::fetch_and_run::offset;
use super::{FindingSink, Passage};
use crate::matching::matcher;

rule!(
    "decode-and-run",
    Error,
    lowers: true,
    "encoded text is decoded and run, so that a reader cannot see the program",
    "decode the text without running it, and read the program",
    triggers: [
        "base64", "b64", "xxd", "fromhex", "unhexlify", "atob(", "encodedcommand", "-enc ", "-e JAB", "-e SQ", "-ec ",
        "frombase64string", "rot13", "openssl", "\\x", "codecs.decode", "gunzip", "zlib.decompress", "base32", "uudecode",
        "fromcharcode", "chr(", "gzinflate", "str_rot13", "decode(", "marshal.loads", "base'", "ba'", "b\\ase", "bas\\",
        "ba\"", "base\"", "bas'", "base$@", "[char]", "-join", "pack(", "rev<<<", "rev <<<", "| rev", "|rev", "base58",
        "tr 'A-Z", "tr a-z", "tr A-Z", "printf", "perl -MMIME", "unescape("
    ]
);

matcher!(
    IN_CODE,
    r"(?: (?: \b(?: exec | eval | os\.system | os\.popen | subprocess\.\w+ | execSync | spawnSync | child_process\.\w+
            | new\ Function | vm\.runInThisContext | instance_eval | assert | passthru | shell_exec | system | loadstring
            | compile ) \s*\( | \b(?:iex|invoke-expression)\b | \beval\s+ ) \s* [^;\n]*?
        \b(?: b64decode | base64\.(?:urlsafe_)?b(?:64|32|85)decode | a85decode | unhexlify | fromhex | atob\s*\( | frombase64string\s*\(
          | Buffer\.from\s*\([^)]*,\s*['\x22](?:base64|hex)['\x22] | codecs\.decode | base64_decode | gzinflate
          | str_rot13 | zlib\.decompress | decode64 | unpack\s*\(?\s*['\x22]m | marshal\.loads | decode_base64
          | String\.fromCharCode\s*\( | base64\.decode | unescape\s*\( ) )
      | (?: frombase64string\s*\( [^;\n]* \| \s* (?:iex|invoke-expression) )
      | (?: \b(?:powershell|pwsh)(?:\.exe)? \b [^|;\n]*? \s[-/]e(?:c|n|nc|nco\w*)?\s+ [\x22']?[A-Za-z0-9+/=]{24,} )
      | (?: \b(?:iex|invoke-expression)\b [^\n]* (?: -join | \[char\] ) )
      | (?: \[char\[?\]?\] [^\n]* -join [^\n]* \| \s*(?:iex|invoke-expression) )
      | (?: \beval\s*\(?\s*pack\s*\(? )
      | (?: \b(?:exec|eval)\s*\( \s* ['\x22]{0,2}\.join\s*\( [^;\n]* chr\( )
      | (?: \b(?:eval|bash\ -c|sh\ -c)\s+ [\x22']?\$'(?:\\x[0-9a-f]{2}|\\[0-7]{3}){4,} )
      | (?: (?:^|[;|&\s])\$'(?:\\x[0-9a-f]{2}|\\[0-7]{3}){3,}[^']*' )"
);

matcher!(
    ASSIGNED,
    r"\b(\w+)\s*=\s*[^=\n]*?(?: b64decode | b32decode | unhexlify | fromhex | \batob\( | frombase64string | base64_decode | codecs\.decode | ['\x22]base64['\x22]\s*\) | zlib\.decompress | base64\s+(?:-d|-D|--decode) )"
);

fn check(passage: &Passage<'_, '_>, out: &mut FindingSink) {
    const MESSAGE: &str = "decodes a text and runs it";
    let text = &passage.plain().text;
    let stages = passage.stages();
    for (at, stage) in stages.iter().enumerate() {
        let Some(word) = decoder(stage) else { continue };
        let from = offset(text, word).unwrap_or(stage.range.start);
        if let Some(reader) = pipeline::consumer(&stages, at, &Stage::runs_input) {
            return out.plain(passage, from..reader.range.end, MESSAGE);
        }
        // `source <(echo … | base64 -d)`
        if let Some(outer) = pipeline::surroundings(&stages, at).find(|outer| outer.runs_text()) {
            return out.plain(passage, outer.range.start..stage.range.end, MESSAGE);
        }
    }
    if let Some(range) = IN_CODE.find(text) {
        return out.plain(passage, range, MESSAGE);
    }
    // Decoded into a variable that is run on one of the next lines.
    if let Some(groups) = ASSIGNED.groups(text).filter(|_| passage.is_code)
        && let Some(name) = groups.text(text, 1)
    {
        let following = [&text[groups.range().end..], passage.rest_of_block()];
        let runs = |line: &str| {
            let runners = [
                "exec(",
                "eval(",
                "os.system(",
                "subprocess.",
                "execsync(",
                "new function(",
                "iex ",
                "eval ",
                "bash -c",
                "sh -c",
            ];
            let line = line.to_ascii_lowercase();
            let name = name.to_ascii_lowercase();
            let used = |at: usize| {
                let rest =
                    line[at..].trim_start_matches(|c: char| !c.is_alphanumeric() && c != '_');
                let rest = rest.strip_prefix("run(").unwrap_or(rest);
                let end = rest
                    .find(|c: char| !c.is_alphanumeric() && c != '_')
                    .unwrap_or(rest.len());
                rest[..end] == name
            };
            runners.iter().any(|runner| {
                line.match_indices(runner)
                    .any(|(at, runner)| used(at + runner.len()))
            })
        };
        if following.iter().any(|text| text.lines().take(10).any(runs)) {
            out.plain(
                passage,
                groups.range(),
                "decodes a text into a variable and runs it",
            );
        }
    }
}

/// Returns the word that decodes, if a stage does.
fn decoder<'t>(stage: &Stage<'t>) -> Option<&'t str> {
    let words = &stage.words;
    let has = |options: &[&str]| words.iter().any(|word| options.contains(word));
    let index = words.iter().position(|word| {
        matches!(
            pipeline::program_name(word).as_str(),
            "base64"
                | "base32"
                | "base58"
                | "xxd"
                | "openssl"
                | "uudecode"
                | "rev"
                | "printf"
                | "echo"
                | "tr"
                | "gbase64"
        )
    })?;
    let rest = &words[index..];
    let decodes = match pipeline::program_name(words[index]).as_str() {
        "base64" | "base32" | "base58" | "gbase64" => has(&[
            "-d", "-D", "--decode", "-di", "--d", "-dw0", "-di0", "-id", "--dec", "--deco",
        ]),
        "xxd" => rest
            .iter()
            .any(|word| word.starts_with('-') && word.contains('r')),
        "openssl" => has(&["base64", "enc", "-base64", "-a"]) && has(&["-d"]),
        "rev" => rest.len() == 1 || rest.iter().any(|word| word.starts_with("<<<")),
        "tr" => rest.iter().any(|word| {
            word.eq_ignore_ascii_case("a-za-z")
                || word.starts_with("A-Za-z")
                || *word == "n-za-mN-ZA-M"
                || *word == "N-ZA-Mn-za-m"
        }),
        "printf" | "echo" => rest
            .iter()
            .any(|word| word.matches("\\x").count() >= 4 || is_octal(word)),
        _ => true,
    };
    decodes.then_some(words[index])
}

/// Returns `true` for `\143\165\162`.
fn is_octal(word: &str) -> bool {
    let digits = |part: &str| {
        part.len() >= 3
            && part
                .bytes()
                .take(3)
                .all(|byte| (b'0'..=b'7').contains(&byte))
    };
    word.split('\\').skip(1).filter(|part| digits(part)).count() >= 4
}
