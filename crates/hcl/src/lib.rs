//! Reads HCL, the language of Squadron's files.
//!
//! [`parse`] turns bytes into a tree whose every node has a span. It never fails: a fault is a
//! [`HclProblem`] with a place, and costs only the top-level block that contains it. [`evaluate`] turns
//! an expression into a [`Value`] within fixed limits. What is not known yet, such as the inputs of a
//! run, stays an expression, which can be evaluated again later. [`write_block`] writes a tree.

mod evaluate;
mod grammar;
mod scan;
mod template;
mod tree;
mod value;
mod write;

pub use evaluate::{
    EvalScope, FunctionCall, MAX_STEPS, MAX_TEXT, Resolved, evaluate, evaluate_within,
};
pub use scan::{MAX_FILE, MAX_ITEMS};
pub use tree::{
    Attribute, BinaryOperator, Block, Expr, ExprKind, HclProblem, Item, Label, LoopParts,
    ObjectEntry, ReferenceStep, TemplatePart, Tree, UnaryOperator,
};
pub use value::Value;
pub use write::{
    is_identifier, value_expression, value_text, write_block, write_expression, write_text,
};

use prowess_diag::Span;

/// Parses a file.
pub fn parse(bytes: &[u8]) -> Tree {
    let mut tree = Tree::default();
    let scanned = match scan::scan(bytes) {
        Ok(scanned) => scanned,
        Err(problem) => {
            tree.problems.push(problem);
            return tree;
        }
    };
    tree.problems.extend(scanned.problems);
    tree.comment = scanned.comment;
    for extent in scanned.items {
        match grammar::parse_items(scanned.text, &extent) {
            Ok(items) => tree.items.extend(items),
            Err(problem) => tree.problems.push(problem),
        }
    }
    tree.problems.sort_by_key(|problem| problem.span);
    tree
}

/// Parses one expression.
pub fn parse_expression(text: &str) -> Result<Expr, HclProblem> {
    // An expression is the value of an attribute on a line of its own.
    let tree = parse(format!("x = {text}\n").as_bytes());
    let shift = |span: Span| {
        let inside = |at: u32| (at as usize).saturating_sub(4).min(text.len());
        Span::new(inside(span.start), inside(span.end))
    };
    match (
        tree.problems.into_iter().next(),
        tree.items.into_iter().next(),
    ) {
        (None, Some(Item::Attribute(attribute))) => {
            let mut value = attribute.value;
            value.shift(&shift);
            Ok(value)
        }
        (problem, _) => {
            let problem =
                problem.unwrap_or_else(|| HclProblem::new(Span::at(0), "an expression is missing"));
            Err(HclProblem {
                span: shift(problem.span),
                ..problem
            })
        }
    }
}

#[cfg(test)]
mod tests;
