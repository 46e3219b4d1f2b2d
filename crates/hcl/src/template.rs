//! Texts with holes: indentation of heredocs, and the marks that strip blanks.

use hcl_edit::Span as _;
use hcl_edit::template::{Directive, Element, Strip, Template};
use prowess_diag::Span;

use crate::grammar::Source;
use crate::tree::{Expr, TemplatePart};

/// A template as a flat list, so that a mark can reach the text beside it.
enum Token {
    Text(String),
    Hole(Expr, Sides),
    If(Expr, Sides),
    Else(Sides),
    EndIf(Sides),
    For {
        key: Option<Box<str>>,
        value: Box<str>,
        collection: Expr,
        sides: Sides,
    },
    EndFor(Sides),
}

/// The sides on which a mark strips blanks.
#[derive(Clone, Copy)]
struct Sides {
    before: bool,
    after: bool,
}

impl From<Strip> for Sides {
    fn from(strip: Strip) -> Self {
        Self {
            before: matches!(strip, Strip::Start | Strip::Both),
            after: matches!(strip, Strip::End | Strip::Both),
        }
    }
}

/// Describes how text is taken from the source.
#[derive(Clone, Copy)]
pub(crate) enum TextForm {
    /// In quotation marks: the parser has replaced the escapes.
    Quoted,
    /// A heredoc whose lines lose this many blanks, starting at this offset.
    Heredoc { indent: usize, start: usize },
}

/// Converts a template.
pub(crate) fn convert<'e>(
    source: &Source<'_>,
    elements: impl IntoIterator<Item = &'e Element>,
    form: TextForm,
) -> Vec<TemplatePart> {
    let mut tokens = Vec::new();
    flatten(source, elements, form, &mut tokens);
    strip(&mut tokens);
    let mut tokens = tokens.into_iter().peekable();
    nest(&mut tokens)
}

fn flatten<'e>(
    source: &Source<'_>,
    elements: impl IntoIterator<Item = &'e Element>,
    form: TextForm,
    tokens: &mut Vec<Token>,
) {
    for element in elements {
        match element {
            Element::Literal(text) => {
                let span = text.span().map(|range| source.span(range));
                tokens.push(Token::Text(literal(source, text, span, form)));
            }
            Element::Interpolation(hole) => {
                tokens.push(Token::Hole(source.expr(&hole.expr), hole.strip.into()));
            }
            Element::Directive(directive) => match &**directive {
                Directive::If(branch) => {
                    let head = &branch.if_expr;
                    tokens.push(Token::If(source.expr(&head.cond_expr), head.strip.into()));
                    flatten_all(source, &head.template, form, tokens);
                    if let Some(otherwise) = &branch.else_expr {
                        tokens.push(Token::Else(otherwise.strip.into()));
                        flatten_all(source, &otherwise.template, form, tokens);
                    }
                    tokens.push(Token::EndIf(branch.endif_expr.strip.into()));
                }
                Directive::For(each) => {
                    let head = &each.for_expr;
                    tokens.push(Token::For {
                        key: head.key_var.as_ref().map(|name| name.as_str().into()),
                        value: head.value_var.as_str().into(),
                        collection: source.expr(&head.collection_expr),
                        sides: head.strip.into(),
                    });
                    flatten_all(source, &head.template, form, tokens);
                    tokens.push(Token::EndFor(each.endfor_expr.strip.into()));
                }
            },
        }
    }
}

fn flatten_all(source: &Source<'_>, template: &Template, form: TextForm, tokens: &mut Vec<Token>) {
    flatten(source, template.iter(), form, tokens);
}

/// Returns the text of a literal.
fn literal(source: &Source<'_>, parsed: &str, span: Option<Span>, form: TextForm) -> String {
    match (form, span) {
        (TextForm::Heredoc { indent, start }, Some(span)) => {
            let raw = source.text.get(span.range()).unwrap_or(parsed);
            let at_start =
                span.start as usize == start || source.text[..span.start as usize].ends_with('\n');
            unescape(&outdent(raw, indent, at_start))
        }
        // A text in quotation marks has no line breaks except `\r` and `\n` that are written out.
        _ => parsed.to_owned(),
    }
}

/// Removes blanks at the start of each line. `at_start` is `true` if the text begins a line.
fn outdent(text: &str, indent: usize, at_start: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let blanks = line.len() - line.trim_start_matches([' ', '\t']).len();
        let cut = if number > 0 || at_start {
            blanks.min(indent)
        } else {
            0
        };
        let line = &line[cut..];
        match line.strip_suffix("\r\n") {
            Some(line) => {
                out.push_str(line);
                out.push('\n');
            }
            None => out.push_str(line),
        }
    }
    out
}

/// Replaces `$${` and `%%{`.
fn unescape(text: &str) -> String {
    text.replace("$${", "${").replace("%%{", "%{")
}

/// Returns the smallest indent of the lines of a heredoc. Blank lines do not count.
pub(crate) fn indent(lines: &str) -> usize {
    let lines = lines.lines().filter(|line| !line.trim().is_empty());
    let blanks = lines.map(|line| line.len() - line.trim_start_matches([' ', '\t']).len());
    blanks.min().unwrap_or(0)
}

/// Removes blanks, and at most one line break, beside each mark.
fn strip(tokens: &mut [Token]) {
    for at in 0..tokens.len() {
        let sides = match &tokens[at] {
            Token::Text(_) => continue,
            Token::Hole(_, sides)
            | Token::If(_, sides)
            | Token::Else(sides)
            | Token::EndIf(sides)
            | Token::For { sides, .. }
            | Token::EndFor(sides) => *sides,
        };
        if sides.before
            && let Some(Token::Text(text)) = at.checked_sub(1).and_then(|at| tokens.get_mut(at))
        {
            let kept = text.trim_end_matches([' ', '\t']);
            let kept = kept.strip_suffix('\n').unwrap_or(kept);
            text.truncate(kept.len());
        }
        if sides.after
            && let Some(Token::Text(text)) = tokens.get_mut(at + 1)
        {
            let kept = text.trim_start_matches([' ', '\t']);
            let kept = kept.strip_prefix('\n').unwrap_or(kept);
            *text = kept.to_owned();
        }
    }
}

/// Builds the nested parts up to the end of the enclosing directive.
fn nest(tokens: &mut std::iter::Peekable<std::vec::IntoIter<Token>>) -> Vec<TemplatePart> {
    let mut parts = Vec::new();
    while let Some(token) = tokens
        .next_if(|token| !matches!(token, Token::Else(_) | Token::EndIf(_) | Token::EndFor(_)))
    {
        match token {
            Token::Text(text) if text.is_empty() => {}
            Token::Text(text) => parts.push(TemplatePart::Text(text.into())),
            Token::Hole(expr, _) => parts.push(TemplatePart::Hole(expr)),
            Token::If(condition, _) => {
                let then = nest(tokens);
                let otherwise = if tokens
                    .next_if(|token| matches!(token, Token::Else(_)))
                    .is_some()
                {
                    nest(tokens)
                } else {
                    Vec::new()
                };
                tokens.next();
                parts.push(TemplatePart::If {
                    condition,
                    then,
                    otherwise,
                });
            }
            Token::For {
                key,
                value,
                collection,
                ..
            } => {
                let body = nest(tokens);
                tokens.next();
                parts.push(TemplatePart::For {
                    key,
                    value,
                    collection,
                    body,
                });
            }
            Token::Else(_) | Token::EndIf(_) | Token::EndFor(_) => {}
        }
    }
    parts
}
