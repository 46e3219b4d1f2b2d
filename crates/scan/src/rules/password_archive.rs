//! An archive with a password, which scanners cannot look into.

use super::{FindingSink, Passage};
use crate::matching::matcher;

rule!(
    "password-archive",
    Error,
    lowers: true,
    "an archive with a password is to be unpacked, so that no scanner can look into it",
    "do not unpack it: a password that stands next to the archive only keeps scanners out",
    triggers: [
        "passw", "passphrase", "pass:", "passcode", "mot de passe", "contrase", "парол", "密码", "密碼", "パスワード", "비밀번호", "senha",
        "hasł", "şifre", "wachtwoord", "unzip -", "7z ", "7za ", "7zz ", "unrar ", "解压", "mật khẩu", "kata sandi", "7z.exe",
        "extractall", "ZipFile", "password", "lösenord", "adgangskode"
    ]
);

matcher!(
    PROSE,
    r"(?: \b(?: extract\w* | unzip\w* | unpack\w* | decompress\w* | open(?:ing)?\ (?:the|it) | unarchiv\w* | entpack\w* | extrai\w* | extrae\w*
          | décompress\w* | extrahier\w* | uitpakken | wypakuj\w* | rozpakuj\w* | descomprim\w* | descompact\w* | çıkar\w* | giải\ nén | ekstrak\w* )\b
        | распак\w* | извлек\w* | 解压 | 解壓 | 解凍 | 展開 | 압축 )
      .*?
      (?: (?: passwor[dt] | pass(?:phrase|code) | (?:using|with|the|[(（:])\s?pass | mot\ de\ passe | contrase(?:ñ|n)a | senha | has[łl]o | şifre | wachtwoord
          | mật\ khẩu | kata\ sandi | lösenord | adgangskode )\b | парол\w* | 密码 | 密碼 | パスワード | 비밀번호 )
      \s*(?:\w{1,6}\s+)?(?: [:=：] | is\b | ist\b | es\b | est\b | of\b )? \s* [`\x22'“*(«「]{0,3} [A-Za-z0-9]"
);
matcher!(
    AFTER,
    r"(?: \b(?: passwor[dt] | passcode | passphrase | contrase(?:ñ|n)a | mot\ de\ passe | senha | [(（]\s*pass | (?:using|with)\ pass )\b
        | [(（]\s*pass\b | парол\w* | 密码 | 密碼 | パスワード | 비밀번호 )
      \s* (?: (?:for|of|to\ (?:open|extract|unzip))\ the\ (?:archive|zip|rar|7z|file|download) \w* | \(?(?:zip|archive|extraction|rar|7z)\)? )? \s*
      [:=：] \s* [`\x22'“*]{0,3} [A-Za-z0-9!@\#$%_-]{3,}"
);
matcher!(
    ARCHIVE,
    r"\b(?: zip | unzip\w* | \.zip | rar | 7z | 7-zip | archiv\w* | tar\.gz | tarball | \.tgz | \.rar | \.7z | архив\w* | archivo | dmg )\b | 压缩 | 圧縮 | 압축"
);
matcher!(
    UNPACK,
    r"\b(?: extract\w* | unzip\w* | unpack\w* | decompress\w* | entpack\w* | install\w* | run | execut\w* | launch\w* | open )\b | 解压 | 运行"
);
matcher!(
    COMMAND,
    r"(?: \bunzip \s+ (?:-\w+\s+)* -(?-i:\w*P) \s* [\x22']?[A-Za-z0-9] )
      | (?: \b7z(?:a|z|r)?(?:\.exe)? \s+ [xe] \b [^|;\n]*? \s-p[\x22']?[A-Za-z0-9] )
      | (?: \bunrar \s+ [xe] \b [^|;\n]*? \s-p[\x22']?[A-Za-z0-9] )
      | (?: \bbsdtar \b [^|;\n]* --passphrase )
      | (?: \bextractall \s*\( [^)]* pwd \s*=\s* b?[\x22'] [A-Za-z0-9] )
      | (?: \bsetpassword \s*\( \s* b?[\x22'] )
      | (?: \bExpand-7Zip \b [^|;\n]* -Password )"
);
/// Values that stand for another, and kinds of passwords that belong to documents and databases.
const NOT_MEANT: &[&str] = &["your", "<", "{", "$", "xxx", "%"];
matcher!(
    TOPIC,
    r"\b(?: pdfs? | docx? | spreadsheets? | workbooks? | xlsx? | wifi | database | user(?:s|name)? | login | hash\w* | credentials | keychain | email | crack\w* | john | hashcat | brute | wordlist | ask | prompts? | asks | protected | forgot\w* | steg\w* )\b"
);

/// Words after "password" with which a sentence goes on.
const WORDS: &[&str] = &[
    "and",
    "or",
    "is",
    "if",
    "to",
    "for",
    "from",
    "in",
    "the",
    "a",
    "an",
    "of",
    "with",
    "protected",
    "protection",
    "hash",
    "hashes",
    "required",
    "field",
    "fields",
    "policy",
    "manager",
    "reset",
    "dialog",
    "prompt",
    "that",
    "when",
    "you",
    "will",
    "must",
    "should",
    "can",
    "as",
    "by",
    "on",
    "at",
    "it",
    "information",
    "data",
    "using",
    "support",
    "removal",
    "recovery",
    "handling",
];

fn check(passage: &Passage<'_, '_>, out: &mut FindingSink) {
    let text = passage.text;
    if let Some(range) = COMMAND.find(text).filter(|_| passage.is_code) {
        let value = &text[crate::passage::floor(text, range.end.saturating_sub(1))..];
        if !is_placeholder(value) {
            out.passage(passage, range, "unpacks an archive with a password");
            return;
        }
    } else if let Some(range) = COMMAND.find(&passage.plain().text) {
        let value = &passage.plain().text[range.end.saturating_sub(1)..];
        if !is_placeholder(value) {
            out.plain(passage, range, "unpacks an archive with a password");
            return;
        }
    }
    if passage.is_code {
        return;
    }
    let near = passage.around();
    let mentions_archive = || ARCHIVE.is_match(text) || ARCHIVE.is_match(near);
    let found = PROSE.find(text).or_else(|| {
        AFTER
            .find(text)
            .filter(|_| UNPACK.is_match(text) || ARCHIVE.is_match(text))
    });
    let Some(range) = found.filter(|_| mentions_archive()) else {
        return;
    };
    let is_value = |value: &str| {
        let value = value.trim_start_matches(['`', '"', '\'', '“', '*', '(', ' ', ':', '=', '：']);
        let word: String = value
            .chars()
            .take_while(|c| {
                !c.is_whitespace() && !matches!(c, '`' | '"' | '\'' | '”' | '*' | ')' | '.' | ',')
            })
            .collect();
        word.len() >= 3 && !WORDS.contains(&word.to_ascii_lowercase().as_str())
    };
    // The match ends with the first character of the password.
    let value = &text[crate::passage::floor(text, range.end.saturating_sub(1))..];
    let is_marked = text[..range.end]
        .trim_end_matches(|c: char| c.is_alphanumeric())
        .ends_with(['`', '"', '\'', '“', '*', ':', '：', '=']);
    let before = &text[..range.end];
    let says_value = is_marked && is_value(value) || before.ends_with(|c: char| c.is_ascii_digit());
    let matched = &text[range.clone()];
    if says_value
        && !is_placeholder(value)
        && !TOPIC.is_match(matched)
        && !TOPIC.is_match(line_of(text, &range))
    {
        out.passage(
            passage,
            range,
            "an archive is to be unpacked with a password that stands next to it",
        );
    }
}

fn line_of<'t>(text: &'t str, range: &std::ops::Range<usize>) -> &'t str {
    let start = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[range.end..]
        .find('\n')
        .map_or(text.len(), |at| range.end + at);
    &text[start..end]
}

fn is_placeholder(value: &str) -> bool {
    let value: String = value
        .trim_start_matches(['`', '"', '\'', '“', '*', ' ', ':', '='])
        .chars()
        .take(12)
        .collect();
    let value = value.to_ascii_lowercase();
    NOT_MEANT.iter().any(|part| value.starts_with(part))
        || value.starts_with("password")
        || value.starts_with("secret")
}
