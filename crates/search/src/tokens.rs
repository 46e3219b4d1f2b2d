//! Splits text into words, folds them and reduces them to stems.
//!
//! A word is a run of letters and digits. Identifiers also yield their parts; scripts without
//! spaces yield pairs of adjacent characters. Words are bytes, because most are compared far more
//! often than displayed.

use unicode_normalization::UnicodeNormalization as _;

/// Maximum length of a word in bytes; longer ones are cut.
pub const MAX_WORD: usize = 64;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A whole word.
    Word,
    /// A part of an identifier: `case` in `camelCase`.
    Part,
    /// Two adjacent characters of a script without spaces, or a single one.
    Gram,
}

/// Words that carry no information about a skill: English, and the commonest of other languages
/// that mean nothing in English.
const STOP_WORDS: &[&str] = &[
    "a", "about", "also", "am", "an", "and", "any", "are", "as", "at", "auf", "avec", "be", "been",
    "being", "bitte", "but", "by", "can", "che", "com", "como", "could", "d", "dans", "das", "der",
    "des", "did", "do", "does", "doesn", "don", "du", "eine", "einen", "einmal", "el", "for",
    "from", "get", "had", "has", "have", "help", "how", "i", "ich", "if", "in", "into", "is",
    "ist", "it", "its", "je", "just", "las", "le", "les", "let", "like", "ll", "los", "m", "make",
    "me", "mir", "my", "nao", "need", "nicht", "noch", "of", "on", "or", "our", "para", "please",
    "por", "puedes", "que", "qui", "re", "s", "should", "so", "some", "sono", "such", "t", "than",
    "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "to", "uma",
    "una", "und", "une", "us", "use", "used", "using", "ve", "vous", "want", "was", "we", "were",
    "what", "when", "where", "which", "who", "why", "wie", "will", "with", "would", "you", "your",
];

/// Pairs of characters that carry no information about a skill.
const STOP_GRAMS: &[&str] = &[
    "一个", "一下", "什么", "你的", "可以", "如何", "帮我", "怎么", "我们", "我想", "我的", "我要",
    "是否", "有没", "没有", "请问", "这个", "那个", "需要", "して", "する", "です", "ます", "为什",
    "么要", "刚才", "再解", "帮忙", "请帮", "请再", "一遍", "怎样", "这样", "那么", "这些", "那些",
    "けて", "てく", "くだ", "ださ", "さい", "した", "から", "まし", "ませ", "てい", "いま", "えま",
    "すか", "もら", "こと", "ので", "세요", "니다", "습니", "합니", "해주", "주세", "어요", "줄래",
];

/// Hash table of the stop words of up to six letters, packed into numbers; 0 is free.
const STOP_TABLE: [u64; 512] = {
    let mut table = [0; 512];
    let mut at = 0;
    while at < STOP_WORDS.len() {
        let number = packed_slowly(STOP_WORDS[at].as_bytes());
        let mut slot = stop_slot(number);
        while table[slot] != 0 {
            slot = (slot + 1) % 512;
        }
        table[slot] = number;
        at += 1;
    }
    table
};

/// Packs the first fifteen bytes of a word into numbers, the first byte lowest.
#[inline]
pub(super) fn packed(word: &[u8]) -> [u64; 2] {
    let eight = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
    let four = |bytes: &[u8; 4]| u64::from(u32::from_le_bytes(*bytes));
    // Two overlapping reads are faster than copying the bytes.
    if let (Some(first), Some(last)) = (word.first_chunk(), word.last_chunk()) {
        let beyond = 8 * (16 - word.len().min(15));
        let high = u32::try_from(beyond)
            .ok()
            .and_then(|bits| eight(last).checked_shr(bits));
        return [eight(first), high.unwrap_or(0)];
    }
    if let (Some(first), Some(last)) = (word.first_chunk(), word.last_chunk()) {
        return [four(first) | four(last) << (8 * (word.len() - 4)), 0];
    }
    [
        word.iter()
            .rev()
            .fold(0, |number, byte| number << 8 | u64::from(*byte)),
        0,
    ]
}

/// A term of up to fifteen bytes with its length, or a number for a longer term with another mark in
/// place of the length.
pub(super) type TermKey = [u64; 2];

/// Packs a term with its length. Returns `None` if it has more than fifteen bytes.
#[inline]
pub(super) fn short_key(term: &[u8]) -> Option<TermKey> {
    if term.len() > 15 {
        return None;
    }
    let [low, high] = packed(term);
    Some([low, high | (term.len() as u64) << 56])
}

/// Packs a short word at compile time.
const fn packed_slowly(word: &[u8]) -> u64 {
    let mut number = 0;
    let mut at = word.len();
    while at > 0 {
        at -= 1;
        number = number << 8 | word[at] as u64;
    }
    number
}

const fn stop_slot(number: u64) -> usize {
    (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 55) as usize
}

/// Returns `true` if a folded word is a stop word.
pub fn is_stop_word(word: &[u8]) -> bool {
    let Some(first) = word.first() else {
        return true;
    };
    if !first.is_ascii() {
        return STOP_GRAMS.iter().any(|gram| gram.as_bytes() == word);
    }
    if word.len() > 6 {
        return false;
    }
    let [number, _] = packed(word);
    let mut slot = stop_slot(number);
    while STOP_TABLE[slot] != 0 {
        if STOP_TABLE[slot] == number {
            return true;
        }
        slot = (slot + 1) % STOP_TABLE.len();
    }
    false
}

/// Calls `sink` with each token of a text in order, folded but not stemmed. The sink may modify the
/// token.
pub fn each(text: &str, mut sink: impl FnMut(&mut [u8], TokenKind)) {
    let bytes = text.as_bytes();
    let mut word = [0; MAX_WORD];
    let mut at = 0;
    while let Some(&first) = bytes.get(at) {
        let mut class = CLASSES[usize::from(first)];
        if class == SEPARATOR {
            at += 1;
            continue;
        }
        let start = at;
        let (mut seen, mut upper) = (0, 0);
        while class & (LOWER | UPPER | DIGIT) != 0 {
            seen |= class;
            upper += usize::from(class == UPPER);
            at += 1;
            class = bytes
                .get(at)
                .map_or(SEPARATOR, |byte| CLASSES[usize::from(*byte)]);
        }
        if class == WIDE {
            at = wide_run(text, start, &mut sink);
            continue;
        }
        let typed = &bytes[start..at];
        sink(
            fold_plain(&bytes[start..], typed.len(), &mut word),
            TokenKind::Word,
        );
        let mixed = seen & LOWER != 0 && upper > usize::from(CLASSES[usize::from(first)] == UPPER);
        if mixed || (seen & DIGIT != 0 && seen & (LOWER | UPPER) != 0) {
            parts(typed, mixed, &mut sink);
        }
    }
}

/// Lower-cases ASCII letters by setting one bit, which digits already have.
#[inline]
fn fold_plain<'w>(bytes: &[u8], length: usize, word: &'w mut [u8; MAX_WORD]) -> &'w mut [u8] {
    let length = length.min(MAX_WORD);
    // Copying a fixed size takes few instructions; bytes after the word are ignored.
    if let (Some(from), Some(to)) = (bytes.first_chunk::<16>(), word.first_chunk_mut::<16>())
        && length <= 16
    {
        *to = (u128::from_le_bytes(*from) | u128::from_le_bytes([0x20; 16])).to_le_bytes();
    } else {
        for (to, from) in word.iter_mut().zip(&bytes[..length]) {
            *to = from | 0x20;
        }
    }
    &mut word[..length]
}

/// Removes inflectional endings of an English word. Returns the length of the stem. Words that are
/// not plain Latin letters are unchanged. May change the last letter of the stem.
pub fn stem(word: &mut [u8]) -> usize {
    let mut length = word.len();
    // Most words end in another letter and return early.
    let bent = matches!(word.last(), Some(b's' | b'g' | b'd' | b'e'));
    if !bent || length < 4 || !word.iter().all(u8::is_ascii_lowercase) {
        return length;
    }
    if word.ends_with(b"ies") && length > 4 {
        length -= 2;
        word[length - 1] = b'y';
    } else if word.ends_with(b"sses") {
        length -= 2;
    } else if word.ends_with(b"s")
        && !(word.ends_with(b"ss") || word.ends_with(b"us") || word.ends_with(b"is"))
    {
        length -= 1;
    }
    if length > 5 {
        let ending = match &word[..length] {
            [.., b'i', b'n', b'g'] => 3,
            [.., b'e', b'd'] => 2,
            _ => 0,
        };
        if ending > 0 && length - ending >= 3 {
            length -= ending;
            let (last, before) = (word[length - 1], word[length - 2]);
            if length > 3 && last == before && !matches!(last, b'l' | b's' | b'z') {
                length -= 1;
            }
        }
    }
    if length > 4 && word[length - 1] == b'e' {
        length -= 1;
    }
    length
}

/// Returns the stem of a folded word.
pub fn stemmed(word: &[u8]) -> Vec<u8> {
    let mut stem_of = word.to_vec();
    let length = stem(&mut stem_of);
    stem_of.truncate(length);
    stem_of
}

/// Minimum length of a root in bytes.
pub const MIN_ROOT: usize = 4;

/// Derivational endings, as [`stem`] leaves them.
const ENDINGS: &[&[u8]] = &[
    b"ation", b"ment", b"abl", b"anc", b"enc", b"ion", b"er", b"iv", b"ly", b"or",
];

/// Removes derivational endings of a stem: `customization` and `customiz` have the root `customiz`,
/// `validation`, `validator` and `validat` have `valid`.
pub fn root(stem: &[u8]) -> Vec<u8> {
    let mut root = stem;
    if !root.iter().all(u8::is_ascii_lowercase) {
        return stem.to_vec();
    }
    let without = |word: &[u8], ending: &[u8]| {
        word.len() >= ending.len() + MIN_ROOT && word.ends_with(ending)
    };
    for _ in 0..2 {
        let Some(ending) = ENDINGS.iter().find(|ending| without(root, ending)) else {
            break;
        };
        root = &root[..root.len() - ending.len()];
        if let [.., before, last] = root
            && before == last
            && root.len() > MIN_ROOT
        {
            root = &root[..root.len() - 1];
        }
    }
    for ending in [b"e".as_slice(), b"at"] {
        if without(root, ending) {
            root = &root[..root.len() - ending.len()];
        }
    }
    root.to_vec()
}

const SEPARATOR: u8 = 0;
const LOWER: u8 = 1;
const UPPER: u8 = 2;
const DIGIT: u8 = 4;
const WIDE: u8 = 8;

const CLASSES: [u8; 256] = {
    let mut classes = [SEPARATOR; 256];
    let mut byte = 0_u8;
    loop {
        classes[byte as usize] = match byte {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            128.. => WIDE,
            _ => SEPARATOR,
        };
        if byte == u8::MAX {
            break classes;
        }
        byte += 1;
    }
};

/// Yields the parts of an identifier: split at changes of case, and the letters before a final
/// number.
fn parts(typed: &[u8], mixed: bool, sink: &mut impl FnMut(&mut [u8], TokenKind)) {
    let typed = &typed[..typed.len().min(MAX_WORD)];
    let mut word = [0; MAX_WORD];
    let mut part = |from: usize, to: usize| {
        sink(
            fold_plain(&typed[from..], to - from, &mut word),
            TokenKind::Part,
        );
    };
    let end = typed.len();
    if !mixed {
        let letters = typed
            .iter()
            .take_while(|byte| byte.is_ascii_alphabetic())
            .count();
        if letters >= 3 && typed[letters..].iter().all(u8::is_ascii_digit) {
            part(0, letters);
        }
        return;
    }
    let mut start = 0;
    for at in 1..=end {
        let boundary = at == end || {
            let (before, here) = (typed[at - 1], typed[at]);
            let next_is_lower = typed.get(at + 1).is_some_and(u8::is_ascii_lowercase);
            here.is_ascii_uppercase() && (!before.is_ascii_uppercase() || next_is_lower)
        };
        if boundary {
            if at - start > 1 {
                part(start, at);
            }
            start = at;
        }
    }
}

/// Tokenises a run of word characters that are not all ASCII. Returns the end of the run.
fn wide_run(text: &str, start: usize, sink: &mut impl FnMut(&mut [u8], TokenKind)) -> usize {
    let mut word = String::new();
    let mut previous: Option<char> = None;
    let mut alone = false;
    let mut end = text.len();
    let mut gram = |characters: &[char]| {
        let mut buffer = [0; 8];
        let mut length = 0;
        for character in characters {
            length += character.encode_utf8(&mut buffer[length..]).len();
        }
        sink(&mut buffer[..length], TokenKind::Gram);
    };
    let mut words: Vec<String> = Vec::new();
    for (at, character) in text[start..].char_indices() {
        if is_unspaced(character) {
            if !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
            if let Some(before) = previous {
                gram(&[before, character]);
                alone = false;
            } else {
                alone = true;
            }
            previous = Some(character);
            continue;
        }
        if let Some(before) = previous.take().filter(|_| alone) {
            gram(&[before]);
        }
        alone = false;
        if !character.is_alphanumeric() && !is_mark(character) {
            // A separator ends the run; at least one character is always consumed.
            end = start + at + if at == 0 { character.len_utf8() } else { 0 };
            break;
        }
        fold(character, &mut word);
    }
    if let Some(before) = previous.filter(|_| alone) {
        gram(&[before]);
    }
    words.push(word);
    for word in words.into_iter().filter(|word| !word.is_empty()) {
        sink(&mut word.into_bytes(), TokenKind::Word);
    }
    end
}

/// Lower-cases a character, removes accents and converts full width to half width.
fn fold(character: char, word: &mut String) {
    if character.is_ascii() {
        if word.len() < MAX_WORD {
            word.push(character.to_ascii_lowercase());
        }
        return;
    }
    for plain in std::iter::once(character)
        .nfkd()
        .flat_map(char::to_lowercase)
    {
        if !is_mark(plain) && plain.is_alphanumeric() && word.len() + plain.len_utf8() <= MAX_WORD {
            word.push(plain);
        }
    }
}

/// Returns `true` for combining marks of alphabetic scripts.
fn is_mark(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}')
}

/// Returns `true` for scripts without spaces between words.
fn is_unspaced(character: char) -> bool {
    matches!(character,
        '\u{e00}'..='\u{eff}'
        | '\u{1000}'..='\u{109f}'
        | '\u{1780}'..='\u{17ff}'
        | '\u{3041}'..='\u{30ff}'
        | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
        && character != '\u{30fb}'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let mut found = Vec::new();
        each(text, |word, _| {
            found.push(String::from_utf8(word.to_vec()).unwrap());
        });
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn words_are_folded_and_identifiers_split() {
        check("Fill PDF-forms, fast!", &["fill", "pdf", "forms", "fast"]);
        check("camelCase", &["camelcase", "camel", "case"]);
        check(
            "HTTPServer getURL",
            &["httpserver", "http", "server", "geturl", "get", "url"],
        );
        check("snake_case k8s", &["snake", "case", "k8s"]);
        check(
            "python3 earth2studio",
            &["python3", "python", "earth2studio"],
        );
        check("", &[]);
        check("?!… —\u{202e}", &[]);
    }

    #[test]
    fn other_scripts_and_accents() {
        check("Café ÜBER straße", &["cafe", "uber", "straße"]);
        check("弹幕里", &["弹幕", "幕里"]);
        check("图 B站 视频", &["图", "站", "b", "视频"]);
        check("データ分析", &["デー", "ータ", "タ分", "分析"]);
        check("한국어 검색", &["한국", "국어", "검색"]);
        check("привет Мир", &["привет", "мир"]);
        check("ＡＢＣ１２", &["abc12"]);
        check("🚀 rocket🚀ship", &["rocket", "ship"]);
    }

    #[test]
    fn long_words_are_cut() {
        each(&"x".repeat(1000), |word, _| {
            assert_eq!(word.len(), MAX_WORD);
        });
        each(&"é".repeat(1000), |word, _| {
            assert_eq!(word.len(), MAX_WORD);
        });
    }

    #[test]
    fn inflected_forms_share_a_stem() {
        for words in [
            &["deploy", "deploys", "deploying", "deployed"][..],
            &["file", "files"],
            &["query", "queries"],
            &["plan", "planning", "planned", "plans"],
            &["install", "installing"],
            &["class", "classes"],
        ] {
            let stems: Vec<_> = words.iter().map(|word| stemmed(word.as_bytes())).collect();
            assert!(
                stems.iter().all(|stem| *stem == stems[0]),
                "{words:?} {stems:?}"
            );
        }
        for word in ["k8s", "aws", "status", "this", "ring", "é"] {
            assert_eq!(stemmed(word.as_bytes()), word.as_bytes());
        }
    }

    #[test]
    fn packing_is_injective() {
        let letters = b"abcdefghijklmnop";
        for length in 0..16 {
            let [low, high] = packed(&letters[..length]);
            let mut bytes = [low.to_le_bytes(), high.to_le_bytes()].concat();
            assert!(bytes[length..].iter().all(|byte| *byte == 0), "{length}");
            bytes.truncate(length);
            assert_eq!(bytes, &letters[..length]);
            if length < 8 {
                assert_eq!(low, packed_slowly(&letters[..length]));
            }
        }
    }

    #[test]
    fn stop_words_are_sorted() {
        assert!(STOP_WORDS.is_sorted());
        assert!(
            STOP_WORDS
                .iter()
                .all(|word| word.len() <= 6 && is_stop_word(word.as_bytes()))
        );
        assert!(
            !is_stop_word(b"pdf")
                && !is_stop_word(b"kubernetes")
                && !is_stop_word("弹幕".as_bytes())
        );
        assert!(is_stop_word("什么".as_bytes()));
    }
}
