//! Turns a page into text that can be read: tags go, headings, lists, links and code stay.
//!
//! One pass over the page, no tree. What is left is never longer than the page, apart from the
//! marks.

/// Elements whose content nobody reads.
const SILENT: &[&str] = &[
    "script", "style", "noscript", "template", "svg", "iframe", "object", "head", "canvas",
];
/// Elements that begin a new line.
const BLOCKS: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "br",
    "dd",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "header",
    "hr",
    "li",
    "main",
    "nav",
    "ol",
    "option",
    "p",
    "pre",
    "section",
    "table",
    "tr",
    "ul",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "title",
];
/// Elements with an empty line before them.
const PARAGRAPHS: &[&str] = &[
    "p",
    "pre",
    "table",
    "ul",
    "ol",
    "blockquote",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
];
/// Longest address of a link that is kept.
const MAX_LINK: usize = 300;

/// What a page says, at most `most` bytes of it. Tells whether that is all.
pub(crate) fn text(page: &str, most: usize) -> (String, bool) {
    let mut out = Out {
        text: String::new(),
        most,
        preformatted: 0,
        links: Vec::new(),
    };
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        out.words(&rest[..at]);
        rest = &rest[at..];
        if out.is_full() {
            return out.end(false);
        }
        if let Some(comment) = rest.strip_prefix("<!--") {
            rest = comment.find("-->").map_or("", |end| &comment[end + 3..]);
            continue;
        }
        let next = rest[1..].chars().next().unwrap_or(' ');
        if !next.is_ascii_alphabetic() && !matches!(next, '/' | '!' | '?') {
            out.words("<");
            rest = &rest[1..];
            continue;
        }
        let Some(end) = tag_end(rest) else {
            rest = "";
            break;
        };
        let tag = &rest[1..end];
        rest = &rest[end + 1..];
        let closes = tag.starts_with('/');
        let inner = tag.trim_start_matches('/');
        let length = inner
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '-')
            .unwrap_or(inner.len());
        let name = inner[..length].to_ascii_lowercase();
        if !closes && SILENT.contains(&&*name) && !inner.ends_with('/') {
            let hidden = close(rest, &name);
            if name == "head"
                && let Some(title) = title(&rest[..hidden])
            {
                out.mark("title", false, "");
                out.words(title);
                out.line();
            }
            rest = &rest[hidden..];
            continue;
        }
        out.mark(&name, closes, &inner[length..]);
    }
    out.words(rest);
    let all = !out.is_full();
    out.end(all)
}

/// Where a tag ends: a `>` in quotes does not count.
fn tag_end(tag: &str) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in tag.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return Some(at),
            // A quote counts where a value begins.
            (None, b'"' | b'\'') if at > 0 && tag.as_bytes()[at - 1] == b'=' => quote = Some(byte),
            (Some(open), byte) if byte == open => quote = None,
            _ => {}
        }
    }
    // Quotes that are never closed are no reason to lose the rest of the page.
    quote.and_then(|_| tag.find('>'))
}

/// How far a silent element goes.
fn close(rest: &str, name: &str) -> usize {
    let mut from = 0;
    while let Some(at) = rest[from..].find("</") {
        let at = from + at;
        let behind = &rest[at + 2..];
        if behind
            .get(..name.len())
            .is_some_and(|found| found.eq_ignore_ascii_case(name))
        {
            return at;
        }
        from = at + 2;
    }
    rest.len()
}

fn title(head: &str) -> Option<&str> {
    let lower = head.to_ascii_lowercase();
    let open = lower.find("<title")?;
    let from = open + lower[open..].find('>')? + 1;
    let to = from + lower[from..].find("</title")?;
    Some(&head[from..to])
}

struct Out {
    text: String,
    most: usize,
    preformatted: usize,
    /// Where links began, and where they lead.
    links: Vec<(usize, String)>,
}

impl Out {
    fn is_full(&self) -> bool {
        self.text.len() >= self.most
    }

    fn end(mut self, all: bool) -> (String, bool) {
        if self.text.len() > self.most {
            self.text.truncate(self.text.floor_char_boundary(self.most));
        }
        (self.text.trim().to_owned(), all)
    }

    /// Ends the line, if there is something in it.
    fn line(&mut self) {
        let kept = self.text.trim_end_matches(' ').len();
        self.text.truncate(kept);
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    fn words(&mut self, raw: &str) {
        if self.is_full() {
            return;
        }
        let decoded = decode(raw);
        if self.preformatted > 0 {
            self.text.push_str(&decoded.replace('\r', ""));
            return;
        }
        for c in decoded.chars() {
            if !c.is_whitespace() {
                self.text.push(c);
            } else if !self.text.is_empty() && !self.text.ends_with([' ', '\n']) {
                self.text.push(' ');
            }
        }
    }

    /// Does what a tag means.
    fn mark(&mut self, name: &str, closes: bool, attributes: &str) {
        if BLOCKS.contains(&name) {
            self.line();
            let gap = PARAGRAPHS.contains(&name) && !(closes && name == "pre");
            if gap && !self.text.is_empty() && !self.text.ends_with("\n\n") {
                self.text.push('\n');
            }
        }
        match (name, closes) {
            ("h1" | "h2" | "h3" | "h4" | "h5" | "h6", false) => {
                let level = name
                    .bytes()
                    .last()
                    .map_or(1, |digit| usize::from(digit - b'0'));
                self.text.push_str(&"#".repeat(level));
                self.text.push(' ');
            }
            ("title", false) => self.text.push_str("# "),
            ("li", false) => self.text.push_str("- "),
            ("hr", _) => self.text.push_str("---\n"),
            ("td" | "th", true) => self.text.push_str(" | "),
            ("pre", false) => {
                self.preformatted += 1;
                self.text.push_str("```\n");
            }
            ("pre", true) if self.preformatted > 0 => {
                self.preformatted -= 1;
                self.text.push_str("```\n");
            }
            ("code", _) if self.preformatted == 0 => self.text.push('`'),
            ("img", false) => {
                if let Some(words) = attribute(attributes, "alt").filter(|words| !words.is_empty())
                {
                    self.words(&format!("[picture: {words}]"));
                }
            }
            ("a", false) => {
                let target = attribute(attributes, "href").unwrap_or_default();
                self.links.push((self.text.len(), target));
            }
            ("a", true) => {
                let Some((from, target)) = self.links.pop() else {
                    return;
                };
                let web = target.starts_with("http") || target.starts_with('/');
                let words = self
                    .text
                    .get(from..)
                    .is_some_and(|words| !words.trim().is_empty());
                if web && words && target.len() <= MAX_LINK {
                    self.text.push_str(&format!(" ({target})"));
                }
            }
            _ => {}
        }
    }
}

/// The value of an attribute.
fn attribute(attributes: &str, name: &str) -> Option<String> {
    let lower = attributes.to_ascii_lowercase();
    let key = format!("{name}=");
    let at = lower
        .match_indices(&key)
        .map(|(at, _)| at)
        .find(|at| *at == 0 || lower.as_bytes()[at - 1].is_ascii_whitespace())?;
    let value = &attributes[at + key.len()..];
    let value = match value.chars().next() {
        Some(quote @ ('"' | '\'')) => value[1..].split(quote).next(),
        _ => value.split_ascii_whitespace().next(),
    };
    value.map(|value| decode(value).replace(['\n', '\r'], " "))
}

/// Puts characters in the place of their names.
fn decode(text: &str) -> String {
    /// Names that are common; others stay as they are.
    const NAMES: &[(&str, &str)] = &[
        ("amp", "&"),
        ("lt", "<"),
        ("gt", ">"),
        ("quot", "\""),
        ("apos", "'"),
        ("nbsp", " "),
        ("ndash", "–"),
        ("mdash", "—"),
        ("hellip", "…"),
        ("lsquo", "‘"),
        ("rsquo", "’"),
        ("ldquo", "“"),
        ("rdquo", "”"),
        ("laquo", "«"),
        ("raquo", "»"),
        ("copy", "©"),
        ("reg", "®"),
        ("trade", "™"),
        ("times", "×"),
        ("bull", "•"),
        ("middot", "·"),
        ("larr", "←"),
        ("rarr", "→"),
        ("auml", "ä"),
        ("ouml", "ö"),
        ("uuml", "ü"),
        ("szlig", "ß"),
        ("Auml", "Ä"),
        ("Ouml", "Ö"),
        ("Uuml", "Ü"),
        ("eacute", "é"),
        ("egrave", "è"),
        ("euro", "€"),
        ("pound", "£"),
        ("deg", "°"),
        ("shy", ""),
    ];
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.bytes().take(12).position(|byte| byte == b';');
        let found = end.and_then(|end| {
            let name = &rest[1..end];
            let number =
                name.strip_prefix('#')
                    .map(|digits| match digits.strip_prefix(['x', 'X']) {
                        Some(digits) => u32::from_str_radix(digits, 16),
                        None => digits.parse(),
                    });
            let text = match number {
                Some(number) => char::from_u32(number.ok()?)?.to_string(),
                None => NAMES.iter().find(|(known, _)| *known == name)?.1.to_owned(),
            };
            Some((text, end + 1))
        });
        if let Some((text, length)) = found {
            out.push_str(&text);
            rest = &rest[length..];
        } else {
            out.push('&');
            rest = &rest[1..];
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_become_text() {
        let cases = [
            ("plain", "plain"),
            ("a  <b>b</b>\n c", "a b c"),
            ("<p>one</p><p>two</p>", "one\n\ntwo"),
            ("<h2>T</h2><ul><li>a<li>b</ul>", "## T\n\n- a\n- b"),
            (
                "<head><title>x &amp; y</title><style>z</style></head><body>b",
                "# x & y\nb",
            ),
            ("<script>if (a < b) { '</p>' }</script>x", "x"),
            ("<SCRIPT>x</SCRIPT >y", "y"),
            (
                "<a href=\"https://e.com/?a&amp;b\">go</a>",
                "go (https://e.com/?a&b)",
            ),
            ("<a href='javascript:x()'>go</a>", "go"),
            ("<pre>a\n  b</pre>", "```\na\n  b\n```"),
            ("1 < 2 &lt; 3 &#65;&#x42;&bogus;&", "1 < 2 < 3 AB&bogus;&"),
            ("<!-- <p>no --> yes", "yes"),
            ("<img alt='a cat' src=x>", "[picture: a cat]"),
            ("<div title=\"a > b\">x</div>", "x"),
            ("<p title=\"never closed>x</p>", "x"),
            ("<unclosed", ""),
            ("<table><tr><td>a</td><td>b</td></tr></table>", "a | b |"),
        ];
        for (page, expected) in cases {
            assert_eq!(text(page, 1_000).0, expected, "{page}");
        }
    }

    #[test]
    fn long_pages_are_cut() {
        let (cut, all) = text(&"<p>é words</p>".repeat(1_000), 100);
        assert!(cut.len() <= 100 && !all);
        assert!(text("<p>x</p>", 100).1);
    }
}
